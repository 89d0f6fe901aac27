#include "attribute/filter.h"
#include "base/alloc.h"

#include "open_ranges.h"
#include "unit.h"

#include <stdio.h>

#define WORDS(...)                                                                                 \
	((struct sonde_words){(const char *const[]){__VA_ARGS__},                                  \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)})
#define NONE ((struct sonde_words){NULL, 0})

static struct sonde_records *open_report(const char *shape)
{
	char path[128];
	const char *paths[] = {path};
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};

	snprintf(path, sizeof(path), "tests/data/ncu/%s_kernel.ncu-rep", shape);
	if (sonde_records_open(&r, paths, 1, NULL, &err))
		fail_msg("%s", err.msg);
	return r;
}

/* How many launches of `shape` the filters select. */
static int taken(const char *shape, struct sonde_words include, struct sonde_words exclude,
	struct sonde_words kernels)
{
	struct sonde_records *r = open_report(shape);
	struct sonde_nvtx_filter *nvtx = NULL;
	struct sonde_name_filter *kernel = NULL;
	struct sonde_err err = {0};
	struct open_ranges open;
	uint32_t i;
	int nr = 0;

	if (sonde_nvtx_filter_build(&nvtx, include, exclude, &err) ||
		sonde_kernel_filter_build(&kernel, kernels, NONE, &err))
		fail_msg("%s", err.msg);
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		open_ranges_of(&open, r, i);
		nr += sonde_nvtx_filter_takes(nvtx, &open.view) &&
		      sonde_kernel_filter_takes(kernel, sonde_records_str(r, sonde_record_function(r, rec)->name),
			      sonde_records_str(r, sonde_record_function(r, rec)->full_name));
	}
	sonde_nvtx_filter_free(nvtx);
	sonde_name_filter_free(kernel);
	sonde_records_free(r);
	return nr;
}

static void check(const char *shape, const char *expr, int expected)
{
	int nr = taken(shape, WORDS(expr), NONE, NONE);

	if (nr != expected)
		fail_msg("%s '%s': %d launches instead of %d", shape, expr, nr, expected);
}

