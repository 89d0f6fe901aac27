#include "fold/partial.h"

#include "base/alloc.h"
#include "fold/partial_int.h"

#include <math.h>

uint8_t *sonde_partial__methods(struct sonde_arena *arena, const struct sonde_map *metrics)
{
	uint8_t *methods = sonde_arena_calloc(arena, metrics->nr + 1, sizeof(*methods));
	size_t i;

	for (i = 0; methods && i < metrics->nr; i++)
		methods[i] = sonde_rule_for(metrics->keys[i])->method;
	return methods;
}

static void put_texts(struct sonde_buf *b, const struct sonde_map *texts)
{
	size_t i;

	sonde_put_u(b, texts->nr);
	for (i = 0; i < texts->nr; i++)
		sonde_put_str(b, texts->keys[i]);
}

void sonde_partial__put_words(struct sonde_buf *b, struct sonde_words words)
{
	size_t i;

	sonde_put_u(b, words.nr);
	for (i = 0; i < words.nr; i++)
		sonde_put_str(b, sonde_str_from(words.at[i]));
}

void sonde_partial__put_settings(
	struct sonde_buf *b, const struct sonde_selection *s, const struct sonde_read_options *read)
{
	sonde_partial__put_words(b, s->nvtx_include);
	sonde_partial__put_words(b, s->nvtx_exclude);
	sonde_partial__put_words(b, s->kernel_include);
	sonde_partial__put_words(b, s->kernel_exclude);
	sonde_partial__put_words(b, s->labels);
	sonde_put_u(b, (unsigned)s->stack_only | (unsigned)s->own_threads << 1 |
			       (unsigned)s->no_origins << 2);
	sonde_put_u(b, read->kineto_regions);
}

static void put_bits(struct sonde_buf *b, const bool *at, size_t nr)
{
	size_t i;
	unsigned byte = 0;

	for (i = 0; i < nr; i++) {
		byte |= (unsigned)at[i] << i % 8;
		if (i % 8 == 7 || i + 1 == nr) {
			sonde_buf_putc(b, (char)byte);
			byte = 0;
		}
	}
}

static void put_inputs(struct sonde_buf *b, const struct sonde_cells *c, bool *bits)
{
	size_t nr = c->metric_names.nr, i, k;

	sonde_put_u(b, c->inputs.nr);
	for (i = 0; i < c->inputs.nr; i++) {
		const struct sonde_input *in = &c->inputs.at[i];

		sonde_put_str(b, in->path);
		sonde_put_str(b, in->source);
		sonde_put_str(b, in->tool);
		sonde_put_str(b, in->command);
		sonde_put_str(b, in->replay_mode);
		sonde_put_u(b, in->created_s);
		sonde_put_u(b, in->is_windowed ? in->nr_windows + 1 : 0);
		sonde_put_u(b, in->budget_ppm);
		sonde_put_u(b, in->cost_ppm);
		sonde_put_u(b, in->captured_ns);
		sonde_put_u(b, in->total_ns);
		for (k = 0; k < nr; k++)
			bits[k] = sonde_input_has(in, (uint32_t)k);
		put_bits(b, bits, nr);
	}
	sonde_put_u(b, c->processes.nr);
	for (i = 0; i < c->processes.nr; i++) {
		const struct sonde_process *p = &c->processes.at[i];

		sonde_put_u(b, p->pid);
		sonde_put_str(b, p->host);
		sonde_put_str(b, p->name);
		sonde_put_u(b, p->input);
		sonde_put_u(b, p->has_rank ? (uint64_t)p->rank + 1 : 0);
		sonde_put_u(b, p->world_size);
		sonde_put_u(b, p->nr_launches);
		sonde_put_u(b, p->trail);
	}
}

static void put_devices(struct sonde_buf *b, const struct sonde_cells *c)
{
	size_t i, k;

	sonde_put_u(b, c->devices.nr);
	for (i = 0; i < c->devices.nr; i++) {
		const struct sonde_device *d = &c->devices.at[i];

		sonde_put_u(b, d->id);
		sonde_put_u(b, d->process);
		sonde_put_str(b, d->name);
		sonde_put_str(b, d->uuid);
		sonde_put_u(b, d->cc_major);
		sonde_put_u(b, d->cc_minor);
		sonde_put_u(b, d->nr_attributes);
		for (k = 0; k < d->nr_attributes; k++) {
			sonde_put_str(b, d->attributes[k].name);
			sonde_put_str(b, d->attributes[k].text);
			sonde_put_f64(b, d->attributes[k].value);
		}
	}
	sonde_put_u(b, c->sections.nr);
	for (i = 0; i < c->sections.nr; i++) {
		const struct sonde_section *s = &c->sections.at[i];

		sonde_put_str(b, s->id);
		sonde_put_str(b, s->name);
		sonde_put_u(b, s->metrics.nr);
		for (k = 0; k < s->metrics.nr; k++)
			sonde_put_u(b, s->metrics.at[k]);
	}
}

