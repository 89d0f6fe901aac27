/*
 * Sorting by a number: stable, in linear time, for millions of elements that are
 * nearly in order (such as those that threads and streams recorded) or in no order.
 *
 * The first member of an element is its key, a uint64_t. An array of a few sorted runs
 * is merged; any other goes through a radix sort, which no choice of keys can make
 * slow.
 */
#ifndef SONDE_BASE_KEYSORT_H
#define SONDE_BASE_KEYSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The element that most callers sort: a key, and the index of the thing that has this key. */
struct sonde_keyed {
	uint64_t key;
	uint32_t index;
};

/* False when memory is short: the array then still has all elements, in no particular order. */
#define sonde_keysort(at, nr) sonde_keysort_size((at), (nr), sizeof(*(at)))
bool sonde_keysort_size(void *at, size_t nr, size_t size);
/*
 * Returns the numbers of `nr` elements in sorted order. The last of the keys counts most, the one before it
 * decides ties, and so on. A key function gets `of`, which contains the elements, and the number of an element.
 * NULL when memory is short. The caller frees the result (sonde_free), or passes it to sonde_order_apply.
 */
typedef uint64_t sonde_key_fn(const void *of, uint32_t number);
struct sonde_keyed *sonde_order_by(
	const void *of, size_t nr, sonde_key_fn *const *keys, size_t nr_keys);
/* The same by one uint64_t member of the elements: sonde_order_by_field(edges.at, edges.nr, ns). */
#define sonde_order_by_field(at, nr, field)                                                        \
	sonde_order_by_u64((at), (nr), sizeof(*(at)), offsetof(__typeof__(*(at)), field))
struct sonde_keyed *sonde_order_by_u64(const void *at, size_t nr, size_t size, size_t offset);
/* Puts elements of any size into the order `order`, and frees it. False when it is NULL, or memory is short. */
bool sonde_order_apply(struct sonde_keyed *order, void *at, size_t nr, size_t size);
/* For large elements: sorts an array that consists of a few sorted runs. False when there are more, or memory is short. */
bool sonde_keysort_runs(void *at, size_t nr, size_t size);

#endif
