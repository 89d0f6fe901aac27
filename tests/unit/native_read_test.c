/* The reader of native captures, on captures made by hand. */
#include "unit.h"

#include "base/alloc.h"
#include "capture_make.h"
#include "read/native_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EPOCH 1000000000000000u /* what capture_clock adds */

/* Opens the first `n` bytes of `c` as a file. NULL when they cannot be read. */
static struct sonde_records *open_bytes(const char *p, size_t n)
{
	char name[64];
	const char *path = name;
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (sonde_records_open(&r, &path, 1, &err))
		assert_true(r == NULL && err.code < 0 && err.msg[0]);
	close(fd);
	return r;
}

static struct sonde_records *open_capture(struct capture *c)
{
	struct sonde_records *r;

	capture_block(c, SONDE_BLOCK_END, NULL, 0);
	r = open_bytes(c->file.p, c->file.n);
	capture_release(c);
	assert_non_null(r);
	return r;
}

static bool is(const struct sonde_records *r, uint32_t string, const char *text)
{
	return sonde_str_is(sonde_records_str(r, string), text);
}

static bool noted(const struct sonde_records *r, const char *text)
{
	size_t i;

	for (i = 0; i < r->notes.texts.nr; i++) {
		if (memmem(r->notes.texts.keys[i].p, r->notes.texts.keys[i].n, text, strlen(text)))
			return true;
	}
	return false;
}

static void labels(struct capture *c)
{
	capture_begin(c);
	capture_string(c, 1, SONDE_STRING_LABEL, 0, "A");
	capture_string(c, 2, SONDE_STRING_LABEL, 0, "B");
	capture_string(c, 3, SONDE_STRING_LABEL, 5, "in D");
	capture_string(c, 4, SONDE_STRING_KERNEL, 0, "_Z9gemm_tileILi2EEvPKfS1_Pfi");
	capture_string(c, 9, SONDE_STRING_DOMAIN, 5, "D");
	capture_clock(c, 0);
	capture_clock(c, 1000000000);
}

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
	assert_int_equal(r->range_times.nr, 2);
	assert_true(is(r, r->ranges.at[0].label, "A") && is(r, r->ranges.at[1].label, "B"));
	assert_int_equal(r->ranges.at[0].parent, SONDE_NONE);
	assert_int_equal(r->ranges.at[1].parent, 0);
	assert_int_equal(r->ranges.at[1].thread, 77);
	assert_int_equal(r->range_times.at[0].begin_ns, EPOCH + 1010);
	assert_int_equal(r->range_times.at[1].begin_ns, EPOCH + 1020);
	assert_int_equal(r->range_times.at[1].end_ns, EPOCH + 1120);
	assert_int_equal(r->range_times.at[0].end_ns, EPOCH + 1170);
	assert_int_equal(r->notes.texts.nr, 0);
	sonde_records_free(r);
}

/* Killed before a second moment was known on both clocks: the head's rate has to do. */
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
	assert_int_equal(r->range_times.at[0].begin_ns, EPOCH + 1005);
	assert_int_equal(r->range_times.at[0].end_ns, EPOCH + 1055);
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
	assert_int_equal(r->range_times.at[0].end_ns, EPOCH + 1030);
	assert_true(noted(r, "1 pops without a push"));
	sonde_records_free(r);
}

