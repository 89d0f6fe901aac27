/*
 * A JSON scanner for large files: a cursor over bytes in memory, no tree.
 *
 * It is written by hand because it is the hot loop of reading traces, and most of their
 * text is not needed: values are skipped at the speed of memory. A value that does not
 * end inside the bytes at hand is reported as such, so that the caller can fetch more
 * bytes and read the value again. jansson and its like need the whole document and build
 * a tree of it.
 *
 * The scanner accepts what traces really contain: bytes that are not UTF-8, raw control
 * characters in strings, NaN and Infinity, integers of any size. With `is_lenient`, a
 * quote that is not followed by JSON syntax is part of its string.
 */
#ifndef SONDE_READ_JSON_SCAN_H
#define SONDE_READ_JSON_SCAN_H

#include "base/str.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum sonde_scan_rc {
	SONDE_SCAN_OK,
	SONDE_SCAN_MORE, /* the bytes end inside the value */
	SONDE_SCAN_BAD,
};

struct sonde_scan {
	const char *p, *end;
	bool is_last;	 /* nothing follows `end` */
	bool is_lenient; /* quotes inside strings may lack their backslash */
};

/* The place of a string, which decides what may follow its closing quote. */
enum sonde_scan_place {
	SONDE_SCAN_KEY,	  /* anything may follow; also for values that are never free text */
	SONDE_SCAN_VALUE, /* value of a member: another member or a closing bracket follows */
	SONDE_SCAN_INNER, /* string anywhere in a value that is skipped */
};

/* A cursor over a whole text, which may be empty. */
static inline struct sonde_scan sonde_scan_of(struct sonde_str text)
{
	return (struct sonde_scan){.p = text.p, .end = text.n ? text.p + text.n : text.p, .is_last = true};
}

struct sonde_scan_text {
	struct sonde_str raw; /* between the quotes */
	bool has_escapes;
};

/* The nesting at the cursor while a value is skipped; brackets in strings do not count. */
struct sonde_scan_skip {
	uint64_t depth;
	bool is_in_string;
};

static inline bool sonde_scan__is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Moves to the next byte that is no blank; false when there is none. */
static inline bool sonde_scan_space(struct sonde_scan *s)
{
	while (s->p < s->end && sonde_scan__is_space(*s->p))
		s->p++;
	return s->p < s->end;
}

/* The first `"` or `\` from p on, or end. */
static inline const char *sonde_scan__quote(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		int hit = _mm_movemask_epi8(
			_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, escape)));

		if (hit)
			return p + __builtin_ctz((unsigned)hit);
	}
#endif
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* The first quote or bracket of any kind from p on, or end. `[` and `{` differ in one bit. */
static inline const char *sonde_scan__bracket(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i low = _mm_or_si128(v, bit);
		int hit = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, quote),
			_mm_or_si128(_mm_cmpeq_epi8(low, open), _mm_cmpeq_epi8(low, close))));

		if (hit)
			return p + __builtin_ctz((unsigned)hit);
	}
#endif
	while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
		p++;
	return p;
}

/* Whether the quote before `p` ends its string, judged by what follows. Called only when lenient. */
enum sonde_scan_rc sonde_scan__ends(
	const struct sonde_scan *s, const char *p, enum sonde_scan_place place);

/* Reads a string; the cursor is at its opening quote. */
static inline enum sonde_scan_rc sonde_scan_string(
	struct sonde_scan *s, struct sonde_scan_text *out, enum sonde_scan_place place)
{
	const char *begin = s->p + 1, *p = begin;
	enum sonde_scan_rc rc;

	out->has_escapes = false;
	for (;;) {
		p = sonde_scan__quote(p, s->end);
		if (p == s->end)
			return SONDE_SCAN_MORE;
		if (*p == '\\') {
			out->has_escapes = true;
			if (s->end - p < 2)
				return SONDE_SCAN_MORE;
			p += 2;
			continue;
		}
		rc = s->is_lenient && place != SONDE_SCAN_KEY ? sonde_scan__ends(s, p + 1, place)
							      : SONDE_SCAN_OK;
		if (rc == SONDE_SCAN_MORE)
			return rc;
		if (rc == SONDE_SCAN_OK)
			break;
		p++;
	}
	out->raw = (struct sonde_str){begin, (size_t)(p - begin)};
	s->p = p + 1;
	return SONDE_SCAN_OK;
}

