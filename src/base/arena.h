/*
 * An arena: many small allocations, freed together.
 *
 * One arena per stage result. What it hands out is 16-byte aligned, lives until
 * `sonde_arena_release`, and is never freed one by one. Start with `= {0}`.
 * Every function returns NULL when memory is short, and `sonde_arena_dup`
 * returns the empty slice with `arena->failed` set.
 *
 * Built with -DSONDE_ARENA_MALLOC (the sanitizer build does) each allocation is
 * a malloc of its own, so that AddressSanitizer sees overruns.
 */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include "base/str.h"

struct sonde_arena {
	struct sonde_arena_block *head;
	size_t nr_bytes; /* handed out so far */
	bool failed;
};

void *sonde_arena_alloc(struct sonde_arena *a, size_t size);		 /* not cleared */
void *sonde_arena_calloc(struct sonde_arena *a, size_t nr, size_t size); /* cleared */
struct sonde_str sonde_arena_dup(
	struct sonde_arena *a, struct sonde_str s);		/* NUL-terminated copy */
char *sonde_arena_z(struct sonde_arena *a, struct sonde_str s); /* the same as a C string */
/* Copies the bytes of `b` as a C string and releases `b`. */
char *sonde_arena_take(struct sonde_arena *a, struct sonde_buf *b);
struct sonde_str sonde_arena_printf(struct sonde_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sonde_arena_release(struct sonde_arena *a);

#endif
