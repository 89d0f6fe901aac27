/*
 * Values as Python prints them: for interpolations inside strings, for error
 * messages, and for the override lines of sweep jobs. Room-private.
 */
#ifndef HYDRA_PYTEXT_H
#define HYDRA_PYTEXT_H

#include "hydra/datum.h"

/* The shortest decimal that reads back as the same double: 1.0, 1e-05, inf, nan. */
void hydra_pytext__float(struct sonde_buf *b, double f);
void hydra_pytext__int(struct sonde_buf *b, const struct hydra_datum *n);
/* As str() does: strings without quotes, null is `None`, true is `True`, lists and maps as in repr(). */
void hydra_pytext__str(struct sonde_buf *b, const struct hydra_datum *n);
/* As repr() does: strings in quotes. */
void hydra_pytext__repr(struct sonde_buf *b, const struct hydra_datum *n);
/* The text of str() in the arena, for messages. */
struct sonde_str hydra_pytext__show(struct hydra_ctx *cx, const struct hydra_datum *n);

#endif
