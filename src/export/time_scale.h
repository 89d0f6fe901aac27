/*
 * How a table prints times: each column in one unit, with as many decimals as it needs.
 *
 * The unit is that of the longest time in the column, or in the column this one is a part of:
 * exclusive times compare with inclusive ones, a median with the longest. Heads end in "ms" in
 * the tables of columns and get the unit here.
 */
#ifndef SONDE_EXPORT_TIME_SCALE_H
#define SONDE_EXPORT_TIME_SCALE_H

#include "export/table.h"

/* The smallest and the largest time of a column, in ms; less than a nanosecond is none. */
struct sonde_extent {
	double least, most;
};
void sonde_extent_add(struct sonde_extent *e, double ms); /* NaN adds nothing */

struct sonde_scale {
	const char *unit; /* µs, ms, s */
	double per_ms;	  /* how many of it a millisecond has */
	uint8_t decimals;
};
/* Chooses the scale of the column `e`, in the unit for times up to `most_ms`. */
struct sonde_scale sonde_scale_choose(const struct sonde_extent *e, double most_ms, bool is_utf8);
/* The number alone; "-" of NaN. */
void sonde_scale_print(struct sonde_buf *to, const struct sonde_scale *s, double ms);
/* A cell of that column. */
void sonde_scale_put(struct sonde_table *t, const struct sonde_scale *s, double ms);
/* A column, right-aligned: "incl ms" becomes "incl µs". */
void sonde_scale_column(
	struct sonde_table *t, const struct sonde_scale *s, struct sonde_str head, unsigned drop);

#endif
