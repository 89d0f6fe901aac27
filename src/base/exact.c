/*
 * Each addition computes its rounding error and keeps it as a double of its own (Shewchuk 1997): nothing is lost,
 * so the order of additions cannot matter. Reading the sum rounds once, as if it had been exact all along.
 */
#include "base/exact.h"

#include <math.h>
#include <string.h>

bool sonde_exact_add(struct sonde_exact *s, struct sonde_arena *arena, double v)
{
	uint32_t i, nr = 0;

	if (s->nr + 1 >= s->cap) {
		double *at = sonde_arena_alloc(arena, (s->cap * 2 + 4) * sizeof(*at));

		if (!at)
			return false;
		if (s->nr)
			memcpy(at, s->at, s->nr * sizeof(*at));
		s->at = at;
		s->cap = s->cap * 2 + 4;
	}
	for (i = 0; i < s->nr && isfinite(v); i++) {
		double a = fabs(v) < fabs(s->at[i]) ? s->at[i] : v;
		double b = fabs(v) < fabs(s->at[i]) ? v : s->at[i];
		double rest;

		v = a + b;
		rest = b - (v - a); /* exactly the rounding error */
		if (rest != 0 && isfinite(v))
			s->at[nr++] = rest;
	}
	if (!isfinite(v)) {
		s->odd += v;
		return true;
	}
	s->nr = nr;
	s->at[s->nr++] = v;
	return true;
}

double sonde_exact_value(const struct sonde_exact *s)
{
	uint32_t n = s->nr;
	double high = 0, low = 0, next;

	if (s->odd != 0)
		return s->odd;
	while (n > 0 && low == 0) { /* from the largest down, until a sum is rounded */
		double sum;

		next = s->at[--n];
		sum = high + next;
		low = next - (sum - high);
		high = sum;
	}
	/* The sum so far is exactly between two doubles: the smaller parts decide, not the rule for ties. */
	if (n > 0 && ((low < 0 && s->at[n - 1] < 0) || (low > 0 && s->at[n - 1] > 0))) {
		next = high + low * 2;
		if (next - high == low * 2)
			high = next;
	}
	return high + 0.0; /* no negative zero */
}
