/*
 * Notes: what a stage had to leave out or could only do second best, in words.
 *
 * Degradation is counted and shown, never hidden: every stage adds its
 * sentences here and every report prints them. The same sentence is kept once.
 */
#ifndef SONDE_BASE_NOTE_H
#define SONDE_BASE_NOTE_H

#include "base/arena.h"
#include "base/map.h"

struct sonde_notes {
	struct sonde_map texts; /* texts.keys[0 … texts.nr-1] are the notes, in order */
	struct sonde_arena arena;
};

/* Memory shortage drops the note: notes never make a stage fail. */
void sonde_note(struct sonde_notes *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sonde_notes_add(struct sonde_notes *to, const struct sonde_notes *from);
void sonde_notes_release(struct sonde_notes *notes);

#endif
