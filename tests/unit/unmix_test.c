/* The results of a solve: classes, sums, counters, threads. */
#include "unmix_solved.h"

#include <sched.h>

static void test_unmix__each_class_gets_what_it_counted(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	uint32_t k, c;

	(void)state;
	start_program(&m, 6, 2);
	run_program(&m, 6);
	u = solve(&m);
	for (k = 0; k < 6; k++) {
		assert_int_equal(sonde_unmixed_class(u, k)->fate, SONDE_UNMIX_OWN);
		assert_int_equal(sonde_unmixed_class(u, k)->nr_launches, STEPS);
		for (c = 0; c < 2; c++)
			assert_near(sonde_unmixed_figure(u, k, c).value, m.truth[k][c], 1e-6);
	}
	assert_near(sonde_unmixed_quality(u)->seen_time, 1, 1e-9);
	assert_true(sonde_unmixed_counter(u, 0)->misfit < 1e-6);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* Work at the end of a kernel must not be attributed to the next kernel. */
static void test_unmix__time_bins_follow_uneven_work(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	uint32_t k;

	(void)state;
	start_program(&m, 6, 1);
	for (k = 0; k < 6; k++)
		m.slope[k][0] = k % 2 ? 0.8 : -0.8;
	run_program(&m, 6);
	u = solve(&m);
	assert_int_equal(sonde_unmixed_quality(u)->nr_unknowns, 6);
	assert_true(sonde_unmixed_quality(u)->nr_columns > 12);
	for (k = 0; k < 6; k++)
		assert_near(sonde_unmixed_figure(u, k, 0).value, m.truth[k][0], 0.03);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* A long kernel does all its work at its beginning: the kernel right before it must not get a part of it.
 */
static void test_unmix__what_a_long_kernel_does_first_is_its_own(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL;
	int step;

	(void)state;
	m = (struct made){.seed = 1, .nr_counters = 1};
	made_class(&m, 0, 0, SONDE_UNMIX_NONE);
	made_class(&m, 1, 1, SONDE_UNMIX_NONE);
	m.count[0][0] = 10000;
	made_samples(&m, 0, 3 * INTERVAL, STEPS);
	for (step = 0; step < 2 * STEPS; step++) {
		made_launch(&m, 0, at, 6000, 0, 1);
		at += 6500;
		made_launch(&m, 1, at, 33000, 0, 1);
		made_count(&m, (double)at, (double)at + 1000, 0, 1000, 0);
		at += 33000 + (int64_t)made_uniform(&m, 2000, 20000);
	}
	u = solve(&m);
	assert_near(sonde_unmixed_figure(u, 0, 0).value, m.truth[0][0], 0.01);
	assert_near(sonde_unmixed_figure(u, 1, 0).value, 2.0 * STEPS * 1000, 0.1);
	sonde_unmixed_free(u);
	made_release(&m);
}

/*
 * Kernels of 20 to 60 µs besides others: longer ones count more of one counter, the same of another, and less of
 * a third.
 */
static void test_unmix__longer_launches_may_count_more(void **state)
{
	struct sonde_unmixed *u;
	struct made m = {.seed = 1, .nr_counters = 3};
	int64_t at, end = 400 * 3 * INTERVAL;
	double truth[3] = {0}, half;
	uint32_t c;

	(void)state;
	made_class(&m, 0, 0, SONDE_UNMIX_NONE);
	made_class(&m, 1, 1, SONDE_UNMIX_NONE);
	m.count[0][0] = m.count[0][1] = m.count[0][2] = 500;
	made_samples(&m, 0, 3 * INTERVAL, 410);
	for (at = 3 * INTERVAL; at < end; at += 10000 + (int64_t)made_uniform(&m, 1000, 10000))
		made_launch(&m, 0, at, 10000, 0, 1);
	for (at = 3 * INTERVAL; at < end; at += (int64_t)made_uniform(&m, 5000, 120000)) {
		int64_t length = (int64_t)made_uniform(&m, 20000, 60000);
		double counts[3] = {(double)length / 20, 2000, 4000 - (double)length / 20};

		made_launch(&m, 1, at, length, 0, 1);
		for (c = 0; c < 3; c++) {
			made_count(&m, (double)at, (double)(at + length), c, counts[c], 0);
			truth[c] += counts[c];
		}
		at += length;
	}
	u = solve(&m);
	for (c = 0; c < 3; c++) {
		assert_near(sonde_unmixed_figure(u, 1, c).value, truth[c], 0.001);
		assert_near(sonde_unmixed_figure(u, 0, c).value, m.truth[0][c], 0.001);
		half = sonde_unmixed_line(u, 1, c).fixed + 20000 * sonde_unmixed_line(u, 1, c).per_ns;
		assert_near(half, c == 0 ? 1000 : c == 1 ? 2000 : 3000, 0.01);
	}
	sonde_unmixed_free(u);
	made_release(&m);
}

/* Several counters are fitted at a time; the result of a counter must not depend on the others. */
static void test_unmix__a_counter_comes_out_the_same_alone(void **state)
{
	struct sonde_unmixed *all, *alone;
	struct made m, one;
	uint32_t c, k;
	size_t i;

	(void)state;
	start_program(&m, 6, 11);
	m.vary = 0.3;
	m.count[2][3] = m.count[4][9] = 0; /* in these two, counts that are absent are held at zero */
	run_program(&m, 6);
	m.limits[5] = 1e-9; /* refused */
	all = solve(&m);
	assert_non_null(sonde_unmixed_counter(all, 5)->refused);
	for (c = 0; c < 11; c++) {
		if (c == 5)
			continue;
		one = m;
		one.nr_counters = 1;
		memset(one.limits, 0, sizeof(one.limits));
		one.values = calloc(m.nr_samples, sizeof(*one.values));
		for (i = 0; i < m.nr_samples; i++)
			one.values[i] = m.values[i * 11 + c];
		alone = solve(&one);
		for (k = 0; k < 6; k++) {
			struct sonde_unmix_figure f = sonde_unmixed_figure(all, k, c);
			struct sonde_unmix_figure g = sonde_unmixed_figure(alone, k, 0);

			assert_memory_equal(&f, &g, sizeof(f));
		}
		sonde_unmixed_free(alone);
		free(one.values);
	}
	sonde_unmixed_free(all);
	made_release(&m);
}

/* Neighbours that samples can hardly separate: each is uncertain, but their sum is not. */
static void test_unmix__sums_know_covariances(void **state)
{
	static const uint32_t all[] = {0, 1, 2, 3};
	struct sonde_unmix_figure sum;
	double errors = 0;
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL;
	uint32_t step, k;

	(void)state;
	start_program(&m, 4, 1);
	m.vary = 0.02;
	for (step = 0; step < STEPS; step++) {
		for (k = 0; k < 4; k++) {
			made_launch(&m, k, at, 1500, 0, 1);
			at += 1600;
		}
		at += (int64_t)made_uniform(&m, 20000, 60000);
	}
	u = solve(&m);
	for (k = 0; k < 4; k++)
		errors += sonde_unmixed_figure(u, k, 0).error;
	sum = sonde_unmixed_sum(u, all, 4, 0);
	assert_true(sum.error < 0.3 * errors);
	assert_near(sum.value, m.truth[0][0] + m.truth[1][0] + m.truth[2][0] + m.truth[3][0], 0.02);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* The error of a counter if launches are moved by `offset_ns`. */
static double misfit_at(const struct sonde_unmix_input *in, int64_t offset_ns)
{
	struct sonde_unmix_options opt = {.offset_ns = offset_ns};
	struct sonde_unmixed *u;
	double misfit;

	assert_int_equal(sonde_unmix_solve(&u, in, &opt, NULL), 0);
	misfit = sonde_unmixed_counter(u, 1)->misfit;
	sonde_unmixed_free(u);
	return misfit;
}

static void test_unmix__a_fixed_offset_is_used_and_fits_best(void **state)
{
	struct sonde_unmix_options opt = {.offset_ns = 740};
	struct sonde_unmix_input in;
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL, offset;
	double there;
	int step;

	(void)state;
	start_program(&m, 2, 2);
	for (step = 0; step < STEPS; step++) {
		made_launch(&m, (uint32_t)step % 2, at, 3000, 740, 1);
		at += 3000 + (int64_t)made_uniform(&m, 1000, 20000);
	}
	in = made_input(&m);
	there = misfit_at(&in, 740);
	for (offset = -5000; offset <= 5000; offset += 250)
		assert_true(misfit_at(&in, offset) > there);
	assert_true(misfit_at(&in, 740 - 50) > there && misfit_at(&in, 740 + 50) > there);
	assert_int_equal(sonde_unmix_solve(&u, &in, &opt, NULL), 0);
	assert_near(sonde_unmixed_figure(u, 0, 1).value, m.truth[0][1], 1e-6);
	sonde_unmixed_free(u);
	made_release(&m);
}

static void test_unmix__order_of_launches_does_not_matter(void **state)
{
	struct sonde_unmixed *a, *b;
	struct made m;
	size_t i;
	uint32_t k;

	(void)state;
	start_program(&m, 5, 2);
	m.vary = 0.1;
	run_program(&m, 5);
	a = solve(&m);
	for (i = 0; i < m.nr_launches / 2; i++) {
		struct sonde_unmix_launch l = m.launches[i];

		m.launches[i] = m.launches[m.nr_launches - 1 - i];
		m.launches[m.nr_launches - 1 - i] = l;
	}
	b = solve(&m);
	for (k = 0; k < 5; k++) {
		struct sonde_unmix_figure x = sonde_unmixed_figure(a, k, 1);
		struct sonde_unmix_figure y = sonde_unmixed_figure(b, k, 1);

		assert_memory_equal(&x, &y, sizeof(x));
	}
	sonde_unmixed_free(a);
	sonde_unmixed_free(b);
	made_release(&m);
}

/* A program that is long enough for several threads, with incomplete samples. */
static void make_long_program(struct made *m)
{
	int64_t at = 3 * INTERVAL, end;
	uint32_t k, c;
	size_t i;

	*m = (struct made){.seed = 7, .nr_counters = MADE_COUNTERS, .vary = 0.02};
	for (k = 0; k < 30; k++) {
		made_class(m, k, k, SONDE_UNMIX_NONE);
		for (c = 0; c < m->nr_counters; c++)
			m->count[k][c] = fmax(0, made_uniform(m, -500, 1000));
	}
	made_samples(m, 0, INTERVAL, 45000);
	end = m->end_ns[m->nr_samples - 1];
	for (k = 0; at + INTERVAL < end; k = (k + 1) % 30) {
		made_launch(m, k, at, 5000 + 2000 * k, 0, 1);
		at += 5000 + 2000 * k + (int64_t)made_uniform(m, 1000, 10000);
	}
	for (i = 100; i < m->nr_samples; i += 1000)
		m->values[i * m->nr_counters + 3] *= 0.2;
}

static void test_unmix__any_number_of_threads_gives_the_same_bits(void **state)
{
	struct sonde_unmix_state one, many;
	struct sonde_unmixed *alone, *together;
	cpu_set_t all, first;
	struct made m;
	int core = 0;
	size_t cells;

	(void)state;
	make_long_program(&m);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(core, &all))
		core++;
	CPU_ZERO(&first);
	CPU_SET(core, &first);
	assert_int_equal(sched_setaffinity(0, sizeof(first), &first), 0);
	alone = solve(&m);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	together = solve(&m);
	one = sonde_unmixed_state(alone);
	many = sonde_unmixed_state(together);
	cells = (size_t)one.nr_unknowns * one.nr_counters;
	assert_int_equal(one.nr_unknowns, many.nr_unknowns);
	assert_memory_equal(one.x, many.x, cells * sizeof(*one.x));
	assert_memory_equal(one.deviations, many.deviations,
		cells * SONDE_UNMIX_DEVIATIONS * sizeof(*one.deviations));
	assert_true(sonde_unmixed_counter(alone, 3)->nr_lost > 20);
	sonde_unmixed_free(alone);
	sonde_unmixed_free(together);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmix__each_class_gets_what_it_counted),
		cmocka_unit_test(test_unmix__time_bins_follow_uneven_work),
		cmocka_unit_test(test_unmix__what_a_long_kernel_does_first_is_its_own),
		cmocka_unit_test(test_unmix__longer_launches_may_count_more),
		cmocka_unit_test(test_unmix__a_counter_comes_out_the_same_alone),
		cmocka_unit_test(test_unmix__sums_know_covariances),
		cmocka_unit_test(test_unmix__a_fixed_offset_is_used_and_fits_best),
		cmocka_unit_test(test_unmix__order_of_launches_does_not_matter),
		cmocka_unit_test(test_unmix__any_number_of_threads_gives_the_same_bits),
	};

	return cmocka_run_group_tests_name("unmix", tests, NULL, NULL);
}
