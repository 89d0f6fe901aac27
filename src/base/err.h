/*
 * How errors are made. What they are, sonde_err.h says: the library's users get the same.
 *
 * The story is written once, where it is first known.
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

/* SONDE_ERR_IO: the text, what the system says with that errno, and what to do then. */
int sonde_err_system(struct sonde_err *err, int number, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int sonde_err_io(struct sonde_err *err, const char *path, int number); /* the text is the path */

/* "out of memory", for the many places that only pass that on. */
int sonde_err_nomem(struct sonde_err *err);

#endif
