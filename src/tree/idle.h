/* Idle time: the longest gaps, and what is usual. */
#ifndef SONDE_TREE_IDLE_H
#define SONDE_TREE_IDLE_H

#include "tree/tree.h"

/* The longest gaps of a report's scopes, longest first; how many. Borrowed from the cells. */
size_t sonde_report_gaps(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_gap *out[SONDE_NR_GAPS]);

/*
 * The share of a region's idle time that there would be if all entries were as the median: of a
 * first entry that loads libraries and others that do not, little is left. 1 where nobody knows.
 */
double sonde_idle_usual_share(const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_node *n);

#endif
