/*
 * A table on a terminal: columns as wide as they need to be, or narrower to fit the terminal.
 *
 * If the columns do not fit, heads that may be cut give way first. Next, the first column shrinks, to no less than
 * `least_name`; its names lose their middle. Then droppable columns go, the highest `drop` first. A last column that
 * would not fit even so is cut, to no less than `least_last`, before others go for it.
 *
 * Cells are escaped text: the text of the next cell is put together in `cell`, names by `sonde_table_name`; then
 * sonde_table_put ends the cell. If memory runs out, the table prints nothing and `sonde_table_print` returns the
 * error.
 *
 * Markdown and HTML take the columns and cells of the same table as they are.
 */
#ifndef SONDE_EXPORT_TABLE_H
#define SONDE_EXPORT_TABLE_H

#include "tree/tree.h"
#include "base/sink.h"
#include "base/vec.h"

/* A line below tables that say when something happened (sonde_tree_first_ns). */
#define SONDE_AT_SINCE "at: since the first range or launch of the capture, where the time line begins\n"

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
	unsigned drop;	    /* 0 = never dropped */
	size_t least_head;  /* width that its head may be cut to; 0 = not cut */
	size_t cells_width; /* private */
	size_t width;	    /* private */
	bool is_gone;	    /* after printing: there was no room for the column */
};

struct sonde_cell_text {
	struct sonde_str text;
	size_t nr_dim; /* bytes at the start that are dimmed: tree lines */
	uint8_t style;
	bool needs_figures; /* in the first cell: the row is not printed if there is no room for a cell of it with text */
};

struct sonde_table {
	struct sonde_arena arena;
	SONDE_VEC(struct sonde_table_column) columns;
	SONDE_VEC(struct sonde_cell_text) cells; /* row by row */
	struct sonde_buf cell;			 /* text of the next cell, not yet ended */
	void (*escape)(struct sonde_buf *, struct sonde_str); /* escapes names; NULL = for a terminal */
	size_t least_name, least_last;		 /* least_last 0 = the last column is never cut */
	bool is_utf8, is_coloured, failed;
	bool is_last_cut; /* set by printing: the last column was cut */
};

void sonde_table_column(struct sonde_table *t, struct sonde_str head, bool is_right, unsigned drop);
/* Adds a column for each head up to NULL. A head begins with '>' if it is right-aligned; then comes a digit: `drop`. */
void sonde_table_heads(struct sonde_table *t, const char *const *heads);
/* Lets the head of the last column be cut to this width. */
void sonde_table_least_head(struct sonde_table *t, size_t width);
/* Appends a name to the next cell, escaped. */
void sonde_table_name(struct sonde_table *t, struct sonde_str name);
/*
 * Appends a label to the next cell, `""` if it is empty, and before it `domain@` unless there is no domain (p NULL).
 * Returns how many bytes of the cell come before the label.
 */
size_t sonde_table_label(struct sonde_table *t, struct sonde_str domain, struct sonde_str label);
/* Appends the path of a region and the mark of its kind to the next cell. */
void sonde_table_region(struct sonde_table *t, struct sonde_str id, enum sonde_region_kind kind);
/* Ends the cell; `nr_dim` bytes at its start are dimmed. */
void sonde_table_put(struct sonde_table *t, uint8_t style);
void sonde_table_put_dim(struct sonde_table *t, uint8_t style, size_t nr_dim);
/* Adds a whole cell: a name, fixed words, a number ("-" for NaN). */
void sonde_table_text(struct sonde_table *t, struct sonde_str name, uint8_t style);
void sonde_table_words(struct sonde_table *t, const char *words);
void sonde_table_number(struct sonde_table *t, double v, int decimals, const char *unit);
/*
 * Times: each column has one unit, and as many decimals as it needs. The unit suits the longest time in the column, or
 * in a column that people compare it with: exclusive times have the unit of inclusive ones, a median that of the
 * longest time. In the code, heads end in "ms"; the chosen unit replaces it.
 */

struct sonde_scale {
	double least, most; /* the shortest time of at least 1 ns, and the longest, in ms */
	const char *unit;   /* µs, ms, s: chosen when all times are added */
	double per_ms;	    /* how many of these units a millisecond has */
	uint8_t decimals;
};
void sonde_scale_add(struct sonde_scale *s, double ms); /* NaN adds nothing */
/* Chooses the unit for times up to `most_ms`, and the decimals. */
void sonde_scale_choose(struct sonde_scale *s, double most_ms, bool is_utf8);
/* Appends the number alone; "-" for NaN. */
void sonde_scale_print(struct sonde_buf *to, const struct sonde_scale *s, double ms);
/* Adds a cell of such a column. */
void sonde_scale_put(struct sonde_table *t, const struct sonde_scale *s, double ms);
/* Adds a column, right-aligned: "incl ms" becomes "incl µs". */
void sonde_scale_column(
	struct sonde_table *t, const struct sonde_scale *s, struct sonde_str head, unsigned drop);

/* Prints the table; appends the heads of columns that the width has no room for to `dropped`, comma-separated. */
int sonde_table_print(struct sonde_table *t, struct sonde_sink *to, size_t width,
	struct sonde_buf *dropped, struct sonde_err *err);
/* Prints the table as Markdown, after a blank line. */
void sonde_table_print_markdown(const struct sonde_table *t, struct sonde_sink *to);
void sonde_table_release(struct sonde_table *t);

/* Turn a style on and off; they do nothing without colours. */
void sonde_style_on(struct sonde_sink *to, uint8_t style, bool is_coloured);
void sonde_style_off(struct sonde_sink *to, uint8_t style, bool is_coloured);

#endif
