/*
 * Which rank of a parallel job this process is, as its launcher says in the
 * environment: Open MPI, MPICH and Intel MPI (PMI), Slurm, torchrun, indexed
 * jobs of Kubernetes.
 *
 * The id that the launcher gives a job distinguishes it from others. Where it gives
 * none, and where torchrun has all ranks on one host, it is by the launcher's
 * own process. A torchrun over many hosts whose user chose neither id nor port
 * is named like the next one: see rundir.h for what keeps them apart.
 */
#ifndef SONDE_CAPTURE_RANK_H
#define SONDE_CAPTURE_RANK_H

#include <stdbool.h>
#include <time.h>

struct sonde_rank {
	bool is_parallel; /* false: no launcher, or a job of one process */
	unsigned rank, size;
	char job[128]; /* the same in all ranks of one job, a safe file name */
	time_t begin;  /* when its launcher was started on this host; 0 = cannot tell */
};

void sonde_rank_find(struct sonde_rank *out);

#endif
