/*
 * Inputs as given: files and directories of captures.
 */
#ifndef SONDE_LIB_INPUT_H
#define SONDE_LIB_INPUT_H

#include "base/err.h"
#include "base/note.h"
#include "base/words.h"

/*
 * Leaves out what was named before, also by another path or through a link: the
 * same capture read twice would count twice. Each that goes is noted.
 */
int sonde_inputs_unite(
	struct sonde_word_list *paths, struct sonde_notes *notes, struct sonde_err *err);

#endif
