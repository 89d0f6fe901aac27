/*
 * Text: borrowed slices and growing buffers.
 *
 * A `struct sonde_str` points into memory somebody else owns (a mapped file,
 * an arena); it is not NUL-terminated and may hold any bytes, also NUL and
 * invalid UTF-8. `{NULL, 0}` is the empty slice.
 *
 * A `struct sonde_buf` owns its bytes, always keeps a NUL behind them, and
 * remembers a failed allocation instead of making every append a branch:
 * append as much as you like, then check `buf.failed` once. Start with `= {0}`,
 * end with `sonde_buf_release`.
 */
#ifndef SONDE_BASE_STR_H
#define SONDE_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_str {
	const char *p;
	size_t n;
};

#define SONDE_STR(lit)	 ((struct sonde_str){(lit), sizeof(lit) - 1})
/* The bytes of an array or of a struct without padding, as a key. */
#define SONDE_BYTES(x)	 ((struct sonde_str){(const char *)&(x), sizeof(x)})
#define SONDE_STR_ARG(s) (int)((s).n > 4096 ? 4096 : (s).n), ((s).p ? (s).p : "") /* for "%.*s" */

struct sonde_str sonde_str_from(const char *z); /* NULL gives the empty slice */
bool sonde_str_eq(struct sonde_str a, struct sonde_str b);
bool sonde_str_is(struct sonde_str a, const char *z);
int sonde_str_cmp(struct sonde_str a, struct sonde_str b); /* by bytes; a prefix comes before the longer text */
bool sonde_str_starts(struct sonde_str s, const char *prefix);
bool sonde_str_ends(struct sonde_str s, const char *suffix);
/* Whether a path ends with these names: `step/forward` ends with `forward`, and not with itself. */
bool sonde_str_ends_path(struct sonde_str path, struct sonde_str names);
struct sonde_str sonde_str_base(struct sonde_str path); /* the part behind the last slash; a slash at the very end is ignored */
struct sonde_str sonde_str_trim(struct sonde_str s); /* without blanks, tabs and line ends at both sides */
/* Index of `c` in `s`, or s.n. */
size_t sonde_str_find(struct sonde_str s, char c);
/* The piece before the first `sep`; `*rest` is what follows `sep` (empty when there is no `sep`). */
struct sonde_str sonde_str_cut(struct sonde_str s, char sep, struct sonde_str *rest);
/* Whether `needle` is in `s`; if so `*after`, unless `after` is NULL, is what follows it. */
bool sonde_str_has(struct sonde_str s, const char *needle, struct sonde_str *after);
/* The edit distance of two texts, or max + 1 when it is greater than `max`: for "did you mean". */
unsigned sonde_str_distance(struct sonde_str a, struct sonde_str b, unsigned max);

/* Reads a whole number: digits and nothing else. False, with *out = 0, for any other text and beyond 64 bits. */
bool sonde_str_u64(struct sonde_str s, uint64_t *out);

/* Reads a span of time, more than 0: `50us`, `50µs`, `1.5ms`, `2s`, `100ns`, `10min`, `1h`. False without a unit. */
bool sonde_str_ns(struct sonde_str s, uint64_t *ns);
/* Reads an amount of data, more than 0: `1GB`, `64MB`, `512kB`, `2GiB`, `100B`. False without a unit. */
bool sonde_str_bytes(struct sonde_str s, uint64_t *nr_bytes);

/*
 * Decodes one UTF-8 character at s[i]. Returns its length in bytes, or 0 for
 * an invalid sequence (overlong, surrogate, cut off); `*cp` is then the byte.
 */
unsigned sonde_utf8_decode(struct sonde_str s, size_t i, uint32_t *cp);
/* Encodes one character, at most 0x10ffff; returns how many bytes it took. */
size_t sonde_utf8_encode(char out[4], uint32_t cp);

struct sonde_buf {
	char *p;
	size_t n, cap;
	bool failed;
};

/* Makes room for `more` bytes behind those of the buffer; false when memory is short. */
bool sonde_buf_reserve(struct sonde_buf *b, size_t more);
void sonde_buf_add(struct sonde_buf *b, const void *p, size_t n);
void sonde_buf_str(struct sonde_buf *b, struct sonde_str s);
void sonde_buf_puts(struct sonde_buf *b, const char *z);
void sonde_buf_putc(struct sonde_buf *b, char c);
void sonde_buf_printf(struct sonde_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sonde_buf_vprintf(struct sonde_buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void sonde_buf_clear(struct sonde_buf *b); /* keeps the memory */
void sonde_buf_release(struct sonde_buf *b);
struct sonde_str sonde_buf_view(const struct sonde_buf *b); /* valid until the next append */

#endif
