/*
 * An arena: many allocations, freed together.
 *
 * There is one arena per stage, or per result of a stage. Everything that it hands out is 16-byte aligned and
 * lives until `sonde_arena_release`; nothing is freed one by one. Vectors (vec.h) and maps (map.h) can belong to
 * an arena too. Start with `= {0}`. Do not move an arena that owns vectors: they point back to it.
 *
 * When memory is short each function here returns NULL, or the empty slice, and the arena remembers the failure:
 * a stage asks `sonde_arena_status` once, at its end. Before that, it must not read through such a NULL.
 *
 * Built with -DSONDE_ARENA_MALLOC (the sanitizer build does) each allocation is
 * a malloc of its own, so that AddressSanitizer sees overruns.
 */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include "base/str.h"

struct sonde_err;
struct sonde_vec_head;

struct sonde_arena {
	struct sonde_arena_block *head;
	struct sonde_vec_head *vecs; /* the arrays of the vectors that this arena owns, as a list */
	size_t nr_bytes; /* bytes handed out so far, without vectors */
	bool failed;	 /* an allocation failed */
};

/* Returns 0, or SONDE_ERR_NOMEM with `err` filled in when any allocation of the arena has failed. */
int sonde_arena_status(const struct sonde_arena *a, struct sonde_err *err);

void *sonde_arena_alloc(struct sonde_arena *a, size_t size);		 /* not cleared */
void *sonde_arena_calloc(struct sonde_arena *a, size_t nr, size_t size); /* cleared */
struct sonde_str sonde_arena_dup(
	struct sonde_arena *a, struct sonde_str s);		/* a copy, with a NUL behind it */
char *sonde_arena_z(struct sonde_arena *a, struct sonde_str s); /* a copy as a C string */
/* Copies the bytes of `b` as a C string and releases `b`. */
char *sonde_arena_take(struct sonde_arena *a, struct sonde_buf *b);
struct sonde_str sonde_arena_printf(struct sonde_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sonde_arena_release(struct sonde_arena *a);

#endif