/* Reads a number or a word: everything up to the next delimiter. */
static inline enum sonde_scan_rc sonde_scan_word(struct sonde_scan *s, struct sonde_str *out)
{
	const char *p = s->p;

	while (p < s->end && *p != ',' && *p != '}' && *p != ']' && *p != '"' && *p != '{' &&
		*p != '[' && *p != ':' && !sonde_scan__is_space(*p))
		p++;
	if (p == s->end && !s->is_last)
		return SONDE_SCAN_MORE;
	if (p == s->p)
		return SONDE_SCAN_BAD;
	*out = (struct sonde_str){s->p, (size_t)(p - s->p)};
	s->p = p;
	return SONDE_SCAN_OK;
}

/* Skips a value of any kind; the cursor is at its first byte. */
enum sonde_scan_rc sonde_scan_value(struct sonde_scan *s);
/*
 * Skips a value of any length in several calls: consumes the bytes at hand; OK when the value has ended. Start with
 * a `state` of `= {0}`, and call again with more bytes. Never lenient.
 */
enum sonde_scan_rc sonde_scan_skip(struct sonde_scan *s, struct sonde_scan_skip *state);

/* Reads a string, number or word. A list or an object is skipped, and `out->raw.p` is NULL. */
static inline enum sonde_scan_rc sonde_scan_scalar(
	struct sonde_scan *s, struct sonde_scan_text *out)
{
	*out = (struct sonde_scan_text){{NULL, 0}, false};
	if (*s->p == '"')
		return sonde_scan_string(s, out, SONDE_SCAN_VALUE);
	return *s->p == '{' || *s->p == '[' ? sonde_scan_value(s) : sonde_scan_word(s, &out->raw);
}

/* Moves past the comma before an element, or past the closing bracket. */
static inline enum sonde_scan_rc sonde_scan__step(
	struct sonde_scan *s, bool is_first, char close, bool *is_end)
{
	*is_end = false;
	if (!sonde_scan_space(s))
		return SONDE_SCAN_MORE;
	if (!is_first && *s->p != close) {
		if (*s->p != ',')
			return SONDE_SCAN_BAD;
		s->p++;
		if (!sonde_scan_space(s))
			return SONDE_SCAN_MORE;
	}
	if (*s->p == close) { /* also after a comma: writers that were stopped leave one */
		s->p++;
		*is_end = true;
	}
	return SONDE_SCAN_OK;
}

/*
 * Moves to the next member of an object or element of an array. The cursor is behind the opening
 * bracket at first, and behind a value later. OK: the cursor is at the next value, in an object
 * behind its key. `*is_end`: the closing bracket was read instead.
 */
static inline enum sonde_scan_rc sonde_scan_member(
	struct sonde_scan *s, bool is_first, struct sonde_scan_text *key, bool *is_end)
{
	enum sonde_scan_rc rc = sonde_scan__step(s, is_first, '}', is_end);

	if (rc != SONDE_SCAN_OK || *is_end)
		return rc;
	if (*s->p != '"')
		return SONDE_SCAN_BAD;
	rc = sonde_scan_string(s, key, SONDE_SCAN_KEY);
	if (rc != SONDE_SCAN_OK)
		return rc;
	if (!sonde_scan_space(s))
		return SONDE_SCAN_MORE;
	if (*s->p != ':')
		return SONDE_SCAN_BAD;
	s->p++;
	return sonde_scan_space(s) ? SONDE_SCAN_OK : SONDE_SCAN_MORE;
}

static inline enum sonde_scan_rc sonde_scan_element(
	struct sonde_scan *s, bool is_first, bool *is_end)
{
	return sonde_scan__step(s, is_first, ']', is_end);
}

/* Appends the text of a string with its escapes resolved; an invalid escape stays as it is. */
void sonde_scan_unescape(struct sonde_buf *out, struct sonde_str raw);

/*
 * Reads a decimal number times 10^scale, rounded half up: with 3, µs become ns. `*out` is its absolute
 * value, `*is_negative` its sign. False for text that is not a number, NaN, or beyond 64 bits.
 */
bool sonde_scan_decimal(struct sonde_str word, unsigned scale, uint64_t *out, bool *is_negative);
/* Any finite number; false for anything else. */
bool sonde_scan_double(struct sonde_str word, double *out);

#endif
