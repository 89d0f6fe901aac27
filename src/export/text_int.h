/* Private to the terminal report: what its two files share. */
#ifndef SONDE_EXPORT_TEXT_INT_H
#define SONDE_EXPORT_TEXT_INT_H

#include "export/field.h"
#include "export/table.h"

struct sonde_text_export {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_export_options *options;
	struct sonde_figures figures;
	struct sonde_buf cell;	  /* scratch */
	struct sonde_buf dropped; /* heads of columns there was no room for */
	bool has_approx, has_bound;
	const char *hint_head; /* of the table now printed; NULL = none */
	uint32_t fields;       /* of the table now printed */
	size_t width;
};

/* The tree table of one report. */
int sonde_text__tree(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err);
/* The kernels outside all regions: the baseline of a run without ranges. */
int sonde_text__baseline(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err);

#endif
