/*
 * Graphs: work that was launched by a graph gets the regions in which it was captured.
 *
 * A launch of a graph is a call with many pieces of work. The calls of its capture launched nothing when they were
 * made: they are in this trace, if it contains the capture, or in a trace of the capture (`capture_traces/` beside the
 * trace, as serving engines write it). The n-th of these calls is the n-th piece of work. Work is ordered by the id of
 * its node, which counts up while a graph is captured, else by its start, on each stream separately. Names and grids
 * are compared if both sides have them. A capture that does not fit is not used.
 *
 * Several captures of one trace may fit: of layers that are alike, or of one model with another batch. They are told
 * apart by order: if the launches have as many different graph ids as there are captures, the i-th id is the i-th
 * capture; if each step (round) launches every capture equally often, the launches are the captures in turn. Otherwise,
 * if the captures differ only in the regions around all their calls, work gets the regions inside those, which are the
 * same in each capture; if not, it gets none.
 *
 * Regions of another trace were not entered in this one. They become ranges without times that are not counted.
 */
#include "base/bisect.h"
#include "read/kineto/kineto_int.h"

#include <stdio.h>

#define MAX_TRIES   64 /* captures with equally many launches that one graph is compared with, per trace */
#define MAX_STREAMS 64 /* streams of one graph */
#define MAX_CHAIN   513 /* spans nested in each other */

/* How well a graph and a capture fit. */
enum capture_fit {
	FITS,
	FITS_BY_NUMBER, /* the capture has no names */
	OTHER_NUMBER,
	OTHER_ORDER, /* without names it is not known in which order streams were used */
	OTHER_WORK,
};

/* A launch of a graph. Its records are next to each other. */
struct graph {
	size_t first, nr;
	uint32_t open; /* set of ranges open at the launch */
	bool is_settled;   /* its regions are final */
	bool is_by_number; /* its regions come from a capture without names */
	uint32_t nr_fitting; /* number of captures that fit without a way to choose; 0 = not in doubt */
	/* The capture that fits best, of those that do not fit: */
	enum capture_fit why;
	const char *path; /* its trace; NULL = there was no capture */
	uint64_t nr_captured, at; /* number of its launches; the first of them that is other work */
};

/* The captures of one trace, by number, that fit a launch of a graph. */
struct fitting_captures {
	size_t at[MAX_TRIES]; /* in the order of `captures` */
	uint32_t nr;
	enum capture_fit fit;
};

/* A launch of a graph that fits several captures. */
struct ambiguous_launch {
	uint64_t key; /* the first capture that fits, and how many fit: equal for launches that fit the same captures */
	uint32_t graph;
};

struct join {
	struct kineto *k; /* the trace being read */
	struct sonde_arena work;
	SONDE_VEC(struct graph) graphs;
	struct sonde_map foreign_keys; /* {parent, label} of ranges of other traces */
	size_t first_foreign;
	uint32_t *order; /* of the current graph: its records in the order of their launches in the capture */
	struct kineto *from; /* the trace of the captures being compared */
	uint32_t *range_of; /* by span of that trace: its range plus one, 0 = not made */
	SONDE_VEC(struct ambiguous_launch) ambiguous;
};

/* --- the launches of graphs ------------------------------------------------------------------------ */

static bool is_same_call(const struct sonde_record *a, const struct sonde_record *b)
{
	return a->call_ns && a->call_ns == b->call_ns && a->caller == b->caller;
}

static size_t find_graphs(struct join *j)
{
	const struct sonde_records *r = j->k->r;
	size_t i, end, longest = 0;

	for (i = j->k->first_record; i < r->records.nr; i = end) {
		for (end = i + 1; end < r->records.nr && is_same_call(&r->records.at[i], &r->records.at[end]); end++)
			;
		if (end - i > 1)
			sonde_put(&j->work, &j->graphs, (struct graph){.first = i, .nr = end - i, .open = r->records.at[i].open});
		longest = end - i > longest ? end - i : longest;
	}
	return longest;
}