/* The launches that ncu 2025.3.1 itself selected. */
static void test_filter__takes_what_ncu_takes(void **state)
{
	static const struct {
		const char *shape, *expr;
		int nr;
	} seen[] = {
		{"seed", "A/", 18},
		{"seed", "a/", 0},
		{"seed", "regex:A/", 18},
		{"seed", "regex:^A$/", 18},
		{"seed", "regex:::A1/", 9},
		{"seed", "[A", 18},
		{"seed", "A]", 9},
		{"seed", "A/A::A1", 9},
		{"seed", "A/*/A::A1]", 9},
		{"seed", "A/+/A::A1", 0},
		{"seed", "/A", 18},
		{"seed", "A//", 18},
		{"seed", "A,B", 0},
		{"overlap", "outer", 2},
		{"overlap", "inner", 2},
		{"overlap", "outer,inner", 1},
		{"overlap", "regex:o.*", 3},
		{"domains", "libA@registered op/", 6},
		{"domains", "libB@comm/", 2},
		{"domains", "regex:lib.@.*/", 6},
		{"domains", "train/opt", 2},
		{"threads", "worker0/iter", 4},
		{"threads", "iter/", 12},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		check(seen[i].shape, seen[i].expr, seen[i].nr);
}

static void test_filter__includes_add_and_excludes_subtract_as_in_ncu(void **state)
{
	(void)state;
	assert_int_equal(taken("seed", WORDS("A/", "B/"), NONE, NONE), 24);
	assert_int_equal(taken("seed", WORDS("A/"), WORDS("A::A1/"), NONE), 9);
	assert_int_equal(taken("seed", NONE, WORDS("A::A1/"), NONE), 20);
	assert_int_equal(taken("seed", NONE, NONE, NONE), 29);
	assert_int_equal(taken("seed", WORDS("A/"), NONE, WORDS("regex:gemm|axpy")), 15);
}

static void test_filter__bracket_means_outermost_and_innermost(void **state)
{
	(void)state;
	check("seed", "[A::A1", 0);
	check("seed", "A::A1]", 9);
	check("seed", "[A]", 9);
	check("seed", "regex:[A]", 9);
	check("seed", "[A/A::A1]", 9);
	check("threads", "[iter", 0);
	check("threads", "[regex:worker", 0);
	check("threads", "regex:[worker[0-1]", 8);
	check("threads", "regex:[worker[0-1]/iter]", 8);
	check("threads", "regex:worker[12]/", 8);
	check("seed", "regex:^[AB]$/", 24);
	check("seed", "regex:[AB]/", 24);
	check("seed", "regex:[[:upper:]]::/", 9);
}

static void test_filter__plain_words_are_label_globs_of_either_kind_in_any_domain(void **state)
{
	(void)state;
	check("seed", "A", 18);
	check("seed", "A*", 18);
	check("seed", "*A1", 9);
	check("seed", "?", 24);
	check("seed", "*", 24);
	check("overlap", "o*", 2);
	check("overlap", "*o*", 3);
	check("overlap", "push", 2);
	check("overlap", "cr?ss", 1);
	check("domains", "comm", 2);
	check("domains", "libA@*", 6);
	check("domains", "libA@comm", 0);
	check("domains", "lib?@c*", 2);
	check("names", "comma\\, semi\\;", 1);
	check("names", "\\[bracket\\]", 1);
	check("names", "a\\/b", 1);
	check("names", "a?b", 2);
	check("names", "emoji ?", 1);
	check("names", "\xe6\xb3\xa8??", 1);
	check("names", "very-long-*x", 1);
}

static void test_filter__lists_are_split_at_semicolons(void **state)
{
	(void)state;
	check("seed", "A; B", 24);
	check("seed", "B;;", 6);
	check("seed", " A/A::A1 ;B/; ", 15);
	check("names", "comma\\, semi\\; ; 100%", 2);
}

static void test_filter__label_with_an_at_sign_is_itself_first(void **state)
{
	struct sonde_str labels[] = {SONDE_STR("LLM@prefill")};
	struct sonde_open_stack stack = {{NULL, 0}, labels, 1};
	struct sonde_open_ranges open = {&stack, 1, NULL, 0};
	struct sonde_nvtx_filter *f;

	(void)state;
	assert_int_equal(sonde_nvtx_filter_build(&f, WORDS("LLM@*"), NONE, NULL), 0);
	assert_true(sonde_nvtx_filter_takes(f, &open));
	labels[0] = SONDE_STR("prefill");
	assert_false(sonde_nvtx_filter_takes(f, &open));
	stack.domain = SONDE_STR("LLM");
	assert_true(sonde_nvtx_filter_takes(f, &open));
	sonde_nvtx_filter_free(f);
	assert_int_equal(sonde_nvtx_filter_build(&f, WORDS("LLM\\@*"), NONE, NULL), 0);
	assert_false(sonde_nvtx_filter_takes(f, &open));
	sonde_nvtx_filter_free(f);
}

static void test_filter__refuses_bad_expressions_with_place_and_reason(void **state)
{
	static const struct {
		const char *expr;
		uint64_t pos;
		const char *reason;
	} bad[] = {
		{"*/", 0, "range name must come first"},
		{"+/X", 0, "range name must come first"},
		{"D@*/", 2, "range name must come first"},
		{"[*/X]", 1, "range name must come first"},
		{"/", 0, "a range name is missing"},
		{"[", 1, "a range name is missing"},
		{"[]", 1, "a range name is missing"},
		{"D@/", 2, "a range name is missing"},
		{"A,", 2, "a range name is missing"},
		{",A", 0, "a range name is missing"},
		{"A,B/", 1, "do not mix"},
		{"A[B/", 1, "at the beginning"},
		{"A]B/", 1, "at the end"},
		{"decode*/", 6, "not a wildcard"},
		{"@A/", 0, "the domain before '@' is missing"},
		{"regex:", 6, "nothing follows"},
		{"regex:A/(/", 9, "regular expression"},
		{"B/;regex:A(/", 8, "regular expression"},
	};
	struct sonde_nvtx_filter *f;
	struct sonde_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct sonde_err){0};
		if (sonde_nvtx_filter_build(&f, WORDS(bad[i].expr), NONE, &err) !=
				SONDE_ERR_USAGE ||
			err.pos != bad[i].pos || !strstr(err.msg, bad[i].reason))
			fail_msg(
				"'%s': %d at %d: %s", bad[i].expr, err.code, (int)err.pos, err.msg);
		assert_null(f);
	}
	assert_int_equal(sonde_nvtx_filter_build(&f, WORDS(" ; "), NONE, &err), SONDE_ERR_USAGE);
}

