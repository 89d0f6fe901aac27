/*
 * Private to the HTML page.
 *
 *   html_page.c     a page from its parts, with its policy; for reports and comparisons (diff_html.c)
 *   html.c          the names in the data of a report
 *   html_report.c   a report's figures, column by column
 *   html_stalls.c   why kernels wait, and where in their source
 *   html_timeline.c the time line
 *   html_ranks.c    ranks side by side
 */
#ifndef SONDE_EXPORT_HTML_INT_H
#define SONDE_EXPORT_HTML_INT_H

#include "export/json_int.h"

struct sonde_html {
	struct sonde_json_export x;
	struct sonde_sink *to;	/* the page */
	struct sonde_sink json; /* x writes here, a part at a time: see drain */
	uint32_t *region_columns, *kernel_columns;
	size_t nr_region_columns, nr_kernel_columns;
	struct sonde_err *err;
};

/* A page: its script, its data as JSON, and what it shows if scripts are switched off. */
enum sonde_page_kind { SONDE_PAGE_REPORT, SONDE_PAGE_DIFF };
struct sonde_html_page {
	enum sonde_page_kind kind;
	struct sonde_str title;
	int (*write_data)(void *of);
	void (*write_plain)(void *of);
	void *of;
};
int sonde_html__put_page(struct sonde_sink *to, const struct sonde_html_page *p);
/* Moves JSON into the page and empties `json`: a million regions would not fit in memory twice. */
void sonde_html__pour(struct sonde_sink *to, struct sonde_sink *json);

/* Writes `[1,2,null]`; NaN becomes null. */
void sonde_html__write_list(struct sonde_json *w, const char *key, const double *at, size_t nr);

/* Moves what was written so far into the page. */
void sonde_html__drain(struct sonde_html *h);
/* Write the parts of the data. */
int sonde_html__write_reports(struct sonde_html *h);
/* Writes the members about stalls of a report's kernels; nothing without PC samples. */
int sonde_html__write_stalls(struct sonde_html *h, const struct sonde_report *r);
int sonde_html__write_timeline(struct sonde_html *h);
int sonde_html__write_ranks(struct sonde_html *h); /* nothing without two ranks */

#endif