/* --- whether a capture fits ------------------------------------------------------------------------ */

static const struct kineto_facts *facts_of(const struct join *j, const struct sonde_record *rec)
{
	return rec->kind == SONDE_RESULT_KERNEL
		       ? (const struct kineto_facts *)(const void *)j->k->facts->keys[rec->payload].p
		       : NULL;
}

static const struct kineto_shape *shape_of(const struct join *j, const struct kineto_captured *c)
{
	return (const struct kineto_shape *)(const void *)j->from->shapes.keys[c->shape].p;
}

/* On AMD's GPUs, kernels of the driver copy and set memory. */
static bool may_be_copy(const struct join *j, const struct sonde_record *rec)
{
	return rec->kind != SONDE_RESULT_KERNEL ||
	       sonde_str_starts(sonde_records_str(j->k->r, rec->function), "__amd_rocclr");
}

static bool is_work_of(const struct join *j, const struct kineto_captured *c, const struct sonde_record *rec)
{
	const struct kineto_shape *shape = shape_of(j, c);
	const struct kineto_facts *f = facts_of(j, rec);

	if (shape->is_copy || !f)
		return shape->is_copy && may_be_copy(j, rec);
	if (shape->name != SONDE_NONE && shape->name != rec->function)
		return false;
	return !shape->grid[0] || !f->grid[0] || memcmp(shape->grid, f->grid, sizeof(f->grid)) == 0;
}

static const struct sonde_record *record_at(const struct join *j, const struct graph *g, size_t i)
{
	return &j->k->r->records.at[g->first + i];
}

/* Whether every record has a node, all different; if so, `order` is sorted by node. */
static bool order_by_node(struct join *j, const struct graph *g)
{
	SONDE_VEC(struct sonde_keyed) nodes = {0};
	size_t i;
	bool ok = sonde_vec_reserve(&nodes, g->nr);

	j->work.failed |= !ok;
	for (i = 0; i < g->nr && ok; i++) {
		const struct kineto_facts *f = facts_of(j, record_at(j, g, i));

		ok = f && f->node;
		nodes.at[nodes.nr++] = (struct sonde_keyed){f ? f->node : 0, (uint32_t)i};
	}
	if (ok && !sonde_keysort(nodes.at, nodes.nr))
		j->work.failed = true, ok = false;
	for (i = 0; i < nodes.nr && ok; i++) {
		ok = i == 0 || nodes.at[i].key != nodes.at[i - 1].key;
		j->order[i] = nodes.at[i].index;
	}
	sonde_vec_release(&nodes);
	return ok;
}

/* Whether, on each stream, work started in this order. */
static bool runs_in_order(const struct join *j, const struct graph *g)
{
	struct {
		uint32_t queue;
		uint64_t start_ns;
	} last[MAX_STREAMS];
	size_t i, s, nr = 0;

	for (i = 0; i < g->nr; i++) {
		const struct sonde_record *rec = record_at(j, g, j->order[i]);

		for (s = 0; s < nr && last[s].queue != rec->queue; s++)
			;
		if (s == MAX_STREAMS || (s < nr && last[s].start_ns > rec->time.start_ns))
			return false;
		nr += s == nr;
		last[s].queue = rec->queue;
		last[s].start_ns = rec->time.start_ns;
	}
	return true;
}

static enum capture_fit compare_work(struct join *j, struct graph *g, const struct kineto_captured *c)
{
	bool has_names = false;
	size_t i;

	for (i = 0; i < g->nr; i++) {
		if (!is_work_of(j, &c[i], record_at(j, g, j->order[i]))) {
			g->at = i;
			return OTHER_WORK;
		}
		has_names |= shape_of(j, &c[i])->name != SONDE_NONE;
	}
	return has_names ? FITS : FITS_BY_NUMBER;
}

