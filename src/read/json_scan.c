#include "read/json_scan.h"

#include <math.h>
#include <stdlib.h>

#define MAX_KEY 256 /* bytes searched for the end of a key */

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && sonde_scan__is_space(*p))
		p++;
	return p;
}

/* Whether `"…":` is at p. */
static enum sonde_scan_rc is_key_at(const struct sonde_scan *s, const char *p)
{
	const char *q;

	if (p < s->end && *p != '"')
		return SONDE_SCAN_BAD;
	for (q = p + 1; q < s->end && q - p < MAX_KEY && *q != '"'; q++)
		;
	if (q - p >= MAX_KEY)
		return SONDE_SCAN_BAD;
	if (q < s->end)
		q = skip_space(q + 1, s->end);
	if (q >= s->end)
		return s->is_last ? SONDE_SCAN_OK : SONDE_SCAN_MORE;
	return *q == ':' ? SONDE_SCAN_OK : SONDE_SCAN_BAD;
}

/* A closing bracket counts as one when more JSON follows it. */
static enum sonde_scan_rc is_close_at(const struct sonde_scan *s, const char *p)
{
	p = skip_space(p + 1, s->end);
	if (p >= s->end)
		return s->is_last ? SONDE_SCAN_OK : SONDE_SCAN_MORE;
	return strchr(",]}", *p) && *p ? SONDE_SCAN_OK : SONDE_SCAN_BAD;
}

enum sonde_scan_rc sonde_scan__ends(
	const struct sonde_scan *s, const char *p, enum sonde_scan_place place)
{
	p = skip_space(p, s->end);
	if (p >= s->end)
		return s->is_last ? SONDE_SCAN_OK : SONDE_SCAN_MORE;
	if (place == SONDE_SCAN_INNER)
		return *p && strchr(",:]}", *p) ? SONDE_SCAN_OK : SONDE_SCAN_BAD;
	if (*p == '}' || *p == ']')
		return is_close_at(s, p);
	return *p == ',' ? is_key_at(s, skip_space(p + 1, s->end)) : SONDE_SCAN_BAD;
}

/*
 * From inside a string: returns the place after its closing quote; or NULL, with `*at` where to continue when there
 * are more bytes.
 */
