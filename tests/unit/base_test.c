#include "base/arena.h"
#include "base/map.h"
#include "base/note.h"
#include "base/sink.h"
#include "base/vec.h"

#include "unit.h"

static void test_str__distance_counts_edits_up_to_the_limit(void **state)
{
	(void)state;
	assert_int_equal(sonde_str_distance(SONDE_STR("kernal"), SONDE_STR("kernel"), 3), 1);
	assert_int_equal(sonde_str_distance(SONDE_STR("a"), SONDE_STR("wholly different"), 3), 4);
	assert_int_equal(sonde_str_distance(SONDE_STR(""), SONDE_STR("abc"), 3), 3);
}

static void test_utf8__refuses_overlong_surrogate_and_cut_sequences(void **state)
{
	uint32_t cp;

	(void)state;
	assert_int_equal(sonde_utf8_decode(SONDE_STR("\xe6\xb3\xa8"), 0, &cp), 3);
	assert_int_equal(cp, 0x6ce8);
	assert_int_equal(sonde_utf8_decode(SONDE_STR("\xc0\x80"), 0, &cp), 0);
	assert_int_equal(sonde_utf8_decode(SONDE_STR("\xed\xa0\x80"), 0, &cp), 0);
	assert_int_equal(sonde_utf8_decode(SONDE_STR("\xf0\x9f\x9a"), 0, &cp), 0);
	assert_int_equal(sonde_utf8_decode(SONDE_STR("\xff"), 0, &cp), 0);
}

static void test_map__numbers_keys_in_order_of_insertion(void **state)
{
	struct sonde_map m = {0};
	struct sonde_arena a = {0};
	bool is_new;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(sonde_map_add(&m, sonde_arena_printf(&a, "key%d", i), &is_new), i);
	assert_true(is_new);
	assert_int_equal(sonde_map_find(&m, SONDE_STR("key700")), 700);
	assert_int_equal(sonde_map_find(&m, SONDE_STR("other")), SONDE_NONE);
	sonde_map_release(&m);
	sonde_arena_release(&a);
}

static void test_notes__keep_the_same_sentence_once(void **state)
{
	struct sonde_notes n = {0};

	(void)state;
	sonde_note(&n, "lost %d events", 3);
	sonde_note(&n, "lost %d events", 3);
	assert_int_equal(n.texts.nr, 1);
	sonde_notes_release(&n);
}

static void test_sink__failed_file_leaves_the_old_one_alone(void **state)
{
	struct sonde_sink s;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_sink_open(&s, "/nonexistent/dir/file", &err), SONDE_ERR_IO);
	assert_non_null(strstr(err.msg, "/nonexistent/dir/file"));
	sonde_sink_init_fd(&s, -1);
	s.fd = 9999; /* a descriptor nobody opened */
	sonde_sink_puts(&s, "x");
	assert_int_equal(sonde_sink_close(&s, &err), SONDE_ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_str__distance_counts_edits_up_to_the_limit),
		cmocka_unit_test(test_utf8__refuses_overlong_surrogate_and_cut_sequences),
		cmocka_unit_test(test_map__numbers_keys_in_order_of_insertion),
		cmocka_unit_test(test_notes__keep_the_same_sentence_once),
		cmocka_unit_test(test_sink__failed_file_leaves_the_old_one_alone),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
