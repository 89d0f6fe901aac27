/*
 * CSV as Nsight's tools write it, read in place: cells, numbers, units.
 *
 *     struct csv_cursor c = {.p = data.p, .end = data.p + data.n};
 *     while (csv_next(&c, &cell)) …
 */
#ifndef SONDE_READ_CSV_SCAN_H
#define SONDE_READ_CSV_SCAN_H

#include "base/arena.h"
#include "base/str.h"

/* Walks the cells of rows. Nothing outside [p, end) is touched. */
struct csv_cursor {
	const char *p, *end;
	bool at_row_end; /* the cell just read was the last of its row */
	bool is_cut;	 /* the file ends inside a quoted cell */
};

struct csv_cell {
	struct sonde_str raw; /* without the quotes around it */
	bool has_quotes;      /* quotes inside are doubled: see csv_text */
};

/* The next cell; false at the end of the data or when it is cut. */
bool csv_next(struct csv_cursor *c, struct csv_cell *cell);
/* The cell's text, copied to the arena only when it has quotes inside; p NULL: out of memory. */
struct sonde_str csv_text(struct sonde_arena *a, const struct csv_cell *cell);
/* The same, but copied to `scratch`: valid until `scratch` is used again. */
struct sonde_str csv_text_in(struct sonde_buf *scratch, const struct csv_cell *cell);
/* `1,980,000.00` → the number; NaN for anything else. */
double csv_number(struct sonde_str text);
/* Whether ncu writes this text for "there is no value". */
bool csv_is_missing(struct sonde_str text);
/* The factor to base units (`usecond` → 1000) and the base unit's name (`ns`), in the arena. */
double csv_unit(struct sonde_arena *a, struct sonde_str unit, struct sonde_str *base);

#endif