/* An identifier mostly begins with that of the region around it. */
static size_t shared(struct sonde_str a, struct sonde_str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	return n;
}

static void put_regions(struct sonde_buf *b, const struct sonde_cells *c)
{
	struct sonde_str parent;
	size_t i, k, n;

	sonde_put_u(b, c->regions.nr);
	for (i = 0; i < c->regions.nr; i++) {
		const struct sonde_region *g = &c->regions.at[i];

		parent = g->parent == SONDE_NONE ? (struct sonde_str){"", 0}
						 : c->regions.at[g->parent].id;
		n = shared(parent, g->id);
		sonde_put_maybe(b, g->parent);
		sonde_put_u(b, g->label);
		sonde_put_maybe(b, g->domain);
		sonde_put_u(b, (uint64_t)g->kind << 1 | g->is_shown);
		sonde_put_u(b, n);
		sonde_put_str(b, (struct sonde_str){g->id.p + n, g->id.n - n});
	}
	sonde_put_u(b, c->places.nr);
	for (i = 0; i < c->places.nr; i++) {
		const struct sonde_place *p = &c->places.at[i];

		sonde_put_u(b, p->nr);
		for (k = 0; k < p->nr; k++)
			sonde_put_u(b, c->homes.at[p->first + k]);
	}
}

static void put_scopes(struct sonde_buf *b, const struct sonde_cells *c)
{
	size_t i;

	sonde_put_u(b, c->scopes.nr);
	for (i = 0; i < c->scopes.nr; i++) {
		sonde_put_u(b, c->scopes.at[i].process);
		sonde_put_maybe(b, c->scopes.at[i].device);
		sonde_put_u(b, c->scopes.at[i].measured);
		sonde_put_u(b, c->sums.at[i].launches);
		sonde_put_f64(b, c->sums.at[i].time_ns);
		sonde_put_u(b, c->sums.at[i].collectives);
		sonde_put_u(b, c->sums.at[i].collective_step);
	}
	sonde_put_u(b, c->strays.nr);
	for (i = 0; i < c->strays.nr; i++) {
		sonde_put_u(b, c->strays.at[i].process);
		sonde_put_u(b, c->strays.at[i].thread);
		sonde_put_u(b, c->strays.at[i].launches);
	}
	sonde_put_u(b, c->label_rules.nr);
	for (i = 0; i < c->label_rules.nr; i++) {
		sonde_put_str(b, c->label_rules.at[i].text);
		sonde_put_u(b, c->label_rules.at[i].changed);
	}
}

static void put_tally(struct sonde_buf *b, const struct sonde_cells *c)
{
	const struct sonde_tally *t = &c->tally;
	size_t i;

	sonde_put_u(b, t->nr_launches);
	sonde_put_u(b, t->nr_taken);
	sonde_put_u(b, t->nr_outside);
	sonde_put_u(b, t->nr_not_selected);
	sonde_put_u(b, t->nr_adopted);
	sonde_put_u(b, SONDE_NR_OUTSIDE);
	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		sonde_put_u(b, t->nr_outside_by[i]);
	put_bits(b, t->is_met, sonde_selection_nr_words(&c->selection));
	sonde_put_u(b, t->nr_functions);
	for (i = 0; i < t->nr_functions; i++)
		sonde_put_str(b, t->functions[i]);
	sonde_put_u(b, (unsigned)t->takes_range | (unsigned)c->has_range_times << 1 |
			       (unsigned)c->has_times << 2);
	sonde_put_u(b, c->nr_unclosed);
	sonde_put_u(b, c->nr_untimed);
	sonde_put_u(b, c->nr_unseen);
	sonde_put_u(b, c->nr_damaged);
	sonde_put_str(b, c->damage);
	put_texts(b, &c->notes.texts);
}

static void put_kits(struct sonde_buf *b, const struct sonde_cells *c, bool *bits)
{
	size_t nr = c->metric_names.nr, i, k;

	sonde_put_u(b, c->kits.nr);
	for (i = 0; i < c->kits.nr; i++) {
		const struct sonde_kit *kit = &c->kits.at[i];

		sonde_put_u(b, kit->input);
		for (k = 0; k < nr; k++)
			bits[k] = kit->at[k] != SONDE_NONE;
		put_bits(b, bits, nr);
		for (k = 0; k < nr; k++) {
			if (!kit->breakdowns[k].p)
				continue;
			sonde_put_u(b, k + 1);
			sonde_put_str(b, kit->breakdowns[k]);
		}
		sonde_put_u(b, 0);
	}
	for (i = 0; i < c->inputs.nr; i++)
		sonde_put_u(b, c->kit_of.at[i]);
}

