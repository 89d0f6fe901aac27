/*
 * Captures whose oldest files were folded (capture.keep): GPU memory and the longest gaps are those
 * of one long file, wherever the files end.
 *
 * File k has the ten milliseconds from k × 10 ms on. Thread 77 enters a region in each file: "A" in the first, "B"
 * in the second, and so on, with one kernel in each; events from CUPTI are in chunks of streams 1 and 2. Another
 * thread may be in "F" from the first file to the last.
 */
#include "capture_make.h"
#include "unit.h"

#include "base/alloc.h"
#include "base/sink.h"
#include "merge/rolling.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define NR_FILES 5
#define NR_NAMES (NR_FILES + 1)
#define FILE_NS	 10000000u
#define MS	 1000000u

struct files {
	struct capture at[NR_FILES];
	uint32_t nr_chunks[4]; /* number of chunks of each stream */
	char dir[64], path[96];
};

static void put(struct capture *c, struct sonde_event_base *base, const struct sonde_event *e)
{
	uint8_t bytes[4096];

	sonde_buf_add(&c->events, bytes, (size_t)(sonde_event_put(bytes, base, e) - bytes));
}

static void begin_chunk(struct capture *c, struct sonde_event_base *base, uint64_t ticks)
{
	*base = (struct sonde_event_base){.ticks = ticks};
	event_base(c, ticks, 0, 0);
}

static void end_chunk(struct files *f, unsigned file, uint32_t stream)
{
	capture_chunk(&f->at[file], stream, f->nr_chunks[stream]++, 77 + stream);
}

static void put_kernel(struct capture *c, struct sonde_event_base *base, unsigned file)
{
	put(c, base, &(struct sonde_event){.type = SONDE_EVENT_KERNEL, .label.number = 99,
		.field = {file * FILE_NS + 4 * MS, 1000, file + 1, [SONDE_GPU_STREAM] = 7}});
}

/* Makes the region of each file, from 2 to 8 ms, with a kernel unless bit k of `idle` is set for file k; the GPU's clock equals the host's. */
static void begin_files(struct files *f, unsigned idle)
{
	struct sonde_event_base base;
	unsigned k;

	*f = (struct files){.dir = "/tmp/rolled_test.XXXXXX"};
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/1.0.sonde", f->dir);
	for (k = 0; k < NR_FILES; k++) {
		struct capture *c = &f->at[k];
		const uint64_t from = k * FILE_NS;
		char name[2] = {(char)('A' + k), 0};
		unsigned i;

		capture_begin(c);
		for (i = 0; i < NR_NAMES; i++) {
			name[0] = (char)('A' + i);
			capture_string(c, 1 + i, SONDE_STRING_LABEL, 0, name);
		}
		capture_string(c, 99, SONDE_STRING_KERNEL, 0, "k");
		capture_clock(c, from);
		begin_chunk(c, &base, from + MS);
		put(c, &base, &(struct sonde_event){.type = SONDE_EVENT_PUSH, .ticks = from + 2 * MS, .label.number = 1 + k});
		if (!(idle >> k & 1))
			put(c, &base, &(struct sonde_event){.type = SONDE_EVENT_LAUNCH, .ticks = from + 3 * MS, .field = {k + 1}});
		put(c, &base, &(struct sonde_event){.type = SONDE_EVENT_POP, .ticks = from + 8 * MS});
		end_chunk(f, k, 0);
		begin_chunk(c, &base, from + MS);
		put(c, &base, &(struct sonde_event){.type = SONDE_EVENT_GPU_CLOCK, .ticks = from + MS, .field = {from + MS}});
		if (!(idle >> k & 1))
			put_kernel(c, &base, k);
		end_chunk(f, k, 1);
	}
}

/* One operation of a chunk: bytes 0 = the memory is freed. */
struct op {
	unsigned ms, address, bytes;
};

