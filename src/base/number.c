/*
 * A double is m times a power of two, so its first fifteen digits take one multiplication in 128 bits and
 * a shift. Very large and very small numbers, for which 128 bits are too few, go through printf.
 */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128; /* ISO C has none */

#define NR_DIGITS 15
#define TEN_15	  1000000000000000u

/* 5^0 … 5^27: all powers of five that fit into 64 bits. */
static const uint64_t pow5[28] = {1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u,
	9765625u, 48828125u, 244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u,
	762939453125u, 3814697265625u, 19073486328125u, 95367431640625u, 476837158203125u,
	2384185791015625u, 11920928955078125u, 59604644775390625u, 298023223876953125u,
	1490116119384765625u, 7450580596923828125u};

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

size_t sonde_number_format_u64(char out[SONDE_NUMBER_MAX], uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits), n;

	while (v >= 100) {
		at -= 2;
		memcpy(digits + at, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		at -= 2;
		memcpy(digits + at, pairs + v * 2, 2);
	} else {
		digits[--at] = (char)('0' + v);
	}
	n = sizeof(digits) - at;
	memcpy(out, digits + at, n);
	out[n] = '\0';
	return n;
}

/*
 * v × 10^k rounded to a whole number, ties to even. v = m × 2^e, so this is
 * m × 5^k shifted by e + k: exact in 128 bits for the v and k used here.
 */
static uint64_t scale(double v, int k)
{
	uint64_t bits, m, quotient;
	u128 product, rest, half;
	int shift;

	memcpy(&bits, &v, sizeof(bits));
	m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
	shift = -((int)(bits >> 52 & 0x7ff) - 1075 + k);
	product = (u128)m * pow5[k];
	quotient = (uint64_t)(product >> shift);
	rest = product & (((u128)1 << shift) - 1);
	half = (u128)1 << (shift - 1);
	return quotient + (rest > half || (rest == half && quotient & 1));
}

/* Returns the first 15 digits of v as a number; `*exponent` is the power of ten of the first digit. */
static uint64_t significant(double v, int *exponent)
{
	uint64_t bits, q;
	int e10;

	memcpy(&bits, &v, sizeof(bits));
	e10 = ((int)(bits >> 52) - 1023) * 315653 >> 20; /* × log10(2), rounded down */
	q = scale(v, NR_DIGITS - 1 - e10);
	if (q >= TEN_15)
		q = scale(v, NR_DIGITS - 1 - ++e10);
	if (q >= TEN_15) { /* rounded up to the next power of ten */
		q /= 10;
		e10++;
	}
	*exponent = e10;
	return q;
}

static size_t place_point(char *out, const char *digits, size_t nr, int exponent)
{
	size_t n = 0;

	if (exponent < -4) {
		out[n++] = digits[0];
		if (nr > 1)
			out[n++] = '.';
		memcpy(out + n, digits + 1, nr - 1);
		n += nr - 1;
		out[n++] = 'e';
		out[n++] = '-';
		out[n++] = (char)('0' + -exponent / 10);
		out[n++] = (char)('0' + -exponent % 10);
		return n;
	}
	if (exponent < 0) {
		n = (size_t)(1 - exponent);
		memcpy(out, "0.0000", n);
		memcpy(out + n, digits, nr);
		return n + nr;
	}
	n = (size_t)exponent + 1; /* digits before the point: the caller cut off zeros only, which are still in `digits` */
	memcpy(out, digits, n);
	if (nr <= n)
		return n;
	out[n] = '.';
	memcpy(out + n + 1, digits + n, nr - n);
	return nr + 1;
}

static size_t format_fraction(char *out, double v)
{
	char digits[SONDE_NUMBER_MAX];
	size_t nr = NR_DIGITS, n;
	int exponent;

	sonde_number_format_u64(digits, significant(v, &exponent));
	while (nr > 1 && digits[nr - 1] == '0')
		nr--;
	n = place_point(out, digits, nr, exponent);
	out[n] = '\0';
	return n;
}

size_t sonde_number_format(char out[SONDE_NUMBER_MAX], double v)
{
	size_t sign = 0;

	if (!isfinite(v)) { /* Invariant 15. */
		memcpy(out, "null", 5);
		return 4;
	}
	if (v < 0) {
		out[sign++] = '-';
		v = -v;
	}
	if (v < 9e18 && v == (double)(int64_t)v)
		return sign + sonde_number_format_u64(out + sign, (uint64_t)v);
	if (v >= 1e-12 && v < 1e14)
		return sign + format_fraction(out + sign, v);
	return sign + (size_t)snprintf(out + sign, SONDE_NUMBER_MAX - sign, "%.15g", v);
}

static void factor(struct sonde_buf *out, double v, const char *unit)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	size_t i = 0;

	while (fabs(v) >= 999.5 && i + 1 < sizeof(prefixes) / sizeof(*prefixes)) {
		v /= 1000;
		i++;
	}
	if (i == 0 && v == floor(v))
		sonde_buf_printf(out, "%.0f", v);
	else
		sonde_buf_printf(out,
			fabs(v) < 9.995	  ? "%.2f"
			: fabs(v) < 99.95 ? "%.1f"
					  : "%.0f",
			v);
	if (*prefixes[i] || *unit)
		sonde_buf_printf(out, " %s%s", prefixes[i], unit);
}

static void put_time_ns(struct sonde_buf *out, double ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\u00b5s"}, {0, "ns"}};
	size_t i = 0;

	while (fabs(ns) < units[i].ns)
		i++;
	if (units[i].ns > 0)
		ns /= units[i].ns;
	sonde_buf_printf(out, "%.*f %s", ns == floor(ns) ? 0 : 2, ns, units[i].name);
}

static void put_bytes(struct sonde_buf *out, double v, const char *per)
{
	char unit[32];

	snprintf(unit, sizeof(unit), "B%s", per); /* "/s", "/block", … */
	factor(out, v, unit);
}

void sonde_number_human(struct sonde_buf *out, double v, const char *unit)
{
	if (!isfinite(v))
		sonde_buf_puts(out, "-");
	else if (strcmp(unit, "%") == 0)
		sonde_buf_printf(out, "%.1f", v);
	else if (strcmp(unit, "ns") == 0)
		put_time_ns(out, v);
	else if (strncmp(unit, "byte", 4) == 0)
		put_bytes(out, v, unit + 4);
	else if (strncmp(unit, "FLOP", 4) == 0)
		factor(out, v, unit);
	else
		factor(out, v, "");
}
