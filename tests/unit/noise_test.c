/*
 * How often comparisons are wrong, and how often they find a real difference: a small part of bench/diff_rates.c, with fixed
 * seeds, so that the counts are the same every time.
 */
#include "compare/diff.h"
#include "compare/stats.h"

#include "../tools/noise_models.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REGIONS (NOISE_REGIONS + 1)
#define LARGEST 200
#define SLOW	13

/* Compares two runs of a program; in the second, region SLOW takes `by` times as long. Returns how many regions are called different. */
static size_t compare_runs(const struct noise_model *m, size_t nr, double by, bool *is_found, uint64_t *seed)
{
	static double a[REGIONS * LARGEST], b[REGIONS * LARGEST];
	struct sonde_side_change c[REGIONS];
	double q[REGIONS];
	size_t r, called = 0;

	noise_run(a, nr, m, SLOW, 1, seed);
	noise_run(b, nr, m, SLOW, by, seed);
	for (r = 0; r < REGIONS; r++) {
		const struct sonde_side base = {a + r * nr, nr, NULL, 1}, now = {b + r * nr, nr, NULL, 1};

		assert_true(sonde_stats_compare(&c[r], &base, &now, r));
	}
	for (r = 0; r < REGIONS; r++)
		q[r] = c[r].p;
	assert_true(sonde_stats_adjust(q, q, REGIONS, sizeof(*q)));
	for (r = 0; r < REGIONS; r++) {
		bool is_called = q[r] < 0.05 && (c[r].low > 1 || c[r].high < 1) && fabs(c[r].ratio - 1) >= SONDE_MIN_EFFECT;

		called += is_called;
		if (r == SLOW)
			*is_found = is_called && c[r].ratio > 1;
	}
	return called;
}

static void test_noise__equal_programs_are_rarely_called_different_by_any_noise(void **state)
{
	static const size_t sizes[] = {8, 12, 20, 30};
	size_t m, s, i, families = 20;

	(void)state;
	for (m = 0; m < NR_NOISE_MODELS; m++) {
		size_t alarms = 0;
		uint64_t seed = m;
		bool is_found;

		if (noise_models[m].run > 0) /* one run does not show how runs differ */
			continue;
		for (s = 0; s < 4; s++)
			for (i = 0; i < families; i++)
				alarms += compare_runs(&noise_models[m], sizes[s], 1, &is_found, &seed) > 0;
		if (alarms * 10 > 4 * families)
			fail_msg("%s: %zu alarms of %zu", noise_models[m].name, alarms, 4 * families);
	}
}

static size_t count_found(const char *name, size_t nr, double by, size_t families)
{
	size_t m, i, found = 0;
	uint64_t seed = 7;
	bool is_found;

	for (m = 0; strcmp(noise_models[m].name, name) != 0; m++)
		;
	for (i = 0; i < families; i++) {
		compare_runs(&noise_models[m], nr, by, &is_found, &seed);
		found += is_found;
	}
	return found;
}

static void test_noise__a_tenth_is_found_under_drift_and_warm_up(void **state)
{
	(void)state;
	assert_true(count_found("drift 6 %", 30, 1.1, 40) >= 36);
	assert_true(count_found("drift 3 %", 30, 1.1, 40) >= 36);
	assert_true(count_found("warm-up", 30, 1.1, 40) >= 36);
}

static void test_noise__a_twentieth_is_found_where_entries_are_independent(void **state)
{
	(void)state;
	assert_true(count_found("independent", 200, 1.05, 20) >= 19);
	assert_true(count_found("heavy tails", 200, 1.05, 20) >= 19);
	assert_true(count_found("outliers", 200, 1.05, 20) >= 19);
}

/* The entries that a comparison still needs do not grow with the entries it has. */
static void test_noise__drift_of_both_sides_is_no_scatter(void **state)
{
	static double a[LARGEST], b[LARGEST];
	const struct sonde_side base = {a, LARGEST, NULL, 1}, now = {b, LARGEST, NULL, 1};
	struct sonde_side_change c;
	uint64_t seed = 1;
	size_t i;

	(void)state;
	for (i = 0; i < LARGEST; i++) {
		double drift = 1e5 * (1 + 0.5 * (double)i / LARGEST);

		a[i] = drift * exp(0.01 * noise_gauss(&seed));
		b[i] = drift * exp(0.01 * noise_gauss(&seed));
	}
	assert_true(sonde_stats_compare(&c, &base, &now, 1));
	assert_true(c.low > 0.98 && c.high < 1.02 && c.low < 1 && c.high > 1);
	assert_true(c.lasting == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise__equal_programs_are_rarely_called_different_by_any_noise),
		cmocka_unit_test(test_noise__a_tenth_is_found_under_drift_and_warm_up),
		cmocka_unit_test(test_noise__a_twentieth_is_found_where_entries_are_independent),
		cmocka_unit_test(test_noise__drift_of_both_sides_is_no_scatter),
	};

	return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
