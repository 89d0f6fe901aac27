/* Comparisons of synthetic programs: which regions are named, with which cause, and which are not named. */
#include "diffed.h"

static void test_diff__one_slower_region_is_named_with_its_ancestors_alone(void **state)
{
	const struct program a = {.steps = 200, .regions = 6, .launches = 1, .seed = 1},
			     b = {.steps = 200,
				     .regions = 6,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r5",
				     .by = 1.5};
	const struct sonde_diff_region *r;
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	r = named(&c, "step/r5");
	assert_int_equal(r->verdict, SONDE_VERDICT_LIKELY_SLOWER);
	assert_true(r->low < 1.5 && r->high > 1.5 && r->time == SONDE_ENTRY_WALL);
	assert_int_equal(r->times[SONDE_ENTRY_GPU].verdict, SONDE_VERDICT_LIKELY_SLOWER);
	assert_string_equal(sonde_diff_cause_name(r), "duration");
	assert_int_equal(named(&c, "step")->verdict, SONDE_VERDICT_LIKELY_SLOWER);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_LIKELY_SLOWER], 2);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_LIKELY_FASTER], 0);
	assert_true(says(&c.d->sentences, "step/r5 is likely "));
	assert_true(says(&c.d->sentences, ". One capture per side cannot show how much runs differ"));
	assert_true(says(&c.d->sentences, "; longer kernels: gemm +"));
	assert_true(says(&c.d->sentences, "around it step +"));
	assert_true(says(&c.d->sentences, "step is likely ")); /* the step is always news */
	done(&c);
}

static void test_diff__faster_is_named_and_no_gate_fails(void **state)
{
	const struct program a = {.steps = 100,
				     .regions = 3,
				     .launches = 1,
				     .seed = 1,
				     .noise = 0.01},
			     b = {.steps = 100,
				     .regions = 3,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r2",
				     .by = 0.7,
				     .noise = 0.01};
	const struct sonde_diff_limit limit = {.above = 0.05};
	const struct sonde_diff_options o = {.min_effect = 0.02, .limits = &limit, .nr_limits = 1};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 1, &o);
	assert_int_equal(named(&c, "step/r2")->verdict, SONDE_VERDICT_LIKELY_FASTER);
	assert_int_equal(c.d->gate, SONDE_GATE_PASS);
	done(&c);
}

static void test_diff__the_same_program_twice_names_nothing(void **state)
{
	size_t seed, nr = 0;

	(void)state;
	for (seed = 0; seed < 12; seed++) {
		const struct program
			a = {.steps = 60, .regions = 8, .launches = 1, .seed = 3 + 2 * seed},
			b = {.steps = 60, .regions = 8, .launches = 1, .seed = 4 + 2 * seed};
		struct compared c;

		compare(&c, &a, &b);
		nr += c.d->nr_by_verdict[SONDE_VERDICT_LIKELY_SLOWER] +
		      c.d->nr_by_verdict[SONDE_VERDICT_LIKELY_FASTER];
		done(&c);
	}
	assert_true(nr <= 1);
}

static void test_diff__more_launches_are_a_count_and_other_kernels_are_named(void **state)
{
	const struct program a = {.steps = 100, .regions = 2, .launches = 2, .seed = 1},
			     more = {.steps = 100,
				     .regions = 2,
				     .launches = 2,
				     .seed = 2,
				     .slow = "r1",
				     .by = 1,
				     .more = 2},
			     other = {.steps = 100,
				     .regions = 2,
				     .launches = 2,
				     .seed = 3,
				     .slow = "r1",
				     .by = 2,
				     .kernel = "void ns::fused<4>(int)"};
	const struct sonde_diff_region *r;
	struct compared c;

	(void)state;
	compare(&c, &a, &more);
	r = named(&c, "step/r1");
	assert_int_equal(r->verdict, SONDE_VERDICT_LIKELY_SLOWER);
	assert_string_equal(sonde_diff_cause_name(r), "count");
	assert_true(says(&c.d->sentences, "more launches"));
	done(&c);
	compare(&c, &a, &other);
	r = named(&c, "step/r1");
	assert_true(r->causes & SONDE_CAUSE_KERNELS);
	assert_int_equal(r->nr_kernels, 2);
	assert_true(says(&c.d->sentences, "fused +"));
	assert_true(says(&c.d->sentences, "(new)"));
	assert_true(says(&c.d->sentences, "(gone)"));
	done(&c);
}

