/*
 * A radix sort, eleven bits at a time, of the part of the keys that differs. Captures are nearly
 * in order: an array of a few sorted runs is merged instead, and a sorted one only looked at.
 */
#include "base/keysort.h"

#include "base/alloc.h"

#include <string.h>

#define DIGIT	 11u
#define BUCKETS	 (1u << DIGIT)
#define MAX_RUNS 8

/* Elements of any size. Inlined below with sizes that are known, where copies become moves. */
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

/* Where the runs in order begin, at most MAX_RUNS, and the end behind them; 0 = more runs. */
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

/* Merges neighbouring runs into `to`; how many are left. An odd last one is copied. */
INLINE size_t merge_runs(struct array to, struct array from, size_t *starts, size_t runs)
{
	size_t k, left = 0;

	for (k = 0; k < runs; k += 2) {
		size_t a = starts[k], a_end = starts[k + 1], b = a_end, at = a;
		size_t b_end = k + 1 < runs ? starts[k + 2] : a_end;

		while (a < a_end && b < b_end) {
			bool is_second = key(from, b) < key(from, a);

			copy(to, at++, from, is_second ? b++ : a++);
		}
		memcpy(item(to, at), item(from, a), (a_end - a) * to.size);
		memcpy(item(to, at + a_end - a), item(from, b), (b_end - b) * to.size);
		starts[left++] = starts[k];
		starts[left] = b_end;
	}
	return left;
}

INLINE bool sort(void *at, size_t nr, size_t size)
{
	struct array from = {at, size}, to = {NULL, size}, swap;
	uint64_t least = UINT64_MAX, most = 0;
	size_t i, starts[MAX_RUNS + 1], runs = find_runs(from, nr, starts);
	unsigned char *other;
	unsigned shift = 0;

	if (runs == 1)
		return true;
	for (i = 0; i < nr && runs == 0; i++) {
		least = key(from, i) < least ? key(from, i) : least;
		most = key(from, i) > most ? key(from, i) : most;
	}
	other = to.p = sonde_malloc(nr * size);
	if (!other)
		return false;
	while (runs ? runs > 1 : shift < 64 && (most - least) >> shift) {
		if (runs)
			runs = merge_runs(to, from, starts, runs);
		else
			sort_pass(to, from, nr, least, shift);
		shift += DIGIT;
		swap = from;
		from = to;
		to = swap;
	}
	if (from.p != at)
		memcpy(at, from.p, nr * size);
	sonde_free(other);
	return true;
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
