/*
 * A run directory, as `sonde run` leaves it, as the input of a report. The run's own reports are made in the same way,
 * so that they can be made again from the directory alone:
 *
 *     config.yaml          the configuration that was used
 *     ncu/ native/ …       captures, a folder for each stage
 *     notes.txt            what only the run knew, one note per line
 *     ncu/baseline.txt     says why nothing was captured of what was asked for: the report is then made from
 *                          a look at the program
 *     discover…/           that look; its ranges become regions of Nsight Compute's report, too
 */
#ifndef SONDE_LIB_RUN_IN_H
#define SONDE_LIB_RUN_IN_H

#include "lib/pipeline.h"

#define SONDE_RUN_NOTES	   "notes.txt"
#define SONDE_RUN_BASELINE "baseline.txt" /* in the folder of the stage */

bool sonde_is_run(const char *dir);
/* The best stage that has a report, "ncu" before "native"; NULL = there is none. The result is static. */
const char *sonde_run_stage(const char *dir);
/* Whether a stage has captures. */
bool sonde_run_has_captures(const char *dir, const char *stage);
/*
 * Adds the captures of a stage, and everything that belongs to them. Call this before the pipeline is configured: it is
 * then configured as the run was, unless the caller named another configuration.
 */
int sonde_pipeline_add_run(
	struct sonde_pipeline *p, const char *dir, const char *stage, struct sonde_err *err);
/* The same for files of a run that were added as inputs before: `sonde report RUN/ncu/F --config-dir RUN`. */
int sonde_pipeline_take_run(struct sonde_pipeline *p, const char *dir, struct sonde_err *err);
/* The command that makes the report again, `sonde report DIR`, for the report's page. NULL when memory is short. */
const char *sonde_run_command(struct sonde_pipeline *p);
/* Adds notes that explain an empty report by what only the run knows. Call this when the tree is complete. */
void sonde_run_explain(struct sonde_pipeline *p);

#endif
