/* Causes of idle time: one synthetic program per cause, with known milliseconds. */
#include "treed.h"

#define US 1000u

struct program {
	struct made m;
	struct run run;
	uint32_t step;
};

static void begin(struct program *p)
{
	made_init(&p->m);
	p->m.r->has_record_times = p->m.r->has_range_times = true;
	p->step = made_push(&p->m, MADE_ROOT, "step");
	p->m.r->ranges.at[p->step].time = (struct sonde_range_time){1, 1000 * US, 0};
}

/* Adds a kernel of the step that is launched, starts and ends at these microseconds. */
static struct sonde_record *kernel_of(
	struct program *p, const char *name, uint32_t *range, uint64_t call, uint64_t start, uint64_t end)
{
	struct sonde_record *rec;

	made_launch(&p->m, name, range ? 1 : 0, range);
	rec = &p->m.r->records.at[p->m.r->records.nr - 1];
	rec->call_ns = call * US;
	rec->time = (struct sonde_record_time){start * US, end * US};
	return rec;
}

static struct sonde_record *kernel(struct program *p, uint64_t call, uint64_t start, uint64_t end)
{
	return kernel_of(p, "k", &p->step, call, start, end);
}

static void host_call(struct program *p, uint8_t kind, uint64_t begin, uint64_t end)
{
	struct sonde_call *c = sonde_push(&p->m.r->arena, &p->m.r->calls);

	assert_non_null(c);
	*c = (struct sonde_call){.begin_ns = begin * US,
		.end_ns = end * US,
		.thread = p->m.thread,
		.stream = SONDE_NONE,
		.process = p->m.process,
		.kind = kind};
}

/* Checks that the causes add up to the idle time, in every node of every report. */
static const struct sonde_node *end(struct program *p)
{
	size_t i, k, c;

	aggregate(&p->run, p->m.r, NULL);
	for (i = 0; i < p->run.t->reports.nr; i++)
		for (k = 0; k < p->run.t->reports.at[i].nodes.nr; k++) {
			const struct sonde_node *n = &p->run.t->reports.at[i].nodes.at[k];
			double sum = 0;

			for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++)
				sum += n->times.idle_by[c];
			if (!isnan(n->times.idle_ns))
				near(sum, n->times.idle_ns);
		}
	return node_named(&p->run, &p->run.t->reports.at[0], "step");
}

static void done(struct program *p)
{
	release(&p->run);
	made_release(&p->m);
}

/* Checks that the node has idle time of these two causes, in microseconds, and of no other. */
static void idle_is(const struct sonde_node *n, enum sonde_idle_cause a, double a_us,
	enum sonde_idle_cause b, double b_us)
{
	size_t i;

	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		near(n->times.idle_by[i] / US, i == a ? a_us : i == b ? b_us : 0);
}

/* Kernels of 2 µs, a launch every 8: the device waits for each. */
static void test_idle__short_kernels_are_launch_bound(void **state)
{
	struct program p;
	uint64_t i;

	(void)state;
	begin(&p);
	for (i = 0; i < 10; i++)
		kernel(&p, 100 + 8 * i, 104 + 8 * i, 106 + 8 * i);
	host_call(&p, SONDE_CALL_SYNC_DEVICE, 500, 600);
	idle_is(end(&p), SONDE_IDLE_LAUNCH, 9 * 6, SONDE_IDLE_HOST, 0);
	near(p.run.c->gaps.at[0].ns, 6 * US);
	assert_int_equal(p.run.c->gaps.at[0].cause, SONDE_IDLE_LAUNCH);
	assert_int_equal(p.run.c->gaps.nr, 9);
	done(&p);
}

/* Eager PyTorch: 60 µs from launch to launch, most of it in the framework; then 150 µs once. */
static void test_idle__what_a_framework_needs_per_launch_is_launching(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 100, 110, 120);
	kernel(&p, 160, 170, 180);
	kernel(&p, 220, 230, 240);
	kernel(&p, 370, 380, 390);
	host_call(&p, SONDE_CALL_SYNC_DEVICE, 500, 600);
	idle_is(end(&p), SONDE_IDLE_LAUNCH, 50 + 50 + 10, SONDE_IDLE_HOST, 130);
	done(&p);
}