static void test_filter__hostile_patterns_end(void **state)
{
	char text[4001], many[2001];
	struct sonde_str label = {text, 4000};
	struct sonde_open_stack stack = {{NULL, 0}, &label, 1};
	struct sonde_open_ranges open = {&stack, 1, NULL, 0};
	uint64_t before = sonde_steps();
	struct sonde_nvtx_filter *f;
	size_t i;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (i = 0; i < 2000; i += 2)
		memcpy(many + i, "*a", 2);
	many[1999] = 'b';
	many[2000] = '\0';
	assert_int_equal(
		sonde_nvtx_filter_build(&f,
			WORDS("regex:(a+)+$b/", "regex:(a|a)*b/", "regex:((a*)*)*b/", many), NONE,
			NULL),
		0);
	assert_false(sonde_nvtx_filter_takes(f, &open));
	sonde_nvtx_filter_free(f);
	assert_true(sonde_steps() - before < 100000000);
}

static void test_filter__translates_label_globs_for_ncu(void **state)
{
	static const struct {
		const char *word, *lines;
	} cases[] = {
		{"decode*", "regex:^decode.*$/\nregex:^decode.*$\n"
			    "regex:.*@^decode.*$/\nregex:.*@^decode.*$\n"},
		{"A/B; [x/*/y]", "A/B\n[x/*/y]\n"},
		{"regex:a\\;b/", "regex:a;b/\n"},
		{"a\\/b", "regex:^a.b$/\nregex:^a.b$\nregex:.*@^a.b$/\nregex:.*@^a.b$\n"},
		{"L@*", "regex:^L..*$/\nregex:^L..*$\nregex:.*@^L..*$/\nregex:.*@^L..*$\n"
			"regex:^L$@^.*$/\nregex:^L$@^.*$\n"},
	};
	struct sonde_err err = {0};
	struct sonde_buf out = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sonde_buf_clear(&out);
		assert_int_equal(sonde_nvtx_filter_translate(&out, cases[i].word, &err), 0);
		assert_string_equal(out.p, cases[i].lines);
	}
	assert_int_equal(sonde_nvtx_filter_translate(&out, "*/", &err), SONDE_ERR_USAGE);
	sonde_buf_release(&out);
}

/* Checks the launches of `shape` that any line of the translation selects. */
static void check_covers(const char *shape, const char *word)
{
	struct sonde_records *r = open_report(shape);
	struct sonde_nvtx_filter *exact, *coarse;
	struct sonde_buf lines = {0};
	struct open_ranges open;
	size_t i;

	assert_int_equal(sonde_nvtx_filter_build(&exact, WORDS(word), NONE, NULL), 0);
	assert_int_equal(sonde_nvtx_filter_translate(&lines, word, NULL), 0);
	for (i = 0; i < lines.n; i++)
		if (lines.p[i] == '\n')
			lines.p[i] = ';'; /* each line is one item: none has a ; of its own here */
	assert_int_equal(sonde_nvtx_filter_build(&coarse, WORDS(lines.p), NONE, NULL), 0);
	for (i = 0; i < r->records.nr; i++) {
		open_ranges_of(&open, r, (uint32_t)i);
		if (sonde_nvtx_filter_takes(exact, &open.view))
			assert_true(sonde_nvtx_filter_takes(coarse, &open.view));
	}
	sonde_buf_release(&lines);
	sonde_nvtx_filter_free(exact);
	sonde_nvtx_filter_free(coarse);
	sonde_records_free(r);
}

static void test_filter__translation_takes_at_least_the_same(void **state)
{
	(void)state;
	check_covers("seed", "A*");
	check_covers("overlap", "o*; push");
	check_covers("domains", "libA@*");
	check_covers("names", "comma\\, semi?");
	check_covers("names", "\\[*\\]; \xe6*; emoji ?; quote\"'`; .\\./*");
}

