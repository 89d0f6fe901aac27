/* The tree: which figures are added up over processes, inputs and replayed ranges, and which are not. */
#include "treed.h"

#include <math.h>

static void test_tree__aggregate_adds_scopes_and_tells_their_spread(void **state)
{
	const struct sonde_report *r;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 100);
	made_process(&m, 2);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 300);
	aggregate(&run, m.r, NULL);
	assert_int_equal(run.t->reports.nr, 3);
	r = &run.t->reports.at[2];
	assert_true(r->is_aggregate);
	near(r->nodes.at[0].time_ns, 400);
	near(r->nodes.at[0].scope_min_ns, 100);
	near(r->nodes.at[0].scope_median_ns, 200);
	near(r->nodes.at[0].imbalance, 1.5);
	release(&run);
	made_release(&m);
}

/* The first input has the cycles of one unit and the parts of the metric, the second the cycles of another unit. */
static void test_tree__figures_of_a_scope_do_not_depend_on_other_inputs(void **state)
{
	static const char pipe[] = "sm__pipe_x.avg.pct_of_peak_sustained_elapsed";
	static const char top[] = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
	const struct sonde_figure *f;
	struct run run;
	struct made m;
	uint32_t a;
	int i;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	for (i = 0; i < 4; i++) {
		if (i == 2) {
			made_input(&m, "kernel", 2);
			a = made_push(&m, MADE_ROOT, "A");
		}
		made_launch(&m, "k", 1, &a);
		made_metric(&m, TIME, 100);
		made_metric(&m, pipe, i % 2 ? 40 : 10);
		made_metric(&m, top, i % 2 ? 40 : 10);
		made_metric(&m, i < 2 ? "gpc__cycles_elapsed.sum" : "sm__cycles_elapsed.sum",
			i % 2 ? 1000 : 2000);
		if (i < 2)
			made_text(&m, "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
				pipe);
	}
	aggregate(&run, m.r, NULL);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0, pipe);
	near(f->v, 20);
	assert_int_equal(f->quality, SONDE_QUALITY_EXACT);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0, top);
	near(f->v, 20);
	assert_int_equal(f->quality, SONDE_QUALITY_EXACT);
	f = figure(&run, 1, SONDE_PART_INCLUSIVE, 0, pipe);
	near(f->v, 20);
	assert_int_equal(f->quality, SONDE_QUALITY_EXACT);
	assert_string_equal(run.t->columns.at[sonde_tree_column(run.t, sonde_str_from(pipe))].methods[f->method],
		"mean weighted by sm__cycles_elapsed.sum");
	f = figure(&run, 1, SONDE_PART_INCLUSIVE, 0, top);
	near(f->v, 20);
	assert_int_equal(f->quality, SONDE_QUALITY_BOUND);
	f = figure(&run, 2, SONDE_PART_INCLUSIVE, 0, pipe); /* only times add up */
	near(f->v, 25);
	assert_int_equal(f->quality, SONDE_QUALITY_APPROX);
	assert_int_equal(f->method, 1);
	f = figure(&run, 2, SONDE_PART_INCLUSIVE, 0, top);
	assert_int_equal(f->quality, SONDE_QUALITY_BOUND);
	release(&run);
	made_release(&m);
}

static void test_tree__inputs_without_times_have_none_beside_others(void **state)
{
	struct run run;
	struct made m;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 100);
	made_input(&m, "kernel", 2);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, "sm__inst_executed.sum", 7);
	aggregate(&run, m.r, NULL);
	near(run.t->reports.at[0].nodes.at[0].time_ns, 100);
	assert_true(isnan(run.t->reports.at[1].nodes.at[0].time_ns));
	release(&run);
	made_release(&m);
}

static void test_tree__switching_the_aggregate_off_removes_only_it(void **state)
{
	struct sonde_choice choice = {.no_aggregate = true};
	struct made m;
	struct run run;

	(void)state;
	small(&m);
	aggregate(&run, m.r, &choice);
	assert_int_equal(run.t->reports.nr, 1);
	assert_false(run.t->reports.at[0].is_aggregate);
	release(&run);
	made_release(&m);
}

