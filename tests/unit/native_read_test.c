/* The reader of native captures, on captures made by hand. */
#include "native_open.h"
#include "read/demangle.h"

#include <math.h>

static void test_native__nested_ranges_have_parents_threads_and_times(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 2);
	event(&c, SONDE_EVENT_POP, 1, 100);
	event(&c, SONDE_EVENT_POP, 1, 50);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 2);
	assert_true(r->has_range_times);
	assert_true(is(r, r->ranges.at[0].label, "A") && is(r, r->ranges.at[1].label, "B"));
	assert_int_equal(r->ranges.at[0].parent, SONDE_NONE);
	assert_int_equal(r->ranges.at[1].parent, 0);
	assert_int_equal(r->ranges.at[1].thread, 77);
	assert_int_equal(r->ranges.at[0].time.begin_ns, EPOCH + 1010);
	assert_int_equal(r->ranges.at[1].time.begin_ns, EPOCH + 1020);
	assert_int_equal(r->ranges.at[1].time.end_ns, EPOCH + 1120);
	assert_int_equal(r->ranges.at[0].time.end_ns, EPOCH + 1170);
	assert_int_equal(r->notes.texts.nr, 0);
	sonde_records_free(r);
}

/* The program was killed before a second moment was known on both clocks: the rate in the head is used. */
static void test_native__one_moment_and_the_rate_make_a_clock(void **state)
{
	struct sonde_capture_head *head;
	struct capture c;
	struct sonde_records *r;

	(void)state;
	capture_begin(&c);
	head = (struct sonde_capture_head *)(void *)c.file.p;
	head->tick_hz = 2000000000u;
	head->check = sonde_capture_check(head);
	capture_string(&c, 1, SONDE_STRING_LABEL, 0, "A");
	capture_clock(&c, 1000);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(&c, SONDE_EVENT_POP, 1, 100);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.at[0].time.begin_ns, EPOCH + 1005);
	assert_int_equal(r->ranges.at[0].time.end_ns, EPOCH + 1055);
	sonde_records_free(r);
}

static void test_native__domains_have_stacks_of_their_own(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 3);
	event(&c, SONDE_EVENT_POP, 1, 10);			   /* A */
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 10, 5); /* in D */
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 10, 5); /* nothing */
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 2);
	assert_int_equal(r->ranges.at[1].parent, SONDE_NONE);
	assert_true(is(r, r->ranges.at[1].domain, "D"));
	assert_int_equal(r->ranges.at[0].domain, SONDE_NONE);
	assert_int_equal(r->ranges.at[0].time.end_ns, EPOCH + 1030);
	assert_true(noted(r, "1 pop has no matching push"));
	sonde_records_free(r);
}

static void test_native__a_launch_belongs_to_what_was_open_at_it(void **state)
{
	struct capture c;
	struct sonde_records *r;
	const struct sonde_record *rec;

	(void)state;
	kernels(&c);
	r = open_capture(&c);
	assert_int_equal(r->records.nr, 3);
	rec = r->records.at; /* in order of launch, not of completion */
	assert_int_equal(r->sets.at[rec[0].open].nr, 1);
	assert_int_equal(r->members.at[r->sets.at[rec[0].open].first], 0);
	assert_int_equal(r->sets.at[rec[1].open].nr, 3);
	assert_int_equal(sonde_record_caller(r, &rec[0])->thread, 77);
	assert_int_equal(rec[2].open, 0);
	assert_int_equal(rec[2].kind, SONDE_RESULT_MEMCPY);
	assert_true(is(r, sonde_record_function(r, &rec[0])->name, "gemm_tile"));
	assert_true(is(r, sonde_record_function(r, &rec[0])->full_name,
		"void gemm_tile<(int)2>(const float *, const float *, float *, int)"));
	assert_true(is(r, sonde_record_function(r, &rec[2])->name, "[CUDA memcpy Host-to-Device]"));
	assert_int_equal(r->records.at[1].time.end_ns - r->records.at[1].time.start_ns, 40);
	/* The GPU's clock is 500 µs ahead: its 503000 is the host's 3000. */
	assert_int_equal(r->records.at[1].time.start_ns, EPOCH + 3000);
	assert_true(noted(r, "1 piece of GPU work has no known launch"));
	assert_true(noted(r, "1 push was never popped"));
	sonde_records_free(r);
}

static bool set_is(
	const struct sonde_records *r, uint32_t number, uint32_t nr, const uint32_t *members)
{
	const struct sonde_set *set = &r->sets.at[number];

	return set->nr == nr && !memcmp(&r->members.at[set->first], members, nr * sizeof(*members));
}

