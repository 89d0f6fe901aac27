/*
 * The values of range(start, stop, step).
 *
 * If all three are ints, the values are ints. If any is a float, the exact decimal
 * expansions of the doubles are added with 28 significant digits, rounding half to
 * even, and each value is printed as the nearest double. So range(0.1,0.5,0.1)
 * contains 0.30000000000000004, as in Hydra.
 */
#include "hydra/override.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE	  320  /* more digits before the point than any double has, so that there is room to carry */
#define FRACTION  1080 /* more digits behind the point than any double has */
#define WIDTH	  (WHOLE + FRACTION)
#define PRECISION 28

/* A fixed-point decimal, most significant digit first. */
struct decimal {
	bool negative;
	unsigned char d[WIDTH];
};

static void from_double(struct decimal *out, double f)
{
	char text[WIDTH + 64];
	const char *point;
	size_t whole, i;

	memset(out, 0, sizeof(*out));
	out->negative = signbit(f);
	snprintf(text, sizeof(text), "%.*f", FRACTION - 1, fabs(f));
	point = strchr(text, '.');
	whole = (size_t)(point - text);
	for (i = 0; i < whole; i++)
		out->d[WHOLE - whole + i] = (unsigned char)(text[i] - '0');
	for (i = 0; point[1 + i] && i < FRACTION; i++)
		out->d[WHOLE + i] = (unsigned char)(point[1 + i] - '0');
}

static double to_double(const struct decimal *a)
{
	char text[WIDTH + 8];
	size_t i, n = 0;

	if (a->negative)
		text[n++] = '-';
	for (i = 0; i < WIDTH; i++) {
		if (i == WHOLE)
			text[n++] = '.';
		text[n++] = (char)('0' + a->d[i]);
	}
	text[n] = '\0';
	return strtod(text, NULL);
}

static int compare_size(const struct decimal *a, const struct decimal *b)
{
	return memcmp(a->d, b->d, WIDTH);
}

static bool is_zero(const struct decimal *a)
{
	size_t i;

	for (i = 0; i < WIDTH; i++)
		if (a->d[i])
			return false;
	return true;
}

static bool less(const struct decimal *a, const struct decimal *b)
{
	bool an = a->negative && !is_zero(a), bn = b->negative && !is_zero(b);

	if (an != bn)
		return an;
	return an ? compare_size(b, a) < 0 : compare_size(a, b) < 0;
}

static void add_digits(struct decimal *a, const struct decimal *b)
{
	unsigned carry = 0;
	size_t i;

	for (i = WIDTH; i-- > 0;) {
		carry += a->d[i] + b->d[i];
		a->d[i] = (unsigned char)(carry % 10);
		carry /= 10;
	}
}

/* a - b; a must not be smaller than b. */
static void sub_digits(struct decimal *a, const struct decimal *b)
{
	int borrow = 0;
	size_t i;

	for (i = WIDTH; i-- > 0;) {
		int d = a->d[i] - b->d[i] - borrow;

		borrow = d < 0;
		a->d[i] = (unsigned char)(d + (borrow ? 10 : 0));
	}
}

static void round_to_precision(struct decimal *a)
{
	size_t first = 0, cut, i;
	bool rest = false, up;

	while (first < WIDTH && !a->d[first])
		first++;
	cut = first + PRECISION;
	if (cut >= WIDTH)
		return;
	for (i = cut + 1; i < WIDTH; i++)
		rest |= a->d[i] != 0;
	up = a->d[cut] > 5 || (a->d[cut] == 5 && (rest || a->d[cut - 1] % 2));
	memset(a->d + cut, 0, WIDTH - cut);
	for (i = cut; up && i-- > 0;) {
		up = a->d[i] == 9;
		a->d[i] = up ? 0 : a->d[i] + 1;
	}
}

static void add(struct decimal *a, const struct decimal *b)
{
	bool signs_differ = a->negative != b->negative;
	struct decimal t;

	if (!signs_differ) {
		add_digits(a, b);
	} else if (compare_size(a, b) >= 0) {
		sub_digits(a, b);
	} else {
		t = *b;
		sub_digits(&t, a);
		*a = t;
	}
	if (signs_differ && is_zero(a))
		a->negative = false; /* x - x is +0 */
	round_to_precision(a);
}

static struct hydra_datum *too_many(struct hydra_ctx *cx)
{
	hydra_ctx__limit(cx, "the range has more than %d values", HYDRA_MAX_SWEEP);
	return NULL;
}

static struct hydra_datum *zero_step(struct hydra_ctx *cx)
{
	return hydra_ctx__refuse(cx, "ValueError", "range() arg 3 must not be zero");
}

static struct hydra_datum *float_range(struct hydra_ctx *cx, const struct hydra_datum *r)
{
	struct hydra_datum *list = hydra_datum__new(cx, HYDRA_LIST);
	double f[3];
	struct decimal v[3];
	size_t i;

	for (i = 0; i < 3; i++) {
		f[i] = hydra_datum__to_double(r->seq.at[i]);
		if (!isfinite(f[i]))
			return hydra_ctx__refuse(cx, "ValueError", "a range needs finite numbers");
		from_double(&v[i], f[i]);
	}
	if (f[2] == 0)
		return zero_step(cx);
	while (list && (f[2] > 0 ? less(&v[0], &v[1]) : less(&v[1], &v[0]))) {
		if (list->seq.nr >= HYDRA_MAX_SWEEP)
			return too_many(cx);
		if (hydra_datum__push(cx, list, hydra_datum__float(cx, to_double(&v[0]))) ||
			cx->fail.code)
			return NULL;
		add(&v[0], &v[2]);
	}
	return list;
}

static struct hydra_datum *int_range(struct hydra_ctx *cx, const struct hydra_datum *r)
{
	struct hydra_datum *list = hydra_datum__new(cx, HYDRA_LIST);
	__extension__ __int128 v[3], at;
	size_t i;

	for (i = 0; i < 3; i++) {
		if (r->seq.at[i]->kind == HYDRA_INT && r->seq.at[i]->s.n) {
			hydra_ctx__limit(cx, "the numbers of a range are too large");
			return NULL;
		}
		v[i] = r->seq.at[i]->kind == HYDRA_BOOL ? r->seq.at[i]->b : r->seq.at[i]->i;
	}
	if (v[2] == 0)
		return zero_step(cx);
	for (at = v[0]; list && (v[2] > 0 ? at < v[1] : at > v[1]); at += v[2]) {
		if (list->seq.nr >= HYDRA_MAX_SWEEP)
			return too_many(cx);
		if (hydra_datum__push(cx, list, hydra_datum__int(cx, (int64_t)at)) || cx->fail.code)
			return NULL;
	}
	return list;
}

struct hydra_datum *hydra_override__expand(struct hydra_ctx *cx, const struct hydra_datum *sweep)
{
	struct hydra_datum *list;
	uint32_t i;

	if (sweep->kind == HYDRA_RANGE) {
		for (i = 0; i < 3; i++)
			if (sweep->seq.at[i]->kind == HYDRA_FLOAT)
				return float_range(cx, sweep);
		return int_range(cx, sweep);
	}
	list = hydra_datum__new(cx, HYDRA_LIST);
	for (i = 0; list && i < sweep->seq.nr; i++)
		if (hydra_datum__push(cx, list, hydra_datum__copy(cx, sweep->seq.at[i])) ||
			cx->fail.code)
			return NULL;
	return list;
}
