/*
 * Roofs: how close kernels are to the peak of the part that limits them, from the counters of a report.
 *
 * If a kernel's DRAM is at 51 % of its peak, the kernel needs at least 0.51 of its time, whatever is done to it, as long
 * as it moves the same bytes. At its roofline, it takes exactly that time.
 */
#ifndef SONDE_LIB_ROOF_H
#define SONDE_LIB_ROOF_H

#include "tree/tree.h"

struct sonde_roof {
	double fraction; /* share of the peak, mean weighted by the kernels' time; at most 1 */
	double error;	 /* ± at 95 %; 0 = counted, not sampled */
};

/*
 * The roof of the kernels whose names match the glob `name`. False if there are none, or if SM or memory throughput is
 * not known for more than a tenth of their time.
 */
bool sonde_roof_find(struct sonde_roof *out, const struct sonde_tree *t, struct sonde_str name);
/*
 * Whether the glob matches a kernel of the report, by its short or its whole name. `full` is the whole name of that
 * kernel.
 */
bool sonde_roof_matches(const struct sonde_tree *t, struct sonde_str full, struct sonde_str name);

#endif
