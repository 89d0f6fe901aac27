/*
 * Walks over cells (walk.h): each is the writer and the reader of what it names, for files
 * (cellfile.c) and for other processes (merge/). Those over rows (visits, cells, timeline) also change the
 * numbers of a part to those of the cells that it becomes part of (merge/).
 */
#ifndef SONDE_CELLFILE_CELL_WALKS_H
#define SONDE_CELLFILE_CELL_WALKS_H

#include "cellfile/walk.h"
#include "fold/cells.h"

/* A section of a part each. A reader starts with a part of zeros, and with the tables. */
void sonde_walk_tables(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_visits(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_cells(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_sampled(struct sonde_walk *w, struct sonde_cells *c);
void sonde_walk_stalls(struct sonde_walk *w, struct sonde_cells *c);
/* The timeline of a part, which no file has. */
void sonde_walk_timeline(struct sonde_walk *w, struct sonde_cells *c);

/* The settings of a report that change what is folded. */
void sonde_walk_words(struct sonde_walk *w, struct sonde_words *words);
void sonde_walk_settings(
	struct sonde_walk *w, struct sonde_selection *s, struct sonde_read_options *read);

#endif
