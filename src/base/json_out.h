/*
 * A JSON writer: a thin layer over a sink that knows about commas, keys and
 * indentation. Objects and arrays opened with `is_flat` take one line.
 * Nesting is at most 31 deep; the caller balances open and close.
 */
#ifndef SONDE_BASE_JSON_OUT_H
#define SONDE_BASE_JSON_OUT_H

#include "base/sink.h"

struct sonde_json {
	struct sonde_sink *sink;
	unsigned depth;
	uint32_t has_items, flat; /* one bit per depth */
};

/* `key` is NULL inside an array and at the top. */
void sonde_json_open(struct sonde_json *w, const char *key, char bracket, bool is_flat);
void sonde_json_open_str(struct sonde_json *w, struct sonde_str key, char bracket, bool is_flat);
void sonde_json_close(struct sonde_json *w, char bracket);

void sonde_json_str(struct sonde_json *w, const char *key, struct sonde_str value);
void sonde_json_z(struct sonde_json *w, const char *key, const char *value); /* NULL: null */
void sonde_json_number(struct sonde_json *w, const char *key, double value); /* NaN: null */
void sonde_json_u64(struct sonde_json *w, const char *key, uint64_t value);
void sonde_json_null(struct sonde_json *w, const char *key);
void sonde_json_bool(struct sonde_json *w, const char *key, bool value);
/* A list of texts. */
void sonde_json_texts(
	struct sonde_json *w, const char *key, const struct sonde_str *texts, size_t nr, bool is_flat);
/*
 * A loop that writes an array, on one line (`is_line`) or with one item per line. `i` counts to `nr`; the body writes
 * item `i`, or nothing. The body must not leave the loop.
 */
#define sonde_json_array(w, key, is_line, i, nr)                                                   \
	for ((i) = 0, sonde_json_open(w, key, '[', is_line);                                       \
		(i) < (nr) || (sonde_json_close(w, ']'), false); (i)++)
/* The same for an array of objects, each on one line: the body writes the members of object `i`; it cannot skip an object. */
#define sonde_json_each(w, key, is_line, i, nr)                                                    \
	for ((i) = 0, sonde_json_open(w, key, '[', is_line);                                       \
		sonde_json_next(w, (i) == 0, (i) >= (nr)); (i)++)
bool sonde_json_next(struct sonde_json *w, bool is_first, bool is_over);
/* Writes the text, or null when there is none (p is NULL). */
void sonde_json_maybe(struct sonde_json *w, const char *key, struct sonde_str value);
/* Members whose key may have any bytes. */
void sonde_json_str_number(struct sonde_json *w, struct sonde_str key, double value);
void sonde_json_str_str(struct sonde_json *w, struct sonde_str key, struct sonde_str value);
/* Writes a number without blanks, for long arrays that contain only such numbers. NaN: null. */
void sonde_json_tight(struct sonde_json *w, double value, bool is_first);
/* The same for a number that is already text. */
void sonde_json_digits(struct sonde_json *w, struct sonde_str digits, bool is_first);
/* Writes such an array: `value` is an expression of `i`, which counts to `nr`. */
#define SONDE_JSON_LIST(w, key, i, nr, value)                                                      \
	do {                                                                                       \
		sonde_json_array(w, key, true, i, nr)                                              \
			sonde_json_tight(w, value, (i) == 0);                                      \
	} while (0)
/* The one that is called most: `member` is `"key": `, already escaped, at most SONDE_JSON_MEMBER_MAX bytes. */
#define SONDE_JSON_MEMBER_MAX 400
void sonde_json_member_number(struct sonde_json *w, struct sonde_str member, double value);

#endif
