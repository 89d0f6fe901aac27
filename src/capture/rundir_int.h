/*
 * Inside the capture room: run directories.
 *
 *   rundir.c      one process alone, and what all kinds have in common
 *   rundir_job.c  the ranks of a parallel job: how they find one directory, and who is the last
 */
#ifndef SONDE_CAPTURE_RUNDIR_INT_H
#define SONDE_CAPTURE_RUNDIR_INT_H

#include "capture/rundir.h"

#define SONDE_RUNDIR_BEGUN ".begun"
#define SONDE_RUNDIR_TAKEN                                                                         \
	"%s already contains a run: choose another directory (hydra.run.dir=DIR, of a sweep "      \
	"hydra.sweep.dir=DIR) or remove it"

/* True for the first to leave this mark, however many do at once; the others get EEXIST. */
bool sonde_rundir__mark(const char *path, const char *name, const char *suffix);
int sonde_rundir__open_alone(struct sonde_rundir *d, const char *wanted, struct sonde_err *err);
int sonde_rundir__open_shared(struct sonde_rundir *d, const char *wanted, struct sonde_err *err);
/* True for the last rank. */
bool sonde_rundir__finish_rank(const struct sonde_rundir *d);

#endif
