/*
 * Inside merge/: which scopes a report keeps (report.scopes.keep); all others are
 * added to the rest (scopes_rest.h).
 *
 * A report that keeps N inputs keeps N/2 with the most GPU time, communication aside,
 * N/4 with the least, the median, and the first ones by rank. In a job that communicates,
 * N/8 of the fast ones are replaced by those with the least communication: these never
 * wait, so others wait for them. All parts go through here as they are folded. A part
 * that cannot be kept any more, because there are enough before it, is added to the rest
 * and freed: memory follows N, not the number of inputs. Only the median is not known
 * before the end: it is read again, and taken out of the rest.
 *
 * Neither what is kept nor what the rest holds depends on the order of the parts.
 */
#ifndef SONDE_MERGE_SCOPES_KEPT_H
#define SONDE_MERGE_SCOPES_KEPT_H

#include "merge/merging.h"

struct sonde_rest;

/* A part that is there, and its place among all. */
struct sonde_held {
	struct sonde_cells *part;
	uint64_t order;	 /* as the inputs were given */
	uint32_t number; /* among those that may go to the rest, SONDE_NONE = it may not */
	bool is_kept;
};

/* A part that may be in the rest, there or not. */
struct sonde_met {
	uint64_t id, order;
	double work_ns, comm_ns; /* on the GPU: without communication, and that */
	struct sonde_str file; /* to read it again */
	uint32_t rest;	       /* number of the rest it is in, SONDE_NONE = in none */
};

struct sonde_keeper {
	const struct sonde_fold_request *request;
	SONDE_VEC(struct sonde_held) held;
	SONDE_VEC(struct sonde_met) met;
	struct sonde_map ids, kinds;
	SONDE_VEC(struct sonde_rest *) rests; /* as `kinds` */
	uint64_t nr_folded, nr_notes;	      /* scopes in a rest, and notes of those … */
	uint64_t nr_losses;		      /* … that report something missing */
	struct sonde_notes notes;
	struct sonde_arena arena;
	bool has_comm; /* some part communicates */
	bool failed; /* no memory: shown at the end */
};

/* Takes the part over. `file` is where it came from. */
void sonde_keeper__add(
	struct sonde_keeper *k, struct sonde_cells *part, uint64_t order, const char *file);
/* Leaves what is kept in `held`, in order, and appends the rests. */
int sonde_keeper__finish(struct sonde_keeper *k, struct sonde_err *err);
void sonde_keeper__release(struct sonde_keeper *k);

#endif
