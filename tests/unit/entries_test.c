/* The entries of a region one by one, and their distribution. */
#include "tree/entries.h"

#include "cellfile/cellfile.h"
#include "merge/merging.h"
#include "treed.h"

/* An entry from `begin` for `host` ns, with a launch of `gpu` ns (0 = none) that starts with it. */
static uint32_t enter(struct made *m, uint32_t parent, const char *label, uint64_t begin,
	uint64_t host, uint64_t gpu)
{
	uint32_t range = made_push(m, parent, label);

	m->r->ranges.at[range].time = (struct sonde_range_time){begin, begin + host, 0};
	m->r->has_range_times = true;
	if (gpu) {
		uint32_t launch = made_launch(m, "k", 1, &range);

		m->r->records.at[launch].time = (struct sonde_record_time){begin, begin + gpu};
		m->r->has_record_times = true;
	}
	return range;
}

static struct sonde_entry_runs found(const struct run *run, size_t report, const char *id)
{
	const struct sonde_report *r = &run->t->reports.at[report];
	struct sonde_entry_runs runs;

	assert_true(sonde_entry_runs_find(&runs, run->t, r, node_named(run, r, id)));
	return runs;
}

static struct sonde_distribution distribution(
	const struct sonde_entry_runs *runs, enum sonde_entry_time which)
{
	struct sonde_distribution d;

	assert_true(sonde_distribution_build(&d, runs, which));
	return d;
}

