/*
 * Cells → one report: the nodes of a scope (or of all of them) with their
 * kernel tables. Works on flat arrays; nothing recurses, however deep the tree.
 */
#include "base/bisect.h"
#include "base/depth_first.h"
#include "base/quantile.h"
#include "tree/tree_int.h"

#include <math.h>
#include <stdlib.h>

/* Scratch memory for building reports: made once, and cleared after each report. */

/* Sorts cells by scope; the cells of a scope keep their order. */
static void sort_cells(struct sonde_scratch *x, const struct sonde_tree *t)
{
	size_t nr = t->cells->scopes.nr, i;

	for (i = 0; i < t->cells->cells.nr; i++)
		x->first_of[t->cells->cells.at[i].scope + 1]++;
	for (i = 0; i < nr; i++)
		x->first_of[i + 1] += x->first_of[i];
	for (i = 0; i < t->cells->cells.nr; i++)
		x->cells[x->first_of[t->cells->cells.at[i].scope]++] = (uint32_t)i;
	for (i = nr; i > 0; i--)
		x->first_of[i] = x->first_of[i - 1];
	x->first_of[0] = 0;
}

/* Orders all regions depth-first. Sorting the places of a report's regions then puts these in order. */
static bool order_regions(struct sonde_scratch *x, const struct sonde_cells *c)
{
	uint32_t i, nr = (uint32_t)c->regions.nr;

	if (nr && !sonde_depth_first(x->order, NULL, nr, &c->regions.at->parent, sizeof(*c->regions.at)))
		return false;
	for (i = 0; i < nr; i++)
		x->place_of[x->order[i]] = i;
	return true;
}

bool sonde_scratch__init(struct sonde_scratch *x, const struct sonde_tree *t)
{
	size_t nr = t->cells->regions.nr;

	*x = (struct sonde_scratch){0};
	x->instances = sonde_arena_calloc(&x->arena, nr, sizeof(*x->instances));
	x->present = sonde_arena_calloc(&x->arena, nr, sizeof(*x->present));
	x->list = sonde_arena_alloc(&x->arena, nr * sizeof(*x->list));
	x->node_of = sonde_arena_alloc(&x->arena, nr * sizeof(*x->node_of));
	x->order = sonde_arena_alloc(&x->arena, nr * sizeof(*x->order));
	x->place_of = sonde_arena_alloc(&x->arena, nr * sizeof(*x->place_of));
	x->cells = sonde_arena_alloc(&x->arena, t->cells->cells.nr * sizeof(*x->cells));
	x->first_of = sonde_arena_calloc(&x->arena, t->cells->scopes.nr + 2, sizeof(*x->first_of));
	if (x->arena.failed || !order_regions(x, t->cells))
		return false;
	sort_cells(x, t);
	return true;
}

static void scratch_clear(struct sonde_scratch *x)
{
	size_t i;

	for (i = 0; i < x->nr; i++) {
		x->instances[x->order[x->list[i]]] = 0;
		x->present[x->order[x->list[i]]] = false;
	}
	x->nr = 0;
}

static bool has_scope(const struct sonde_cells *l, const struct sonde_cover *c, uint32_t scope)
{
	return c->scope == SONDE_NONE ? l->scopes.at[scope].measured == c->measured
				      : c->scope == scope;
}

/* Working state while building one report. */
struct report_work {
	struct sonde_tree *t;
	const struct sonde_cells *c;
	struct sonde_report *r;
	const struct sonde_cover *cover;
	struct sonde_scratch *x;
	const uint32_t *cells; /* the numbers of the scope's cells; NULL: all cells, from 0 on */
	size_t nr_cells;
	bool is_timed; /* some input of the report's scopes has times */
	struct sonde_err *err;
};

/* The number of the first visit of `scope`. Visits are sorted by scope. */
static size_t first_visit(const struct sonde_cells *c, uint32_t scope)
{
	size_t low = 0;

	sonde_bisect(low, c->visits.nr, mid, c->visits.at[mid].scope < scope);
	return low;
}

