/*
 * Multirun: which jobs a sweep consists of. Room-private.
 */
#ifndef SONDE_CONFIG_SWEEP_H
#define SONDE_CONFIG_SWEEP_H

#include "config/compose.h"

/*
 * The jobs of a composed master configuration: a list of lists of override
 * lines, last argument fastest. `*batch` is hydra.sweeper.max_batch_size, 0 for
 * all at once.
 */
struct sonde_datum *sonde_sweep__plan(struct sonde_compose *master, uint32_t *batch);

#endif
