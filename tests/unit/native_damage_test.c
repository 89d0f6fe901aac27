/* Native captures that are cut off, damaged, of a later version, or that demand too much memory or work. */
#include "native_open.h"

#include "base/alloc.h"

static void test_native__long_labels_are_cut_and_kept_once(void **state)
{
	static char text[SONDE_LABEL_LIMIT + 2];
	struct capture c;
	struct sonde_records *r;
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
	assert_int_equal(r->records.at[0].origin, 1000);
	sonde_records_free(r);
}

/* Events of a domain without a name, or with a label without a text, must not go to the default domain. */
static void test_native__strings_that_are_lost_move_nothing_to_the_default_domain(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	labels(&c);
	capture_string(&c, 6, SONDE_STRING_LABEL, 7, "of 7"); /* which has no name */
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 6);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 8);			  /* no such string */
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);			  /* B in A */
	event(&c, SONDE_EVENT_POP, 1, 1);			  /* B */
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 1, 5); /* that of string 8 */
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 1, 7);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2); /* A is still open */
	event(&c, SONDE_EVENT_POP, 1, 1);
	event(&c, SONDE_EVENT_POP, 1, 1);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 5);
	assert_true(is(r, r->ranges.at[1].domain, "domain 7"));
	assert_true(is(r, r->ranges.at[2].domain, "(domain not written)"));
	assert_int_equal(r->ranges.at[2].parent, SONDE_NONE);
	assert_int_equal(r->ranges.at[3].domain, SONDE_NONE);
	assert_int_equal(r->ranges.at[3].parent, 0);
	assert_int_equal(r->ranges.at[4].parent, 0);
	assert_false(noted(r, "no matching push"));
	assert_false(noted(r, "never popped"));
	sonde_records_free(r);
}

/* Start/end ranges that are never ended, with a launch after each; `nr_labels` labels in turn. */
static struct sonde_records *leak(int nr, int nr_labels)
{
	struct capture c;
	char text[32];
	int i;

	labels(&c);
	for (i = 0; i < nr_labels; i++) {
		snprintf(text, sizeof(text), "leak %d", i);
		capture_string(&c, (uint64_t)(10 + i), SONDE_STRING_LABEL, 0, text);
	}
	event_base(&c, 1000, 0, 0);
	for (i = 0; i < nr; i++) {
		event(&c, SONDE_EVENT_START, 3, 1, 10 + i % nr_labels, i + 1);
		event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2);
		event(&c, SONDE_EVENT_KERNEL, 17, 2 * 9000, 40, i + 1, 0, 1, 7, 4, 1, 1, 1, 1, 1, 1,
			1, 0, 0, 0);
	}
	capture_chunk(&c, 0, 0, 77);
	return open_capture(&c);
}

static void test_native__leaked_ranges_of_one_label_are_bounded(void **state)
{
	struct sonde_records *r = leak(15000, 1);
	size_t i;

	(void)state;
	assert_int_equal(r->records.nr, 15000);
	assert_int_equal(r->ranges.nr, 15000);
	for (i = 0; i < r->records.nr; i++)
		assert_int_equal(r->sets.at[r->records.at[i].open].nr, i < 16 ? i + 1 : 16);
	assert_false(noted(r, "lack some of their ranges"));
	sonde_records_free(r);
}

/* Ever new labels: the size of sets is limited, each launch stays in regions, and a note reports the limit. */
static void test_native__leaked_ranges_of_many_labels_are_bounded(void **state)
{
	struct sonde_records *r = leak(15000, 15000);
	size_t i;

	(void)state;
	for (i = 0; i < r->records.nr; i++)
		assert_int_equal(r->sets.at[r->records.at[i].open].nr, i < 256 ? i + 1 : 256);
	assert_true(noted(r, "14744 launches lack some of their ranges"));
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
	event(&c, SONDE_EVENT_PUSH, 2, 1, 3); /* in whatever domain */
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 1, 5);
	for (i = 0; i < SONDE_OPEN_LIMIT + 2; i++)
		event(&c, SONDE_EVENT_POP, 1, 1);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 3);
	event(&c, SONDE_EVENT_POP | SONDE_EVENT_DOMAIN, 2, 1, 5);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, SONDE_OPEN_LIMIT + 1);
	assert_true(is(r, r->ranges.at[SONDE_OPEN_LIMIT].label, "in D"));
	assert_int_equal(r->notes.texts.nr, 1);
	assert_true(noted(r, "3 ranges are left out: nested deeper than 512"));
	sonde_records_free(r);
}

/* A region is identified by its path: a few bytes of pushes must not lead to gigabytes of paths. */
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

/* Strings are in an array, indexed by number: one large number must not make it large. */
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
	assert_true(noted(r, "1 event refers to a label that is missing from the capture"));
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
		assert_true(noted(r, "the capture has no end"));
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

