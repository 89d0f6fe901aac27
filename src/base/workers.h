/*
 * Work shared among threads: each worker is a struct that describes its share of the work.
 *
 * The first worker runs in the calling thread, and so does any worker whose thread could not be started:
 * the result never depends on the number of threads.
 */
#ifndef SONDE_BASE_WORKERS_H
#define SONDE_BASE_WORKERS_H

#include <stddef.h>

#define SONDE_MOST_WORKERS 64

/* How many cores this process may run on: those it is bound to (taskset, mpirun, Slurm), not all of the machine. 1 or more. */
size_t sonde_cores(void);

/* How many workers may run at a time: one per core of this process, at most `most`. */
size_t sonde_workers_count(size_t most);

/*
 * Calls `work` with each of `nr` workers and returns when all are done. The workers are `size` bytes apart (0: all
 * calls get the same one). `nr` is at most SONDE_MOST_WORKERS.
 */
void sonde_workers_run(void *workers, size_t nr, size_t size, void (*work)(void *worker));

#endif
