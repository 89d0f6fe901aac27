/* A look at what a program left: its ranges and launches (sonde_pipeline_look). */
#ifndef SONDE_CLI_PROGRAM_LOOK_H
#define SONDE_CLI_PROGRAM_LOOK_H

#include "lib/pipeline.h"

/* The captures in `paths`; with `together` of a folder all runs and jobs in it. */
int sonde_program_look_open(struct sonde_pipeline **out, const char *const *paths, size_t nr_paths, bool together,
	struct sonde_err *err);
/* At what a program just left in `dir`; that it left nothing is said of the program. */
int sonde_program_look_open_run(struct sonde_pipeline **out, const char *dir, struct sonde_err *err);

#endif
