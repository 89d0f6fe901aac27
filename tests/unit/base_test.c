#include "base/glob.h"
#include "base/arena.h"
#include "base/argv.h"
#include "base/file.h"
#include "base/keysort.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/nearest.h"
#include "base/note.h"
#include "base/sink.h"
#include "base/vec.h"
#include "base/workers.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_str__distance_counts_edits_up_to_the_limit(void **state)
{
	(void)state;
	assert_int_equal(sonde_str_distance(SONDE_STR("kernal"), SONDE_STR("kernel"), 3), 1);
	assert_int_equal(sonde_str_distance(SONDE_STR("a"), SONDE_STR("wholly different"), 3), 4);
	assert_int_equal(sonde_str_distance(SONDE_STR(""), SONDE_STR("abc"), 3), 3);
}

static void test_nearest__the_first_of_the_nearest_wins(void **state)
{
	struct sonde_nearest near = {.word = SONDE_STR("reprot"), .below = 4};

	(void)state;
	assert_false(sonde_nearest_offer(&near, SONDE_STR("validate")));
	assert_int_equal(near.best.n, 0);
	assert_true(sonde_nearest_offer(&near, SONDE_STR("report")));
	assert_false(sonde_nearest_offer(&near, SONDE_STR("repors")));
	assert_string_equal(near.best.p, "report");
	near = (struct sonde_nearest){.word = SONDE_STR("x"), .below = 4};
	assert_false(sonde_nearest_offer(&near, SONDE_STR("o"))); /* no letter would stay */
	near = (struct sonde_nearest){.word = SONDE_STR("nope"), .below = 4};
	assert_false(sonde_nearest_offer(&near, SONDE_STR("model"))); /* fewer than half of the letters would stay */
	near = (struct sonde_nearest){.word = SONDE_STR("tpo"), .below = 4};
	assert_true(sonde_nearest_offer(&near, SONDE_STR("top"))); /* two letters change places */
	near = (struct sonde_nearest){.word = SONDE_STR("o"), .below = 4};
	assert_true(sonde_nearest_offer(&near, SONDE_STR("o")));
	assert_false(sonde_nearest_offer(&near, SONDE_STR("o")));
}

static void test_nearest__a_word_may_be_short_for_a_name(void **state)
{
	struct sonde_nearest near = {.word = SONDE_STR("fwd"), .below = 4};

	(void)state;
	assert_false(sonde_nearest_offer(&near, SONDE_STR("backward")));
	assert_true(sonde_nearest_offer(&near, SONDE_STR("forward")));
	near = (struct sonde_nearest){.word = SONDE_STR("form"), .below = 4};
	assert_true(sonde_nearest_offer(&near, SONDE_STR("sort")));
	assert_true(sonde_nearest_offer(&near, SONDE_STR("formats"))); /* the beginning of a name is nearer than an error */
	near = (struct sonde_nearest){.word = SONDE_STR("at"), .below = 4};
	assert_false(sonde_nearest_offer(&near, SONDE_STR("attach")));
}

static void test_argv__is_shown_as_a_shell_takes_it(void **state)
{
	char *words[] = {"a-b=c", "", "it's", "$x y", NULL};
	struct sonde_buf b = {0};

	(void)state;
	sonde_argv_show(&b, words);
	assert_string_equal(b.p, "a-b=c '' 'it'\\''s' '$x y'");
	sonde_buf_release(&b);
}

static int by_size(const void *a, const void *b)
{
	return sonde_cmp(*(const int *)a, *(const int *)b);
}

static void test_vec__values_are_put_sorted_and_filtered(void **state)
{
	SONDE_VEC(int) v = {0};
	int i;

	(void)state;
	sonde_vec_sort(&v, by_size); /* nothing */
	for (i = 0; i < 20; i++)
		assert_true(sonde_vec_put(&v, i * 7 % 20));
	sonde_vec_sort(&v, by_size);
	sonde_vec_filter(&v, k, v.at[k] % 3 == 0);
	assert_int_equal(v.nr, 7);
	for (i = 0; i < 7; i++)
		assert_int_equal(v.at[i], 3 * i);
	sonde_alloc_fail_at(1);
	while (v.nr < v.cap)
		assert_true(sonde_vec_put(&v, 0));
	assert_false(sonde_vec_put(&v, 0));
	sonde_alloc_fail_at(0);
	assert_int_equal(v.nr, v.cap);
	sonde_vec_release(&v);
}

