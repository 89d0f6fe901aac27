/* The statistics of comparisons, checked with published values and simulated programs. */
#include "base/quantile.h"
#include "compare/stats.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>

static void near(double a, double b, double tolerance)
{
	if (!(fabs(a - b) <= tolerance))
		fail_msg("%.17g is not within %g of %.17g", a, tolerance, b);
}

static void test_stats__quantiles_interpolate(void **state)
{
	static const double two[] = {1, 3}, four[] = {1, 2, 3, 10};

	(void)state;
	near(sonde_quantile(two, 2, 0.5), 2, 0);
	near(sonde_quantile(four, 4, 0.5), 2.5, 0);
	near(sonde_quantile(four, 4, 0.95), 8.95, 1e-12);
	near(sonde_quantile(four, 4, 1), 10, 0);
	assert_true(isnan(sonde_quantile(four, 0, 0.5)));
}

/* The values are in the tables of every textbook. */
static void test_stats__student_matches_its_tables(void **state)
{
	(void)state;
	near(sonde_stats_student(12.706, 1), 0.05, 1e-5);
	near(sonde_stats_student(2.228, 10), 0.05, 1e-4);
	near(sonde_stats_student(3.250, 9), 0.01, 1e-4);
	near(sonde_stats_student(1.96, 1e9), 0.05, 1e-4);
	near(sonde_stats_student_limit(0.05, 4), 2.776, 1e-3);
	near(sonde_stats_student_limit(0.05, 1e9), 1.960, 1e-3);
}

/* The fifteen p-values of Benjamini and Hochberg's paper: four are significant at 5 %. */
static void test_stats__false_discoveries_match_the_paper(void **state)
{
	static const double p[] = {.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459,
		.3240, .4262, .5719, .6528, .7590, 1};
	double q[15];
	size_t i, called = 0;

	(void)state;
	assert_true(sonde_stats_adjust(q, p, 15, sizeof(*p)));
	for (i = 0; i < 15; i++)
		called += q[i] < 0.05;
	assert_int_equal(called, 4);
	near(q[0], 0.0015, 1e-12);
	near(q[3], 0.0095 * 15 / 4, 1e-12);
	near(q[14], 1, 0);
}

/* --- simulated programs ----------------------------------------------------------------------- */