static void tell_memory(struct files *f, unsigned file, uint32_t stream, const struct op *ops, size_t nr)
{
	struct capture *c = &f->at[file];
	struct sonde_event_base base;
	size_t i;

	begin_chunk(c, &base, file * FILE_NS + MS);
	for (i = 0; i < nr; i++)
		put(c, &base, &(struct sonde_event){.type = SONDE_EVENT_MEMORY,
			.field = {(uint64_t)ops[i].ms * MS,
				[SONDE_MEMORY_OPERATION] = ops[i].bytes ? SONDE_MEMORY_ALLOC : SONDE_MEMORY_FREE,
				[SONDE_MEMORY_KIND] = 3,
				[SONDE_MEMORY_ADDRESS] = ops[i].address,
				[SONDE_MEMORY_BYTES] = ops[i].bytes}});
	end_chunk(f, file, stream);
}
#define TELL(f, file, stream, ...)                                                                 \
	tell_memory(f, file, stream, (const struct op[]){__VA_ARGS__},                             \
		sizeof((const struct op[]){__VA_ARGS__}) / sizeof(struct op))

static void write_files(struct files *f)
{
	char name[128];
	unsigned k;

	for (k = 0; k < NR_FILES; k++) {
		if (k == NR_FILES - 1) {
			capture_clock(&f->at[k], NR_FILES * FILE_NS);
			capture_block(&f->at[k], SONDE_BLOCK_END, NULL, 0);
		}
		snprintf(name, sizeof(name), k ? "%s.%u" : "%s", f->path, k);
		assert_int_equal(sonde_file_write(name, sonde_buf_view(&f->at[k].file), NULL), 0);
		capture_release(&f->at[k]);
	}
}

static void remove_files(const struct files *f)
{
	char name[128];
	unsigned k;

	for (k = 0; k < NR_FILES; k++) {
		snprintf(name, sizeof(name), k ? "%s.%u" : "%s", f->path, k);
		unlink(name);
	}
	assert_int_equal(rmdir(f->dir), 0);
}

static struct sonde_cells *read_files(const struct files *f)
{
	const struct sonde_fold_request request = {.cores = 1};
	const char *path = f->path;
	struct sonde_parts parts = {0};
	struct sonde_cells *c = NULL;
	struct sonde_err err = {0};

	assert_int_equal(sonde_parts_open(&parts, &path, 1, &request, &err), 0);
	assert_int_equal(sonde_parts_unite(&c, &parts, &err), 0);
	sonde_parts_release(&parts);
	return c;
}

static void fold_one(const struct files *f)
{
	const struct sonde_fold_request request = {.cores = 1};
	struct sonde_err err = {0};

	if (sonde_roll(&(struct sonde_beside){0}, f->path, 1, &request, &err))
		fail_msg("%s", err.msg);
}

/* The peak of each region in a report of the present files; NaN = the report does not have the region. */
static void find_peaks(const struct files *f, double *peaks, struct sonde_memory_use *all)
{
	struct sonde_cells *c = read_files(f);
	size_t i;

	*all = (struct sonde_memory_use){0};
	for (i = 0; i < NR_NAMES; i++)
		peaks[i] = NAN;
	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];
		struct sonde_str name = c->regions.at[v->region].id;

		peaks[name.p[0] - 'A'] = v->times.memory.peak;
		all->allocated += isnan(v->times.memory.allocated) ? 0 : v->times.memory.allocated;
		all->freed += isnan(v->times.memory.freed) ? 0 : v->times.memory.freed;
		all->left += isnan(v->times.memory.left) ? 0 : v->times.memory.left;
	}
	sonde_cells_free(c);
}

/* Checks the peak of each region, as one file, and with the first 1, 2 and 3 files folded. */
static void check_peaks(struct files *f, const double *expected)
{
	struct sonde_memory_use whole, folded;
	double peaks[NR_NAMES];
	unsigned nr, i;

	write_files(f);
	for (nr = 0; nr < NR_FILES - 1; nr++) {
		if (nr)
			fold_one(f);
		find_peaks(f, peaks, nr ? &folded : &whole);
		for (i = 0; i < NR_NAMES; i++)
			if (!(peaks[i] == expected[i]) && !(isnan(peaks[i]) && isnan(expected[i])))
				fail_msg("%u folded: %c holds %g, not %g", nr, 'A' + i, peaks[i], expected[i]);
		if (nr && memcmp(&whole, &folded, sizeof(whole)) != 0)
			fail_msg("%u folded: allocated %g, freed %g, left %g; not %g, %g, %g", nr, folded.allocated,
				folded.freed, folded.left, whole.allocated, whole.freed, whole.left);
	}
	remove_files(f);
}

