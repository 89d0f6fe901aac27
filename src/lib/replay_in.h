/* Records → the plain arrays of a replay. Private to src/lib/. */
#ifndef SONDE_LIB_REPLAY_IN_H
#define SONDE_LIB_REPLAY_IN_H

#include "attribute/launches.h"
#include "replay/replay.h"

struct sonde_replay_arrays {
	SONDE_VEC(struct sonde_replay_op) ops;
	SONDE_VEC(struct sonde_replay_work) works;
	SONDE_VEC(uint32_t) entry_regions;
	SONDE_VEC(uint32_t) parents;
	SONDE_VEC(bool) is_part;
	struct sonde_replay_input input; /* points to the arrays */
	uint32_t process;		 /* the process whose work this is */
	uint64_t nr_uncalled;		 /* number of works whose launch call is not in the capture */
	bool has_events;		 /* the capture says which events order streams */
	uint32_t nr_ranks;		 /* number of processes with collectives */
	struct sonde_map threads, events;
	struct sonde_arena arena;
};

/*
 * The arrays of one process; SONDE_NONE = the process with the most launches. SONDE_ERR_NOTFOUND: the process has no
 * launches that can be replayed.
 */
int sonde_replay_arrays_build(
	struct sonde_replay_arrays *out, const struct sonde_launches *l, uint32_t process, struct sonde_err *err);
void sonde_replay_arrays_release(struct sonde_replay_arrays *a);

#endif
