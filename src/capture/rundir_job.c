/*
 * The run directory of a parallel job. Its ranks start in their own time and know each other by the
 * job's name alone: rundir.h says how they meet.
 */
#include "capture/rundir_int.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COMPLETE       ".complete"
#define LINK_SIZE      3400
#define MAX_LINKS      100
#define LEADER_MS      10000 /* for the rank that made the directory to make its link */
#define LEADER_STEP_MS 5
#define LAUNCH_S       60 /* from the first host's start to the last one's, and between their clocks */

/* Where the ranks of the job's `nr`th run find its directory: a link beside it. */
static void name_link(char out[LINK_SIZE], const struct sonde_rundir *d, unsigned nr)
{
	char copy[3072], number[16] = "";

	if (nr > 1)
		snprintf(number, sizeof(number), "-%u", nr);
	snprintf(copy, sizeof(copy), "%s", d->path);
	snprintf(out, LINK_SIZE, "%s/.job-%s%s", dirname(copy), d->rank.job, number);
}

/* Fails with EEXIST when this rank has been there before: then it is another run's. */
static bool claim(const char *path, const char *suffix)
{
	return sonde_rundir__mark(path, SONDE_RUNDIR_BEGUN, suffix);
}

enum found { NO_LINK, OTHERS, JOINED };

static enum found join(struct sonde_rundir *d, unsigned nr)
{
	char link[LINK_SIZE], target[3072], path[sizeof(d->path)];
	struct stat st;
	ssize_t n;

	name_link(link, d, nr);
	if (lstat(link, &st) < 0)
		return NO_LINK;
	if (st.st_mtime + LAUNCH_S < d->rank.begin)
		return OTHERS; /* of a launch before this one, that lost a rank */
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return errno == ENOENT ? NO_LINK : OTHERS;
	target[n] = '\0';
	n = snprintf(path, sizeof(path), "%s/%s", dirname(link), target);
	if (n >= (ssize_t)sizeof(path) || !claim(path, d->suffix))
		return OTHERS;
	memcpy(d->path, path, (size_t)n + 1);
	d->job_nr = nr;
	d->is_first = false;
	return JOINED;
}

/*
 * 0 when a directory of this job's takes this rank, else the number for a new link. The newest
 * comes first: an older one may be what is left of a run that lost this very rank.
 */
static unsigned join_any(struct sonde_rundir *d)
{
	unsigned nr, next = 1;

	for (nr = MAX_LINKS; nr > 0; nr--) {
		enum found found = join(d, nr);

		if (found == JOINED)
			return 0;
		if (found == OTHERS && next == 1)
			next = nr + 1;
	}
	return next;
}

/* Leads the other ranks to the directory this one has made; 1 when one of them was faster. */
static int lead(struct sonde_rundir *d, const char *wanted, unsigned nr, struct sonde_err *err)
{
	char link[LINK_SIZE], copy[3072];

	name_link(link, d, nr);
	snprintf(copy, sizeof(copy), "%s", d->path);
	if (symlink(basename(copy), link) < 0) {
		if (errno != EEXIST)
			return sonde_err_io(err, link, errno);
		if (sonde_rundir_is_timed(wanted))
			rmdir(d->path); /* nobody else has it */
		snprintf(d->path, sizeof(d->path), "%s", wanted);
		return 1;
	}
	if (!claim(d->path, d->suffix)) {
		int rc = errno == EEXIST ? sonde_err_set(err, SONDE_ERR_USAGE, SONDE_RUNDIR_TAKEN, d->path)
					 : sonde_err_io(err, d->path, errno);

		unlink(link);
		return rc;
	}
	d->job_nr = nr;
	return 0;
}

/* Whether a rank of this very launch has the directory and is not done with it. */
static bool is_of_this_job(const struct sonde_rundir *d, const char *path)
{
	char whole[4096], job[sizeof(d->rank.job)];
	struct stat st;
	ssize_t n;

	snprintf(whole, sizeof(whole), "%s/" COMPLETE, path);
	if (access(whole, F_OK) == 0)
		return false;
	snprintf(whole, sizeof(whole), "%s/" SONDE_RUNDIR_BEGUN, path);
	n = readlink(whole, job, sizeof(job));
	return n > 0 && (size_t)n == strlen(d->rank.job) &&
	       memcmp(job, d->rank.job, (size_t)n) == 0 && lstat(whole, &st) == 0 &&
	       st.st_mtime + LAUNCH_S >= d->rank.begin;
}

/*
 * Another rank has the directory but its link, which it makes a moment later, may not be there
 * yet. 0 once this rank has joined it, 1 when it is not one of ours, or gone.
 */
static int await_leader(struct sonde_rundir *d, const char *wanted)
{
	const struct timespec pause = {.tv_nsec = LEADER_STEP_MS * 1000000};
	unsigned i;

	for (i = 0; i < LEADER_MS / LEADER_STEP_MS; i++) {
		if (join_any(d) == 0)
			return 0;
		if (!is_of_this_job(d, wanted))
			return join_any(d) == 0 ? 0 : 1;
		nanosleep(&pause, NULL);
	}
	return 1;
}

/*
 * The first rank to come makes the directory and then a link with the job's name to it. Links are
 * numbered and never replaced: of a run that lost a rank one stays behind, and two ranks that
 * both replaced it could part.
 */
int sonde_rundir__open_shared(struct sonde_rundir *d, const char *wanted, struct sonde_err *err)
{
	unsigned nr;
	int rc = 1;

	while (rc == 1 && (nr = join_any(d)) > 0) {
		if (nr > MAX_LINKS)
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"%s: %d runs of job %s beside it were never finished: remove its "
				".job- links",
				wanted, MAX_LINKS, d->rank.job);
		rc = sonde_rundir__open_alone(d, wanted, err);
		if (rc == SONDE_ERR_USAGE && await_leader(d, wanted) == 0)
			return 0; /* it was another rank that took it */
		if (rc == 0)
			rc = lead(d, wanted, nr, err);
	}
	return rc < 0 ? rc : 0;
}

static unsigned count_done(const struct sonde_rundir *d)
{
	DIR *dir = opendir(d->path);
	const struct dirent *e;
	unsigned nr = 0;

	while (dir && (e = readdir(dir)))
		nr += strncmp(e->d_name, ".done.rank", 10) == 0;
	if (dir)
		closedir(dir);
	return nr;
}

/* Once all have ended nobody asks who did: a job of thousands of ranks leaves few files. */
static void remove_marks(const struct sonde_rundir *d)
{
	DIR *dir = opendir(d->path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strncmp(e->d_name, ".done.rank", 10) == 0 ||
			strncmp(e->d_name, SONDE_RUNDIR_BEGUN ".rank", 11) == 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

bool sonde_rundir__finish_rank(const struct sonde_rundir *d)
{
	unsigned nr = d->nr_awaited ? d->nr_awaited : d->rank.size;
	char link[LINK_SIZE];

	sonde_rundir__mark(d->path, ".done", d->suffix);
	if (!nr)
		return true; /* others may come: the link leads them here */
	if (count_done(d) < nr)
		return false;
	if (!sonde_rundir__mark(d->path, COMPLETE, ""))
		return false; /* two that end together both see all the others */
	if (d->job_nr) {
		name_link(link, d, d->job_nr);
		unlink(link);
	}
	remove_marks(d);
	return true;
}