/* A region is in the report if it, or a region inside it, was entered there. */
static void find_present(struct report_work *w)
{
	bool is_one = w->cover->scope != SONDE_NONE;
	size_t i = is_one ? first_visit(w->c, w->cover->scope) : 0;
	uint32_t region;

	for (; i < w->c->visits.nr; i++) {
		const struct sonde_visit *v = &w->c->visits.at[i];

		if (is_one && v->scope != w->cover->scope)
			break;
		if (!v->is_present || !has_scope(w->c, w->cover, v->scope) ||
			!w->c->regions.at[v->region].is_shown)
			continue;
		if (sonde_nested__counts_entries(w->cover->nested, v->region, v->scope))
			w->x->instances[v->region] += is_one ? v->instances : v->first_instances;
		for (region = v->region; region != SONDE_NONE && !w->x->present[region];
			region = w->c->regions.at[region].parent) {
			w->x->present[region] = true;
			w->x->list[w->x->nr++] = w->x->place_of[region];
		}
	}
}

static bool add_node(struct report_work *w, uint32_t region)
{
	const struct sonde_region *g = &w->c->regions.at[region];
	struct sonde_node *n = sonde_vec_push(&w->r->nodes);

	if (!n)
		return false;
	n->region = region;
	n->parent = g->parent == SONDE_NONE ? SONDE_NONE : w->x->node_of[g->parent];
	n->depth = g->depth;
	n->instances = w->x->instances[region];
	n->scope_min_ns = n->scope_median_ns = n->scope_max_ns = n->imbalance = NAN;
	n->comm_wait_ns = NAN;
	sonde_times_forget(&n->times);
	w->x->node_of[region] = (uint32_t)(w->r->nodes.nr - 1);
	return true;
}

/* Adds nodes depth-first, siblings in order of first entry, which is the order of the regions. */
static bool add_nodes(struct report_work *w)
{
	size_t i;

	sonde_sort_u32(w->x->list, w->x->nr);
	for (i = 0; i < w->x->nr; i++)
		if (!add_node(w, w->x->order[w->x->list[i]]))
			return false;
	return true;
}

/*
 * Calls `visit` for each node in which a cell counts, with `own` if it counts there exclusively. The way up ends at a
 * region whose own capture already contains the cell's work. Invariant 4.
 */
static void visit_nodes(
	struct report_work *w, uint32_t cell, void (*visit)(struct report_work *, uint32_t, uint32_t, bool))
{
	const struct sonde_place *place = &w->c->places.at[w->c->cells.at[cell].place];
	uint32_t k, region, scope = w->c->cells.at[cell].scope;

	for (k = 0; k < place->nr; k++) {
		region = w->c->homes.at[place->first + k];
		visit(w, w->x->node_of[region], cell, true);
		for (region = w->c->regions.at[region].parent;
			region != SONDE_NONE &&
			!sonde_nested__covers(w->cover->nested, region, scope);
			region = w->c->regions.at[region].parent)
			visit(w, w->x->node_of[region], cell, false);
	}
}

static void count_cell(struct report_work *w, uint32_t node, uint32_t cell, bool own)
{
	const struct sonde_cell *c = &w->c->cells.at[cell];
	struct sonde_node *n = &w->r->nodes.at[node];

	n->nr_cells++;
	n->launches += c->launches;
	n->time_ns += c->time_ns;
	n->copies += c->copies;
	n->adopted += c->adopted;
	n->copy_ns += c->copy_ns;
	n->copy_bytes += c->copy_bytes;
	if (own) {
		n->own_nr_cells++;
		n->own_launches += c->launches;
		n->own_time_ns += c->time_ns;
	}
}

static void place_cell(struct report_work *w, uint32_t node, uint32_t cell, bool own)
{
	struct sonde_node *n = &w->r->nodes.at[node];

	w->r->cells.at[n->first_cell + n->nr_cells++] = cell;
	if (own)
		w->r->cells.at[n->own_first_cell + n->own_nr_cells++] = cell;
}

static bool covers_cell(const struct report_work *w, size_t cell)
{
	return has_scope(w->c, w->cover, w->c->cells.at[cell].scope);
}

/* Whether a cell is in at least one region. */
static bool is_inside(const struct report_work *w, size_t cell)
{
	return w->c->places.at[w->c->cells.at[cell].place].nr > 0;
}

