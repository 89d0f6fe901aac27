/*
 * The plan: which classes share an unknown, and how many time bins it has.
 *
 * At first every class has an unknown of its own. Joining is a union-find over classes;
 * laying (plan_lay) turns the result into unknowns, columns and intervals. If an unknown
 * is one class, each launch counts x. If it has several classes (kernels of one name and
 * different sizes, or the kernels of a region), launches count in proportion to their
 * time. In both cases a trend corrects this if lengths differ.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <stdlib.h>

#define BINS	      3	 /* time bins of a class */
#define ENTRY_BINS    4	 /* time bins of a region entry */
#define SEEN_FOR_BINS 30 /* an unknown has bins and a trend only if samples saw so many of its intervals */
#define TREND_SPREAD  0.05 /* spread ÷ length from which on there is a trend: below, the error without a trend is less than 0.5 % */
#define MANY	      2000 /* with more unknowns than this, LONG_BINS instead of BINS would be several times the work */

int sonde_unmix__plan_init(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in)
{
	uint32_t k;

	*plan = (struct sonde_unmix__plan){0};
	plan->leader = sonde_arena_alloc(arena, in->nr_classes * sizeof(*plan->leader));
	plan->fate = sonde_arena_calloc(arena, in->nr_classes, sizeof(*plan->fate));
	plan->is_smooth = sonde_arena_calloc(arena, in->nr_classes, sizeof(*plan->is_smooth));
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < in->nr_classes; k++)
		plan->leader[k] = k;
	return 0;
}

uint32_t sonde_unmix__plan_leader(struct sonde_unmix__plan *plan, uint32_t k)
{
	while (plan->leader[k] != k) {
		plan->leader[k] = plan->leader[plan->leader[k]];
		k = plan->leader[k];
	}
	return k;
}

bool sonde_unmix__plan_join(
	struct sonde_unmix__plan *plan, uint32_t a, uint32_t b, enum sonde_unmix_fate fate)
{
	uint32_t low, high;

	a = sonde_unmix__plan_leader(plan, a);
	b = sonde_unmix__plan_leader(plan, b);
	low = a < b ? a : b;
	high = a < b ? b : a;
	/* If two kinds of join meet, `merged` wins: it claims less about the parts. */
	if (plan->fate[a] != SONDE_UNMIX_OWN && plan->fate[a] != fate)
		fate = SONDE_UNMIX_MERGED;
	if (plan->fate[b] != SONDE_UNMIX_OWN && plan->fate[b] != fate)
		fate = SONDE_UNMIX_MERGED;
	plan->fate[low] = fate;
	plan->leader[high] = low;
	return low != high;
}

/* Numbers the unknowns in the order of classes, not of launches: the order of launches must not matter. */
static int number_unknowns(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in)
{
	bool *has_launches = sonde_arena_calloc(arena, in->nr_classes, sizeof(*has_launches));
	size_t i;
	uint32_t k;

	plan->nr_unknowns = 0;
	plan->unknown = sonde_arena_alloc(arena, in->nr_classes * sizeof(*plan->unknown));
	plan->weight = sonde_arena_calloc(arena, in->nr_classes, sizeof(*plan->weight));
	plan->unknowns = sonde_arena_calloc(arena, in->nr_classes, sizeof(*plan->unknowns));
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	for (i = 0; i < in->nr_launches; i++)
		has_launches[sonde_unmix__plan_leader(plan, in->launches[i].class)] = true;
	for (k = 0; k < in->nr_classes; k++) { /* a leader has the lowest number: it comes first */
		uint32_t leader = sonde_unmix__plan_leader(plan, k);

		plan->fate[k] = plan->fate[leader];
		plan->unknown[k] = leader < k ? plan->unknown[leader] : SONDE_UNMIX_NONE;
		if (leader == k && has_launches[k]) {
			plan->unknowns[plan->nr_unknowns].fate = plan->fate[k];
			plan->unknowns[plan->nr_unknowns].is_smooth = plan->is_smooth[k];
			plan->unknown[k] = plan->nr_unknowns++;
		}
	}
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct sonde_unmix__interval *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->unknown != y->unknown)
		return x->unknown < y->unknown ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static int compare_entries(const void *a, const void *b)
{
	const struct sonde_unmix__interval *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	if (x->unknown != y->unknown)
		return x->unknown < y->unknown ? -1 : 1;
	return compare_starts(a, b);
}

static void sort_by_start(struct sonde_unmix__interval *at, size_t nr)
{
	size_t i;

	for (i = 1; i < nr; i++) {
		if (compare_starts(&at[i - 1], &at[i]) > 0)
			break;
	}
	if (i < nr)
		qsort(at, nr, sizeof(*at), compare_starts);
}

static void list_launches(
	struct sonde_unmix__plan *plan, const struct sonde_unmix_input *in, int64_t shift_ns)
{
	size_t i;

	for (i = 0; i < in->nr_launches; i++) {
		const struct sonde_unmix_launch *l = &in->launches[i];
		struct sonde_unmix__interval *v = &plan->intervals[i];

		v->unknown = plan->unknown[l->class];
		v->start = (double)(l->start_ns + shift_ns);
		v->end = l->end_ns > l->start_ns ? (double)(l->end_ns + shift_ns) : v->start + 1;
		v->whole = v->end - v->start;
		v->from = 0;
		v->entry = SONDE_UNMIX_NONE;
		if (plan->unknowns[v->unknown].fate == SONDE_UNMIX_ENTRY)
			v->entry = l->entry;
		plan->weight[l->class] += v->end - v->start;
		plan->unknowns[v->unknown].weight += v->end - v->start;
	}
	plan->nr_intervals = in->nr_launches;
}

