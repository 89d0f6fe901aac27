/* Line tables of cubins: tests/data/cubin/ has one, and what CUPTI says of each of its instructions. */
#include "unit.h"

#include "base/file.h"
#include "read/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBIN "tests/data/cubin/nested.cubin"

static struct sonde_cubin *open_it(struct sonde_buf *bytes)
{
	struct sonde_cubin *c;
	struct sonde_err err = {0};

	assert_true(sonde_file_slurp(bytes, CUBIN));
	assert_int_equal(sonde_cubin_open(&c, sonde_buf_view(bytes), &err), 0);
	return c;
}

static void test_cubin__lines_are_what_cupti_says(void **state)
{
	char function[64], want[128], got[512];
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);
	struct sonde_cubin_row row;
	FILE *f = fopen("tests/data/cubin/nested.lines", "r");
	unsigned pc, nr = 0;
	uint32_t at;

	(void)state;
	assert_non_null(f);
	while (fscanf(f, "%63s %x %127s\n", function, &pc, want) == 3) {
		at = sonde_cubin_find(c, sonde_str_from(function), pc);
		assert_int_not_equal(at, SONDE_CUBIN_NONE);
		row = sonde_cubin_row(c, at);
		snprintf(got, sizeof(got), "%.*s/%.*s:%u", SONDE_STR_ARG(row.folder), SONDE_STR_ARG(row.file), row.line);
		assert_string_equal(got, want);
		nr++;
	}
	assert_int_equal(nr, (768 + 3456 + 1664) / 16);
	fclose(f);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

/* The lines of an instruction, innermost first. */
static void chain_of(const struct sonde_cubin *c, const char *function, unsigned pc, char *out, size_t cap)
{
	uint32_t at = sonde_cubin_find(c, sonde_str_from(function), pc);
	struct sonde_cubin_row row;

	for (*out = '\0'; at != SONDE_CUBIN_NONE; at = row.caller) {
		row = sonde_cubin_row(c, at);
		assert_true(row.caller == SONDE_CUBIN_NONE || row.caller < at);
		snprintf(out + strlen(out), cap - strlen(out), "%s%u", *out ? " < " : "", row.line);
	}
}

/* first() calls l1 in line 15; l1 calls l2 in 10 and 11, l3 in 11; l2 calls l3 in 6; l3 is line 2. */
static void test_cubin__inlined_code_knows_its_callers(void **state)
{
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);
	char chain[128];

	(void)state;
	chain_of(c, "first", 0x10, chain, sizeof(chain));
	assert_string_equal(chain, "14");
	chain_of(c, "first", 0x60, chain, sizeof(chain));
	assert_string_equal(chain, "9 < 15");
	chain_of(c, "first", 0x70, chain, sizeof(chain));
	assert_string_equal(chain, "5 < 10 < 15");
	chain_of(c, "first", 0x90, chain, sizeof(chain));
	assert_string_equal(chain, "2 < 6 < 10 < 15");
	chain_of(c, "first", 0x100, chain, sizeof(chain));
	assert_string_equal(chain, "2 < 11 < 15");
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

/* Each line calls one of few: whatever the compiler inlines, a chain goes from the kernel to what it calls. */
static bool may_call(unsigned caller, unsigned line)
{
	const bool in_l3 = line == 2, in_l2 = line == 5 || line == 6, in_l1 = line >= 9 && line <= 11;

	switch (caller) {
	case 6: return in_l3;
	case 10: return in_l2;
	case 11: return in_l2 || in_l3;
	case 15: return in_l1;
	case 20: return in_l1 || in_l2;
	case 26: return in_l3;
	}
	return false;
}

static void test_cubin__every_chain_is_one_of_the_source(void **state)
{
	static const struct {
		const char *name;
		unsigned size;
	} functions[] = {{"first", 768}, {"second", 3456}, {"third", 1664}};
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);
	struct sonde_cubin_row row, caller;
	unsigned pc, f, nr_inlined = 0;
	uint32_t at;

	(void)state;
	for (f = 0; f < 3; f++)
		for (pc = 0; pc < functions[f].size; pc += 16)
			for (at = sonde_cubin_find(c, sonde_str_from(functions[f].name), pc); at != SONDE_CUBIN_NONE;
				at = row.caller) {
				row = sonde_cubin_row(c, at);
				if (row.caller == SONDE_CUBIN_NONE)
					continue;
				caller = sonde_cubin_row(c, row.caller);
				assert_true(may_call(caller.line, row.line));
				nr_inlined++;
			}
	assert_true(nr_inlined > 100);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

static void test_cubin__what_is_not_there_is_not_found(void **state)
{
	struct sonde_buf bytes = {0};
	struct sonde_cubin *c = open_it(&bytes);

	(void)state;
	assert_true(sonde_cubin_nr_rows(c) > 100);
	assert_int_equal(sonde_cubin_find(c, SONDE_STR("fourth"), 0), SONDE_CUBIN_NONE);
	assert_int_equal(sonde_cubin_find(c, SONDE_STR("first"), 768), SONDE_CUBIN_NONE);
	assert_int_equal(sonde_cubin_find(c, SONDE_STR("first"), UINT64_MAX), SONDE_CUBIN_NONE);
	sonde_cubin_free(c);
	sonde_buf_release(&bytes);
}

static void walk_all(const struct sonde_cubin *c)
{
	struct sonde_cubin_row row;
	unsigned pc;
	uint32_t at;

	for (pc = 0; pc < 4096; pc += 16)
		for (at = sonde_cubin_find(c, SONDE_STR("second"), pc); at != SONDE_CUBIN_NONE; at = row.caller)
			row = sonde_cubin_row(c, at);
}

/* `cut` bytes of it, in memory of just that size, so that a sanitizer sees a look beyond. */
static void try_bytes(const char *p, size_t n)
{
	struct sonde_err err = {0};
	struct sonde_cubin *c;
	char *copy = malloc(n ? n : 1);

	memcpy(copy, p, n);
	if (sonde_cubin_open(&c, (struct sonde_str){copy, n}, &err) == 0)
		walk_all(c);
	else
		assert_true(err.msg[0]);
	sonde_cubin_free(c);
	free(copy);
}

static void test_cubin__damage_gives_an_error_or_fewer_lines(void **state)
{
	struct sonde_buf bytes = {0};
	uint64_t x = 88172645463325252u;
	size_t i;

	(void)state;
	assert_true(sonde_file_slurp(&bytes, CUBIN));
	for (i = 0; i < bytes.n; i += 41)
		try_bytes(bytes.p, i);
	for (i = 0; i < 2000; i++) {
		size_t at;
		char old;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = x % bytes.n;
		old = bytes.p[at];
		bytes.p[at] = (char)(x >> 32);
		try_bytes(bytes.p, bytes.n);
		bytes.p[at] = old;
	}
	sonde_buf_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin__lines_are_what_cupti_says),
		cmocka_unit_test(test_cubin__inlined_code_knows_its_callers),
		cmocka_unit_test(test_cubin__every_chain_is_one_of_the_source),
		cmocka_unit_test(test_cubin__what_is_not_there_is_not_found),
		cmocka_unit_test(test_cubin__damage_gives_an_error_or_fewer_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