/* Arrays of one arena grow in turn and move; some are released early, some grow by the other kind of push, some stay with the arena. */
static void test_vec__arrays_of_an_arena_are_freed_with_it(void **state)
{
	struct sonde_arena a = {0};
	SONDE_VEC(size_t) v[5] = {0};
	SONDE_VEC(size_t) copy;
	size_t i, k;

	(void)state;
	for (i = 0; i < 1000; i++)
		for (k = 0; k < 5; k++)
			if (k == 3 && i % 2)
				assert_true(sonde_vec_put(&v[k], i * k));
			else
				sonde_put(&a, &v[k], i * k);
	sonde_vec_release(&v[1]);
	sonde_put(&a, &v[1], 7);
	sonde_vec_release(&v[4]);
	assert_true(sonde_fill(&a, &v[4], 100));
	assert_true(sonde_fill(&a, &v[4], 50));
	assert_int_equal(v[4].nr, 100);
	assert_int_equal(v[4].at[99], 0);
	memcpy(&copy, &v[2], sizeof(copy)); /* the arena keeps no address of a vector */
	memset(&v[2], 0xff, sizeof(v[2]));
	for (i = 0; i < 1000; i++) {
		assert_int_equal(copy.at[i], 2 * i);
		assert_int_equal(v[3].at[i], 3 * i);
		sonde_put(&a, &copy, i);
	}
	assert_int_equal(sonde_arena_status(&a, NULL), 0);
	sonde_arena_release(&a);
}

static void test_vec__a_failure_sticks_to_the_arena(void **state)
{
	struct sonde_arena a = {0};
	struct sonde_err err = {0};
	SONDE_VEC(struct { char text[600]; }) v = {0};
	struct sonde_map m = {0};
	int *number;
	SONDE_VEC(int) small = {0};

	(void)state;
	sonde_push(&a, &v);
	while (v.nr < v.cap)
		sonde_push(&a, &v);
	sonde_alloc_fail_at(1);
	memset(sonde_push(&a, &v), 1, sizeof(*v.at)); /* the dummy element */
	number = sonde_slot(&a, &small, SONDE_NONE);
	*number = 1;
	sonde_put(&a, &small, 2);
	sonde_alloc_fail_at(0);
	assert_int_equal(v.nr, v.cap);
	assert_int_equal(small.nr, 0);
	sonde_put(&a, &small, 3); /* there is memory again, but the arena remembers the failure */
	assert_int_equal(sonde_arena_status(&a, &err), SONDE_ERR_NOMEM);
	assert_non_null(strstr(err.msg, "memory"));
	sonde_arena_release(&a);
	assert_int_equal(sonde_arena_status(&a, &err), 0);
	sonde_alloc_fail_at(1);
	assert_int_equal(sonde_intern(&a, &m, SONDE_STR("key"), NULL), SONDE_NONE);
	sonde_alloc_fail_at(0);
	assert_int_equal(sonde_arena_status(&a, NULL), SONDE_ERR_NOMEM);
	assert_int_equal(sonde_intern_copy(&a, &m, SONDE_STR("key"), NULL), 0);
	assert_int_equal(sonde_intern(&a, &m, SONDE_STR("key"), NULL), 0);
	sonde_arena_release(&a); /* releases the map too */
}

