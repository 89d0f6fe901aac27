/*
 * Private to merge/: chooses the scopes that a report keeps (report.scopes.keep). All
 * others are added to the rest (scopes_rest.h).
 *
 * A report that keeps N inputs keeps the N/2 with the most GPU time (not counting
 * communication), the N/4 with the least, the median, and the first ones by rank. In a
 * job that communicates, N/8 of those with the least time are replaced by those with the
 * least communication: they never wait, so others wait for them. Each part passes through
 * here as soon as it is folded. A part that cannot be among the kept ones any more is added
 * to the rest and freed, so memory grows with N and not with the number of inputs. Only the
 * median is not known before the end: it is read again, and taken out of the rest.
 *
 * Neither the kept parts nor the rest depend on the order in which the parts come.
 */
#ifndef SONDE_MERGE_SCOPES_KEPT_H
#define SONDE_MERGE_SCOPES_KEPT_H

#include "merge/merging.h"

struct sonde_rest;

/* A part that is in memory. */
struct sonde_held_part {
	struct sonde_cells *part;
	uint64_t order;	 /* its place in the order in which inputs were given */
	uint32_t number; /* its number in `candidates`, SONDE_NONE = it may not go to the rest */
	bool is_kept;
};

/* A part that may go to the rest, whether it is held or already in the rest. */
struct sonde_candidate {
	uint64_t id, order;
	double work_ns, comm_ns; /* GPU time without communication, and of communication */
	struct sonde_str file; /* its file, to read it again */
	uint32_t rest;	       /* number of the rest it is in, SONDE_NONE = in none */
};

struct sonde_keeper {
	const struct sonde_fold_request *request;
	SONDE_VEC(struct sonde_held_part) held;
	SONDE_VEC(struct sonde_candidate) candidates;
	struct sonde_map ids, kinds;
	SONDE_VEC(struct sonde_rest *) rests; /* by number in `kinds` */
	uint64_t nr_folded, nr_notes;	      /* scopes in a rest, and their notes */
	uint64_t nr_losses;		      /* those of the notes that report something missing */
	struct sonde_notes notes;
	struct sonde_arena arena;
	bool has_comm; /* some part communicates */
	bool failed; /* no memory: sonde_keeper__finish reports it */
};

/* Takes ownership of the part. `file` is the file it was read from. */
void sonde_keeper__add(
	struct sonde_keeper *k, struct sonde_cells *part, uint64_t order, const char *file);
/* Leaves the kept parts in `held`, in order, followed by the rests. */
int sonde_keeper__finish(struct sonde_keeper *k, struct sonde_err *err);
void sonde_keeper__release(struct sonde_keeper *k);

#endif
