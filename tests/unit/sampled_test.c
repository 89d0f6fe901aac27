/* Samples and launches give figures of regions, kernels and totals. */
#include "sampled_made.h"

#include "tree/judge.h"
#include "tree/roofline.h"

static void test_sampled__figures_hold_what_launches_counted(void **state)
{
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	holds_region(&run, "step/b", p.b); /* without the noise kernel, which has its own share of the counts */
	holds_region(&run, "step", p.first + p.second + p.b);
	holds(figure(&run, 0, SONDE_PART_TOTAL, 0, INSTRUCTIONS), p.first + p.second + p.b);
	holds(figure(&run, 1, SONDE_PART_OUTSIDE, 0, INSTRUCTIONS), p.other);
	holds(figure(&run, 2, SONDE_PART_OUTSIDE, 0, INSTRUCTIONS), p.other);
	holds(figure(&run, 2, SONDE_PART_TOTAL, 0, INSTRUCTIONS), p.first + p.second + p.b);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), READ),
		2 * (p.first + p.second));
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 50);
	/* A tenth of an instruction per cycle; the peak of the device is two. */
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), FMA_PCT), 5);
	/* The peak is three sectors per cycle of a slice; the clock of the SMs does not matter. */
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), L2_PCT), 20);
	assert_false(has_column(&run, ALU_PCT));
	release(&run);
	end_program(&p);
}

/* The pipes, the caches and DRAM are considered separately: the busiest one limits the region. */
static void test_sampled__limiter_and_roofline_follow_from_the_figures(void **state)
{
	double cycles = SMS * CLOCK_KHZ * 1e-6 * 2 * 8000 * NR_STEPS; /* of the launches in `a` */
	struct sampling how = whole;
	struct sonde_roofline point;
	struct program p;
	struct run run;

	(void)state;
	how.has_all = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), TENSOR_PCT), 10);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), L1_PCT), 70);
	assert_string_equal(sonde_limiter(run.t, &run.f), "l1"); /* 70 %, with 24 % of DRAM's peak and 32 % of the issue slots */
	point = sonde_roofline_of(run.t, &run.f, 2 * 8000 * NR_STEPS);
	assert_true(point.is_of_pipes);
	assert_string_equal(sonde_roofline_sign(&point), "~");
	/* A tensor core does 1024 operations of 16 bits per cycle; an FMA instruction is 32 threads with two operations each. */
	assert_true(fabs(point.flop / (cycles * (0.4 * 1024 + 0.1 * 64)) - 1) < 0.01);
	assert_true(fabs(point.intensity / (point.flop / (2 * (p.first + p.second))) - 1) < 0.01);
	release(&run);
	end_program(&p);
}

/* A table with few columns has the limiter of one with all, as it rests on the same counters. */
static void test_sampled__the_limiter_is_the_same_in_a_short_table(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.has_all = true;
	run_program(&p, &how);
	grow_chosen_tree(&run, fold_part(&p), (struct sonde_choice){.headline_only = true});
	figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT);
	assert_string_equal(sonde_limiter(run.t, &run.f), "l1");
	release(&run);
	end_program(&p);
}

/* A kernel runs twice in an entry, with different work: the cell has both. */
static void test_sampled__turns_of_a_kernel_are_classes(void **state)
{
	const struct sonde_node *n;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	fold_program(&run, &p);
	n = node_named(&run, &run.t->reports.at[0], "step/a");
	assert_int_equal(n->nr_kernels, 1);
	holds(figure(&run, 0, SONDE_PART_KERNEL, n->first_kernel, INSTRUCTIONS), p.first + p.second);
	assert_int_equal(
		run.c->cells.at[run.t->reports.at[0].cells.at[n->first_cell]].nr_classes, 2);
	release(&run);
	end_program(&p);
}

/* Percentages use the actual number of cycles. */
static void test_sampled__each_region_has_its_clock(void **state)
{
	struct sampling how = whole;
	const struct sonde_figure *f;
	struct program p;
	struct run run;

	(void)state;
	how.slows_down = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step"), CLOCK);
	assert_true(fabs(f->v - CLOCK_KHZ * 1e3) < CLOCK_KHZ * 1e3 * 0.001);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "late"), CLOCK);
	assert_true(fabs(f->v - 0.8 * CLOCK_KHZ * 1e3) < CLOCK_KHZ * 1e3 * 0.001);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 50);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "late/a"), ACTIVE_PCT), 50 / 0.8);
	release(&run);
	end_program(&p);
}

