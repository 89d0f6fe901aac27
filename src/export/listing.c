#include "export/field.h"
#include "export/shown_findings.h"
#include "export/weight.h"

#include "base/alloc.h"
#include "base/depth_first.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REGIONS 100
#define FEW	    16	  /* regions: a report with no more of them has a row for each */
#define SCREEN	    25	  /* rows of a brief table … */
#define STEPLESS    2	  /* … less this for each finding if there is no step: it names places all over the run */
#define LAST	    1e-6  /* factor for the worth of regions that have a row only if there is room */
#define LEAST_SHARE 0.005 /* of the time; a region with less has no row */
#define OFTEN	    3	  /* entries per scope: a region that is entered less often is a start-up, or an end */

struct sorting {
	const struct sonde_tree *tree;
	const struct sonde_node *nodes;
	const double *cost; /* by node: its own cost … */
	const double *most; /* … and the highest cost of the node and those below it */
	enum sonde_sort sort;
	const struct sonde_report *roots_of; /* order the roots of this report for a screen; NULL = leave them as they are */
	bool is_brief;	      /* a table for a screen: not all regions have a row */
	const bool *is_shown; /* by node: regions without a row come last; NULL = all have one */
};

/* The cost of a node: host time if no GPU was used, else GPU time if there is one, else launches. */
static double cost_of(const struct sonde_node *n, enum sonde_report_times times)
{
	if (times == SONDE_TIMES_HOST)
		return isnan(n->times.host_ns) ? 0 : n->times.host_ns;
	return isnan(n->time_ns) ? (double)n->launches : n->time_ns;
}

static int find_costs(
	double *cost, double *most, const struct sonde_tree *t, const struct sonde_report *r, struct sonde_err *err)
{
	enum sonde_report_times times = sonde_report_times(r);
	struct sonde_weights w = {0};
	size_t i;
	int rc = sonde_report_is_figures(r) ? sonde_weights_build(&w, t, r, NULL, err) : 0;

	if (rc)
		return rc;
	for (i = 0; i < r->nodes.nr; i++)
		most[i] = cost[i] = w.inclusive ? w.inclusive[i] : cost_of(&r->nodes.at[i], times);
	sonde_weights_release(&w);
	for (i = r->nodes.nr; i-- > 0;) { /* parents come before their children */
		uint32_t parent = r->nodes.at[i].parent;

		if (parent != SONDE_NONE && most[parent] < most[i])
			most[parent] = most[i];
	}
	return 0;
}

