/* The tree: figures of regions follow from those of their launches. */
#include "fold/rule.h"

#include "treed.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_tree__nested_ranges_split_self_and_total(void **state)
{
	struct made m;
	struct run run;
	const struct sonde_node *n;

	(void)state;
	small(&m);
	aggregate(&run, m.r, NULL);
	n = run.t->reports.at[0].nodes.at;
	assert_int_equal(run.t->reports.at[0].nodes.nr, 2);
	assert_int_equal(n[0].launches, 3);
	assert_int_equal(n[0].own_launches, 2);
	assert_int_equal(n[1].launches, 1);
	near(n[0].time_ns, 450);
	near(n[0].own_time_ns, 400);
	assert_int_equal(n[1].parent, 0);
	near(figure(&run, 0, SONDE_PART_INCLUSIVE, 0, "sm__inst_executed.sum")->v, 35);
	near(figure(&run, 0, SONDE_PART_EXCLUSIVE, 0, "sm__inst_executed.sum")->v, 30);
	near(figure(&run, 0, SONDE_PART_TOTAL, 0, "sm__inst_executed.sum")->v, 35);
	release(&run);
	made_release(&m);
}

static void test_tree__percentages_are_weighted_by_elapsed_cycles(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;

	(void)state;
	small(&m);
	aggregate(&run, m.r, NULL);
	f = figure(
		&run, 0, SONDE_PART_EXCLUSIVE, 0, "sm__pipe_x.avg.pct_of_peak_sustained_elapsed");
	near(f->v, (1000 * 10 + 5000 * 40) / 6000.0); /* 35; the plain mean would be 25 */
	assert_int_equal(f->quality, SONDE_QUALITY_EXACT);
	release(&run);
	made_release(&m);
}

static void test_tree__a_missing_weight_falls_back_to_time_and_says_so(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;
	uint32_t a = 0;

	(void)state;
	small(&m);
	made_launch(&m, "k3", 1, &a);
	made_metric(&m, TIME, 100);
	made_metric(&m, "sm__pipe_x.avg.pct_of_peak_sustained_elapsed", 0);
	aggregate(&run, m.r, NULL);
	f = figure(
		&run, 0, SONDE_PART_EXCLUSIVE, 0, "sm__pipe_x.avg.pct_of_peak_sustained_elapsed");
	near(f->v, (100 * 10 + 300 * 40) / 500.0);
	assert_int_equal(f->quality, SONDE_QUALITY_APPROX);
	assert_int_equal(f->method, 1);
	f = figure(&run, 0, SONDE_PART_EXCLUSIVE, 0, "sm__inst_executed.sum");
	assert_int_equal(
		f->quality, SONDE_QUALITY_BOUND); /* one launch did not count instructions */
	release(&run);
	made_release(&m);
}

static void test_tree__min_and_max_over_instances_are_bounds(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;

	(void)state;
	small(&m);
	aggregate(&run, m.r, NULL);
	f = figure(&run, 0, SONDE_PART_EXCLUSIVE, 0, "sm__inst_executed.max");
	near(f->v, 13);
	near(f->high, 13);
	near(f->low, 9);
	assert_int_equal(f->quality, SONDE_QUALITY_BOUND);
	f = figure(&run, 0, SONDE_PART_EXCLUSIVE, 0, "sm__inst_executed.min");
	near(f->v, 2);
	near(f->high, 8);
	release(&run);
	made_release(&m);
}

static void test_tree__launch_facts_give_the_most_frequent_value(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;

	(void)state;
	small(&m);
	aggregate(&run, m.r, NULL);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0, "launch__block_size");
	near(f->v, 128);
	near(f->low, 64);
	near(f->high, 128);
	assert_int_equal(f->quality, SONDE_QUALITY_STAT);
	release(&run);
	made_release(&m);
}