/* Whether the capture of a range around the cell already contains the cell's work. */
static bool is_counted(const struct report_work *w, size_t cell)
{
	const struct sonde_cell *c = &w->c->cells.at[cell];

	return sonde_nested__is_inside(w->cover->nested, w->t, c->place, c->scope);
}

static void add_cell(struct report_work *w, uint32_t cell)
{
	const struct sonde_cell *c = &w->c->cells.at[cell];
	struct sonde_report *r = w->r;

	if (is_inside(w, cell) && !is_counted(w, cell)) {
		r->cells.at[r->total_first_cell + r->total_nr_cells++] = cell;
		r->launches += c->launches;
		r->time_ns += c->time_ns;
	} else if (!is_inside(w, cell)) {
		r->cells.at[r->outside_first_cell + r->outside_nr_cells++] = cell;
		r->outside_launches += c->launches;
		r->outside_time_ns += c->time_ns;
	}
	visit_nodes(w, cell, place_cell);
}

/* Two passes over the cells: the first counts how many each slice gets, the second puts them there. */
static int distribute_cells(struct report_work *w)
{
	struct sonde_report *r = w->r;
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < w->nr_cells; i++) {
		uint32_t cell = w->cells ? w->cells[i] : (uint32_t)i;

		if (!covers_cell(w, cell))
			continue;
		if (!is_inside(w, cell))
			r->outside_nr_cells++;
		else if (!is_counted(w, cell))
			r->total_nr_cells++;
		visit_nodes(w, cell, count_cell);
	}
	r->total_first_cell = 0;
	r->outside_first_cell = r->total_nr_cells;
	r->flat_first_cell = r->total_nr_cells + r->outside_nr_cells;
	total = 2 * (uint64_t)r->flat_first_cell;
	for (i = 0; i < r->nodes.nr; i++) {
		struct sonde_node *n = &r->nodes.at[i];

		n->first_cell = (uint32_t)total;
		total += n->nr_cells;
		n->own_first_cell = (uint32_t)total;
		total += n->own_nr_cells;
		n->nr_cells = n->own_nr_cells = 0;
		if (total >= SONDE_NONE)
			return sonde_err_set(w->err, SONDE_ERR_LIMIT,
				"regions × nesting × kernels give more than 4 billion rows: choose "
				"fewer with --nvtx-include or --kernel-include");
	}
	if (!sonde_vec_reserve(&r->cells, total))
		return sonde_err_nomem(w->err);
	r->cells.nr = total;
	r->total_nr_cells = r->outside_nr_cells = 0;
	for (i = 0; i < w->nr_cells; i++) {
		uint32_t cell = w->cells ? w->cells[i] : (uint32_t)i;

		if (covers_cell(w, cell))
			add_cell(w, cell);
	}
	for (i = 0; i < r->flat_first_cell; i++) /* these cells once more: sorted by kernel, they are another table */
		r->cells.at[r->flat_first_cell + i] = r->cells.at[i];
	return 0;
}

static int by_kernel(const void *a, const void *b, void *cells)
{
	const struct sonde_cell *at = cells;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return at[x].kernel != at[y].kernel ? sonde_cmp(at[x].kernel, at[y].kernel) : sonde_cmp(x, y);
}

static int by_time_then_name(const void *a, const void *b, void *names)
{
	const struct sonde_kernel *x = a, *y = b;
	const struct sonde_str *name = names;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	return sonde_str_cmp(name[x->name], name[y->name]);
}

/* The kernel table of a slice of cells: sorts the slice by kernel, one row per run. */
static bool add_kernels(
	struct report_work *w, uint32_t first, uint32_t nr, uint32_t *first_kernel, uint32_t *nr_kernels)
{
	struct sonde_kernel *row = NULL;
	uint32_t *cells = w->r->cells.at, i;

	*first_kernel = (uint32_t)w->r->kernels.nr;
	if (nr > 1)
		qsort_r(&cells[first], nr, sizeof(*cells), by_kernel, w->c->cells.at);
	for (i = first; i < first + nr; i++) {
		const struct sonde_cell *c = &w->c->cells.at[cells[i]];

		if (!row || row->name != c->kernel) {
			row = sonde_vec_push(&w->r->kernels);
			if (!row)
				return false;
			row->name = c->kernel;
			row->first_cell = i;
		}
		row->nr_cells++;
		row->calls += c->launches;
		row->time_ns += c->time_ns;
	}
	*nr_kernels = (uint32_t)(w->r->kernels.nr - *first_kernel);
	if (*nr_kernels > 1)
		qsort_r(&w->r->kernels.at[*first_kernel], *nr_kernels, sizeof(*row),
			by_time_then_name, w->c->strings.keys);
	return true;
}

