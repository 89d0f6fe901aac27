/* The reader of memory snapshots: good, damaged and hostile pickles. */
#include "unit.h"

#include "read_bytes.h"

#define LEAF "}(\x8c\x04name\x8c\x01k\x8c\x08" "filename\x8c\x04" "a.py\x8c\x04lineK\x03u" /* a frame */

static size_t read_small(char *out, size_t room)
{
	FILE *f = fopen("tests/data/snapshot/small.pickle", "rb");
	size_t n;

	assert_non_null(f);
	n = fread(out, 1, room, f);
	fclose(f);
	assert_true(n > 1000 && n < room);
	return n;
}

static char bytes[1 << 20];

static void put(size_t *n, const char *p, size_t size)
{
	assert_true(*n + size < sizeof(bytes));
	memcpy(bytes + *n, p, size);
	*n += size;
}
#define PUT(n, literal) put(n, literal, sizeof(literal) - 1)

static void begin_segment(size_t *n)
{
	PUT(n, "\x80\x04}(\x8c\x08segments](}(\x8c\x06" "deviceK\x00\x8c\x07" "addressM\x00\x10\x8c\ntotal_sizeM\x00\x08\x8c\x06" "blocks");
}

/* In an older snapshot, blocks have no address, and their frames are in a history. */
static void test_snapshot__an_older_one_has_what_it_says(void **state)
{
	struct sonde_records *r;
	struct sonde_err err;
	size_t n = 0;

	(void)state;
	begin_segment(&n);
	PUT(&n, "](}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x10" "active_allocated\x8c\x07history](}(\x8c\x06" "frames](" LEAF "eueu"
		"}(\x8c\x04sizeM\x00\x06\x8c\x05state\x8c\x08inactiveueueu.");
	assert_int_equal(read_bytes(&r, bytes, n, &err), 0);
	assert_int_equal(r->records.nr, 1);
	assert_int_equal(r->ranges.nr, 1);
	assert_true(sonde_str_is(sonde_records_str(r, r->ranges.at[0].label), "k a.py:3"));
	assert_true(metric_of(r, 0, "allocator__held_bytes.sum") == 512);
	assert_int_equal(sonde_records_metric(r, "allocator__peak_bytes.sum"), SONDE_NONE);
	assert_true(noted(r, "_record_memory_history()"));
	assert_true(noted(r, "1.54 kB free (75.0 %) in 1 block"));
	sonde_records_free(r);
}

static void test_snapshot__survives_truncation_and_damage_anywhere(void **state)
{
	size_t n = read_small(bytes, sizeof(bytes)), i;
	struct sonde_records *r;
	struct sonde_err err;
	unsigned seed = 1;

	(void)state;
	for (i = 1; i < n; i += 7) {
		assert_int_equal(read_bytes(&r, bytes, i, &err), SONDE_ERR_FORMAT);
		assert_true(i < 3 || strstr(err.msg, "truncated after"));
	}
	for (i = 0; i < 2000; i++) {
		size_t at = (seed = seed * 1103515245u + 12345u) % n;
		char was = bytes[at];

		bytes[at] = (char)(seed >> 16);
		survive(bytes, n);
		bytes[at] = was;
	}
}

static void test_snapshot__survives_every_failed_allocation(void **state)
{
	size_t n = 0;

	(void)state;
	begin_segment(&n);
	PUT(&n, "](}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x10" "active_allocated\x8c\x06" "frames](" LEAF "eu"
		"}(\x8c\x04sizeM\x00\x06\x8c\x05state\x8c\x08inactiveueue\x8c\rdevice_traces](]}(\x8c\x06" "action\x8c\x05" "alloc\x8c\x04" "addrM\x00\x10"
		"\x8c\x04sizeM\x00\x02uaeu.");
	survive_failed_allocations(bytes, n, 10);
}

/* Steps to read a snapshot whose segments all share one list of blocks, each of which shares one list of frames. */
static uint64_t steps_of_shared(unsigned nr)
{
	struct sonde_records *r = NULL;
	struct sonde_err err;
	uint64_t before;
	size_t n = 0;
	unsigned i;

	PUT(&n, "\x80\x04}(\x8c\x08segments](");
	PUT(&n, "](" LEAF "q\x00");
	for (i = 0; i < nr; i++)
		PUT(&n, "h\x00");
	PUT(&n, "eq\x01]("); /* a list of frames, and one of blocks with it */
	for (i = 0; i < nr; i++)
		PUT(&n, "}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x10" "active_allocated\x8c\x06" "framesh\x01u");
	PUT(&n, "eq\x02");
	for (i = 0; i < nr; i++)
		PUT(&n, "}(\x8c\x06" "deviceK\x00\x8c\ntotal_sizeM\x00\x08\x8c\x06" "blocksh\x02u");
	PUT(&n, "eu.");
	before = sonde_steps();
	assert_int_equal(read_bytes(&r, bytes, n, &err), 0);
	before = sonde_steps() - before;
	assert_true(noted(r, "counted once"));
	assert_true(deepest_range(r) <= 256);
	sonde_records_free(r);
	return before;
}

