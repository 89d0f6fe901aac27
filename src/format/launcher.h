/*
 * How launchers of parallel jobs tell a process its rank: in the environment.
 * Launchers nest (mpirun inside a Slurm job): the innermost one comes first.
 */
#ifndef SONDE_FORMAT_LAUNCHER_H
#define SONDE_FORMAT_LAUNCHER_H

struct sonde_launcher {
	const char *rank, *size; /* names of variables */
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
	[SONDE_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	[SONDE_PMI] = {"PMI_RANK", "PMI_SIZE"},
	[SONDE_TORCHRUN] = {"RANK", "WORLD_SIZE"},
	[SONDE_SLURM] = {"SLURM_PROCID", "SLURM_NTASKS"},
	[SONDE_KUBERNETES] = {"JOB_COMPLETION_INDEX", "WORLD_SIZE"},
};

#endif
