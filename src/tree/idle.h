/* Idle time: the longest gaps, and why there are any. */
#ifndef SONDE_TREE_IDLE_H
#define SONDE_TREE_IDLE_H

#include "tree/tree.h"

/* The longest gaps of a report's scopes, longest first, borrowed from the cells. Returns how many. */
size_t sonde_report_gaps(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_gap *out[SONDE_NR_GAPS]);

/* Whether the host waits in a call: a synchronization, a copy, an allocation. */
bool sonde_idle_cause_waits(enum sonde_idle_cause c);
/*
 * Why there is a gap, in the words of the findings: "the host waited in a synchronisation". Around the work of two
 * entries of the step the host may have done anything: it is said whether that was in the first, between them, or in the
 * second. Only a call that waits is a reason of its own.
 */
const char *sonde_gap_words(const struct sonde_tree *t, const struct sonde_gap *gap);

#endif
