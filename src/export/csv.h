/* Private to the room: tables as CSV. */
#ifndef SONDE_EXPORT_CSV_H
#define SONDE_EXPORT_CSV_H

#include "export/field.h"

/* The kernels of a region, one per line, with every metric. */
void sonde_csv__write_kernels(struct sonde_sink *to, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n, struct sonde_figures *f);

/* The regions of a listing, one per line, under the heads of report.csv. */
void sonde_csv__write_regions(struct sonde_sink *to, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_listing *l, struct sonde_figures *f);

#endif