static int by_number(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int by_index(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_sort(const struct sorting *s, uint32_t a, uint32_t b)
{
	const struct sonde_node *x = &s->nodes[a], *y = &s->nodes[b];

	if (s->sort == SONDE_SORT_TIME)
		return by_number(s->cost[a], s->cost[b]);
	if (s->sort == SONDE_SORT_LAUNCHES)
		return by_number((double)x->launches, (double)y->launches);
	if (s->sort == SONDE_SORT_NAME)
		return sonde_str_cmp(sonde_node_label(s->tree, x), sonde_node_label(s->tree, y));
	return 0;
}

/*
 * Whether a region was entered less often than a step is. A region without entries of its own (a backward pass) was
 * not.
 */
static bool ran_once(const struct sonde_report *r, const struct sonde_node *n)
{
	return n->instances && n->instances < OFTEN * (uint64_t)(r->is_aggregate && r->nr_scopes ? r->nr_scopes : 1);
}

/* The region of the step; SONDE_NONE = there is no step. */
static uint32_t step_of(const struct sonde_tree *t)
{
	const struct sonde_findings *f = t->findings;

	return f && f->step != SONDE_NONE ? f->report->nodes.at[f->step].region : SONDE_NONE;
}

/* Whether `inner` is `outer` or inside of it. */
static bool is_same_or_inside(const struct sonde_tree *t, uint32_t inner, uint32_t outer)
{
	while (inner != SONDE_NONE && inner != outer)
		inner = t->cells->regions.at[inner].parent;
	return inner != SONDE_NONE;
}

/* Whether `region` is the step or around it. */
static bool holds_step(const struct sonde_tree *t, uint32_t region)
{
	return is_same_or_inside(t, step_of(t), region);
}

/* The order of roots: 0 = the step or around it, 1 = entered again and again, 2 = others. */
static int importance(const struct sorting *s, uint32_t root)
{
	return holds_step(s->tree, s->nodes[root].region) ? 0 : ran_once(s->roots_of, &s->nodes[root]) ? 2 : 1;
}

/* Keeps siblings together, in the order that the user asks for. */
static int compare_siblings(const void *pa, const void *pb, void *context)
{
	const struct sorting *s = context;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint32_t parent_a = s->nodes[a].parent, parent_b = s->nodes[b].parent;
	int c;

	if (parent_a != parent_b)
		return by_index(parent_a, parent_b);
	if (s->is_shown && s->is_shown[a] != s->is_shown[b])
		return s->is_shown[a] ? -1 : 1;
	if (s->roots_of && parent_a == SONDE_NONE && importance(s, a) != importance(s, b))
		return importance(s, a) - importance(s, b);
	c = by_sort(s, a, b);
	return c ? c : by_index(a, b);
}

/*
 * The highest cost first, by the most expensive node in each. So a parent comes before its children, and the first N
 * nodes of this order include the parents of all of them.
 */
static int compare_cost(const void *pa, const void *pb, void *context)
{
	const struct sorting *s = context;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = by_number(s->most[a], s->most[b]);

	return c ? c : by_index(a, b);
}

/* Keeps the `max` nodes of l->at that cost most, in their order. */
static void keep_costliest(struct sonde_listing *l, uint32_t *scratch, size_t max, struct sorting *s)
{
	uint32_t *by_cost = scratch, *is_kept = scratch + l->nr;
	size_t i, n = 0;

	memcpy(by_cost, l->at, l->nr * sizeof(*by_cost));
	qsort_r(by_cost, l->nr, sizeof(*by_cost), compare_cost, s);
	memset(is_kept, 0, l->nr * sizeof(*is_kept));
	for (i = 0; i < max; i++)
		is_kept[by_cost[i]] = 1;
	for (i = 0; i < l->nr; i++)
		if (is_kept[l->at[i]])
			l->at[n++] = l->at[i];
	l->nr_left_out = l->nr - n;
	l->nr = n;
}

/* The choice of rows for a screen. All arrays are by node. */
struct screen {
	double *worth;	    /* the worth of its row, as a share of the time; then the highest worth of the node and those below */
	uint32_t *children; /* how many children it has … */
	uint32_t *shown;    /* … and how many of them have a row; the last element is for roots, in both */
	bool *is_shown;
	double host_ns; /* the longest host time of a root */
	double figures; /* sum of all roots, if regions have figures alone (sonde_report_is_figures); else NaN */
};

/* The row of a part splits the whole into the part and the rest. It is worth the smaller of both. */
static double worth_of_split(double part, double whole)
{
	return part >= 0 && whole >= part ? fmin(part, whole - part) : 0;
}

/*
 * The worth of a row: its share of the GPU's time or of the host's, whichever is more. A child that takes all of its
 * parent's time is worth nothing, and so is a share below 0.5 %.
 */
static double worth_of(const struct sonde_report *r, const double *cost, const struct screen *s, uint32_t node)
{
	const struct sonde_node *n = &r->nodes.at[node];
	bool is_host = sonde_report_times(r) == SONDE_TIMES_HOST;
	double host_ns = s->host_ns, gpu, host = 0;
	double total = is_host ? host_ns : !isnan(s->figures) ? s->figures : isnan(r->time_ns) ? (double)r->launches : r->time_ns;

	if (!n->launches && !is_host && isnan(s->figures))
		return 0;
	gpu = n->parent == SONDE_NONE ? cost[node] : worth_of_split(cost[node], cost[n->parent]);
	if (n->parent != SONDE_NONE)
		host = worth_of_split(n->times.host_ns, r->nodes.at[n->parent].times.host_ns);
	gpu = fmax(total > 0 ? gpu / total : 0, host_ns > 0 ? host / host_ns : 0);
	return gpu >= LEAST_SHARE || (is_host && n->parent == SONDE_NONE) ? gpu : 0;
}

static bool has_step(const struct sonde_tree *t)
{
	return step_of(t) != SONDE_NONE;
}

static size_t screen_rows(const struct sonde_tree *t, const struct sonde_export_options *o)
{
	const struct sonde_finding *shown[SONDE_MAX_FINDINGS];
	size_t nr = has_step(t) ? 0 : sonde_findings_shown(shown, t, o);

	return STEPLESS * nr < SCREEN / 2 ? SCREEN - STEPLESS * nr : SCREEN / 2;
}

/*
 * Whether regions inside this one get no row: it ran once, is apart from the step, and took less time than the step.
 * Without a step it is enough that it ran once, and the regions inside get the rows that are left.
 */
static bool hides_children(const struct sonde_tree *t, const struct sonde_report *r, uint32_t node)
{
	const struct sonde_findings *f = t->findings;
	const struct sonde_node *n = &r->nodes.at[node];

	return f && ran_once(r, n) && !holds_step(t, n->region) &&
	       (!has_step(t) || (!is_same_or_inside(t, n->region, step_of(t)) && n->time_ns < f->report->nodes.at[f->step].time_ns));
}

static void find_worth(struct screen *s, const struct sonde_tree *t, const struct sonde_report *r, const struct sorting *by,
	const struct sonde_export_options *o)
{
	const struct sonde_node *nodes = r->nodes.at;
	bool *is_inside = s->is_shown; /* by node: it is inside a region that hides its children */
	size_t i;

	s->figures = sonde_report_is_figures(r) ? 0 : NAN;
	for (i = 0; i < r->nodes.nr; i++) {
		s->figures += nodes[i].parent == SONDE_NONE ? by->cost[i] : 0;
		if (nodes[i].parent == SONDE_NONE && nodes[i].times.host_ns > s->host_ns)
			s->host_ns = nodes[i].times.host_ns;
	}
	for (i = 0; i < r->nodes.nr; i++) {
		uint32_t parent = nodes[i].parent;
		bool is_named = sonde_findings_name(t, r, o, (uint32_t)i) || holds_step(t, nodes[i].region);

		is_inside[i] = parent != SONDE_NONE && (is_inside[parent] || hides_children(t, r, parent));
		s->worth[i] = is_named ? HUGE_VAL : worth_of(r, by->cost, s, (uint32_t)i) * (!is_inside[i] ? 1 : has_step(t) ? 0 : LAST);
		s->children[parent == SONDE_NONE ? r->nodes.nr : parent]++;
	}
	for (i = r->nodes.nr; i-- > 0;) /* parents come before their children */
		if (nodes[i].parent != SONDE_NONE && s->worth[nodes[i].parent] < s->worth[i])
			s->worth[nodes[i].parent] = s->worth[i];
	memset(s->is_shown, 0, r->nodes.nr * sizeof(*s->is_shown));
}

/*
 * Gives rows to the regions that are worth most, until there are `max` rows, with the rows that represent the rest of
 * siblings.
 */
static void choose_rows(struct screen *s, const struct sonde_report *r, uint32_t *scratch, size_t max)
{
	struct sorting by_worth = {.nodes = r->nodes.at, .most = s->worth};
	size_t i, rows = 0;

	for (i = 0; i < r->nodes.nr; i++)
		scratch[i] = (uint32_t)i;
	qsort_r(scratch, r->nodes.nr, sizeof(*scratch), compare_cost, &by_worth);
	for (i = 0; i < r->nodes.nr && s->worth[scratch[i]] > 0; i++) {
		uint32_t parent = r->nodes.at[scratch[i]].parent, key = parent == SONDE_NONE ? (uint32_t)r->nodes.nr : parent;
		bool is_first = s->shown[key] == 0, is_last = s->shown[key] + 1 == s->children[key];

		rows += is_first && is_last ? 1 : is_first ? 2 : is_last ? 0 : 1;
		if (rows > max && !isinf(s->worth[scratch[i]]))
			break;
		s->shown[key]++;
		s->is_shown[scratch[i]] = true;
	}
}

/*
 * Removes regions without a row, which come last among their siblings. If some siblings have a row, the removed ones
 * share the row of the first of them; otherwise they count as inside their parent's row. A single one keeps its row: a
 * row that represents only one region says less than its own.
 */
static void leave_rest(struct sonde_listing *l, const struct screen *s, const struct sonde_report *r)
{
	uint32_t first = SONDE_NONE, last = SONDE_NONE; /* of the siblings that share the last row */
	size_t i, nr = 0;

	for (i = 0; i < l->nr; i++) {
		uint32_t node = l->at[i], parent = r->nodes.at[node].parent;
		bool is_alone = !s->shown[parent == SONDE_NONE ? r->nodes.nr : parent];

		if (s->is_shown[node]) {
			l->at[nr++] = node;
			first = SONDE_NONE;
			continue;
		}
		if (first != SONDE_NONE && r->nodes.at[node].parent == r->nodes.at[first].parent) {
			l->next[last] = node;
			last = node;
		} else if (first == SONDE_NONE || r->nodes.at[node].depth < r->nodes.at[first].depth) {
			first = last = node;
			if (parent == SONDE_NONE || !is_alone)
				l->at[nr++] = node;
			l->rest[nr - 1].is_inside = parent != SONDE_NONE && is_alone;
		}
		l->rest[nr - 1].nr++;
	}
	for (i = 0; i < nr; i++)
		if (l->rest[i].nr == 1 && !l->rest[i].is_inside)
			l->rest[i].nr = 0;
	l->nr = nr;
}

static void release_screen(struct screen *s)
{
	sonde_free(s->worth);
	sonde_free(s->children);
	sonde_free(s->shown);
	sonde_free(s->is_shown);
}

/*
 * Fills `out` in the order of `s`. For a brief listing, first chooses which regions have a row. `scratch` has room for
 * twice the nodes.
 */
static bool list_regions(struct sonde_listing *out, struct sorting *s, const struct sonde_report *r, uint32_t *scratch,
	const struct sonde_export_options *o)
{
	size_t nr = r->nodes.nr, i;
	struct screen screen = {0};
	bool ok = true;

	if (s->is_brief) {
		screen = (struct screen){.worth = sonde_calloc(nr, sizeof(*screen.worth)),
			.children = sonde_calloc(nr + 1, sizeof(*screen.children)),
			.shown = sonde_calloc(nr + 1, sizeof(*screen.shown)),
			.is_shown = sonde_calloc(nr, sizeof(*screen.is_shown))};
		out->rest = sonde_calloc(nr, sizeof(*out->rest));
		out->next = sonde_malloc(nr * sizeof(*out->next));
		ok = screen.worth && screen.children && screen.shown && screen.is_shown && out->rest && out->next;
		if (ok) {
			memset(out->next, 0xff, nr * sizeof(*out->next));
			find_worth(&screen, s->tree, r, s, o);
			choose_rows(&screen, r, scratch, o->max_regions ? o->max_regions : screen_rows(s->tree, o));
			s->is_shown = screen.is_shown;
		}
	}
	for (i = 0; i < nr; i++)
		scratch[i] = (uint32_t)i;
	if (ok)
		qsort_r(scratch, nr, sizeof(*scratch), compare_siblings, s);
	ok = ok && sonde_depth_first(out->at, scratch, nr, &r->nodes.at->parent, sizeof(*r->nodes.at));
	out->nr = nr;
	if (ok && s->is_brief)
		leave_rest(out, &screen, r);
	release_screen(&screen);
	return ok;
}

static int build_listing(struct sonde_listing *out, const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o, bool is_brief, struct sonde_err *err)
{
	size_t nr = r->nodes.nr, max = o->max_regions ? o->max_regions : MAX_REGIONS;
	struct sorting s = {.tree = t, .nodes = r->nodes.at, .sort = o->sort, .roots_of = is_brief && o->sort == SONDE_SORT_ORDER ? r : NULL,
		.is_brief = is_brief && (nr > FEW || (o->max_regions && nr > o->max_regions))};
	uint32_t *scratch;
	double *costs;
	int rc = 0;
	bool ok;

	*out = (struct sonde_listing){0};
	if (nr == 0)
		return 0;
	out->at = sonde_calloc(nr, sizeof(*out->at));
	scratch = sonde_calloc(nr * 2, sizeof(*scratch));
	costs = sonde_calloc(nr * 2, sizeof(*costs));
	ok = out->at && scratch && costs;
	if (ok)
		rc = find_costs(costs, costs + nr, t, r, err);
	if (ok && rc == 0) {
		s.cost = costs;
		s.most = costs + nr;
		ok = list_regions(out, &s, r, scratch, o);
	}
	if (ok && rc == 0 && !is_brief && nr > max)
		keep_costliest(out, scratch, max, &s);
	sonde_free(scratch);
	sonde_free(costs);
	if (!ok || rc)
		sonde_listing_release(out);
	return ok ? rc : sonde_err_nomem(err);
}

int sonde_listing_build(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err)
{
	return build_listing(out, t, r, o, false, err);
}

int sonde_listing_build_brief(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err)
{
	return build_listing(out, t, r, o, true, err);
}

int sonde_listing_invert(struct sonde_listing *out, const struct sonde_listing *l,
	const struct sonde_report *r, struct sonde_err *err)
{
	size_t i, nr = r->nodes.nr;
	bool *is_listed = sonde_calloc(nr + 1, sizeof(*is_listed));

	*out = (struct sonde_listing){.at = sonde_calloc(nr + 1, sizeof(*out->at))};
	if (!is_listed || !out->at) {
		sonde_free(is_listed);
		sonde_listing_release(out);
		return sonde_err_nomem(err);
	}
	for (i = 0; i < l->nr; i++)
		is_listed[l->at[i]] = true;
	for (i = 0; i < nr; i++)
		if (!is_listed[i])
			out->at[out->nr++] = (uint32_t)i;
	sonde_free(is_listed);
	return 0;
}

void sonde_listing_release(struct sonde_listing *l)
{
	sonde_free(l->at);
	sonde_free(l->rest);
	sonde_free(l->next);
	*l = (struct sonde_listing){0};
}