static void test_diff__other_step_counts_are_said_and_no_verdict(void **state)
{
	const struct program a = {.steps = 100, .regions = 2, .launches = 1, .seed = 1},
			     b = {.steps = 200, .regions = 2, .launches = 1, .seed = 2};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_LIKELY_SLOWER], 0);
	assert_true(says(&c.d->sentences, "step is entered 200 times a run instead of 100"));
	assert_false(says(&c.d->sentences, "step/r0 is entered")); /* as often per step */
	done(&c);
}

static void test_diff__host_time_is_compared_where_no_gpu_is_used(void **state)
{
	const struct program a = {.steps = 100,
				     .regions = 2,
				     .launches = 1,
				     .seed = 1,
				     .host_only = true},
			     b = {.steps = 100,
				     .regions = 2,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r1",
				     .by = 1.3,
				     .host_only = true};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_int_equal(named(&c, "step/r1")->verdict, SONDE_VERDICT_LIKELY_SLOWER);
	assert_int_equal(named(&c, "step/r1")->time, SONDE_ENTRY_HOST);
	assert_true(says(&c.d->sentences, "longer on the host"));
	done(&c);
}

/* --- metrics ---------------------------------------------------------------------------------- */

static const struct sonde_diff_metric *occupancy_of(const struct compared *c, const char *id)
{
	assert_int_equal(c->d->columns.nr, 1);
	assert_true(sonde_str_is(c->d->columns.at[0].head, "Occ %"));
	return &c->d->metrics.at[named(c, id) - c->d->regions.at];
}

/* The metric of one launch is exact; a mean over launches without its weight is not, and has no interval. */
static void test_diff__metrics_are_compared_by_what_is_known_of_them(void **state)
{
	struct program a = {.steps = 1,
			       .regions = 2,
			       .launches = 1,
			       .seed = 1,
			       .slow = "r1",
			       .by = 1,
			       .occupancy = 40},
		       b = a;
	struct compared c;

	(void)state;
	b.occupancy = 60;
	compare(&c, &a, &b);
	near(occupancy_of(&c, "step/r1")->base.v, 40);
	assert_int_equal(occupancy_of(&c, "step/r1")->change, SONDE_METRIC_HIGHER);
	assert_int_equal(occupancy_of(&c, "step/r0")->change, SONDE_METRIC_SAME);
	assert_int_equal(occupancy_of(&c, "step")->base.quality, SONDE_QUALITY_APPROX);
	assert_int_equal(occupancy_of(&c, "step")->change, SONDE_METRIC_INSUFFICIENT);
	done(&c);
	compare(&c, &b, &a);
	assert_int_equal(occupancy_of(&c, "step/r1")->change, SONDE_METRIC_LOWER);
	done(&c);
}

static void test_diff__metrics_of_several_runs_are_tested(void **state)
{
	struct program a = {.steps = 1,
			       .regions = 1,
			       .launches = 1,
			       .seed = 1,
			       .slow = "r0",
			       .by = 1,
			       .occupancy = 40,
			       .occupancy_step = 4},
		       b = a;
	struct compared c;

	(void)state;
	b.occupancy = 42; /* runs of 40, 44, 48, 52 against 42, 46, 50, 54 */
	compare_with(&c, &a, &b, 4, &plain);
	near(occupancy_of(&c, "step/r0")->base.v, 46);
	assert_int_equal(occupancy_of(&c, "step/r0")->change, SONDE_METRIC_INSUFFICIENT);
	done(&c);
	b.occupancy = 80;
	compare_with(&c, &a, &b, 4, &plain);
	assert_int_equal(occupancy_of(&c, "step/r0")->change, SONDE_METRIC_HIGHER);
	done(&c);
}

