/*
 * A directory as an input: the captures it holds.
 *
 * A run directory may hold several captures of the same work. Those of one kind
 * are taken, the one that says most: Nsight Compute reports (`*.ncu-rep`), else
 * native captures (`*.sonde`), else Nsight Systems exports (`*.sqlite`), else
 * traces (`*.json` that are such), else partial reports (`*.sondecells`); each
 * also compressed (`.gz`). What was left out is said in a note. Reports below
 * `regions/` and hidden folders are not captures. Links to files are followed,
 * each file is taken once.
 *
 * If a directory holds several run directories, as `sonde run` writes them (`config.yaml` and
 * `inputs.yaml` are in each), the newest is taken, and a note says so: runs are never added up
 * unasked.
 */
#ifndef SONDE_READ_FOLDER_IN_H
#define SONDE_READ_FOLDER_IN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/note.h"
#include "base/words.h"

struct sonde_folder {
	const char *dir;
	bool together;		      /* the captures of all runs in it */
	struct sonde_word_list files; /* found, by name, in the arena; released by the caller */
	bool is_run; /* they are of one run of sonde's: nobody needs to ask whether of one job */
	const char *run; /* the run directory that they are of, if that is `dir` or in it; NULL = none is */
};

/* Finds the captures below `f->dir`. SONDE_ERR_IO when there is none. */
int sonde_folder_expand(struct sonde_folder *f, struct sonde_arena *arena,
	struct sonde_notes *notes, struct sonde_err *err);
/* Whether our sampler wrote a file of this name: it has the counters of a device. */
bool sonde_folder_is_samples(const char *path);
/* Whether a file of this name would be looked at. */
bool sonde_folder_is_capture(struct sonde_str path);

#endif