static void test_kernel_filter__plain_words_equal_globs_span_and_regex_searches(void **state)
{
	struct sonde_str name = SONDE_STR("gemm_tile");
	struct sonde_str full = SONDE_STR("void gemm_tile<2>(const float *)");
	static const struct {
		const char *word;
		bool takes;
	} cases[] = {
		{"gemm_tile", true},
		{"gemm", false},
		{"gemm*", true},
		{"*<2>*", true},
		{"void gemm_tile<2>(const float *)", true},
		{"gemm_til?", true},
		{"gemm\\*", false},
		{"regex:tile<\\d>", true},
		{"regex:^gemm", false},
	};
	struct sonde_name_filter *f;
	struct sonde_err err = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			sonde_kernel_filter_build(&f, WORDS(cases[i].word), NONE, &err), 0);
		assert_int_equal(sonde_kernel_filter_takes(f, name, full), cases[i].takes);
		sonde_name_filter_free(f);
	}
	assert_int_equal(sonde_kernel_filter_build(&f, WORDS("*"), WORDS("gemm_tile"), &err), 0);
	assert_false(sonde_kernel_filter_takes(f, name, full));
	sonde_name_filter_free(f);
	assert_int_equal(
		sonde_kernel_filter_build(&f, WORDS("regex:*"), NONE, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "regex:*"));
}

static void test_name_filter__tells_which_word_took_a_name(void **state)
{
	struct sonde_str name = SONDE_STR("dram__bytes_read.sum");
	struct sonde_name_filter *f;

	(void)state;
	assert_int_equal(
		sonde_name_filter_build(
			&f, WORDS("sm__*", "dram__*.sum", "regex:bytes", "dram__bytes_read"), NULL),
		0);
	assert_true(sonde_name_filter_takes(f, name));
	assert_false(sonde_name_filter_word_takes(f, 0, name));
	assert_true(sonde_name_filter_word_takes(f, 1, name));
	assert_true(sonde_name_filter_word_takes(f, 2, name));
	assert_false(sonde_name_filter_word_takes(f, 3, name));
	assert_false(sonde_name_filter_takes(f, SONDE_STR("gpu__time_duration.sum")));
	sonde_name_filter_free(f);
}

static void test_filter__survives_every_failed_allocation(void **state)
{
	struct sonde_buf lines = {0};
	struct sonde_nvtx_filter *f = NULL;
	struct sonde_err err;
	uint64_t nth;
	int rc = SONDE_ERR_NOMEM;

	(void)state;
	for (nth = 1; rc == SONDE_ERR_NOMEM && nth < 1000; nth++) {
		sonde_alloc_fail_at(nth);
		rc = sonde_nvtx_filter_build(
			&f, WORDS("a*;D@b", "regex:D@A/*/[x]"), WORDS("[q/+/r]", "s,t"), &err);
		sonde_alloc_fail_at(0);
		sonde_nvtx_filter_free(f);
	}
	assert_int_equal(rc, 0);
	for (rc = SONDE_ERR_NOMEM, nth = 1; rc == SONDE_ERR_NOMEM && nth < 1000; nth++) {
		sonde_alloc_fail_at(nth);
		rc = sonde_nvtx_filter_translate(&lines, "a*;D@b;x/", &err);
		sonde_alloc_fail_at(0);
		sonde_buf_release(&lines);
	}
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter__takes_what_ncu_takes),
		cmocka_unit_test(test_filter__includes_add_and_excludes_subtract_as_in_ncu),
		cmocka_unit_test(test_filter__bracket_means_outermost_and_innermost),
		cmocka_unit_test(
			test_filter__plain_words_are_label_globs_of_either_kind_in_any_domain),
		cmocka_unit_test(test_filter__lists_are_split_at_semicolons),
		cmocka_unit_test(test_filter__label_with_an_at_sign_is_itself_first),
		cmocka_unit_test(test_filter__refuses_bad_expressions_with_place_and_reason),
		cmocka_unit_test(test_filter__hostile_patterns_end),
		cmocka_unit_test(test_filter__translates_label_globs_for_ncu),
		cmocka_unit_test(test_filter__translation_takes_at_least_the_same),
		cmocka_unit_test(
			test_kernel_filter__plain_words_equal_globs_span_and_regex_searches),
		cmocka_unit_test(test_name_filter__tells_which_word_took_a_name),
		cmocka_unit_test(test_filter__survives_every_failed_allocation),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