/* --- matching --------------------------------------------------------------------------------- */

/* --- shapes: regions by path, each with the kernels it launches ------------------------------ */

/* --- verdicts --------------------------------------------------------------------------------- */

static void test_diff__one_entry_a_side_is_always_insufficient(void **state)
{
	const struct program a = {.steps = 1, .regions = 2, .launches = 1, .seed = 1},
			     b = {.steps = 1,
				     .regions = 2,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r1",
				     .by = 10};
	const struct sonde_diff_limit limit = {.above = 0.05};
	const struct sonde_diff_options o = {.min_effect = 0.02, .limits = &limit, .nr_limits = 1};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 1, &o);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_INSUFFICIENT], 3);
	assert_int_equal(c.d->gate, SONDE_GATE_NOT_COMPARED); /* nothing is repeated */
	done(&c);
}

static void test_diff__a_gate_by_path_wins_over_that_of_all(void **state)
{
	const struct program a = {.steps = 200, .regions = 3, .launches = 1, .seed = 1},
			     b = {.steps = 200,
				     .regions = 3,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r2",
				     .by = 1.1};
	const struct sonde_diff_limit strict[] = {{.glob = SONDE_STR("step/**"), .above = 0.03}, {.above = 0.5}};
	const struct sonde_diff_options o = {
		.min_effect = 0.02, .limits = strict, .nr_limits = 2, .accepts_single = true};
	const struct sonde_diff_options lax = {
		.min_effect = 0.02, .limits = strict + 1, .nr_limits = 1};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 1, &o);
	assert_int_equal(named(&c, "step/r2")->gate, SONDE_GATE_FAIL);
	near(named(&c, "step")->limit, 0.5);
	assert_int_equal(c.d->gate, SONDE_GATE_FAIL);
	done(&c);
	compare_with(&c, &a, &b, 1, &lax);
	assert_int_equal(named(&c, "step/r2")->gate, SONDE_GATE_NONE); /* only the step has a limit */
	assert_true(named(&c, "step")->is_step && isnan(named(&c, "step/r2")->limit));
	assert_int_equal(c.d->gate, SONDE_GATE_PASS);
	done(&c);
}

static void test_diff__the_step_is_rather_a_push_pop_range(void **state)
{
	static const struct {
		double ahead;
		const char *step;
	} cases[] = {{0.5, "step"}, {1.7, "step"}, {3.5, "step"}, {6, "prefetch"}};
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct program a = {.steps = 50, .regions = 2, .launches = 1, .seed = 1, .host_only = true, .ahead = cases[i].ahead};
		struct compared c;

		compare(&c, &a, &a);
		for (k = 0; k < c.d->regions.nr; k++)
			assert_int_equal(c.d->regions.at[k].is_step, sonde_str_is(c.d->regions.at[k].label, cases[i].step));
		done(&c);
	}
}

static void test_diff__several_runs_a_side_are_compared_by_run(void **state)
{
	const struct program a = {.steps = 50, .regions = 3, .launches = 1, .seed = 1},
			     b = {.steps = 50,
				     .regions = 3,
				     .launches = 1,
				     .seed = 50,
				     .slow = "r2",
				     .by = 1.4};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 4, &plain);
	assert_int_equal(named(&c, "step/r2")->verdict, SONDE_VERDICT_SLOWER);
	assert_int_equal(named(&c, "step/r2")->base.nr_values, 200);
	near(named(&c, "step/r2")->base.entries, 50);
	assert_int_equal(named(&c, "step/r0")->verdict == SONDE_VERDICT_SLOWER, false);
	done(&c);
}

