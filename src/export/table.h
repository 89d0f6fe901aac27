/*
 * A table on a terminal: columns as wide as they need to be, cut down to the
 * width there is.
 *
 * Where they do not fit, heads that may be cut give way first. The first column
 * is flexible: it gives way next, to no less than `least_name` columns, its names
 * losing their middle; then droppable columns go, the highest `drop` first. A last column that would not fit
 * even so is cut, to no less than `least_last`, before others go for it. Cells are
 * escaped text: what a cell is to hold is put together in `cell`, names through
 * `sonde_table_name`, and then becomes the next cell. Memory shortage makes the table
 * print nothing and `sonde_table_print` say so.
 *
 * Markdown and HTML take the columns and cells of the same table as they are.
 */
#ifndef SONDE_EXPORT_TABLE_H
#define SONDE_EXPORT_TABLE_H

#include "tree/tree.h"
#include "base/sink.h"
#include "base/vec.h"

enum sonde_style {
	SONDE_STYLE_PLAIN,
	SONDE_STYLE_BOLD,
	SONDE_STYLE_DIM,
	SONDE_STYLE_BAR,
	SONDE_STYLE_COMPUTE,
	SONDE_STYLE_MEMORY,
	SONDE_STYLE_LATENCY,
};

struct sonde_table_column {
	struct sonde_str head;
	bool is_right;
	unsigned drop;	    /* 0 = always there */
	size_t least_head;  /* its head may be cut to this; 0 = it may not */
	size_t cells_width; /* private */
	size_t width;	    /* private */
	bool is_gone;	    /* after printing: there was no room for it */
};

struct sonde_cell_text {
	struct sonde_str text;
	size_t nr_dim; /* bytes at the start that are dimmed: tree lines */
	uint8_t style;
};

struct sonde_table {
	struct sonde_arena arena;
	SONDE_VEC(struct sonde_table_column) columns;
	SONDE_VEC(struct sonde_cell_text) cells; /* row by row */
	struct sonde_buf cell;			 /* the next cell in the making */
	void (*escape)(struct sonde_buf *, struct sonde_str); /* for names; NULL = for a terminal */
	size_t least_name, least_last;		 /* least_last 0 = the last column is never cut */
	bool is_utf8, is_coloured, failed;
	bool is_last_cut; /* set by printing */
};

void sonde_table_column(struct sonde_table *t, struct sonde_str head, bool is_right, unsigned drop);
/* Adds a column for each head up to NULL. A head begins with '>' where it is right-aligned, then with a digit: `drop`. */
void sonde_table_heads(struct sonde_table *t, const char *const *heads);
/* Lets the head of the last column be cut to this width. */
void sonde_table_least_head(struct sonde_table *t, size_t width);
/* Appends a name to the cell in the making, escaped. */
void sonde_table_name(struct sonde_table *t, struct sonde_str name);
/* The same with a label, `""` where it is empty, and before it `domain@` unless that is none (p NULL).
 * Returns how many bytes of the cell come before the label. */
size_t sonde_table_label(struct sonde_table *t, struct sonde_str domain, struct sonde_str label);
/* The same with the path of a region and the mark of its kind. */
void sonde_table_region(struct sonde_table *t, struct sonde_str id, enum sonde_region_kind kind);
/* Ends the cell in the making; `nr_dim` bytes at its start are dimmed. */
void sonde_table_put(struct sonde_table *t, uint8_t style);
void sonde_table_put_dim(struct sonde_table *t, uint8_t style, size_t nr_dim);
/* A whole cell: a name, words of ours, a number ("-" of NaN). */
void sonde_table_text(struct sonde_table *t, struct sonde_str name, uint8_t style);
void sonde_table_words(struct sonde_table *t, const char *words);
void sonde_table_number(struct sonde_table *t, double v, int decimals, const char *unit);
/*
 * Times: each column in one unit, with as many decimals as it needs. The unit suits the longest time in the column, or
 * in the column that this one is a part of: exclusive times compare with inclusive ones, a median with the longest. Heads
 * end in "ms" where they are written down and get the unit here.
 */

struct sonde_scale {
	double least, most; /* the shortest and the longest time, in ms; less than a nanosecond is none */
	const char *unit;   /* µs, ms, s: chosen when all times are added */
	double per_ms;	    /* how many of it a millisecond has */
	uint8_t decimals;
};
void sonde_scale_add(struct sonde_scale *s, double ms); /* NaN adds nothing */
/* Chooses the unit for times up to `most_ms`, and the decimals. */
void sonde_scale_choose(struct sonde_scale *s, double most_ms, bool is_utf8);
/* The number alone; "-" of NaN. */
void sonde_scale_print(struct sonde_buf *to, const struct sonde_scale *s, double ms);
/* A cell of that column. */
void sonde_scale_put(struct sonde_table *t, const struct sonde_scale *s, double ms);
/* A column, right-aligned: "incl ms" becomes "incl µs". */
void sonde_scale_column(
	struct sonde_table *t, const struct sonde_scale *s, struct sonde_str head, unsigned drop);

/* Appends the heads of columns dropped for want of width to `dropped`, comma-separated. */
int sonde_table_print(struct sonde_table *t, struct sonde_sink *to, size_t width,
	struct sonde_buf *dropped, struct sonde_err *err);
/* Prints the table as Markdown, after a blank line. */
void sonde_table_print_markdown(const struct sonde_table *t, struct sonde_sink *to);
void sonde_table_release(struct sonde_table *t);

/* Turns a style on and off; nothing without colours. */
void sonde_style_on(struct sonde_sink *to, uint8_t style, bool is_coloured);
void sonde_style_off(struct sonde_sink *to, uint8_t style, bool is_coloured);

#endif
