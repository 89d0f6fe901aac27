/*
 * While a native capture runs: answers questions (capture/ctl.h), prints the tree so far now and then (--every), and
 * folds the oldest files of captures (capture.keep).
 */
#ifndef SONDE_CLI_RUN_LIVE_H
#define SONDE_CLI_RUN_LIVE_H

#include "capture/child.h"
#include "capture/native_env.h"
#include "capture/ctl.h"
#include "cli/run_int.h"

#include <sys/types.h>

/* For capture.keep. */
struct sonde_run_keep {
	struct sonde_run *run;
	const char *dir;  /* directory of the captures */
	uint64_t next_ns; /* when to look again */
	pid_t folder;	  /* the process that folds; 0 = none */
	bool has_failed;  /* folding failed, and the user was told once */
};

struct sonde_run_live {
	struct sonde_inject_orders orders;
	struct sonde_ctl ctl;
	const struct sonde_run *run;
	const char *dir;    /* directory of the captures */
	uint64_t every_ns;  /* 0 = no report until the end */
	uint64_t next_ns;   /* when the next report is due */
	struct sonde_run_keep keep;
	pid_t reporter;	    /* the process that makes a report; 0 = none */
};

/* Begins, and sets the callbacks in `spec`. If `sonde ctl` cannot reach the run, says so; that is no error. */
int sonde_run_live_open(struct sonde_run_live *l, struct sonde_run *r, const char *dir,
	struct sonde_child_spec *spec, struct sonde_err *err);
void sonde_run_live_close(struct sonde_run_live *l);

#endif
