/*
 * A radix sort, eleven bits at a time, over the range between the smallest and the largest key. Captures are
 * nearly in order: an array that consists of a few sorted runs is merged instead, and a sorted one is only read.
 */
#include "base/keysort.h"

#include "base/alloc.h"
#include "base/bisect.h"

#include <string.h>

#define DIGIT	 11u
#define BUCKETS	 (1u << DIGIT)
#define MAX_RUNS 8

/* Elements of any size. All functions are inlined with constant sizes, so that copies become plain moves. */
struct array {
	unsigned char *p;
	size_t size;
};

#define INLINE static inline __attribute__((always_inline))

INLINE unsigned char *item(struct array a, size_t i)
{
	return a.p + i * a.size;
}

INLINE uint64_t key(struct array a, size_t i)
{
	uint64_t k;

	memcpy(&k, item(a, i), sizeof(k));
	return k;
}

INLINE void copy(struct array to, size_t at, struct array from, size_t i)
{
	memcpy(item(to, at), item(from, i), to.size);
}

/* One pass of a radix sort over the digit at `shift` of key − least. */
INLINE void sort_pass(
	struct array to, struct array from, size_t nr, uint64_t least, unsigned shift)
{
	size_t count[BUCKETS] = {0}, i, sum, n;

	for (i = 0; i < nr; i++)
		count[(key(from, i) - least) >> shift & (BUCKETS - 1)]++;
	for (i = sum = 0; i < BUCKETS; i++) {
		n = count[i];
		count[i] = sum;
		sum += n;
	}
	for (i = 0; i < nr; i++)
		copy(to, count[(key(from, i) - least) >> shift & (BUCKETS - 1)]++, from, i);
}

/*
 * Fills `starts` with where each sorted run begins, and with `nr` behind the last one. Returns the number of runs;
 * 0 = there are more than MAX_RUNS.
 */
INLINE size_t find_runs(struct array a, size_t nr, size_t *starts)
{
	size_t i, runs = 0;

	starts[runs++] = 0;
	for (i = 1; i < nr; i++) {
		if (key(a, i - 1) <= key(a, i))
			continue;
		if (runs == MAX_RUNS)
			return 0;
		starts[runs++] = i;
	}
	starts[runs] = nr;
	return runs;
}

/*
 * Merges two neighbouring runs, the second of which was copied to `second`: fills the array from the back, each time
 * with the later of the two last elements.
 */
INLINE void merge_back(struct array a, size_t first, size_t mid, size_t end, struct array second)
{
	size_t left = end - mid, at = end;

	while (left) {
		if (mid > first && key(a, mid - 1) > key(second, left - 1))
			copy(a, --at, a, --mid);
		else
			copy(a, --at, second, --left);
	}
}

/* The same when the first run was copied, to `waiting`: fills the array from the front, with the earlier element. */
INLINE void merge_front(struct array a, size_t first, size_t mid, size_t end, struct array waiting)
{
	size_t nr = mid - first, i = 0, at = first;

	while (i < nr) {
		if (mid < end && key(a, mid) < key(waiting, i))
			copy(a, at++, a, mid++);
		else
			copy(a, at++, waiting, i++);
	}
}

/*
 * Merges two neighbouring runs. Elements of the first run that are before all of the second stay in place, and so do
 * those of the second that are behind all of the first. The shorter of the two rests is copied. That is little in
 * captures: one thread records most events, and the others only a few in between.
 */
INLINE bool merge(struct array a, size_t first, size_t mid, size_t end)
{
	struct array other = {NULL, a.size};
	size_t low = mid;
	uint64_t bound = key(a, mid - 1);

	sonde_bisect(first, mid, i, key(a, i) <= key(a, low));
	sonde_bisect(low, end, i, key(a, i) < bound);
	end = low;
	if (first == mid || mid == end)
		return true;
	other.p = sonde_malloc((mid - first < end - mid ? mid - first : end - mid) * a.size);
	if (!other.p)
		return false;
	if (mid - first < end - mid) {
		memcpy(other.p, item(a, first), (mid - first) * a.size);
		merge_front(a, first, mid, end, other);
	} else {
		memcpy(other.p, item(a, mid), (end - mid) * a.size);
		merge_back(a, first, mid, end, other);
	}
	sonde_free(other.p);
	return true;
}

