/*
 * A finished report.json as a side of a comparison, so that old reports can be
 * compared when their captures are gone.
 */
#ifndef SONDE_COMPARE_REPORT_IN_H
#define SONDE_COMPARE_REPORT_IN_H

#include "tree/tree.h"

/* Whether the file says that sonde wrote it, as JSON of some schema. */
bool sonde_report_is_json(const char *path);
/* SONDE_ERR_FORMAT where it is not of the schema that is read here: which one it is, and what to do. */
int sonde_report_check_schema(const char *path, struct sonde_err *err);
/*
 * The cells and the tree of a report that sonde_validate_file has found valid. Made for comparing:
 * they have regions, kernels, entries, times and figures. Yours to free in any case.
 */
int sonde_report_read(struct sonde_cells **cells, struct sonde_tree **tree, const char *path,
	struct sonde_err *err);

#endif