/*
 * Fits work of several streams: each launch of the capture is the next work of some stream. If several streams match,
 * take the stream of the launch before, because programs fill one stream after the other, else the work that ran first.
 */
static enum capture_fit fit_streams(struct join *j, struct graph *g, const struct kineto_captured *c)
{
	struct {
		uint32_t queue;
		size_t next; /* number of its next record, g->nr = none is left */
	} head[MAX_STREAMS];
	size_t i, k, s, best, last = MAX_STREAMS + 1, nr = 0;

	for (i = 0; i < g->nr; i++) {
		for (s = 0; s < nr && head[s].queue != record_at(j, g, i)->queue; s++)
			;
		if (s == MAX_STREAMS)
			return OTHER_ORDER;
		if (s == nr)
			head[nr].queue = record_at(j, g, i)->queue, head[nr++].next = i;
	}
	for (i = 0; i < g->nr; i++) {
		if (shape_of(j, &c[i])->name == SONDE_NONE && !shape_of(j, &c[i])->is_copy)
			return OTHER_ORDER;
		for (best = MAX_STREAMS, s = 0; s < nr && best != last; s++)
			if (head[s].next < g->nr && is_work_of(j, &c[i], record_at(j, g, head[s].next)) &&
				(best == MAX_STREAMS || s == last || head[s].next < head[best].next))
				best = s;
		if (best == MAX_STREAMS) {
			g->at = i;
			return OTHER_WORK;
		}
		j->order[i] = (uint32_t)head[best].next;
		for (k = head[best].next + 1; k < g->nr && record_at(j, g, k)->queue != head[best].queue; k++)
			;
		head[best].next = k;
		last = best;
	}
	return FITS;
}

/* Compares a graph with a capture; fills `order` if they fit. */
static enum capture_fit fit_capture(struct join *j, struct graph *g, const struct kineto_capture *c)
{
	const struct kineto_captured *at = &j->from->captured.at[c->first];
	enum capture_fit fit = OTHER_ORDER;
	bool is_one = true;
	size_t i;

	if (c->nr != g->nr)
		return OTHER_NUMBER;
	if (order_by_node(j, g) && runs_in_order(j, g))
		fit = compare_work(j, g, at);
	if (fit <= FITS_BY_NUMBER)
		return fit;
	for (i = 0; i < g->nr; i++) {
		j->order[i] = (uint32_t)i;
		is_one &= record_at(j, g, i)->queue == record_at(j, g, 0)->queue;
	}
	return is_one ? compare_work(j, g, at) : fit_streams(j, g, at);
}

/* --- regions of other traces ----------------------------------------------------------------------- */

/* The range called `label` inside `parent`, which was not entered in this trace; added when it is new. */
static uint32_t foreign_range(struct join *j, uint32_t parent, uint32_t label, uint32_t process)
{
	struct sonde_records *r = j->k->r;
	uint32_t key[2] = {parent, label}, n;
	bool is_new;

	n = sonde_intern_copy(&j->work, &j->foreign_keys, SONDE_BYTES(key), &is_new);
	if (is_new)
		sonde_put(&r->arena, &r->ranges,
			(struct sonde_range){.parent = parent,
				.label = label,
				.domain = SONDE_NONE,
				.process = process,
				.kind = SONDE_PUSH_POP,
				.is_inherited = true,
				.begun = SONDE_AHEAD,
				.ended = SONDE_AHEAD});
	return (uint32_t)(j->first_foreign + n);
}

/* The label of a frame: `vllm/attention/backend.py(107): forward` becomes `backend.forward`. */
static uint32_t frame_label(struct kineto *k, uint32_t label)
{
	struct sonde_str name = sonde_records_str(k->r, label), file = name;
	const char *function = memrchr(name.p, ' ', name.n), *line;

	file.n = function ? (size_t)(function - name.p) : 0;
	line = memmem(file.p, file.n, ".py(", 4);
	if (!line)
		return label; /* the name has escapes, so it is kept as it is */
	file.n = (size_t)(line - name.p);
	file = sonde_str_base(file);
	sonde_buf_clear(&k->scratch);
	sonde_buf_printf(&k->scratch, "%.*s.%.*s", SONDE_STR_ARG(file), (int)(name.p + name.n - function - 1),
		function + 1);
	k->src->work.failed |= k->scratch.failed;
	return sonde_records__copied(k->r, sonde_buf_view(&k->scratch));
}