static bool add_kernel_tables(struct report_work *w)
{
	struct sonde_report *r = w->r;
	size_t i;

	if (!add_kernels(w, r->outside_first_cell, r->outside_nr_cells, &r->outside_first_kernel,
		    &r->nr_outside_kernels))
		return false;
	for (i = 0; i < r->nodes.nr; i++) {
		struct sonde_node *n = &r->nodes.at[i];

		if (!add_kernels(w, n->first_cell, n->nr_cells, &n->first_kernel, &n->nr_kernels))
			return false;
	}
	return add_kernels(w, r->flat_first_cell, r->flat_first_cell, &r->flat_first_kernel,
		&r->nr_flat_kernels);
}

static const struct sonde_input *input_of(const struct sonde_cells *c, size_t scope)
{
	return &c->inputs.at[c->processes.at[c->scopes.at[scope].process].input];
}

static void sum_scopes(struct report_work *w)
{
	bool is_one = w->cover->scope != SONDE_NONE;
	size_t i = is_one ? w->cover->scope : 0;
	size_t end = is_one ? i + 1 : w->c->scopes.nr;
	uint32_t time = sonde_map_find(&w->c->metric_names, SONDE_STR(SONDE_METRIC_TIME));

	for (; i < end; i++) {
		if (!has_scope(w->c, w->cover, (uint32_t)i))
			continue;
		w->is_timed |= sonde_input_has(input_of(w->c, i), time);
		w->r->nr_scopes += w->c->scopes.at[i].nr_folded ? w->c->scopes.at[i].nr_folded : 1;
		w->r->all_launches += w->c->sums.at[i].launches;
		w->r->all_time_ns += w->c->sums.at[i].time_ns;
	}
}

/*
 * A replayed range contains the ranges inside it, which were measured by runs of their own. So the exclusive time of a
 * replayed range is not known.
 */
static void forget_own(struct sonde_report *r)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++) {
		r->nodes.at[i].own_time_ns = NAN;
		r->nodes.at[i].own_nr_cells = 0;
	}
}

static int build_report(struct report_work *w)
{
	uint32_t scope = w->cover->scope;
	int rc;

	w->nr_cells = w->c->cells.nr;
	if (scope != SONDE_NONE) {
		w->cells = &w->x->cells[w->x->first_of[scope]];
		w->nr_cells = w->x->first_of[scope + 1] - w->x->first_of[scope];
	}
	sum_scopes(w);
	find_present(w);
	rc = add_nodes(w) ? distribute_cells(w) : sonde_err_nomem(w->err);
	if (rc == 0 && !add_kernel_tables(w))
		rc = sonde_err_nomem(w->err);
	if (rc == 0 && !w->is_timed)
		sonde_tree__forget_times(w->r);
	else if (rc == 0 && w->c->nr_untimed)
		sonde_tree__forget_zeros(w->r);
	if (rc == 0 && w->r->is_ranges)
		forget_own(w->r);
	scratch_clear(w->x);
	return rc;
}

int sonde_tree__report(struct sonde_tree *t, struct sonde_scratch *x,
	const struct sonde_cover *cover, struct sonde_err *err)
{
	struct sonde_report *r = sonde_vec_push(&t->reports);
	struct report_work w = {.t = t,
		.c = t->cells,
		.r = r,
		.cover = cover,
		.x = x,
		.err = err};

	if (!r)
		return sonde_err_nomem(err);
	r->scope = cover->scope;
	r->measured = cover->measured;
	r->is_ranges = cover->measured != SONDE_MEASURED_KERNEL;
	r->is_aggregate = cover->scope == SONDE_NONE;
	r->has_ranks = r->is_aggregate && t->ranks;
	r->name = r->is_aggregate ? SONDE_STR("aggregate")
				  : t->cells->scopes.at[cover->scope].name;
	return build_report(&w);
}
