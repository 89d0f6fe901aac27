/* Private to the exporters: tables of PC samples, for text and Markdown. */
#ifndef SONDE_EXPORT_STALL_TABLES_H
#define SONDE_EXPORT_STALL_TABLES_H

#include "export/field.h"
#include "export/table.h"

/* Printed if a table of samples is asked for and there are none. */
#define SONDE_LACKS_STALLS "Stalls are not in this capture: `sonde run --lines -- COMMAND` takes PC samples of its kernels."
/* A sentence for samples of which none has a line: why, and what to do. */
struct sonde_str sonde_lacks_lines(const struct sonde_tree *tree);

/*
 * Fills in the columns and rows of a table; it stays empty if nothing has samples. A row says how much was issued, then
 * the main reasons to wait, one row each. The rows are for the listed regions or, with `l` NULL, for the longest
 * kernels.
 */
void sonde_stall_table_fill(struct sonde_table *t, const struct sonde_tree *tree, const struct sonde_report *r,
	const struct sonde_export_options *o, const struct sonde_listing *l);
/* The hottest lines of the longest kernels, o->max_lines of each; with their text if the file is unchanged. */
void sonde_line_table_fill(struct sonde_table *t, const struct sonde_tree *tree, const struct sonde_report *r,
	const struct sonde_export_options *o);

#endif
