/*
 * GPM's samples are a tenth of a second long and come late by an unknown time. Which regions get figures, and do their
 * 95 % intervals contain the true value?
 *
 *     gpm_cover_test             a few programs, with limits
 *     gpm_cover_test PROGRAMS    so many programs, without limits: prints the table of docs/counters-internals.md
 */
#include "catalogue/attributes.h"
#include "catalogue/metrics.h"
#include "fold/sampled.h"

#include "tree/judge.h"
#include "treed.h"

#include <stdio.h>
#include <stdlib.h>

#define MS	   1e6
#define PERIOD	   (100 * MS)
#define MOST_LATE  (95 * MS)
#define BAR	   0.93
#define PROGRAMS   6

enum { SM, WARP, TENSOR, DRAM, NR_COUNTERS };
static const char *const roles[NR_COUNTERS] = {"gpm.sm_ns", "gpm.warp_ns", "gpm.tensor_ns", "gpm.dram_ns"};
static const char *const metrics[NR_COUNTERS] = {
	SONDE_METRIC_GPM_SM, SONDE_METRIC_GPM_OCCUPANCY, SONDE_METRIC_GPM_TENSOR, SONDE_METRIC_GPM_DRAM};

/* Busy shares of the time that kernels of a region run. */
static const struct place {
	const char *id;
	double busy[NR_COUNTERS];
	bool is_shown;
} places[] = {
	{"matmul", {0.95, 0.14, 0.9, 0.18}, true},
	{"copy", {0.97, 0.78, 0, 0.86}, true},
	{"few", {0.06, 0.015, 0, 0.01}, true},
	{"step", {0}, true}, /* of the next two */
	{"step/forward", {0.9, 0.3, 0.6, 0.3}, false},
	{"step/backward", {0.5, 0.2, 0.3, 0.5}, false},
	{"short", {0.4, 0.1, 0.1, 0.1}, false},
};
enum { MATMUL, COPY, FEW, STEP, FORWARD, BACKWARD, SHORT, NR_PLACES };

struct program {
	struct made m;
	uint64_t seed;
	double now, late, swing; /* … of one entry: it is busier or less busy than usual */
	double truth[NR_PLACES][NR_COUNTERS], time[NR_PLACES];
	struct sonde_series *series;
};

static double uniform(struct program *p, double from, double to)
{
	uint64_t n = p->seed += 0x9e3779b97f4a7c15u;

	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	n ^= n >> 31;
	return from + (to - from) * (double)(n >> 11) * 0x1p-53;
}

/* Samples by the hardware's time, until all is counted; then they are late. */
static void count(struct program *p, double start, double end, const double *busy)
{
	struct sonde_series *s = p->series;
	size_t i = (size_t)(start / PERIOD), c;

	while ((double)s->times.nr * PERIOD < end + 5 * PERIOD) {
		uint64_t at = (uint64_t)((double)s->times.nr * PERIOD);

		sonde_put(&p->m.r->arena, &s->times, (struct sonde_sample_time){at, at + (uint64_t)PERIOD});
		for (c = 0; c < NR_COUNTERS; c++)
			sonde_put(&p->m.r->arena, &s->values, 0.0);
	}
	for (; (double)i * PERIOD < end; i++)
		for (c = 0; c < NR_COUNTERS; c++)
			s->values.at[i * NR_COUNTERS + c] +=
				busy[c] * (fmin(end, (double)(i + 1) * PERIOD) - fmax(start, (double)i * PERIOD));
}

/* Kernels of a region, one behind the other, for so long. */
static void run_kernels(struct program *p, uint32_t place, uint32_t range, double ns)
{
	double end = p->now + ns;

	while (p->now < end) {
		double length = uniform(p, 1, 3) * MS, vary = p->swing * uniform(p, 0.95, 1.05), busy[NR_COUNTERS];
		size_t c;

		made_launch(&p->m, places[place].id, 1, &range);
		made_metric(&p->m, TIME, floor(p->now + length) - floor(p->now));
		p->m.r->records.at[p->m.r->records.nr - 1].time =
			(struct sonde_record_time){(uint64_t)p->now, (uint64_t)(p->now + length)};
		for (c = 0; c < NR_COUNTERS; c++) {
			busy[c] = fmin(1, places[place].busy[c] * vary);
			p->truth[place][c] += busy[c] * length;
			if (place == FORWARD || place == BACKWARD)
				p->truth[STEP][c] += busy[c] * length;
		}
		p->time[place] += length;
		p->time[STEP] += place == FORWARD || place == BACKWARD ? length : 0;
		count(p, p->now, p->now + length, busy);
		p->now += length + uniform(p, 5, 20) * 1e3;
	}
}

