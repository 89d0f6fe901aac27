/*
 * Which rank of a parallel job this process is, as its launcher says in the environment: Open MPI, MPICH and Intel MPI
 * (PMI), Slurm, torchrun, indexed jobs of Kubernetes.
 *
 * A job is distinguished from others by the id that the launcher gives it. If there is none, or if the launcher says
 * that all ranks are on one host, the launcher's own process distinguishes it. A torchrun over many hosts whose user
 * chose neither id nor port is named like the next one: rundir.h says what keeps them apart.
 */
#ifndef SONDE_CAPTURE_RANK_H
#define SONDE_CAPTURE_RANK_H

#include <stdbool.h>
#include <time.h>

struct sonde_rank {
	bool is_parallel; /* false = no launcher, or a job of one process */
	unsigned rank, size;
	char job[128]; /* name of the job: the same in all its ranks, safe as a file name */
	time_t begin;  /* when the launcher started on this host; 0 = not known */
};

void sonde_rank_find(struct sonde_rank *out);

#endif