static void throughput_launch(struct made *m, uint32_t a, double t, double x, double y)
{
	made_launch(m, "k", 1, &a);
	made_metric(m, TIME, t);
	made_metric(m, "sm__cycles_elapsed.avg", t);
	made_metric(m, "sm__x.avg.pct_of_peak_sustained_elapsed", x);
	made_metric(m, "sm__y.avg.pct_of_peak_sustained_elapsed", y);
	made_metric(m, "sm__throughput.avg.pct_of_peak_sustained_elapsed", x > y ? x : y);
}

static void test_tree__throughput_is_the_largest_constituent_over_the_region(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	throughput_launch(&m, a, 100, 80, 10);
	made_text(&m, "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
		"sm__x.avg.pct_of_peak_sustained_elapsed,sm__y.avg.pct_of_peak_sustained_elapsed");
	throughput_launch(&m, a, 100, 20, 70);
	aggregate(&run, m.r, NULL);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0,
		"sm__throughput.avg.pct_of_peak_sustained_elapsed");
	near(f->v, 50); /* x: 50, y: 40; the mean of the reported maxima would be 75 */
	assert_int_equal(f->quality, SONDE_QUALITY_EXACT);
	assert_int_equal(sonde_tree_column(run.t, SONDE_STR("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed")),
		SONDE_NONE);
	release(&run);
	made_release(&m);
}

static void test_tree__throughput_without_constituents_is_an_upper_bound(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	throughput_launch(&m, a, 100, 80, 10);
	throughput_launch(&m, a, 100, 20, 70);
	aggregate(&run, m.r, NULL);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0,
		"sm__throughput.avg.pct_of_peak_sustained_elapsed");
	near(f->v, 75);
	assert_int_equal(f->quality, SONDE_QUALITY_BOUND);
	release(&run);
	made_release(&m);
}

static void test_tree__hit_rates_are_weighted_by_lookups(void **state)
{
	const struct sonde_figure *f;
	struct made m;
	struct run run;
	uint32_t a;
	int i;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	for (i = 0; i < 2; i++) {
		made_launch(&m, "k", 1, &a);
		made_metric(&m, TIME, 100);
		made_metric(&m, "lts__t_sector_hit_rate.pct", i ? 100 : 0);
		made_metric(&m, "lts__t_sectors.sum", i ? 1 : 99);
	}
	aggregate(&run, m.r, NULL);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0, "lts__t_sector_hit_rate.pct");
	near(f->v, 1);
	assert_int_equal(f->quality, SONDE_QUALITY_EXACT);
	release(&run);
	made_release(&m);
}

