/* Private to merge/: appending the rows of a part to those of other parts. */
#ifndef SONDE_MERGE_PARTS_APPEND_H
#define SONDE_MERGE_PARTS_APPEND_H

#include "fold/cell_tables.h"

/* Moves the timeline of `from`, if it has one, to that of `to`, and translates its numbers by `of`. False: no memory. */
bool sonde_timeline__move(struct sonde_cells *to, struct sonde_cells *from, const struct sonde_numbers *of);

#endif
