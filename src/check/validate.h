/*
 * Validation: is this file a report or a comparison, and do its numbers add up?
 *
 * The mirror of the JSON exporter. First the shape, by evaluating the shipped
 * JSON Schema itself (schema/sonde.report-1.schema.json, built into the
 * binary), then the arithmetic of docs/report-format-reference.md: regions depth-first
 * with their parents, inclusive = exclusive + children, kernels and scopes that
 * sum up to their totals. For a comparison (sonde.diff/1): verdicts that follow
 * from their intervals, and totals that count them.
 */
#ifndef SONDE_CHECK_VALIDATE_H
#define SONDE_CHECK_VALIDATE_H

#include "base/err.h"
#include "base/str.h"

/*
 * 0 when all is well. SONDE_ERR_FORMAT with the first violation, as
 * `NAME: $.scopes[0].regions[2].kernel_count: …`, when not.
 */
int sonde_validate_text(struct sonde_str text, const char *name, struct sonde_err *err);
int sonde_validate_file(const char *path, struct sonde_err *err);

/* The schema as shipped, of reports or of comparisons. */
struct sonde_str sonde_schema_text(bool is_diff);

#endif
