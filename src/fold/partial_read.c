/* A partial report's tables. Each count and each number that indexes is checked where it is read. */
#include "fold/partial_int.h"

#include "base/alloc.h"

#include <string.h>

/* One part in the making. */
struct reading {
	struct sonde_cursor *in;
	struct sonde_cells *c;
	bool is_nomem;
};

static bool ok(struct reading *r)
{
	return !r->in->failed && !r->is_nomem;
}

/* `p` is what an allocation gave. */
static bool got(struct reading *r, const void *p)
{
	r->is_nomem |= !p;
	return p != NULL;
}

static struct sonde_str get_kept(struct reading *r)
{
	struct sonde_str s = sonde_get_str(r->in);

	r->is_nomem |= !sonde_cells__keep(r->c, &s);
	return s;
}

/* Names with numbers: each once. */
static void get_texts(struct reading *r, struct sonde_map *map)
{
	size_t nr = sonde_get_count(r->in), i;
	bool is_new;

	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_str text = sonde_get_str(r->in);

		if (sonde_cells__intern(r->c, map, text.p ? text : SONDE_STR(""), &is_new) ==
			SONDE_NONE)
			r->is_nomem = true;
		else
			r->in->failed |= !is_new;
	}
}

bool sonde_partial__words(struct sonde_cursor *in, struct sonde_arena *arena, struct sonde_words *words)
{
	size_t nr = sonde_get_count(in), i;
	const char **at = sonde_arena_calloc(arena, nr + 1, sizeof(*at));

	for (i = 0; at && i < nr && !in->failed; i++)
		at[i] = sonde_arena_z(arena, sonde_get_str(in));
	*words = (struct sonde_words){at, in->failed || arena->failed ? 0 : nr};
	return !arena->failed;
}

bool sonde_partial__settings(struct sonde_cursor *in, struct sonde_arena *arena,
	struct sonde_selection *s, struct sonde_read_options *read)
{
	uint64_t flags;

	if (!sonde_partial__words(in, arena, &s->nvtx_include) ||
		!sonde_partial__words(in, arena, &s->nvtx_exclude) ||
		!sonde_partial__words(in, arena, &s->kernel_include) ||
		!sonde_partial__words(in, arena, &s->kernel_exclude) ||
		!sonde_partial__words(in, arena, &s->labels))
		return false;
	flags = sonde_get_u(in);
	s->stack_only = flags & 1;
	s->own_threads = flags >> 1 & 1;
	s->no_origins = flags >> 2 & 1;
	read->kineto_regions = (unsigned)sonde_get_u(in);
	return true;
}

static void get_settings(struct reading *r)
{
	r->is_nomem |= !sonde_partial__settings(
		r->in, &r->c->arena, &r->c->selection, &r->c->read);
}

static void get_bits(struct reading *r, bool *at, size_t nr)
{
	size_t bytes = (nr + 7) / 8, i;

	if ((size_t)(r->in->end - r->in->p) < bytes)
		r->in->failed = true;
	for (i = 0; i < nr && ok(r); i++)
		at[i] = r->in->p[i / 8] >> i % 8 & 1;
	if (ok(r))
		r->in->p += bytes;
}

static void get_inputs(struct reading *r)
{
	struct sonde_cells *c = r->c;
	size_t nr = sonde_get_count(r->in), i, metrics = c->metric_names.nr;

	r->in->failed |= nr == 0;
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_input *in = sonde_vec_push(&c->inputs);

		if (!got(r, in) || !got(r, sonde_vec_reserve(&in->has, metrics + 1) ? in : NULL))
			return;
		in->path = get_kept(r);
		in->source = get_kept(r);
		in->tool = get_kept(r);
		in->command = get_kept(r);
		in->replay_mode = get_kept(r);
		in->created_s = sonde_get_u(r->in);
		in->nr_windows = sonde_get_u(r->in);
		in->is_windowed = in->nr_windows != 0;
		in->nr_windows -= in->is_windowed;
		in->budget_ppm = sonde_get_u(r->in);
		in->cost_ppm = sonde_get_u(r->in);
		in->captured_ns = sonde_get_u(r->in);
		in->total_ns = sonde_get_u(r->in);
		in->has.nr = metrics;
		memset(in->has.at, 0, (metrics + 1) * sizeof(*in->has.at));
		get_bits(r, in->has.at, metrics);
	}
	nr = sonde_get_count(r->in);
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_process *p = sonde_vec_push(&c->processes);
		uint64_t rank;

		if (!got(r, p))
			return;
		p->pid = sonde_get_u(r->in);
		p->host = get_kept(r);
		p->name = get_kept(r);
		p->input = sonde_get_index(r->in, c->inputs.nr);
		rank = sonde_get_u(r->in);
		p->has_rank = rank != 0;
		p->rank = rank ? (uint32_t)(rank - 1) : 0;
		p->world_size = (uint32_t)sonde_get_u(r->in);
		p->nr_launches = sonde_get_u(r->in);
		p->trail = sonde_get_u(r->in);
	}
}

