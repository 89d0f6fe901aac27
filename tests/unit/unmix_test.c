#include "unit.h"

#include "base/alloc.h"
#include "unmix_made.h"

#include <sched.h>

#define STEPS	 400
#define INTERVAL 50000

static struct sonde_unmixed *solve(const struct made *m)
{
	struct sonde_unmix_input in = made_input(m);
	struct sonde_unmixed *u;
	struct sonde_err err = {0};

	if (sonde_unmix_solve(&u, &in, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return u;
}

static void assert_near(double value, double truth, double part)
{
	if (!(fabs(value - truth) <= part * truth))
		fail_msg("%g is not within %g %% of %g", value, 100 * part, truth);
}

/* `nr` classes with 1000·(class+1) counts, of 5 µs and up, one after the other with pauses. */
static void start_program(struct made *m, uint32_t nr, uint32_t nr_counters)
{
	uint32_t k, c;

	*m = (struct made){.seed = 1, .nr_counters = nr_counters};
	for (k = 0; k < nr; k++) {
		made_class(m, k, k, SONDE_UNMIX_NONE);
		for (c = 0; c < nr_counters; c++)
			m->count[k][c] = 1000.0 * (k + 1) * (c + 1);
	}
	made_samples(m, 0, INTERVAL, (size_t)STEPS * nr * 20000 / INTERVAL + 20);
}

static void run_program(struct made *m, uint32_t nr)
{
	int64_t at = 3 * INTERVAL;
	uint32_t step, k;

	for (step = 0; step < STEPS; step++) {
		for (k = 0; k < nr; k++) {
			made_launch(m, k, at, 5000 + 500 * k, 0, 1);
			at += 5000 + 500 * k + (int64_t)made_uniform(m, 1000, 10000);
		}
	}
}

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

/* Work at the end of a kernel is not given to the one behind it. */
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

/* A long kernel that does at once what it has to do: the one right before it has no part in that.
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

static void test_unmix__classes_side_by_side_are_merged(void **state)
{
	static const uint32_t both[] = {1, 2};
	struct sonde_unmix_figure one, two, sum;
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL;
	int step;

	(void)state;
	start_program(&m, 3, 1);
	for (step = 0; step < STEPS; step++) {
		made_launch(&m, 0, at, 8000, 0, 1);
		at += 12000;
		made_launch(&m, 1, at, 6000, 0, 1);
		made_launch(&m, 2, at, 6000, 0, 1);
		at += (int64_t)made_uniform(&m, 8000, 20000);
	}
	u = solve(&m);
	one = sonde_unmixed_figure(u, 1, 0);
	two = sonde_unmixed_figure(u, 2, 0);
	sum = sonde_unmixed_sum(u, both, 2, 0);
	assert_int_equal(sonde_unmixed_class(u, 0)->fate, SONDE_UNMIX_OWN);
	assert_int_equal(sonde_unmixed_class(u, 1)->fate, SONDE_UNMIX_MERGED);
	assert_int_equal(sonde_unmixed_class(u, 2)->fate, SONDE_UNMIX_MERGED);
	assert_int_equal(sonde_unmixed_class(u, 1)->unknown, sonde_unmixed_class(u, 2)->unknown);
	assert_int_equal(sonde_unmixed_quality(u)->nr_merged, 2);
	/* The sum is known; each part may be anything between nothing and all of it. */
	assert_near(sum.value, m.truth[1][0] + m.truth[2][0], 0.01);
	assert_true(sum.error < 0.1 * sum.value);
	assert_true(
		one.value - 2 * one.error <= 0 && one.value + 2 * one.error >= 0.99 * sum.value);
	assert_true(
		two.value - 2 * two.error <= 0 && two.value + 2 * two.error >= 0.99 * sum.value);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* Counters are fitted some at a time: which ones beside it has nothing to do with any of them. */
static void test_unmix__a_counter_comes_out_the_same_alone(void **state)
{
	struct sonde_unmixed *all, *alone;
	struct made m, one;
	uint32_t c, k;
	size_t i;

	(void)state;
	start_program(&m, 6, 11);
	m.vary = 0.3;
	m.count[2][3] = m.count[4][9] = 0; /* what is not there is held at zero, in these two */
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

/* Neighbours that samples can hardly tell apart: each is uncertain, their sum is not. */
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

/* Two kernels of a hundred nanoseconds in a region: stamps are too coarse to tell them apart. */
static void test_unmix__weak_classes_of_a_region_become_its_entries(void **state)
{
	static const uint32_t region[] = {0, 1};
	struct sonde_unmix_figure sum;
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL;
	uint32_t step, k;

	(void)state;
	start_program(&m, 3, 1);
	m.classes[0].group = m.classes[1].group = 7;
	m.vary = 0.2;
	for (step = 0; step < STEPS; step++) {
		for (k = 0; k < 2; k++) {
			made_launch(&m, k, at, 100, 300 * made_normal(&m), 1);
			m.launches[m.nr_launches - 1].entry = step;
			at += 100;
		}
		at += (int64_t)made_uniform(&m, 5000, 60000);
		made_launch(&m, 2, at, 5000, 0, 1);
		at += (int64_t)made_uniform(&m, 5000, 60000);
	}
	u = solve(&m);
	sum = sonde_unmixed_sum(u, region, 2, 0);
	assert_int_equal(sonde_unmixed_class(u, 0)->fate, SONDE_UNMIX_ENTRY);
	assert_int_equal(sonde_unmixed_class(u, 1)->fate, SONDE_UNMIX_ENTRY);
	assert_int_equal(sonde_unmixed_class(u, 2)->fate, SONDE_UNMIX_OWN);
	assert_true(fabs(sum.value - m.truth[0][0] - m.truth[1][0]) < 1.96 * sum.error);
	assert_true(sum.error < 0.1 * sum.value);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* A kernel name in many places, each entered a few times. */
static void test_unmix__rare_classes_are_pooled_by_name(void **state)
{
	uint32_t all[40], k, nr_pooled = 0;
	struct sonde_unmix_figure sum;
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL;
	double truth = 0;

	(void)state;
	start_program(&m, 41, 1);
	m.vary = 0.2;
	for (k = 0; k < 40; k++) {
		m.classes[k].name = 0;
		m.count[k][0] = 4000;
		all[k] = k;
	}
	m.count[40][0] = 50000;
	for (k = 0; k < 400; k++) {
		made_launch(&m, k % 40, at, 200, 200 * made_normal(&m), 1);
		at += 200 + (int64_t)made_uniform(&m, 0, 1000);
		made_launch(&m, 40, at, 10000, 0, 1);
		at += 12000 + (int64_t)made_uniform(&m, 0, 10000);
	}
	u = solve(&m);
	for (k = 0; k < 40; k++) {
		nr_pooled += sonde_unmixed_class(u, k)->fate == SONDE_UNMIX_POOLED;
		truth += m.truth[k][0];
	}
	sum = sonde_unmixed_sum(u, all, 40, 0);
	assert_int_equal(nr_pooled, 40);
	assert_true(fabs(sum.value - truth) < 1.96 * sum.error);
	assert_true(sum.error < truth);
	sonde_unmixed_free(u);
	made_release(&m);
}

static void test_unmix__impossible_counters_are_refused(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	size_t i;

	(void)state;
	start_program(&m, 3, 2);
	run_program(&m, 3);
	m.limits[0] = 2;
	m.limits[1] = 2;
	for (i = 0; i < m.nr_samples; i++)
		m.values[i * 2 + 1] *= 11.3;
	m.values[2 * 100] = 1e9; /* one wild sample of the good counter */
	u = solve(&m);
	assert_non_null(sonde_unmixed_counter(u, 1)->refused);
	assert_non_null(
		strstr(sonde_unmixed_counter(u, 1)->refused, "above what the device can count"));
	assert_true(isnan(sonde_unmixed_figure(u, 0, 1).value));
	assert_null(sonde_unmixed_counter(u, 0)->refused);
	assert_near(sonde_unmixed_figure(u, 2, 0).value, m.truth[2][0], 1e-3);
	assert_int_equal(sonde_unmixed_quality(u)->nr_dropped, 2); /* with the first one */
	sonde_unmixed_free(u);
	made_release(&m);
}

/* After a stop, the first sample covers all the time until the next start. */
static void test_unmix__first_samples_after_a_start_are_dropped(void **state)
{
	struct sonde_unmixed *u;
	struct made m;

	(void)state;
	start_program(&m, 3, 1);
	run_program(&m, 3);
	while (m.start_ns[100] < 100 * INTERVAL + 5000000)
		made_drop_sample(&m, 100);
	m.start_ns[100] = m.end_ns[99];
	m.values[100] = 12345678;
	m.start_ns[0] = -1000000000;
	m.values[0] = 87654321;
	u = solve(&m);
	assert_int_equal(sonde_unmixed_quality(u)->nr_dropped, 2);
	assert_near(sonde_unmixed_figure(u, 1, 0).value, m.truth[1][0], 1e-3);
	assert_true(sonde_unmixed_quality(u)->seen_time < 0.95);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* A record lost on the way: one counter shows a third of what is there, the others all. */
static void test_unmix__samples_that_lack_a_part_are_left_out(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	size_t i;

	(void)state;
	start_program(&m, 4, 3);
	m.vary = 0.01;
	run_program(&m, 4);
	for (i = 20; i < m.nr_samples - 100; i += 50)
		m.values[i * 3 + 1] *= 0.3;
	u = solve(&m);
	assert_true(sonde_unmixed_counter(u, 1)->nr_lost >= 5);
	assert_int_equal(sonde_unmixed_counter(u, 0)->nr_lost, 0);
	for (i = 0; i < 4; i++)
		assert_near(sonde_unmixed_figure(u, (uint32_t)i, 1).value, m.truth[i][1], 0.02);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* A kernel that has nothing to do now and then does nothing of anything: that counts. */
static void test_unmix__kernels_that_vary_keep_their_mean(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	int64_t at = 3 * INTERVAL;
	int step;

	(void)state;
	start_program(&m, 2, 3);
	for (step = 0; step < STEPS; step++) {
		made_launch(&m, 0, at, 8000, 0, step % 25 == 7 ? 0 : 1);
		at += 8000 + (int64_t)made_uniform(&m, 1000, 10000);
		made_launch(&m, 1, at, 8000, 0, 1);
		at += 8000 + (int64_t)made_uniform(&m, 1000, 10000);
	}
	u = solve(&m);
	assert_int_equal(sonde_unmixed_counter(u, 0)->nr_lost, 0);
	assert_near(sonde_unmixed_figure(u, 0, 0).value, m.truth[0][0], 0.02);
	sonde_unmixed_free(u);
	made_release(&m);
}

static void test_unmix__what_no_sample_saw_has_no_figure(void **state)
{
	static const uint32_t both[] = {0, 1};
	struct sonde_unmixed *u;
	struct made m;

	(void)state;
	start_program(&m, 1, 1);
	made_class(&m, 1, 1, SONDE_UNMIX_NONE);
	made_class(&m, 2, 2, SONDE_UNMIX_NONE); /* never launched */
	run_program(&m, 1);
	made_launch(&m, 1, m.end_ns[m.nr_samples - 1] + 1000000, 5000, 0, 1);
	u = solve(&m);
	assert_int_equal(sonde_unmixed_class(u, 1)->fate, SONDE_UNMIX_UNSEEN);
	assert_int_equal(sonde_unmixed_class(u, 2)->fate, SONDE_UNMIX_UNSEEN);
	assert_true(isnan(sonde_unmixed_figure(u, 1, 0).value));
	assert_near(sonde_unmixed_sum(u, both, 2, 0).value, m.truth[0][0], 1e-6);
	assert_int_equal(sonde_unmixed_class(u, 1)->nr_seen, 0);
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

/* A program long enough for several threads, with samples that lack something. */
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

static void test_unmix__a_fixed_offset_is_found_and_used(void **state)
{
	struct sonde_unmix_options opt = {0};
	struct sonde_unmix_input in;
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	struct made m;
	int64_t at = 3 * INTERVAL;
	double found;
	int step;

	(void)state;
	start_program(&m, 2, 2);
	for (step = 0; step < STEPS; step++) {
		made_launch(&m, (uint32_t)step % 2, at, 3000, 740, 1);
		at += 3000 + (int64_t)made_uniform(&m, 1000, 20000);
	}
	in = made_input(&m);
	assert_int_equal(sonde_unmix_calibrate(&found, &in, 1, 5000, &err), 0);
	assert_true(fabs(found - 740) < 50);
	opt.offset_ns = 740;
	assert_int_equal(sonde_unmix_solve(&u, &in, &opt, &err), 0);
	assert_near(sonde_unmixed_figure(u, 0, 1).value, m.truth[0][1], 1e-6);
	sonde_unmixed_free(u);
	assert_int_equal(sonde_unmix_calibrate(&found, &in, 2, 5000, &err), SONDE_ERR_USAGE);
	made_release(&m);
}

static void test_unmix__input_that_contradicts_itself_is_an_error(void **state)
{
	struct sonde_unmix_options opt = {.offset_ns = INT64_MIN};
	struct sonde_unmix_input in;
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	struct made m;

	(void)state;
	start_program(&m, 2, 1);
	run_program(&m, 2);
	in = made_input(&m);
	assert_int_equal(sonde_unmix_solve(&u, &in, &opt, &err), SONDE_ERR_USAGE);
	m.launches[3].class = 2;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), SONDE_ERR_USAGE);
	assert_string_equal(err.msg, "unmix: launch 3 is of class 2, but there are 2 classes");
	m.launches[3].class = 0;
	m.launches[4].end_ns = m.launches[4].start_ns - 1;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), SONDE_ERR_USAGE);
	m.launches[4].end_ns = INT64_MAX;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), SONDE_ERR_USAGE);
	m.launches[4].end_ns = m.launches[4].start_ns;
	m.start_ns[5] = m.start_ns[4] - 1;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), SONDE_ERR_USAGE);
	assert_null(u);
	made_release(&m);
}