/* While the clock is high, a counter counts more than the mean clock has cycles: that does not make the counter wrong. */
static void test_sampled__a_clock_that_changes_is_no_wrong_counter(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.slows_down = true;
	how.active = 0.99;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 99);
	release(&run);
	end_program(&p);
}

#define NR_EPOCHS 40
#define NR_IN_EPOCH 60

/* Epochs of one kernel, each busier than the one before. */
static void run_epochs(struct program *p, double *truth)
{
	struct sampling how = whole;
	int i, k;

	*p = (struct program){.now = 1000000, .seed = 7};
	how.is_by_count = true;
	made_init(&p->m);
	add_device(p);
	for (i = 0; i < NR_EPOCHS; i++) {
		uint32_t epoch = made_push(&p->m, MADE_ROOT, "epoch");
		uint64_t from = p->now;
		double busy = 0.3 + 0.01 * i;

		for (k = 0; k < NR_IN_EPOCH; k++)
			launch(p, epoch, "work", 10000, busy * SMS * CLOCK_KHZ * 1e-6 * 10000);
		p->m.r->ranges.at[epoch].time = (struct sonde_range_time){from, p->now, 0};
		truth[i] = 100 * busy;
	}
	p->m.r->has_record_times = p->m.r->has_range_times = true;
	sample(p, &how);
}

static void test_sampled__long_entries_have_figures_of_their_own(void **state)
{
	double truth[NR_EPOCHS];
	struct program p;
	struct run run;
	int i, nr_held = 0;

	(void)state;
	run_epochs(&p, truth);
	aggregate(&run, p.m.r, NULL);
	assert_int_equal(run.c->entries.nr, NR_EPOCHS);
	assert_true(run.c->loads.nr >= NR_EPOCHS - 1); /* the last one may lack a sample */
	for (i = 0; i < NR_EPOCHS - 1; i++) {
		const struct sonde_entry_load *load = sonde_cells_load(run.c, &run.c->entries.at[i]);

		assert_non_null(load);
		assert_true(fabs(load->v[0] - truth[i]) < 1);
		nr_held += fabs(load->v[0] - truth[i]) <= SONDE_WITHIN_95 * load->error[0];
		assert_true(isnan(load->v[1])); /* tensor cycles were not sampled */
	}
	if (nr_held < 0.9 * NR_EPOCHS)
		fail_msg("%d of %d intervals hold the truth", nr_held, NR_EPOCHS);
	release(&run);
	end_program(&p);
}

/* The samples' clock is two epochs ahead, and the capture has that as the calibrated offset. */
static void test_sampled__entries_use_the_calibrated_offset(void **state)
{
	double truth[NR_EPOCHS];
	struct sonde_series *s;
	struct program p;
	struct run run;
	uint64_t ahead;
	size_t i;

	(void)state;
	run_epochs(&p, truth);
	s = &p.m.r->series.at[0];
	ahead = p.m.r->ranges.at[2].time.begin_ns - p.m.r->ranges.at[0].time.begin_ns;
	for (i = 0; i < s->times.nr; i++) {
		s->times.at[i].start_ns += ahead;
		s->times.at[i].end_ns += ahead;
	}
	s->is_calibrated = true;
	s->offset_ns = (int64_t)ahead - OFFSET_NS;
	aggregate(&run, p.m.r, NULL);
	for (i = 0; i < NR_EPOCHS - 1; i++) {
		const struct sonde_entry_load *load = sonde_cells_load(run.c, &run.c->entries.at[i]);

		assert_non_null(load);
		assert_true(fabs(load->v[0] - truth[i]) < 1);
	}
	release(&run);
	end_program(&p);
}