static void get_device(struct reading *r, struct sonde_device *d)
{
	struct sonde_attribute *at;
	size_t i;

	d->id = (uint32_t)sonde_get_u(r->in);
	d->process = sonde_get_index(r->in, r->c->processes.nr);
	d->name = get_kept(r);
	d->uuid = get_kept(r);
	d->cc_major = (unsigned)sonde_get_u(r->in);
	d->cc_minor = (unsigned)sonde_get_u(r->in);
	d->nr_attributes = sonde_get_count(r->in);
	d->attributes = at = sonde_arena_calloc(&r->c->arena, d->nr_attributes + 1, sizeof(*at));
	for (i = 0; got(r, at) && i < d->nr_attributes && ok(r); i++) {
		at[i].name = get_kept(r);
		at[i].text = get_kept(r);
		at[i].value = sonde_get_f64(r->in);
	}
}

static void get_devices(struct reading *r)
{
	struct sonde_cells *c = r->c;
	size_t nr = sonde_get_count(r->in), i, k, metrics;

	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_device *d = sonde_vec_push(&c->devices);

		if (got(r, d))
			get_device(r, d);
	}
	nr = sonde_get_count(r->in);
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_section *s = sonde_vec_push(&c->sections);

		if (!got(r, s))
			return;
		s->id = get_kept(r);
		s->name = get_kept(r);
		metrics = sonde_get_count(r->in);
		if (!got(r, sonde_vec_reserve(&s->metrics, metrics + 1) ? s : NULL))
			return;
		for (k = 0; k < metrics && ok(r); k++)
			s->metrics.at[s->metrics.nr++] = sonde_get_index(r->in, c->strings.nr);
	}
}

/* The beginning of the parent's identifier, then what follows. */
static struct sonde_str get_id(struct reading *r, struct sonde_str parent)
{
	uint64_t shared = sonde_get_u(r->in);
	struct sonde_str rest = sonde_get_str(r->in);
	char *p;

	r->in->failed |= shared > parent.n;
	p = ok(r) ? sonde_arena_alloc(&r->c->arena, shared + rest.n + 1) : NULL;
	if (!ok(r) || !got(r, p))
		return (struct sonde_str){NULL, 0};
	if (shared)
		memcpy(p, parent.p, shared);
	if (rest.n)
		memcpy(p + shared, rest.p, rest.n);
	p[shared + rest.n] = '\0';
	return (struct sonde_str){p, shared + rest.n};
}

static void get_regions(struct reading *r)
{
	struct sonde_cells *c = r->c;
	size_t nr = sonde_get_count(r->in), i;

	if (!got(r, sonde_vec_reserve(&c->regions, nr + 1) ? c : NULL))
		return;
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_region g = {.parent = sonde_get_maybe(r->in, i)};
		const struct sonde_region *up =
			g.parent == SONDE_NONE ? NULL : &c->regions.at[g.parent];
		uint64_t kind;

		g.depth = up ? up->depth + 1 : 0;
		g.label = sonde_get_index(r->in, c->strings.nr);
		g.domain = sonde_get_maybe(r->in, c->strings.nr);
		kind = sonde_get_u(r->in);
		r->in->failed |= kind >> 1 > SONDE_REGION_BACKWARD;
		g.kind = (uint8_t)(kind >> 1);
		g.is_shown = kind & 1;
		g.id = get_id(r, up ? up->id : (struct sonde_str){"", 0});
		c->regions.at[c->regions.nr++] = g;
	}
}

/* Place 0 is outside all regions. */
static void get_places(struct reading *r)
{
	struct sonde_cells *c = r->c;
	size_t nr = sonde_get_count(r->in), homes, i, k;

	r->in->failed |= nr == 0;
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_place *p = sonde_vec_push(&c->places);

		homes = sonde_get_count(r->in);
		r->in->failed |= i == 0 && homes;
		if (!got(r, p) || !got(r, sonde_vec_reserve(&c->homes, c->homes.nr + homes + 1)
						  ? p
						  : NULL))
			return;
		*p = (struct sonde_place){(uint32_t)c->homes.nr, (uint32_t)homes};
		for (k = 0; k < homes && ok(r); k++)
			c->homes.at[c->homes.nr++] = sonde_get_index(r->in, c->regions.nr);
	}
}