static void test_native__start_end_ranges_are_open_from_their_start_to_their_end(void **state)
{
	struct capture c;
	struct sonde_records *r;
	int i;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	for (i = 0; i < 5; i++) { /* ranges 0 … 4 */
		event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
		event(&c, SONDE_EVENT_POP, 1, 1);
	}
	event(&c, SONDE_EVENT_STOP, 3, 1, 1, 99); /* of nothing */
	for (i = 1; i <= 3; i++)		  /* ranges 5, 6, 7 */
		event(&c, SONDE_EVENT_START, 3, 1, 2, i);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 1);
	event(&c, SONDE_EVENT_STOP, 3, 1, 1, 2); /* the second ends */
	event(&c, SONDE_EVENT_STOP, 3, 1, 1, 2); /* and cannot do so again */
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 1);
	event(&c, SONDE_EVENT_STOP, 3, 1, 1, 3);
	event(&c, SONDE_EVENT_START, 3, 1, 2, 4); /* range 8 */
	event(&c, SONDE_EVENT_STOP, 3, 1, 1, 1);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 1);
	for (i = 1; i <= 3; i++)
		event(&c, SONDE_EVENT_MEMSET, 8, 2 * 9000, 5, i, 0, 1, 7, 4096, 0);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->records.nr, 3);
	assert_true(set_is(r, r->records.at[0].open, 3, (uint32_t[]){5, 6, 7}));
	assert_true(set_is(r, r->records.at[1].open, 2, (uint32_t[]){5, 7}));
	assert_true(set_is(r, r->records.at[2].open, 1, (uint32_t[]){8}));
	assert_true(noted(r, "2 ends of start/end ranges have no matching start"));
	assert_true(noted(r, "1 start/end range was never ended"));
	sonde_records_free(r);
}

static void test_native__correlation_ids_far_apart_find_their_launches(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_GPU_CLOCK, 2, 0, 1000);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 900000);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 899990 - 1); /* 10 */
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 0); /* 10 again: the last one counts */
	event(&c, SONDE_EVENT_MEMSET, 8, 2 * 9000, 5, 10, 0, 1, 7, 4096, 0);
	event(&c, SONDE_EVENT_MEMSET, 8, 2 * 9000, 5, 900000, 0, 1, 7, 4096, 0);
	event(&c, SONDE_EVENT_MEMSET, 8, 2 * 9000, 5, 11, 0, 1, 7, 4096, 0);
	event(&c, SONDE_EVENT_MEMSET, 8, 2 * 9000, 5, 0, 0, 1, 7, 4096, 0);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->records.nr, 4);
	assert_int_equal(r->records.at[0].open, 0);
	assert_int_equal(r->members.at[r->sets.at[r->records.at[1].open].first], 1);
	assert_int_equal(r->records.at[1].time.start_ns + 9000, r->records.at[0].time.start_ns);
	assert_true(noted(r, "2 pieces of GPU work have no known launch"));
	sonde_records_free(r);
}

static double value(
	const struct sonde_records *r, uint32_t record, struct sonde_values *v, const char *name)
{
	assert_int_equal(sonde_records_values(r, record, v, NULL), 0);
	return v->num[sonde_records_metric(r, name)];
}

static void test_native__records_have_the_values_of_their_launch(void **state)
{
	struct capture c;
	struct sonde_records *r;
	struct sonde_values v;

	(void)state;
	kernels(&c);
	r = open_capture(&c);
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_true(value(r, 1, &v, "gpu__time_duration.sum") == 40);
	assert_true(value(r, 1, &v, "launch__grid_size") == 32);
	assert_true(value(r, 1, &v, "launch__block_size") == 256);
	assert_true(value(r, 1, &v, "launch__shared_mem_per_block_dynamic") == 128);
	assert_true(value(r, 2, &v, "memory__bytes.sum") == 4096);
	sonde_values_release(&v);
	sonde_records_free(r);
}

/* CUPTI writes start = end = 0 when it does not know the time: such work has no time, not one in 1970. */
static void test_native__work_without_times_has_none(void **state)
{
	struct capture c;
	struct sonde_records *r;
	struct sonde_values v;

	(void)state;
	kernels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_KERNEL, 17, 0, 0, 7, 0, 1, 7, 4, 8, 1, 1, 16, 1, 1, 32, 0, 0, 0);
	capture_chunk(&c, 3, 0, 79);
	r = open_capture(&c);
	assert_int_equal(r->records.nr, 4);
	assert_int_equal(r->records.at[0].time.start_ns, 0);
	assert_int_equal(r->records.at[0].time.end_ns, 0);
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_true(isnan(value(r, 0, &v, "gpu__time_duration.sum")));
	assert_true(value(r, 0, &v, "launch__grid_size") == 8);
	assert_true(value(r, 1, &v, "gpu__time_duration.sum") == 30);
	assert_true(noted(r, "1 piece of GPU work has no times from CUPTI"));
	sonde_values_release(&v);
	sonde_records_free(r);
}

