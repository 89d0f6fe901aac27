/* A part's tables: everything except visits and cells. Rows refer only to tables, and to rows, that come before them. */
#include "cellfile/cell_walks.h"

/* A table of names: the position is the name's number. No name occurs twice. */
static void move_texts(struct sonde_walk *w, struct sonde_cells *c, struct sonde_map *map)
{
	size_t nr = sonde_walk_count(w, map->nr), i;
	bool is_new = true;

	for (i = 0; i < nr && sonde_walk_ok(w); i++) {
		struct sonde_str text = sonde_walk_bytes(w, w->to ? map->keys[i] : SONDE_STR(""));

		if (w->to)
			continue;
		w->is_nomem |= sonde_map_keep(map, &c->arena, text.p ? text : SONDE_STR(""), &is_new) ==
			       SONDE_NONE;
		sonde_walk_require(w, is_new);
	}
}

void sonde_walk_words(struct sonde_walk *w, struct sonde_words *words)
{
	size_t nr = sonde_walk_count(w, words->nr), i;
	const char **read = w->to ? NULL : sonde_arena_calloc(w->arena, nr + 1, sizeof(*read));

	for (i = 0; i < nr && sonde_walk_ok(w); i++) {
		struct sonde_str word = sonde_walk_bytes(w, sonde_str_from(w->to ? words->at[i] : NULL));

		if (sonde_walk_got(w, read))
			sonde_walk_got(w, read[i] = sonde_arena_z(w->arena, word));
	}
	if (!w->to)
		*words = (struct sonde_words){read, sonde_walk_ok(w) ? nr : 0};
}

void sonde_walk_settings(
	struct sonde_walk *w, struct sonde_selection *s, struct sonde_read_options *read)
{
	bool *const flags[] = {&s->stack_only, &s->own_threads, &s->no_origins};

	sonde_walk_words(w, &s->nvtx_include);
	sonde_walk_words(w, &s->nvtx_exclude);
	sonde_walk_words(w, &s->kernel_include);
	sonde_walk_words(w, &s->kernel_exclude);
	sonde_walk_words(w, &s->labels);
	sonde_walk_flags(w, flags, 3);
	MOVE_NUMBER(w, read->kineto_regions);
}

/* One bit per metric number: whether the input has the metric. */
static void move_has(struct sonde_walk *w, struct sonde_input *in, size_t metrics)
{
	size_t i;
	bool has;

	if (!w->to && !sonde_vec_reserve(&in->has, metrics + 1))
		w->is_nomem = true;
	for (i = 0; i < metrics && sonde_walk_ok(w); i++) {
		has = sonde_walk_bit(w, w->to && sonde_input_has(in, (uint32_t)i), i, metrics);
		if (!w->to)
			in->has.at[in->has.nr++] = has;
	}
}

static void move_inputs(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_input *in;

	MOVE_ROWS(w, &c->inputs, in) {
		MOVE_TEXT(w, in->path);
		MOVE_TEXT(w, in->source);
		MOVE_TEXT(w, in->tool);
		MOVE_TEXT(w, in->command);
		MOVE_TEXT(w, in->replay_mode);
		MOVE_NUMBER(w, in->created_s);
		in->nr_windows = sonde_walk_optional(w, in->nr_windows, &in->is_windowed);
		MOVE_NUMBER(w, in->budget_ppm);
		MOVE_NUMBER(w, in->cost_ppm);
		MOVE_NUMBER(w, in->is_sampled);
		MOVE_NUMBER(w, in->is_running);
		MOVE_NUMBER(w, in->nr_unrecorded);
		MOVE_NUMBER(w, in->captured_ns);
		MOVE_NUMBER(w, in->total_ns);
		if (sonde_walk_knows(w, 15)) {
			MOVE_NUMBER(w, in->nr_modules);
			MOVE_NUMBER(w, in->nr_graphed);
			MOVE_NUMBER(w, in->nr_regained);
		}
		move_has(w, in, c->metric_names.nr);
	}
	sonde_walk_require(w, c->inputs.nr);
}