/* The kernel was launched at 210, and the call returned at 215: from then on an event delayed it. */
static void test_idle__work_that_waits_on_an_idle_device_was_queued(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 150, 160, 200);
	kernel(&p, 210, 400, 410);
	host_call(&p, SONDE_CALL_SYNC_STREAM, 215, 415);
	idle_is(end(&p), SONDE_IDLE_QUEUED, 170, SONDE_IDLE_LAUNCH, 10 + 20);
	done(&p);
}

/* A launch that first loads its module: the host is in the call until 395. */
static void test_idle__a_launch_that_takes_long_is_a_launch(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	kernel(&p, 150, 400, 410);
	host_call(&p, SONDE_CALL_SYNC_STREAM, 395, 415);
	idle_is(end(&p), SONDE_IDLE_LAUNCH, 195, SONDE_IDLE_QUEUED, 5);
	done(&p);
}

/* A copy from memory that is not pinned: the host was in its call all the time. */
static void test_idle__a_copy_that_was_called_for_early_is_a_copy(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	host_call(&p, SONDE_CALL_COPY, 151, 320);
	kernel(&p, 150, 300, 310)->kind = SONDE_RESULT_MEMCPY;
	idle_is(end(&p), SONDE_IDLE_COPY, 100, SONDE_IDLE_QUEUED, 0);
	done(&p);
}

/*
 * Once its call has returned at 215, a copy waits on the device as a kernel does; the next call, of another copy, does not
 * matter. In sonde's captures the call begins slightly after the launch, in traces at the same time.
 */
static void check_queued_copy(uint64_t begin_us, uint64_t end_us, double until_us)
{
	struct program p;

	begin(&p);
	kernel(&p, 150, 160, 212);
	host_call(&p, SONDE_CALL_COPY, begin_us, end_us);
	host_call(&p, SONDE_CALL_COPY, end_us + 1, 390);
	kernel(&p, 210, 400, 410)->kind = SONDE_RESULT_MEMCPY;
	kernel(&p, end_us + 1, 410, 420)->kind = SONDE_RESULT_MEMCPY;
	idle_is(end(&p), SONDE_IDLE_COPY, until_us - 212, SONDE_IDLE_QUEUED, 400 - until_us);
	done(&p);
}

static void test_idle__a_copy_that_waits_behind_its_call_was_queued(void **state)
{
	(void)state;
	check_queued_copy(210, 215, 230);
	check_queued_copy(211, 215, 230);
	check_queued_copy(210, 260, 260);
	check_queued_copy(211, 260, 260);
}

/* The cause is what the host does from 200 to 280; launching takes 5 µs more. */
static void check_call(uint8_t kind, enum sonde_idle_cause cause)
{
	const struct sonde_node *n;
	struct program p;

	begin(&p);
	kernel(&p, 90, 100, 200);
	host_call(&p, kind, 92, 280);
	kernel(&p, 285, 290, 300);
	n = end(&p);
	idle_is(n, cause, 85, SONDE_IDLE_LAUNCH, 5); /* with the pause between both calls */
	assert_int_equal(p.run.c->gaps.nr, 1);
	assert_int_equal(p.run.c->gaps.at[0].cause, cause);
	assert_int_equal(p.run.c->gaps.at[0].region, n->region);
	near(p.run.c->gaps.at[0].since_ns, 100 * US);
	near(n->times.tail_ns, 700 * US);
	near(n->times.queue_ns, 15 * US);
	assert_int_equal(n->nr_queued, 2);
	done(&p);
}

static void test_idle__calls_that_wait_are_named(void **state)
{
	(void)state;
	check_call(SONDE_CALL_SYNC_STREAM, SONDE_IDLE_SYNC);
	check_call(SONDE_CALL_SYNC_EVENT, SONDE_IDLE_SYNC);
	check_call(SONDE_CALL_SYNC_DEVICE, SONDE_IDLE_SYNC);
	check_call(SONDE_CALL_COPY, SONDE_IDLE_COPY);
	check_call(SONDE_CALL_ALLOC, SONDE_IDLE_ALLOC);
	check_call(SONDE_CALL_FREE, SONDE_IDLE_ALLOC);
}

/* A copy that the host stages: its call began long before the device could start. */
static void test_idle__a_copy_that_starts_late_is_a_copy(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	host_call(&p, SONDE_CALL_COPY, 230, 300);
	kernel(&p, 230, 260, 300)->kind = SONDE_RESULT_MEMCPY;
	idle_is(end(&p), SONDE_IDLE_COPY, 30, SONDE_IDLE_HOST, 30);
	done(&p);
}

