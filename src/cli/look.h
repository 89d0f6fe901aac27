/*
 * A look at a program's ranges: what native captures of it say, read and
 * attributed. `sonde regions` lists it; `sonde run` plans range replay by it and
 * explains with it why nothing was selected.
 */
#ifndef SONDE_CLI_LOOK_H
#define SONDE_CLI_LOOK_H

#include "attribute/launches.h"

struct sonde_look {
	struct sonde_records *records;
	struct sonde_launches *launches; /* nesting as on the stack: what ncu sees */
};

int sonde_look_open(
	struct sonde_look *out, const char *const *paths, size_t nr_paths, struct sonde_err *err);
/* At what a program just left in `dir`; that it left nothing is said of the program. */
int sonde_look_open_run(struct sonde_look *out, const char *dir, struct sonde_err *err);
void sonde_look_release(struct sonde_look *look);

#endif
