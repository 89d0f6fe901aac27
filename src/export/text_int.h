/*
 * Private to the report on a terminal.
 *
 *   text.c         the lines around the tables, notes, legend; ranks and idle gaps
 *   text_table.c   what its tables share: style, metric columns, bars
 *   text_tree.c    the tree of regions
 *   text_kernels.c kernels, wherever they were launched
 *   text_entries.c entries of regions
 */
#ifndef SONDE_EXPORT_TEXT_INT_H
#define SONDE_EXPORT_TEXT_INT_H

#include "export/field.h"
#include "export/table.h"

/* The marks of figures; the legend explains those that were printed, in this order. */
enum sonde_text_mark {
	SONDE_MARK_APPROX,
	SONDE_MARK_STAT,
	SONDE_MARK_BOUND,
	SONDE_MARK_SAMPLED,
	SONDE_MARK_UNKNOWN, /* sampled, but not well enough for a figure */
	SONDE_MARK_INSIDE, /* regions without a row, inside one with a row */
	SONDE_MARK_CUT, /* words that are not printed whole */
};
#define SONDE_NR_MARKS 7

struct sonde_text_export {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_export_options *options;
	struct sonde_figures figures;
	struct sonde_buf cell;		      /* scratch */
	struct sonde_buf dropped;	      /* heads of columns there was no room for */
	bool has[SONDE_NR_MARKS];     /* marks that were printed */
	uint8_t marks[SONDE_NR_MARKS]; /* in the table being made: for each mark, the headline metrics that have it, one bit each */
	bool has_bounds; /* the table being printed has the column `bound` */
	uint64_t fields;       /* fields of the table being printed, one bit each */
	struct sonde_scale scales[64]; /* units of their times, by field */
	size_t width;
};

/* Makes an empty table in the style of the report; its names are never narrower than `least_name`. */
struct sonde_table sonde_text__table(const struct sonde_export_options *o, size_t least_name);
/* Prints a blank line and the table, and releases the table. */
int sonde_text__finish(struct sonde_text_export *x, struct sonde_table *t, struct sonde_err *err);
/* Adds columns for the headline metrics, and writes their cells in a row; `has_work` = something ran in that row. */
void sonde_text__add_metric_columns(struct sonde_text_export *x, struct sonde_table *t);
void sonde_text__put_metric_cells(
	struct sonde_text_export *x, struct sonde_table *t, uint8_t style, bool has_work);
/* Whether the headline metrics are sampled ones. */
bool sonde_text__has_sampled(const struct sonde_text_export *x);

/* A bar repeats the number beside it, so it gives way before any metric. */
#define SONDE_DROP_BAR (1u << 30)
void sonde_text__put_bar(struct sonde_table *t, double pct);
/*
 * Prints the table, whose metrics begin at column `first`. Marks in columns that there was no room for need no legend.
 */
int sonde_text__print(
	struct sonde_text_export *x, struct sonde_table *t, size_t first, struct sonde_err *err);

/* Writes the tree table of one report. */
int sonde_text__write_tree(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err);
/* Wraps the words of `text` at the width of the terminal; all lines but the first are indented. */
void sonde_text__write_wrapped(struct sonde_text_export *x, const char *bullet, struct sonde_str text);
/* Writes how long the entries of regions took, and the slowest; or that the capture has no such times. */
int sonde_text__write_entries(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err);
/* Writes all kernels, in regions or not, longest first. */
int sonde_text__write_kernels(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err);

#endif