/* Values that are no counts, samples that end before they start, launches that take no time. */
static void test_unmix__odd_values_are_survived(void **state)
{
	struct sonde_unmixed *u;
	struct made m;
	size_t i;

	(void)state;
	start_program(&m, 3, 1);
	run_program(&m, 3);
	made_drop_sample(&m, 60);
	made_drop_sample(&m, 60);
	m.values[10] = NAN;
	m.values[20] = -5;
	m.values[30] = INFINITY;
	m.end_ns[40] = m.start_ns[40];
	m.end_ns[50] = m.start_ns[50] - 10;
	for (i = 0; i < m.nr_launches; i += 7)
		m.launches[i].end_ns = m.launches[i].start_ns;
	u = solve(&m);
	assert_int_equal(sonde_unmixed_quality(u)->nr_dropped, 6);
	assert_int_equal(sonde_unmixed_quality(u)->nr_gaps, 3); /* two samples lack their time */
	assert_true(isfinite(sonde_unmixed_figure(u, 1, 0).value));
	assert_true(isfinite(sonde_unmixed_figure(u, 1, 0).error));
	sonde_unmixed_free(u);
	made_release(&m);
}

/* Little work allowed: time bins go first, then places, then it is an error. */
static void test_unmix__too_much_work_makes_unknowns_coarser(void **state)
{
	struct sonde_unmix_options opt = {.most_work = 1e5};
	struct sonde_unmix_input in;
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	struct made m;
	uint32_t k;

	(void)state;
	start_program(&m, 20, 1);
	run_program(&m, 20);
	for (k = 0; k < 20; k++)
		m.classes[k].name = k / 10;
	in = made_input(&m);
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), 0);
	assert_true(sonde_unmixed_quality(u)->nr_columns > 60);
	sonde_unmixed_free(u);
	assert_int_equal(sonde_unmix_solve(&u, &in, &opt, &err), 0);
	assert_int_equal(sonde_unmixed_quality(u)->nr_unknowns, 20);
	assert_true(sonde_unmixed_quality(u)->nr_columns < 60);
	sonde_unmixed_free(u);
	opt.most_work = 5000;
	assert_int_equal(sonde_unmix_solve(&u, &in, &opt, &err), 0);
	assert_int_equal(sonde_unmixed_quality(u)->nr_unknowns, 2);
	assert_int_equal(sonde_unmixed_class(u, 3)->fate, SONDE_UNMIX_POOLED);
	sonde_unmixed_free(u);
	opt.most_work = 1;
	assert_int_equal(sonde_unmix_solve(&u, &in, &opt, &err), SONDE_ERR_LIMIT);
	assert_non_null(strstr(err.msg, "shorter interval"));
	made_release(&m);
}