/* Two launches on one thread, a start/end range of another thread around the second. */
static void kernels(struct capture *c)
{
	labels(c);
	event_base(c, 1000, 0, 0);
	event(c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(c, SONDE_EVENT_LAUNCH, 2, 10, 2 * 7); /* at 1020: correlation 7 */
	event(c, SONDE_EVENT_PUSH, 2, 10, 3);
	event(c, SONDE_EVENT_LAUNCH, 2, 70, 2 * 2); /* at 1100: correlation 9 */
	event(c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(c, 0, 0, 77);
	event_base(c, 1000, 0, 0);
	event(c, SONDE_EVENT_START, 3, 50, 2, 1);
	event(c, SONDE_EVENT_STOP, 3, 100, 2, 1); /* stream 1 + 1, its number 1 */
	event(c, SONDE_EVENT_GPU_CLOCK, 2, 0, 501150);
	capture_chunk(c, 1, 0, 78);
	event_base(c, 1000, 0, 0);
	/* start, duration, correlation, device, context, stream; name, grid, block, registers,
	   shared memory, graph node */
	event(c, SONDE_EVENT_KERNEL, 17, 2 * 503000, 40, 9, 0, 1, 7, 4, 8, 4, 1, 16, 16, 1, 32, 64,
		128, 0);
	event(c, SONDE_EVENT_KERNEL, 17, 2 * 1000 - 1, 30, 7, 0, 1, 7, 4, 8, 1, 1, 16, 1, 1, 32, 0,
		0, 0);
	event(c, SONDE_EVENT_MEMCPY, 9, 2 * 5000, 5, 0, 0, 1, 7, 1, 4096, 0);
	capture_chunk(c, 2, 0, 79);
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
	assert_int_equal(rec[0].thread, 77);
	assert_int_equal(rec[2].open, 0);
	assert_int_equal(rec[2].kind, SONDE_RESULT_MEMCPY);
	assert_true(is(r, rec[0].name, "gemm_tile"));
	assert_true(is(r, rec[0].full_name,
		"void gemm_tile<(int)2>(const float *, const float *, float *, int)"));
	assert_true(is(r, rec[2].name, "[CUDA memcpy Host-to-Device]"));
	assert_int_equal(r->record_times.at[1].end_ns - r->record_times.at[1].start_ns, 40);
	/* The GPU's clock is 500 µs ahead: its 503000 is the host's 3000. */
	assert_int_equal(r->record_times.at[1].start_ns, EPOCH + 3000);
	assert_true(noted(r, "1 pieces of GPU work have no known launch"));
	assert_true(noted(r, "1 pushes were never popped"));
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
	assert_true(noted(r, "2 ends of start/end ranges without a start"));
	assert_true(noted(r, "1 start/end ranges were never ended"));
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
	assert_int_equal(r->record_times.at[1].start_ns + 9000, r->record_times.at[0].start_ns);
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

/* CUPTI writes start = end = 0 when it could not tell: no time, and not one in 1970. */
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
	assert_int_equal(r->record_times.at[0].start_ns, 0);
	assert_int_equal(r->record_times.at[0].end_ns, 0);
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_true(isnan(value(r, 0, &v, "gpu__time_duration.sum")));
	assert_true(value(r, 0, &v, "launch__grid_size") == 8);
	assert_true(value(r, 1, &v, "gpu__time_duration.sum") == 30);
	assert_true(noted(r, "CUPTI has no times for 1 pieces of GPU work"));
	sonde_values_release(&v);
	sonde_records_free(r);
}

static void test_native__graph_kernels_know_where_they_were_captured(void **state)
{
	struct capture c;
	struct sonde_records *r;
	struct sonde_values v;

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
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_int_equal(sonde_records_values(r, 0, &v, NULL), 0);
	/* … and tells that of its capture. */
	assert_int_equal(v.nr_texts, 1);
	assert_true(sonde_str_is(v.texts[0].text, "A/B"));
	sonde_values_release(&v);
	sonde_records_free(r);
}

static void test_native__graphs_may_be_captured_and_copied_in_any_threads(void **state)
{
	struct capture c;
	struct sonde_records *r;
	struct sonde_values v;

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
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_int_equal(sonde_records_values(r, 0, &v, NULL), 0);
	assert_int_equal(v.nr_texts, 1);
	assert_true(sonde_str_is(v.texts[0].text, "A"));
	sonde_values_release(&v);
	sonde_records_free(r);
}

static void test_native__long_labels_and_paths_of_nodes_are_cut_and_kept_once(void **state)
{
	static char text[SONDE_LABEL_LIMIT + 2];
	struct capture c;
	struct sonde_records *r;
	struct sonde_values v;
	int i;

	(void)state;
	labels(&c);
	memset(text, 'x', sizeof(text) - 1);
	capture_string(&c, 5, SONDE_STRING_LABEL, 0, text);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 5);
	for (i = 1; i <= 1000; i++) {
		event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
		event(&c, SONDE_EVENT_NODE, 2, 1, i);
		event(&c, SONDE_EVENT_POP, 1, 1);
	}
	event(&c, SONDE_EVENT_KERNEL, 17, 2 * 9000, 40, 3, 0, 1, 7, 4, 1, 1, 1, 1, 1, 1, 1, 0, 0,
		1000);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(sonde_records_str(r, r->ranges.at[0].label).n, SONDE_LABEL_LIMIT);
	assert_true(r->arena.nr_bytes < 100000);
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_int_equal(sonde_records_values(r, 0, &v, NULL), 0);
	assert_int_equal(v.nr_texts, 1);
	assert_true(v.texts[0].text.n <= NATIVE_MAX_PATH + 3);
	assert_true(sonde_str_ends(v.texts[0].text, "x…"));
	sonde_values_release(&v);
	sonde_records_free(r);
}

static void test_native__ranges_too_deep_are_left_out_with_their_pops(void **state)
{
	struct capture c;
	struct sonde_records *r;
	int i;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	for (i = 0; i < SONDE_OPEN_LIMIT; i++)
		event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2); /* too deep */
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 3); /* not in its domain */
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 1, 5);
	for (i = 0; i < SONDE_OPEN_LIMIT + 2; i++)
		event(&c, SONDE_EVENT_POP, 1, 1);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, SONDE_OPEN_LIMIT + 1);
	assert_true(is(r, r->ranges.at[SONDE_OPEN_LIMIT].label, "in D"));
	assert_int_equal(r->notes.texts.nr, 1);
	assert_true(noted(r, "2 ranges are left out: nested deeper than 512"));
	sonde_records_free(r);
}