/* A chunk with an allocation that lasts is kept; it also has memory that was freed in a chunk that is gone. */
static void test_rolled__memory_freed_in_a_chunk_that_is_gone_is_not_held(void **state)
{
	struct files f;

	(void)state;
	begin_files(&f, 0);
	TELL(&f, 0, 1, {3, 0x1000, 100}, {4, 0x2000, 1000}, {5, 0x3000, 10});
	TELL(&f, 0, 1, {6, 0x1000, 0}, {7, 0x3000, 0}, {7, 0x3000, 20});
	TELL(&f, 1, 1, {11, 0x3000, 0}, {14, 0x4000, 1});
	TELL(&f, 4, 1, {49, 0x2000, 0});
	check_peaks(&f, (const double[]){1110, 1001, 1001, 1001, 1001, NAN});
}

/* Memory was freed before a region began, but the free is in the file behind that of the region. */
static void test_rolled__memory_whose_end_is_told_late_is_not_held(void **state)
{
	struct files f;

	(void)state;
	begin_files(&f, 0);
	TELL(&f, 0, 1, {3, 0x1000, 100}, {4, 0x2000, 1000});
	TELL(&f, 2, 1, {11, 0x1000, 0}, {14, 0x3000, 5});
	TELL(&f, 3, 1, {21, 0x3000, 0});
	TELL(&f, 4, 1, {31, 0x2000, 0}, {41, 0x5000, 7});
	check_peaks(&f, (const double[]){1100, 1005, 1000, 0, 7, NAN});
}

/* An address is used again, and CUPTI's records come from two threads: they must be ordered by time. */
static void test_rolled__memory_at_the_same_address_is_that_of_the_last_time(void **state)
{
	struct files f;

	(void)state;
	begin_files(&f, 0);
	TELL(&f, 0, 2, {3, 0x1000, 100}, {4, 0x1000, 0});
	TELL(&f, 0, 1, {5, 0x1000, 30});
	check_peaks(&f, (const double[]){100, 30, 30, 30, 30, NAN});
}

/* The free is not in the capture (a window was closed): the next allocation at the address shows that the memory was freed. */
static void test_rolled__memory_is_held_once_at_an_address(void **state)
{
	struct files f;

	(void)state;
	begin_files(&f, 0);
	TELL(&f, 0, 1, {3, 0x1000, 100}, {4, 0x2000, 1000});
	TELL(&f, 0, 1, {6, 0x1000, 10});
	TELL(&f, 1, 1, {14, 0x1000, 20});
	TELL(&f, 1, 1, {15, 0x1000, 0});
	TELL(&f, 2, 1, {23, 0x2000, 500});
	check_peaks(&f, (const double[]){1100, 1020, 1000, 500, 500, NAN});
}

/* A region that is open over many files had its peak in a file that is gone. */
static void test_rolled__memory_of_a_long_region_is_that_of_all_its_files(void **state)
{
	struct sonde_event_base base;
	struct files f;

	(void)state;
	begin_files(&f, 0);
	begin_chunk(&f.at[0], &base, MS);
	put(&f.at[0], &base, &(struct sonde_event){.type = SONDE_EVENT_PUSH, .ticks = MS, .label.number = NR_NAMES});
	end_chunk(&f, 0, 3);
	begin_chunk(&f.at[4], &base, 4 * FILE_NS + MS);
	put(&f.at[4], &base, &(struct sonde_event){.type = SONDE_EVENT_POP, .ticks = 4 * FILE_NS + 5 * MS});
	end_chunk(&f, 4, 3);
	TELL(&f, 0, 1, {3, 0x1000, 100});
	TELL(&f, 1, 1, {4, 0x1000, 0}, {11, 0x1000, 200});
	TELL(&f, 2, 1, {14, 0x1000, 0}, {24, 0x1000, 10}, {25, 0x1000, 0});
	TELL(&f, 4, 1, {42, 0x1000, 20}, {49, 0x1000, 300});
	check_peaks(&f, (const double[]){100, 200, 10, 0, 20, 200});
}

