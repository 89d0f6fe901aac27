/*
 * A solve from begin to end: checks the input, refuses counters that cannot be right, and fits all
 * others, usually twice. The first fit has the finest unknowns; their errors decide which unknowns are
 * coarser in the second fit.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "catalogue/limits.h"

#define MOST_WORK	2e11
#define MOST_OFFSET_NS	1000000000

/* Times beyond these (the years 1843 to 2096) could overflow when subtracted. */
static bool is_time(int64_t t)
{
	return t > -4000000000000000000 && t < 4000000000000000000;
}

static int check_launches(const struct sonde_unmix_input *in, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < in->nr_launches; i++) {
		const struct sonde_unmix_launch *l = &in->launches[i];

		if (l->class >= in->nr_classes)
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"unmix: launch %zu has class %u, but there are %u classes", i,
				l->class, in->nr_classes);
		if (l->end_ns < l->start_ns)
			return sonde_err_set(
				err, SONDE_ERR_USAGE, "unmix: launch %zu ends before it starts: capture again", i);
		if (!is_time(l->start_ns) || !is_time(l->end_ns))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"unmix: the times of launch %zu are out of range: capture again", i);
	}
	return 0;
}

static int check_samples(const struct sonde_unmix_input *in, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < in->nr_samples; i++) {
		if (!is_time(in->start_ns[i]) || !is_time(in->end_ns[i]))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"unmix: the times of sample %zu are out of range: capture again", i);
		if (i > 0 && in->start_ns[i] < in->start_ns[i - 1])
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"unmix: sample %zu starts before the one in front of it: capture again", i);
	}
	return 0;
}

static struct sonde_unmixed *start_result(const struct sonde_unmix_input *in)
{
	struct sonde_unmixed *u = sonde_unmixed_new(in->nr_classes, in->nr_counters, 0);
	uint32_t k;
	size_t i;

	if (u == NULL)
		return NULL;
	for (i = 0; i < in->nr_launches; i++) {
		k = in->launches[i].class;
		u->state.classes[k].nr_launches++;
		u->state.time[k] += (double)(in->launches[i].end_ns - in->launches[i].start_ns);
	}
	if (in->limits_per_ns != NULL)
		memcpy(u->state.limits, in->limits_per_ns, in->nr_counters * sizeof(*u->state.limits));
	return u;
}

/* The samples of a counter that are above its limit. */
struct above {
	uint64_t nr;
	double most; /* highest value per ns */
};

/* Goes sample by sample, as the values of one sample are next to each other in memory. */
static void find_above(struct above *above, const double *limits, const struct sonde_unmix_input *in)
{
	uint32_t c;
	size_t i;

	for (i = 0; i < in->nr_samples; i++) {
		double length = (double)(in->end_ns[i] - in->start_ns[i]);

		for (c = 0; length > 0 && c < in->nr_counters; c++) {
			double rate = in->values[i * in->nr_counters + c] / length;

			if (!(limits[c] > 0 && rate > SONDE_LIMIT_SLACK * limits[c]))
				continue;
			above[c].nr++;
			above[c].most = rate > above[c].most ? rate : above[c].most;
		}
	}
}

/* Refuses counters that are often above their limit: such a counter is not what its name says. */
static int refuse_counters(struct sonde_unmixed *u, const struct sonde_unmix_input *in)
{
	struct above *above = sonde_arena_calloc(&u->arena, in->nr_counters, sizeof(*above));
	uint32_t c;

	if (above == NULL)
		return SONDE_ERR_NOMEM;
	if (in->limits_per_ns != NULL)
		find_above(above, u->state.limits, in);
	for (c = 0; c < in->nr_counters; c++) {
		double share = (double)above[c].nr / (double)in->nr_samples;

		if (!(share > SONDE_REFUSED_SHARE))
			continue;
		u->state.counters[c].refused = sonde_arena_printf(&u->arena,
			"%.0f %% of its samples are above what the device can count, up to %.1f "
			"times",
			100.0 * share, above[c].most / u->state.limits[c])
						 .p;
		if (u->state.counters[c].refused == NULL)
			return SONDE_ERR_NOMEM;
		u->state.limits[c] = 0;
	}
	return 0;
}

/* Copies from the plan what does not depend on a counter. */
static int take_plan(struct sonde_unmixed *u, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__plan *plan = r->plan;
	struct sonde_unmix_quality *q = &u->quality;
	uint32_t k;

	u->state.nr_unknowns = q->nr_unknowns = plan->nr_unknowns;
	u->state.unknown_weight =
		sonde_arena_alloc(&u->arena, u->state.nr_unknowns * sizeof(*u->state.unknown_weight));
	u->length = sonde_arena_alloc(&u->arena, u->state.nr_unknowns * sizeof(*u->length));
	u->state.fate = sonde_arena_alloc(&u->arena, u->state.nr_unknowns * sizeof(*u->state.fate));
	if (u->arena.failed)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < u->state.nr_unknowns; k++) {
		const struct sonde_unmix__unknown *x = &plan->unknowns[k];

		u->state.unknown_weight[k] = x->weight;
		u->length[k] = x->length;
		u->state.fate[k] = x->nr_seen > 0 ? x->fate : SONDE_UNMIX_UNSEEN;
	}
	q->nr_columns = r->gram.nr;
	q->condition = r->condition;
	q->nr_merged = q->nr_entry = q->nr_pooled = 0;
	for (k = 0; k < u->state.nr_classes; k++) {
		struct sonde_unmix_class_result *c = &u->state.classes[k];

		c->unknown = plan->unknown[k];
		c->fate = c->unknown == SONDE_UNMIX_NONE ? SONDE_UNMIX_UNSEEN : u->state.fate[c->unknown];
		if (c->fate == SONDE_UNMIX_UNSEEN)
			c->unknown = SONDE_UNMIX_NONE;
		u->state.weight[k] = plan->weight[k];
		q->nr_merged += c->fate == SONDE_UNMIX_MERGED;
		q->nr_entry += c->fate == SONDE_UNMIX_ENTRY;
		q->nr_pooled += c->fate == SONDE_UNMIX_POOLED;
	}
	return 0;
}