static void test_entries__are_in_order_of_begin_with_all_that_ran_inside(void **state)
{
	struct sonde_entry_runs runs;
	const struct sonde_entry *e;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	enter(&m, MADE_ROOT, "A", 5000, 300, 70);
	a = enter(&m, MADE_ROOT, "A", 1000, 500, 40);
	enter(&m, a, "B", 1200, 100, 60);
	aggregate(&run, m.r, NULL);
	runs = found(&run, 0, "A");
	assert_int_equal(runs.at.nr, 1);
	assert_int_equal(runs.nr_entries, 2);
	assert_int_equal(runs.nr_entered, 2);
	assert_int_equal(runs.step, 1);
	assert_true(runs.has_gpu);
	e = runs.at.at[0].at;
	assert_int_equal(e[0].begin_ns, 1000);
	assert_int_equal(sonde_entry_ns(&e[0], SONDE_ENTRY_HOST), 500);
	assert_int_equal(sonde_entry_ns(&e[0], SONDE_ENTRY_GPU), 100);
	assert_int_equal(sonde_entry_ns(&e[0], SONDE_ENTRY_SPAN), 260);
	assert_int_equal(e[1].begin_ns, 5000);
	assert_int_equal(sonde_entry_ns(&e[1], SONDE_ENTRY_SPAN), 70);
	assert_int_equal(sonde_entries_first_ns(run.t), 1000);
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

static void test_distribution__percentiles_interpolate(void **state)
{
	struct sonde_entry_runs runs;
	struct sonde_distribution d;
	struct made m;
	struct run run;

	(void)state;
	made_init(&m);
	enter(&m, MADE_ROOT, "A", 1000, 300, 0);
	enter(&m, MADE_ROOT, "A", 2000, 100, 0);
	enter(&m, MADE_ROOT, "one", 3000, 50, 0);
	aggregate(&run, m.r, NULL);
	runs = found(&run, 0, "A");
	assert_false(runs.has_gpu);
	d = distribution(&runs, SONDE_ENTRY_HOST);
	assert_int_equal(d.nr, 2);
	near(d.min_ns, 100);
	near(d.median_ns, 200);
	near(d.p95_ns, 290);
	near(d.p99_ns, 298);
	near(d.max_ns, 300);
	near(d.mean_ns, 200);
	near(d.sd_ns, sqrt(20000));
	sonde_entry_runs_release(&runs);
	runs = found(&run, 0, "one");
	d = distribution(&runs, SONDE_ENTRY_HOST);
	near(d.p99_ns, 50);
	assert_true(isnan(d.sd_ns)); /* one value has no standard deviation */
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

static void test_distribution__gpu_times_are_of_entries_with_launches(void **state)
{
	struct sonde_entry_runs runs;
	struct sonde_distribution d;
	struct made m;
	struct run run;

	(void)state;
	made_init(&m);
	enter(&m, MADE_ROOT, "A", 1000, 300, 0);
	enter(&m, MADE_ROOT, "A", 2000, 300, 40);
	enter(&m, MADE_ROOT, "A", 3000, 300, 0);
	enter(&m, MADE_ROOT, "A", 4000, 300, 60);
	aggregate(&run, m.r, NULL);
	runs = found(&run, 0, "A");
	assert_int_equal(distribution(&runs, SONDE_ENTRY_HOST).nr, 4);
	d = distribution(&runs, SONDE_ENTRY_GPU);
	assert_int_equal(d.nr, 2);
	near(d.min_ns, 40);
	near(d.median_ns, 50);
	near(distribution(&runs, SONDE_ENTRY_SPAN).median_ns, 50);
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

static void assert_entered(const struct run *run, size_t report, uint64_t instances, uint64_t entered)
{
	const struct sonde_report *r = &run->t->reports.at[report];
	struct sonde_entry_runs runs = found(run, report, "A");

	assert_int_equal(node_named(run, r, "A")->instances, instances);
	assert_int_equal(runs.nr_entered, entered);
	sonde_entry_runs_release(&runs);
}

/* There are three entries: one launches on device 0, one on device 1, one on 1 and then on 0; each is one entry. */
static void test_entries__are_of_the_device_they_launched_on_first(void **state)
{
	const uint64_t nr = 3 * SONDE_MAX_ENTRIES;
	struct made m;
	struct run run;
	uint64_t i;

	(void)state;
	made_init(&m);
	for (i = 0; i < nr; i++) {
		uint32_t a = enter(&m, MADE_ROOT, "A", 1000 + 10 * i, 5, 3);

		made_set_device(&m, m.r->records.nr - 1, i % 3 ? 1 : 0);
		if (i % 3 == 2)
			made_launch(&m, "k", 1, &a);
	}
	aggregate(&run, m.r, NULL);
	assert_int_equal(run.t->reports.nr, 3);
	assert_entered(&run, 0, 2 * nr / 3, nr / 3);
	assert_entered(&run, 1, 2 * nr / 3, 2 * nr / 3);
	assert_entered(&run, 2, nr, nr);
	near(node_named(&run, &run.t->reports.at[0], "A")->times.host_ns, 5 * (double)nr / 3);
	near(node_named(&run, &run.t->reports.at[1], "A")->times.host_ns, 10 * (double)nr / 3);
	release(&run);
	made_release(&m);
}

static void test_entries__of_very_many_some_are_kept_evenly(void **state)
{
	const uint64_t nr = 3 * SONDE_MAX_ENTRIES;
	struct sonde_entry_runs runs;
	struct made m;
	struct run run;
	uint64_t i;

	(void)state;
	made_init(&m);
	for (i = 0; i < nr; i++)
		enter(&m, MADE_ROOT, "A", 1000 + 10 * i, 1 + i % 7, 0);
	aggregate(&run, m.r, NULL);
	runs = found(&run, 0, "A");
	assert_int_equal(runs.step, 4);
	assert_int_equal(runs.nr_entries, nr / 4);
	assert_int_equal(runs.nr_entered, nr);
	for (i = 0; i < runs.nr_entries; i++)
		assert_int_equal(runs.at.at[0].at[i].begin_ns, 1000 + 40 * i);
	near(distribution(&runs, SONDE_ENTRY_HOST).median_ns, 4);
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

/* A kept entry must represent the same number of entries in every scope; otherwise busy scopes would count less. */
static void test_distribution__scopes_that_kept_more_are_thinned_alike(void **state)
{
	struct sonde_entry_runs runs;
	struct sonde_distribution d;
	struct made m;
	struct run run;
	uint64_t i;

	(void)state;
	made_init(&m);
	for (i = 0; i < 2 * SONDE_MAX_ENTRIES; i++)
		enter(&m, MADE_ROOT, "A", 1000 + 10 * i, 5, 0);
	made_process(&m, 2);
	for (i = 0; i < SONDE_MAX_ENTRIES; i++)
		enter(&m, MADE_ROOT, "A", 1000 + 10 * i, 8, 0);
	aggregate(&run, m.r, NULL);
	runs = found(&run, run.t->reports.nr - 1, "A");
	assert_int_equal(runs.at.nr, 2);
	assert_int_equal(runs.step, 2);
	assert_int_equal(runs.nr_entered, 3 * SONDE_MAX_ENTRIES);
	d = distribution(&runs, SONDE_ENTRY_HOST);
	assert_int_equal(d.nr, 3 * SONDE_MAX_ENTRIES / 2);
	near(d.mean_ns, 6);
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

/* --- wall time ---------------------------------------------------------------------------------- */

static uint64_t wall_of(const struct run *run, const char *id, size_t entry)
{
	struct sonde_entry_runs runs = found(run, 0, id);
	uint64_t wall = sonde_entry_ns(&runs.at.at[0].at[entry], SONDE_ENTRY_WALL);

	sonde_entry_runs_release(&runs);
	return wall;
}

static double total_wall(const struct run *run, size_t report, const char *id)
{
	return node_named(run, &run->t->reports.at[report], id)->times.wall_ns;
}

/* B is in A: its kernel ends long after both; the second A launches nothing; C waits for its kernel. */
static void test_wall__goes_on_until_the_last_work_has_ended(void **state)
{
	struct sonde_entry_runs runs;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = enter(&m, MADE_ROOT, "A", 1000, 500, 40);
	enter(&m, a, "B", 1200, 100, 2000);
	enter(&m, MADE_ROOT, "A", 5000, 300, 0);
	enter(&m, MADE_ROOT, "C", 6000, 700, 600);
	aggregate(&run, m.r, NULL);
	assert_int_equal(wall_of(&run, "A", 0), 3200 - 1000);
	assert_int_equal(wall_of(&run, "A/B", 0), 2000);
	assert_int_equal(wall_of(&run, "A", 1), 300);
	assert_int_equal(wall_of(&run, "C", 0), 700);
	near(total_wall(&run, 0, "A"), 2200 + 300);
	near(total_wall(&run, 1, "A"), 2200 + 300); /* the aggregate */
	near(total_wall(&run, 0, "C"), 700);
	runs = found(&run, 0, "A");
	assert_int_equal(distribution(&runs, SONDE_ENTRY_WALL).nr, 2);
	near(distribution(&runs, SONDE_ENTRY_WALL).median_ns, 1250);
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

/* The kernels of thread 2, which has no range, are those of the one open in thread 1: a backward pass. */
static void test_wall__work_of_another_thread_counts(void **state)
{
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push_at(&m, 1, MADE_ROOT, "A", 100, 400);
	made_launch_at(&m, 1, 150, a);
	made_launch_at(&m, 2, 350, SONDE_NONE); /* ends at 1351 */
	m.r->has_range_times = m.r->has_record_times = true;
	aggregate(&run, m.r, NULL);
	assert_int_equal(node_named(&run, &run.t->reports.at[0], "A")->adopted, 1);
	assert_int_equal(wall_of(&run, "A", 0), 1351 - 100);
	release(&run);
	made_release(&m);
}

static void test_wall__entries_of_two_threads_at_once_each_count(void **state)
{
	struct made m;
	struct run run;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push_at(&m, 1, MADE_ROOT, "A", 100, 400);
	b = made_push_at(&m, 2, MADE_ROOT, "A", 200, 300);
	made_launch_at(&m, 1, 110, a); /* ends at 1111 */
	made_launch_at(&m, 2, 210, b); /* ends at 1211 */
	m.r->has_range_times = m.r->has_record_times = true;
	aggregate(&run, m.r, NULL);
	assert_int_equal(wall_of(&run, "A", 0), 1011);
	assert_int_equal(wall_of(&run, "A", 1), 1011);
	near(total_wall(&run, 0, "A"), 2022);
	release(&run);
	made_release(&m);
}

/* The program also waited for launches that the selection leaves out. Without times of launches the wall time is not known. */
static void test_wall__does_not_depend_on_the_selection_but_on_times(void **state)
{
	const char *const left_out[] = {"k"};
	struct sonde_selection selection = {.kernel_exclude = {left_out, 1}};
	struct sonde_fold_request request = {.selection = selection};
	struct sonde_launches *l = NULL;
	struct sonde_cells *c = NULL;
	struct made m;
	struct run run;

	(void)state;
	made_init(&m);
	enter(&m, MADE_ROOT, "A", 1000, 500, 900);
	assert_int_equal(sonde_launches_build(&l, m.r, &selection, NULL), 0);
	assert_int_equal(sonde_cells_fold(&c, l, &request, NULL), 0);
	assert_int_equal(c->entries.at[0].gpu_ns, 0);
	assert_int_equal(c->entries.at[0].wall_ns, 900);
	sonde_launches_free(l);
	sonde_cells_free(c);
	m.r->records.at[0].time = (struct sonde_record_time){0};
	m.r->has_record_times = false;
	aggregate(&run, m.r, NULL);
	assert_true(wall_of(&run, "A", 0) == SONDE_NO_WALL);
	assert_true(isnan(total_wall(&run, 0, "A")));
	near(node_named(&run, &run.t->reports.at[0], "A")->times.host_ns, 500);
	release(&run);
	made_release(&m);
}

/* Gives a range arguments, as an NVTX payload does. */
static void give(struct made *m, uint32_t range, const char *list)
{
	uint32_t string = sonde_map_add(&m->r->strings, sonde_str_from(list), NULL);

	sonde_put(&m->r->arena, &m->r->arguments, (struct sonde_range_arguments){range, string});
}

static void test_entries__partial_reports_keep_them(void **state)
{
	struct sonde_fold_request request = {0};
	struct sonde_launches *l = NULL;
	struct sonde_parts parts = {0};
	struct sonde_cells **part, *c = NULL, *back = NULL;
	struct sonde_sink to;
	struct made m;
	uint64_t i;

	(void)state;
	made_init(&m);
	for (i = 0; i < 2 * SONDE_MAX_ENTRIES; i++)
		enter(&m, MADE_ROOT, "A", 1000 + 10 * i, i % 9, 1 + i % 3); /* some end on the GPU */
	for (i = 0; i < 2 * SONDE_MAX_ENTRIES; i += 3)
		give(&m, (uint32_t)i, i % 2 ? "tokens=5" : "batch=-1.5 x=2");
	c = folded(m.r, NULL);
	assert_int_equal(sonde_launches_build(&l, m.r, &request.selection, NULL), 0);
	part = sonde_vec_push(&parts.at);
	assert_int_equal(sonde_cells_fold(part, l, &request, NULL), 0);
	sonde_launches_free(l);
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_cellfile_write(&parts, &to, NULL), 0);
	sonde_parts_release(&parts);
	parts = (struct sonde_parts){0};
	assert_int_equal(sonde_cellfile_read(&parts, sonde_buf_view(&to.buf), "p", NULL), 0);
	assert_int_equal(sonde_parts_unite(&back, &parts, NULL), 0);
	assert_int_equal(back->entries.nr, SONDE_MAX_ENTRIES);
	assert_int_equal(back->entries.nr, c->entries.nr);
	for (i = 0; i < c->entries.nr; i++) {
		const struct sonde_entry *x = &back->entries.at[i], *y = &c->entries.at[i];

		assert_true(x->begin_ns == y->begin_ns && x->host_ns == y->host_ns &&
			    x->gpu_ns == y->gpu_ns && x->span_ns == y->span_ns && x->label == y->label &&
			    x->wall_ns == y->wall_ns && x->arguments == y->arguments);
	}
	assert_int_equal(back->visits.at[0].entry_step, 2);
	sonde_buf_release(&to.buf);
	sonde_parts_release(&parts);
	sonde_cells_free(back);
	sonde_cells_free(c);
	made_release(&m);
}

/* Steps overlap from 1000 to 1600 and are alone from 3000 to 3400: 1 µs in all, with 500 tokens. */
static void test_tokens__are_over_the_time_that_entries_share(void **state)
{
	const struct sonde_node *n;
	struct made m;
	struct run run;

	(void)state;
	made_init(&m);
	enter(&m, MADE_ROOT, "execute_context_1(100)_generation_0(0)", 3000, 200, 400);
	enter(&m, MADE_ROOT, "execute_context_2(300)_generation_0(0)", 1000, 500, 100);
	enter(&m, MADE_ROOT, "execute_context_3(100)_generation_0(0)", 1200, 400, 100);
	enter(&m, MADE_ROOT, "execute_context_0(0)_generation_8(8)", 5000, 400, 100);
	enter(&m, MADE_ROOT, "other", 6000, 400, 100);
	aggregate(&run, m.r, NULL);
	n = node_named(&run, &run.t->reports.at[0], "execute_* prefill");
	assert_true(n->times.tokens == 500 && n->times.tokens_ns == 1000);
	assert_true(n->times.batches == 6 && n->times.nr_batches == 3);
	n = node_named(&run, &run.t->reports.at[0], "execute_* decode");
	assert_true(n->times.tokens == 8 && n->times.tokens_ns == 400);
	n = node_named(&run, &run.t->reports.at[0], "other");
	assert_true(isnan(n->times.tokens) && isnan(n->times.tokens_ns) && isnan(n->times.batches));
	release(&run);
	made_release(&m);
}

static void test_tokens__without_times_of_launches_have_no_rate(void **state)
{
	const struct sonde_node *n;
	struct made m;
	struct run run;
	uint32_t range;

	(void)state;
	made_init(&m);
	range = enter(&m, MADE_ROOT, "execute_context_1(100)_generation_0(0)", 3000, 200, 0);
	made_launch(&m, "k", 1, &range);
	aggregate(&run, m.r, NULL);
	n = node_named(&run, &run.t->reports.at[0], "execute_* prefill");
	assert_true(n->times.tokens == 100 && isnan(n->times.tokens_ns));
	release(&run);
	made_release(&m);
}

static void test_arguments__of_an_entry_come_before_those_of_its_label(void **state)
{
	struct sonde_entry_runs runs;
	struct made m;
	struct run run;

	(void)state;
	made_init(&m);
	enter(&m, MADE_ROOT, "execute_context_1(100)_generation_0(0)", 3000, 200, 0);
	give(&m, 0, "tokens=90 request=7");
	enter(&m, MADE_ROOT, "execute_context_2(200)_generation_0(0)", 1000, 200, 0);
	enter(&m, MADE_ROOT, "plain", 5000, 200, 0);
	give(&m, 2, "payload=0.5");
	aggregate(&run, m.r, NULL);
	runs = found(&run, 0, "execute_* prefill"); /* by begin: the second comes first */
	assert_true(sonde_str_is(sonde_tree_str(run.t, runs.at.at[0].at[0].arguments), "batch=2 tokens=200"));
	assert_true(sonde_str_is(sonde_tree_str(run.t, runs.at.at[0].at[1].arguments), "tokens=90 request=7 batch=1"));
	assert_true(node_named(&run, &run.t->reports.at[0], "execute_* prefill")->times.tokens == 290);
	sonde_entry_runs_release(&runs);
	runs = found(&run, 0, "plain");
	assert_true(sonde_str_is(sonde_tree_str(run.t, runs.at.at[0].at[0].arguments), "payload=0.5"));
	sonde_entry_runs_release(&runs);
	release(&run);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries__are_in_order_of_begin_with_all_that_ran_inside),
		cmocka_unit_test(test_distribution__percentiles_interpolate),
		cmocka_unit_test(test_distribution__gpu_times_are_of_entries_with_launches),
		cmocka_unit_test(test_entries__are_of_the_device_they_launched_on_first),
		cmocka_unit_test(test_entries__of_very_many_some_are_kept_evenly),
		cmocka_unit_test(test_distribution__scopes_that_kept_more_are_thinned_alike),
		cmocka_unit_test(test_wall__goes_on_until_the_last_work_has_ended),
		cmocka_unit_test(test_wall__work_of_another_thread_counts),
		cmocka_unit_test(test_wall__entries_of_two_threads_at_once_each_count),
		cmocka_unit_test(test_wall__does_not_depend_on_the_selection_but_on_times),
		cmocka_unit_test(test_entries__partial_reports_keep_them),
		cmocka_unit_test(test_tokens__are_over_the_time_that_entries_share),
		cmocka_unit_test(test_tokens__without_times_of_launches_have_no_rate),
		cmocka_unit_test(test_arguments__of_an_entry_come_before_those_of_its_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
