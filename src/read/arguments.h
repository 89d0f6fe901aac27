/*
 * Arguments: numbers that belong to one entry of a range, by name: `batch=32 tokens=512`.
 *
 * They come from labels (a named group of a rule of report.labels), from NVTX
 * payloads, and from the arguments of annotations in traces. The arguments of an
 * entry are one short text, interned like a label: most entries share it with
 * others, and whatever carries the label of an entry carries its arguments. This
 * is the only place that knows how the text is made.
 *
 * A name has letters, digits and `_ . -` (anything else becomes `_`), a value is a
 * whole number with all its digits or a real one. Two names mean something to
 * reports: `tokens` and `batch` are added up by region.
 */
#ifndef SONDE_READ_ARGUMENTS_H
#define SONDE_READ_ARGUMENTS_H

#include "base/str.h"

#define SONDE_ARGUMENT_TOKENS "tokens"
#define SONDE_ARGUMENT_BATCH  "batch"

#define SONDE_MAX_ARGUMENTS 64 /* of an entry: of more the first are kept */

struct sonde_argument {
	struct sonde_str name;
	struct sonde_str digits; /* as it is written; JSON takes it too */
	double v;		 /* the same, rounded to what a double holds */
	bool is_whole;		 /* no real number … */
	int64_t whole;		 /* … and this if it fits; else is_whole is false */
};

/* The next argument of a list, `*rest` goes on behind it; false at the end. Skips what is none. */
bool sonde_arguments_next(struct sonde_str *rest, struct sonde_argument *out);
/* The value of the first argument of this name; NaN: the list has none. */
double sonde_arguments_number(struct sonde_str list, const char *name);

/* Each adds one to the list in `to`. What is no number (NaN, other digits) is left out. */
void sonde_arguments_put(struct sonde_buf *to, struct sonde_str name, struct sonde_str digits);
void sonde_arguments_put_whole(struct sonde_buf *to, struct sonde_str name, bool is_negative, uint64_t magnitude);
void sonde_arguments_put_real(struct sonde_buf *to, struct sonde_str name, double v);
/* The list as a JSON object, `{"batch":32}`; for SQLite and Perfetto. */
void sonde_arguments_put_json(struct sonde_buf *to, struct sonde_str list);

#endif