static void test_diff__another_gpu_is_not_comparable(void **state)
{
	const struct program
		a = {.steps = 5, .regions = 1, .launches = 1, .seed = 1, .device = "NVIDIA A100"},
		b = {.steps = 5, .regions = 1, .launches = 1, .seed = 1, .device = "NVIDIA H200"};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_false(c.d->is_comparable);
	assert_true(says(
		&c.d->reasons, "device: NVIDIA A100 in the base, NVIDIA H200 in the new side"));
	done(&c);
	compare(&c, &a, &a);
	assert_true(c.d->is_comparable);
	done(&c);
}

static void test_diff__the_self_test_raises_few_alarms(void **state)
{
	const struct program p = {.steps = 80, .regions = 6, .launches = 1, .seed = 5};
	struct sonde_diff_selftest t;
	const struct sonde_tree *tree;
	struct run run;

	(void)state;
	make(&run, &p);
	tree = run.t;
	assert_int_equal(
		sonde_diff_selftest(&t, &(struct sonde_diff_side){&tree, 1}, &plain, 60, NULL), 0);
	assert_int_equal(t.regions, 7);
	assert_int_equal(t.rounds, 60);
	assert_true(t.alarms <= 3);
	release(&run);
}

static void test_diff__short_memory_is_an_error_and_nothing_leaks(void **state)
{
	const struct program a = {.steps = 6, .regions = 3, .launches = 1, .seed = 1},
			     b = {.steps = 6,
				     .regions = 2,
				     .launches = 2,
				     .seed = 2,
				     .slow = "r1",
				     .by = 3,
				     .noise = 0.001,
				     .kernel = "other",
				     .names = {"fresh"}};
	const struct sonde_tree *base, *now;
	struct run runs[2];
	uint64_t n = 0;
	int rc = SONDE_ERR_NOMEM;

	(void)state;
	make(&runs[0], &a);
	make(&runs[1], &b);
	base = runs[0].t;
	now = runs[1].t;
	while (rc) {
		struct sonde_diff *d = NULL;

		sonde_alloc_fail_at(++n);
		rc = sonde_diff_build(&d, &(struct sonde_diff_side){&base, 1},
			&(struct sonde_diff_side){&now, 1}, &plain, NULL);
		sonde_alloc_fail_at(0);
		assert_true(rc == SONDE_ERR_NOMEM || (rc == 0 && d->regions.nr));
		sonde_diff_free(d);
	}
	assert_true(n > 20);
	release(&runs[0]);
	release(&runs[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff__one_slower_region_is_named_with_its_ancestors_alone),
		cmocka_unit_test(test_diff__faster_is_named_and_no_gate_fails),
		cmocka_unit_test(test_diff__the_same_program_twice_names_nothing),
		cmocka_unit_test(test_diff__more_launches_are_a_count_and_other_kernels_are_named),
		cmocka_unit_test(test_diff__other_step_counts_are_said_and_no_verdict),
		cmocka_unit_test(test_diff__host_time_is_compared_where_no_gpu_is_used),
		cmocka_unit_test(test_diff__metrics_are_compared_by_what_is_known_of_them),
		cmocka_unit_test(test_diff__metrics_of_several_runs_are_tested),
		cmocka_unit_test(test_diff__one_entry_a_side_is_always_insufficient),
		cmocka_unit_test(test_diff__a_gate_by_path_wins_over_that_of_all),
		cmocka_unit_test(test_diff__the_step_is_rather_a_push_pop_range),
		cmocka_unit_test(test_diff__several_runs_a_side_are_compared_by_run),
		cmocka_unit_test(test_diff__another_gpu_is_not_comparable),
		cmocka_unit_test(test_diff__the_self_test_raises_few_alarms),
		cmocka_unit_test(test_diff__short_memory_is_an_error_and_nothing_leaks),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
