/*
 * The place in a sorted array: makes `low` the first number from itself up to `end` for which
 * `is_before`, an expression in `mid`, is false. It must be true for all numbers before that one.
 *
 *     size_t low = 0;
 *
 *     sonde_bisect(low, v.nr, mid, v.at[mid].ns < ns);    // low: how many are before ns
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