/* Merges neighbouring runs until one is left. */
INLINE bool merge_runs(struct array a, const size_t *starts, size_t runs)
{
	size_t width, k;

	for (width = 1; width < runs; width *= 2)
		for (k = 0; k + width < runs; k += 2 * width)
			if (!merge(a, starts[k], starts[k + width],
				    starts[k + 2 * width < runs ? k + 2 * width : runs]))
				return false;
	return true;
}

INLINE bool radix_sort(void *at, size_t nr, size_t size)
{
	struct array from = {at, size}, to = {sonde_malloc(nr * size), size}, swap;
	uint64_t least = UINT64_MAX, most = 0;
	unsigned char *other = to.p;
	unsigned shift;
	size_t i;

	if (!other)
		return false;
	for (i = 0; i < nr; i++) {
		least = key(from, i) < least ? key(from, i) : least;
		most = key(from, i) > most ? key(from, i) : most;
	}
	for (shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT) {
		sort_pass(to, from, nr, least, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from.p != at)
		memcpy(at, from.p, nr * size);
	sonde_free(other);
	return true;
}

INLINE bool sort(void *at, size_t nr, size_t size)
{
	size_t starts[MAX_RUNS + 1], runs = find_runs((struct array){at, size}, nr, starts);

	return runs ? merge_runs((struct array){at, size}, starts, runs) : radix_sort(at, nr, size);
}

bool sonde_keysort_size(void *at, size_t nr, size_t size)
{
	switch (size) {
	case 16:
		return sort(at, nr, 16);
	case 24:
		return sort(at, nr, 24);
	default:
		return sort(at, nr, size);
	}
}

bool sonde_keysort_runs(void *at, size_t nr, size_t size)
{
	size_t starts[MAX_RUNS + 1], runs = find_runs((struct array){at, size}, nr, starts);

	return runs && merge_runs((struct array){at, size}, starts, runs);
}

/* Numbers the elements in their present order; the keys are not set. NULL when memory is short. */
static struct sonde_keyed *number_all(size_t nr)
{
	struct sonde_keyed *order = nr < UINT32_MAX ? sonde_malloc((nr + 1) * sizeof(*order)) : NULL;
	size_t i;

	for (i = 0; order && i < nr; i++)
		order[i].index = (uint32_t)i;
	return order;
}

struct sonde_keyed *sonde_order_by_u64(const void *at, size_t nr, size_t size, size_t offset)
{
	struct sonde_keyed *order = number_all(nr);
	size_t i;

	for (i = 0; order && i < nr; i++)
		memcpy(&order[i].key, (const char *)at + i * size + offset, sizeof(order[i].key));
	if (order && sonde_keysort(order, nr))
		return order;
	sonde_free(order);
	return NULL;
}

struct sonde_keyed *sonde_order_by(
	const void *of, size_t nr, sonde_key_fn *const *keys, size_t nr_keys)
{
	struct sonde_keyed *order = number_all(nr);
	bool ok = order != NULL;
	size_t i, k;

	for (k = 0; ok && k < nr_keys; k++) {
		for (i = 0; i < nr; i++)
			order[i].key = keys[k](of, order[i].index);
		ok = sonde_keysort(order, nr);
	}
	if (ok)
		return order;
	sonde_free(order);
	return NULL;
}

bool sonde_order_apply(struct sonde_keyed *order, void *at, size_t nr, size_t size)
{
	char *a = at, *spare = order ? sonde_malloc(size) : NULL;
	bool ok = spare != NULL;
	size_t i, to, from;

	for (i = 0; i < nr && ok; i++) {
		if (order[i].index == i)
			continue;
		memcpy(spare, a + i * size, size);
		for (to = i; (from = order[to].index) != i; to = from) {
			memcpy(a + to * size, a + from * size, size);
			order[to].index = (uint32_t)to;
		}
		memcpy(a + to * size, spare, size);
		order[to].index = (uint32_t)to;
	}
	sonde_free(spare);
	sonde_free(order);
	return ok;
}
