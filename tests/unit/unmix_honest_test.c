/*
 * Are the errors honest? Two hundred synthetic programs with everything that happens in reality:
 * kernels of all lengths, gaps, two streams at once, uneven work, counts that vary and
 * drift, timestamps and clocks that are slightly wrong, lost samples. The 95 % interval
 * must contain the true value in nine of ten cases, for classes and for sums of them.
 */
#include "unit.h"

#include "unmix_made.h"

#include <stdio.h>

#define PROGRAMS 200
#define SPAN_NS	 40000000 /* length of a program */

static double length_of_class(struct made *m)
{
	return exp(made_uniform(m, log(1000), log(60000)));
}

static void make_classes(struct made *m, double *lengths, uint32_t nr)
{
	uint32_t k, c;

	for (k = 0; k < nr; k++) {
		made_class(m, k, k, k / 4);
		lengths[k] = length_of_class(m);
		for (c = 0; c < m->nr_counters; c++) {
			m->count[k][c] = lengths[k] * exp(made_uniform(m, -1.5, 1.5));
			/* Some kernels do not use some units. */
			if (made_uniform(m, 0, 1) < 0.15)
				m->count[k][c] = 0;
			m->slope[k][c] = made_uniform(m, -0.4, 0.4);
		}
	}
}

/* Runs one stream: the classes in turn, again and again, with pauses. */
static void run_stream(
	struct made *m, const double *lengths, uint32_t from, uint32_t to, double offset_ns)
{
	double pause = made_uniform(m, 0, 1) < 0.3 ? 500 : made_uniform(m, 2000, 30000);
	double drift = made_uniform(m, -0.1, 0.1);
	int64_t at = 100000 + (int64_t)made_uniform(m, 0, 100000);
	uint32_t k = from;

	while (at < SPAN_NS) {
		int64_t length = (int64_t)(lengths[k] * made_uniform(m, 0.95, 1.05));
		double late = offset_ns + 100 * made_normal(m);

		made_launch(m, k, at, length, late, 1 + drift * (double)at / SPAN_NS);
		at += length + (int64_t)(pause * made_uniform(m, 0.3, 1.7));
		k = k + 1 < to ? k + 1 : from;
	}
}

static void lose_samples(struct made *m)
{
	int gaps = (int)made_uniform(m, 0, 6), i;

	while (gaps-- > 0) {
		size_t first = (size_t)made_uniform(m, 1, (double)m->nr_samples - 1);
		size_t nr = (size_t)made_uniform(m, 1, 0.05 * (double)m->nr_samples);

		while (nr-- > 0 && first < m->nr_samples)
			made_drop_sample(m, first);
	}
	/* In a few samples, a part of the count of one counter is lost. */
	for (i = 0; i < 5; i++)
		m->values[(size_t)made_uniform(m, 0, (double)(m->nr_samples * m->nr_counters))] *=
			made_uniform(m, 0.3, 0.7);
}

static void make_program(struct made *m, uint64_t seed)
{
	static const int64_t intervals[] = {20000, 50000, 50000, 100000};
	double lengths[MADE_CLASSES];
	uint32_t nr, first, c;
	int64_t interval;
	double offset;
	size_t i;

	*m = (struct made){.seed = seed, .nr_counters = 4};
	nr = (uint32_t)made_uniform(m, 2, 40);
	first = made_uniform(m, 0, 1) < 0.4 ? nr * 2 / 3 : nr;
	interval = intervals[made_bits(m) % 4];
	offset = 200 * made_normal(m);
	m->vary = made_uniform(m, 0, 0.1);
	make_classes(m, lengths, nr);
	made_samples(m, 0, interval, (size_t)(SPAN_NS / interval));
	run_stream(m, lengths, 0, first, offset);
	if (first < nr)
		run_stream(m, lengths, first, nr, offset);
	for (i = 0; i < m->nr_samples; i++) {
		for (c = 0; c < m->nr_counters; c++) {
			double *v = &m->values[i * m->nr_counters + c];

			*v += 0.01 * (double)interval * made_uniform(m, 0.5, 1.5);
			*v = fmax(0, *v * (1 + 0.01 * made_normal(m)));
		}
	}
	lose_samples(m);
}

struct score {
	uint32_t held, of;
	double errors; /* sum of the relative standard errors */
};

static void judge(struct score *score, struct sonde_unmix_figure f, double truth)
{
	score->of++;
	score->held += fabs(f.value - truth) <= 1.96 * f.error;
	score->errors += f.error / truth;
}

/* Judges the classes with at least 1 % of the total, and the groups of four classes. */
static void judge_program(struct score *classes, struct score *groups, const struct made *m,
	const struct sonde_unmixed *u)
{
	uint32_t k, c, g;

	for (c = 0; c < m->nr_counters; c++) {
		double total = 0;

		for (k = 0; k < m->nr_classes; k++)
			total += m->truth[k][c];
		for (g = 0; g * 4 < m->nr_classes; g++) {
			uint32_t list[4], nr = 0;
			double truth = 0;

			for (k = g * 4; k < g * 4 + 4 && k < m->nr_classes; k++) {
				list[nr++] = k;
				truth += m->truth[k][c];
				if (total > 0 && m->truth[k][c] >= 0.01 * total)
					judge(classes, sonde_unmixed_figure(u, k, c),
						m->truth[k][c]);
			}
			if (total > 0 && truth >= 0.01 * total)
				judge(groups, sonde_unmixed_sum(u, list, nr, c), truth);
		}
	}
}

static void test_unmix__intervals_hold_the_truth(void **state)
{
	struct score classes = {0}, groups = {0};
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= PROGRAMS; seed++) {
		struct sonde_unmix_input in;
		struct sonde_unmixed *u;
		struct sonde_err err = {0};
		struct made m;

		make_program(&m, seed);
		in = made_input(&m);
		if (sonde_unmix_solve(&u, &in, NULL, &err) < 0)
			fail_msg("program %llu: %s", (unsigned long long)seed, err.msg);
		judge_program(&classes, &groups, &m, u);
		sonde_unmixed_free(u);
		made_release(&m);
	}
	printf("classes: %.1f %% of %u held, mean error %.1f %%\n",
		100.0 * classes.held / classes.of, classes.of, 100 * classes.errors / classes.of);
	printf("groups: %.1f %% of %u held, mean error %.1f %%\n", 100.0 * groups.held / groups.of,
		groups.of, 100 * groups.errors / groups.of);
	assert_true(classes.of > 5000 && groups.of > 2000);
	assert_true(classes.held >= 0.9 * classes.of);
	assert_true(groups.held >= 0.9 * groups.of);
	/* … and not because the intervals are very wide. */
	assert_true(classes.errors / classes.of < 0.2 && groups.errors / groups.of < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmix__intervals_hold_the_truth),
	};

	return cmocka_run_group_tests_name("unmix_honest", tests, NULL, NULL);
}
