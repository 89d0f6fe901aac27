/* Sorting by time: what threads and streams recorded is nearly in order, and there is much of it.
 */
#include "base/alloc.h"
#include "read/native_int.h"

#include <string.h>

#define DIGIT	11u
#define BUCKETS (1u << DIGIT)

/* One pass of a radix sort over the digit at `shift` of key − least. */
static void sort_pass(struct native_timed *to, const struct native_timed *from, size_t nr,
	uint64_t least, unsigned shift)
{
	size_t count[BUCKETS] = {0}, i, sum, n;

	for (i = 0; i < nr; i++)
		count[(from[i].key - least) >> shift & (BUCKETS - 1)]++;
	for (i = sum = 0; i < BUCKETS; i++) {
		n = count[i];
		count[i] = sum;
		sum += n;
	}
	for (i = 0; i < nr; i++)
		to[count[(from[i].key - least) >> shift & (BUCKETS - 1)]++] = from[i];
}

#define MAX_RUNS 8

/* Where the runs in order begin, at most MAX_RUNS, and the end behind them; 0 = more runs. */
static size_t find_runs(const struct native_timed *a, size_t nr, size_t *starts)
{
	size_t i, runs = 0;

	starts[runs++] = 0;
	for (i = 1; i < nr; i++) {
		if (a[i - 1].key <= a[i].key)
			continue;
		if (runs == MAX_RUNS)
			return 0;
		starts[runs++] = i;
	}
	starts[runs] = nr;
	return runs;
}

/* Merges neighbouring runs into `to`; how many are left. An odd last one is copied. */
static size_t merge_runs(
	struct native_timed *to, const struct native_timed *from, size_t *starts, size_t runs)
{
	size_t k, left = 0;

	for (k = 0; k < runs; k += 2) {
		size_t a = starts[k], a_end = starts[k + 1], b = a_end, at = a;
		size_t b_end = k + 1 < runs ? starts[k + 2] : a_end;

		while (a < a_end && b < b_end)
			to[at++] = from[b].key < from[a].key ? from[b++] : from[a++];
		memcpy(&to[at], &from[a], (a_end - a) * sizeof(*to));
		memcpy(&to[at + a_end - a], &from[b], (b_end - b) * sizeof(*to));
		starts[left++] = starts[k];
		starts[left] = b_end;
	}
	return left;
}

bool sonde_native__sort(struct native_timed *a, size_t nr)
{
	struct native_timed *from = a, *to, *swap, *other;
	uint64_t least = UINT64_MAX, most = 0;
	size_t i, starts[MAX_RUNS + 1], runs = find_runs(a, nr, starts);
	unsigned shift = 0;

	if (runs == 1)
		return true;
	for (i = 0; i < nr && runs == 0; i++) {
		least = a[i].key < least ? a[i].key : least;
		most = a[i].key > most ? a[i].key : most;
	}
	other = to = sonde_malloc(nr * sizeof(*to));
	if (!to)
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
	if (from != a)
		memcpy(a, from, nr * sizeof(*a));
	sonde_free(other);
	return true;
}

uint32_t sonde_native__last_with_key(
	const struct native_timed *t, size_t nr, size_t *i, uint64_t key)
{
	while (*i < nr && t[*i].key <= key)
		++*i;
	return *i && t[*i - 1].key == key ? t[*i - 1].index : SONDE_NONE;
}