static double uniform(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double gauss(uint64_t *seed)
{
	double r = sqrt(-2 * log(uniform(seed)));

	return r * cos(2 * 3.14159265358979323846 * uniform(seed));
}

/* How the times of a region's entries scatter. */
struct noise {
	double sd, rho, drift, tail, run;
};

static void simulate(double *v, size_t nr, const struct noise *n, uint64_t *seed)
{
	double e = gauss(seed), drift = n->drift * gauss(seed), run = n->run * gauss(seed), x;
	size_t i;

	for (i = 0; i < nr; i++) {
		e = n->rho * e + sqrt(1 - n->rho * n->rho) * gauss(seed);
		x = n->sd * e + drift * ((double)i / (double)nr - 0.5) + run;
		if (uniform(seed) < n->tail)
			x += 3 * n->sd / uniform(seed);
		v[i] = exp(fmin(x, 3));
	}
}

static bool is_called(const struct sonde_side_change *c, double q)
{
	return (c->low > 1 || c->high < 1) && q < 0.05 && fabs(c->ratio - 1) >= 0.02;
}

#define REGIONS 30
#define LARGEST 500

struct family {
	struct sonde_side_change changes[REGIONS];
	double q[REGIONS];
};

/* Compares two sides of `runs` runs each; region 7 of the new side is slower by the fraction `slower`. */
static void compare_family(
	struct family *f, size_t runs, size_t entries, double slower, uint64_t *seed)
{
	static double a[5 * LARGEST], b[5 * LARGEST];
	double p[REGIONS];
	size_t lengths[5], r, k;

	for (r = 0; r < REGIONS; r++) {
		bool is_plain = slower > 0;
		struct noise n = {.sd = is_plain ? 0.05 : 0.01 + 0.1 * uniform(seed),
			.rho = is_plain ? 0 : 0.9 * uniform(seed),
			.drift = is_plain ? 0 : 0.03 * uniform(seed),
			.tail = is_plain || uniform(seed) < 0.5 ? 0 : 0.02,
			.run = runs > 1 ? 0.005 : 0};
		size_t nr = entries ? entries : (size_t)(2 * pow(LARGEST / 2, uniform(seed)));
		struct sonde_side base = {a, nr * runs, lengths, runs};
		struct sonde_side new_side = {b, nr * runs, lengths, runs};

		for (k = 0; k < runs; k++) {
			lengths[k] = nr;
			simulate(a + k * nr, nr, &n, seed);
			simulate(b + k * nr, nr, &n, seed);
		}
		for (k = 0; r == 7 && k < nr * runs; k++)
			b[k] *= 1 + slower;
		assert_true(sonde_stats_compare(&f->changes[r], &base, &new_side, r));
		p[r] = f->changes[r].p;
	}
	assert_true(sonde_stats_adjust(f->q, p, REGIONS, sizeof(*p)));
}

static void count_false_alarms(size_t runs, size_t families)
{
	struct family *f = malloc(sizeof(*f));
	size_t i, r, alarms = 0;
	uint64_t seed = 1;

	assert_non_null(f);
	for (i = 0; i < families; i++) {
		bool is_any = false;

		compare_family(f, runs, 0, 0, &seed);
		for (r = 0; r < REGIONS; r++)
			is_any |= is_called(&f->changes[r], f->q[r]);
		alarms += is_any;
	}
	free(f);
	print_message("%zu of %zu families with a false alarm\n", alarms, families);
	assert_true(alarms * 20 <= families);
}

/* A program compared with itself, with heavy tails, drift, serial correlation, and 2 to 500 entries. */
static void test_stats__equal_programs_are_rarely_called_different(void **state)
{
	(void)state;
	count_false_alarms(1, 200);
}

static void test_stats__equal_programs_of_five_runs_are_rarely_called_different(void **state)
{
	(void)state;
	count_false_alarms(5, 60);
}

/* +5 % in one region of 30, 200 entries, 5 % noise. */
static void test_stats__a_slower_region_is_found_and_no_other_named(void **state)
{
	struct family *f = malloc(sizeof(*f));
	size_t i, r, found = 0, held = 0, alone = 0, families = 100;
	uint64_t seed = 2;

	(void)state;
	assert_non_null(f);
	for (i = 0; i < families; i++) {
		bool is_other = false;

		compare_family(f, 1, 200, 0.05, &seed);
		for (r = 0; r < REGIONS; r++)
			is_other |= r != 7 && is_called(&f->changes[r], f->q[r]);
		found += is_called(&f->changes[7], f->q[7]);
		held += f->changes[7].low <= 1.05 && f->changes[7].high >= 1.05;
		alone += !is_other;
	}
	free(f);
	print_message("found %zu, held %zu, alone %zu of %zu\n", found, held, alone, families);
	assert_true(found * 100 >= 95 * families);
	assert_true(held * 100 >= 90 * families);
	assert_true(alone * 100 >= 95 * families);
}

/* A first-order process of correlation 0.8 has a correlation time of (1 + 0.8) / (1 − 0.8) = 9. */
static void test_stats__correlation_is_measured_and_widens_the_interval(void **state)
{
	static double a[4000], b[4000], c[4000];
	const struct noise loose = {.sd = 0.05}, tied = {.sd = 0.05, .rho = 0.8};
	struct sonde_side_change alone, together;
	struct sonde_side base = {a, 4000, NULL, 1}, other = {b, 4000, NULL, 1},
			  third = {c, 4000, NULL, 1};
	uint64_t seed = 3;

	(void)state;
	simulate(a, 4000, &tied, &seed);
	simulate(b, 4000, &tied, &seed);
	simulate(c, 4000, &loose, &seed);
	near(sonde_stats_correlation_time(a, 4000), 9, 4);
	near(sonde_stats_correlation_time(c, 4000), 1, 0.2);
	assert_true(sonde_stats_compare(&together, &base, &other, 1));
	simulate(a, 4000, &loose, &seed);
	assert_true(sonde_stats_compare(&alone, &base, &third, 1));
	assert_true(log(together.high / together.low) > 2 * log(alone.high / alone.low));
}

/* Three runs per side with little scatter, which do not overlap. A test of ranks only could not distinguish this from a
 * 3 % change. */
static void test_stats__three_runs_a_side_show_a_large_change(void **state)
{
	static double a[180], b[180];
	const size_t runs[] = {60, 60, 60};
	const struct noise n = {.sd = 0.002, .run = 0.005};
	struct sonde_side base = {a, 180, runs, 3}, other = {b, 180, runs, 3};
	struct sonde_side_change c;
	uint64_t seed = 6;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		simulate(a + 60 * i, 60, &n, &seed);
		simulate(b + 60 * i, 60, &n, &seed);
	}
	assert_true(sonde_stats_compare(&c, &base, &other, 1));
	assert_true(c.p > 0.05);
	for (i = 0; i < 180; i++)
		b[i] *= 1.4;
	assert_true(sonde_stats_compare(&c, &base, &other, 1));
	assert_true(is_called(&c, c.p) && c.p < 1e-4);
}