static void test_native__graph_kernels_know_where_they_were_captured(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);
	event(&c, SONDE_EVENT_NODE, 2, 1, 500);
	event(&c, SONDE_EVENT_POP, 1, 1);
	event(&c, SONDE_EVENT_POP, 1, 1);
	event(&c, SONDE_EVENT_NODE_COPY, 3, 1, 900, 500);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 3);
	event(&c, SONDE_EVENT_KERNEL, 17, 2 * 9000, 40, 3, 0, 1, 7, 4, 1, 1, 1, 1, 1, 1, 1, 0, 0,
		900);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->records.nr, 1);
	/* It belongs to the range of its launch … */
	assert_int_equal(r->members.at[r->sets.at[r->records.at[0].open].first], 2);
	/* … and also has the range in which it was captured. */
	assert_int_equal(r->records.at[0].origin_kind, SONDE_ORIGIN_GRAPH);
	assert_int_equal(r->records.at[0].origin, 1);
	sonde_records_free(r);
}

static void test_native__graphs_may_be_captured_and_copied_in_any_threads(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	/* A copy of a copy, in the thread that is read first. */
	event_base(&c, 5000, 0, 0);
	event(&c, SONDE_EVENT_NODE_COPY, 3, 1, 950, 900);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 3);
	event(&c, SONDE_EVENT_KERNEL, 17, 2 * 9000, 40, 3, 0, 1, 7, 4, 1, 1, 1, 1, 1, 1, 1, 0, 0,
		950);
	capture_chunk(&c, 0, 0, 77);
	event_base(&c, 3000, 0, 0);
	event(&c, SONDE_EVENT_NODE_COPY, 3, 1, 900, 500);
	capture_chunk(&c, 1, 0, 78);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	event(&c, SONDE_EVENT_NODE, 2, 1, 500);
	event(&c, SONDE_EVENT_POP, 1, 1);
	capture_chunk(&c, 2, 0, 79);
	r = open_capture(&c);
	assert_int_equal(r->records.at[0].origin_kind, SONDE_ORIGIN_GRAPH);
	assert_true(is(r, r->ranges.at[r->records.at[0].origin].label, "A"));
	sonde_records_free(r);
}

static void test_native__cpu_time_is_shared_out_between_readings(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 500, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 0, 1);
	event(&c, SONDE_EVENT_POP, 1, 100);
	/* At 1400 the thread has run for 200 of 400, so the range is taken to have run for half of its time. */
	event(&c, SONDE_EVENT_PUSH | SONDE_EVENT_CPU, 3, 300, 200, 1);
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_CPU, 2, 100, 7);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.at[0].time.cpu_ns, 50);
	assert_int_equal(r->ranges.at[1].time.cpu_ns, 7);
	sonde_records_free(r);
}

