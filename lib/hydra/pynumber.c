/* Reads numbers from text, and decides which texts are numbers in Python. */
#include "hydra/pynumber.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* A number beyond 64 bits, as decimal digits, the least significant first. */
struct big {
	unsigned char d[HYDRA_MAX_INT_DIGITS + 8];
	size_t n;
};

static bool big_muladd(struct big *big, unsigned mul, unsigned add)
{
	unsigned carry = add;
	size_t i;

	for (i = 0; i < big->n || carry; i++) {
		if (i >= HYDRA_MAX_INT_DIGITS)
			return false;
		if (i == big->n)
			big->d[big->n++] = 0;
		carry += big->d[i] * mul;
		big->d[i] = (unsigned char)(carry % 10);
		carry /= 10;
	}
	return true;
}

static struct hydra_datum *big_node(struct hydra_ctx *cx, const struct big *big, bool negative)
{
	struct hydra_datum *n = hydra_datum__new(cx, HYDRA_INT);
	struct sonde_buf b = {0};
	size_t i;

	if (negative)
		sonde_buf_putc(&b, '-');
	for (i = big->n; i-- > 0;)
		sonde_buf_putc(&b, (char)('0' + big->d[i]));
	if (n)
		n->s = hydra_ctx__take(cx, &b);
	else
		sonde_buf_release(&b);
	return n;
}

static struct hydra_datum *int_node(struct hydra_ctx *cx, const struct big *big, bool negative)
{
	int64_t small = 0;
	size_t i;

	if (big->n > 18)
		return big_node(cx, big, negative);
	for (i = big->n; i-- > 0;)
		small = small * 10 + big->d[i];
	return hydra_datum__int(cx, negative ? -small : small);
}

/* Whether Python's str.strip() removes the character: any white space of Unicode. */
static bool is_white(uint32_t c)
{
	return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000;
}

static struct sonde_str strip(struct sonde_str s)
{
	uint32_t c;
	unsigned n;
	size_t last;

	while (s.n && (n = sonde_utf8_decode(s, 0, &c)) && is_white(c))
		s.p += n, s.n -= n;
	while (s.n) {
		for (last = s.n - 1; last > 0 && ((unsigned char)s.p[last] & 0xc0) == 0x80;)
			last--;
		if (!sonde_utf8_decode(s, last, &c) || !is_white(c))
			break;
		s.n = last;
	}
	return s;
}

static struct sonde_str cut_sign(struct sonde_str text, bool *negative)
{
	*negative = text.n && text.p[0] == '-';
	if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
		return (struct sonde_str){text.p + 1, text.n - 1};
	return text;
}

static struct hydra_datum *too_long(struct hydra_ctx *cx)
{
	hydra_ctx__limit(cx, "an integer has more than %d digits", HYDRA_MAX_INT_DIGITS);
	return NULL;
}

struct hydra_datum *hydra_pynumber__int(struct hydra_ctx *cx, struct sonde_str text, unsigned base)
{
	struct big big = {.n = 0};
	bool negative;
	size_t i;

	text = cut_sign(strip(text), &negative);
	if (base == 2 || base == 16)
		text = (struct sonde_str){text.p + 2, text.n - 2};
	for (i = 0; i < text.n; i++) {
		int d = digit_of(text.p[i]);

		if (text.p[i] == '_')
			continue;
		if (d < 0 || (unsigned)d >= base)
			break;
		if (!big_muladd(&big, base, (unsigned)d))
			return too_long(cx);
	}
	return int_node(cx, &big, negative);
}

/* The first part has any number of digits, the others have one or two. */
struct hydra_datum *hydra_pynumber__int60(struct hydra_ctx *cx, struct sonde_str text)
{
	struct big big = {.n = 0};
	bool negative, first = true;

	text = cut_sign(text, &negative);
	for (; text.n; first = false) {
		struct sonde_str part = sonde_str_cut(text, ':', &text);
		unsigned value = 0;
		size_t i;

		for (i = 0; i < part.n; i++) {
			if (part.p[i] == '_')
				continue;
			value = value * 10 + (unsigned)digit_of(part.p[i]);
			if (first && !big_muladd(&big, 10, value))
				return too_long(cx);
			value = first ? 0 : value;
		}
		if (!first && !big_muladd(&big, 60, value))
			return too_long(cx);
	}
	return int_node(cx, &big, negative);
}

/* Copies a number without underscores into `out`. Digits that do not fit are cut off: they cannot change the double. */
static void squeeze(struct sonde_str text, char *out, size_t cap)
{
	size_t i, n = 0;

	for (i = 0; i < text.n && n + 1 < cap; i++)
		if (text.p[i] != '_')
			out[n++] = text.p[i];
	out[n] = '\0';
}

double hydra_pynumber__double(struct sonde_str text)
{
	char z[2048];

	squeeze(text, z, sizeof(z));
	return strtod(z, NULL);
}

double hydra_pynumber__double60(struct sonde_str text)
{
	double sum = 0, base = 1;
	bool negative;
	size_t end;

	text = cut_sign(text, &negative);
	for (end = text.n; end > 0;) {
		size_t start = end;

		while (start > 0 && text.p[start - 1] != ':')
			start--;
		sum += hydra_pynumber__double((struct sonde_str){text.p + start, end - start}) *
		       base;
		base *= 60;
		end = start ? start - 1 : 0;
	}
	return negative ? -sum : sum;
}

struct hydra_datum *hydra_pynumber__trunc(struct hydra_ctx *cx, double f)
{
	char text[400];

	snprintf(text, sizeof(text), "%.0f", trunc(f));
	return hydra_pynumber__int(cx, sonde_str_from(text), 10);
}

/* Skips digits, which may have single underscores between them, from `i` on; returns where they end (`i` = no digits). */
static size_t digits_end(struct sonde_str s, size_t i)
{
	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
		i++;
		if (i + 1 < s.n && s.p[i] == '_' && s.p[i + 1] >= '0' && s.p[i + 1] <= '9')
			i++;
	}
	return i;
}

bool hydra_pynumber__is_py_int(struct sonde_str text)
{
	bool negative;

	text = cut_sign(strip(text), &negative);
	return text.n && digits_end(text, 0) == text.n;
}

bool hydra_pynumber__is_word(struct sonde_str s, const char *words)
{
	struct sonde_str rest = sonde_str_from(words);

	while (rest.n) {
		struct sonde_str word = sonde_str_cut(rest, '|', &rest);

		if (s.n == word.n && strncasecmp(s.p ? s.p : "", word.p, s.n) == 0)
			return true;
	}
	return false;
}

bool hydra_pynumber__is_py_float(struct sonde_str text)
{
	bool negative;
	size_t i, whole, e;

	text = cut_sign(strip(text), &negative);
	if (hydra_pynumber__is_word(text, "inf|infinity|nan"))
		return true;
	i = whole = digits_end(text, 0);
	if (i < text.n && text.p[i] == '.') {
		size_t end = digits_end(text, i + 1);

		if (whole == 0 && end == i + 1)
			return false;
		i = end;
	}
	if (i == 0)
		return false;
	if (i < text.n && (text.p[i] == 'e' || text.p[i] == 'E')) {
		e = i + 1;
		if (e < text.n && (text.p[e] == '+' || text.p[e] == '-'))
			e++;
		i = digits_end(text, e);
		if (i == e)
			return false;
	}
	return i == text.n;
}

double hydra_pynumber__py_float(struct sonde_str text)
{
	return hydra_pynumber__double(strip(text));
}
