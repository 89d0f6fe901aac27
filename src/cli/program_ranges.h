/* A look at what a program left: its ranges and launches (sonde_pipeline_look). */
#ifndef SONDE_CLI_PROGRAM_RANGES_H
#define SONDE_CLI_PROGRAM_RANGES_H

#include "lib/pipeline.h"

/* Opens the captures in `paths`; with `together`, all runs and jobs in a folder. */
int sonde_program_ranges_open(struct sonde_pipeline **out, const char *const *paths, size_t nr_paths, bool together,
	struct sonde_err *err);
/* Opens what a program just left in `dir`. If the program left nothing, the error says why. */
int sonde_program_ranges_open_run(struct sonde_pipeline **out, const char *dir, struct sonde_err *err);

#endif
