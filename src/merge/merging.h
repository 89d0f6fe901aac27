/*
 * Merging: cells of many inputs, ranks, rotated files and processes → the cells of one report.
 *
 *     struct sonde_parts parts = {0};
 *     sonde_parts_open(&parts, paths, nr, &request, err);    read, attribute, fold, input by input
 *     sonde_parts_unite(&cells, &parts, err);                → the tree
 *     sonde_parts_release(&parts);
 *
 * A part is the cells of one input. Parts are put side by side (parts_append.c); they are added up where a
 * report has no room for all scopes, and where the oldest files of a rotated capture are gone.
 */
#ifndef SONDE_MERGE_MERGING_H
#define SONDE_MERGE_MERGING_H

#include "fold/fold.h"
#include "fold/parts.h"

/*
 * Reads all of `paths`: captures, partial reports, directories of either. In a
 * directory one that cannot be read is a note, unless it is so with all. Parts
 * of another selection than the request's are SONDE_ERR_USAGE, unless it has
 * none: then it is theirs.
 */
int sonde_parts_open(struct sonde_parts *out, const char *const *paths, size_t nr_paths,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* The parts of one file, a capture or partial report. */
int sonde_parts_read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* Takes the parts over, also on failure. */
int sonde_parts_unite(struct sonde_cells **out, struct sonde_parts *parts, struct sonde_err *err);

/*
 * Unites cells of one selection, else SONDE_ERR_USAGE. Takes over all of `parts`,
 * also on failure. An input that is there twice, by two partial reports say,
 * counts once.
 */
int sonde_cells_unite(struct sonde_cells **out, struct sonde_cells **parts, size_t nr_parts,
	struct sonde_err *err);

#endif
