/*
 * Estimates with a budget against the truth: hundreds of random programs whose GPU work is timed in random
 * windows, few or many, of which neighbours resemble each other, some with bursts. What matters is how often
 * the truth lies within ±, and that ± is not larger than it must be.
 */
#include "treed.h"

#include <math.h>

#define FEW_PROGRAMS  80 /* three intervals each … */
#define MANY_PROGRAMS 120 /* … not all of which are told when windows are few */
#define US	    1000u

/* --- random numbers, the same everywhere ------------------------------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
	uint64_t x = seed += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/* Work has its time, and no other metric. */
static int time_of(const struct sonde_source *src, const struct sonde_record *rec, struct sonde_values *v,
	struct sonde_err *err)
{
	(void)src;
	(void)err;
	if (!rec->is_untimed)
		v->num[0] = (double)(rec->time.end_ns - rec->time.start_ns);
	return 0;
}

static const struct sonde_source_ops timed_ops = {.name = "timed", .values = time_of};

/* --- a program ---------------------------------------------------------------------------------------- */

/* What a program is like, and when it is timed. */
struct program {
	double likeness; /* of a step and the next, 0 to 1 */
	double scatter;	 /* of steps, and of the kernels in one */
	double bursts;	 /* how often one begins, per step */
	unsigned steps, windows;
	bool is_counted; /* launches are counted all the time */
};

enum { TRAIN, STEP, EVAL, NR_REGIONS };
static const char *const names[] = {"train", "train/step", "train/eval"};

/* What there was, and what is captured of it. */
struct simulation {
	struct made m;
	struct program like;
	uint64_t ns; /* now */
	uint64_t counted_ns; /* launches are counted until then */
	double state;
	unsigned burst;	 /* steps it goes on */
	uint32_t train, nr_calls;
	size_t timing;	 /* the first that is not over */
	double time_ns[NR_REGIONS], launches[NR_REGIONS];
};

static void launch(struct simulation *s, uint32_t range, double mean_ns, unsigned region)
{
	struct sonde_records *r = s->m.r;
	double ns = mean_ns * exp(s->state + 0.5 * s->like.scatter * normal());
	bool is_timed;

	s->ns += 10 * US;
	while (s->timing < r->timings.nr && r->timings.at[s->timing].end_ns <= s->ns)
		s->timing++;
	is_timed = s->timing < r->timings.nr && r->timings.at[s->timing].begin_ns <= s->ns;
	s->launches[TRAIN]++;
	s->time_ns[TRAIN] += floor(ns);
	if (region != TRAIN) {
		s->launches[region]++;
		s->time_ns[region] += floor(ns);
	}
	s->nr_calls++;
	if (is_timed || s->like.is_counted || s->ns < s->counted_ns) {
		uint32_t number = made_launch(&s->m, "k", 1, &range);
		struct sonde_record *rec = &r->records.at[number];

		rec->call = s->nr_calls - 1;
		rec->call_ns = s->ns;
		rec->kind = SONDE_RESULT_KERNEL;
		rec->is_untimed = !is_timed;
		if (is_timed)
			rec->time = (struct sonde_record_time){s->ns, s->ns + (uint64_t)ns};
	}
}

static uint32_t enter(struct simulation *s, uint32_t parent, const char *label)
{
	uint32_t range = made_push(&s->m, parent, label);

	s->ns += 2 * US;
	s->m.r->ranges.at[range].time.begin_ns = s->ns;
	return range;
}

static void leave(struct simulation *s, uint32_t range)
{
	s->ns += 2 * US;
	s->m.r->ranges.at[range].time.end_ns = s->ns;
}

/* A burst has more launches, and longer ones. */
static void step(struct simulation *s, unsigned number)
{
	unsigned i, nr = 3 + (unsigned)(4 * uniform());
	double mean_ns = 5000;
	uint32_t range = enter(s, s->train, "step");

	s->state = s->like.likeness * s->state +
		   sqrt(1 - s->like.likeness * s->like.likeness) * s->like.scatter * normal();
	if (!s->burst && uniform() < s->like.bursts)
		s->burst = 5 + (unsigned)(30 * uniform());
	if (s->burst) {
		s->burst--;
		nr += 4;
		mean_ns *= 2;
	}
	for (i = 0; i < nr; i++)
		launch(s, range, mean_ns, STEP);
	leave(s, range);
	launch(s, s->train, 2000, TRAIN);
	s->ns += (uint64_t)(50 * US * uniform());
	if (number % 20 != 19)
		return;
	range = enter(s, s->train, "eval");
	for (i = 0; i < 5 + nr; i++)
		launch(s, range, 4000, EVAL);
	s->ns += 200 * US;
	leave(s, range);
}

static void add_timing(struct simulation *s, double begin, double end)
{
	struct sonde_timing *t = sonde_push(&s->m.r->arena, &s->m.r->timings);

	assert_non_null(t);
	*t = (struct sonde_timing){(uint64_t)begin, (uint64_t)end, s->m.process};
}

/* As the injected library does it: a moment at the beginning, then windows and pauses that are drawn. */
static void draw_windows(struct simulation *s, double all_ns)
{
	double share = 0.05 + 0.15 * uniform(), each = all_ns / s->like.windows, at;

	add_timing(s, 1, 0.002 * all_ns);
	for (at = s->counted_ns + each * (0.5 + uniform()) * (1 - share); at < all_ns;) {
		double length = each * share * (0.5 + uniform());

		add_timing(s, at, at + length);
		at += length + each * (1 - share) * (0.5 + uniform());
	}
}

