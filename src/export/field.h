/*
 * The column table: what a region row has, said once for every format.
 *
 * JSON takes `key` (`idle.sync_ms` is member sync_ms of the object idle), CSV
 * `csv`, tables for people `head`; all take the number from the same function. Metrics follow, which are the tree's columns.
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

/* The tables of text and Markdown that have it, a bit each. */
enum sonde_field_table {
	SONDE_TABLE_PLAIN = 1,	/* of a capture without timestamps, */
	SONDE_TABLE_TIMED = 2,	/* with timestamps, */
	SONDE_TABLE_HOST = 4,	/* and with host times only; */
	SONDE_TABLE_IDLE = 8,	/* --idle, */
	SONDE_TABLE_MEMORY = 16, /* --memory, */
	SONDE_TABLE_RANKS = 32, /* --ranks */
};

enum sonde_field_flag {
	SONDE_FIELD_EXCLUSIVE = 1,  /* in JSON inside "exclusive" */
	SONDE_FIELD_OPTIONAL = 2,   /* left out where it is NaN: only some captures or reports have it */
	SONDE_FIELD_NOT_ZERO = 4,   /* a column of zeros is left out of tables too */
	SONDE_FIELD_WITH_TIMES = 8, /* NaN in captures that do not have single launches */
	SONDE_FIELD_ADDS = 16,	    /* siblings add up to their parent's, or less: they count different things */
};

struct sonde_field {
	const char *key, *csv, *head;
	uint8_t form;		/* enum sonde_field_form */
	uint8_t tables, flags;	/* bits */
	uint8_t type;		/* private: how it is stored in a node, … */
	uint16_t at;		/* … where … */
	double (*make)(const struct sonde_report *r, const struct sonde_node *n); /* … or made */
};

extern const struct sonde_field sonde_fields[];
extern const size_t sonde_nr_fields;

/* NaN = there is none. */
double sonde_field_number(
	const struct sonde_field *f, const struct sonde_report *r, const struct sonde_node *n);
/* The sum of an additive field over regions that do not contain each other, from `node` on by `next`; NaN for other fields. */
double sonde_field_sum_rest(
	const struct sonde_field *f, const struct sonde_report *r, const uint32_t *next, uint32_t node);
/* The field of a row that is no region but has launches and a time (totals, kernels); NaN for all other fields. */
double sonde_field_sum(const struct sonde_field *f, double launches, double time_ns);
bool sonde_field_is(const struct sonde_field *f, const char *csv);

/* The rank that takes longest in a region of the aggregate; p NULL where there are not two. */
struct sonde_str sonde_slowest_rank(
	const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_node *n);

/* `launches`, but `results` where they are replayed ranges. */
struct sonde_str sonde_field_head(const struct sonde_field *f, const struct sonde_report *r);
/*
 * Which columns a table of the report has, one bit per field: those for the view and for
 * tables of its kind, without optional ones that no node has a value for.
 */
uint64_t sonde_fields_in_table(const struct sonde_report *r, enum sonde_columns_view view);
/* Why these columns show nothing that the view is for, and what to do about it; NULL where they do show it. */
const char *sonde_view_lacks(uint64_t fields, enum sonde_columns_view view);

/* Whether regions have figures and nothing else: no times, no launches (a memory snapshot). Their first column weighs them. */
bool sonde_report_is_figures(const struct sonde_report *r);

/* The head of headline metric `i`: its full name where another one has the same short head. */
struct sonde_str sonde_headline_head(const struct sonde_tree *t, size_t i);
/* The same of any column, which stands beside all others: a headline metric's short head is its own. */
struct sonde_str sonde_column_head(const struct sonde_tree *t, size_t column);

/* The time of a launch of the kernel, on average; NaN where it was never launched. */
static inline double sonde_kernel_mean_ms(const struct sonde_kernel *k)
{
	return k->calls ? k->time_ns / 1e6 / (double)k->calls : NAN;
}

/* The name of a kernel for people: short, unless full ones are asked for. */
struct sonde_str sonde_kernel_name(
	const struct sonde_tree *t, const struct sonde_export_options *o, uint32_t string);

/* The domain that is printed before a region's label: roots show it; p NULL = none. */
struct sonde_str sonde_shown_domain(const struct sonde_tree *t, const struct sonde_node *n);

/* The line of coverage where nothing was launched; the page looks for it too. */
#define SONDE_NO_GPU_WORK "no GPU work: regions have host times only"

/* Says what is not known about a region that was still open (is_open). */
const char *sonde_open_words(const struct sonde_tree *t);

/* ≈ or ≤ or ≥ or nothing: how far a figure may be trusted. */
const char *sonde_figure_mark(const struct sonde_figure *f, bool is_utf8);

/* A figure for people: mark, number, and `±` half its 95 % interval where it is sampled. */
void sonde_figure_put(
	struct sonde_buf *to, const struct sonde_figure *f, const char *unit, bool is_utf8);

/* How busy the device was in an entry, with half its 95 % interval; NaN without samples (load NULL). */
struct sonde_figure sonde_load_figure(const struct sonde_entry_load *load, size_t metric);

/* Why a region has no launch, in words. */
const char *sonde_no_launch(const struct sonde_tree *t);

/* The regions that a table lists, in its order. */
struct sonde_listing {
	uint32_t *at; /* node numbers, parents before children */
	size_t nr;
	size_t nr_left_out; /* the cheapest ones, beyond the limit */
	/* For a brief listing, else NULL. By row: the regions without one that it stands for, … */
	struct sonde_listed_rest {
		size_t nr;	/* with all inside them; 0 = none */
		bool is_inside; /* they are inside the row's region; else it stands for siblings, from its own on */
	} * rest;
	uint32_t *next; /* … and by node: the next of these siblings, or SONDE_NONE */
};
int sonde_listing_build(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err);
/*
 * The same for a screen, where there are more than 16 regions or than asked for: 25 rows, or as many as asked for. They go to the
 * regions that tell the most time apart: a region's time, or what it leaves of its parent's, whichever is less; to none below
 * 0.5 % or without GPU work, and to none inside what ran once. What shown findings name, and the step, have rows in any case. Other siblings share one row,
 * whose figures are their sums. The step comes first, what ran once last.
 */
int sonde_listing_build_brief(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err);
/* The regions of `r` that are not in `l`, in order. */
int sonde_listing_invert(struct sonde_listing *out, const struct sonde_listing *l,
	const struct sonde_report *r, struct sonde_err *err);
void sonde_listing_release(struct sonde_listing *l);

/*
 * Writes the coverage in words; nothing where there are no launches (or no range results) to count. Where
 * `--scope` hides some of them, the line says that it covers the whole capture.
 */
void sonde_coverage_print(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_export_options *o, bool is_ranges);

#endif
