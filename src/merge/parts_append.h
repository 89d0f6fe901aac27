/* Inside merge/: rows of a part behind those of others. */
#ifndef SONDE_MERGE_PARTS_APPEND_H
#define SONDE_MERGE_PARTS_APPEND_H

#include "fold/cell_tables.h"

/* Moves the timeline of a part, if it has one, into that of `to`, under the numbers of that. False: no memory. */
bool sonde_timeline__move(struct sonde_cells *to, struct sonde_cells *from, const struct sonde_numbers *of);

#endif