static void put_tables(struct sonde_buf *b, const struct sonde_cells *c, bool *bits)
{
	sonde_partial__put_settings(b, &c->selection, &c->read);
	put_texts(b, &c->strings);
	put_texts(b, &c->metric_names);
	put_texts(b, &c->texts);
	put_inputs(b, c, bits);
	put_devices(b, c);
	put_regions(b, c);
	put_scopes(b, c);
	put_tally(b, c);
	put_kits(b, c, bits);
}

static void put_entries(
	struct sonde_buf *b, const struct sonde_cells *c, const struct sonde_visit *v)
{
	uint64_t last = 0;
	uint32_t i;

	sonde_put_u(b, v->entry_step);
	sonde_put_u(b, v->nr_entries);
	for (i = 0; i < v->nr_entries; i++) {
		const struct sonde_entry *e = &c->entries.at[v->first_entry + i];

		sonde_put_u(b, e->begin_ns - last); /* in order */
		sonde_put_u(b, e->host_ns);
		sonde_put_u(b, e->gpu_ns);
		sonde_put_u(b, e->span_ns);
		sonde_put_maybe(b, e->label);
		last = e->begin_ns;
	}
}

static void put_gaps(struct sonde_buf *b, const struct sonde_cells *c)
{
	size_t i;

	sonde_put_u(b, c->gaps.nr);
	for (i = 0; i < c->gaps.nr; i++) {
		const struct sonde_gap *gap = &c->gaps.at[i];

		sonde_put_u(b, gap->scope);
		sonde_put_maybe(b, gap->region);
		sonde_put_maybe(b, gap->before);
		sonde_put_u(b, gap->cause);
		sonde_put_u(b, gap->begin_ns);
		sonde_put_u(b, gap->ns);
		sonde_put_u(b, gap->since_ns);
	}
}

/* Numbers and starts mostly follow those before them. */
static void put_collectives(struct sonde_buf *b, const struct sonde_cells *c)
{
	struct sonde_collective last = {0};
	size_t i;

	sonde_put_u(b, c->collectives.nr);
	for (i = 0; i < c->collectives.nr; i++) {
		const struct sonde_collective *k = &c->collectives.at[i];

		sonde_put_u(b, k->scope);
		sonde_put_u(b, k->place);
		sonde_put_u(b, k->group);
		sonde_put_u(b, k->kind);
		sonde_put_u(b, k->number - last.number);
		sonde_put_u(b, k->start_ns - last.start_ns);
		sonde_put_u(b, k->end_ns - k->start_ns);
		sonde_put_u(b, k->nr_bytes);
		last = *k;
	}
}

static void put_visits(struct sonde_buf *b, const struct sonde_cells *c)
{
	size_t i, k;

	sonde_put_u(b, c->visits.nr);
	for (i = 0; i < c->visits.nr; i++) {
		struct sonde_visit *v = &c->visits.at[i];
		double *times[SONDE_PARTIAL_NR_TIMES];
		uint64_t known = (unsigned)v->is_present | (unsigned)v->is_open << 1;

		sonde_partial__times(v, times);
		for (k = 0; k < SONDE_PARTIAL_NR_TIMES; k++)
			known |= (uint64_t)!isnan(*times[k]) << (2 + k);
		sonde_put_u(b, v->scope);
		sonde_put_u(b, v->region);
		sonde_put_u(b, v->instances);
		sonde_put_u(b, v->first_instances);
		sonde_put_u(b, known);
		for (k = 0; k < SONDE_PARTIAL_NR_TIMES; k++)
			if (known >> (2 + k) & 1)
				sonde_put_f64(b, *times[k]);
		sonde_put_u(b, v->waits.nr_queued);
		sonde_put_u(b, v->nr_streams);
		for (k = 0; k < v->nr_streams; k++) {
			const struct sonde_stream *s = &c->streams.at[v->first_stream + k];

			sonde_put_u(b, s->context);
			sonde_put_u(b, s->stream);
			sonde_put_u(b, s->launches);
			sonde_put_f64(b, s->time_ns);
			sonde_put_f64(b, s->busy_ns);
		}
		put_entries(b, c, v);
	}
	put_gaps(b, c);
	put_collectives(b, c);
}

static void put_modes(struct sonde_buf *b, const struct sonde_modes *m)
{
	uint32_t i;

	sonde_put_u(b, m ? m->other : 0);
	sonde_put_u(b, m ? m->nr : 0);
	for (i = 0; m && i < m->nr; i++) {
		sonde_put_u(b, m->at[i].count << 1 | m->at[i].is_text);
		if (m->at[i].is_text)
			sonde_put_u(b, (uint64_t)m->at[i].v);
		else
			sonde_put_f64(b, m->at[i].v);
	}
}

