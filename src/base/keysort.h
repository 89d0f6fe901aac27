/*
 * Sorting by a number: stable, linear, for millions of elements that are
 * nearly in order (what threads and streams recorded) or not at all.
 *
 * The first member of an element is its key, a uint64_t. A few runs in order are
 * merged; anything else goes through a radix sort, which no choice of numbers
 * makes slow.
 */
#ifndef SONDE_BASE_KEYSORT_H
#define SONDE_BASE_KEYSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The element that most callers sort: a key, and the number of what it belongs to. */
struct sonde_keyed {
	uint64_t key;
	uint32_t index;
};

/* False when memory is short: all elements are still there, in no order. */
#define sonde_keysort(at, nr) sonde_keysort_size((at), (nr), sizeof(*(at)))
bool sonde_keysort_size(void *at, size_t nr, size_t size);
/*
 * The numbers of `nr` elements in order: by the last of several keys, then by the one before it,
 * and so on. A key function gets `of`, which the elements belong to, and the number of one. NULL when memory is
 * short; to be freed.
 */
typedef uint64_t sonde_key_fn(const void *of, uint32_t number);
struct sonde_keyed *sonde_order_by(
	const void *of, size_t nr, sonde_key_fn *const *keys, size_t nr_keys);
/* The same by one member of the elements, a uint64_t: sonde_order_by_field(edges.at, edges.nr, ns). */
#define sonde_order_by_field(at, nr, field)                                                        \
	sonde_order_by_u64((at), (nr), sizeof(*(at)), offsetof(__typeof__(*(at)), field))
struct sonde_keyed *sonde_order_by_u64(const void *at, size_t nr, size_t size, size_t offset);
/* Puts elements of any size in that order, which is used up and freed; false when it is NULL. */
bool sonde_order_apply(struct sonde_keyed *order, void *at, size_t nr, size_t size);
/* For large elements: sorts a few runs in order, false where there are more of them. */
bool sonde_keysort_runs(void *at, size_t nr, size_t size);

#endif
