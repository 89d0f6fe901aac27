/*
 * Work shared among threads: each worker is a struct that says what its share is.
 *
 * The first worker runs in the calling thread, and so does one for which no thread can be started:
 * the result never depends on how many threads there are.
 */
#ifndef SONDE_BASE_WORKERS_H
#define SONDE_BASE_WORKERS_H

#include <stddef.h>

#define SONDE_MOST_WORKERS 64

/* Cores this process may run on: those it is bound to (taskset, mpirun, Slurm), not all the machine has. 1 or more. */
size_t sonde_cores(void);

/* How many may work at a time: the cores of this process, at most `most`. */
size_t sonde_workers_count(size_t most);

/*
 * Calls `work` with each of `nr` workers, `size` bytes apart (0: all with the same one), and
 * returns when all are done. `nr` is at most SONDE_MOST_WORKERS.
 */
void sonde_workers_run(void *workers, size_t nr, size_t size, void (*work)(void *worker));

#endif
