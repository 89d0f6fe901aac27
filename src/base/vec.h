/*
 * A growing array of any type.
 *
 *     SONDE_VEC(struct sonde_range) ranges = {0};
 *     struct sonde_range *r = sonde_push(&arena, &ranges);
 *     sonde_put(&arena, &ranges, range);
 *     ranges.at[0], ranges.nr
 *     if (sonde_arena_status(&arena, err)) …             // once, when the stage is over
 *     sonde_arena_release(&arena);
 *
 * The array belongs to the arena and is freed with it. `sonde_push` returns a cleared element, and never
 * NULL: when memory is short the arena remembers that, `nr` stays the same, and the element is a dummy that nobody
 * reads. Code that uses `nr - 1` as the number of the new element must check the arena first. Pointers into the
 * array are valid until the next push.
 *
 * Without an arena, check each push and release each array:
 *
 *     struct sonde_range *r = sonde_vec_push(&ranges);   // NULL when memory is short
 *     bool ok = sonde_vec_put(&ranges, range);           // false when memory is short
 *     sonde_vec_release(&ranges);                        // works for an arena's array too, if it is no longer needed
 *
 * An array that an arena owns stays the arena's, even if the macros without an arena make it grow.
 */
#ifndef SONDE_BASE_VEC_H
#define SONDE_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SONDE_VEC(type)                                                                            \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t nr, cap;                                                                    \
	}

struct sonde_arena;

/*
 * Appends a cleared element. Each place that pushes has a dummy element of its own for when memory is short, so that
 * whatever is written to it is never mistaken for something else.
 */
#define sonde_push(a, v)                                                                           \
	__extension__({                                                                            \
		static _Thread_local __typeof__(*(v)->at) sonde_no_room;                           \
		__typeof__(&sonde_no_room) sonde_new =                                             \
			(v)->nr < (v)->cap || sonde_reserve(a, v, (v)->nr + 1)                     \
				? &(v)->at[(v)->nr++]                                              \
				: &sonde_no_room;                                                  \
		memset(sonde_new, 0, sizeof(*sonde_new));                                          \
		sonde_new;                                                                         \
	})

/* Appends a value. The expression is evaluated only when there is room for it. */
#define sonde_put(a, v, ...)                                                                       \
	((void)(((v)->nr < (v)->cap || sonde_reserve(a, v, (v)->nr + 1)) &&                        \
		((v)->at[(v)->nr] = (__VA_ARGS__), (v)->nr++)))

/* Makes room for `n` elements in total; false when memory is short, which the arena remembers. */
#define sonde_reserve(a, v, n)                                                                     \
	sonde_vec_grow(a, (void **)&(v)->at, &(v)->cap, (n), sizeof(*(v)->at))

/* Appends cleared elements until there are `n`; false when memory is short, which the arena remembers. */
#define sonde_fill(a, v, n)                                                                        \
	((n) <= (v)->nr ||                                                                         \
		(sonde_reserve(a, v, n) &&                                                         \
			(memset(&(v)->at[(v)->nr], 0, ((n) - (v)->nr) * sizeof(*(v)->at)),         \
				(v)->nr = (n), true)))

#define sonde_vec_push(v)                                                                          \
	((v)->nr < (v)->cap || sonde_vec_reserve(v, (v)->nr + 1)                                   \
			? memset(&(v)->at[(v)->nr++], 0, sizeof(*(v)->at))                         \
			: NULL)

/* Appends a value. The expression is evaluated only when there is room for it. */
#define sonde_vec_put(v, ...)                                                                      \
	(((v)->nr < (v)->cap || sonde_vec_reserve(v, (v)->nr + 1)) &&                              \
		((v)->at[(v)->nr] = (__VA_ARGS__), (v)->nr++, true))

/* Makes room for `n` elements in total; true on success. Does not change `nr`. */
#define sonde_vec_reserve(v, n)                                                                    \
	sonde_vec_grow(NULL, (void **)&(v)->at, &(v)->cap, (n), sizeof(*(v)->at))

/* Appends all elements of another vector of the same type; true on success. There is then room for one more. */
#define sonde_vec_append(v, from)                                                                  \
	sonde_vec_add((void **)&(v)->at, &(v)->nr, &(v)->cap,                                      \
		(1 ? (from)->at : (v)->at), (from)->nr, sizeof(*(v)->at))

/* Sorts with a comparison function as for qsort. The vector may be empty, although qsort must not get NULL. */
#define sonde_vec_sort(v, compare)                                                                 \
	do {                                                                                       \
		if ((v)->nr > 1)                                                                   \
			qsort((v)->at, (v)->nr, sizeof(*(v)->at), compare);                        \
	} while (0)

/* The value that such a comparison function returns for two numbers. */
#define sonde_cmp(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Keeps the elements for which `keeps`, an expression of their index `i`, is true. */
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

/*
 * For the macros: the memory of a vector or map. `a`, unless NULL, owns it from now on, and remembers when memory is
 * short: the result is then NULL, or false, and nothing has changed.
 */
void *sonde_vec_resize(struct sonde_arena *a, void *at, size_t nr_bytes);
bool sonde_vec_grow(struct sonde_arena *a, void **at, size_t *cap, size_t want, size_t size);
bool sonde_vec_add(
	void **at, size_t *nr, size_t *cap, const void *from, size_t nr_more, size_t size);
void sonde_vec_drop(void *at);
void sonde_vec_drop_all(struct sonde_arena *a);

#endif