static const char *skip_string(const char *p, const char *end, const char **at)
{
	for (;;) {
		p = sonde_scan__quote(p, end);
		*at = p;
		if (p == end)
			return NULL;
		if (*p == '"')
			return p + 1;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
}

enum sonde_scan_rc sonde_scan_skip(struct sonde_scan *s, struct sonde_scan_skip *state)
{
	const char *p = s->p, *end = s->end, *at;
	uint64_t depth = state->depth;

	if (p == end)
		return SONDE_SCAN_MORE;
	if (!depth && !state->is_in_string && *p != '"' && (*p | 0x20) != '{')
		return sonde_scan_word(s, &(struct sonde_str){NULL, 0});
	do {
		if (!state->is_in_string) {
			p = sonde_scan__bracket(p, end);
			if (p == end)
				break;
			if (*p++ != '"') {
				depth += (p[-1] | 0x20) == '{' ? 1 : UINT64_MAX;
				continue;
			}
		}
		p = skip_string(p, end, &at);
		state->is_in_string = !p;
		p = p ? p : at;
	} while (depth && !state->is_in_string);
	s->p = p;
	state->depth = depth;
	return depth || state->is_in_string ? SONDE_SCAN_MORE : SONDE_SCAN_OK;
}

/* Skips a value whose strings may contain quotes without a backslash. */
static enum sonde_scan_rc skip_lenient(struct sonde_scan *s)
{
	struct sonde_scan_text text;
	enum sonde_scan_rc rc = SONDE_SCAN_OK;
	uint64_t depth = 0;

	do {
		s->p = depth ? sonde_scan__bracket(s->p, s->end) : s->p;
		if (s->p == s->end)
			return SONDE_SCAN_MORE;
		if (*s->p == '"') {
			rc = sonde_scan_string(s, &text, depth ? SONDE_SCAN_INNER : SONDE_SCAN_VALUE);
		} else if (!depth && (*s->p | 0x20) != '{') {
			return sonde_scan_word(s, &text.raw);
		} else {
			depth += (*s->p | 0x20) == '{' ? 1 : UINT64_MAX;
			s->p++;
		}
	} while (rc == SONDE_SCAN_OK && depth);
	return rc;
}

enum sonde_scan_rc sonde_scan_value(struct sonde_scan *s)
{
	struct sonde_scan_skip state = {0};

	return s->is_lenient ? skip_lenient(s) : sonde_scan_skip(s, &state);
}

static int hex4(const char *p)
{
	int v = 0, i;

	for (i = 0; i < 4; i++) {
		char c = p[i];

		v = v << 4;
		if (c >= '0' && c <= '9')
			v |= c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v |= (c | 0x20) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

static void add_utf8(struct sonde_buf *out, unsigned cp)
{
	char bytes[4];

	sonde_buf_add(out, bytes, sonde_utf8_encode(bytes, cp));
}

/* Appends the character of `\uXXXX` at p, or of a pair of them; returns how many bytes they take, 0 when they are malformed. */
static size_t add_unicode(struct sonde_buf *out, const char *p, const char *end)
{
	int high = end - p >= 6 ? hex4(p + 2) : -1, low = -1;

	if (high < 0)
		return 0;
	if (high >= 0xd800 && high < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u')
		low = hex4(p + 8);
	if (low >= 0xdc00 && low < 0xe000) {
		add_utf8(out, 0x10000u + (((unsigned)high & 0x3ff) << 10) + ((unsigned)low & 0x3ff));
		return 12;
	}
	if (high >= 0xd800 && high < 0xe000)
		high = 0xfffd; /* half of a surrogate pair is not a character */
	add_utf8(out, (unsigned)high);
	return 6;
}

void sonde_scan_unescape(struct sonde_buf *out, struct sonde_str raw)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p = raw.p, *end = raw.p + raw.n, *at;
	size_t n;

	while (p < end) {
		if (*p != '\\' || end - p < 2) {
			sonde_buf_putc(out, *p++);
			continue;
		}
		at = p[1] ? strchr(from, p[1]) : NULL;
		n = p[1] == 'u' ? add_unicode(out, p, end) : 0;
		if (at)
			sonde_buf_putc(out, to[at - from]);
		else if (!n)
			sonde_buf_add(out, p, 2);
		p += n ? n : 2;
	}
}

bool sonde_scan_double(struct sonde_str word, double *out)
{
	char text[64], *end;

	if (word.n == 0 || word.n >= sizeof(text))
		return false;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	*out = strtod(text, &end);
	return *end == '\0' && isfinite(*out);
}

/* Numbers with an exponent, which no writer of traces uses: strtod reads them. */
static bool slow_decimal(struct sonde_str word, unsigned scale, uint64_t *out, bool *is_negative)
{
	double v;

	if (!(memchr(word.p, 'e', word.n) || memchr(word.p, 'E', word.n)) ||
		!sonde_scan_double(word, &v))
		return false;
	*is_negative = v < 0;
	v = fabs(v) * pow(10, scale) + 0.5;
	if (v >= 18446744073709551615.0)
		return false;
	*out = (uint64_t)v;
	return true;
}

bool sonde_scan_decimal(struct sonde_str word, unsigned scale, uint64_t *out, bool *is_negative)
{
	const char *p = word.p, *end = word.p + word.n;
	bool is_negative_word = p < end && *p == '-', overflows = false;
	const char *digits;
	uint64_t v = 0;
	unsigned left;

	*is_negative = is_negative_word;
	p += is_negative_word || (p < end && *p == '+');
	for (digits = p; p < end && *p >= '0' && *p <= '9'; p++)
		overflows |= __builtin_mul_overflow(v, 10u, &v) ||
			     __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
	if (p == digits)
		return false;
	if (p < end && *p == '.')
		p++;
	for (left = scale; left; left--) {
		unsigned digit = p < end && *p >= '0' && *p <= '9' ? (unsigned)(*p++ - '0') : 0;

		overflows |= __builtin_mul_overflow(v, 10u, &v) ||
			     __builtin_add_overflow(v, digit, &v);
	}
	if (p < end && *p >= '5' && *p <= '9')
		overflows |= __builtin_add_overflow(v, 1u, &v);
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	*out = v;
	return p == end ? !overflows : slow_decimal(word, scale, out, is_negative);
}
