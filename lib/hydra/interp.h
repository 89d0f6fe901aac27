/*
 * Interpolations: `${a.b}`, `${.sibling}`, `${oc.env:HOME}` and text around them.
 *
 * A string that contains `${` must have valid syntax wherever it is stored. It is
 * evaluated only when its value is needed. Room-private.
 */
#ifndef HYDRA_INTERP_H
#define HYDRA_INTERP_H

#include "hydra/datum.h"

struct hydra_frame; /* the chain of interpolations that are being resolved */

/* The values that interpolations can use. Set the context and leave the rest zero. */
struct hydra_lookup {
	struct hydra_ctx *cx;
	struct hydra_datum *hydra; /* for ${hydra:…}: a config that has the hydra node, or NULL */
	int64_t now;		   /* for ${now:…}: seconds since the epoch */
	bool keeps_env;		   /* resolving a tree leaves interpolations that use an environment variable */
	const struct hydra_frame *frame;
	unsigned depth;
	/* More resolvers than the built-in ones, for tests. It returns NULL without a failure for a name it does not know. */
	struct hydra_datum *(*extra)(
		struct hydra_lookup *sc, struct sonde_str name, struct hydra_datum *args);
};

/* Checks the syntax only: GrammarParseError, or 0. */
int hydra_interp__check(struct hydra_ctx *cx, struct sonde_str text);
/* Checks every string below `n`, with its key in the message. A sweep inside a value is a failure too. */
int hydra_interp__check_tree(struct hydra_ctx *cx, struct hydra_datum *n);

/*
 * The value of a config string inside `container` (may be NULL). `self` is the
 * node that holds the string, or NULL. The result is borrowed: it may be a node
 * of the tree; copy it before storing it.
 */
struct hydra_datum *hydra_interp__eval(struct hydra_lookup *sc, struct sonde_str text,
	struct hydra_datum *container, struct hydra_datum *self);
/* The value of a text that is written like one argument of a resolver. */
struct hydra_datum *hydra_interp__eval_element(struct hydra_lookup *sc, struct sonde_str text,
	struct hydra_datum *container, struct hydra_datum *self);

/* Follows a node that is an interpolation (any other is returned as it is). */
struct hydra_datum *hydra_interp__deref(struct hydra_lookup *sc, struct hydra_datum *n);

/*
 * The node at a dotted path: absolute, or relative to `container` when it begins with
 * dots. NULL without a failure when it does not exist. A missing value (???) is
 * returned as it is, or is a failure with `throw_missing`. Interpolations on the way
 * are followed.
 */
struct hydra_datum *hydra_interp__select(struct hydra_lookup *sc, struct hydra_datum *container,
	struct sonde_str path, bool throw_missing);

/* Calls a resolver (resolver.c). */
struct hydra_datum *hydra_interp__resolver(struct hydra_lookup *sc, struct sonde_str name,
	struct hydra_datum *args, struct hydra_datum *container, struct hydra_datum *self);

/* Replaces every interpolation below `n` by its value, in key order. */
int hydra_interp__resolve_tree(struct hydra_lookup *sc, struct hydra_datum *n);

#endif
