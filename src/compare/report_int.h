/* Private to reading finished reports back: their metrics (report_figures.c). */
#ifndef SONDE_COMPARE_REPORT_INT_H
#define SONDE_COMPARE_REPORT_INT_H

#include "tree/tree.h"

#include <jansson.h>

/* The metrics of the document as columns, and which of them tables show. */
bool sonde_report__read_columns(
	struct sonde_tree *t, struct sonde_arena *names, const json_t *document);
/* The figures of one region, appended to the report's; `info` is that of all regions. */
bool sonde_report__read_figures(const struct sonde_tree *t, struct sonde_report *rep,
	const json_t *region, const json_t *info);

#endif
