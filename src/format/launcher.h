/*
 * The environment variables by which launchers of parallel jobs tell a process
 * its rank. Launchers nest (mpirun inside a Slurm job): the table has the
 * innermost launcher first.
 */
#ifndef SONDE_FORMAT_LAUNCHER_H
#define SONDE_FORMAT_LAUNCHER_H

#include <stddef.h>

struct sonde_launcher {
	const char *rank, *size; /* names of the variables for the rank and the number of ranks */
	const char *step_size;	 /* a variable that overrides `size` where it is set; NULL = none */
	const char *mark;	 /* a variable without which a process is no rank; NULL = none is needed */
};

enum {
	SONDE_OPEN_MPI,
	SONDE_PMI,
	SONDE_TORCHRUN,
	SONDE_SLURM,
	SONDE_KUBERNETES, /* an indexed job; Kubernetes itself does not set the number of pods */
	SONDE_NR_LAUNCHERS
};

static const struct sonde_launcher sonde_launchers[SONDE_NR_LAUNCHERS] = {
	[SONDE_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
	[SONDE_PMI] = {"PMI_RANK", "PMI_SIZE", NULL, NULL},
	[SONDE_TORCHRUN] = {"RANK", "WORLD_SIZE", NULL, NULL},
	/* Slurm gives a batch script a SLURM_PROCID and SLURM_NTASKS too, but the script is no task of a step. */
	[SONDE_SLURM] = {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
	[SONDE_KUBERNETES] = {"JOB_COMPLETION_INDEX", "WORLD_SIZE", NULL, NULL},
};

#endif
