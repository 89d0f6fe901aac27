/*
 * Interpolations: `${a.b}`, `${.sibling}`, `${oc.env:HOME}` and text around them.
 *
 * A string with `${` in it must have valid syntax wherever it is stored, and is
 * evaluated only when somebody asks for its value. Room-private.
 */
#ifndef SONDE_CONFIG_INTERP_H
#define SONDE_CONFIG_INTERP_H

#include "config/datum.h"

struct sonde_frame; /* the chain of interpolations being resolved */

/* What interpolations can see. Start with the context set, the rest zero. */
struct sonde_lookup {
	struct sonde_ctx *cx;
	struct sonde_datum *hydra; /* for ${hydra:…}: a config that has the hydra node, or NULL */
	int64_t now;		   /* for ${now:…}: seconds since the epoch */
	const struct sonde_frame *frame;
	unsigned depth;
	/* Resolvers beyond the built-in ones (tests); NULL without a failure = unknown name. */
	struct sonde_datum *(*extra)(
		struct sonde_lookup *sc, struct sonde_str name, struct sonde_datum *args);
};

/* Syntax only: GrammarParseError, or 0. */
int sonde_interp__check(struct sonde_ctx *cx, struct sonde_str text);
/* Of every string below `n`, with the key in the message. */
int sonde_interp__check_tree(struct sonde_ctx *cx, struct sonde_datum *n);

/*
 * The value of a config string inside `container` (may be NULL). `self` is the
 * node that holds the string, or NULL. The result is borrowed: it may be a node
 * of the tree; copy it before storing it.
 */
struct sonde_datum *sonde_interp__eval(struct sonde_lookup *sc, struct sonde_str text,
	struct sonde_datum *container, struct sonde_datum *self);
/* The value of one element, as a resolver's argument. */
struct sonde_datum *sonde_interp__eval_element(struct sonde_lookup *sc, struct sonde_str text,
	struct sonde_datum *container, struct sonde_datum *self);

/* Follows a node that is an interpolation (any other is returned as it is). */
struct sonde_datum *sonde_interp__deref(struct sonde_lookup *sc, struct sonde_datum *n);

/*
 * The node at a dotted path: absolute, or relative to `container` with leading
 * dots. NULL without a failure when it does not exist. A missing value is
 * returned as it is unless `throw_missing`. Interpolations on the way are followed.
 */
struct sonde_datum *sonde_interp__select(struct sonde_lookup *sc, struct sonde_datum *container,
	struct sonde_str path, bool throw_missing);

/* Calls a resolver (resolver.c). */
struct sonde_datum *sonde_interp__resolver(struct sonde_lookup *sc, struct sonde_str name,
	struct sonde_datum *args, struct sonde_datum *container, struct sonde_datum *self);

/* Replaces every interpolation below `n` by its value, in key order. */
int sonde_interp__resolve_tree(struct sonde_lookup *sc, struct sonde_datum *n);

#endif
