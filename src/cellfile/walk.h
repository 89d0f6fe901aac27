/*
 * Moves values to bytes and back.
 *
 * A walk either writes or reads. Each function below moves one value: a writer appends `v` and returns it, a reader
 * returns the value that it reads. So one walk over a struct is both its writer and its reader: the two cannot differ,
 * and a new member is one line. A third kind of walk renumbers: it leaves all values as they are, except the numbers of
 * rows of tables, which it replaces by the numbers of other tables (cell_walks.h).
 *
 *     MOVE_NUMBER(w, p->pid);
 *     MOVE_INDEX(w, p->input, c->inputs.nr);
 *
 * After its first failure a reader returns only zeros. So a walk needs checks only for numbers that index, and for
 * conditions between several values.
 */
#ifndef SONDE_CELLFILE_WALK_H
#define SONDE_CELLFILE_WALK_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/varint.h"

#include <string.h>

struct sonde_walk {
	struct sonde_buf *to;	   /* a writer appends here; NULL = no writer */
	const struct sonde_numbers *of; /* a renumbering walk: the new numbers; NULL = no such walk. Both NULL: a reader */
	const uint8_t *p, *end;	   /* the rest of a reader's bytes */
	struct sonde_arena *arena; /* a reader copies texts here */
	uint32_t layout;	   /* layout version of the bytes; 0 = the newest */
	bool failed;		   /* the bytes are not valid */
	bool is_nomem;		   /* a reader is out of memory; a writer's buffer has its own flag */
	uint8_t bits;		   /* current byte of sonde_walk_bit */
};

static inline struct sonde_walk sonde_walk_reader(struct sonde_str bytes, struct sonde_arena *arena)
{
	const uint8_t *p = (const uint8_t *)bytes.p;

	return (struct sonde_walk){.p = p, .end = p + bytes.n, .arena = arena};
}

static inline bool sonde_walk_reads(const struct sonde_walk *w)
{
	return !w->to && !w->of;
}

/* Whether the rows have the members that were added with this layout version. */
static inline bool sonde_walk_knows(const struct sonde_walk *w, uint32_t layout)
{
	return !w->layout || w->layout >= layout;
}

static inline bool sonde_walk_ok(const struct sonde_walk *w)
{
	return !w->failed && !w->is_nomem;
}

/* Whether all bytes were read without an error. */
static inline bool sonde_walk_is_done(const struct sonde_walk *w)
{
	return sonde_walk_ok(w) && w->p == w->end;
}

/* A reader fails if the condition on its values is false. Other walks ignore it. */
static inline void sonde_walk_require(struct sonde_walk *w, bool is_so)
{
	w->failed |= sonde_walk_reads(w) && !is_so;
}

/* Whether `p` is not NULL; a reader that got NULL fails with is_nomem. */
static inline bool sonde_walk_got(struct sonde_walk *w, const void *p)
{
	w->is_nomem |= sonde_walk_reads(w) && !p;
	return p != NULL;
}

static inline uint64_t sonde_walk_number(struct sonde_walk *w, uint64_t v)
{
	uint8_t bytes[SONDE_VARINT_MAX];
	const uint8_t *next;

	if (w->to)
		sonde_buf_add(w->to, bytes, (size_t)(sonde_varint_put(bytes, v) - bytes));
	if (!sonde_walk_reads(w))
		return v;
	next = w->failed ? NULL : sonde_varint_get(w->p, w->end, &v);
	w->failed |= !next;
	w->p = next ? next : w->end;
	return next ? v : 0;
}

/* A number below `nr`. */
static inline uint64_t sonde_walk_index(struct sonde_walk *w, uint64_t v, uint64_t nr)
{
	v = sonde_walk_number(w, v);
	sonde_walk_require(w, v < nr);
	return w->failed ? 0 : v;
}

/* A number below `nr` or SONDE_NONE. Written as 0 for SONDE_NONE, else the number plus one. */
static inline uint32_t sonde_walk_maybe(struct sonde_walk *w, uint32_t v, uint64_t nr)
{
	uint32_t n = (uint32_t)sonde_walk_index(w, v == SONDE_NONE ? 0 : (uint64_t)v + 1, nr + 1);

	return n ? n - 1 : SONDE_NONE;
}

/* A number that may be missing. Written as 0 if it is, else the number plus one. */
static inline uint64_t sonde_walk_optional(struct sonde_walk *w, uint64_t v, bool *has)
{
	uint64_t n = sonde_walk_number(w, *has ? v + 1 : 0);

	*has = n != 0;
	return sonde_walk_reads(w) ? n - *has : v;
}