/* The innermost span at or around `span` that is not a frame. */
static uint32_t beyond_frames(const struct kineto *from, uint32_t span)
{
	while (span != SONDE_NONE && kineto_kind(&from->ranges.at[span]) == KINETO_SPAN_FRAME)
		span = from->ranges.at[span].parent;
	return span;
}

/*
 * The label of a frame that is a region: one outside all modules or in a piece of a compiled model, where no module
 * names the work.
 */
static uint32_t frame_of(struct join *j, uint32_t span)
{
	uint32_t at = beyond_frames(j->from, span);
	bool is_region = span != at && (at == SONDE_NONE || kineto_kind(&j->from->ranges.at[at]) == KINETO_SPAN_PIECE);

	return is_region ? frame_label(j->k, (uint32_t)j->from->ranges.at[span].what) : SONDE_NONE;
}

/* Returns the range for a span of the other trace; makes those of all spans around it too. */
static uint32_t foreign_path(struct join *j, uint32_t span, uint32_t process)
{
	const struct kineto *from = j->from;
	uint32_t chain[MAX_CHAIN], nr = 0, at = beyond_frames(from, span), range = SONDE_NONE, frame;

	if (span != SONDE_NONE && j->range_of[span])
		return j->range_of[span] - 1;
	for (; at != SONDE_NONE && !j->range_of[at] && nr < MAX_CHAIN; at = beyond_frames(from, from->ranges.at[at].parent))
		chain[nr++] = at;
	range = at == SONDE_NONE ? SONDE_NONE : j->range_of[at] - 1;
	while (nr) {
		at = chain[--nr];
		range = foreign_range(j, range, (uint32_t)from->ranges.at[at].what, process);
		j->range_of[at] = range + 1;
	}
	frame = frame_of(j, span);
	if (frame != SONDE_NONE)
		range = foreign_range(j, range, frame, process);
	if (span != SONDE_NONE)
		j->range_of[span] = range + 1;
	return range;
}

/* --- joining --------------------------------------------------------------------------------------- */

/* Gives work the range it was captured in: as its origin, or as its open range if it was launched outside any range. */
static void give_region(struct join *j, struct sonde_record *rec, uint32_t range)
{
	if (range == SONDE_NONE)
		return;
	if (rec->open) {
		rec->origin = range;
		rec->origin_kind = SONDE_ORIGIN_GRAPH;
	} else {
		rec->open = sonde_records__set(j->k->r, &range, 1);
	}
}

static void forget_regions(struct join *j, struct graph *g)
{
	size_t i;

	for (i = 0; i < g->nr; i++) {
		struct sonde_record *rec = &j->k->r->records.at[g->first + i];

		rec->open = g->open;
		rec->origin_kind = SONDE_ORIGIN_NONE;
	}
	g->is_settled = g->is_by_number = false;
}

static const struct kineto_captured *captured_at(const struct join *j, size_t capture)
{
	return &j->from->captured.at[j->from->captures.at[capture].first];
}

/* Gives a graph's work the regions of a capture that fits, in place of those it has. */
static void take_regions(struct join *j, struct graph *g, size_t capture)
{
	enum capture_fit fit = fit_capture(j, g, &j->from->captures.at[capture]); /* also fills `order` */
	size_t i;

	if (fit > FITS_BY_NUMBER)
		return;
	forget_regions(j, g);
	for (i = 0; i < g->nr && !j->k->r->arena.failed; i++) {
		struct sonde_record *rec = &j->k->r->records.at[g->first + j->order[i]];
		uint32_t span = captured_at(j, capture)[i].span;

		if (j->from != j->k)
			give_region(j, rec, foreign_path(j, span, sonde_record_caller(j->k->r, rec)->process));
		else if (span != SONDE_NONE)
			give_region(j, rec, (uint32_t)j->k->first_range + span);
	}
	g->is_settled = fit == FITS;
	g->is_by_number = fit == FITS_BY_NUMBER;
	g->nr_fitting = 0;
}

