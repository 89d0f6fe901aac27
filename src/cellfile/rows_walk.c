/* A part's visits and cells. A reader checks here what a tree assumes about them. */
#include "base/alloc.h"
#include "cellfile/cell_walks.h"
#include "fold/cell_tables.h"
#include "fold/timeline.h"

#include <math.h>

#define MAX_BYTES (4ull << 30) /* the most memory for accumulators, the same as while folding */

/*
 * The number of a row in one of the cells' tables. A renumbering walk replaces it by the new number and keeps
 * SONDE_NONE.
 */
static uint32_t walk_ref(struct sonde_walk *w, uint32_t v, size_t nr, const uint32_t *of)
{
	return w->of ? of[v] : (uint32_t)sonde_walk_index(w, v, nr);
}

static uint32_t walk_maybe_ref(struct sonde_walk *w, uint32_t v, size_t nr, const uint32_t *of)
{
	return w->of ? sonde_number_in(of, v) : sonde_walk_maybe(w, v, nr);
}

#define MOVE_REF(w, c, at, table) ((at) = walk_ref(w, at, (c)->table##s.nr, (w)->of ? (w)->of->table : NULL))
#define MOVE_MAYBE_REF(w, c, at, table)                                                            \
	((at) = walk_maybe_ref(w, at, (c)->table##s.nr, (w)->of ? (w)->of->table : NULL))
/* The processes of a part stay together, so a renumbering walk only adds the number of the first one. */
#define MOVE_PROCESS(w, c, at)                                                                     \
	((at) = (w)->of ? (at) + (w)->of->process : (uint32_t)sonde_walk_index(w, at, (c)->processes.nr))

static void move_streams(struct sonde_walk *w, struct sonde_cells *c, struct sonde_visit *v)
{
	struct sonde_stream_work *s;

	MOVE_SLICE(w, &c->streams, v->first_stream, v->nr_streams, s) {
		MOVE_NUMBER(w, s->context);
		MOVE_NUMBER(w, s->stream);
		MOVE_NUMBER(w, s->launches);
		MOVE_DOUBLE(w, s->time_ns);
		MOVE_DOUBLE(w, s->busy_ns);
	}
}

/* Moves how much longer than the host time the wall time is, as an optional number. */
static void move_wall(struct sonde_walk *w, struct sonde_entry *e)
{
	bool is_known = e->wall_ns != SONDE_NO_WALL;
	uint64_t beyond = sonde_walk_knows(w, 14) ? sonde_walk_optional(w, e->wall_ns - e->host_ns, &is_known) : 0;

	sonde_walk_require(w, beyond < SONDE_NO_WALL - e->host_ns);
	e->wall_ns = sonde_walk_knows(w, 14) && is_known ? e->host_ns + beyond : SONDE_NO_WALL;
}

/* Entries are in the order of their begins. */
static void move_entries(struct sonde_walk *w, struct sonde_cells *c, struct sonde_visit *v)
{
	struct sonde_entry *e;
	uint64_t last = 0;

	MOVE_INDEX(w, v->entry_step, (uint64_t)UINT32_MAX + 1);
	MOVE_SLICE(w, &c->entries, v->first_entry, v->nr_entries, e) {
		MOVE_SINCE(w, e->begin_ns, last);
		MOVE_NUMBER(w, e->host_ns);
		MOVE_NUMBER(w, e->gpu_ns);
		MOVE_NUMBER(w, e->span_ns);
		MOVE_MAYBE_REF(w, c, e->label, string);
		move_wall(w, e);
		if (sonde_walk_knows(w, 15))
			MOVE_MAYBE_REF(w, c, e->arguments, string);
		else
			e->arguments = SONDE_NONE;
		last = e->begin_ns;
	}
	sonde_walk_require(w, v->entry_step || !v->nr_entries);
}

/* Layout 13 had three more times behind the memory, about what a budget had not timed. A reader drops them. */
#define FIRST_GONE SONDE_TIME(idle_by)
#define NR_GONE	   3

/* A bit per time says whether the time is known. Only known times follow. */
static void move_times(struct sonde_walk *w, struct sonde_visit *v)
{
	double none[NR_GONE] = {NAN, NAN, NAN}, *times[SONDE_NR_TIMES + NR_GONE];
	bool is_known[SONDE_NR_TIMES + NR_GONE], *flags[2 + SONDE_NR_TIMES + NR_GONE] = {&v->is_present, &v->is_open};
	size_t i, nr = 0;

	for (i = 0; i < SONDE_NR_TIMES; i++) {
		if (i == FIRST_GONE && !sonde_walk_knows(w, 14))
			while (nr < FIRST_GONE + NR_GONE) {
				times[nr] = &none[nr - FIRST_GONE];
				nr++;
			}
		times[nr++] = &sonde_times_at(&v->times)[i];
	}
	for (i = 0; i < nr; i++) {
		is_known[i] = !isnan(*times[i]);
		flags[2 + i] = &is_known[i];
	}
	sonde_walk_flags(w, flags, 2 + nr);
	for (i = 0; i < nr; i++)
		*times[i] = is_known[i] ? sonde_walk_double(w, *times[i]) : NAN;
}

static bool is_before(const struct sonde_visit *a, const struct sonde_visit *b)
{
	return a->scope < b->scope || (a->scope == b->scope && a->region < b->region);
}

static void move_visits(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_visit *v;

	MOVE_ROWS(w, &c->visits, v) {
		MOVE_REF(w, c, v->scope, scope);
		MOVE_REF(w, c, v->region, region);
		MOVE_NUMBER(w, v->instances);
		MOVE_NUMBER(w, v->first_instances);
		move_times(w, v);
		MOVE_NUMBER(w, v->first_ns);
		MOVE_NUMBER(w, v->nr_queued);
		move_streams(w, c, v);
		move_entries(w, c, v);
		sonde_walk_require(w, v == c->visits.at || is_before(v - 1, v));
	}
}

static void move_gaps(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_gap *gap;

	MOVE_ROWS(w, &c->gaps, gap) {
		MOVE_REF(w, c, gap->scope, scope);
		MOVE_MAYBE_REF(w, c, gap->region, region);
		MOVE_MAYBE_REF(w, c, gap->before, region);
		MOVE_INDEX(w, gap->cause, SONDE_NR_IDLE_CAUSES);
		MOVE_NUMBER(w, gap->begin_ns);
		MOVE_NUMBER(w, gap->ns);
		MOVE_NUMBER(w, gap->since_ns);
	}
}

/* Collectives are sorted by scope, then by start. */
static void move_collectives(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_collective last = {0}, *k;

	MOVE_ROWS(w, &c->collectives, k) {
		MOVE_REF(w, c, k->scope, scope);
		if (sonde_walk_reads(w))
			k->folded_scope = SONDE_NONE; /* not in the bytes: only scopes that are added up have one */
		MOVE_REF(w, c, k->place, place);
		MOVE_REF(w, c, k->group, string);
		MOVE_INDEX(w, k->kind, SONDE_NR_COLLECTIVE_KINDS);
		MOVE_SINCE(w, k->number, last.number);
		MOVE_SINCE(w, k->start_ns, last.start_ns);
		MOVE_SINCE(w, k->end_ns, k->start_ns);
		MOVE_NUMBER(w, k->nr_bytes);
		sonde_walk_require(w, k->scope > last.scope || (k->scope == last.scope &&
								k->start_ns >= last.start_ns));
		sonde_walk_require(w, k->end_ns >= k->start_ns);
		last = *k;
	}
}

void sonde_walk_visits(struct sonde_walk *w, struct sonde_cells *c)
{
	move_visits(w, c);
	move_gaps(w, c);
	move_collectives(w, c);
}

/* Whether the regions of a cell's place and all regions around them are shown, and the cell's scope has entered them. */
static bool is_placed(const struct sonde_cells *c, const struct sonde_cell *cell)
{
	const struct sonde_place *p = &c->places.at[cell->place];
	const struct sonde_visit *v;
	uint32_t i, region;

	for (i = 0; i < p->nr; i++) {
		region = c->homes.at[p->first + i];
		v = sonde_cells_visit(c, cell->scope, region);
		if (!c->tally.takes_range || !v || !v->is_present)
			return false;
		for (; region != SONDE_NONE; region = c->regions.at[region].parent)
			if (!c->regions.at[region].is_shown)
				return false;
	}
	return true;
}

static void move_mode(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_mode *m)
{
	uint64_t count = sonde_walk_number(w, m->count << 1 | m->is_text);
	uint32_t text;

	m->count = count >> 1;
	m->is_text = count & 1;
	if (m->is_text) {
		text = sonde_walk_reads(w) ? 0 : (uint32_t)m->v;
		m->v = MOVE_REF(w, c, text, text);
	} else {
		MOVE_DOUBLE(w, m->v);
	}
}

static void move_modes(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_acc *acc)
{
	struct sonde_modes m = {0};
	uint32_t i;

	if (!sonde_walk_reads(w) && acc->modes)
		m = *acc->modes;
	MOVE_NUMBER(w, m.other);
	MOVE_INDEX(w, m.nr, SONDE_MAX_MODES + 1);
	if (sonde_walk_reads(w)) {
		m.at = sonde_arena_calloc(w->arena, m.nr + 1, sizeof(*m.at));
		m.cap = m.nr;
		acc->modes = sonde_arena_calloc(w->arena, 1, sizeof(m));
		if (sonde_walk_got(w, acc->modes) && sonde_walk_got(w, m.at))
			*acc->modes = m;
	}
	for (i = 0; i < m.nr && sonde_walk_ok(w); i++)
		move_mode(w, c, &m.at[i]);
}

/* Moves only the members that the metric's method uses. */
static void move_acc(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_acc *acc, uint8_t method)
{
	MOVE_NUMBER(w, acc->nr);
	sonde_walk_require(w, acc->nr);
	MOVE_DOUBLE(w, acc->a);
	if (method == SONDE_METHOD_MAX)
		return;
	MOVE_DOUBLE(w, acc->b);
	if (method == SONDE_METHOD_MEAN || method == SONDE_METHOD_PEAK) {
		MOVE_NUMBER(w, acc->nr_weighed);
		MOVE_DOUBLE(w, acc->w);
		MOVE_DOUBLE(w, acc->t);
		MOVE_DOUBLE(w, acc->top);
	} else if (method >= SONDE_METHOD_SAME) {
		move_modes(w, c, acc);
	}
}

/*
 * Moves the accumulators that hold something. Before each: the number of empty ones that are skipped, plus one. 0 ends
 * the list.
 */
static void move_accs(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_acc *acc, uint32_t nr,
	const uint8_t *methods)
{
	uint32_t at, skip;

	for (at = 0; sonde_walk_ok(w); at += skip) {
		for (skip = 1; !sonde_walk_reads(w) && at + skip <= nr && !acc[at + skip - 1].nr; skip++)
			;
		skip = (uint32_t)sonde_walk_index(
			w, at + skip <= nr ? skip : 0, (uint64_t)nr - at + 1);
		if (!skip)
			return;
		move_acc(w, c, &acc[at + skip - 1], methods[at + skip - 1]);
	}
}

/* Moves a cell without its accumulators. */
static void move_cell(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_cell *cell)
{
	MOVE_REF(w, c, cell->scope, scope);
	MOVE_REF(w, c, cell->place, place);
	MOVE_REF(w, c, cell->kernel, string);
	MOVE_NUMBER(w, cell->launches);
	MOVE_DOUBLE(w, cell->time_ns);
	MOVE_NUMBER(w, cell->adopted);
	MOVE_NUMBER(w, cell->copies);
	if (cell->copies) {
		MOVE_DOUBLE(w, cell->copy_ns);
		MOVE_DOUBLE(w, cell->copy_bytes);
	}
	if (sonde_walk_reads(w)) {
		cell->sampled = SONDE_NONE; /* set by the optional section, which comes later */
		sonde_walk_require(w, w->failed || is_placed(c, cell));
	}
}

/* The methods of the accumulators, for each kit. NULL: no memory. */
static uint8_t **find_methods(struct sonde_arena *arena, const struct sonde_cells *c)
{
	uint8_t **methods = sonde_arena_calloc(arena, c->kits.nr + 1, sizeof(*methods));
	size_t i;

	for (i = 0; methods && i < c->kits.nr; i++) {
		methods[i] = sonde_kit_find_methods(&c->kits.at[i], &c->metric_names, arena);
		if (!methods[i])
			return NULL;
	}
	return methods;
}

void sonde_walk_cells(struct sonde_walk *w, struct sonde_cells *c)
{
	/* A renumbering walk visits accumulators only if texts get new numbers: they refer to no other table. */
	bool has_accs = !w->of || w->of->text;
	struct sonde_arena arena = {0};
	uint8_t **methods = has_accs ? find_methods(&arena, c) : NULL;
	struct sonde_cell *cell;
	uint64_t bytes = 0;

	w->is_nomem |= has_accs && !methods;
	MOVE_ROWS(w, &c->cells, cell) {
		const struct sonde_kit *kit = w->of ? sonde_cells_kit(c, cell->scope) : NULL;

		move_cell(w, c, cell);
		if (w->failed)
			break;
		if (!kit)
			kit = sonde_cells_kit(c, cell->scope);
		bytes += kit->nr * sizeof(*cell->acc);
		sonde_walk_require(w, bytes <= MAX_BYTES);
		if (sonde_walk_reads(w))
			cell->acc = w->failed ? NULL : sonde_arena_calloc(w->arena, kit->nr + 1, sizeof(*cell->acc));
		if (has_accs && sonde_walk_got(w, cell->acc))
			move_accs(w, c, cell->acc, kit->nr, methods[kit - c->kits.at]);
	}
	sonde_arena_release(&arena);
}

/*
 * The timeline of a part. It becomes bytes only on its way between two processes of one report, never in a file. A
 * reader still checks all numbers that index.
 */

static void move_launches(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_timeline *t)
{
	struct sonde_timeline_launch *l;

	MOVE_ROWS(w, &t->launches, l) {
		uint32_t scope = l->scope, state = l->state;

		MOVE_NUMBER(w, l->start_ns);
		MOVE_NUMBER(w, l->end_ns);
		MOVE_NUMBER(w, l->call_ns);
		MOVE_NUMBER(w, l->thread);
		MOVE_NUMBER(w, l->stream);
		MOVE_NUMBER(w, l->context);
		MOVE_REF(w, c, scope, scope);
		MOVE_REF(w, c, l->place, place);
		MOVE_REF(w, c, l->kernel, string);
		MOVE_NUMBER(w, state);
		l->scope = scope & 0x3fffffff;
		l->state = state & 3;
	}
}

static void move_ranges(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_timeline *t)
{
	struct sonde_timeline_entry *e;
	struct sonde_timeline_gap *gap;
	struct sonde_timeline_mark *mark;
	struct sonde_timeline_gauge *count;
	struct sonde_timeline_thread *thread;

	MOVE_ROWS(w, &t->entries, e) {
		MOVE_NUMBER(w, e->begin_ns);
		MOVE_NUMBER(w, e->end_ns);
		MOVE_NUMBER(w, e->thread);
		MOVE_PROCESS(w, c, e->process);
		MOVE_REF(w, c, e->region, region);
		MOVE_REF(w, c, e->label, string);
		MOVE_MAYBE_REF(w, c, e->arguments, string);
		MOVE_NUMBER(w, e->kind);
	}
	MOVE_ROWS(w, &t->gaps, gap) {
		MOVE_NUMBER(w, gap->begin_ns);
		MOVE_NUMBER(w, gap->ns);
		MOVE_REF(w, c, gap->scope, scope);
		MOVE_INDEX(w, gap->cause, SONDE_NR_IDLE_CAUSES);
	}
	MOVE_ROWS(w, &t->marks, mark) {
		MOVE_NUMBER(w, mark->ns);
		MOVE_PROCESS(w, c, mark->process);
		MOVE_REF(w, c, mark->label, string);
	}
	MOVE_ROWS(w, &t->gauges, count) {
		MOVE_NUMBER(w, count->ns);
		MOVE_PROCESS(w, c, count->process);
		MOVE_REF(w, c, count->name, string);
		MOVE_DOUBLE(w, count->v);
	}
	MOVE_ROWS(w, &t->threads, thread) {
		MOVE_NUMBER(w, thread->thread);
		MOVE_PROCESS(w, c, thread->process);
		MOVE_REF(w, c, thread->name, string);
	}
}

static void move_curves(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_timeline *t)
{
	struct sonde_timeline_point *point;
	struct sonde_timeline_curve *curve;
	uint32_t *scope;

	MOVE_ROWS(w, &t->points, point) {
		MOVE_NUMBER(w, point->start_ns);
		MOVE_NUMBER(w, point->end_ns);
		MOVE_DOUBLE(w, point->v);
	}
	MOVE_ROWS(w, &t->curve_scopes, scope)
		MOVE_REF(w, c, *scope, scope);
	MOVE_ROWS(w, &t->curves, curve) {
		MOVE_TEXT(w, curve->name);
		MOVE_NUMBER(w, curve->device);
		MOVE_INDEX(w, curve->first, t->points.nr + 1);
		MOVE_INDEX(w, curve->nr, t->points.nr - curve->first + 1);
		MOVE_INDEX(w, curve->first_scope, t->curve_scopes.nr + 1);
		MOVE_INDEX(w, curve->nr_scopes, t->curve_scopes.nr - curve->first_scope + 1);
	}
}

void sonde_walk_timeline(struct sonde_walk *w, struct sonde_cells *c)
{
	if (sonde_walk_reads(w))
		c->timeline = sonde_calloc(1, sizeof(*c->timeline));
	if (!sonde_walk_got(w, c->timeline))
		return;
	move_launches(w, c, c->timeline);
	move_ranges(w, c, c->timeline);
	move_curves(w, c, c->timeline);
}
