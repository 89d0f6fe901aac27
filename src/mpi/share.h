/*
 * Folding shared among the processes of an MPI job.
 *
 * Process 0 makes the report, by the code of `sonde report`. Each time it has files
 * to fold it sends all others the task: how to fold, and which files. With n processes,
 * each folds every n-th file, on its own cores. The results come back up a tree: a process
 * adds the results of others to its own and sends them on, so that no process waits for
 * more than log2(n) others.
 *
 * Nothing else is distributed: process 0 alone makes the order, sums and notes.
 */
#ifndef SONDE_MPI_SHARE_H
#define SONDE_MPI_SHARE_H

#include "merge/input_queue.h"

struct sonde_mpi_job {
	struct sonde_sharing sharing; /* used by process 0; the first member, so that its address is that of the job */
	int rank, nr; /* the number of this process, and how many there are */
	size_t cores; /* how many cores this process uses */
	bool has_ended;
};

void sonde_mpi_begin(struct sonde_mpi_job *job, int *argc, char ***argv);
/* Runs in all processes but 0: folds what process 0 asks for, until process 0 ends the job. Returns the exit status. */
int sonde_mpi_serve(struct sonde_mpi_job *job);
/* Tells the other processes (from process 0) that there is no more to fold, and leaves MPI. Later calls do nothing. */
void sonde_mpi_end(struct sonde_mpi_job *job);

#endif
