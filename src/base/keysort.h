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

/* What most callers sort: where an element is, by its number. */
struct sonde_keyed {
	uint64_t key;
	uint32_t index;
};

/* False when memory is short: all elements are still there, in no order. */
#define sonde_keysort(at, nr) sonde_keysort_size((at), (nr), sizeof(*(at)))
bool sonde_keysort_size(void *at, size_t nr, size_t size);
/* For large elements: sorts a few runs in order, false where there are more of them. */
bool sonde_keysort_runs(void *at, size_t nr, size_t size);

#endif