static void test_tree__replayed_ranges_are_never_summed_with_kernels(void **state)
{
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	small(&m);
	a = made_push(&m, MADE_ROOT, "A");
	m.r->records.at[made_launch(&m, "range", 1, &a)].kind = SONDE_RESULT_RANGE;
	made_metric(&m, TIME, 9000);
	aggregate(&run, m.r, NULL);
	assert_int_equal(run.t->reports.nr, 4); /* two scopes, two aggregates */
	near(run.t->reports.at[2].nodes.at[0].time_ns, 450);
	near(run.t->reports.at[3].nodes.at[0].time_ns, 9000);
	assert_true(run.t->reports.at[3].is_ranges);
	assert_true(sonde_str_is(run.t->reports.at[1].name, "process:1/device:0/ranges"));
	release(&run);
	made_release(&m);
}

/* Adds a replayed range of `ns` nanoseconds in the entry `at`. */
static void replayed(struct made *m, uint32_t at, double ns)
{
	uint32_t record = made_launch(m, "range", 1, &at);

	m->r->records.at[record].kind = SONDE_RESULT_RANGE;
	made_metric(m, TIME, ns);
}

/* `step` is not captured; A and B are captured by one process, A/A1 by a second, A/A1/x by a third. */
static void test_tree__levels_of_replayed_ranges_are_not_added_up(void **state)
{
	struct made m;
	struct run run = {0};
	const struct sonde_report *all;
	uint32_t step, a;

	(void)state;
	made_init(&m);
	step = made_push(&m, MADE_ROOT, "step");
	replayed(&m, made_push(&m, step, "A"), 100);
	replayed(&m, made_push(&m, step, "A"), 120);
	replayed(&m, made_push(&m, step, "B"), 50);
	made_process(&m, 4600);
	a = made_push(&m, made_push(&m, MADE_ROOT, "step"), "A");
	replayed(&m, made_push(&m, a, "A1"), 70);
	made_process(&m, 4700);
	a = made_push(&m, made_push(&m, MADE_ROOT, "step"), "A");
	replayed(&m, made_push(&m, made_push(&m, a, "A1"), "x"), 30);
	aggregate(&run, m.r, NULL);
	all = &run.t->reports.at[run.t->reports.nr - 1];
	assert_true(all->is_aggregate && all->is_ranges);
	near(node_named(&run, all, "step")->time_ns, 270);
	near(node_named(&run, all, "step/A")->time_ns, 220);
	near(node_named(&run, all, "step/A/A1")->time_ns, 70);
	near(node_named(&run, all, "step/A/A1/x")->time_ns, 30);
	near(all->time_ns, 270);
	assert_int_equal(all->launches, 3);
	assert_int_equal(node_named(&run, all, "step")->instances, 1);
	assert_int_equal(node_named(&run, all, "step/A")->instances, 2);
	assert_int_equal(node_named(&run, all, "step/A/A1")->instances, 1);
	assert_int_equal(node_named(&run, all, "step/A")->nr_scopes, 1);
	assert_int_equal(run.t->notes.texts.nr, 1);
	release(&run);
	made_release(&m);
}

static void test_tree__range_and_app_range_replay_are_never_summed(void **state)
{
	struct made m;
	struct run run = {0};
	const struct sonde_report *reports;

	(void)state;
	made_init(&m);
	replayed(&m, made_push(&m, MADE_ROOT, "A"), 100);
	made_input(&m, "app-range", 4600);
	replayed(&m, made_push(&m, MADE_ROOT, "A"), 250);
	aggregate(&run, m.r, NULL);
	reports = run.t->reports.at;
	assert_int_equal(run.t->reports.nr, 4); /* two scopes, two aggregates */
	assert_true(sonde_str_is(reports[2].name, "aggregate"));
	assert_int_equal(reports[2].measured, SONDE_MEASURED_RANGE);
	near(node_named(&run, &reports[2], "A")->time_ns, 100);
	near(node_named(&run, &reports[2], "A")->imbalance, 1);
	assert_true(sonde_str_is(reports[3].name, "aggregate/app-ranges"));
	assert_int_equal(reports[3].measured, SONDE_MEASURED_APP_RANGE);
	near(node_named(&run, &reports[3], "A")->time_ns, 250);
	assert_int_equal(run.t->notes.texts.nr, 1);
	release(&run);
	made_release(&m);
}