static void test_unmix__nothing_at_all_is_fine(void **state)
{
	struct sonde_unmix_input in = {0};
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	struct made m;

	(void)state;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), 0);
	sonde_unmixed_free(u);
	sonde_unmixed_free(NULL);
	start_program(&m, 2, 1);
	run_program(&m, 2);
	in = made_input(&m);
	in.nr_samples = 0;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), 0);
	assert_int_equal(sonde_unmixed_class(u, 0)->fate, SONDE_UNMIX_UNSEEN);
	sonde_unmixed_free(u);
	in = made_input(&m);
	in.nr_launches = 0;
	assert_int_equal(sonde_unmix_solve(&u, &in, NULL, &err), 0);
	assert_true(isnan(sonde_unmixed_figure(u, 0, 0).value));
	sonde_unmixed_free(u);
	made_release(&m);
}

static void test_unmix__memory_that_runs_out_is_an_error(void **state)
{
	struct sonde_unmix_input in;
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	struct made m;
	uint64_t before, nr, n;
	int rc;

	(void)state;
	start_program(&m, 3, 1);
	run_program(&m, 3);
	in = made_input(&m);
	before = sonde_alloc_count();
	u = solve(&m);
	sonde_unmixed_free(u);
	nr = sonde_alloc_count() - before;
	for (n = 1; n <= nr; n++) {
		sonde_alloc_fail_at(n);
		rc = sonde_unmix_solve(&u, &in, NULL, &err);
		sonde_alloc_fail_at(0);
		assert_int_equal(rc, SONDE_ERR_NOMEM);
		assert_null(u);
	}
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmix__each_class_gets_what_it_counted),
		cmocka_unit_test(test_unmix__time_bins_follow_uneven_work),
		cmocka_unit_test(test_unmix__what_a_long_kernel_does_first_is_its_own),
		cmocka_unit_test(test_unmix__classes_side_by_side_are_merged),
		cmocka_unit_test(test_unmix__a_counter_comes_out_the_same_alone),
		cmocka_unit_test(test_unmix__sums_know_covariances),
		cmocka_unit_test(test_unmix__weak_classes_of_a_region_become_its_entries),
		cmocka_unit_test(test_unmix__rare_classes_are_pooled_by_name),
		cmocka_unit_test(test_unmix__impossible_counters_are_refused),
		cmocka_unit_test(test_unmix__first_samples_after_a_start_are_dropped),
		cmocka_unit_test(test_unmix__samples_that_lack_a_part_are_left_out),
		cmocka_unit_test(test_unmix__kernels_that_vary_keep_their_mean),
		cmocka_unit_test(test_unmix__what_no_sample_saw_has_no_figure),
		cmocka_unit_test(test_unmix__order_of_launches_does_not_matter),
		cmocka_unit_test(test_unmix__any_number_of_threads_gives_the_same_bits),
		cmocka_unit_test(test_unmix__a_fixed_offset_is_found_and_used),
		cmocka_unit_test(test_unmix__input_that_contradicts_itself_is_an_error),
		cmocka_unit_test(test_unmix__odd_values_are_survived),
		cmocka_unit_test(test_unmix__too_much_work_makes_unknowns_coarser),
		cmocka_unit_test(test_unmix__nothing_at_all_is_fine),
		cmocka_unit_test(test_unmix__memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("unmix", tests, NULL, NULL);
}
