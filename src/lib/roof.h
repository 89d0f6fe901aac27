/*
 * Roofs: how close kernels are to the peak of the part that limits them, from the counters of a report.
 *
 * A kernel whose DRAM is at 51 % of its peak cannot take less than 0.51 of its time, whatever is done to it while it moves
 * the same bytes: at its roofline it takes that.
 */
#ifndef SONDE_LIB_ROOF_H
#define SONDE_LIB_ROOF_H

#include "tree/tree.h"

struct sonde_roof {
	double fraction; /* of the peak, weighted by the kernels' time; at most 1 */
	double error;	 /* ± at 95 %; 0 = it was counted, not sampled */
};

/*
 * The kernels whose names match the glob `name`. False where there is none, or their counters do not tell: one of SM and memory
 * throughput is not known for a tenth of their time.
 */
bool sonde_roof_find(struct sonde_roof *out, const struct sonde_tree *t, struct sonde_str name);
/* Whether the glob means a kernel of the report by the name that people see there. `full` is its whole name. */
bool sonde_roof_means(const struct sonde_tree *t, struct sonde_str full, struct sonde_str name);

#endif
