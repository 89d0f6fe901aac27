/* Records → the plain arrays of a replay: inside src/lib/. */
#ifndef SONDE_LIB_REPLAY_IN_H
#define SONDE_LIB_REPLAY_IN_H

#include "attribute/launches.h"
#include "replay/replay.h"

struct sonde_replay_arrays {
	SONDE_VEC(struct sonde_replay_op) ops;
	SONDE_VEC(struct sonde_replay_work) works;
	SONDE_VEC(uint32_t) entry_regions;
	SONDE_VEC(uint32_t) parents;
	struct sonde_replay_input input; /* of these */
	uint32_t process;		 /* whose work it is */
	uint64_t nr_uncalled;		 /* works whose launch the capture does not have */
	bool has_events;		 /* it says which events order streams */
	uint32_t nr_ranks;		 /* processes with collectives */
	struct sonde_map threads, events;
	struct sonde_arena arena;
};

/* Of one process, SONDE_NONE = the one with the most launches. SONDE_ERR_NOTFOUND when it has none that can be replayed. */
int sonde_replay_arrays_build(
	struct sonde_replay_arrays *out, const struct sonde_launches *l, uint32_t process, struct sonde_err *err);
void sonde_replay_arrays_release(struct sonde_replay_arrays *a);

#endif
