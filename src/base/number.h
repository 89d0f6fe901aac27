/*
 * Numbers as text: one way for every machine-readable format, and one for people.
 *
 * `sonde_number_format` writes a whole number with all its digits and any other
 * number with 15 significant digits, exactly as printf("%.15g") would. It uses
 * integer arithmetic only: it takes some tens of nanoseconds, and gives the same
 * bytes on every machine and in every locale.
 */
#ifndef SONDE_BASE_NUMBER_H
#define SONDE_BASE_NUMBER_H

#include "base/str.h"

#define SONDE_NUMBER_MAX 32

/* Writes `v` and a NUL, returns the length. NaN and infinities become `null`. */
size_t sonde_number_format(char out[SONDE_NUMBER_MAX], double v);
size_t sonde_number_format_u64(char out[SONDE_NUMBER_MAX], uint64_t v);

/*
 * For people: a percentage with one decimal, bytes and counts with a factor
 * (`1.25 M`, `99.8 TFLOP/s`), times in the unit that fits (`12.3 us`). NaN becomes `-`.
 */
void sonde_number_human(struct sonde_buf *out, double v, const char *unit);

#endif
