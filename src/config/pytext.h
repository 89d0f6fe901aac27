/*
 * Values as Python prints them: what interpolations paste into strings, what
 * error messages quote, what sweep jobs are made of. Room-private.
 */
#ifndef SONDE_CONFIG_PYTEXT_H
#define SONDE_CONFIG_PYTEXT_H

#include "config/datum.h"

/* The shortest decimal that reads back as the same double: 1.0, 1e-05, inf, nan. */
void sonde_pytext__float(struct sonde_buf *b, double f);
void sonde_pytext__int(struct sonde_buf *b, const struct sonde_datum *n);
/* str(): strings bare, null `None`, true `True`, lists and maps as in repr(). */
void sonde_pytext__str(struct sonde_buf *b, const struct sonde_datum *n);
/* repr(): strings quoted. */
void sonde_pytext__repr(struct sonde_buf *b, const struct sonde_datum *n);
void sonde_pytext__repr_str(struct sonde_buf *b, struct sonde_str s);

#endif