static void test_snapshot__work_grows_with_the_size_whatever_is_shared(void **state)
{
	(void)state;
	skip_without_steps();
	assert_linear("shared lists", steps_of_shared(500), steps_of_shared(4000));
}

static void test_snapshot__a_list_that_holds_itself_is_no_trap(void **state)
{
	size_t n = 0, i;

	(void)state;
	PUT(&n, "\x80\x04}q\x00(\x8c\x08segments]q\x01(h\x00h\x01h\x01e\x8c\rdevice_tracesh\x01u.");
	survive(bytes, n);
	n = 0;
	PUT(&n, "\x80\x04");
	for (i = 0; i < 100000; i++)
		PUT(&n, "](");
	survive(bytes, n); /* the reader must not recurse */
}

/* A file of the fuzzer's corpus. */
static struct sonde_records *read_corpus(const char *path)
{
	struct sonde_records *r = NULL;
	struct sonde_err err;
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_int_equal(read_bytes(&r, bytes, n, &err), 0);
	return r;
}

/* L = [{…, "frames": L}], as the blocks of a segment, or as the history. */
static void test_snapshot__a_list_of_blocks_or_events_has_no_frames(void **state)
{
	static const char *const paths[] = {
		"tests/fuzz/corpus/snapshot/blocks_are_frames.pickle", "tests/fuzz/corpus/snapshot/trace_is_frames.pickle"};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct sonde_records *r = read_corpus(paths[i]);

		assert_int_equal(r->records.nr, 1);
		assert_int_equal(r->ranges.nr, 1);
		assert_true(sonde_str_is(sonde_records_str(r, r->ranges.at[0].label), "(no stack)"));
		sonde_records_free(r);
	}
}

/* Whether the operator is found in the C++ frame of the only allocation, where it comes behind `nr_bytes` bytes. */
static bool finds_operator_behind(unsigned nr_bytes)
{
	struct sonde_records *r;
	struct sonde_err err;
	size_t n = 0, name;
	bool found;
	unsigned i;

	begin_segment(&n);
	PUT(&n, "](}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x10" "active_allocated\x8c\x06" "frames](}(\x8c\x04nameX");
	name = n;
	PUT(&n, "\0\0\0\0");
	for (i = 0; i < nr_bytes; i++)
		PUT(&n, "x");
	PUT(&n, "at::_ops::bmm::call(int)");
	for (i = 0; i < 4; i++)
		bytes[name + i] = (char)((n - name - 4) >> 8 * i);
	PUT(&n, "ueueueu.");
	assert_int_equal(read_bytes(&r, bytes, n, &err), 0);
	assert_int_equal(r->records.nr, 1);
	found = sonde_str_is(sonde_records_str(r, sonde_record_function(r, &r->records.at[0])->name), "bmm");
	sonde_records_free(r);
	return found;
}

/* All frames may share one long name: if the whole name was read for each, the work would grow with the square of the size. */
static void test_snapshot__of_a_long_name_the_beginning_is_looked_at(void **state)
{
	(void)state;
	assert_true(finds_operator_behind(4000));
	assert_false(finds_operator_behind(4096));
}

static void test_snapshot__a_pickle_that_is_none_says_so(void **state)
{
	static const char list[] = "\x80\x04](K\x01" "e.", call[] = "\x80\x04" "cos\nsystem\n(\x8c\x01lt" "R.";
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, list, sizeof(list) - 1, &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "no list of segments"));
	assert_int_equal(read_bytes(&r, call, sizeof(call) - 1, &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "byte 2: GLOBAL is a pickle instruction that sonde refuses"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot__an_older_one_has_what_it_says),
		cmocka_unit_test(test_snapshot__survives_truncation_and_damage_anywhere),
		cmocka_unit_test(test_snapshot__survives_every_failed_allocation),
		cmocka_unit_test(test_snapshot__work_grows_with_the_size_whatever_is_shared),
		cmocka_unit_test(test_snapshot__a_list_that_holds_itself_is_no_trap),
		cmocka_unit_test(test_snapshot__a_list_of_blocks_or_events_has_no_frames),
		cmocka_unit_test(test_snapshot__of_a_long_name_the_beginning_is_looked_at),
		cmocka_unit_test(test_snapshot__a_pickle_that_is_none_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
