/*
 * Parts: cells of one input each, in an order that depends on what the inputs are and not on how they
 * came. That is what makes any order and any grouping of merging give the same bytes.
 */
#ifndef SONDE_FOLD_PARTS_H
#define SONDE_FOLD_PARTS_H

#include "fold/cells.h"

struct sonde_parts {
	SONDE_VEC(struct sonde_cells *) at;
};

void sonde_parts_release(struct sonde_parts *parts);

/* A hash of what a part is, whoever holds it. */
uint64_t sonde_part_identity(const struct sonde_cells *c);
/* Says that a part is left out, as it is there already. */
void sonde_parts_note_double(struct sonde_notes *notes, const struct sonde_cells *c);
/* Sorts parts by path, then by what they are, and frees those that are there already. */
void sonde_parts_sort(struct sonde_cells **at, size_t *nr, struct sonde_notes *doubled);
/* SONDE_ERR_USAGE when they were not folded with the same settings. */
int sonde_parts_check(struct sonde_cells *const *at, size_t nr, struct sonde_err *err);

/* Whether two selections choose the same. */
bool sonde_selection_is_same(const struct sonde_selection *a, const struct sonde_selection *b);
/* Whether nobody selected anything: what was folded with another selection is taken as it is. */
bool sonde_selection_is_usual(const struct sonde_selection *s);

#endif
