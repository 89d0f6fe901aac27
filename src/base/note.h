/*
 * Notes: sentences about what a stage had to leave out or could only do second best.
 *
 * Degradation is counted and shown, never hidden: every stage adds its
 * sentences here and every report prints them. The same sentence is kept once.
 *
 * A note is a remark, or it reports a loss: a part of the input that should be there is missing or damaged
 * (a file that was cut off or left out, events that were lost), so that figures are those of the rest only.
 * The code that finds the loss reports it. It is not a loss when the program itself left
 * something open (a range it never closed), nor when the capture was not meant to have more (windows, a
 * budget, limits of the tool).
 */
#ifndef SONDE_BASE_NOTE_H
#define SONDE_BASE_NOTE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct sonde_notes {
	struct sonde_map texts; /* texts.keys[0 … texts.nr-1] are the notes, in order */
	SONDE_VEC(bool) losses; /* private: whether each note is a loss; notes behind the end of the vector are not */
	uint64_t nr_losses;	/* number of losses, also of those whose note was dropped because memory was short */
	struct sonde_arena arena;
};

/* When memory is short the note is dropped: notes never make a stage fail. */
void sonde_note(struct sonde_notes *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sonde_note_loss(struct sonde_notes *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a note that was worded elsewhere. */
void sonde_notes_put(struct sonde_notes *notes, struct sonde_str text, bool is_loss);
bool sonde_notes_is_loss(const struct sonde_notes *notes, size_t i);
void sonde_notes_add(struct sonde_notes *to, const struct sonde_notes *from);
void sonde_notes_release(struct sonde_notes *notes);

#endif
