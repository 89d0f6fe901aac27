/*
 * Parts: cells of one input each, in an order that depends on what the inputs are and not on when they
 * came. For this reason any order and any grouping of merging gives the same bytes.
 */
#ifndef SONDE_FOLD_PARTS_H
#define SONDE_FOLD_PARTS_H

#include "fold/cells.h"

struct sonde_parts {
	SONDE_VEC(struct sonde_cells *) at;
};

void sonde_parts_release(struct sonde_parts *parts);

/* A hash that identifies the input of a part: parts of the same input have the same, whatever metrics they keep. */
uint64_t sonde_part_identity(const struct sonde_cells *c);
/* Adds a note that a part is left out because its input is there already. */
void sonde_parts_note_double(struct sonde_notes *notes, const struct sonde_cells *c);
/* Sorts parts by path, then by identity, and frees duplicates, with a note for each. */
void sonde_parts_sort(struct sonde_cells **at, size_t *nr, struct sonde_notes *doubled);
/* SONDE_ERR_USAGE when they were not folded with the same settings. */
int sonde_parts_check(struct sonde_cells *const *at, size_t nr, struct sonde_err *err);

/* Whether two selections are equal. */
bool sonde_selection_is_same(const struct sonde_selection *a, const struct sonde_selection *b);
/* Whether this is the default selection. Then parts that were folded with another selection are taken as they are. */
bool sonde_selection_is_usual(const struct sonde_selection *s);

#endif
