/*
 * Two independent errors as one: the root of the sum of their squares.
 *
 * Not libm's hypot, whose last bit differs between versions (glibc 2.35 has a new one, which would also be the
 * oldest that a package runs with). A square root is rounded alike everywhere, and errors are far
 * from where squares overflow.
 */
#ifndef SONDE_BASE_HYPOT_H
#define SONDE_BASE_HYPOT_H

#include <math.h>

static inline double sonde_hypot(double a, double b)
{
	return sqrt(a * a + b * b);
}

#endif
