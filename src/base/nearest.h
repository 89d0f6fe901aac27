/*
 * "Did you mean": finds the name nearest to a word among names that are offered one by one.
 *
 *     struct sonde_nearest near = {.word = word, .below = 4};
 *
 *     for (…)
 *             sonde_nearest_offer(&near, name);
 *     if (near.best.n)
 *             …
 *
 * Among equally near names the first one wins. A name is never near if no letter of it would
 * stay, nor if three or more letters change and fewer than half would stay. A word with which the name begins counts as
 * one typing error, a word that is short for it (sonde_nearest_is_short_for) as two.
 */
#ifndef SONDE_BASE_NEAREST_H
#define SONDE_BASE_NEAREST_H

#include "base/str.h"

struct sonde_nearest {
	struct sonde_str word;
	unsigned below;	       /* a name must have fewer typing errors than this; shrinks to the errors of the best name */
	struct sonde_str best; /* the nearest name, as it was offered; empty while none is near */
};

/* Whether a word has some letters of the name in their order, from the first one on, as `fwd` of `forward`. */
bool sonde_nearest_is_short_for(struct sonde_str word, struct sonde_str name);
/* Whether `name` is the nearest so far. */
bool sonde_nearest_offer(struct sonde_nearest *n, struct sonde_str name);
/* The same for a name whose distance the caller has computed. */
bool sonde_nearest_take(struct sonde_nearest *n, struct sonde_str name, unsigned distance);

#endif
