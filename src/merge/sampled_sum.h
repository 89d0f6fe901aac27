/* Private to merge/: adds up the sampled counters of several files of one capture. */
#ifndef SONDE_MERGE_SAMPLED_SUM_H
#define SONDE_MERGE_SAMPLED_SUM_H

#include "merge/parts_sum.h"

/*
 * Adds the sampled counters of `parts` to the cells of `to`, which are the sum of `parts`. If samples saw a cell in some of
 * the parts only, the cell has the counters of these, and its time in the other parts is unseen time. False: no memory.
 */
bool sonde_sampled_add(struct sonde_cells *to, const struct sonde_sum_part *parts, size_t nr_parts);

#endif
