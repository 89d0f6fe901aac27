/*
 * Values as Python prints them: what interpolations paste into strings, what
 * error messages quote, what sweep jobs are made of. Room-private.
 */
#ifndef HYDRA_PYTEXT_H
#define HYDRA_PYTEXT_H

#include "hydra/datum.h"

/* The shortest decimal that reads back as the same double: 1.0, 1e-05, inf, nan. */
void hydra_pytext__float(struct sonde_buf *b, double f);
void hydra_pytext__int(struct sonde_buf *b, const struct hydra_datum *n);
/* str(): strings bare, null `None`, true `True`, lists and maps as in repr(). */
void hydra_pytext__str(struct sonde_buf *b, const struct hydra_datum *n);
/* repr(): strings quoted. */
void hydra_pytext__repr(struct sonde_buf *b, const struct hydra_datum *n);
/* str() as a text of its own, for messages. */
struct sonde_str hydra_pytext__show(struct hydra_ctx *cx, const struct hydra_datum *n);

#endif