static void move_processes(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_process *p;

	MOVE_ROWS(w, &c->processes, p) {
		MOVE_NUMBER(w, p->pid);
		MOVE_TEXT(w, p->host);
		MOVE_TEXT(w, p->name);
		MOVE_INDEX(w, p->input, c->inputs.nr);
		p->rank = (uint32_t)sonde_walk_optional(w, p->rank, &p->has_rank);
		MOVE_NUMBER(w, p->world_size);
		MOVE_NUMBER(w, p->nr_launches);
		MOVE_NUMBER(w, p->trail);
		MOVE_NUMBER(w, p->first_ns);
		MOVE_NUMBER(w, p->last_ns);
	}
}

static void move_attributes(struct sonde_walk *w, struct sonde_device *d)
{
	struct sonde_attribute *at = (struct sonde_attribute *)d->attributes;
	size_t i;

	d->nr_attributes = sonde_walk_count(w, d->nr_attributes);
	if (!w->to)
		d->attributes = at = sonde_arena_calloc(w->arena, d->nr_attributes + 1, sizeof(*at));
	for (i = 0; sonde_walk_got(w, at) && i < d->nr_attributes && sonde_walk_ok(w); i++) {
		MOVE_TEXT(w, at[i].name);
		MOVE_TEXT(w, at[i].text);
		MOVE_DOUBLE(w, at[i].value);
	}
}

static void move_devices(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_device *d;

	MOVE_ROWS(w, &c->devices, d) {
		MOVE_NUMBER(w, d->id);
		MOVE_INDEX(w, d->process, c->processes.nr);
		MOVE_TEXT(w, d->name);
		MOVE_TEXT(w, d->uuid);
		MOVE_NUMBER(w, d->cc_major);
		MOVE_NUMBER(w, d->cc_minor);
		move_attributes(w, d);
	}
}

static void move_section(struct sonde_walk *w, struct sonde_section *s, size_t nr_strings)
{
	uint32_t *metric;

	MOVE_TEXT(w, s->id);
	MOVE_TEXT(w, s->name);
	MOVE_ROWS(w, &s->metrics, metric)
		MOVE_INDEX(w, *metric, nr_strings);
}

static void move_sections(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_section *s;

	MOVE_ROWS(w, &c->sections, s)
		move_section(w, s, c->strings.nr);
}

static size_t count_shared(struct sonde_str a, struct sonde_str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	return n;
}

/* A region's identifier mostly begins with its parent's: moves the length of the shared beginning, then the rest. */
static void move_id(struct sonde_walk *w, struct sonde_str *id, struct sonde_str parent)
{
	size_t n = (size_t)sonde_walk_index(w, count_shared(parent, *id), parent.n + 1);
	struct sonde_str rest = sonde_walk_bytes(
		w, w->to ? (struct sonde_str){id->p + n, id->n - n} : SONDE_STR(""));
	char *p;

	if (w->to || !sonde_walk_ok(w))
		return;
	p = sonde_arena_alloc(w->arena, n + rest.n + 1);
	if (!sonde_walk_got(w, p))
		return;
	memcpy(p, parent.p, n);
	if (rest.n)
		memcpy(p + n, rest.p, rest.n);
	p[n + rest.n] = '\0';
	*id = (struct sonde_str){p, n + rest.n};
}