/* A start decades away, one near 2^64, a duration near 2^64, and a range that begins there. */
static void test_native__impossible_times_are_left_out_and_counted(void **state)
{
	/* start, duration and so on, as in kernels() */
	uint64_t works[][17] = {{(uint64_t)1 << 63, 40}, {((uint64_t)1 << 63) + 2, 40}, {3, UINT64_MAX - 5}};
	const uint64_t push[] = {(uint64_t)1 << 63, 1};
	struct sonde_records *r;
	struct capture c;
	size_t i, nr = 0;

	(void)state;
	kernels(&c);
	event_base(&c, 1000, 0, 0);
	for (i = 0; i < 3; i++) {
		static const uint64_t rest[] = {7, 0, 1, 7, 4, 8, 1, 1, 16, 1, 1, 32, 0, 0, 0};

		memcpy(&works[i][2], rest, sizeof(rest));
		sonde_buf_putc(&c.events, SONDE_EVENT_KERNEL);
		capture_numbers(&c.events, works[i], 17);
	}
	capture_chunk(&c, 3, 0, 80);
	event_base(&c, 1000, 0, 0);
	sonde_buf_putc(&c.events, SONDE_EVENT_PUSH);
	capture_numbers(&c.events, push, 2);
	event(&c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(&c, 4, 0, 81);
	r = open_capture(&c);
	for (i = 0; i < r->records.nr; i++) {
		assert_true(r->records.at[i].time.end_ns < 2 * EPOCH);
		nr += !r->records.at[i].time.end_ns;
	}
	assert_int_equal(r->records.nr, 6);
	assert_int_equal(nr, 3);
	assert_true(noted(r, "3 results have impossible times"));
	for (i = 0; i < r->ranges.nr; i++)
		assert_true(r->ranges.at[i].time.end_ns < 2 * EPOCH);
	assert_true(noted(r, "1 range has an impossible time"));
	sonde_records_free(r);
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
	assert_true(noted(r, "the capture is damaged: 1 unreadable place, 1 missing block, "));
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
	event(&c, SONDE_EVENT_POP, 1, 10); /* the rest of the chunk is not read */
	capture_piece(&c, 0, 0, nr_bytes, 77);
	event_base(&c, 3000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 10, 2);
	event(&c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(&c, 0, 1, 77);
	r = open_capture(&c);
	assert_int_equal(r->ranges.nr, 2);
	assert_int_equal(r->ranges.at[1].parent, SONDE_NONE);
	assert_true(noted(r, "1 group of events that cannot be decoded"));
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

/* Two launches with their work, then so many whose work never came; ended as it may be, -1 = not at all. */
static struct sonde_records *ended(int nr_more, int end, unsigned block, uint64_t nr_lost)
{
	const struct sonde_status status = {.nr_lost = nr_lost};
	const uint8_t how = (uint8_t)end;
	struct sonde_records *r;
	struct capture c;
	int i;

	kernels(&c);
	event_base(&c, 2000, 0, 0);
	for (i = 0; i < nr_more; i++)
		event(&c, SONDE_EVENT_LAUNCH, 2, 10, 2 * 100);
	capture_chunk(&c, 3, 0, 80);
	capture_block(&c, SONDE_BLOCK_STATUS, &status, sizeof(status));
	if (block)
		capture_block(&c, block, "it is said", 10);
	if (end >= 0)
		capture_block(&c, SONDE_BLOCK_END, &how, 1);
	r = open_bytes(c.file.p, c.file.n);
	capture_release(&c);
	assert_non_null(r);
	return r;
}

static bool is_lost(const struct sonde_records *r, const char *what)
{
	size_t i;

	for (i = 0; i < r->notes.texts.nr; i++)
		if (memmem(r->notes.texts.keys[i].p, r->notes.texts.keys[i].n, what, strlen(what)))
			return sonde_notes_is_loss(&r->notes, i);
	fail_msg("nobody says '%s'", what);
	return false;
}

static void test_native__what_is_missing_is_told_from_what_is_only_said(void **state)
{
	static const struct {
		int nr_more, end;
		unsigned block;
		uint64_t nr_lost;
		const char *says;
		bool is_loss;
	} cases[] = {
		{0, SONDE_END_EXIT, SONDE_BLOCK_NOTE, 0, "it is said", false},
		{3, SONDE_END_EXIT, SONDE_BLOCK_NOTE, 0, "it is said", false}, /* launches that make no work */
		{0, SONDE_END_EXIT, SONDE_BLOCK_LOSS, 0, "it is said", true},
		{0, SONDE_END_EXIT, 0, 4, "4 events were lost", true},
		{0, SONDE_END_GONE, 0, 0, "the work of its last launch was recorded", false},
		{3, SONDE_END_GONE, 0, 0, "the GPU work of the last 3 launches is missing", true},
		{0, SONDE_END_FULL, SONDE_BLOCK_NOTE, 0, "ended before the program did", true},
		{0, SONDE_END_FULL, SONDE_BLOCK_LOSS, 0, "it is said", true},
		{0, -1, 0, 0, "the capture has no end", true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sonde_records *r =
			ended(cases[i].nr_more, cases[i].end, cases[i].block, cases[i].nr_lost);

		assert_int_equal(is_lost(r, cases[i].says), cases[i].is_loss);
		assert_int_equal(r->notes.nr_losses, cases[i].is_loss);
		sonde_records_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native__long_labels_are_cut_and_kept_once),
		cmocka_unit_test(
			test_native__strings_that_are_lost_move_nothing_to_the_default_domain),
		cmocka_unit_test(test_native__leaked_ranges_of_one_label_are_bounded),
		cmocka_unit_test(test_native__leaked_ranges_of_many_labels_are_bounded),
		cmocka_unit_test(test_native__ranges_too_deep_are_left_out_with_their_pops),
		cmocka_unit_test(test_native__regions_with_long_paths_have_a_limit_in_all),
		cmocka_unit_test(test_native__string_numbers_have_a_limit),
		cmocka_unit_test(test_native__a_file_cut_at_any_byte_gives_what_is_before),
		cmocka_unit_test(test_native__a_damaged_byte_costs_its_block_and_is_said),
		cmocka_unit_test(test_native__impossible_times_are_left_out_and_counted),
		cmocka_unit_test(test_native__a_block_with_reserved_fields_in_use_is_damage),
		cmocka_unit_test(test_native__damage_inside_events_costs_the_rest_of_its_chunk),
		cmocka_unit_test(test_native__blocks_of_a_later_version_are_skipped),
		cmocka_unit_test(test_native__every_failed_allocation_is_an_error),
		cmocka_unit_test(test_native__what_is_missing_is_told_from_what_is_only_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
