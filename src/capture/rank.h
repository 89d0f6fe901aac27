/*
 * Which rank of a parallel job this process is, as its launcher says in the
 * environment: Open MPI, MPICH and Intel MPI (PMI), Slurm, torchrun.
 */
#ifndef SONDE_CAPTURE_RANK_H
#define SONDE_CAPTURE_RANK_H

#include <stdbool.h>

struct sonde_rank {
	bool is_parallel; /* false: no launcher, or a job of one process */
	unsigned rank, size;
	char job[128]; /* the same in all ranks of one job, a safe file name */
};

void sonde_rank_find(struct sonde_rank *out);

#endif