/* --- captures that are alike ----------------------------------------------------------------------- */

/* Lists the labels around a call of a capture, outermost first; returns how many there are. */
static uint32_t labels_around(struct join *j, uint32_t span, uint32_t labels[MAX_CHAIN + 1])
{
	uint32_t nr = 0, i, at, frame = frame_of(j, span);

	for (at = beyond_frames(j->from, span); at != SONDE_NONE && nr < MAX_CHAIN; at = beyond_frames(j->from, j->from->ranges.at[at].parent))
		labels[nr++] = (uint32_t)j->from->ranges.at[at].what;
	for (i = 0; i < nr / 2; i++) {
		uint32_t outer = labels[nr - 1 - i];

		labels[nr - 1 - i] = labels[i];
		labels[i] = outer;
	}
	if (frame != SONDE_NONE)
		labels[nr++] = frame;
	return nr;
}

/* Returns how many of these labels, from the outermost on, all calls of a capture have in common. */
static uint32_t common_around(struct join *j, size_t capture, size_t nr)
{
	uint32_t first[MAX_CHAIN + 1], labels[MAX_CHAIN + 1], common, n, k;
	size_t i;

	common = labels_around(j, captured_at(j, capture)->span, first);
	for (i = 1; i < nr && common; i++) {
		n = labels_around(j, captured_at(j, capture)[i].span, labels);
		for (k = 0; k < common && k < n && labels[k] == first[k]; k++)
			;
		common = k;
	}
	return common;
}

/* Whether the calls of two captures have the same labels, and some labels at all, after the first `skip_a` and `skip_b`. */
static bool are_captures_alike(struct join *j, size_t nr, size_t a, uint32_t skip_a, size_t b, uint32_t skip_b)
{
	uint32_t x[MAX_CHAIN + 1], y[MAX_CHAIN + 1], nr_x, nr_y;
	bool has_some = false;
	size_t i;

	for (i = 0; i < nr; i++) {
		nr_x = labels_around(j, captured_at(j, a)[i].span, x) - skip_a;
		nr_y = labels_around(j, captured_at(j, b)[i].span, y) - skip_b;
		if (nr_x != nr_y || memcmp(x + skip_a, y + skip_b, nr_x * sizeof(*x)) != 0)
			return false;
		has_some |= nr_x > 0;
	}
	return has_some;
}

/* Gives work only the regions inside those that all calls of the capture have in common. */
static void take_inner_regions(struct join *j, struct graph *g, size_t capture, uint32_t nr_common)
{
	uint32_t labels[MAX_CHAIN + 1], nr, k, range;
	size_t i;

	take_regions(j, g, capture);
	if (!g->is_settled && !g->is_by_number)
		return;
	for (i = 0; i < g->nr && !j->k->r->arena.failed && !j->work.failed; i++) {
		struct sonde_record *rec = &j->k->r->records.at[g->first + j->order[i]];

		rec->open = g->open;
		rec->origin_kind = SONDE_ORIGIN_NONE;
		nr = labels_around(j, captured_at(j, capture)[i].span, labels);
		for (range = SONDE_NONE, k = nr_common; k < nr; k++)
			range = foreign_range(j, range, labels[k], sonde_record_caller(j->k->r, rec)->process);
		give_region(j, rec, range);
	}
}

/*
 * Whether all captures have the same regions: completely, or (`inside`) within what all calls of each have in common.
 * `*nr_common` is the number of common labels of the first capture.
 */
