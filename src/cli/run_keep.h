/*
 * capture.keep: while the program runs, the oldest files of its captures are folded to sums (fold/rolling.h)
 * as soon as there are more than shall be kept. A process of ours does that: it takes a while, and the
 * program is to be watched.
 */
#ifndef SONDE_CLI_RUN_KEEP_H
#define SONDE_CLI_RUN_KEEP_H

#include "cli/run_int.h"

#include <sys/types.h>

struct sonde_run_keep {
	struct sonde_run *run;
	const char *dir;  /* of the captures */
	uint64_t next_ns; /* when to look again */
	pid_t folder;	  /* the process that folds; 0 = none */
	bool has_failed;  /* it said why, once */
};

void sonde_run_keep_look(struct sonde_run_keep *k); /* now and then */
/* The program has ended: folds what is too much, and waits for that. */
void sonde_run_keep_end(struct sonde_run_keep *k);

#endif
