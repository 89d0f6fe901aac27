/*
 * A run directory, as `sonde run` leaves it, as the input of a report. The run's own reports are made this
 * way, so that the directory alone makes them again:
 *
 *     config.yaml          the configuration that was used
 *     ncu/ native/ …       captures, a folder for each stage
 *     notes.txt            what only the run knew, a note a line
 *     ncu/baseline.txt     nothing that was asked for was captured, and why: there the report is of a look at
 *                          the program
 *     discover…/           that look; its ranges are regions of Nsight Compute's report, too
 */
#ifndef SONDE_LIB_RUN_IN_H
#define SONDE_LIB_RUN_IN_H

#include "lib/pipeline.h"

#define SONDE_RUN_NOTES	   "notes.txt"
#define SONDE_RUN_BASELINE "baseline.txt" /* in the folder of the stage */

bool sonde_is_run(const char *dir);
/* The most telling stage that has a report, "ncu" before "native"; NULL = there is none. Static. */
const char *sonde_run_stage(const char *dir);
/* Whether a stage left captures. */
bool sonde_run_has_captures(const char *dir, const char *stage);
/*
 * Adds the captures of a stage, with all that belongs to them. Before the pipeline is configured, which then
 * is done by the run's configuration unless another was named.
 */
int sonde_pipeline_add_run(
	struct sonde_pipeline *p, const char *dir, const char *stage, struct sonde_err *err);
/* The same with files of a run as inputs, which were added before: `sonde report RUN/ncu/F --config-dir RUN`. */
int sonde_pipeline_take_run(struct sonde_pipeline *p, const char *dir, struct sonde_err *err);
/* `sonde report DIR`, which makes the report again: for its page. NULL when memory is short. */
const char *sonde_run_command(struct sonde_pipeline *p);
/* Explains an empty report by what only the run knows; once the tree is there. */
void sonde_run_explain(struct sonde_pipeline *p);

#endif