/* A parent comes before its children. */
static void move_regions(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_region *g;

	MOVE_ROWS(w, &c->regions, g) {
		const struct sonde_region *up;
		uint64_t kind = (uint64_t)g->kind << 1 | g->is_shown;

		MOVE_MAYBE(w, g->parent, (size_t)(g - c->regions.at));
		up = g->parent == SONDE_NONE ? NULL : &c->regions.at[g->parent];
		g->depth = up ? up->depth + 1 : 0;
		MOVE_INDEX(w, g->label, c->strings.nr);
		MOVE_MAYBE(w, g->domain, c->strings.nr);
		MOVE_INDEX(w, kind, (SONDE_REGION_BACKWARD + 1) << 1);
		g->kind = (uint8_t)(kind >> 1);
		g->is_shown = kind & 1;
		move_id(w, &g->id, up ? up->id : SONDE_STR(""));
	}
}

static void move_homes(struct sonde_walk *w, struct sonde_cells *c, struct sonde_place *p)
{
	uint32_t *home;

	MOVE_SLICE(w, &c->homes, p->first, p->nr, home)
		MOVE_INDEX(w, *home, c->regions.nr);
}

/* Place 0 means: outside all regions. */
static void move_places(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_place *p;

	MOVE_ROWS(w, &c->places, p) {
		move_homes(w, c, p);
		sonde_walk_require(w, p > c->places.at || !p->nr);
	}
	sonde_walk_require(w, c->places.nr);
}

static void move_scopes(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_scope *s;

	MOVE_ROWS(w, &c->scopes, s) {
		struct sonde_scope_sum *sum = SONDE_WALK_ROW(w, &c->sums, s - c->scopes.at);

		if (!sonde_walk_got(w, sum))
			return;
		MOVE_INDEX(w, s->process, c->processes.nr);
		MOVE_MAYBE(w, s->device, SONDE_NONE - 1);
		MOVE_INDEX(w, s->measured, SONDE_NR_MEASURED);
		MOVE_NUMBER(w, sum->launches);
		MOVE_DOUBLE(w, sum->time_ns);
		MOVE_NUMBER(w, sum->collectives);
		MOVE_NUMBER(w, sum->collective_step);
	}
}

static void move_strays(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_stray *s;

	MOVE_ROWS(w, &c->strays, s) {
		MOVE_INDEX(w, s->process, c->processes.nr);
		MOVE_NUMBER(w, s->thread);
		MOVE_NUMBER(w, s->launches);
	}
}

static void move_label_rules(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_label_rule *rule;

	MOVE_ROWS(w, &c->label_rules, rule) {
		MOVE_TEXT(w, rule->text);
		MOVE_NUMBER(w, rule->changed);
	}
}

static void move_notes(struct sonde_walk *w, struct sonde_notes *notes)
{
	size_t nr = sonde_walk_count(w, notes->texts.nr), i;

	for (i = 0; i < nr && sonde_walk_ok(w); i++) {
		struct sonde_str text =
			sonde_walk_bytes(w, w->to ? notes->texts.keys[i] : SONDE_STR(""));

		bool is_loss = sonde_walk_number(w, w->to && sonde_notes_is_loss(notes, i));

		if (!w->to)
			sonde_notes_put(notes, text, is_loss);
	}
}

static void move_tally(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_tally *t = &c->tally;
	bool *const flags[] = {&t->takes_range, &c->has_range_times, &c->has_times, &t->has_torch};
	size_t words = sonde_selection_nr_words(&c->selection), i;

	MOVE_NUMBER(w, t->nr_launches);
	MOVE_NUMBER(w, t->nr_taken);
	MOVE_NUMBER(w, t->nr_outside);
	MOVE_NUMBER(w, t->nr_not_selected);
	MOVE_NUMBER(w, t->nr_adopted);
	sonde_walk_require(w, sonde_walk_number(w, SONDE_NR_OUTSIDE) == SONDE_NR_OUTSIDE);
	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		MOVE_NUMBER(w, t->nr_outside_by[i]);
	if (!w->to)
		t->is_matched = sonde_arena_calloc(w->arena, words + 1, sizeof(*t->is_matched));
	for (i = 0; sonde_walk_got(w, t->is_matched) && i < words; i++)
		t->is_matched[i] = sonde_walk_bit(w, t->is_matched[i], i, words);
	MOVE_INDEX(w, t->nr_functions, SONDE_MAX_FUNCTIONS + 1);
	for (i = 0; i < t->nr_functions; i++)
		MOVE_TEXT(w, t->functions[i]);
	sonde_walk_flags(w, flags, 4);
	MOVE_NUMBER(w, c->nr_unclosed);
	MOVE_NUMBER(w, c->nr_untimed);
	sonde_walk_number(w, 0); /* a count that only older versions of sonde had */
	MOVE_NUMBER(w, c->nr_damaged);
	MOVE_TEXT(w, c->damage);
	move_notes(w, &c->notes);
}