static bool are_all_captures_alike(struct join *j, const struct fitting_captures *f, size_t nr, bool inside, uint32_t *nr_common)
{
	uint32_t i;

	*nr_common = inside ? common_around(j, f->at[0], nr) : 0;
	for (i = 1; i < f->nr; i++)
		if (!are_captures_alike(j, nr, f->at[0], *nr_common, f->at[i], inside ? common_around(j, f->at[i], nr) : 0))
			return false;
	return true;
}

/* --- joining --------------------------------------------------------------------------------------- */

static void note_nearest(struct join *j, struct graph *g, enum capture_fit why, uint64_t nr_captured)
{
	if (g->path && why < g->why)
		return;
	g->why = why;
	g->path = j->from->src->path;
	g->nr_captured = nr_captured;
}

/*
 * Returns the captures that fit; of the others the nearest is remembered. If some that fit have names, those without
 * are dropped.
 */
static struct fitting_captures find_fitting(struct join *j, struct graph *g)
{
	const struct kineto *from = j->from;
	struct fitting_captures f = {.fit = OTHER_NUMBER};
	size_t low = 0, n;

	sonde_bisect(low, from->captures.nr, mid, from->captures.at[mid].nr < g->nr);
	for (n = 0; n < MAX_TRIES && low < from->captures.nr; n++, low++) {
		enum capture_fit fit = fit_capture(j, g, &from->captures.at[low]);

		if (fit > FITS_BY_NUMBER)
			note_nearest(j, g, fit, from->captures.at[low].nr);
		if (fit == OTHER_NUMBER)
			return f;
		if (fit > FITS_BY_NUMBER || fit > f.fit)
			continue;
		if (fit < f.fit)
			f = (struct fitting_captures){.fit = fit};
		f.at[f.nr++] = low;
	}
	if (!g->path && from->captures.nr)
		note_nearest(j, g, OTHER_NUMBER, from->captures.at[from->captures.nr - 1].nr);
	return f;
}

static void join_graph(struct join *j, uint32_t graph)
{
	struct graph *g = &j->graphs.at[graph];
	struct fitting_captures f = find_fitting(j, g);

	if (!f.nr)
		return;
	if (f.fit == FITS_BY_NUMBER && (g->is_by_number || g->nr_fitting)) { /* a capture of an earlier trace fits, too */
		forget_regions(j, g);
		g->nr_fitting += f.nr + !g->nr_fitting;
		return;
	}
	if (f.nr == 1)
		take_regions(j, g, f.at[0]);
	else
		sonde_put(&j->work, &j->ambiguous, (struct ambiguous_launch){(uint64_t)f.at[0] << 32 | f.nr, graph});
}

static uint64_t graph_id_of(const struct join *j, const struct ambiguous_launch *d)
{
	const struct kineto_facts *f = facts_of(j, record_at(j, &j->graphs.at[d->graph], 0));

	return f ? f->graph : 0;
}

/* Gives launches with the i-th graph id the i-th capture, as ids count up while graphs are made; false if the numbers differ. */
static bool assign_by_id(struct join *j, const struct ambiguous_launch *d, size_t nr, const struct fitting_captures *f)
{
	uint64_t ids[MAX_TRIES];
	uint32_t nr_ids = 0, k;
	size_t i;

	for (i = 0; i < nr; i++) {
		uint64_t id = graph_id_of(j, &d[i]);

		for (k = 0; k < nr_ids && ids[k] < id; k++)
			;
		if (k < nr_ids && ids[k] == id)
			continue;
		if (!id || nr_ids == f->nr)
			return false;
		memmove(ids + k + 1, ids + k, (nr_ids++ - k) * sizeof(*ids));
		ids[k] = id;
	}
	for (i = 0; i < nr && nr_ids == f->nr; i++) {
		for (k = 0; ids[k] != graph_id_of(j, &d[i]); k++)
			;
		take_regions(j, &j->graphs.at[d[i].graph], f->at[k]);
	}
	return nr_ids == f->nr;
}

