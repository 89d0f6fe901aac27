/*
 * A finished report.json as a side of a comparison, so that old reports can be
 * compared when their captures are gone.
 */
#ifndef SONDE_COMPARE_REPORT_IN_H
#define SONDE_COMPARE_REPORT_IN_H

#include "tree/tree.h"

/* Whether the file is JSON that says sonde wrote it, of any schema. */
bool sonde_report_is_json(const char *path);
/*
 * SONDE_ERR_FORMAT if the file has another schema than the one that is read here: the message says which one, and what
 * to do.
 */
int sonde_report_check_schema(const char *path, struct sonde_err *err);
/*
 * Makes cells and a tree from a report that sonde_validate_file found valid. They are made for comparing: they have only
 * regions, kernels, entries, times and figures. The caller frees both in any case.
 */
int sonde_report_read(struct sonde_cells **cells, struct sonde_tree **tree, const char *path,
	struct sonde_err *err);

#endif
