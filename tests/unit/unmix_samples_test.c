/* Which samples and inputs a solve uses, and what it does with the others. */
#include "unmix_solved.h"

#include "base/alloc.h"

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
	assert_int_equal(sonde_unmixed_quality(u)->nr_dropped, 2); /* this one and the first one */
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

/* A part of a sample was lost: one counter has a third of its count, the others have all. */
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

/* A kernel that sometimes has nothing to do then counts 0 for all counters; such samples must be used. */
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
	assert_string_equal(err.msg, "unmix: launch 3 has class 2, but there are 2 classes");
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

/* Values that cannot be counts, samples that end before they start, launches that take no time. */
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
	assert_int_equal(sonde_unmixed_quality(u)->nr_no_count, 3);
	assert_int_equal(sonde_unmixed_quality(u)->nr_gaps, 3); /* two samples lack their time */
	assert_true(isfinite(sonde_unmixed_figure(u, 1, 0).value));
	assert_true(isfinite(sonde_unmixed_figure(u, 1, 0).error));
	sonde_unmixed_free(u);
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
		cmocka_unit_test(test_unmix__impossible_counters_are_refused),
		cmocka_unit_test(test_unmix__first_samples_after_a_start_are_dropped),
		cmocka_unit_test(test_unmix__samples_that_lack_a_part_are_left_out),
		cmocka_unit_test(test_unmix__kernels_that_vary_keep_their_mean),
		cmocka_unit_test(test_unmix__input_that_contradicts_itself_is_an_error),
		cmocka_unit_test(test_unmix__odd_values_are_survived),
		cmocka_unit_test(test_unmix__nothing_at_all_is_fine),
		cmocka_unit_test(test_unmix__memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests_name("unmix_samples", tests, NULL, NULL);
}
