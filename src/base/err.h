/*
 * Functions that make errors. sonde_err.h explains what an error is: users of the library get the same struct.
 *
 * The message is written once, at the place that first knows what went wrong.
 */
#ifndef SONDE_BASE_ERR_H
#define SONDE_BASE_ERR_H

#include "sonde_err.h"

#include <stdarg.h>

/* Fills in `err` (if not NULL) and returns `code`, so that callers can `return sonde_err_set(…)`. */
int sonde_err_set(struct sonde_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the text `file: byte N: ` in front. `file` may be NULL. */
int sonde_err_at(struct sonde_err *err, int code, const char *file, uint64_t byte, const char *fmt,
	...) __attribute__((format(printf, 5, 6)));

/* Makes a SONDE_ERR_IO: the text, the system's message for errno `number`, and what the user can do about it. */
int sonde_err_system(struct sonde_err *err, int number, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int sonde_err_io(struct sonde_err *err, const char *path, int number); /* the text is the path */

/* Makes a SONDE_ERR_NOMEM: "out of memory". */
int sonde_err_nomem(struct sonde_err *err);

#endif
