/*
 * Arguments: named numbers that belong to one entry of a range: `batch=32 tokens=512`.
 *
 * They come from labels (a named group of a rule of report.labels), from NVTX
 * payloads, and from the arguments of annotations in traces. The arguments of an
 * entry are one short text, interned like a label: most entries share their text with
 * others, and it travels wherever the label of an entry travels. Only this file knows
 * how the text is built.
 *
 * A name has letters, digits and `_ . -` (anything else becomes `_`). A value is a
 * whole number, kept with all its digits, or a real number. Reports know two names:
 * they add up `tokens` and `batch` by region.
 */
#ifndef SONDE_READ_ARGUMENTS_H
#define SONDE_READ_ARGUMENTS_H

#include "base/str.h"

#define SONDE_ARGUMENT_TOKENS "tokens"
#define SONDE_ARGUMENT_BATCH  "batch"

#define SONDE_MAX_ARGUMENTS 64 /* per entry; of more, only the first ones are kept */

struct sonde_argument {
	struct sonde_str name;
	struct sonde_str digits; /* the number as the list has it; JSON accepts it too */
	double v;		 /* the number, rounded to a double */
	bool is_whole;		 /* the number is whole and fits `whole` … */
	int64_t whole;		 /* … which is its value; else 0 */
};

/* Takes the next argument of a list and moves `*rest` past it; false at the end. Skips items that are not arguments. */
bool sonde_arguments_next(struct sonde_str *rest, struct sonde_argument *out);
/* The value of the first argument of this name; NaN when the list has none. */
double sonde_arguments_number(struct sonde_str list, const char *name);

/* Each appends one argument to the list in `to`. A value that is not a number (NaN, malformed digits) is left out. */
void sonde_arguments_put(struct sonde_buf *to, struct sonde_str name, struct sonde_str digits);
void sonde_arguments_put_whole(struct sonde_buf *to, struct sonde_str name, bool is_negative, uint64_t magnitude);
void sonde_arguments_put_real(struct sonde_buf *to, struct sonde_str name, double v);
/* The list as a JSON object, `{"batch":32}`; for SQLite and Perfetto. */
void sonde_arguments_put_json(struct sonde_buf *to, struct sonde_str list);

#endif