static void run_round(struct program *p)
{
	static const uint32_t order[] = {MATMUL, SHORT, COPY, FEW, SHORT};
	double until;
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(*order); i++) {
		p->swing = uniform(p, 0.97, 1.03);
		run_kernels(p, order[i], made_push(&p->m, MADE_ROOT, places[order[i]].id),
			order[i] == SHORT ? uniform(p, 30, 80) * MS : uniform(p, 250, 600) * MS);
		if (uniform(p, 0, 1) < 0.3)
			p->now += uniform(p, 20, 400) * MS;
	}
	for (until = p->now + uniform(p, 400, 900) * MS; p->now < until;) {
		uint32_t step = made_push(&p->m, MADE_ROOT, "step");

		run_kernels(p, FORWARD, made_push(&p->m, step, "forward"), 9 * MS);
		run_kernels(p, BACKWARD, made_push(&p->m, step, "backward"), 14 * MS);
	}
}

/* The sampler sees news late, and its stamps are of when it saw them; percentages become nanoseconds of its row. */
static void be_late(struct program *p)
{
	struct sonde_series *s = p->series;
	uint64_t last = 0;
	size_t i, c;

	for (i = 0; i < s->times.nr; i++) {
		struct sonde_sample_time *t = &s->times.at[i];
		double ratio;

		t->start_ns = last;
		t->end_ns = last = (uint64_t)((double)t->end_ns + p->late + uniform(p, 0, 2 * MS));
		ratio = (double)(t->end_ns - t->start_ns) / PERIOD * uniform(p, 0.995, 1.005);
		for (c = 0; c < NR_COUNTERS; c++)
			s->values.at[i * NR_COUNTERS + c] *= i ? ratio : 0;
	}
}

static void make_program(struct program *p, int seed, int rounds)
{
	struct sonde_attribute *at;
	struct sonde_device d = {.name = SONDE_STR("made GPU"), .uuid = SONDE_STR("GPU-1"), .nr_attributes = 2};
	uint32_t c;

	*p = (struct program){.seed = (uint64_t)seed * 1000003, .now = 220 * MS};
	made_init(&p->m);
	at = sonde_arena_calloc(&p->m.r->arena, d.nr_attributes, sizeof(*at));
	at[0] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_SMS), .value = 132};
	at[1] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_CLOCK), .value = 1980000};
	d.attributes = at;
	d.process = p->m.process;
	sonde_records__device(p->m.r, &d);
	p->series = sonde_push(&p->m.r->arena, &p->m.r->series);
	assert_non_null(p->series);
	p->series->uuid = d.uuid;
	p->series->host = SONDE_STR("host");
	p->series->interval_ns = (uint64_t)PERIOD;
	for (c = 0; c < NR_COUNTERS; c++) {
		struct sonde_counter *counter = sonde_push(&p->m.r->arena, &p->series->counters);

		assert_non_null(counter);
		counter->role = counter->name = sonde_records__string(p->m.r, sonde_str_from(roles[c]));
	}
	p->late = uniform(p, 0, MOST_LATE);
	while (rounds-- > 0)
		run_round(p);
	be_late(p);
	p->m.r->has_record_times = p->m.r->has_range_times = true;
}

struct score {
	size_t nr, nr_held, nr_none;
	double off, width, most; /* summed, in points; the widest */
};

static void judge(struct score *s, struct run *run, const struct program *p, uint32_t place)
{
	const struct sonde_report *r = &run->t->reports.at[0];
	uint32_t n = (uint32_t)(node_named(run, r, places[place].id) - r->nodes.at), c;

	for (c = 0; c < NR_COUNTERS; c++) {
		const struct sonde_figure *f = figure(run, 0, SONDE_PART_INCLUSIVE, n, metrics[c]);
		double truth = 100 * p->truth[place][c] / (c == WARP ? p->truth[place][SM] : p->time[place]);

		if (isnan(f->v)) {
			s->nr_none++;
			continue;
		}
		s->nr++;
		s->nr_held += fabs(f->v - truth) <= f->error + 0.05;
		s->off += f->v - truth;
		s->width += f->error;
		s->most = fmax(s->most, f->error);
	}
}

