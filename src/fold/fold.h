/*
 * Folding: launches of one input → cells.
 *
 * The records of an input are freed as soon as it is folded, before the next input is read, so memory
 * grows with what is kept and not with what was launched. merge/ calls these functions for all inputs of a report.
 */
#ifndef SONDE_FOLD_FOLD_H
#define SONDE_FOLD_FOLD_H

#include "fold/cells.h"
#include "fold/choice.h"

struct sonde_records;
struct sonde_launches;
struct sonde_sharing; /* merge/input_queue.h */

/* Settings for reading, selecting and folding. All pointers are borrowed. */
struct sonde_fold_request {
	struct sonde_read_options read;
	struct sonde_selection selection;
	struct sonde_choice choice;
	bool keeps_timeline; /* also keep single events, for formats that show them */
	bool keeps_untimed;  /* the timeline also has launches without times, for formats that list all */
	/* Other captures of the same directory: they may have launches on a device whose samples are in these records. */
	struct sonde_records *const *beside;
	size_t nr_beside;
	/* For merge/: */
	size_t keep;	     /* number of inputs whose scopes are kept, the scopes of others are added up; 0 = keep all */
	size_t cores;	     /* number of cores to use; 0 = all available */
	struct sonde_sharing *sharing; /* other processes that fold too; NULL = none */
};

/* Folds launches to cells, as a part. The cells borrow nothing. */
int sonde_cells_fold(struct sonde_cells **out, const struct sonde_launches *l,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* Records → launches → cells. */
int sonde_cells_fold_records(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
