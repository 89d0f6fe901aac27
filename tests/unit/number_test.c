#include "base/number.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *format(double v)
{
	static char out[SONDE_NUMBER_MAX];
	size_t n = sonde_number_format(out, v);

	assert_int_equal(n, strlen(out));
	return out;
}

static void test_number__whole_numbers_keep_all_their_digits(void **state)
{
	(void)state;
	assert_string_equal(format(0), "0");
	assert_string_equal(format(-0.0), "0");
	assert_string_equal(format(7), "7");
	assert_string_equal(format(-42), "-42");
	assert_string_equal(format(100), "100");
	assert_string_equal(format(9007199254740993.0), "9007199254740992");
	assert_string_equal(format(1e18), "1000000000000000000");
}

static void test_number__fractions_have_fifteen_significant_digits(void **state)
{
	(void)state;
	assert_string_equal(format(0.1), "0.1");
	assert_string_equal(format(1.0 / 3), "0.333333333333333");
	assert_string_equal(format(2.5), "2.5");
	assert_string_equal(format(99999.99999999999), "100000");
	assert_string_equal(format(0.00012345), "0.00012345");
	assert_string_equal(format(1.5e-7), "1.5e-07");
	assert_string_equal(format(1e-300), "1e-300");
	assert_string_equal(format(1e300), "1e+300");
}

static void test_number__what_is_no_number_is_null(void **state)
{
	(void)state;
	assert_string_equal(format(NAN), "null");
	assert_string_equal(format(INFINITY), "null");
	assert_string_equal(format(-INFINITY), "null");
}

/* Doubles of random bits: fractions are written as by printf, and all are exact to fifteen digits when read back. */
static void test_number__random_values_agree_with_printf(void **state)
{
	uint64_t seed = 88172645463325252u;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		char want[64];
		double v;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		if (i % 2)
			v = (double)(seed >> 11) / (double)(1u << (seed & 31)) / 1e6;
		else
			memcpy(&v, &seed, sizeof(v));
		if (!isfinite(v) || v == floor(v))
			continue;
		snprintf(want, sizeof(want), "%.15g", v);
		if (strcmp(format(v), want) != 0)
			fail_msg("%.17g: %s is not %s", v, format(v), want);
	}
}

static void test_number__powers_of_ten_and_their_neighbours_agree_with_printf(void **state)
{
	int e;

	(void)state;
	for (e = -20; e < 20; e++) {
		double v[3] = {pow(10, e), nextafter(pow(10, e), 0), nextafter(pow(10, e), 1e300)};
		char want[64];
		int k;

		for (k = 0; k < 3; k++) {
			if (v[k] == floor(v[k]))
				continue;
			snprintf(want, sizeof(want), "%.15g", v[k]);
			assert_string_equal(format(v[k]), want);
		}
	}
}

static void human(const char *want, double v, const char *unit)
{
	struct sonde_buf b = {0};

	sonde_number_human(&b, v, unit);
	assert_string_equal(b.p, want);
	sonde_buf_release(&b);
}

static void test_number__people_get_units_that_fit(void **state)
{
	(void)state;
	human("12.3", 12.34, "%");
	human("-", NAN, "%");
	human("2.88 µs", 2880, "ns");
	human("640 ns", 640, "ns");
	human("1.05 MB", 1048576, "byte");
	human("1.25 M", 1250000, "inst");
	human("17", 17, "");
	human("0.50", 0.5, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number__whole_numbers_keep_all_their_digits),
		cmocka_unit_test(test_number__fractions_have_fifteen_significant_digits),
		cmocka_unit_test(test_number__what_is_no_number_is_null),
		cmocka_unit_test(test_number__random_values_agree_with_printf),
		cmocka_unit_test(test_number__powers_of_ten_and_their_neighbours_agree_with_printf),
		cmocka_unit_test(test_number__people_get_units_that_fit),
	};

	return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