/* The first launch is ten times as long, and has other kinds of instructions and loads. */
static void test_tree__derived_metrics_are_weighed_as_what_they_are_made_of(void **state)
{
	static const struct {
		const char *name;
		double first, second, want;
		int quality;
	} metrics[] = {
		{"derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", 100, 210, 110, SONDE_QUALITY_EXACT},
		{"derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4", 0, 22, 2, SONDE_QUALITY_EXACT},
		{"derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", 33792, 33792, 33792, SONDE_QUALITY_CONST},
		{"derived__sm__inst_executed_pipe_tensor_x512", 8, 9, NAN, SONDE_QUALITY_STAT},
		{"derived__lts__lts2xbar_bytes.sum.per_second", 10, 21, 11, SONDE_QUALITY_EXACT},
		{"derived__smsp__inst_executed_op_branch_pct", 0.25, 0.75, 0.30, SONDE_QUALITY_EXACT},
		{"derived__local_spilling_requests_pct", 0, 100, 75, SONDE_QUALITY_APPROX},
		{"derived__local_spilling_requests", 1, 2, 3, SONDE_QUALITY_EXACT},
		{"derived__memory_l1_wavefronts_shared_excessive", 4, 5, 9, SONDE_QUALITY_EXACT},
		{"memory_l1_wavefronts_shared", 14, 15, 29, SONDE_QUALITY_EXACT},
		{"smsp__pcsamp_interval", 6, 6, 6, SONDE_QUALITY_STAT},
		/* weights: */
		{"smsp__cycles_elapsed.avg.per_second", 1e9, 1e9, 1e9, SONDE_QUALITY_EXACT},
		{"smsp__inst_executed.sum", 90, 10, 100, SONDE_QUALITY_EXACT},
		{"sass__inst_executed_local_loads", 1, 3, 4, SONDE_QUALITY_EXACT},
	};
	const struct sonde_figure *f;
	struct made m;
	struct run run;
	uint32_t a;
	size_t i, k;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	for (i = 0; i < 2; i++) {
		made_launch(&m, "k", 1, &a);
		made_metric(&m, TIME, i ? 100 : 1000);
		for (k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++)
			made_metric(&m, metrics[k].name, i ? metrics[k].second : metrics[k].first);
	}
	aggregate(&run, m.r, NULL);
	for (k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++) {
		f = figure(&run, 0, SONDE_PART_INCLUSIVE, 0, metrics[k].name);
		if (isnan(metrics[k].want) ? !isnan(f->v) : fabs(f->v - metrics[k].want) > 1e-9 * metrics[k].want)
			fail_msg("%s: %g", metrics[k].name, f->v);
		if (f->quality != metrics[k].quality)
			fail_msg("%s: %s", metrics[k].name, sonde_quality_name(f->quality));
	}
	release(&run);
	made_release(&m);
}

static void test_tree__a_metric_asked_for_must_be_in_the_capture(void **state)
{
	const char *words[] = {"sm__inst_execute.sum"};
	struct sonde_choice choice = {.metrics = {words, 1}};
	struct sonde_err err = {0};
	struct sonde_cells *c;
	struct sonde_tree *t;
	struct made m;

	(void)state;
	small(&m);
	c = folded(m.r, &choice);
	assert_int_equal(sonde_tree_build(&t, c, &choice, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "did you mean sm__inst_executed.sum"));
	choice.metrics_by_default = true;
	assert_int_equal(sonde_tree_build(&t, c, &choice, &err), 0);
	assert_int_equal(t->notes.texts.nr, 1);
	assert_int_equal(t->columns.nr, 0);
	sonde_tree_free(t);
	sonde_cells_free(c);
	made_release(&m);
}

/* As in partial reports of older versions: a budget, but no windows. */
static void test_tree__estimates_of_an_older_sonde_are_told(void **state)
{
	struct sonde_choice choice = {0};
	struct sonde_cells *c;
	struct sonde_tree *t;
	struct made m;
	int has_windows;

	(void)state;
	for (has_windows = 0; has_windows < 2; has_windows++) {
		small(&m);
		m.r->inputs.at[0].budget_ppm = 20000;
		m.r->inputs.at[0].is_windowed = has_windows;
		c = folded(m.r, &choice);
		assert_int_equal(sonde_tree_build(&t, c, &choice, NULL), 0);
		assert_int_equal(t->notes.texts.nr, !has_windows);
		sonde_tree_free(t);
		sonde_cells_free(c);
		made_release(&m);
	}
}

static void test_tree__chosen_metrics_are_exactly_those_reported(void **state)
{
	const char *words[] = {"sm__inst_executed.*"};
	struct sonde_choice choice = {.metrics = {words, 1}};
	struct made m;
	struct run run;

	(void)state;
	small(&m);
	aggregate(&run, m.r, &choice);
	assert_int_equal(run.t->columns.nr, 4);
	assert_int_equal(run.t->nr_headline, 4);
	release(&run);
	made_release(&m);
}