static void put_acc(struct sonde_buf *b, const struct sonde_acc *acc, uint8_t method)
{
	sonde_put_u(b, acc->nr);
	sonde_put_f64(b, acc->a);
	if (method == SONDE_METHOD_MAX)
		return;
	sonde_put_f64(b, acc->b);
	if (method == SONDE_METHOD_MEAN || method == SONDE_METHOD_PEAK) {
		sonde_put_u(b, acc->nr_weighed);
		sonde_put_f64(b, acc->w);
		sonde_put_f64(b, acc->t);
		sonde_put_f64(b, acc->top);
	} else if (method >= SONDE_METHOD_SAME) {
		put_modes(b, acc->modes);
	}
}

/* Only accumulators that hold something: how many are left out before each, plus one; 0 ends. */
static void put_cell(struct sonde_buf *b, const struct sonde_cells *c,
	const struct sonde_cell *cell, const uint8_t *methods)
{
	const struct sonde_kit *kit = sonde_cells_kit(c, cell->scope);
	uint64_t gap = 1;
	size_t i;

	sonde_put_u(b, cell->scope);
	sonde_put_u(b, cell->place);
	sonde_put_u(b, cell->kernel);
	sonde_put_u(b, cell->launches);
	sonde_put_f64(b, cell->time_ns);
	sonde_put_u(b, cell->adopted);
	sonde_put_u(b, cell->copies);
	if (cell->copies) {
		sonde_put_f64(b, cell->copy_ns);
		sonde_put_f64(b, cell->copy_bytes);
	}
	for (i = 0; i < c->metric_names.nr; i++) {
		if (kit->at[i] == SONDE_NONE)
			continue;
		if (!cell->acc[kit->at[i]].nr) {
			gap++;
			continue;
		}
		sonde_put_u(b, gap);
		put_acc(b, &cell->acc[kit->at[i]], methods[i]);
		gap = 1;
	}
	sonde_put_u(b, 0);
}

static void write_section(struct sonde_sink *to, uint32_t kind, struct sonde_buf *b)
{
	struct sonde_partial_section s = {.kind = kind, .nr_bytes = b->n};

	s.check = sonde_partial__check(&s, b->p ? b->p : "");
	sonde_sink_write(to, &s, sizeof(s));
	sonde_sink_str(to, sonde_buf_view(b));
	to->buf.failed |= b->failed;
	sonde_buf_clear(b);
}

static bool write_part(struct sonde_sink *to, struct sonde_cells *c, struct sonde_buf *b)
{
	struct sonde_arena arena = {0};
	uint8_t *methods = sonde_partial__methods(&arena, &c->metric_names);
	bool *bits = sonde_arena_calloc(&arena, c->metric_names.nr + 1, sizeof(*bits));
	size_t i;

	if (methods && bits) {
		put_tables(b, c, bits);
		write_section(to, SONDE_PARTIAL_TABLES, b);
		put_visits(b, c);
		write_section(to, SONDE_PARTIAL_VISITS, b);
		sonde_put_u(b, c->cells.nr);
		for (i = 0; i < c->cells.nr; i++)
			put_cell(b, c, &c->cells.at[i], methods);
		write_section(to, SONDE_PARTIAL_CELLS, b);
		if (c->sampled.nr) {
			sonde_partial__put_sampled(b, c);
			write_section(to, SONDE_PARTIAL_SAMPLED, b);
		}
	}
	sonde_arena_release(&arena);
	return methods && bits && !to->buf.failed;
}

int sonde_partial_write(struct sonde_parts *parts, struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_partial_head head = {
		.version = SONDE_PARTIAL_VERSION, .rules = SONDE_RULES_VERSION};
	struct sonde_notes doubled = {0};
	struct sonde_buf b = {0};
	size_t i;
	int rc = sonde_parts__check(parts->at.at, parts->at.nr, err);

	if (rc)
		return rc;
	memcpy(head.magic, SONDE_PARTIAL_MAGIC, sizeof(head.magic));
	sonde_parts__sort(parts->at.at, &parts->at.nr, &doubled);
	if (parts->at.nr)
		sonde_notes_add(&parts->at.at[parts->at.nr - 1]->notes, &doubled);
	sonde_sink_write(to, &head, sizeof(head));
	for (i = 0; i < parts->at.nr && rc == 0; i++)
		rc = write_part(to, parts->at.at[i], &b) ? 0 : sonde_err_nomem(err);
	sonde_put_u(&b, parts->at.nr);
	write_section(to, SONDE_PARTIAL_END, &b);
	sonde_buf_release(&b);
	sonde_notes_release(&doubled);
	return rc;
}
