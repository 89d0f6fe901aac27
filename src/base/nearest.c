/* The bound shrinks with every better name, and distances beyond the bound are not computed. */
#include "base/nearest.h"

bool sonde_nearest_take(struct sonde_nearest *n, struct sonde_str name, unsigned distance)
{
	bool is_other = distance > 2 && distance * 2 > name.n; /* such a guess would only confuse the user */

	if (distance >= n->below || distance >= name.n || is_other)
		return false;
	n->below = distance;
	n->best = name;
	return true;
}

bool sonde_nearest_offer(struct sonde_nearest *n, struct sonde_str name)
{
	return n->below && sonde_nearest_take(n, name, sonde_str_distance(n->word, name, n->below - 1));
}