static void check_keysort(size_t nr, uint64_t (*key_of)(size_t i))
{
	struct {
		uint64_t key;
		size_t index;
	} *a = calloc(nr + 1, sizeof(*a));
	struct {
		uint64_t key;
		char rest[20];
	} *b = calloc(nr + 1, sizeof(*b)); /* of a size that has no inlined sort */
	size_t i;

	assert_true(a && b);
	for (i = 0; i < nr; i++) {
		a[i].key = b[i].key = key_of(i);
		a[i].index = i;
	}
	assert_true(sonde_keysort(a, nr) && sonde_keysort(b, nr));
	for (i = 1; i < nr; i++) {
		assert_true(a[i - 1].key < a[i].key ||
			    (a[i - 1].key == a[i].key && a[i - 1].index < a[i].index));
		assert_true(b[i - 1].key <= b[i].key);
	}
	free(a);
	free(b);
}

static uint64_t scattered(size_t i)
{
	return (i * 0x9e3779b97f4a7c15u) >> (i % 3 ? 1 : 40);
}

static uint64_t in_three_runs(size_t i)
{
	return i % 400;
}

/* A short run and then a long one whose elements belong between those of the first; and the other way round. */
static uint64_t in_a_short_and_a_long_run(size_t i)
{
	return i < 6 ? i * 300 : i / 2;
}

static uint64_t in_a_long_and_a_short_run(size_t i)
{
	return i < 1000 ? i / 2 : (i - 1000) * 100;
}

static uint64_t at_the_ends(size_t i)
{
	return i % 2 ? UINT64_MAX : 0;
}

