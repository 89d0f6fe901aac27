/*
 * A directory as an input: the captures it holds.
 *
 * A run directory may hold several captures of the same work. Those of one kind
 * are taken, the most telling one: Nsight Compute reports (`*.ncu-rep`), else
 * native captures (`*.sonde`), else Nsight Systems exports (`*.sqlite`), else
 * traces (`*.json` that are such), else partial reports (`*.sondecells`); each
 * also compressed (`.gz`). What was left out is said in a note. Reports below
 * `regions/` and hidden folders are not captures. Links to files are followed,
 * each file is taken once.
 */
#ifndef SONDE_READ_FOLDER_IN_H
#define SONDE_READ_FOLDER_IN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/note.h"
#include "base/words.h"

/* The captures below `dir`, by name, in the arena. SONDE_ERR_IO when there is none. */
int sonde_folder_expand(struct sonde_word_list *out, const char *dir, struct sonde_arena *arena,
	struct sonde_notes *notes, struct sonde_err *err);
/* Whether a file of this name would be looked at. */
bool sonde_folder_is_capture(struct sonde_str path);

#endif