/*
 * Gives the launches of each round (one set of open ranges) the captures in turn; false if a round does not launch
 * them equally often.
 */
static bool assign_by_round(struct join *j, const struct ambiguous_launch *d, size_t nr, const struct fitting_captures *f)
{
	size_t i, begin = 0;

	for (i = 1; i <= nr; i++) {
		if (graph_id_of(j, &d[i - 1]))
			return false;
		if (i < nr && j->graphs.at[d[i].graph].open == j->graphs.at[d[i - 1].graph].open)
			continue;
		if ((i - begin) % f->nr)
			return false;
		begin = i;
	}
	for (i = 0; i < nr; i++)
		take_regions(j, &j->graphs.at[d[i].graph], f->at[i % f->nr]);
	return true;
}

/* Decides for launches that fit the same captures. */
static void assign_captures(struct join *j, const struct ambiguous_launch *d, size_t nr)
{
	size_t nr_work = j->graphs.at[d->graph].nr, i;
	struct fitting_captures f = find_fitting(j, &j->graphs.at[d->graph]);
	uint32_t nr_common;
	bool is_same = are_all_captures_alike(j, &f, nr_work, false, &nr_common);

	if (!is_same && (assign_by_id(j, d, nr, &f) || assign_by_round(j, d, nr, &f)))
		return;
	is_same = is_same || are_all_captures_alike(j, &f, nr_work, true, &nr_common);
	for (i = 0; i < nr; i++) {
		struct graph *g = &j->graphs.at[d[i].graph];

		if (!is_same)
			g->nr_fitting = f.nr;
		else if (!nr_common)
			take_regions(j, g, f.at[0]);
		else
			take_inner_regions(j, g, f.at[0], nr_common);
	}
}

static bool join_from(void *of, struct kineto *from)
{
	struct join *j = of;
	size_t i, end, nr_open = 0;

	j->from = from;
	j->ambiguous.nr = 0;
	j->range_of = from == j->k ? NULL
				   : sonde_arena_calloc(&from->src->work, from->ranges.nr + 1, sizeof(*j->range_of));
	j->k->src->work.failed |= from->src->work.failed;
	for (i = 0; i < j->graphs.nr && !j->k->src->work.failed && !j->work.failed; i++)
		if (!j->graphs.at[i].is_settled)
			join_graph(j, (uint32_t)i);
	j->work.failed |= !sonde_keysort(j->ambiguous.at, j->ambiguous.nr);
	for (i = 0; i < j->ambiguous.nr && !j->k->src->work.failed && !j->work.failed; i = end) {
		for (end = i + 1; end < j->ambiguous.nr && j->ambiguous.at[end].key == j->ambiguous.at[i].key; end++)
			;
		assign_captures(j, &j->ambiguous.at[i], end - i);
	}
	for (i = 0; i < j->graphs.nr; i++)
		nr_open += !j->graphs.at[i].is_settled;
	return nr_open > 0;
}

/* --- marks ----------------------------------------------------------------------------------------- */

/*
 * PyTorch's mark_kernels: work with a node has an argument `name`. That mark becomes a range inside the region the
 * work was captured in.
 */
static void take_marks(struct join *j, struct graph *g)
{
	uint32_t none = SONDE_NONE;
	size_t i, nr = 0;

	for (i = 0; i < g->nr; i++) {
		const struct kineto_facts *f = facts_of(j, record_at(j, g, i));

		nr += f && f->mark != SONDE_NONE;
	}
	if (!nr || (!g->open && (g->is_settled || g->is_by_number)))
		return;
	for (i = 0; i < g->nr && !j->k->r->arena.failed && !j->work.failed; i++) {
		struct sonde_record *rec = &j->k->r->records.at[g->first + i];
		const struct kineto_facts *f = facts_of(j, rec);
		uint32_t process = sonde_record_caller(j->k->r, rec)->process;
		bool has = rec->origin_kind == SONDE_ORIGIN_GRAPH;
		uint32_t around = has ? rec->origin : SONDE_NONE;

		if (!has && rec->open) {
			if (none == SONDE_NONE)
				none = foreign_range(j, SONDE_NONE,
					sonde_records__string(j->k->r, SONDE_STR("(graph)")), process);
			around = none;
		}
		if (f && f->mark != SONDE_NONE)
			around = foreign_range(j, around, f->mark, process);
		give_region(j, rec, around);
	}
	g->is_settled = true;
}

