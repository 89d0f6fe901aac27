/*
 * A growing array of any type.
 *
 *     SONDE_VEC(struct sonde_range) ranges = {0};
 *     struct sonde_range *r = sonde_vec_push(&ranges);   // NULL when memory is short
 *     bool ok = sonde_vec_put(&ranges, range);           // false when memory is short
 *     ranges.at[0], ranges.nr
 *     sonde_vec_release(&ranges);
 *
 * `sonde_vec_push` returns a cleared element. Pointers into the array are valid
 * until the next push.
 */
#ifndef SONDE_BASE_VEC_H
#define SONDE_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SONDE_VEC(type)                                                                            \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t nr, cap;                                                                    \
	}

#define sonde_vec_push(v)                                                                          \
	((v)->nr < (v)->cap || sonde_vec_reserve(v, (v)->nr + 1)                                   \
			? memset(&(v)->at[(v)->nr++], 0, sizeof(*(v)->at))                         \
			: NULL)

/* Appends a value, which is looked at when there is room for it. */
#define sonde_vec_put(v, ...)                                                                      \
	(((v)->nr < (v)->cap || sonde_vec_reserve(v, (v)->nr + 1)) &&                              \
		((v)->at[(v)->nr] = (__VA_ARGS__), (v)->nr++, true))

/* Makes room for `n` elements in all; true on success. Does not change `nr`. */
#define sonde_vec_reserve(v, n) sonde_vec_grow((void **)&(v)->at, &(v)->cap, (n), sizeof(*(v)->at))

/* Appends all of another of the same type; true on success. Room for one more is there then. */
#define sonde_vec_append(v, from)                                                                  \
	sonde_vec_add((void **)&(v)->at, &(v)->nr, &(v)->cap,                                      \
		(1 ? (from)->at : (v)->at), (from)->nr, sizeof(*(v)->at))

/* By a comparison of qsort's kind; an empty one too, which qsort itself must not be given. */
#define sonde_vec_sort(v, compare)                                                                 \
	do {                                                                                       \
		if ((v)->nr > 1)                                                                   \
			qsort((v)->at, (v)->nr, sizeof(*(v)->at), compare);                        \
	} while (0)

/* The value that such a comparison returns for two numbers. */
#define sonde_cmp(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Leaves the elements for whose number `i` the expression `keeps` is true. */
#define sonde_vec_filter(v, i, keeps)                                                              \
	do {                                                                                       \
		size_t sonde_nr = 0;                                                               \
                                                                                                   \
		for (size_t i = 0; (i) < (v)->nr; (i)++)                                           \
			if (keeps)                                                                 \
				(v)->at[sonde_nr++] = (v)->at[i];                                  \
		(v)->nr = sonde_nr;                                                                \
	} while (0)

#define sonde_vec_release(v)                                                                       \
	do {                                                                                       \
		sonde_vec_drop((v)->at);                                                           \
		(v)->at = NULL;                                                                    \
		(v)->nr = (v)->cap = 0;                                                            \
	} while (0)

bool sonde_vec_grow(void **at, size_t *cap, size_t want, size_t size);
bool sonde_vec_add(
	void **at, size_t *nr, size_t *cap, const void *from, size_t nr_more, size_t size);
void sonde_vec_drop(void *at);

#endif
