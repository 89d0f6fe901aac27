/* Lists of arguments: what is written is read back, and hostile lists are skipped. */
#include "read/arguments.h"

#include "unit.h"

#include <math.h>

static void test_arguments__come_out_as_they_were_put_in(void **state)
{
	struct sonde_buf list = {0}, json = {0};
	struct sonde_argument a;
	struct sonde_str rest;

	(void)state;
	sonde_arguments_put(&list, SONDE_STR("batch"), SONDE_STR("0032"));
	sonde_arguments_put_whole(&list, SONDE_STR("step id"), false, UINT64_MAX);
	sonde_arguments_put_whole(&list, SONDE_STR("low"), true, 1ull << 63);
	sonde_arguments_put_real(&list, SONDE_STR("share"), 0.125);
	sonde_arguments_put_real(&list, SONDE_STR("none"), NAN);
	assert_string_equal(list.p, "batch=32 step_id=18446744073709551615 low=-9223372036854775808 share=0.125");
	rest = sonde_buf_view(&list);
	assert_true(sonde_arguments_next(&rest, &a));
	assert_true(sonde_str_is(a.name, "batch") && a.is_whole && a.whole == 32 && a.v == 32);
	assert_true(sonde_arguments_next(&rest, &a));
	assert_true(!a.is_whole && sonde_str_is(a.digits, "18446744073709551615")); /* no int64_t, but no digit is lost */
	assert_true(sonde_arguments_next(&rest, &a));
	assert_true(sonde_arguments_next(&rest, &a));
	assert_true(!a.is_whole && a.v == 0.125);
	assert_false(sonde_arguments_next(&rest, &a));
	assert_true(sonde_arguments_number(sonde_buf_view(&list), "share") == 0.125);
	assert_true(isnan(sonde_arguments_number(sonde_buf_view(&list), "shar")));
	sonde_arguments_put_json(&json, sonde_buf_view(&list));
	assert_string_equal(
		json.p, "{\"batch\":32,\"step_id\":18446744073709551615,\"low\":-9223372036854775808,\"share\":0.125}");
	sonde_buf_release(&json);
	sonde_buf_release(&list);
}

/* A partial report may have any bytes in place of a list. */
static void test_arguments__what_is_none_is_skipped(void **state)
{
	static const char *const bad[] = {"", " ", "=", "a", "a=", "=1", "a=1.", "a=.5", "a=1e", "a=0x10", "a=1x", "a=--1", "a=nan", "a=inf",
		"a=1e999", "a b=", "\"=1", "a\n=1", "a=01", "a=11111111111111111111111111111111111111111111"};
	struct sonde_argument a;
	struct sonde_buf json = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sonde_str rest = sonde_str_from(bad[i]);

		if (sonde_arguments_next(&rest, &a))
			fail_msg("'%s' has an argument", bad[i]);
	}
	assert_true(sonde_arguments_number(SONDE_STR("\"=1  ,=2 tokens=x tokens=7"), "tokens") == 7);
	sonde_arguments_put_json(&json, SONDE_STR("\"}=1"));
	assert_string_equal(json.p, "{}");
	sonde_buf_release(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments__come_out_as_they_were_put_in),
		cmocka_unit_test(test_arguments__what_is_none_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
