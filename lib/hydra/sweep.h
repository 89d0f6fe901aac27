/*
 * Multirun: which jobs a sweep consists of. Room-private.
 */
#ifndef HYDRA_SWEEP_H
#define HYDRA_SWEEP_H

#include "hydra/compose.h"

/*
 * The jobs of a composed master configuration: a list that has the list of override
 * lines of each job. The last argument varies fastest. `*batch` is
 * hydra.sweeper.max_batch_size, 0 = all jobs in one batch.
 */
struct hydra_datum *hydra_sweep__plan(struct hydra_compose *master, uint32_t *batch);

#endif
