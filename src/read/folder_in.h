/*
 * A directory as an input: the captures it contains.
 *
 * A run directory may contain several captures of the same work. Only captures of one
 * kind are taken, the kind with the most information: Nsight Compute reports
 * (`*.ncu-rep`), else native captures (`*.sonde`), else Nsight Systems exports
 * (`*.sqlite`), else traces (`*.json` files that are traces), else partial reports
 * (`*.sondecells`); each also compressed (`.gz`). A note names what was left out.
 * Reports below `regions/` and hidden folders are not captures. Links to files are
 * followed; each file is taken once.
 *
 * If a directory contains several run directories, as `sonde run` writes them (each has `config.yaml`
 * and `inputs.yaml`), the newest is taken, and a note says so: runs are never added up unless the user
 * asks for it.
 */
#ifndef SONDE_READ_FOLDER_IN_H
#define SONDE_READ_FOLDER_IN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/note.h"
#include "base/words.h"

struct sonde_folder {
	const char *dir;
	bool together;		      /* take the captures of all runs in `dir` */
	struct sonde_word_list files; /* the captures, sorted by path; paths in the arena; the caller releases the list */
	bool is_run; /* all belong to one run of sonde, so nobody needs to check that they are of one job */
	const char *run; /* the run directory they belong to, if it is `dir` or inside it; NULL = none */
};

/* Finds the captures below `f->dir`. SONDE_ERR_IO when there is none. */
int sonde_folder_expand(struct sonde_folder *f, struct sonde_arena *arena,
	struct sonde_notes *notes, struct sonde_err *err);
/* Whether the name is that of a file of sonde's sampler, which contains the counters of a device. */
bool sonde_folder_is_samples(const char *path);
/* Whether the name is that of a capture. Files with other names are not opened. */
bool sonde_folder_is_capture(struct sonde_str path);

#endif