static void check_report(struct run *run, const struct sonde_report *r)
{
	size_t nr = r->nodes.nr, nc = run->t->columns.nr, i, c;
	double *incl = calloc((nr + 1) * nc + 1, sizeof(*incl)),
	       *parts = calloc((nr + 1) * nc + 1, sizeof(*parts));
	uint64_t *launches = calloc(nr + 1, sizeof(*launches));

	assert_true(incl && parts && launches);
	for (i = 0; i < nr; i++) {
		const struct sonde_node *n = &r->nodes.at[i];

		launches[i] += n->own_launches;
		sonde_tree_values(run->t, r, SONDE_PART_INCLUSIVE, (uint32_t)i, &run->f);
		for (c = 0; c < nc; c++)
			incl[i * nc + c] = run->f.at[c].v;
		sonde_tree_values(run->t, r, SONDE_PART_EXCLUSIVE, (uint32_t)i, &run->f);
		for (c = 0; c < nc; c++)
			parts[i * nc + c] += isnan(run->f.at[c].v) ? 0 : run->f.at[c].v;
		/* If ranges were measured, the work outside the nested ranges is not known. */
		for (c = 0; c < nc && r->is_ranges; c++)
			assert_true(isnan(run->f.at[c].v));
	}
	for (i = nr; i-- > 0;) {
		const struct sonde_node *n = &r->nodes.at[i];

		assert_int_equal(n->launches, launches[i]);
		if (n->parent != SONDE_NONE) {
			assert_true(n->parent < i);
			launches[n->parent] += n->launches;
		}
		for (c = 0; c < nc; c++) {
			if (sonde_rule_for(run->t->columns.at[c].name)->method != SONDE_METHOD_SUM)
				continue;
			if (!isnan(incl[i * nc + c]) && !r->is_ranges)
				near(incl[i * nc + c], parts[i * nc + c]);
			if (n->parent != SONDE_NONE && !isnan(incl[i * nc + c]))
				parts[n->parent * nc + c] += incl[i * nc + c];
		}
	}
	free(incl);
	free(parts);
	free(launches);
}

static void check_file(const char *path)
{
	struct sonde_records *r;
	struct sonde_err err = {0};
	struct run run;
	size_t i;

	if (sonde_records_open(&r, &path, 1, NULL, &err) != 0)
		fail_msg("%s", err.msg);
	aggregate(&run, r, NULL);
	assert_int_equal(
		run.c->tally.nr_taken + run.c->tally.nr_outside +
			run.c->tally.nr_not_selected, r->records.nr);
	for (i = 0; i < run.t->reports.nr; i++)
		check_report(&run, &run.t->reports.at[i]);
	release(&run);
	sonde_records_free(r);
}

static void test_tree__parts_add_up_on_every_real_report(void **state)
{
	static const char dir[] = "tests/data/ncu";
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[600];
	int nr = 0;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!sonde_str_ends(sonde_str_from(e->d_name), ".ncu-rep"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		check_file(path);
		nr++;
	}
	closedir(d);
	assert_true(nr > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree__nested_ranges_split_self_and_total),
		cmocka_unit_test(test_tree__percentages_are_weighted_by_elapsed_cycles),
		cmocka_unit_test(test_tree__a_missing_weight_falls_back_to_time_and_says_so),
		cmocka_unit_test(test_tree__min_and_max_over_instances_are_bounds),
		cmocka_unit_test(test_tree__launch_facts_give_the_most_frequent_value),
		cmocka_unit_test(test_tree__throughput_is_the_largest_constituent_over_the_region),
		cmocka_unit_test(test_tree__throughput_without_constituents_is_an_upper_bound),
		cmocka_unit_test(test_tree__hit_rates_are_weighted_by_lookups),
		cmocka_unit_test(test_tree__derived_metrics_are_weighed_as_what_they_are_made_of),
		cmocka_unit_test(test_tree__a_metric_asked_for_must_be_in_the_capture),
		cmocka_unit_test(test_tree__estimates_of_an_older_sonde_are_told),
		cmocka_unit_test(test_tree__chosen_metrics_are_exactly_those_reported),
		cmocka_unit_test(test_tree__parts_add_up_on_every_real_report),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
