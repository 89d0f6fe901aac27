/*
 * Folding: launches → cells, input by input.
 *
 *     struct sonde_parts parts = {0};
 *     sonde_parts_open(&parts, paths, nr, &request, err);    read, attribute, fold
 *     sonde_parts_unite(&cells, &parts, err);                → the tree
 *     sonde_parts_release(&parts);
 *
 * A part is the cells of one input. Its records are freed before the next input
 * is read, so memory follows what is kept and not what was launched.
 */
#ifndef SONDE_FOLD_FOLD_H
#define SONDE_FOLD_FOLD_H

#include "fold/cells.h"
#include "fold/choice.h"

struct sonde_launches;
struct sonde_sharing;

/* What is wanted of the inputs. Borrowed. */
struct sonde_fold_request {
	struct sonde_read_options read;
	struct sonde_selection selection;
	struct sonde_choice choice;
	bool keeps_timeline; /* single events too, for formats that show them … */
	bool keeps_untimed;  /* … and launches without times, for formats that list all */
	size_t keep;	     /* inputs whose scopes stay apart, the rest is added up; 0 = all */
	size_t cores;	     /* to use; 0 = all at hand */
	struct sonde_sharing *sharing; /* other processes that fold too (crew.h); NULL = none */
};

struct sonde_parts {
	SONDE_VEC(struct sonde_cells *) at;
};

/*
 * Reads all of `paths`: captures, partial reports, directories of either. In a
 * directory one that cannot be read is a note, unless it is so with all. Parts
 * of another selection than the request's are SONDE_ERR_USAGE, unless it has
 * none: then it is theirs.
 */
int sonde_parts_open(struct sonde_parts *out, const char *const *paths, size_t nr_paths,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* Takes the parts over, also on failure. */
int sonde_parts_unite(struct sonde_cells **out, struct sonde_parts *parts, struct sonde_err *err);
void sonde_parts_release(struct sonde_parts *parts);

/* The cells of launches, as a part. Nothing is borrowed. */
int sonde_cells_fold(struct sonde_cells **out, const struct sonde_launches *l,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