/* Two kernels that run at the same time, each time. */
static void run_together(struct program *p, double *left, double *right)
{
	int i;

	*p = (struct program){.now = 1000000, .seed = 7};
	*left = *right = 0;
	made_init(&p->m);
	add_device(p);
	for (i = 0; i < NR_STEPS; i++) {
		uint32_t step = made_push(&p->m, MADE_ROOT, "step");
		uint32_t a = made_push(&p->m, step, "a"), b = made_push(&p->m, step, "b");
		struct sonde_record *rec;
		uint64_t now;

		launch(p, a, "alone", 8000, 1e6);
		*left += launch(p, a, "left", 8000, 1e6);
		now = p->now;
		*right += launch(p, b, "right", 8000, 3e6);
		p->now = now;
		rec = &p->m.r->records.at[p->m.r->records.nr - 1];
		rec->time = rec[-1].time;
	}
	p->m.r->has_record_times = true;
	sample(p, &whole);
}

static void test_sampled__kernels_that_always_run_together_are_named(void **state)
{
	const struct sonde_figure *f;
	double left, right;
	struct program p;
	struct run run;

	(void)state;
	run_together(&p, &left, &right);
	fold_program(&run, &p);
	assert_true(says(&run, "each has between nothing and all of it: left in step/a; right in step/b"));
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/b"), INSTRUCTIONS);
	assert_true(f->low <= 0.02 * (left + right) && f->high >= 0.98 * (left + right));
	holds_region(&run, "step", NR_STEPS * 1e6 + left + right);
	release(&run);
	end_program(&p);
	run_program(&p, &whole);
	fold_program(&run, &p);
	assert_false(says(&run, "always run together"));
	release(&run);
	end_program(&p);
}

static void test_sampled__counters_without_a_role_are_split_too(void **state)
{
	struct sampling how = whole;
	const struct sonde_figure *f;
	struct program p;
	struct run run;

	(void)state;
	how.is_unnamed = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), "TPC.Group.x__inst_executed.sum"), p.first + p.second);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/b"), "x__requests.sum");
	holds(f, 2 * p.b);
	assert_false(has_column(&run, "x__cycles_elapsed.sum"));
	assert_false(has_column(&run, "Some Throughput %"));
	assert_false(has_column(&run, INSTRUCTIONS));
	release(&run);
	p.m.r->series.at[0].host = (struct sonde_str){0}; /* as in a trace, whose counters may be anything */
	fold_program(&run, &p);
	assert_false(has_column(&run, "x__requests.sum"));
	release(&run);
	end_program(&p);
}

/* Roles that are not in the table give figures with their own name. */
static void test_sampled__other_roles_have_figures(void **state)
{
	struct sonde_counter *c;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	c = &p.m.r->series.at[0].counters.at[L2];
	c->role = sonde_records__string(p.m.r, SONDE_STR("l1.read_sectors"));
	fold_program(&run, &p);
	assert_true(has_column(&run, "l1.read_sectors"));
	assert_string_equal(run.t->columns.at[sonde_tree_column(run.t, SONDE_STR("l1.read_sectors"))].unit, "sector");
	assert_false(has_column(&run, "lts__t_sectors.sum"));
	release(&run);
	end_program(&p);
}

static void test_sampled__what_cannot_be_is_refused_and_said(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.dram_factor = 1e6;
	run_program(&p, &how);
	fold_program(&run, &p);
	assert_false(has_column(&run, READ));
	assert_true(says(&run, "dram.read_bytes is not shown"));
	holds_region(&run, "step/a", p.first + p.second);
	release(&run);
	end_program(&p);
}

/* Some sampled values are not numbers: these samples are left out, and a note has how many. */
static void test_sampled__values_that_are_no_counts_are_left_out_and_said(void **state)
{
	struct sonde_series *s;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	s = &p.m.r->series.at[0];
	s->values.at[100 * s->counters.nr + EXECUTED] = NAN;
	s->values.at[200 * s->counters.nr + EXECUTED] = -1;
	s->values.at[200 * s->counters.nr + DRAM] = -1;
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	assert_true(says(&run, "hardware counters of made GPU: 2 samples with a missing, negative or invalid "
			       "value are left out"));
	release(&run);
	end_program(&p);
}

/* The sampler was killed: the rest of the run is assumed to be like the sampled part. */
static void test_sampled__half_a_series_will_do(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.upto = 500;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	assert_true(says(&run, "of their time sampled"));
	release(&run);
	end_program(&p);
}

/* Two or three sampled launches of a hundred give no figure, and neither does a sum of which half is not known. */
static void test_sampled__what_was_hardly_seen_has_no_figures(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.ends_early = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", (p.first + p.second) / 2);
	assert_true(isnan(
		figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "late/a"), INSTRUCTIONS)->v));
	assert_true(isnan(figure(&run, 0, SONDE_PART_TOTAL, 0, INSTRUCTIONS)->v));
	release(&run);
	end_program(&p);
}

