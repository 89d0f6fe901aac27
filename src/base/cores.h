/*
 * Cores this process may run on: those it is bound to (taskset, mpirun, Slurm),
 * not all the machine has.
 */
#ifndef SONDE_BASE_CORES_H
#define SONDE_BASE_CORES_H

#include <stddef.h>

size_t sonde_cores(void); /* 1 or more */

#endif
