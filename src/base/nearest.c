/* The bound shrinks with every better name, and the distance is not computed beyond it. */
#include "base/nearest.h"

bool sonde_nearest_take(struct sonde_nearest *n, struct sonde_str name, unsigned distance)
{
	if (distance >= n->below || distance >= name.n)
		return false;
	n->below = distance;
	n->best = name;
	return true;
}

bool sonde_nearest_offer(struct sonde_nearest *n, struct sonde_str name)
{
	return n->below && sonde_nearest_take(n, name, sonde_str_distance(n->word, name, n->below - 1));
}
