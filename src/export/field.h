/*
 * The column table: the columns of a region's row, defined once for all formats.
 *
 * JSON uses `key` (`idle.sync_ms` is member sync_ms of the object idle), CSV uses `csv`, and tables for people use
 * `head`. All take the number from the same function. Metrics come after these columns; they are the columns of the
 * tree.
 */
#ifndef SONDE_EXPORT_FIELD_H
#define SONDE_EXPORT_FIELD_H

#include "export/shown_reports.h"
#include "tree/judge.h"

#include <math.h>

enum sonde_field_form {
	SONDE_FIELD_COUNT,
	SONDE_FIELD_MS,
	SONDE_FIELD_PERCENT,
	SONDE_FIELD_RATIO,
};

/* The tables of text and Markdown that have the field, one bit each. */
enum sonde_field_table {
	SONDE_TABLE_PLAIN = 1,	/* for captures without timestamps */
	SONDE_TABLE_TIMED = 2,	/* for captures with timestamps */
	SONDE_TABLE_HOST = 4,	/* for captures with host times only */
	SONDE_TABLE_IDLE = 8,	/* --idle */
	SONDE_TABLE_MEMORY = 16, /* --memory */
	SONDE_TABLE_RANKS = 32, /* --ranks */
};

enum sonde_field_flag {
	SONDE_FIELD_EXCLUSIVE = 1,  /* in JSON inside "exclusive" */
	SONDE_FIELD_OPTIONAL = 2,   /* left out when it is NaN: only some captures or reports have it */
	SONDE_FIELD_NOT_ZERO = 4,   /* tables also leave out a column of zeros */
	SONDE_FIELD_WITH_TIMES = 8, /* NaN in reports without busy time, which needs the times of single launches */
	SONDE_FIELD_ADDS = 16,	    /* siblings count different things, so it may be added; the sum is at most the parent's */
};

struct sonde_field {
	const char *key, *csv, *head;
	uint8_t form;		/* enum sonde_field_form */
	uint8_t tables, flags;	/* bits */
	uint8_t type;		/* private: how the number is stored in a node … */
	uint16_t at;		/* … where it is … */
	double (*make)(const struct sonde_report *r, const struct sonde_node *n); /* … or the function that makes it */
};

extern const struct sonde_field sonde_fields[];
extern const size_t sonde_nr_fields;

/* The number in a region's row; NaN = there is none. */
double sonde_field_number(
	const struct sonde_field *f, const struct sonde_report *r, const struct sonde_node *n);
/*
 * The sum of a field that adds up, over the regions from `node` on along `next`, which do not contain each other; NaN
 * for other fields.
 */
double sonde_field_sum_rest(
	const struct sonde_field *f, const struct sonde_report *r, const uint32_t *next, uint32_t node);
/* The number in a row that is no region but has launches and a time (totals, kernels); NaN for all other fields. */
double sonde_field_sum(const struct sonde_field *f, double launches, double time_ns);
bool sonde_field_is(const struct sonde_field *f, const char *csv);

/* The rank that takes longest in a region of the aggregate; p NULL when there are not two ranks. */
struct sonde_str sonde_slowest_rank(
	const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_node *n);

/* The head of a column: `launches` becomes `results` for replayed ranges. */
struct sonde_str sonde_field_head(const struct sonde_field *f, const struct sonde_report *r);
/*
 * The columns of a table for this report and view, one bit per field. Optional fields that no node has a value for are
 * left out.
 */
uint64_t sonde_fields_in_table(const struct sonde_report *r, enum sonde_columns_view view);
/* Why these columns show nothing that the view is about, and what to do; NULL when they show it. */
const char *sonde_view_lacks(uint64_t fields, enum sonde_columns_view view);

/*
 * Whether regions have figures and nothing else: no times, no launches (a memory snapshot). Their first column is then
 * used as their weight.
 */
bool sonde_report_is_figures(const struct sonde_report *r);

/* The head of headline metric `i`: its full name if another one has the same short head. */
struct sonde_str sonde_headline_head(const struct sonde_tree *t, size_t i);
/* The same for any column among all others; headline metrics keep their short heads. */
struct sonde_str sonde_column_head(const struct sonde_tree *t, size_t column);

/* The mean time of a launch of the kernel, in ms; NaN if it was never launched. */
static inline double sonde_kernel_mean_ms(const struct sonde_kernel *k)
{
	return k->calls ? k->time_ns / 1e6 / (double)k->calls : NAN;
}

/* The name of a kernel for people: short, unless the options ask for full names. */
struct sonde_str sonde_kernel_name(
	const struct sonde_tree *t, const struct sonde_export_options *o, uint32_t string);

/* The domain that is printed before a region's label: only roots show it; p NULL = none. */
struct sonde_str sonde_shown_domain(const struct sonde_tree *t, const struct sonde_node *n);

/* The line of coverage when nothing was launched; the page looks for this text. */
#define SONDE_NO_GPU_WORK "no GPU work: regions have host times only"

/* Says what is not known about a region with an open entry (is_open). */
const char *sonde_open_words(const struct sonde_tree *t);

/* ~, ≈, ≤, ≥ or nothing: how far a figure may be trusted. */
const char *sonde_figure_mark(const struct sonde_figure *f, bool is_utf8);

/* Appends a figure for people: mark, number, and `±` half of its 95 % interval if it has an error. */
void sonde_figure_put(
	struct sonde_buf *to, const struct sonde_figure *f, const char *unit, bool is_utf8);

/* How busy the device was in an entry, with half of its 95 % interval; NaN without samples (load NULL). */
struct sonde_figure sonde_load_figure(const struct sonde_entry_load *load, size_t metric);

/* Says why a region has no launch. */
const char *sonde_no_launch(const struct sonde_tree *t);

/* The regions that a table lists, in its order. */
struct sonde_listing {
	uint32_t *at; /* node numbers, parents before children */
	size_t nr;
	size_t nr_left_out; /* regions beyond the limit, those that cost least */
	/* Only in a brief listing, else NULL. By row: the regions without a row that this row represents … */
	struct sonde_listed_rest {
		size_t nr;	/* how many, with all regions inside them; 0 = none */
		bool is_inside; /* they are inside the row's region; false = siblings, beginning with the row's own region */
	} * rest;
	uint32_t *next; /* … and by node: the next of these siblings, or SONDE_NONE */
};
int sonde_listing_build(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err);
/*
 * The same for a screen, if there are more than 16 regions or more than asked for: 25 rows (fewer if there are findings
 * but no step), or as many as asked for. They go to the regions that separate the most time: a region counts as much as
 * its time, or as the rest of its parent's time if that is less. Regions below 0.5 % or without GPU work have no row,
 * nor have regions inside one that ran once. Regions that shown findings name, and the step, have rows in any case.
 * Other siblings share one row, whose figures are their sums. The step comes first, regions that ran once come last.
 */
int sonde_listing_build_brief(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err);
/* The regions of `r` that are not in `l`, in order. */
int sonde_listing_invert(struct sonde_listing *out, const struct sonde_listing *l,
	const struct sonde_report *r, struct sonde_err *err);
void sonde_listing_release(struct sonde_listing *l);

/*
 * Appends the coverage in words; nothing if there are no launches (or no range results) to count. If `--scope` hides
 * some of them, the line says that it covers the whole capture.
 */
void sonde_coverage_print(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_export_options *o, bool is_ranges);

#endif