/* --- what became of them --------------------------------------------------------------------------- */

static void note_refused(const struct join *j, const struct graph *g, size_t nr)
{
	struct sonde_notes *notes = &j->k->r->notes;
	const char *path = j->k->src->path;
	char others[64] = "";

	if (nr > 1)
		snprintf(others, sizeof(others), " (and %zu more)", nr - 1);
	if (g->nr_fitting)
		sonde_note(notes,
			"%s: %u captures match a graph launch%s of %zu kernels and copies, and sonde cannot tell which one it is: "
			"its work stays without their regions",
			path, g->nr_fitting, others, g->nr);
	else if (g->why == OTHER_WORK)
		sonde_note(notes,
			"%s: a graph launch%s and the capture in %s have %zu kernels and copies each, but differ from number %llu on: "
			"its work stays without the capture's regions",
			path, others, g->path, g->nr, (unsigned long long)g->at + 1);
	else if (g->why == OTHER_ORDER)
		sonde_note(notes,
			"%s: a graph launch%s ran on several streams, and the capture in %s has no names that show "
			"their order: its work stays without the capture's regions",
			path, others, g->path);
	else
		sonde_note(notes,
			"%s: a graph launch%s has %zu kernels and copies, but the capture in %s has %llu: its work stays without the "
			"capture's regions",
			path, others, g->nr, g->path, (unsigned long long)g->nr_captured);
}

static void count_graphs(const struct join *j)
{
	struct sonde_input *in = &j->k->r->inputs.at[j->k->src->input];
	const struct graph *refused = NULL;
	size_t i, nr_refused = 0, nr_alone = 0;

	for (i = 0; i < j->graphs.nr; i++) {
		const struct graph *g = &j->graphs.at[i];
		bool has = g->is_settled || g->is_by_number;

		in->nr_graphed += g->nr;
		in->nr_regained += has ? g->nr : 0;
		nr_alone += !has && !g->path && !g->nr_fitting;
		if (has || (!g->path && !g->nr_fitting))
			continue;
		nr_refused++;
		refused = refused ? refused : g;
	}
	if (refused)
		note_refused(j, refused, nr_refused);
	if (nr_alone)
		sonde_source__note(j->k->src, j->k->r, nr_alone,
			"graph launch counts as a whole where it was launched; to divide its work into the regions it was captured "
			"in, put the trace of its capture in capture_traces/ beside this one (report.kineto.captures)",
			"graph launches count as a whole where they were launched; to divide their work into the regions it was "
			"captured in, put the traces of their captures in capture_traces/ beside this one (report.kineto.captures)");
}

int sonde_kineto__join_graphs(struct kineto *k)
{
	struct join j = {.k = k, .first_foreign = k->r->ranges.nr};
	size_t i, longest = find_graphs(&j);
	int rc = 0;

	if (j.graphs.nr) {
		j.order = sonde_arena_alloc(&j.work, longest * sizeof(*j.order));
		if (!j.work.failed) {
			if (join_from(&j, k))
				rc = sonde_kineto__each_capture(k, join_from, &j);
		}
		for (i = 0; i < j.graphs.nr && rc == 0 && !j.work.failed; i++)
			take_marks(&j, &j.graphs.at[i]);
		count_graphs(&j);
	}
	k->src->work.failed |= j.work.failed;
	sonde_arena_release(&j.work);
	return rc;
}