static void test_keysort__is_stable_for_runs_and_any_numbers(void **state)
{
	(void)state;
	check_keysort(0, scattered);
	check_keysort(1, scattered);
	check_keysort(5000, scattered);
	check_keysort(1100, in_three_runs);
	check_keysort(1000, in_a_short_and_a_long_run);
	check_keysort(1006, in_a_long_and_a_short_run);
	check_keysort(300, at_the_ends);
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

static void test_map__keeps_copies_of_new_keys_and_stays_whole_without_memory(void **state)
{
	struct sonde_map m = {0};
	struct sonde_arena a = {0}, other = {0};
	uint64_t key = 1;
	bool is_new;

	(void)state;
	assert_int_equal(sonde_map_keep(&m, &a, SONDE_BYTES(key), &is_new), 0);
	assert_true(is_new);
	key = 2; /* the map has a copy of the key */
	sonde_alloc_fail_at(1);
	assert_int_equal(sonde_map_keep(&m, &other, SONDE_BYTES(key), &is_new), SONDE_NONE);
	sonde_alloc_fail_at(0);
	assert_int_equal(m.nr, 1);
	assert_int_equal(sonde_map_find(&m, SONDE_BYTES(key)), SONDE_NONE);
	key = 1;
	assert_int_equal(sonde_map_keep(&m, &a, SONDE_BYTES(key), &is_new), 0);
	assert_false(is_new);
	sonde_map_release(&m);
	sonde_arena_release(&a);
	sonde_arena_release(&other);
}

static void test_notes__a_loss_stays_one_wherever_the_note_goes(void **state)
{
	struct sonde_notes a = {0}, b = {0};

	(void)state;
	sonde_note(&a, "a remark");
	sonde_note_loss(&a, "cut after %d bytes", 7);
	sonde_note(&a, "cut after 7 bytes");
	sonde_note(&b, "another");
	sonde_note(&b, "cut after 7 bytes");
	sonde_notes_add(&b, &a);
	sonde_notes_add(&b, &a);
	assert_int_equal(b.texts.nr, 3);
	assert_int_equal(b.nr_losses, 1);
	assert_true(sonde_notes_is_loss(&b, 1));
	assert_false(sonde_notes_is_loss(&b, 0) || sonde_notes_is_loss(&b, 2) || sonde_notes_is_loss(&b, 3));
	sonde_notes_release(&a);
	sonde_notes_release(&b);
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

static void check_file(const char *path, const char *want)
{
	char text[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, want);
}

static void test_sink__failed_file_leaves_the_old_one_alone(void **state)
{
	char dir[] = "/tmp/sonde_sinkXXXXXX", path[64];
	struct sonde_sink s;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_sink_open(&s, "/nonexistent/dir/file", &err), SONDE_ERR_IO);
	assert_non_null(strstr(err.msg, "/nonexistent/dir/file"));
	sonde_sink_init_fd(&s, -1);
	s.fd = 9999; /* a descriptor nobody opened */
	sonde_sink_puts(&s, "x");
	assert_int_equal(sonde_sink_close(&s, &err), SONDE_ERR_IO);

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(sonde_sink_open(&s, path, NULL), 0);
	sonde_sink_puts(&s, "old");
	assert_int_equal(sonde_sink_close(&s, NULL), 0);
	assert_int_equal(sonde_sink_open(&s, path, NULL), 0);
	sonde_sink_puts(&s, "new");
	s.buf.failed = true; /* as if memory had been short */
	assert_int_equal(sonde_sink_close(&s, NULL), SONDE_ERR_NOMEM);
	check_file(path, "old");
	unlink(path);
	assert_int_equal(rmdir(dir), 0); /* nothing of the new one is left */
}

/* As with two processes that have the same id: in containers, or on nodes that share a file system. */
static void test_sink__two_writers_of_one_path_do_not_meet(void **state)
{
	char dir[] = "/tmp/sonde_sinkXXXXXX", path[64], trap[96], victim[64];
	struct sonde_sink a, b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	snprintf(trap, sizeof(trap), "%s.tmp-%ld", path, (long)getpid());
	assert_int_equal(sonde_sink_open(&a, victim, NULL), 0);
	sonde_sink_puts(&a, "mine");
	assert_int_equal(sonde_sink_close(&a, NULL), 0);
	assert_int_equal(symlink(victim, trap), 0);

	assert_int_equal(sonde_sink_open(&a, path, NULL), 0);
	assert_int_equal(sonde_sink_open(&b, path, NULL), 0);
	assert_string_not_equal(sonde_sink_file(&a), sonde_sink_file(&b));
	sonde_sink_puts(&a, "the first");
	sonde_sink_puts(&b, "second");
	assert_int_equal(sonde_sink_close(&a, NULL), 0);
	check_file(path, "the first");
	assert_int_equal(sonde_sink_close(&b, NULL), 0);
	check_file(path, "second");
	check_file(victim, "mine");
	unlink(path);
	unlink(victim);
	unlink(trap);
	assert_int_equal(rmdir(dir), 0); /* no other file is left */
}

/* Both forms of a pattern mean the same, but only the form with elements can have a literal `*`. */
static void test_glob__takes_whole_texts_and_whole_characters(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool is_taken;
	} cases[] = {{"", "", true}, {"*", "", true}, {"a", "", false}, {"", "a", false},
		{"a*c", "abbc", true}, {"a*c", "abcb", false}, {"*b*", "abc", true},
		{"?", "\xc3\xa9", true}, {"??", "\xc3\xa9", false}, {"?", "\xff", true},
		{"a?c", "ac", false}, {"*a*a*a*b", "aaaaaaaaaaaaaaaa", false}};
	static const uint16_t plain[] = {'a', '*'};
	uint16_t elements[16];
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sonde_str p = sonde_str_from(cases[i].pattern);
		struct sonde_str text = sonde_str_from(cases[i].text);

		for (k = 0; k < p.n; k++)
			elements[k] = p.p[k] == '*'   ? SONDE_GLOB_ANY
				      : p.p[k] == '?' ? SONDE_GLOB_ONE
						      : (unsigned char)p.p[k];
		assert_int_equal(sonde_str_glob(text, p), cases[i].is_taken);
		assert_int_equal(sonde_glob_takes(elements, p.n, text), cases[i].is_taken);
	}
	assert_true(sonde_glob_takes(plain, 2, SONDE_STR("a*")));
	assert_false(sonde_glob_takes(plain, 2, SONDE_STR("ab")));
}