/* One side gets 12 % slower from start to end, so its next run may differ as much: 3 % is not significant. */
static void test_stats__a_run_that_drifts_tells_less(void **state)
{
	static double a[400], b[400];
	const struct noise n = {.sd = 0.04};
	struct sonde_side base = {a, 400, NULL, 1}, other = {b, 400, NULL, 1};
	struct sonde_side_change steady, drifting;
	uint64_t seed = 5;
	size_t i;

	(void)state;
	simulate(a, 400, &n, &seed);
	simulate(b, 400, &n, &seed);
	for (i = 0; i < 400; i++)
		b[i] *= 1.03;
	assert_true(sonde_stats_compare(&steady, &base, &other, 1));
	assert_true(is_called(&steady, steady.p));
	for (i = 0; i < 400; i++)
		b[i] *= 0.94 + 0.12 * (double)i / 400;
	assert_true(sonde_stats_compare(&drifting, &base, &other, 1));
	assert_false(is_called(&drifting, drifting.p));
	assert_true(drifting.low < 1 && drifting.high > 1.03);
	for (i = 0; i < 400; i++)
		b[i] *= 1.4; /* the drift is small compared with this */
	assert_true(sonde_stats_compare(&drifting, &base, &other, 1));
	assert_true(is_called(&drifting, drifting.p) && drifting.p < 1e-6);
}

static void test_stats__too_few_entries_tell_nothing(void **state)
{
	static const double one[] = {10}, other[] = {20}, three[] = {10, 10.1, 10.2},
			    more[] = {20, 20.1, 20.2};
	struct sonde_side a = {one, 1, NULL, 1}, b = {other, 1, NULL, 1};
	struct sonde_side_change c;

	(void)state;
	assert_true(sonde_stats_compare(&c, &a, &b, 1));
	near(c.ratio, 2, 0);
	assert_true(c.low == 0 && isinf(c.high) && c.p == 1);
	a = (struct sonde_side){three, 3, NULL, 1};
	b = (struct sonde_side){more, 3, NULL, 1};
	assert_true(sonde_stats_compare(&c, &a, &b, 1));
	assert_true(c.p > 0.05);
}

/* Clocks have a resolution: a few values that happen to be equal do not prove that there is no noise. */
static void test_stats__values_without_noise_need_numbers_too(void **state)
{
	static double a[60], b[60];
	struct sonde_side base = {a, 2, NULL, 1}, other = {b, 2, NULL, 1};
	struct sonde_side_change c;
	size_t i;

	(void)state;
	for (i = 0; i < 60; i++) {
		a[i] = 1024;
		b[i] = 1056;
	}
	assert_true(sonde_stats_compare(&c, &base, &other, 1));
	assert_false(is_called(&c, c.p));
	base.nr = other.nr = 60;
	assert_true(sonde_stats_compare(&c, &base, &other, 1));
	assert_true(is_called(&c, c.p));
}

static void test_stats__the_same_input_gives_the_same_bytes(void **state)
{
	static double a[50], b[50];
	const struct noise n = {.sd = 0.05, .rho = 0.5};
	struct sonde_side base = {a, 50, NULL, 1}, other = {b, 50, NULL, 1};
	struct sonde_side_change first, second;
	uint64_t seed = 4;

	(void)state;
	simulate(a, 50, &n, &seed);
	simulate(b, 50, &n, &seed);
	assert_true(sonde_stats_compare(&first, &base, &other, 9));
	assert_true(sonde_stats_compare(&second, &base, &other, 9));
	assert_memory_equal(&first, &second, sizeof(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats__quantiles_interpolate),
		cmocka_unit_test(test_stats__student_matches_its_tables),
		cmocka_unit_test(test_stats__false_discoveries_match_the_paper),
		cmocka_unit_test(test_stats__equal_programs_are_rarely_called_different),
		cmocka_unit_test(
			test_stats__equal_programs_of_five_runs_are_rarely_called_different),
		cmocka_unit_test(test_stats__a_slower_region_is_found_and_no_other_named),
		cmocka_unit_test(test_stats__correlation_is_measured_and_widens_the_interval),
		cmocka_unit_test(test_stats__three_runs_a_side_show_a_large_change),
		cmocka_unit_test(test_stats__a_run_that_drifts_tells_less),
		cmocka_unit_test(test_stats__too_few_entries_tell_nothing),
		cmocka_unit_test(test_stats__values_without_noise_need_numbers_too),
		cmocka_unit_test(test_stats__the_same_input_gives_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
