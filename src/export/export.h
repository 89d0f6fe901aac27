/*
 * Exporters: a region tree as bytes.
 *
 * Every format prints the same numbers, from the one table of columns in field.c. Exporters have no state: the same
 * tree and options give the same bytes. They write to a sink, so `sonde_sink_close` reports a failed write; the
 * exporters themselves fail only when out of memory. The formats and their writers are in format.h.
 *
 * Labels and kernel names are hostile text: every one of them goes through the escaping function of its target language
 * (escape.h, folder.h).
 */
#ifndef SONDE_EXPORT_EXPORT_H
#define SONDE_EXPORT_EXPORT_H

#include "base/sink.h"
#include "read/ranking.h"
#include "tree/tree.h"

enum sonde_sort {
	SONDE_SORT_ORDER, /* children in order of first entry */
	SONDE_SORT_TIME,
	SONDE_SORT_LAUNCHES,
	SONDE_SORT_NAME,
};

/* The subject of the columns in tables of text and Markdown. */
enum sonde_columns_view {
	SONDE_VIEW_COST, /* launches and times */
	SONDE_VIEW_IDLE, /* why the GPU had nothing to do */
	SONDE_VIEW_MEMORY, /* GPU memory allocated, freed and held */
	SONDE_VIEW_RANKS,  /* communication, and who waits for whom: tables of ranks follow */
	SONDE_VIEW_STALLS, /* why warps did not go on: in text, a table of its own */
};

/* All zero = the defaults. Borrowed. */
struct sonde_export_options {
	/*
	 * Most rows of region and kernel tables in text and Markdown; 0 = the format's own default, SONDE_NO_LIMIT =
	 * all. JSON and CSV are always complete.
	 */
	size_t max_regions, max_kernels;
	size_t max_lines; /* text and Markdown: hottest lines of source of each kernel; 0 = none */
	size_t max_findings; /* most findings in text and Markdown; 0 = SONDE_FEW_FINDINGS, SONDE_NO_LIMIT = all */
	bool no_findings;
	bool shows_all; /* text: every region and note; false = what fits a screen (field.h) */
	size_t max_series; /* Prometheus: most regions of a report with series of their own; 0 = 200 */
	size_t max_folders; /* sonde_export_dir: most regions with a folder, those that cost most; 0 = its default */
	bool no_folders;
	enum sonde_sort sort;	    /* order of siblings in text, Markdown and CSV; JSON keeps the tree's order */
	struct sonde_words formats; /* names of the formats that sonde_export_dir writes; none = the default */
	struct sonde_words scopes;  /* names or globs of the reports to show; none = all */
	bool per_scope; /* text: also single scopes that an aggregate covers */
	enum sonde_columns_view view;
	size_t width;		    /* width of the terminal; 0 = 100 */
	bool is_coloured;
	bool is_utf8;		  /* the terminal can show more than ASCII */
	bool lists_kernels;	  /* in text: max_kernels rows below each region */
	bool lists_entries;	  /* in text: how long the entries of each region took */
	bool is_flat;		  /* in text: all kernels instead of the regions */
	bool full_names;	  /* text, Markdown, HTML: kernels by their whole C++ names */
	const char *baseline; /* why the report is not what was asked for, and what it is; NULL = it is what was asked for */
	const char *config;	  /* the composed report settings as YAML; NULL = leave them out */
	const char *generated_at; /* NULL = leave it out, for identical bytes */
	const char *command; /* the command line that made this, ready for a shell; NULL = none */
	/* Text: what commands in findings have for RUN, ready for a shell; "" = nothing, as for the newest run; NULL = RUN. */
	const char *run;
	const char *by;	     /* what widths mean in formats with stacks; NULL = time */
	bool links_charts; /* Markdown: icicle.svg and, if it exists, roofline.svg are beside it */
	const struct sonde_folder_list *folders; /* private: the folders that sonde_export_dir wrote before the whole report */
	const char *more_at; /* where the whole of a cut table is; NULL = "--format json" */
};

#define SONDE_NO_LIMIT SIZE_MAX

/* The charts of the SVG format, one by one. */
int sonde_export_icicle(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err);
int sonde_export_roofline(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err);
/* Whether the roofline has any point. */
bool sonde_roofline_exists(const struct sonde_tree *t, const struct sonde_export_options *o);

/*
 * Writes the whole layout below `dir`: report.json, report.md, report.html, the charts
 * as SVG and one folder per region. Each file appears complete or not at all, report.json last.
 */
int sonde_export_dir(const struct sonde_tree *t, const struct sonde_export_options *o,
	const char *dir, struct sonde_err *err);

/*
 * Writes the metrics of the tree, for people who want to choose some: name, unit, how it rolls up, `default` if a
 * report has it unless others are chosen, and what it tells. `is_table` = a table as wide as the options say, else a
 * line each with tabs in between.
 */
int sonde_export_metric_list(const struct sonde_tree *t, const struct sonde_export_options *o, bool is_table,
	struct sonde_sink *to, struct sonde_err *err);

/*
 * Writes a ranking as a table for people: its first o->max_kernels kernels (0 = the default). Short names are distinct
 * among all kernels, shown or not. Only the options for text count.
 */
int sonde_export_ranking(const struct sonde_ranking *r, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err);

/* Whether there are launches, or else ranges, but the selections take none: tables would be empty. */
bool sonde_selects_nothing(const struct sonde_tree *t);
/* Whether any report has regions, with or without launches. */
bool sonde_has_regions(const struct sonde_tree *t);

/* SONDE_ERR_USAGE, with the names of all reports, when one of o->scopes matches none of them. */
int sonde_export_check_scopes(
	const struct sonde_tree *t, const struct sonde_export_options *o, struct sonde_err *err);

#endif