/* The number of elements that follow. Each takes at least one byte, so a count above the bytes left is an error. */
static inline size_t sonde_walk_count(struct sonde_walk *w, size_t nr)
{
	uint64_t v = sonde_walk_number(w, nr);

	sonde_walk_require(w, v <= (uint64_t)(w->end - w->p) && v < SONDE_NONE);
	return w->failed ? 0 : (size_t)v;
}

/* The lowest bytes of most doubles are zeros: in reverse byte order they make short numbers. */
static inline double sonde_walk_double(struct sonde_walk *w, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bits = __builtin_bswap64(sonde_walk_number(w, __builtin_bswap64(bits)));
	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* A reader returns text that is borrowed from its bytes. */
static inline struct sonde_str sonde_walk_bytes(struct sonde_walk *w, struct sonde_str s)
{
	uint64_t n = sonde_walk_number(w, s.p ? s.n + 1 : 0);

	if (w->to)
		sonde_buf_add(w->to, s.p, s.p ? s.n : 0);
	if (!sonde_walk_reads(w))
		return s;
	sonde_walk_require(w, n <= (uint64_t)(w->end - w->p) + 1);
	if (w->failed || n == 0)
		return (struct sonde_str){NULL, 0};
	s = (struct sonde_str){(const char *)w->p, (size_t)n - 1};
	w->p += n - 1;
	return s;
}

/* A reader returns text that lives in its arena. */
static inline struct sonde_str sonde_walk_text(struct sonde_walk *w, struct sonde_str s)
{
	s = sonde_walk_bytes(w, s);
	if (!sonde_walk_reads(w) || !s.p)
		return s;
	s = sonde_arena_dup(w->arena, s);
	sonde_walk_got(w, s.p);
	return s;
}

/* Bit `i` of `nr`, eight to a byte, lowest first. The walk must move all `nr` bits in order. */
static inline bool sonde_walk_bit(struct sonde_walk *w, bool v, size_t i, size_t nr)
{
	if (i % 8 == 0) {
		sonde_walk_require(w, w->p < w->end);
		w->bits = w->to || w->failed ? 0 : *w->p++;
	}
	if (!w->to)
		return w->bits >> i % 8 & 1;
	w->bits |= (uint8_t)((unsigned)v << i % 8);
	if (i % 8 == 7 || i + 1 == nr)
		sonde_buf_putc(w->to, (char)w->bits);
	return v;
}

/* Up to 64 flags as one number. */
static inline void sonde_walk_flags(struct sonde_walk *w, bool *const *at, size_t nr)
{
	uint64_t flags = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		flags |= (uint64_t)*at[i] << i;
	flags = sonde_walk_number(w, flags);
	sonde_walk_require(w, nr == 64 || !(flags >> nr)); /* a flag of a newer sonde cannot be ignored */
	for (i = 0; i < nr; i++)
		*at[i] = flags >> i & 1;
}

/* Each moves a member of any integer, floating-point or text type. */
#define MOVE_NUMBER(w, at)     ((at) = (__typeof__(at))sonde_walk_number(w, at))
#define MOVE_INDEX(w, at, nr)  ((at) = (__typeof__(at))sonde_walk_index(w, at, nr))
#define MOVE_MAYBE(w, at, nr)  ((at) = sonde_walk_maybe(w, at, nr))
#define MOVE_DOUBLE(w, at)     ((at) = (__typeof__(at))sonde_walk_double(w, at))
#define MOVE_TEXT(w, at)       ((at) = sonde_walk_text(w, at))
/* For a number that is mostly near another one: moves the difference, modulo 2⁶⁴. */
#define MOVE_SINCE(w, at, before) ((at) = (before) + sonde_walk_number(w, (at) - (before)))

/* Row `i` of a list: a reader adds the row, other walks take the one that is there. */
#define SONDE_WALK_ROW(w, list, i) (sonde_walk_reads(w) ? sonde_vec_push(list) : &(list)->at[i])

/* Moves the number of rows of a list, then loops over them: `row` points to each. */
#define MOVE_ROWS(w, list, row)                                                                    \
	for (size_t nr_ = sonde_walk_count(w, (list)->nr), at_ = 0;                                \
		at_ < nr_ && sonde_walk_ok(w) &&                                                   \
		sonde_walk_got(w, row = SONDE_WALK_ROW(w, list, at_));                             \
		at_++)

/* The same for a slice of the list: `number` rows from `first` on. */
#define MOVE_SLICE(w, list, first, number, row)                                                    \
	for (size_t at_ = ((first) = sonde_walk_reads(w) ? (__typeof__(first))(list)->nr : (first), \
		     (number) = (__typeof__(number))sonde_walk_count(w, number), 0);               \
		at_ < (number) && sonde_walk_ok(w) &&                                              \
		sonde_walk_got(w, row = SONDE_WALK_ROW(w, list, (first) + at_));                   \
		at_++)

#endif
