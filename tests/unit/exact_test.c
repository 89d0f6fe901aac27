#include "unit.h"

#include "base/exact.h"

#include <math.h>
#include <string.h>

static double sum_of(const double *at, size_t nr, size_t first, size_t step)
{
	struct sonde_exact s = {0};
	struct sonde_arena arena = {0};
	double v;
	size_t i;

	for (i = 0; i < nr; i++)
		assert_true(sonde_exact_add(&s, &arena, at[(first + i * step) % nr]));
	v = sonde_exact_value(&s);
	sonde_arena_release(&arena);
	return v;
}

static void test_exact__small_numbers_are_not_lost_beside_large_ones(void **state)
{
	const double at[] = {1e100, 1, -1e100, 1e-30, 2};

	(void)state;
	assert_true(sum_of(at, 5, 0, 1) == 3 + 1e-30);
	assert_true(sum_of(at, 3, 0, 1) == 1);
	assert_true(sum_of(at, 0, 0, 1) == 0);
}

static void test_exact__any_order_gives_the_same_bits(void **state)
{
	double at[997], want, got;
	uint64_t x = 88172645463325252u;
	size_t i, step;

	(void)state;
	for (i = 0; i < 997; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at[i] = ldexp((double)(int64_t)x, (int)(x % 120) - 60);
	}
	want = sum_of(at, 997, 0, 1);
	for (step = 2; step < 40; step++) {
		got = sum_of(at, 997, step * 13, step);
		assert_memory_equal(&want, &got, sizeof(want));
	}
}

/* A sum exactly between two doubles: a tiny addend decides how it is rounded. */
static void test_exact__a_tie_is_broken_by_what_follows(void **state)
{
	const double up[] = {1, 0x1p-53, 0x1p-200}, down[] = {1, 0x1p-53, -0x1p-200};

	(void)state;
	assert_true(sum_of(up, 3, 0, 1) == 1 + 0x1p-52);
	assert_true(sum_of(down, 3, 0, 1) == 1);
}

static void test_exact__what_is_taken_away_leaves_no_trace(void **state)
{
	struct sonde_exact s = {0};
	struct sonde_arena arena = {0};

	(void)state;
	sonde_exact_add(&s, &arena, 0.1);
	sonde_exact_add(&s, &arena, 1e300);
	sonde_exact_add(&s, &arena, 0.7);
	sonde_exact_add(&s, &arena, -1e300);
	sonde_exact_add(&s, &arena, -0.7);
	assert_true(sonde_exact_value(&s) == 0.1);
	sonde_exact_add(&s, &arena, INFINITY);
	assert_true(isinf(sonde_exact_value(&s)));
	sonde_exact_add(&s, &arena, NAN);
	assert_true(isnan(sonde_exact_value(&s)));
	sonde_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact__small_numbers_are_not_lost_beside_large_ones),
		cmocka_unit_test(test_exact__any_order_gives_the_same_bits),
		cmocka_unit_test(test_exact__a_tie_is_broken_by_what_follows),
		cmocka_unit_test(test_exact__what_is_taken_away_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