/* Data loading: nothing in CUDA for 285 µs. */
static void test_idle__outside_cuda_is_the_host(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	host_call(&p, SONDE_CALL_ALLOC, 80, 85);
	kernel(&p, 495, 500, 510);
	idle_is(end(&p), SONDE_IDLE_HOST, 295, SONDE_IDLE_LAUNCH, 5);
	done(&p);
}

/* The same program where the capture has launches but no other calls, or not even those. */
static void test_idle__without_host_calls_it_says_so(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	kernel(&p, 495, 500, 510);
	idle_is(end(&p), SONDE_IDLE_UNKNOWN, 295, SONDE_IDLE_LAUNCH, 5);
	done(&p);
	begin(&p);
	kernel(&p, 0, 100, 200);
	kernel(&p, 0, 500, 510);
	idle_is(end(&p), SONDE_IDLE_UNKNOWN, 300, SONDE_IDLE_LAUNCH, 0);
	assert_true(isnan(node_named(&p.run, &p.run.t->reports.at[0], "step")->times.queue_ns));
	done(&p);
}

/* Work that was launched long ago and starts late has waited on the device. */
static void test_idle__work_that_was_launched_already_was_queued(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	kernel(&p, 95, 300, 310);
	idle_is(end(&p), SONDE_IDLE_QUEUED, 100, SONDE_IDLE_LAUNCH, 0);
	done(&p);
}

/* From 200 to 260 another region's kernel runs on another stream. */
static void test_idle__work_of_others_is_another_stream(void **state)
{
	struct program p;
	uint32_t other;

	(void)state;
	begin(&p);
	other = made_push(&p.m, MADE_ROOT, "other");
	p.m.r->ranges.at[other].time = (struct sonde_range_time){1, 2, 0};
	kernel(&p, 90, 100, 200);
	kernel_of(&p, "k", &other, 80, 150, 260);
	made_set_stream(&p.m, 1, 7);
	host_call(&p, SONDE_CALL_SYNC_STREAM, 100, 292);
	kernel(&p, 295, 300, 310);
	{
		const struct sonde_node *n = end(&p);

		near(n->times.idle_by[SONDE_IDLE_OTHER], 60 * US);
		near(n->times.idle_by[SONDE_IDLE_SYNC], 35 * US);
		near(n->times.idle_by[SONDE_IDLE_LAUNCH], 5 * US);
		near(n->times.idle_ns, 100 * US);
	}
	done(&p);
}

/* Another thread launches the work after the gap; it got its task from a thread that had waited. */
static void test_idle__the_thread_that_handed_over_counts(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 200);
	host_call(&p, SONDE_CALL_ALLOC, 150, 280);
	kernel(&p, 295, 300, 310);
	made_set_thread(&p.m, 1, 77);
	kernel(&p, 400, 401, 402); /* the capture's last: the gap before it is its caller's */
	{
		const struct sonde_node *n = end(&p);

		near(n->times.idle_by[SONDE_IDLE_ALLOC], 80 * US);
		near(n->times.idle_by[SONDE_IDLE_HOST], (15 + 90) * US);
		near(n->times.idle_by[SONDE_IDLE_LAUNCH], (5 + 1) * US);
	}
	done(&p);
}

/* Idle time between entries belongs to no region; a long gap there names the region that comes next. */
static void test_idle__gaps_between_entries_belong_to_none(void **state)
{
	const struct sonde_node *n;
	struct program p;
	uint32_t first;

	(void)state;
	begin(&p);
	first = p.step;
	p.m.r->ranges.at[first].time.end_ns = 250 * US;
	kernel(&p, 90, 100, 200);
	p.step = made_push(&p.m, MADE_ROOT, "step");
	p.m.r->ranges.at[p.step].time = (struct sonde_range_time){800 * US, 900 * US, 0};
	kernel(&p, 850, 860, 870);
	n = end(&p);
	near(n->times.idle_ns, 0);
	near(n->times.tail_ns, (50 + 30) * US);
	assert_int_equal(p.run.c->gaps.nr, 1);
	assert_int_equal(p.run.c->gaps.at[0].region, SONDE_NONE);
	assert_int_equal(p.run.c->gaps.at[0].before, n->region);
	done(&p);
}

