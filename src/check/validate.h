/*
 * Validation: is this file a report or a comparison, and do its numbers add up?
 *
 * This is the counterpart of the JSON exporter. It first checks the shape, by evaluating
 * the shipped JSON Schema itself (schema/sonde.report-1.schema.json, built into the
 * binary), then the arithmetic of docs/report-format-reference.md: regions are in depth-first
 * order with their parents, inclusive = exclusive + children, kernels and scopes
 * sum up to their totals. For a comparison (sonde.diff/1), verdicts must follow
 * from their intervals, and totals must count them.
 */
#ifndef SONDE_CHECK_VALIDATE_H
#define SONDE_CHECK_VALIDATE_H

#include "base/err.h"
#include "base/str.h"

/*
 * Returns 0 when the document is valid. Otherwise SONDE_ERR_FORMAT with the first violation, as
 * `NAME: $.scopes[0].regions[2].kernel_count: …`.
 */
int sonde_validate_text(struct sonde_str text, const char *name, struct sonde_err *err);
int sonde_validate_file(const char *path, struct sonde_err *err);

/* The text of the shipped schema of reports, or of comparisons. */
struct sonde_str sonde_schema_text(bool is_diff);

#endif
