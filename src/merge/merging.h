/*
 * Merging: cells of many inputs, ranks, rotated files and processes → the cells of one report.
 *
 *     struct sonde_parts parts = {0};
 *     sonde_parts_open(&parts, paths, nr, &request, err);    read, attribute, fold, input by input
 *     sonde_parts_unite(&cells, &parts, err);                → the tree
 *     sonde_parts_release(&parts);
 *
 * A part is the cells of one input. Parts are put side by side (parts_append.c). They are added up only if a report
 * does not keep all scopes (scopes_rest.h), and if the oldest files of a rotated capture were removed (rolling.h).
 */
#ifndef SONDE_MERGE_MERGING_H
#define SONDE_MERGE_MERGING_H

#include "fold/fold.h"
#include "fold/parts.h"

/*
 * Reads all of `paths`: captures, partial reports, directories of either. A file
 * in a directory that cannot be read becomes a note; if no file can be read it is an
 * error. If the request has a selection, parts with another one are SONDE_ERR_USAGE.
 * If it has none, the selection of the parts is used.
 */
int sonde_parts_open(struct sonde_parts *out, const char *const *paths, size_t nr_paths,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* The parts of one file, a capture or partial report. */
int sonde_parts_read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* Takes ownership of the parts, also on failure. */
int sonde_parts_unite(struct sonde_cells **out, struct sonde_parts *parts, struct sonde_err *err);

/*
 * Unites cells that have the same selection; otherwise SONDE_ERR_USAGE. Takes ownership
 * of all `parts`, also on failure. An input that is there twice, for example in two
 * partial reports, counts once.
 */
int sonde_cells_unite(struct sonde_cells **out, struct sonde_cells **parts, size_t nr_parts,
	struct sonde_err *err);

#endif