static int fit_counters(struct sonde_unmixed *u, struct sonde_unmix__round *r)
{
	size_t cells = (size_t)u->state.nr_unknowns * u->state.nr_counters + 1;

	sonde_free(u->state.x);
	sonde_free(u->state.deviations);
	u->state.x = sonde_calloc(cells, sizeof(*u->state.x));
	u->trend = sonde_arena_calloc(&u->arena, cells, sizeof(*u->trend));
	u->state.deviations = sonde_calloc(cells, SPREAD_WIDTH * sizeof(*u->state.deviations));
	return u->state.x == NULL || u->state.deviations == NULL || u->trend == NULL ? SONDE_ERR_NOMEM
									  : sonde_unmix__fit_all(u, r);
}

/* Counts the launches, and their time, that samples saw. */
static void count_seen(struct sonde_unmixed *u, const struct sonde_unmix_input *in,
	const struct sonde_unmix__windows *w, int64_t offset_ns)
{
	double time = 0, seen = 0;
	size_t i;

	for (i = 0; i < in->nr_launches; i++) {
		const struct sonde_unmix_launch *l = &in->launches[i];
		double start = (double)(l->start_ns + offset_ns - w->origin_ns);
		double end = (double)(l->end_ns + offset_ns - w->origin_ns), inside;

		inside = sonde_unmix__windows_cover(w, start, end);
		time += end - start;
		seen += inside;
		u->state.classes[l->class].nr_seen += inside > 0;
	}
	u->quality.seen_time = time > 0 ? seen / time : 0;
}

static int solve_plan(struct sonde_unmixed *u, struct sonde_unmix__round *r,
	struct sonde_unmix__plan *plan, int64_t offset_ns)
{
	int rc = sonde_unmix__round_build(r, plan, offset_ns);

	if (rc == 0)
		rc = take_plan(u, r);
	return rc < 0 ? rc : fit_counters(u, r);
}

/* Solves with the finest unknowns first, then again if some of them have too large errors and are joined. */
static int solve_twice(struct sonde_unmixed *u, struct sonde_unmix__round *r,
	struct sonde_arena *arena, const struct sonde_unmix_options *opt)
{
	struct sonde_unmix__plan plan;
	uint32_t nr_joined;
	int rc;

	if (sonde_unmix__plan_init(&plan, arena, r->in) < 0 ||
		(opt->is_by_name && sonde_unmix__merge_names(&plan, arena, r->in) < 0))
		return SONDE_ERR_NOMEM;
	rc = solve_plan(u, r, &plan, opt->offset_ns);
	if (rc < 0 || opt->is_by_name)
		return rc;
	sonde_unmix__plan_smooth(&plan, r->in, r->has_edges);
	if (sonde_unmix__coarsen(&nr_joined, &plan, arena, r->in, u) < 0)
		return SONDE_ERR_NOMEM;
	return nr_joined > 0 ? solve_plan(u, r, &plan, opt->offset_ns) : 0;
}

static int solve_input(struct sonde_unmixed *u, const struct sonde_unmix_input *in,
	const struct sonde_unmix_options *opt)
{
	struct sonde_arena arena = {0};
	struct sonde_unmix__windows windows;
	struct sonde_unmix__round round = {.in = in, .windows = &windows};
	int rc;

	round.most_work = opt->most_work > 0 ? opt->most_work : MOST_WORK;
	rc = refuse_counters(u, in);
	if (rc == 0)
		rc = sonde_unmix__windows_make(
			&windows, &u->quality, &arena, in, u->state.limits, opt->offset_ns);
	if (rc == 0)
		rc = solve_twice(u, &round, &arena, opt);
	if (rc == 0)
		count_seen(u, in, &windows, opt->offset_ns);
	sonde_unmix__round_release(&round);
	sonde_arena_release(&arena);
	return rc;
}

int sonde_unmix_solve(struct sonde_unmixed **out, const struct sonde_unmix_input *in,
	const struct sonde_unmix_options *opt, struct sonde_err *err)
{
	static const struct sonde_unmix_options none = {0};
	struct sonde_unmixed *u;
	int rc;

	*out = NULL;
	if (opt != NULL && (opt->offset_ns > MOST_OFFSET_NS || opt->offset_ns < -MOST_OFFSET_NS))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"unmix: an offset of %lld ns between two clocks of one device cannot be "
			"right: give less than a second",
			(long long)opt->offset_ns);
	if (check_launches(in, err) < 0 || check_samples(in, err) < 0)
		return SONDE_ERR_USAGE;
	u = start_result(in);
	if (u == NULL)
		return sonde_err_nomem(err);
	rc = solve_input(u, in, opt != NULL ? opt : &none);
	if (rc < 0) {
		sonde_unmixed_free(u);
		if (rc == SONDE_ERR_LIMIT)
			return sonde_err_set(err, rc,
				"unmix: too many kernels run at the same time to tell them apart, "
				"even by name; sample at a shorter interval");
		return sonde_err_nomem(err);
	}
	*out = u;
	return 0;
}
