/* Private to the HTML files: what they pass around. */
#ifndef SONDE_EXPORT_HTML_INT_H
#define SONDE_EXPORT_HTML_INT_H

#include "export/json_int.h"

/*
 * The figures of many rows, column by column, as the page gets them: a column
 * that is the same in every row takes the space of one value.
 */
struct sonde_matrix {
	size_t nr_rows, nr_columns;
	const uint32_t *columns; /* which of the tree's; borrowed */
	double *v, *low, *high;	 /* column after column; low and high NULL when not wanted */
	char *marks;		 /* how each was made, see html_matrix.c */
	double *methods;	 /* by which of its column's methods */
	bool has_others;	 /* some by a method after the second */
	struct sonde_str *texts; /* of text columns */
};

int sonde_matrix__init(struct sonde_matrix *m, size_t nr_rows, const uint32_t *columns,
	size_t nr_columns, bool with_bounds);
void sonde_matrix__release(struct sonde_matrix *m);
void sonde_matrix__set(struct sonde_matrix *m, const struct sonde_tree *t, size_t row,
	const struct sonde_figures *f);
void sonde_matrix__write(
	struct sonde_matrix *m, const struct sonde_tree *t, const char *key, struct sonde_json *w);

struct sonde_html {
	struct sonde_json_export x;
	struct sonde_sink *to;	/* the page */
	struct sonde_sink json; /* x writes here, a part at a time: see drain */
	uint32_t *region_columns, *kernel_columns;
	size_t nr_region_columns, nr_kernel_columns;
	struct sonde_err *err;
};

/* `[1,2,null]`; NaN is null. */
void sonde_html__write_list(struct sonde_json *w, const char *key, const double *at, size_t nr);

/* Puts what was written into the page: a million regions would not fit in memory twice. */
void sonde_html__drain(struct sonde_html *h);
/* The parts of the data. */
int sonde_html__write_reports(struct sonde_html *h);
int sonde_html__write_timeline(struct sonde_html *h);
int sonde_html__write_ranks(struct sonde_html *h); /* nothing where there are not two */

/* The page's own source: html_assets.c. */
struct sonde_str sonde_html__asset_page(void);
struct sonde_str sonde_html__asset_style(void);
struct sonde_str sonde_html__asset_script(void); /* all files, one after the other */

#endif
