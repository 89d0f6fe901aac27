/* Which unknowns a solve uses for launches: own, merged, entries, pooled, none. */
#include "unmix_solved.h"

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
	/* The sum is known; each part may be anything from nothing to the whole sum. */
	assert_near(sum.value, m.truth[1][0] + m.truth[2][0], 0.01);
	assert_true(sum.error < 0.1 * sum.value);
	assert_true(
		one.value - 2 * one.error <= 0 && one.value + 2 * one.error >= 0.99 * sum.value);
	assert_true(
		two.value - 2 * two.error <= 0 && two.value + 2 * two.error >= 0.99 * sum.value);
	sonde_unmixed_free(u);
	made_release(&m);
}

/* Two kernels of a hundred nanoseconds in a region: timestamps are too coarse to separate them. */
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

/* If only little work is allowed, time bins are given up first, then places, and then it is an error. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmix__classes_side_by_side_are_merged),
		cmocka_unit_test(test_unmix__weak_classes_of_a_region_become_its_entries),
		cmocka_unit_test(test_unmix__rare_classes_are_pooled_by_name),
		cmocka_unit_test(test_unmix__what_no_sample_saw_has_no_figure),
		cmocka_unit_test(test_unmix__too_much_work_makes_unknowns_coarser),
	};

	return cmocka_run_group_tests_name("unmix_unknowns", tests, NULL, NULL);
}
