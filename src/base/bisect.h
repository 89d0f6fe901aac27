/*
 * Binary search: sets `low` to the first index in low … end for which `is_before`, an expression of `mid`,
 * is false; `end` when there is none. The expression must be true for all indexes before that one.
 *
 *     size_t low = 0;
 *
 *     sonde_bisect(low, v.nr, mid, v.at[mid].ns < ns);    // low: how many elements are before ns
 */
#ifndef SONDE_BASE_BISECT_H
#define SONDE_BASE_BISECT_H

#include <stdbool.h>
#include <stddef.h>

#define sonde_bisect(low, end, mid, is_before)                                                     \
	for (size_t sonde_high = (end), mid; (low) < sonde_high &&                                 \
					     ((mid) = (low) + (sonde_high - (low)) / 2, true);)    \
		if (is_before)                                                                     \
			(low) = (mid) + 1;                                                         \
		else                                                                               \
			sonde_high = (mid)

#endif
