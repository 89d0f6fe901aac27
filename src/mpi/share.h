/*
 * Folding shared among the processes of an MPI job.
 *
 * Process 0 makes the report, by the code of `sonde report`. Each time it has files
 * to fold it sends all others the task: how to fold, and which files. Every process
 * folds each nr_processes-th of them, on its cores. What they fold comes back up a
 * tree: a process adds what it gets from others to its own and sends it on, so that
 * no process waits for more than log2(nr_processes) others.
 *
 * Nothing else is distributed: order, sums and notes are made by process 0 alone.
 */
#ifndef SONDE_MPI_SHARE_H
#define SONDE_MPI_SHARE_H

#include "merge/input_queue.h"

struct sonde_mpi_job {
	struct sonde_sharing sharing; /* for process 0: first, so that it can be found from it */
	int rank, nr;
	size_t cores; /* for this process */
	bool has_ended;
};

void sonde_mpi_begin(struct sonde_mpi_job *job, int *argc, char ***argv);
/* All processes but 0 fold what process 0 asks for, until it ends. */
int sonde_mpi_serve(struct sonde_mpi_job *job);
/* Tells the others that there is no more to fold, and leaves MPI. Done once, however often it is called. */
void sonde_mpi_end(struct sonde_mpi_job *job);

#endif
