/*
 * How launchers of parallel jobs tell a process its rank: in the environment.
 * Launchers nest (mpirun inside a Slurm job): the innermost one comes first.
 */
#ifndef SONDE_FORMAT_LAUNCHER_H
#define SONDE_FORMAT_LAUNCHER_H

#include <stddef.h>

struct sonde_launcher {
	const char *rank, *size; /* names of variables */
	const char *step_size;	 /* counts instead of `size` where it is set; NULL = none */
	const char *mark;	 /* without it a process is no rank; NULL = none */
};

enum {
	SONDE_OPEN_MPI,
	SONDE_PMI,
	SONDE_TORCHRUN,
	SONDE_SLURM,
	SONDE_KUBERNETES, /* an indexed job; it does not say how many pods there are */
	SONDE_NR_LAUNCHERS
};

static const struct sonde_launcher sonde_launchers[SONDE_NR_LAUNCHERS] = {
	[SONDE_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
	[SONDE_PMI] = {"PMI_RANK", "PMI_SIZE", NULL, NULL},
	[SONDE_TORCHRUN] = {"RANK", "WORLD_SIZE", NULL, NULL},
	/* A batch script has a number and the size of its allocation, but is no task of a step. */
	[SONDE_SLURM] = {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
	[SONDE_KUBERNETES] = {"JOB_COMPLETION_INDEX", "WORLD_SIZE", NULL, NULL},
};

#endif