static void test_native__lost_events_are_counted_and_open_ranges_found_again(void **state)
{
	struct capture c;
	struct sonde_records *r;
	uint64_t ticks = 5000, cpu = 0;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	capture_chunk(&c, 0, 0, 77);
	/* Three events later A is still open, and B inside it. */
	sonde_buf_putc(&c.events, SONDE_EVENT_BASE);
	sonde_buf_add(&c.events, &ticks, 8);
	sonde_buf_add(&c.events, &cpu, 8);
	capture_numbers(&c.events, (uint64_t[]){3, 2, 1, 2}, 4);
	event(&c, SONDE_EVENT_POP, 1, 10);
	event(&c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(&c, 0, 1, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 3);
	assert_true(is(r, r->ranges.at[2].label, "B"));
	assert_int_equal(r->ranges.at[2].parent, 0);
	assert_int_equal(r->ranges.at[2].time.end_ns, EPOCH + 5010);
	assert_int_equal(r->ranges.at[0].time.end_ns, EPOCH + 5020);
	assert_true(noted(r, "3 events were lost"));
	sonde_records_free(r);
}

static void test_native__chunks_of_a_stream_may_lie_in_any_order(void **state)
{
	struct capture c;
	struct sonde_records *r;
	struct sonde_buf first;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	first = c.events;
	c.events = (struct sonde_buf){0};
	event_base(&c, 2000, 0, 0);
	event(&c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(&c, 0, 1, 77);
	sonde_buf_release(&c.events);
	c.events = first;
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 1);
	assert_int_equal(r->ranges.at[0].time.end_ns, EPOCH + 2010);
	sonde_records_free(r);
}

static void test_native__kernel_names_read_as_nsight_prints_them(void **state)
{
	static const char *const names[][3] = {
		{"_Z4fillPfif", "fill(float *, int, float)", "fill"},
		{"_Z9gemm_tileILi2EEvPKfS1_Pfi",
			"void gemm_tile<(int)2>(const float *, const float *, float *, int)",
			"gemm_tile"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5array"
		 "IPcLm1EEEEviT0_T1_",
			"void at::native::vectorized_elementwise_kernel<(int)4, "
			"at::native::FillFunctor<float>, std::array<char *, (unsigned "
			"long)1>>(int, T2, T3)",
			"vectorized_elementwise_kernel"},
		{"_ZN12_GLOBAL__N_16kernelIbLb1EEEvPT_",
			"void <unnamed>::kernel<bool, (bool)1>(T1 *)", "kernel"},
		{"_Z3fooPFivE", "foo(int (*)())", "foo"},
		{"_Z3foov", "foo()", "foo"},
		{"add_kernel_0d1d", "add_kernel_0d1d", "add_kernel_0d1d"},
		{"_Z", "_Z", "_Z"},
		{"_Z99x", "_Z99x", "_Z99x"},
		{"", "", ""},
	};
	struct sonde_arena arena = {0};
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sonde_str full = sonde_demangle(&arena, sonde_str_from(names[i][0]));

		assert_true(sonde_str_is(full, names[i][1]));
		assert_true(sonde_str_is(sonde_demangle_function(full), names[i][2]));
		for (n = 0; n < strlen(names[i][0]); n++)
			sonde_demangle(&arena, (struct sonde_str){names[i][0], n});
	}
	sonde_arena_release(&arena);
}

/* f(a<int, int>, b<that, that>, b<that, that>, …): every class is twice as long as the one before. */
static struct sonde_str demangle_doubled(
	struct sonde_arena *arena, struct sonde_buf *name, unsigned times)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned i;

	sonde_buf_clear(name);
	sonde_buf_puts(name, "_Z1f1aIiiE");
	for (i = 0; i < times; i++)
		sonde_buf_printf(name, "1bIS%c_S%c_E", digits[2 * i], digits[2 * i]);
	return sonde_demangle(arena, sonde_buf_view(name));
}

static void test_native__few_bytes_do_not_become_a_long_name(void **state)
{
	struct sonde_arena arena = {0};
	struct sonde_buf name = {0};
	struct sonde_str full;

	(void)state;
	full = demangle_doubled(&arena, &name, 1);
	assert_true(sonde_str_is(full, "f(a<int, int>, b<a<int, int>, a<int, int>>)"));
	full = demangle_doubled(&arena, &name, 11); /* 120 bytes for 50,000 */
	assert_true(sonde_str_is(full, name.p));
	assert_true(arena.nr_bytes < 64);
	sonde_buf_release(&name);
	sonde_arena_release(&arena);
}

/* The memory for the parts of a name is freed; only the name itself stays. */
static void test_native__a_long_name_takes_no_more_than_its_text(void **state)
{
	struct sonde_arena arena = {0};
	struct sonde_buf name = {0};
	struct sonde_str full;
	size_t i;

	(void)state;
	sonde_buf_puts(&name, "_Z1f");
	for (i = 0; i < 400; i++)
		sonde_buf_puts(&name, "i");
	full = sonde_demangle(&arena, sonde_buf_view(&name));
	assert_true(sonde_str_starts(full, "f(int, int, "));
	assert_true(arena.nr_bytes < full.n + 64);
	for (i = 0; i < 20000; i++)
		sonde_buf_puts(&name, "i");
	full = sonde_demangle(&arena, sonde_buf_view(&name));
	assert_true(full.p == name.p && full.n == name.n); /* too long: as it is */
	sonde_buf_release(&name);
	sonde_arena_release(&arena);
}