static void simulate(struct simulation *s, const struct program *like)
{
	double all_ns = like->steps * 110.0 * US;
	unsigned i;

	*s = (struct simulation){.like = *like, .counted_ns = (uint64_t)(0.03 * all_ns)};
	made_init(&s->m);
	s->m.r->has_record_times = s->m.r->has_range_times = true;
	s->m.r->sources.at[0]->ops = &timed_ops;
	assert_int_equal(sonde_records__metric(s->m.r, SONDE_STR(TIME)), 0);
	s->m.r->inputs.at[0].budget_ppm = 20000;
	s->m.r->inputs.at[0].is_sampled = !like->is_counted;
	s->state = like->scatter * normal();
	draw_windows(s, all_ns);
	s->train = enter(s, MADE_ROOT, "train");
	for (i = 0; i < like->steps; i++)
		step(s, i);
	leave(s, s->train);
	if (!like->is_counted) {
		struct sonde_budget_time *sampling = sonde_push(&s->m.r->arena, &s->m.r->samplings);

		assert_non_null(sampling);
		*sampling = (struct sonde_budget_time){s->counted_ns, s->ns, 0, s->m.process};
	}
}

/* --- how good the estimates are ------------------------------------------------------------------------- */

/* Of many estimates: how often ± holds, how far off they are and how large ± is, of the truth. */
struct score {
	unsigned nr, held, untold;
	double off[3 * MANY_PROGRAMS], reach[3 * MANY_PROGRAMS];
};

static void rate(struct score *to, double truth, double estimate, double reach)
{
	if (isnan(reach)) {
		to->untold++;
		return;
	}
	to->held += fabs(estimate - truth) <= reach;
	to->off[to->nr] = fabs(estimate / truth - 1);
	to->reach[to->nr++] = reach / truth;
}

static void rate_program(const struct program *like, struct score *times, struct score *launches)
{
	struct simulation s;
	struct run run;
	unsigned i;

	simulate(&s, like);
	aggregate(&run, s.m.r, NULL);
	for (i = 0; i < NR_REGIONS; i++) {
		const struct sonde_node *n = node_named(&run, &run.t->reports.at[0], names[i]);

		rate(times, s.time_ns[i], n->time_ns, n->times.time_error_ns);
		if (like->is_counted)
			assert_true(s.launches[i] == (double)n->launches);
		else
			rate(launches, s.launches[i], (double)n->launches, n->times.launch_error);
	}
	release(&run);
	made_release(&s.m);
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *at, size_t nr)
{
	qsort(at, nr, sizeof(*at), by_size);
	return at[nr / 2];
}

/*
 * 95 % are stated, 90 % must hold; and ± is at most `most` times as large as what it is off by, both the
 * median: 2.9 is the least there can be.
 */
static void check(const char *what, struct score *s, double most)
{
	double off = median(s->off, s->nr), reach = median(s->reach, s->nr);

	print_message("%s: ± holds %u of %u (%.1f %%), not told %u; off by %.2f %%, ± %.2f %% (medians)\n", what,
		s->held, s->nr, 100.0 * s->held / s->nr, s->untold, 100 * off, 100 * reach);
	assert_true(s->nr >= 200);
	assert_true(s->held >= 0.9 * s->nr);
	assert_true(reach <= most * off);
}

/* `from` to `to` windows in each program. */
static void rate_many(struct score *times, struct score *launches, unsigned from, unsigned to, bool is_counted)
{
	static const double likenesses[] = {0, 0.5, 0.9, 0.98};
	unsigned i;

	*times = *launches = (struct score){0};
	for (i = 0; i < (to < 10 ? MANY_PROGRAMS : FEW_PROGRAMS); i++) {
		struct program like = {.likeness = likenesses[i % 4],
			.scatter = 0.05 + 0.5 * uniform(),
			.bursts = i / 4 % 3 ? 0 : 0.005,
			.windows = from + (unsigned)((to - from + 1) * uniform()),
			.is_counted = is_counted};

		like.steps = like.windows * (60 + (unsigned)(240 * uniform()) / (to > 20 ? 4 : 1));
		rate_program(&like, times, launches);
	}
}

static void check_honest(unsigned from, unsigned to, double most)
{
	static struct score times, launches, counted, none;

	seed = from * 1000003u + to;
	rate_many(&times, &launches, from, to, false);
	rate_many(&counted, &none, from, to, true);
	print_message("%u to %u windows\n", from, to);
	check("times where launches are counted", &counted, most);
	check("times", &times, most);
	check("launches", &launches, most);
}

static void test_windowed__few_windows_have_honest_intervals(void **state)
{
	(void)state;
	check_honest(2, 4, 15); /* what two or three tell is next to nothing, and ± says so */
	check_honest(5, 9, 5);
}

static void test_windowed__many_windows_have_honest_and_narrow_intervals(void **state)
{
	(void)state;
	check_honest(10, 20, 5);
	check_honest(40, 100, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windowed__few_windows_have_honest_intervals),
		cmocka_unit_test(test_windowed__many_windows_have_honest_and_narrow_intervals),
	};

	return cmocka_run_group_tests_name("windowed", tests, NULL, NULL);
}