/* A region is told by its path: few bytes of pushes must not ask for gigabytes of them. */
static void test_native__regions_with_long_paths_have_a_limit_in_all(void **state)
{
	static char text[SONDE_LABEL_LIMIT];
	struct sonde_records *r;
	struct capture c;
	size_t bytes = 0, all = 0, i;

	(void)state;
	labels(&c);
	memset(text, 'x', sizeof(text) - 1);
	capture_string(&c, 5, SONDE_STRING_LABEL, 0, text);
	event_base(&c, 1000, 0, 0);
	for (i = 0; i < 1000; i++) { /* one region, again and again */
		event(&c, SONDE_EVENT_PUSH, 2, 1, 5);
		event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
		event(&c, SONDE_EVENT_POP, 1, 1);
		event(&c, SONDE_EVENT_POP, 1, 1);
	}
	for (i = 0; i < SONDE_OPEN_LIMIT; i++) /* and ever longer ones */
		event(&c, SONDE_EVENT_PUSH, 2, 1, 5);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_true(r->ranges.nr > 2000 && r->ranges.nr < 2100);
	for (i = 2000; i < r->ranges.nr; i++)
		all += bytes += sonde_records_str(r, r->ranges.at[i].label).n;
	assert_true(all < 32 << 20);
	assert_true(noted(r, "ranges are left out: nested deeper than 512, or in too many"));
	sonde_records_free(r);
}

/* Strings lie in an array by number: one large number must not size it. */
static void test_native__string_numbers_have_a_limit(void **state)
{
	static const char zeros[SONDE_STRING_LIMIT];
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	capture_string(&c, SONDE_STRING_LIMIT - 1, SONDE_STRING_LABEL, 0, "last");
	capture_string(&c, SONDE_STRING_LIMIT, SONDE_STRING_LABEL, 0, "none");
	capture_block(&c, 999, zeros, sizeof(zeros)); /* the file is large enough for more */
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, SONDE_STRING_LIMIT - 1);
	event(&c, SONDE_EVENT_PUSH, 2, 10, SONDE_STRING_LIMIT);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_true(is(r, r->ranges.at[0].label, "last"));
	assert_true(is(r, r->ranges.at[1].label, "(label not written)"));
	assert_true(noted(r, "1 events name a label that was not written"));
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
	/* By 1400 the thread has run for 200 of 400: half of the range, too. */
	event(&c, SONDE_EVENT_PUSH | SONDE_EVENT_CPU, 3, 300, 200, 1);
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_CPU, 2, 100, 7);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->range_times.at[0].cpu_ns, 50);
	assert_int_equal(r->range_times.at[1].cpu_ns, 7);
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
	assert_int_equal(r->range_times.at[2].end_ns, EPOCH + 5010);
	assert_int_equal(r->range_times.at[0].end_ns, EPOCH + 5020);
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
	assert_int_equal(r->range_times.at[0].end_ns, EPOCH + 2010);
	sonde_records_free(r);
}

static void test_native__a_file_cut_at_any_byte_gives_what_is_before(void **state)
{
	struct capture c;
	struct sonde_records *r;
	size_t n, last = 0;

	(void)state;
	kernels(&c);
	for (n = 0; n < c.file.n; n++) {
		r = open_bytes(c.file.p, n);
		if (n < sizeof(struct sonde_capture_head)) {
			assert_null(r);
			continue;
		}
		assert_non_null(r);
		assert_true(r->ranges.nr >= last);
		assert_true(noted(r, "did not end in order"));
		last = r->ranges.nr;
		sonde_records_free(r);
	}
	assert_int_equal(last, 3);
	capture_release(&c);
}