/* The windows in which the program was captured, on the clock of ranges and samples; the last window has no end. */
static void test_native__windows_are_among_the_records(void **state)
{
	static const struct sonde_window_mark marks[] = {{.ticks = 100, .state = SONDE_WINDOW_BEGIN},
		{.ticks = 2000, .state = SONDE_WINDOW_OPEN},
		{.ticks = 3000, .state = SONDE_WINDOW_CLOSED},
		{.ticks = 5000, .state = SONDE_WINDOW_OPEN}};
	struct sonde_records *r;
	struct capture c;
	size_t i;

	(void)state;
	labels(&c);
	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		capture_block(&c, SONDE_BLOCK_WINDOW, &marks[i], sizeof(marks[i]));
	r = open_capture(&c);
	assert_int_equal(r->windows.nr, 2);
	assert_int_equal(r->windows.at[0].begin_ns, EPOCH + 2000);
	assert_int_equal(r->windows.at[0].end_ns, EPOCH + 3000);
	assert_int_equal(r->windows.at[1].begin_ns, EPOCH + 5000);
	assert_true(r->windows.at[1].end_ns == UINT64_MAX);
	sonde_records_free(r);
}

/* In older captures with a budget, ranges went on between windows; reading them as windows would be wrong. */
static void test_native__an_older_capture_with_a_budget_is_refused(void **state)
{
	static const struct sonde_window_mark mark = {.ticks = 100, .state = SONDE_WINDOW_TIMED};
	struct sonde_records *r;
	struct sonde_err err;
	struct capture c;

	(void)state;
	kernels(&c);
	capture_block(&c, SONDE_BLOCK_WINDOW, &mark, sizeof(mark));
	assert_int_equal(read_bytes(&r, c.file.p, c.file.n, &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "an older sonde made this capture with a budget"));
	assert_non_null(strstr(err.msg, "capture again"));
	capture_release(&c);
}

/* A budget, its cost and its windows belong to the input, and to no other. */
static void test_native__a_budget_is_told_with_its_windows(void **state)
{
	static const struct sonde_window_mark marks[] = {{.ticks = 100, .state = SONDE_WINDOW_BEGIN},
		{.ticks = 200, .state = SONDE_WINDOW_OPEN}, {.ticks = 5000, .state = SONDE_WINDOW_CLOSED},
		{.ticks = 9000, .state = SONDE_WINDOW_END}};
	static const struct sonde_budget_status budget = {.budget_ppm = 20000, .cost_ppm = 13000};
	const struct sonde_input *in;
	struct sonde_records *r;
	struct capture c;
	size_t i;

	(void)state;
	kernels(&c);
	capture_block(&c, SONDE_BLOCK_META, "window=step[1:3]\n", 17);
	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		capture_block(&c, SONDE_BLOCK_WINDOW, &marks[i], sizeof(marks[i]));
	capture_block(&c, SONDE_BLOCK_BUDGET, &budget, sizeof(budget));
	r = open_capture(&c);
	in = &r->inputs.at[0];
	assert_true(in->is_windowed && in->is_cut_anywhere && in->nr_windows == 1);
	assert_true(in->budget_ppm == 20000 && in->cost_ppm == 13000);
	assert_int_equal(in->captured_ns, 4800);
	sonde_records_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native__few_bytes_do_not_become_a_long_name),
		cmocka_unit_test(test_native__a_long_name_takes_no_more_than_its_text),
		cmocka_unit_test(test_native__nested_ranges_have_parents_threads_and_times),
		cmocka_unit_test(test_native__one_moment_and_the_rate_make_a_clock),
		cmocka_unit_test(test_native__domains_have_stacks_of_their_own),
		cmocka_unit_test(test_native__a_launch_belongs_to_what_was_open_at_it),
		cmocka_unit_test(
			test_native__start_end_ranges_are_open_from_their_start_to_their_end),
		cmocka_unit_test(test_native__correlation_ids_far_apart_find_their_launches),
		cmocka_unit_test(test_native__records_have_the_values_of_their_launch),
		cmocka_unit_test(test_native__work_without_times_has_none),
		cmocka_unit_test(test_native__graph_kernels_know_where_they_were_captured),
		cmocka_unit_test(test_native__graphs_may_be_captured_and_copied_in_any_threads),
		cmocka_unit_test(test_native__cpu_time_is_shared_out_between_readings),
		cmocka_unit_test(test_native__lost_events_are_counted_and_open_ranges_found_again),
		cmocka_unit_test(test_native__chunks_of_a_stream_may_lie_in_any_order),
		cmocka_unit_test(test_native__kernel_names_read_as_nsight_prints_them),
		cmocka_unit_test(test_native__windows_are_among_the_records),
		cmocka_unit_test(test_native__an_older_capture_with_a_budget_is_refused),
		cmocka_unit_test(test_native__a_budget_is_told_with_its_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