/* 100 µs of NCCL, 30 of them while another kernel of the process runs. */
static void test_idle__communication_is_exposed_where_nothing_else_runs(void **state)
{
	const struct sonde_node *n;
	struct program p;

	(void)state;
	begin(&p);
	kernel(&p, 90, 100, 230);
	kernel_of(&p, "ncclDevKernel_AllReduce_Sum_f32", &p.step, 150, 200, 300);
	made_set_stream(&p.m, 1, 9);
	n = end(&p);
	near(n->times.comm_ns, 100 * US);
	near(n->times.exposed_ns, 70 * US);
	done(&p);
}

/* Ten gaps are kept. */
static void test_idle__of_many_gaps_the_ten_longest_are_kept(void **state)
{
	struct program p;
	uint64_t i, at = 100;

	(void)state;
	begin(&p);
	for (i = 0; i < 30; i++) {
		kernel(&p, at - 5, at, at + 1);
		at += 1 + 20 + (i * 7) % 30;
	}
	end(&p);
	assert_int_equal(p.run.c->gaps.nr, SONDE_NR_GAPS);
	for (i = 0; i < SONDE_NR_GAPS; i++)
		assert_true(i == 0 || p.run.c->gaps.at[i - 1].ns >= p.run.c->gaps.at[i].ns);
	near(p.run.c->gaps.at[0].ns, 49 * US);
	done(&p);
}

/* The times of `step` if only the kernels of this name are selected. */
static struct sonde_times times_with(const struct program *p, const char *name)
{
	struct sonde_fold_request request = {.selection = {.kernel_include = {&name, 1}}};
	struct sonde_launches *l = NULL;
	struct sonde_cells *c = NULL;
	struct sonde_times times;

	assert_int_equal(sonde_launches_build(&l, p->m.r, &request.selection, NULL), 0);
	assert_int_equal(sonde_cells_fold(&c, l, &request, NULL), 0);
	assert_int_equal(c->visits.nr, 1);
	times = c->visits.at[0].times;
	assert_int_equal(c->entries.at[0].span_ns, 400 * US);
	assert_int_equal(c->entries.at[0].gpu_ns, (uint64_t)times.busy_ns);
	sonde_launches_free(l);
	sonde_cells_free(c);
	return times;
}

/* The device worked, whether somebody wants to see this work or not. */
static void test_idle__does_not_depend_on_the_selection(void **state)
{
	static const struct {
		const char *name;
		double busy_us;
	} cases[] = {{"*", 250}, {"first", 50}, {"middle", 100}, {"last", 100}};
	struct sonde_times times;
	struct program p;
	size_t i;

	(void)state;
	begin(&p);
	kernel_of(&p, "first", &p.step, 95, 100, 150);
	kernel_of(&p, "middle", &p.step, 195, 200, 300);
	kernel_of(&p, "last", &p.step, 395, 400, 500);
	end(&p);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		times = times_with(&p, cases[i].name);
		near(times.busy_ns, cases[i].busy_us * US);
		near(times.idle_ns, 150 * US);
		near(times.span_ns, 400 * US);
		near(times.tail_ns, 500 * US);
	}
	done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle__what_a_framework_needs_per_launch_is_launching),
		cmocka_unit_test(test_idle__work_that_waits_on_an_idle_device_was_queued),
		cmocka_unit_test(test_idle__a_launch_that_takes_long_is_a_launch),
		cmocka_unit_test(test_idle__a_copy_that_was_called_for_early_is_a_copy),
		cmocka_unit_test(test_idle__a_copy_that_waits_behind_its_call_was_queued),
		cmocka_unit_test(test_idle__short_kernels_are_launch_bound),
		cmocka_unit_test(test_idle__calls_that_wait_are_named),
		cmocka_unit_test(test_idle__a_copy_that_starts_late_is_a_copy),
		cmocka_unit_test(test_idle__outside_cuda_is_the_host),
		cmocka_unit_test(test_idle__without_host_calls_it_says_so),
		cmocka_unit_test(test_idle__work_that_was_launched_already_was_queued),
		cmocka_unit_test(test_idle__work_of_others_is_another_stream),
		cmocka_unit_test(test_idle__the_thread_that_handed_over_counts),
		cmocka_unit_test(test_idle__gaps_between_entries_belong_to_none),
		cmocka_unit_test(test_idle__communication_is_exposed_where_nothing_else_runs),
		cmocka_unit_test(test_idle__does_not_depend_on_the_selection),
		cmocka_unit_test(test_idle__of_many_gaps_the_ten_longest_are_kept),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
