/*
 * Multirun: which jobs a sweep consists of. Room-private.
 */
#ifndef HYDRA_SWEEP_H
#define HYDRA_SWEEP_H

#include "hydra/compose.h"

/*
 * The jobs of a composed master configuration: a list of lists of override
 * lines, last argument fastest. `*batch` is hydra.sweeper.max_batch_size, 0 for
 * all at once.
 */
struct hydra_datum *hydra_sweep__plan(struct hydra_compose *master, uint32_t *batch);

#endif