/* A bit per metric says whether it is kept. The accumulators of a cell are in the order of the kept metrics. */
static void move_kept(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_kit *kit)
{
	const struct sonde_input *in = &c->inputs.at[kit->input];
	size_t nr = c->metric_names.nr, i;
	bool is_kept;

	for (i = 0; i < nr && sonde_walk_ok(w); i++) {
		is_kept = sonde_walk_bit(w, w->to && kit->at[i] != SONDE_NONE, i, nr);
		sonde_walk_require(w, !is_kept || sonde_input_has(in, (uint32_t)i));
		if (!w->to)
			kit->at[i] = is_kept ? kit->nr++ : SONDE_NONE;
	}
}

/* Only a few metrics have constituents: moves each of them with its number, and "none" at the end. */
static void move_breakdowns(struct sonde_walk *w, struct sonde_str *at, size_t nr)
{
	uint32_t metric = 0;

	do {
		while (w->to && metric < nr && !at[metric].p)
			metric++;
		metric = sonde_walk_maybe(w, metric < nr ? metric : SONDE_NONE, nr);
		if (metric == SONDE_NONE || w->failed)
			return;
		MOVE_TEXT(w, at[metric]);
		metric += w->to != NULL;
	} while (sonde_walk_ok(w));
}

static void move_kit(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_kit *kit)
{
	size_t nr = c->metric_names.nr;

	MOVE_INDEX(w, kit->input, c->inputs.nr);
	if (!w->to) {
		kit->breakdowns = sonde_arena_calloc(w->arena, nr + 1, sizeof(*kit->breakdowns));
		kit->at = sonde_arena_calloc(w->arena, nr + 1, sizeof(*kit->at));
	}
	if (!sonde_walk_got(w, kit->breakdowns) || !sonde_walk_got(w, kit->at))
		return;
	move_kept(w, c, kit);
	move_breakdowns(w, kit->breakdowns, nr);
}

/* A kit is described by `has` of the input it names, so the kit of an input must name this input. */
static void move_kits(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_kit *kit;
	uint32_t *kit_of, i;

	MOVE_ROWS(w, &c->kits, kit)
		move_kit(w, c, kit);
	for (i = 0; i < c->inputs.nr && sonde_walk_ok(w); i++) {
		kit_of = SONDE_WALK_ROW(w, &c->kit_of, i);
		if (!sonde_walk_got(w, kit_of))
			return;
		MOVE_INDEX(w, *kit_of, c->kits.nr);
		sonde_walk_require(w, w->failed || c->kits.at[*kit_of].input == i);
	}
}

void sonde_walk_tables(struct sonde_walk *w, struct sonde_cells *c)
{
	void (*const steps[])(struct sonde_walk *, struct sonde_cells *) = {move_inputs,
		move_processes, move_devices, move_sections, move_regions, move_places, move_scopes,
		move_strays, move_label_rules, move_tally, move_kits};
	size_t i;

	sonde_walk_settings(w, &c->selection, &c->read);
	move_texts(w, c, &c->strings);
	move_texts(w, c, &c->metric_names);
	move_texts(w, c, &c->texts);
	for (i = 0; i < sizeof(steps) / sizeof(*steps) && sonde_walk_ok(w); i++)
		steps[i](w, c);
}