static void test_native__a_damaged_byte_costs_its_block_and_is_said(void **state)
{
	struct capture c;
	struct sonde_records *r;
	size_t n;

	(void)state;
	kernels(&c);
	for (n = sizeof(struct sonde_capture_head); n < c.file.n; n++) {
		c.file.p[n] ^= 0x55;
		r = open_bytes(c.file.p, c.file.n);
		assert_non_null(r);
		assert_true(noted(r, "damaged"));
		assert_true(r->ranges.nr <= 3 && r->records.nr <= 3);
		sonde_records_free(r);
		c.file.p[n] ^= 0x55;
	}
	capture_release(&c);
}

static void test_native__a_block_with_reserved_fields_in_use_is_damage(void **state)
{
	struct sonde_block_head h;
	struct capture c;
	struct sonde_records *r;
	size_t at;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	at = c.file.n;
	capture_chunk(&c, 0, 0, 77);
	memcpy(&h, c.file.p + at, sizeof(h));
	h.reserved1 = 1;
	h.check = sonde_block_check(&h, c.file.p + at + sizeof(h));
	memcpy(c.file.p + at, &h, sizeof(h));
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 0);
	assert_true(noted(r, "1 unreadable places, 1 blocks missing"));
	sonde_records_free(r);
}

static void test_native__damage_inside_events_costs_the_rest_of_its_chunk(void **state)
{
	struct capture c;
	struct sonde_records *r;
	uint32_t nr_bytes;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(&c, 30, 0); /* no such event */
	event(&c, SONDE_EVENT_POP, 1, 10);
	nr_bytes = (uint32_t)c.events.n;
	capture_piece(&c, 0, 0, 0, 77);
	event(&c, SONDE_EVENT_POP, 1, 10); /* the chunk goes on, in vain */
	capture_piece(&c, 0, 0, nr_bytes, 77);
	event_base(&c, 3000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 2);
	event(&c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(&c, 0, 1, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 2);
	assert_int_equal(r->ranges.at[1].parent, SONDE_NONE);
	assert_true(noted(r, "1 chunks of events not understood"));
	sonde_records_free(r);
}

static void test_native__blocks_of_a_later_version_are_skipped(void **state)
{
	struct capture c;
	struct sonde_records *r;
	struct sonde_capture_head h;

	(void)state;
	labels(&c);
	capture_block(&c, SONDE_BLOCK_SAMPLES, "counters", 8);
	capture_block(&c, 999, "what is this", 12);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 1);
	capture_chunk(&c, 0, 0, 77);
	memcpy(&h, c.file.p, sizeof(h));
	r = open_bytes(c.file.p, c.file.n);
	assert_int_equal(r->ranges.nr, 1);
	sonde_records_free(r);
	h.version++;
	h.check = sonde_capture_check(&h);
	memcpy(c.file.p, &h, sizeof(h));
	assert_null(open_bytes(c.file.p, c.file.n));
	capture_release(&c);
}

static void test_native__every_failed_allocation_is_an_error(void **state)
{
	struct capture c;
	struct sonde_records *r;
	uint64_t nth;
	unsigned failures = 0;

	(void)state;
	kernels(&c);
	for (nth = 1; nth < 2000; nth++) {
		sonde_alloc_fail_at(nth);
		r = open_bytes(c.file.p, c.file.n);
		sonde_alloc_fail_at(0);
		failures += !r;
		sonde_records_free(r);
	}
	assert_true(failures > 10 && failures < 1999);
	capture_release(&c);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test(test_native__long_labels_and_paths_of_nodes_are_cut_and_kept_once),
		cmocka_unit_test(test_native__ranges_too_deep_are_left_out_with_their_pops),
		cmocka_unit_test(test_native__regions_with_long_paths_have_a_limit_in_all),
		cmocka_unit_test(test_native__string_numbers_have_a_limit),
		cmocka_unit_test(test_native__cpu_time_is_shared_out_between_readings),
		cmocka_unit_test(test_native__lost_events_are_counted_and_open_ranges_found_again),
		cmocka_unit_test(test_native__chunks_of_a_stream_may_lie_in_any_order),
		cmocka_unit_test(test_native__a_file_cut_at_any_byte_gives_what_is_before),
		cmocka_unit_test(test_native__a_damaged_byte_costs_its_block_and_is_said),
		cmocka_unit_test(test_native__a_block_with_reserved_fields_in_use_is_damage),
		cmocka_unit_test(test_native__damage_inside_events_costs_the_rest_of_its_chunk),
		cmocka_unit_test(test_native__blocks_of_a_later_version_are_skipped),
		cmocka_unit_test(test_native__every_failed_allocation_is_an_error),
		cmocka_unit_test(test_native__kernel_names_read_as_nsight_prints_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
