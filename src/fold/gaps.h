/* Inside the folding room: the gaps of a scope's device, and what they are due to. */
#ifndef SONDE_FOLD_GAPS_H
#define SONDE_FOLD_GAPS_H

#include "fold/hosts.h"
#include "fold/stay.h"

/* A gap, with all there was up to its end. There may be one for every launch. */
struct sonde_gap_sum {
	uint64_t from_ns;
	uint64_t total_ns;
	uint64_t by[SONDE_IDLE_OTHER]; /* … and of that UNKNOWN is the rest */
};

struct sonde_gaps {
	uint64_t since_ns; /* before it are gaps because files are gone: these are none */
	const struct sonde_launches *l;
	struct sonde_hosts hosts;
	uint64_t first_ns, last_ns; /* of the scope at hand: from its first start to its last end */
	SONDE_VEC(struct sonde_gap_sum) sums;
	struct sonde_long_gap {
		struct sonde_gap gap;
		struct sonde_gap_ends ends;
	} longest[SONDE_NR_GAPS]; /* longest first */
	size_t nr_longest;
};

/* False: no memory; to be released in any case. `hosts` is to be told of the records. */
bool sonde_gaps__init(struct sonde_gaps *g, const struct sonde_launches *l);
void sonde_gaps__release(struct sonde_gaps *g);
/* Finds the gaps of one scope from all its launches; the longest go to the cells. False: no memory. */
bool sonde_gaps__scope(
	struct sonde_gaps *g, const struct sonde_stay *stay, struct sonde_cells *c);

/* Adds what lies between two moments, each the start or the end of a launch. */
void sonde_gaps__add(
	const struct sonde_gaps *g, struct sonde_waits *w, uint64_t from_ns, uint64_t to_ns);
/* How long nothing ran between any two moments. */
uint64_t sonde_gaps__between(const struct sonde_gaps *g, uint64_t from_ns, uint64_t to_ns);

#endif
