/* Idle time: the longest gaps, and what to fix first. */
#ifndef SONDE_TREE_IDLE_H
#define SONDE_TREE_IDLE_H

#include "tree/tree.h"

/* The longest gaps of a report's scopes, longest first; how many. Borrowed from the cells. */
size_t sonde_report_gaps(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_gap *out[SONDE_NR_GAPS]);

/*
 * The region to look at first: the one with the most idle time, or the innermost region that has
 * most of that, and what it is due to. What the usual entry has counts: start-up happens
 * once. Time in which the device did other work is not idle.
 */
struct sonde_idle_finding {
	uint32_t node; /* SONDE_NONE: less than a tenth of any region's time is idle */
	uint8_t cause; /* enum sonde_idle_cause */
	double idle_ns, cause_ns;
	double of_ns;	    /* busy and idle: what the idle time is part of */
	const char *advice; /* what to do about it: "use fewer, larger kernels …" */
};
struct sonde_idle_finding sonde_idle_judge(const struct sonde_tree *t, const struct sonde_report *r);
/* The same in words, after the region's name; of a verdict with a node. */
void sonde_idle_say(struct sonde_buf *line, const struct sonde_idle_finding *v);

#endif