/* Two ranks replay A, one of them also a range below A: results of one capture are disjoint. */
static void test_tree__results_of_one_capture_add_up(void **state)
{
	struct made m;
	struct run run = {0};
	const struct sonde_report *all;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	replayed(&m, a, 100);
	replayed(&m, made_push(&m, a, "A1"), 10);
	made_process(&m, 4600);
	replayed(&m, made_push(&m, MADE_ROOT, "A"), 200);
	aggregate(&run, m.r, NULL);
	all = &run.t->reports.at[run.t->reports.nr - 1];
	near(node_named(&run, all, "A")->time_ns, 310);
	near(all->time_ns, 310);
	assert_int_equal(run.t->notes.texts.nr, 0);
	release(&run);
	made_release(&m);
}

static void assert_names(const struct sonde_scope *scopes, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!sonde_str_is(scopes[i].name, names[i]))
			fail_msg("'%.*s' is not '%s'", SONDE_STR_ARG(scopes[i].name), names[i]);
}

static void test_scopes__have_different_names_whatever_hosts_are_called(void **state)
{
	/* Processes on two nodes of a job may have the same pid in one input, and a host may have any name. */
	const struct sonde_process of[] = {{.pid = 7, .host = SONDE_STR("a")},
		{.pid = 7, .host = SONDE_STR("b")}, {.pid = 7, .host = SONDE_STR("b"), .input = 1},
		{.pid = 7, .host = SONDE_STR("b/ranges")},
		{.pid = 8, .host = SONDE_STR("b · GPU 0"), .has_rank = true},
		{.pid = 8, .host = SONDE_STR("b"), .has_rank = true}, {.pid = 7, .host = SONDE_STR("c")}};
	static const char *const names[] = {"rank 0 · b · GPU 0 · process 8 of input 1",
		"rank 0 · b · GPU 0 · GPU 0 · process 8 of input 1", "process:7/device:0/input:1/host:a",
		"process:7/device:0/input:1/host:b", "process:7/device:0/input:1/host:b/ranges",
		"process:7/device:0/input:2", "process:7/device:0/input:1/host:b/ranges #2",
		"process:7/device:0/input:1/host:c", "process:7/device:0/input:1/host:c/ranges"};
	struct sonde_scope s[] = {{.process = 0}, {.process = 1}, {.process = 1, .measured = SONDE_MEASURED_RANGE},
		{.process = 2}, {.process = 3}, {.process = 4}, {.process = 5}, {.process = 6},
		{.process = 6, .measured = SONDE_MEASURED_RANGE}};
	size_t nr = sizeof(s) / sizeof(*s);
	struct sonde_arena arena = {0};

	(void)state;
	sonde_scopes_sort(s, nr, of);
	assert_true(sonde_scopes_name(s, nr, of, &arena));
	assert_names(s, names, nr);
	sonde_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes__have_different_names_whatever_hosts_are_called),
		cmocka_unit_test(test_tree__aggregate_adds_scopes_and_tells_their_spread),
		cmocka_unit_test(test_tree__figures_of_a_scope_do_not_depend_on_other_inputs),
		cmocka_unit_test(test_tree__inputs_without_times_have_none_beside_others),
		cmocka_unit_test(test_tree__switching_the_aggregate_off_removes_only_it),
		cmocka_unit_test(test_tree__replayed_ranges_are_never_summed_with_kernels),
		cmocka_unit_test(test_tree__levels_of_replayed_ranges_are_not_added_up),
		cmocka_unit_test(test_tree__range_and_app_range_replay_are_never_summed),
		cmocka_unit_test(test_tree__results_of_one_capture_add_up),
	};

	return cmocka_run_group_tests_name("tree scopes", tests, NULL, NULL);
}