/* Divides each entry among its launches, one after the other, in proportion to their time. */
static void share_entries(struct sonde_unmix__plan *plan)
{
	struct sonde_unmix__interval *at = plan->intervals;
	size_t first, end, i;

	qsort(at, plan->nr_intervals, sizeof(*at), compare_entries);
	for (first = 0; first < plan->nr_intervals; first = end) {
		double time = 0, done = 0;

		for (end = first; end < plan->nr_intervals && at[end].entry == at[first].entry &&
				  at[end].unknown == at[first].unknown;
			end++)
			time += at[end].end - at[end].start;
		for (i = first; i < end && at[first].entry != SONDE_UNMIX_NONE; i++) {
			at[i].whole = time;
			at[i].from = done / time;
			done += at[i].end - at[i].start;
		}
	}
}

/* Computes the weights of intervals, unknowns and classes. Before this, weights hold times. */
static void compute_weights(struct sonde_unmix__plan *plan, const struct sonde_unmix_input *in)
{
	uint64_t nr;
	size_t i;
	uint32_t k, u;

	for (i = 0; i < plan->nr_intervals; i++) {
		const struct sonde_unmix__interval *v = &plan->intervals[i];
		struct sonde_unmix__unknown *x = &plan->unknowns[v->unknown];

		if (v->from > 0)
			continue;
		x->length += v->whole;
		x->spread += v->whole * v->whole;
		x->nr_intervals++;
	}
	for (k = 0; k < in->nr_classes; k++) {
		u = plan->unknown[k];
		if (u == SONDE_UNMIX_NONE)
			continue;
		nr = plan->unknowns[u].nr_intervals;
		plan->weight[k] *= (double)nr / plan->unknowns[u].weight;
	}
	for (u = 0; u < plan->nr_unknowns; u++) {
		struct sonde_unmix__unknown *x = &plan->unknowns[u];

		x->weight = (double)x->nr_intervals;
		x->length /= x->weight;
		x->spread = sqrt(fmax(0, x->spread / x->weight - x->length * x->length));
	}
	for (i = 0; i < plan->nr_intervals; i++) {
		struct sonde_unmix__interval *v = &plan->intervals[i];
		const struct sonde_unmix__unknown *x = &plan->unknowns[v->unknown];

		v->weight = x->fate == SONDE_UNMIX_OWN ? 1 : v->whole / x->length;
	}
}

static void count_seen(struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w)
{
	size_t i, at = 0;

	for (i = 0; i < plan->nr_intervals; i++) {
		const struct sonde_unmix__interval *v = &plan->intervals[i];

		while (at < w->nr && w->end[at] <= v->start)
			at++;
		if (v->from == 0 && at < w->nr && w->start[at] < v->end)
			plan->unknowns[v->unknown].nr_seen++;
	}
}

static uint32_t most_bins(
	const struct sonde_unmix__plan *plan, const struct sonde_unmix__unknown *x)
{
	if (x->fate == SONDE_UNMIX_ENTRY)
		return ENTRY_BINS;
	return x->length < LONG_BINS * BIN_NS || x->is_smooth || plan->nr_unknowns > MANY ? BINS
											     : LONG_BINS;
}

void sonde_unmix__plan_smooth(struct sonde_unmix__plan *plan, const struct sonde_unmix_input *in,
	const bool *has_edges)
{
	uint32_t k, u;

	for (k = 0; k < in->nr_classes; k++) {
		u = plan->unknown[k];
		plan->is_smooth[k] = u != SONDE_UNMIX_NONE &&
				     plan->unknowns[u].nr_bins == LONG_BINS && !has_edges[u];
	}
}

/*
 * Launches that take longer may count proportionally more (more data), the same (they had to wait),
 * or anything else. With one number for all of them, the short launches would decide it, as many of
 * them share a sample. So each counter has its own trend.
 */
static bool has_trend(const struct sonde_unmix__plan *plan, const struct sonde_unmix__unknown *x)
{
	return !plan->without_bins && x->nr_seen >= SEEN_FOR_BINS &&
	       x->spread > TREND_SPREAD * x->length;
}

static void choose_bins(struct sonde_unmix__plan *plan)
{
	uint32_t column = 0, u;

	for (u = 0; u < plan->nr_unknowns; u++) {
		struct sonde_unmix__unknown *x = &plan->unknowns[u];
		uint32_t most = most_bins(plan, x);

		if (plan->without_bins || x->length < most * BIN_NS || x->nr_seen < SEEN_FOR_BINS)
			most = 1;
		x->nr_bins = most;
		x->has_trend = has_trend(plan, x);
		x->column = column;
		column += sonde_unmix__nr_columns(x);
	}
}

int sonde_unmix__plan_lay(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in, const struct sonde_unmix__windows *w, int64_t offset_ns)
{
	bool has_entries = false;
	uint32_t u;

	if (number_unknowns(plan, arena, in) < 0)
		return SONDE_ERR_NOMEM;
	plan->intervals = sonde_arena_alloc(arena, in->nr_launches * sizeof(*plan->intervals));
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	list_launches(plan, in, offset_ns - w->origin_ns);
	for (u = 0; u < plan->nr_unknowns; u++)
		has_entries |= plan->unknowns[u].fate == SONDE_UNMIX_ENTRY;
	if (has_entries)
		share_entries(plan);
	sort_by_start(plan->intervals, plan->nr_intervals);
	compute_weights(plan, in);
	count_seen(plan, w);
	choose_bins(plan);
	return 0;
}
