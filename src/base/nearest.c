/* The bound shrinks with every better name, and distances beyond the bound are not computed. */
#include "base/nearest.h"

#include <string.h>

#define LEAST_SHORT 3 /* letters of a word that may be short for a name */

bool sonde_nearest_take(struct sonde_nearest *n, struct sonde_str name, unsigned distance)
{
	bool is_other = distance > 2 && distance * 2 > name.n; /* such a guess would only confuse the user */

	if (distance >= n->below || distance >= name.n || is_other)
		return false;
	n->below = distance;
	n->best = name;
	return true;
}

bool sonde_nearest_is_short_for(struct sonde_str word, struct sonde_str name)
{
	size_t i, at = 0;

	if (word.n < LEAST_SHORT || word.n >= name.n || word.p[0] != name.p[0])
		return false;
	for (i = 0; i < name.n && at < word.n; i++)
		at += word.p[at] == name.p[i];
	return at == word.n;
}

bool sonde_nearest_offer(struct sonde_nearest *n, struct sonde_str name)
{
	unsigned distance = n->below ? sonde_str_distance(n->word, name, n->below - 1) : 0;

	if (distance > 1 && n->word.n >= LEAST_SHORT && n->word.n < name.n && memcmp(name.p, n->word.p, n->word.n) == 0)
		distance = 1;
	else if (distance > 2 && sonde_nearest_is_short_for(n->word, name))
		distance = 2;
	return n->below && sonde_nearest_take(n, name, distance);
}