static void get_scopes(struct reading *r)
{
	struct sonde_cells *c = r->c;
	size_t nr = sonde_get_count(r->in), i;

	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_scope *s = sonde_vec_push(&c->scopes);
		struct sonde_scope_sum *sum = sonde_vec_push(&c->sums);

		if (!got(r, s) || !got(r, sum))
			return;
		s->process = sonde_get_index(r->in, c->processes.nr);
		s->device = sonde_get_maybe(r->in, SONDE_NONE - 1);
		s->measured = (uint8_t)sonde_get_index(r->in, SONDE_NR_MEASURED);
		sum->launches = sonde_get_u(r->in);
		sum->time_ns = sonde_get_f64(r->in);
		sum->collectives = sonde_get_u(r->in);
		sum->collective_step = (uint32_t)sonde_get_u(r->in);
	}
	nr = sonde_get_count(r->in);
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_stray *s = sonde_vec_push(&c->strays);

		if (!got(r, s))
			return;
		s->process = sonde_get_index(r->in, c->processes.nr);
		s->thread = sonde_get_u(r->in);
		s->launches = sonde_get_u(r->in);
	}
	nr = sonde_get_count(r->in);
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_label_rule *rule = sonde_vec_push(&c->label_rules);

		if (!got(r, rule))
			return;
		rule->text = get_kept(r);
		rule->changed = sonde_get_u(r->in);
	}
}

static void get_tally(struct reading *r)
{
	struct sonde_cells *c = r->c;
	struct sonde_tally *t = &c->tally;
	size_t words = sonde_selection_nr_words(&c->selection), nr, i;
	uint64_t flags;

	t->nr_launches = sonde_get_u(r->in);
	t->nr_taken = sonde_get_u(r->in);
	t->nr_outside = sonde_get_u(r->in);
	t->nr_not_selected = sonde_get_u(r->in);
	t->nr_adopted = sonde_get_u(r->in);
	r->in->failed |= sonde_get_u(r->in) != SONDE_NR_OUTSIDE;
	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		t->nr_outside_by[i] = sonde_get_u(r->in);
	t->is_met = sonde_arena_calloc(&c->arena, words + 1, sizeof(*t->is_met));
	if (got(r, t->is_met))
		get_bits(r, t->is_met, words);
	nr = sonde_get_index(r->in, SONDE_MAX_FUNCTIONS + 1);
	for (i = 0; i < nr && ok(r); i++)
		t->functions[t->nr_functions++] = get_kept(r);
	flags = sonde_get_u(r->in);
	t->takes_range = flags & 1;
	c->has_range_times = flags >> 1 & 1;
	c->has_times = flags >> 2 & 1;
	c->nr_unclosed = sonde_get_u(r->in);
	c->nr_untimed = sonde_get_u(r->in);
	c->nr_unseen = sonde_get_u(r->in);
	c->nr_damaged = sonde_get_u(r->in);
	c->damage = get_kept(r);
	nr = sonde_get_count(r->in);
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_str note = sonde_get_str(r->in);

		sonde_note(&c->notes, "%.*s", SONDE_STR_ARG(note));
	}
}

/* Accumulators lie in order of the metrics that are kept. */
static void get_kit(struct reading *r, struct sonde_kit *kit, bool *bits)
{
	struct sonde_cells *c = r->c;
	size_t nr = c->metric_names.nr, i;
	uint32_t metric;

	kit->input = sonde_get_index(r->in, c->inputs.nr);
	kit->breakdowns = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*kit->breakdowns));
	kit->at = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*kit->at));
	if (!got(r, kit->breakdowns) || !got(r, kit->at))
		return;
	get_bits(r, bits, nr);
	for (i = 0; i < nr && ok(r); i++) {
		r->in->failed |=
			bits[i] && !sonde_input_has(&c->inputs.at[kit->input], (uint32_t)i);
		kit->at[i] = bits[i] ? kit->nr++ : SONDE_NONE;
	}
	while (ok(r) && (metric = sonde_get_maybe(r->in, nr)) != SONDE_NONE)
		kit->breakdowns[metric] = get_kept(r);
}

/* Of an input's kit its own `has` is asked, so it must be the one the kit was made for. */
static void get_kits(struct reading *r)
{
	struct sonde_cells *c = r->c;
	size_t nr = sonde_get_count(r->in), i;
	bool *bits = sonde_calloc(c->metric_names.nr + 1, sizeof(*bits));

	got(r, bits);
	for (i = 0; i < nr && ok(r); i++) {
		struct sonde_kit *kit = sonde_vec_push(&c->kits);

		if (got(r, kit))
			get_kit(r, kit, bits);
	}
	for (i = 0; i < c->inputs.nr && ok(r); i++) {
		uint32_t *kit_of = sonde_vec_push(&c->kit_of);

		if (!got(r, kit_of))
			break;
		*kit_of = sonde_get_index(r->in, c->kits.nr);
		r->in->failed |= !r->in->failed && c->kits.at[*kit_of].input != i;
	}
	sonde_free(bits);
}

bool sonde_partial__tables(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	struct reading r = {in, c, false};
	void (*const steps[])(struct reading *) = {get_settings, NULL, get_inputs, get_devices,
		get_regions, get_places, get_scopes, get_tally, get_kits};
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(*steps) && ok(&r); i++) {
		if (steps[i]) {
			steps[i](&r);
			continue;
		}
		get_texts(&r, &c->strings);
		get_texts(&r, &c->metric_names);
		get_texts(&r, &c->texts);
	}
	*is_nomem = r.is_nomem;
	return ok(&r) && in->p == in->end;
}