/* Checks the gaps of the whole capture, with the first 1, 2 and 3 files folded. */
static void check_gaps(struct files *f, size_t nr_gaps)
{
	struct sonde_cells *whole, *folded;
	unsigned nr;
	size_t i;

	write_files(f);
	whole = read_files(f);
	assert_int_equal(whole->gaps.nr, nr_gaps);
	for (nr = 1; nr < NR_FILES - 1; nr++) {
		fold_one(f);
		folded = read_files(f);
		if (folded->gaps.nr != nr_gaps)
			fail_msg("%u folded: %zu gaps, not %zu", nr, folded->gaps.nr, nr_gaps);
		for (i = 0; i < nr_gaps; i++) {
			const struct sonde_gap *a = &whole->gaps.at[i], *b = &folded->gaps.at[i];

			if (a->begin_ns != b->begin_ns || a->ns != b->ns || a->since_ns != b->since_ns || a->cause != b->cause)
				fail_msg("%u folded: gap %zu is %llu ns at %llu, not %llu at %llu", nr, i,
					(unsigned long long)b->ns, (unsigned long long)b->since_ns,
					(unsigned long long)a->ns, (unsigned long long)a->since_ns);
		}
		sonde_cells_free(folded);
	}
	sonde_cells_free(whole);
	remove_files(f);
}

/* Nothing ran in two whole files: the gap is longer than the files that are folded at a time. */
static void test_rolled__a_gap_over_several_files_is_one_of_the_longest(void **state)
{
	struct files f;

	(void)state;
	begin_files(&f, 1u << 1 | 1u << 2);
	check_gaps(&f, 2);
}

/* The record of some work is in the file behind that of its launch: an apparent gap is really two gaps. */
static void test_rolled__a_gap_in_which_work_is_told_late_is_none(void **state)
{
	struct sonde_event_base base;
	struct files f;

	(void)state;
	begin_files(&f, 1u << 1);
	begin_chunk(&f.at[1], &base, FILE_NS + MS);
	put(&f.at[1], &base, &(struct sonde_event){.type = SONDE_EVENT_LAUNCH, .ticks = FILE_NS + 3 * MS, .field = {2}});
	end_chunk(&f, 1, 0);
	begin_chunk(&f.at[2], &base, 2 * FILE_NS + MS);
	put_kernel(&f.at[2], &base, 1);
	end_chunk(&f, 2, 1);
	check_gaps(&f, 4);
}

/* Whichever allocation fails while files are folded, it is an error, and everything still exists exactly once. */
static void test_rolled__memory_may_end_anywhere(void **state)
{
	const struct sonde_fold_request request = {.cores = 1};
	const double expected[] = {1100, 1000, 1000, 1000, 1000, NAN};
	struct sonde_memory_use all;
	struct sonde_err err = {0};
	double peaks[NR_NAMES];
	uint64_t nr, at, before;
	struct files f;
	unsigned i;
	int rc;

	(void)state;
	for (at = 0, nr = 1; at < nr; at += 1 + nr / 50) { /* the first time nothing ends */
		begin_files(&f, 0);
		TELL(&f, 0, 1, {3, 0x1000, 100}, {4, 0x2000, 1000});
		TELL(&f, 0, 1, {6, 0x1000, 0});
		write_files(&f);
		fold_one(&f);
		before = sonde_alloc_count();
		sonde_alloc_fail_at(at);
		rc = sonde_roll(&(struct sonde_beside){0}, f.path, 1, &request, &err);
		sonde_alloc_fail_at(0);
		nr = at ? nr : sonde_alloc_count() - before;
		assert_true(rc == (at ? SONDE_ERR_NOMEM : 0) || (at && rc == 0));
		find_peaks(&f, peaks, &all);
		for (i = 0; i < NR_NAMES; i++)
			if (!(peaks[i] == expected[i]) && !(isnan(peaks[i]) && isnan(expected[i])))
				fail_msg("without memory at %llu: %c holds %g, not %g", (unsigned long long)at, 'A' + i,
					peaks[i], expected[i]);
		remove_files(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rolled__memory_freed_in_a_chunk_that_is_gone_is_not_held),
		cmocka_unit_test(test_rolled__memory_whose_end_is_told_late_is_not_held),
		cmocka_unit_test(test_rolled__memory_at_the_same_address_is_that_of_the_last_time),
		cmocka_unit_test(test_rolled__memory_is_held_once_at_an_address),
		cmocka_unit_test(test_rolled__memory_of_a_long_region_is_that_of_all_its_files),
		cmocka_unit_test(test_rolled__a_gap_over_several_files_is_one_of_the_longest),
		cmocka_unit_test(test_rolled__a_gap_in_which_work_is_told_late_is_none),
		cmocka_unit_test(test_rolled__memory_may_end_anywhere),
	};

	return cmocka_run_group_tests_name("rolled", tests, NULL, NULL);
}
