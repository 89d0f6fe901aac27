/*
 * Walks over cells (walk.h). Each walk both writes and reads what its name says, for files (cellfile.c) and for other
 * processes (merge/). The walks over rows (visits, cells, timeline) can also renumber a part: they replace its row
 * numbers by those of the cells that the part is merged into (merge/).
 */
#ifndef SONDE_CELLFILE_CELL_WALKS_H
#define SONDE_CELLFILE_CELL_WALKS_H

#include "cellfile/walk.h"
#include "fold/cells.h"

/* Each moves one section of a part. A reader starts with a part that is all zeros, and reads the tables first. */
void sonde_walk_tables(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_visits(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_cells(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_sampled(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_stalls(struct sonde_walk *w, struct sonde_cells *c);
/* Moves the timeline of a part. Files never contain one. */
void sonde_walk_timeline(struct sonde_walk *w, struct sonde_cells *c);

/* Move the settings of a report that change what is folded. */
void sonde_walk_words(struct sonde_walk *w, struct sonde_words *words);
void sonde_walk_settings(
	struct sonde_walk *w, struct sonde_selection *s, struct sonde_read_options *read);

#endif
