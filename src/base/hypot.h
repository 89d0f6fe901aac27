/*
 * Combines two independent errors: the root of the sum of their squares.
 *
 * libm's hypot is not used, because its last bit differs between versions, and because glibc 2.35 has a new version of
 * the symbol, so that a package would not run with any older glibc. A square root is rounded the same everywhere, and
 * errors are much too small for their squares to overflow.
 */
#ifndef SONDE_BASE_HYPOT_H
#define SONDE_BASE_HYPOT_H

#include <math.h>

static inline double sonde_hypot(double a, double b)
{
	return sqrt(a * a + b * b);
}

#endif
