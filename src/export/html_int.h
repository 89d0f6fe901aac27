/*
 * Private to the HTML page.
 *
 *   html.c          the page, its policy, and the names in its data
 *   html_report.c   a report's figures, column by column
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

/* `[1,2,null]`; NaN is null. */
void sonde_html__write_list(struct sonde_json *w, const char *key, const double *at, size_t nr);

/* Puts what was written into the page: a million regions would not fit in memory twice. */
void sonde_html__drain(struct sonde_html *h);
/* The parts of the data. */
int sonde_html__write_reports(struct sonde_html *h);
int sonde_html__write_timeline(struct sonde_html *h);
int sonde_html__write_ranks(struct sonde_html *h); /* nothing where there are not two */

#endif
