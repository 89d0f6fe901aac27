/*
 * The run directory: everything one run leaves behind.
 *
 *     config.yaml inputs.yaml env.json report.md
 *     ncu/   cmd.txt, per capture NAME.{ncu-rep,log,cmd.txt}, raw.csv,
 *            sections_report.txt, regions/
 *     nsys/  cmd.txt, trace.nsys-rep, trace.sqlite, stats…
 *     native/ one capture per process
 *
 * Its contents are for the user alone: directories that are made here are 0700,
 * files 0600, or less where the umask says so. One that was there before keeps
 * its mode.
 *
 * A directory that holds a run is never written to again: a name made of the
 * time gets a number behind it (`20260131-120000-2`), a name the user chose is
 * refused. All ranks of one parallel job share one directory and put their rank
 * into their file names. They find it by a link `.job-NAME` beside it, which the
 * last to finish removes. Ranks that start together wait for the first one's link. A link that is
 * left, as a rank was missing, is known by two things: it is older than this launch, or this rank
 * is in its directory already (`.begun.rank3`). The job then gets a directory and link of its own.
 */
#ifndef SONDE_CAPTURE_RUNDIR_H
#define SONDE_CAPTURE_RUNDIR_H

#include "base/err.h"
#include "base/str.h"
#include "capture/rank.h"

struct sonde_rundir {
	char path[3072];
	char suffix[24]; /* ".rank3" in a parallel job, else empty */
	struct sonde_rank rank;
	unsigned job_nr; /* of the link that leads here; 0 = none does */
	unsigned nr_awaited; /* ranks that take part; 0 = all of the job */
	bool is_first;	 /* this process made it: the common files are its to write */
};

/* Makes it. SONDE_ERR_USAGE when `wanted` holds a run already. */
int sonde_rundir_open(struct sonde_rundir *out, const char *wanted, struct sonde_err *err);

/*
 * The directory of a sweep, which holds those of its jobs. One that exists is shared, unless
 * its name is made of the time: then it gets a number as well.
 */
int sonde_rundir_open_sweep(struct sonde_rundir *out, const char *wanted, struct sonde_err *err);
/*
 * The directory of one job. In a parallel job all ranks come to the same name in
 * their own time, so the first to come makes it.
 */
int sonde_rundir_open_job(struct sonde_rundir *out, const char *wanted, struct sonde_err *err);
bool sonde_rundir_is_taken(const char *path); /* it holds a run already */
bool sonde_rundir_is_timed(const char *path); /* named by the time: nobody chose it */
/* Makes `latest` beside the directory a link to it, in place of an older link; anything else of that name stays. */
void sonde_rundir_link_latest(const char *path);

/*
 * Until sonde_rundir_end_private, which takes what this returned, files that
 * this process makes are the user's alone. No program may be started meanwhile:
 * it would inherit that.
 */
unsigned sonde_rundir_begin_private(void);
void sonde_rundir_end_private(unsigned before);

/* Writes a whole small file; parents below the run directory are made. */
int sonde_rundir_write(const struct sonde_rundir *d, const char *name, struct sonde_str text,
	struct sonde_err *err);

/*
 * To be called when this process has written its captures. True when it is the
 * last of its job: the report of all ranks is then its to make. If several
 * ranks end at the same time, one of them is the last. Captures that profilers wrote become the
 * user's alone.
 */
bool sonde_rundir_finish(const struct sonde_rundir *d);

#endif
