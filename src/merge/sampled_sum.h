/* Inside merge/: sampled counters of files of one capture, added up. */
#ifndef SONDE_MERGE_SAMPLED_SUM_H
#define SONDE_MERGE_SAMPLED_SUM_H

#include "merge/parts_sum.h"

/*
 * Gives the cells of `to`, which are the sum of `parts`, the counters that the parts have. Where samples saw a cell in some
 * of the parts only, the cell has that much: what was not seen counts as time without samples. False: no memory.
 */
bool sonde_sampled_add(struct sonde_cells *to, const struct sonde_sum_part *parts, size_t nr_parts);

#endif
