/*
 * "Did you mean": the name nearest to a word, out of names offered one by one.
 *
 *     struct sonde_nearest near = {.word = word, .below = 4};
 *
 *     for (…)
 *             sonde_nearest_offer(&near, name);
 *     if (near.best.n)
 *             …
 *
 * Among equally near names the first one wins. A name is never near where no letter would
 * stay, nor where three or more letters change and fewer than half would stay.
 */
#ifndef SONDE_BASE_NEAREST_H
#define SONDE_BASE_NEAREST_H

#include "base/str.h"

struct sonde_nearest {
	struct sonde_str word;
	unsigned below;	       /* so many typing errors are too many; shrinks to those of the best name */
	struct sonde_str best; /* empty while none is near; points to what was offered */
};

/* Whether `name` is the nearest so far. */
bool sonde_nearest_offer(struct sonde_nearest *n, struct sonde_str name);
/* The same for a name whose distance the caller knows better. */
bool sonde_nearest_take(struct sonde_nearest *n, struct sonde_str name, unsigned distance);

#endif