static void test_err__names_the_file_and_the_next_step(void **state)
{
	struct sonde_mapping m;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_mapping_open(&m, "/nonexistent/x", &err), SONDE_ERR_IO);
	assert_string_equal(
		err.msg, "/nonexistent/x: No such file or directory; check the name");
	assert_int_equal(sonde_dir_make("/dev/null/x", &err), SONDE_ERR_IO);
	assert_string_equal(err.msg, "/dev/null/x: Not a directory; a part of it is a file: "
				     "choose another place");
	assert_int_equal(sonde_err_system(&err, EXDEV, "%s: no room", "x"), SONDE_ERR_IO);
	assert_string_equal(
		err.msg, "x: no room: Invalid cross-device link; try again, or choose another place");
}

static uint64_t tens_of(const void *numbers, uint32_t i)
{
	return ((const unsigned *)numbers)[i] / 10;
}

static uint64_t ones_of(const void *numbers, uint32_t i)
{
	return ((const unsigned *)numbers)[i] % 10;
}

/* By the last digit, and then by the tens. */
static void test_keysort__orders_by_several_keys_in_place(void **state)
{
	static sonde_key_fn *const keys[] = {tens_of, ones_of};
	unsigned at[] = {42, 17, 22, 31, 12, 11}, wanted[] = {11, 31, 12, 22, 42, 17};

	(void)state;
	assert_true(sonde_order_apply(sonde_order_by(at, 6, keys, 2), at, 6, sizeof(*at)));
	assert_memory_equal(at, wanted, sizeof(at));
	assert_true(sonde_order_apply(sonde_order_by(NULL, 0, keys, 2), NULL, 0, sizeof(*at)));
	assert_false(sonde_order_apply(NULL, at, 6, sizeof(*at)));
}

static void count_up(void *worker)
{
	__atomic_add_fetch((int *)worker, 1, __ATOMIC_RELAXED);
}

static void test_workers__each_works_once_however_many_there_are(void **state)
{
	size_t nr, i;

	(void)state;
	for (nr = 0; nr <= SONDE_MOST_WORKERS; nr += 16) {
		int each[SONDE_MOST_WORKERS] = {0}, shared = 0;

		sonde_workers_run(each, nr, sizeof(*each), count_up);
		for (i = 0; i < SONDE_MOST_WORKERS; i++)
			assert_int_equal(each[i], i < nr);
		sonde_workers_run(&shared, nr, 0, count_up);
		assert_int_equal(shared, nr);
	}
	assert_in_range(sonde_workers_count(4), 1, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err__names_the_file_and_the_next_step),
		cmocka_unit_test(test_keysort__orders_by_several_keys_in_place),
		cmocka_unit_test(test_workers__each_works_once_however_many_there_are),
		cmocka_unit_test(test_glob__takes_whole_texts_and_whole_characters),
		cmocka_unit_test(test_str__distance_counts_edits_up_to_the_limit),
		cmocka_unit_test(test_nearest__the_first_of_the_nearest_wins),
		cmocka_unit_test(test_nearest__a_word_may_be_short_for_a_name),
		cmocka_unit_test(test_argv__is_shown_as_a_shell_takes_it),
		cmocka_unit_test(test_vec__values_are_put_sorted_and_filtered),
		cmocka_unit_test(test_vec__arrays_of_an_arena_are_freed_with_it),
		cmocka_unit_test(test_vec__a_failure_sticks_to_the_arena),
		cmocka_unit_test(test_keysort__is_stable_for_runs_and_any_numbers),
		cmocka_unit_test(test_utf8__refuses_overlong_surrogate_and_cut_sequences),
		cmocka_unit_test(test_map__numbers_keys_in_order_of_insertion),
		cmocka_unit_test(
			test_map__keeps_copies_of_new_keys_and_stays_whole_without_memory),
		cmocka_unit_test(test_notes__keep_the_same_sentence_once),
		cmocka_unit_test(test_notes__a_loss_stays_one_wherever_the_note_goes),
		cmocka_unit_test(test_sink__failed_file_leaves_the_old_one_alone),
		cmocka_unit_test(test_sink__two_writers_of_one_path_do_not_meet),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
