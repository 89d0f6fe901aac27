/* Sentences for people on a terminal, wrapped to its width. */
#ifndef SONDE_BASE_WRAP_H
#define SONDE_BASE_WRAP_H

#include "base/sink.h"
#include "base/str.h"

/* Where lines begin and end, in columns. */
struct sonde_margins {
	size_t column; /* where the cursor is */
	size_t left;   /* where every further line begins */
	size_t right;  /* the width of the terminal */
};

/* Writes escaped text and ends the line. A word that is longer than a line stays whole. */
void sonde_wrap(struct sonde_sink *to, struct sonde_str text, struct sonde_margins m);

#endif