/* A second sampler took over; its file comes first by name. */
static void test_sampled__samples_are_put_in_order(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.is_in_two = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	release(&run);
	end_program(&p);
}

/* The interval changed while nothing ran: the clock of L2 is known from the other samples. */
static void test_sampled__an_idle_series_hides_no_percentage(void **state)
{
	struct sampling how = whole;
	struct sonde_series *s;
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	how.is_in_two = true;
	run_program(&p, &how);
	s = &p.m.r->series.at[0];
	for (i = 0; i < s->times.nr; i++)
		s->values.at[i * s->counters.nr +
			     sonde_series_counter(s, p.m.r, "sm.active_cycles")] = 0;
	fold_program(&run, &p);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), L2_PCT), 20);
	release(&run);
	end_program(&p);
}

static void test_sampled__without_the_clock_the_device_tells_it(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.no_elapsed = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 50);
	assert_true(says(&run, "1500 MHz"));
	release(&run);
	end_program(&p);
}

static void test_sampled__no_samples_no_figures(void **state)
{
	struct sampling elsewhere = whole, later = whole;
	const struct sampling *const hows[] = {NULL, &elsewhere, &later};
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	elsewhere.is_elsewhere = true;
	later.from = 2000;
	later.upto = 2500;
	for (i = 0; i < 3; i++) {
		run_program(&p, hows[i]);
		fold_program(&run, &p);
		assert_false(has_column(&run, INSTRUCTIONS));
		assert_int_equal(says(&run, "no launch ran during any sample"), i == 2);
		assert_int_equal(says(&run, "no launch on it was captured"), i == 1);
		release(&run);
		end_program(&p);
	}
}

/* A calibrated offset is used; if the samples contradict it, the report has a note. */
static void test_sampled__a_wrong_offset_is_noticed(void **state)
{
	static const int64_t offsets[] = {-OFFSET_NS, 40000, -90000};
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		run_program(&p, &whole);
		p.m.r->series.at[0].is_calibrated = true;
		p.m.r->series.at[0].offset_ns = offsets[i];
		fold_program(&run, &p);
		if (i == 0)
			holds_region(&run, "step/a", p.first + p.second);
		assert_int_equal(says(&run, "the clocks disagree"), i > 0);
		assert_int_equal(says(&run, "µs, as calibrated"), i > 0);
		release(&run);
		end_program(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled__figures_hold_what_launches_counted),
		cmocka_unit_test(test_sampled__limiter_and_roofline_follow_from_the_figures),
		cmocka_unit_test(test_sampled__the_limiter_is_the_same_in_a_short_table),
		cmocka_unit_test(test_sampled__a_clock_that_changes_is_no_wrong_counter),
		cmocka_unit_test(test_sampled__turns_of_a_kernel_are_classes),
		cmocka_unit_test(test_sampled__each_region_has_its_clock),
		cmocka_unit_test(test_sampled__long_entries_have_figures_of_their_own),
		cmocka_unit_test(test_sampled__entries_use_the_calibrated_offset),
		cmocka_unit_test(test_sampled__kernels_that_always_run_together_are_named),
		cmocka_unit_test(test_sampled__counters_without_a_role_are_split_too),
		cmocka_unit_test(test_sampled__other_roles_have_figures),
		cmocka_unit_test(test_sampled__what_cannot_be_is_refused_and_said),
		cmocka_unit_test(test_sampled__values_that_are_no_counts_are_left_out_and_said),
		cmocka_unit_test(test_sampled__half_a_series_will_do),
		cmocka_unit_test(test_sampled__what_was_hardly_seen_has_no_figures),
		cmocka_unit_test(test_sampled__samples_are_put_in_order),
		cmocka_unit_test(test_sampled__an_idle_series_hides_no_percentage),
		cmocka_unit_test(test_sampled__without_the_clock_the_device_tells_it),
		cmocka_unit_test(test_sampled__no_samples_no_figures),
		cmocka_unit_test(test_sampled__a_wrong_offset_is_noticed),
	};

	return cmocka_run_group_tests_name("sampled", tests, NULL, NULL);
}
