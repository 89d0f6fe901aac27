/* Inside the folding room: parts on their way into united cells. */
#ifndef SONDE_MERGE_UNITE_INT_H
#define SONDE_MERGE_UNITE_INT_H

#include "fold/cell_tables.h"
#include "merge/merge.h"

/* One part. */
struct sonde_moving_part {
	struct sonde_moving m;
	uint32_t input;	     /* of its first input */
	uint32_t *metric_of; /* numbers there → numbers here */
};

struct sonde_uniting {
	struct sonde_cells *c;
	struct sonde_moving_part *parts; /* as c->parts */
	struct sonde_map region_keys, kit_keys, section_ids, device_keys;
	struct sonde_arena arena;
};

/* Adds up what was counted. */
void sonde_unite__tally(struct sonde_cells *to, const struct sonde_cells *from);
/* Moves everything that is named by numbers of its own; scopes come unsorted. False: no memory. */
bool sonde_unite__tables(struct sonde_uniting *u, struct sonde_moving_part *p);

#endif
