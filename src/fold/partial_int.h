/*
 * Inside the folding room: the layout of partial reports, as docs/cells-format.md
 * has it. The writer appends to a buffer; the reader has a cursor that fails once
 * and then gives zeros, so that only ends and numbers that index need a check.
 */
#ifndef SONDE_FOLD_PARTIAL_INT_H
#define SONDE_FOLD_PARTIAL_INT_H

#include "fold/fold_int.h"
#include "format/varint.h"

#include <string.h>

#define SONDE_PARTIAL_MAGIC   "SONDECEL"
#define SONDE_PARTIAL_VERSION 9

/* Sections. Kinds from SONDE_PARTIAL_OPTIONAL on are skipped by readers that do not know them. */
enum sonde_partial_kind {
	SONDE_PARTIAL_END,    /* the last: how many parts there are */
	SONDE_PARTIAL_TABLES, /* begins a part */
	SONDE_PARTIAL_VISITS,
	SONDE_PARTIAL_CELLS, /* ends it, but for what is optional */
	SONDE_PARTIAL_OPTIONAL = 64,
	SONDE_PARTIAL_SAMPLED = SONDE_PARTIAL_OPTIONAL, /* what samples told of the cells */
};

struct sonde_partial_head {
	char magic[8];
	uint32_t version, rules; /* SONDE_RULES_VERSION: what accumulators mean */
};

struct sonde_partial_section {
	uint32_t kind, zero;
	uint64_t nr_bytes;
	uint64_t check; /* XXH3 of the payload, seeded by kind and length */
};

static inline uint64_t sonde_partial__check(
	const struct sonde_partial_section *s, const void *payload)
{
	uint64_t key[2] = {s->kind, sonde_hash(payload, s->nr_bytes)};

	return sonde_hash(key, sizeof(key));
}

/* The reader's place in a section. */
struct sonde_cursor {
	const uint8_t *p, *end;
	bool failed;
};

static inline uint64_t sonde_get_u(struct sonde_cursor *c)
{
	uint64_t v = 0;
	const uint8_t *next = c->failed ? NULL : sonde_varint_get(c->p, c->end, &v);

	c->failed |= !next;
	c->p = next ? next : c->end;
	return next ? v : 0;
}

/* A number below `nr`; fails otherwise. */
static inline uint32_t sonde_get_index(struct sonde_cursor *c, size_t nr)
{
	uint64_t v = sonde_get_u(c);

	c->failed |= v >= nr;
	return c->failed ? 0 : (uint32_t)v;
}

/* The same, or SONDE_NONE, which is written as 0. */
static inline uint32_t sonde_get_maybe(struct sonde_cursor *c, size_t nr)
{
	uint32_t v = sonde_get_index(c, nr + 1);

	return v ? v - 1 : SONDE_NONE;
}

/* How many of something follow, each of a byte at least. */
static inline size_t sonde_get_count(struct sonde_cursor *c)
{
	uint64_t v = sonde_get_u(c);

	c->failed |= v > (uint64_t)(c->end - c->p) || v >= SONDE_NONE;
	return c->failed ? 0 : (size_t)v;
}

/* Bits of a double from the lowest byte up are mostly zeros: reversed, they make short numbers. */
static inline double sonde_get_f64(struct sonde_cursor *c)
{
	uint64_t bits = __builtin_bswap64(sonde_get_u(c));
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Borrowed from the file. */
static inline struct sonde_str sonde_get_str(struct sonde_cursor *c)
{
	uint64_t n = sonde_get_u(c);
	struct sonde_str s = {NULL, 0};

	c->failed |= n > (uint64_t)(c->end - c->p) + 1;
	if (c->failed || n == 0)
		return s;
	s = (struct sonde_str){(const char *)c->p, (size_t)n - 1};
	c->p += n - 1;
	return s;
}

static inline void sonde_put_u(struct sonde_buf *b, uint64_t v)
{
	uint8_t bytes[SONDE_VARINT_MAX];

	sonde_buf_add(b, bytes, (size_t)(sonde_varint_put(bytes, v) - bytes));
}

static inline void sonde_put_maybe(struct sonde_buf *b, uint32_t number)
{
	sonde_put_u(b, number == SONDE_NONE ? 0 : (uint64_t)number + 1);
}

static inline void sonde_put_f64(struct sonde_buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	sonde_put_u(b, __builtin_bswap64(bits));
}

static inline void sonde_put_str(struct sonde_buf *b, struct sonde_str s)
{
	sonde_put_u(b, s.p ? s.n + 1 : 0);
	sonde_buf_add(b, s.p, s.p ? s.n : 0);
}

/* The times of a visit that may be missing: a bit each, in this order. */
#define SONDE_PARTIAL_NR_TIMES (15 + SONDE_NR_IDLE_CAUSES)
static inline void sonde_partial__times(struct sonde_visit *v, double **at)
{
	double *const times[] = {&v->busy_ns, &v->span_ns, &v->idle_ns, &v->host_ns, &v->cpu_ns,
		&v->waits.tail_ns, &v->waits.queue_ns, &v->waits.comm_ns, &v->waits.exposed_ns,
		&v->memory.allocated, &v->memory.freed, &v->memory.left, &v->memory.peak, &v->timed,
		&v->time_error_ns};
	size_t i;

	memcpy(at, times, sizeof(times));
	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		at[15 + i] = &v->waits.by[i];
}

void sonde_partial__put_words(struct sonde_buf *b, struct sonde_words words);
void sonde_partial__put_settings(struct sonde_buf *b, const struct sonde_selection *s,
	const struct sonde_read_options *read);
/* Each: false when memory is short; damage is the cursor's. */
bool sonde_partial__words(
	struct sonde_cursor *in, struct sonde_arena *arena, struct sonde_words *words);
bool sonde_partial__settings(struct sonde_cursor *in, struct sonde_arena *arena,
	struct sonde_selection *s, struct sonde_read_options *read);
/* The timeline of a part, which no file has. */
void sonde_partial__put_timeline(struct sonde_buf *b, const struct sonde_timeline *t);
bool sonde_partial__timeline(struct sonde_cursor *in, struct sonde_cells *c);

/* By metric number: the method its accumulators follow. NULL: no memory. */
uint8_t *sonde_partial__methods(struct sonde_arena *arena, const struct sonde_map *metrics);

/* Each fills in a part from one section; false: damaged, or `*is_nomem`. */
bool sonde_partial__tables(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem);
bool sonde_partial__visits(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem);
bool sonde_partial__cells(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem);
bool sonde_partial__sampled(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem);
void sonde_partial__put_sampled(struct sonde_buf *b, const struct sonde_cells *c);

#endif
