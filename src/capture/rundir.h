/*
 * The run directory: everything one run leaves behind.
 *
 *     config.yaml inputs.yaml env.json report.md
 *     ncu/   cmd.txt, per capture NAME.{ncu-rep,log,cmd.txt}, raw.csv,
 *            sections_report.txt, regions/
 *     nsys/  cmd.txt, trace.nsys-rep, trace.sqlite, stats…
 *     native/ one capture per process
 *
 * Its contents are for the user alone: directories that sonde makes are 0700, files 0600, or less if the umask says so.
 * A directory that existed before keeps its mode.
 *
 * sonde never writes again to a directory that contains a run: a name made of the time gets a number behind it
 * (`20260131-120000-2`), a name that the user chose is refused. All ranks of one parallel job share one directory and
 * put their rank into their file names. They find it by a link `.job-NAME` beside it, which the last rank to finish
 * removes. Ranks that start together wait for the link of the first one. If a rank never finished, the link stays. Such
 * an old link is recognized by one of two things: it is older than this launch, or this rank is in its directory
 * already (`.begun.rank3`). The job then gets a directory and a link of its own.
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
	unsigned job_nr; /* number of the link that leads here; 0 = no link */
	unsigned nr_awaited; /* ranks that take part; 0 = all ranks of the job */
	bool is_first;	 /* this process made the directory, so it writes the common files */
};

/* Makes the directory. SONDE_ERR_USAGE when `wanted` contains a run already. */
int sonde_rundir_open(struct sonde_rundir *out, const char *wanted, struct sonde_err *err);

/*
 * Makes the directory of a sweep, which contains those of its jobs. An existing one is shared, unless its name is made
 * of the time: then a number is added.
 */
int sonde_rundir_open_sweep(struct sonde_rundir *out, const char *wanted, struct sonde_err *err);
/*
 * Makes the directory of one job of a sweep. In a parallel job all ranks come to the same name at different times, so
 * the first one makes it.
 */
int sonde_rundir_open_job(struct sonde_rundir *out, const char *wanted, struct sonde_err *err);
bool sonde_rundir_is_taken(const char *path); /* it contains a run already */
bool sonde_rundir_is_timed(const char *path); /* its name is made of the time: nobody chose it */
/* Makes `latest` beside the directory a link to it, in place of an older link; anything else with that name stays. */
void sonde_rundir_link_latest(const char *path);

/*
 * Between this call and sonde_rundir_end_private, which takes the value returned here, only the user can read the files
 * that this process makes. Start no program meanwhile: it would inherit the umask.
 */
unsigned sonde_rundir_begin_private(void);
void sonde_rundir_end_private(unsigned before);

/* Writes a whole small file; makes missing parents below the run directory. */
int sonde_rundir_write(const struct sonde_rundir *d, const char *name, struct sonde_str text,
	struct sonde_err *err);

/*
 * Call this when this process has written its captures. True for the last process of its job, which then makes the
 * report of all ranks. If several ranks end at the same time, exactly one gets true. It also makes captures that
 * profilers wrote readable by the user alone.
 */
bool sonde_rundir_finish(const struct sonde_rundir *d);

#endif
