/*
 * Folding: launches of one input → cells.
 *
 * Nobody keeps the records: whoever has folded an input frees it before the next is read, so memory
 * follows what is kept and not what was launched. merge/ runs all inputs of a report through here.
 */
#ifndef SONDE_FOLD_FOLD_H
#define SONDE_FOLD_FOLD_H

#include "fold/cells.h"
#include "fold/choice.h"

struct sonde_records;
struct sonde_launches;
struct sonde_sharing; /* merge/input_queue.h */

/* Settings for reading, selecting and folding. Everything is borrowed. */
struct sonde_fold_request {
	struct sonde_read_options read;
	struct sonde_selection selection;
	struct sonde_choice choice;
	bool keeps_timeline; /* single events too, for formats that show them … */
	bool keeps_untimed;  /* … and launches without times, for formats that list all */
	/* Other captures of the directory: what ran on a device that the records have samples of is in these, too. */
	struct sonde_records *const *beside;
	size_t nr_beside;
	/* For merge/: */
	size_t keep;	     /* inputs whose scopes stay apart, the rest is added up; 0 = all */
	size_t cores;	     /* to use; 0 = all at hand */
	struct sonde_sharing *sharing; /* other processes that fold too; NULL = none */
};

/* The cells of launches, as a part. Nothing is borrowed. */
int sonde_cells_fold(struct sonde_cells **out, const struct sonde_launches *l,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* Records → launches → cells. */
int sonde_cells_fold_records(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