static void judge_programs(struct score *scores, int programs)
{
	uint32_t place;
	int seed;

	for (seed = 1; seed <= programs; seed++) {
		struct program p;
		struct run run;

		make_program(&p, seed, 16);
		aggregate(&run, p.m.r, NULL);
		for (place = 0; place < NR_PLACES; place++)
			judge(&scores[place], &run, &p, place);
		release(&run);
		made_release(&p.m);
	}
	for (place = 0; place < NR_PLACES; place++)
		printf("%-14s %4zu figures, %5.1f %% hold the truth, %+5.2f points off, ±%4.2f (at most %4.2f); %zu none\n",
			places[place].id, scores[place].nr,
			100 * (double)scores[place].nr_held / (double)scores[place].nr,
			scores[place].off / (double)scores[place].nr, scores[place].width / (double)scores[place].nr,
			scores[place].most, scores[place].nr_none);
}

static void test_gpm__regions_that_fill_samples_have_figures_that_hold_the_truth(void **state)
{
	struct score scores[NR_PLACES] = {0}, all = {0};
	uint32_t i;

	(void)state;
	judge_programs(scores, PROGRAMS);
	for (i = 0; i < NR_PLACES; i++) {
		if (!places[i].is_shown)
			continue;
		assert_true(scores[i].nr_none <= PROGRAMS); /* of 4 in each */
		all.nr += scores[i].nr;
		all.nr_held += scores[i].nr_held;
		assert_true(fabs(scores[i].off) < 2 * (double)scores[i].nr && scores[i].most <= 5);
		assert_true(scores[i].width < 3 * (double)scores[i].nr);
	}
	assert_true((double)all.nr_held >= BAR * (double)all.nr);
}

static void test_gpm__what_never_fills_a_sample_has_no_figure(void **state)
{
	struct score scores[NR_PLACES] = {0};
	uint32_t i;

	(void)state;
	judge_programs(scores, 2);
	for (i = 0; i < NR_PLACES; i++)
		if (!places[i].is_shown)
			assert_true(scores[i].nr_held == scores[i].nr && scores[i].nr <= 2);
}

/* What limits a region: a pipe or the memory where it is busy; GPM does not see the other pipes, so nothing is latency. */
static const char *limiter_of(struct run *run, uint32_t place)
{
	const struct sonde_report *r = &run->t->reports.at[0];

	figure(run, 0, SONDE_PART_INCLUSIVE, (uint32_t)(node_named(run, r, places[place].id) - r->nodes.at), metrics[SM]);
	return sonde_limiter(run->t, &run->f);
}

static void test_gpm__figures_are_marked_and_tell_only_what_they_know(void **state)
{
	const struct sonde_column *c;
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	make_program(&p, 3, 16);
	aggregate(&run, p.m.r, NULL);
	assert_string_equal(limiter_of(&run, MATMUL), "tensor");
	assert_string_equal(limiter_of(&run, COPY), "dram");
	assert_null(limiter_of(&run, FEW));
	c = &run.t->columns.at[sonde_tree_role(run.t, SONDE_ROLE_SM_ACTIVE)];
	assert_true(sonde_str_is(c->name, SONDE_METRIC_GPM_SM) && sonde_str_is(sonde_metric_head(c->name), "SM act % gpm"));
	assert_memory_equal(c->methods[0], "gpm: ", 5);
	assert_int_equal(sonde_tree_column(run.t, SONDE_STR("gpm.sm_ns")), SONDE_NONE); /* a figure of its own it is not */
	for (i = 0; i < run.c->notes.texts.nr; i++)
		assert_null(strstr(run.c->notes.texts.keys[i].p, "elapsed cycles")); /* GPM's are no cycles */
	release(&run);
	made_release(&p.m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpm__regions_that_fill_samples_have_figures_that_hold_the_truth),
		cmocka_unit_test(test_gpm__what_never_fills_a_sample_has_no_figure),
		cmocka_unit_test(test_gpm__figures_are_marked_and_tell_only_what_they_know),
	};
	struct score scores[NR_PLACES] = {0};

	if (argc > 1)
		judge_programs(scores, (int)strtol(argv[1], NULL, 10));
	return argc > 1 ? 0 : cmocka_run_group_tests_name("gpm_cover", tests, NULL, NULL);
}
