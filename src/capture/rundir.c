#include "capture/rundir.h"

#include "base/file.h"
#include "base/sink.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUN_MODE       0700
#define COMPLETE       ".complete"
#define LINK_SIZE      3400
#define MAX_LINKS      100
#define LEADER_MS      10000 /* how long to wait for the link that the rank which made the directory will make */
#define LEADER_STEP_MS 5
#define LAUNCH_S       60 /* most seconds between the start on the first host and on the last one, and between their clocks */
#define BEGUN	       ".begun"
#define TAKEN                                                                                      \
	"%s already contains a run: choose another directory (-o DIR or hydra.run.dir=DIR, of a sweep " \
	"hydra.sweep.dir=DIR) or remove it"

/* --- one process alone ------------------------------------------------------------------------- */

/* Whether the name ends like 20260131-120000: such a name is made of the time, nobody chose it. */
bool sonde_rundir_is_timed(const char *path)
{
	size_t n = strlen(path), i;

	if (n < 15)
		return false;
	for (i = 0; i < 15; i++) {
		char c = path[n - 15 + i];

		if (i == 8 ? c != '-' : !isdigit((unsigned char)c))
			return false;
	}
	return true;
}

void sonde_rundir_link_latest(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int nr_parent = (int)(name - path);
	char latest[3100], made[3132];
	struct stat st;

	snprintf(latest, sizeof(latest), "%.*slatest", nr_parent, path);
	snprintf(made, sizeof(made), "%s.%ld", latest, (long)getpid()); /* renamed into place: so the link exists at all times */
	if (lstat(latest, &st) == 0 && !S_ISLNK(st.st_mode))
		return;
	if (symlink(name, made) == 0 && rename(made, latest) < 0)
		unlink(made);
}

bool sonde_rundir_is_taken(const char *path)
{
	static const char *const marks[] = {
		"config.yaml", "multirun.yaml", "ncu", "nsys", "native", "new-1"}; /* the last is of a comparison */
	char name[4096];
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		snprintf(name, sizeof(name), "%s/%s", path, marks[i]);
		if (access(name, F_OK) == 0)
			return true;
	}
	return false;
}

static int make_parents(const char *path, struct sonde_err *err)
{
	char copy[3072];
	const char *parent;

	snprintf(copy, sizeof(copy), "%s", path);
	parent = dirname(copy);
	return strcmp(parent, ".") == 0 || strcmp(parent, "/") == 0 ? 0
								    : sonde_dir_make(parent, err);
}

/*
 * Makes `path` for this process alone; 1 when it contains a run already. An empty directory that somebody made
 * beforehand is used.
 */
static int make_own(const char *path, struct sonde_err *err)
{
	struct stat st;

	if (mkdir(path, RUN_MODE) == 0)
		return 0;
	if (errno != EEXIST)
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: cannot make the run directory: %s; choose another with -o DIR", path,
			strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: cannot make the run directory: there is a file of that name; choose another with -o DIR",
			path);
	if (sonde_rundir_is_taken(path))
		return 1;
	if (access(path, W_OK) < 0)
		return sonde_err_system(err, errno, "%s: cannot write to the run directory", path);
	return 0;
}

/*
 * The same for a name made of the time. Nobody makes such a directory beforehand: one that exists belongs to another
 * run, which began in this second and may not have written anything yet.
 */
static int make_timed(const char *path, struct sonde_err *err)
{
	if (mkdir(path, RUN_MODE) == 0)
		return 0;
	return errno == EEXIST ? 1 : make_own(path, err);
}

/* True for the first process that leaves this mark, even if several try at once; the others get EEXIST. */
static bool leave_mark(const char *path, const char *name, const char *suffix)
{
	char whole[4096];
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s%s", path, name, suffix);
	fd = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Marks the whole directory with the job's name: a process that comes later learns whether its own job has the
 * directory. The mark is a symbolic link, because its text is complete at once.
 */
static bool mark_begun(const struct sonde_rundir *d, const char *path)
{
	char whole[4096];

	snprintf(whole, sizeof(whole), "%s/" BEGUN, path);
	return symlink(d->rank.job[0] ? d->rank.job : "alone", whole) == 0;
}

static int open_alone(struct sonde_rundir *d, const char *wanted, struct sonde_err *err)
{
	bool is_timed = sonde_rundir_is_timed(wanted);
	unsigned i;
	int rc = is_timed ? make_timed(wanted, err) : make_own(wanted, err);

	d->is_first = true;
	for (i = 2; rc == 1 && is_timed && i < 1000; i++) {
		snprintf(d->path, sizeof(d->path), "%.3000s-%u", wanted, i);
		rc = make_timed(d->path, err);
	}
	/* Several processes may have found it empty at once: one of them gets it. */
	if (rc == 0 && !is_timed && !mark_begun(d, wanted) && errno == EEXIST)
		rc = 1;
	if (rc == 1)
		return sonde_err_set(err, SONDE_ERR_USAGE, TAKEN, wanted);
	return rc;
}

/* --- the ranks of a parallel job --------------------------------------------------------------- */

/* The ranks start at different times and know each other by the job's name alone: rundir.h says how they meet. */

/* The name of the link beside the directory, by which the ranks of the job's `nr`th run find it. */
static void name_link(char out[LINK_SIZE], const struct sonde_rundir *d, unsigned nr)
{
	char copy[3072], number[16] = "";

	if (nr > 1)
		snprintf(number, sizeof(number), "-%u", nr);
	snprintf(copy, sizeof(copy), "%s", d->path);
	snprintf(out, LINK_SIZE, "%s/.job-%s%s", dirname(copy), d->rank.job, number);
}

/* Fails with EEXIST when this rank has been there before: then the directory belongs to another run. */
static bool claim_place(const char *path, const char *suffix)
{
	return leave_mark(path, BEGUN, suffix);
}

enum found { NO_LINK, OTHERS, JOINED };

static enum found join_run(struct sonde_rundir *d, unsigned nr)
{
	char link[LINK_SIZE], target[3072], path[sizeof(d->path)];
	struct stat st;
	ssize_t n;

	name_link(link, d, nr);
	if (lstat(link, &st) < 0)
		return NO_LINK;
	if (st.st_mtime + LAUNCH_S < d->rank.begin)
		return OTHERS; /* the link is from an earlier launch, which lost a rank */
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return errno == ENOENT ? NO_LINK : OTHERS;
	target[n] = '\0';
	n = snprintf(path, sizeof(path), "%s/%s", dirname(link), target);
	if (n >= (ssize_t)sizeof(path) || !claim_place(path, d->suffix))
		return OTHERS;
	memcpy(d->path, path, (size_t)n + 1);
	d->job_nr = nr;
	d->is_first = false;
	return JOINED;
}

/*
 * Returns 0 when a directory of this job takes this rank, else the number for a new link. The newest link comes first:
 * an older one may be left from a run that lost this very rank.
 */
static unsigned join_any_run(struct sonde_rundir *d)
{
	unsigned nr, next = 1;

	for (nr = MAX_LINKS; nr > 0; nr--) {
		enum found found = join_run(d, nr);

		if (found == JOINED)
			return 0;
		if (found == OTHERS && next == 1)
			next = nr + 1;
	}
	return next;
}

/* Makes the link that leads the other ranks to this rank's directory; 1 when another rank was faster. */
static int make_and_link(struct sonde_rundir *d, const char *wanted, unsigned nr, struct sonde_err *err)
{
	char link[LINK_SIZE], copy[3072];

	name_link(link, d, nr);
	snprintf(copy, sizeof(copy), "%s", d->path);
	if (symlink(basename(copy), link) < 0) {
		if (errno != EEXIST)
			return sonde_err_io(err, link, errno);
		if (sonde_rundir_is_timed(wanted))
			rmdir(d->path); /* nobody else uses it */
		snprintf(d->path, sizeof(d->path), "%s", wanted);
		return 1;
	}
	if (!claim_place(d->path, d->suffix)) {
		int rc = errno == EEXIST ? sonde_err_set(err, SONDE_ERR_USAGE, TAKEN, d->path)
					 : sonde_err_io(err, d->path, errno);

		unlink(link);
		return rc;
	}
	d->job_nr = nr;
	return 0;
}

/* Whether the directory belongs to this very launch and is not complete. */
static bool is_of_this_job(const struct sonde_rundir *d, const char *path)
{
	char whole[4096], job[sizeof(d->rank.job)];
	struct stat st;
	ssize_t n;

	snprintf(whole, sizeof(whole), "%s/" COMPLETE, path);
	if (access(whole, F_OK) == 0)
		return false;
	snprintf(whole, sizeof(whole), "%s/" BEGUN, path);
	n = readlink(whole, job, sizeof(job));
	return n > 0 && (size_t)n == strlen(d->rank.job) &&
	       memcmp(job, d->rank.job, (size_t)n) == 0 && lstat(whole, &st) == 0 &&
	       st.st_mtime + LAUNCH_S >= d->rank.begin;
}

/*
 * Another rank has the directory, but its link, which it makes a moment later, may not exist yet. Returns 0 once this
 * rank has joined it, 1 when the directory is not that of our job, or is gone, or the wait was in vain.
 */
static int await_leader(struct sonde_rundir *d, const char *wanted)
{
	const struct timespec pause = {.tv_nsec = LEADER_STEP_MS * 1000000};
	unsigned i;

	for (i = 0; i < LEADER_MS / LEADER_STEP_MS; i++) {
		if (join_any_run(d) == 0)
			return 0;
		if (!is_of_this_job(d, wanted))
			return join_any_run(d) == 0 ? 0 : 1;
		nanosleep(&pause, NULL);
	}
	return 1;
}

/*
 * The first rank makes the directory and then a link to it with the job's name. Links are numbered and never replaced:
 * a run that lost a rank leaves its link behind, and two ranks that both replaced it could end up in different
 * directories.
 */
static int open_shared(struct sonde_rundir *d, const char *wanted, struct sonde_err *err)
{
	unsigned nr;
	int rc = 1;

	while (rc == 1 && (nr = join_any_run(d)) > 0) {
		if (nr > MAX_LINKS)
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"%s: %d runs of job %s in the same folder never finished: remove the .job- links of that job",
				wanted, MAX_LINKS, d->rank.job);
		rc = open_alone(d, wanted, err);
		if (rc == SONDE_ERR_USAGE && await_leader(d, wanted) == 0)
			return 0; /* another rank of this job had taken it */
		if (rc == 0)
			rc = make_and_link(d, wanted, nr, err);
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

/* Removes the marks once all ranks have ended, so that a job of thousands of ranks leaves few files. */
static void remove_marks(const struct sonde_rundir *d)
{
	DIR *dir = opendir(d->path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strncmp(e->d_name, ".done.rank", 10) == 0 ||
			strncmp(e->d_name, BEGUN ".rank", 11) == 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

/* Returns true for the last rank. */
static bool finish_rank(const struct sonde_rundir *d)
{
	unsigned nr = d->nr_awaited ? d->nr_awaited : d->rank.size;
	char link[LINK_SIZE];

	leave_mark(d->path, ".done", d->suffix);
	if (!nr)
		return true; /* nobody knows how many ranks there are: others may come, and the link leads them here */
	if (count_done(d) < nr)
		return false;
	if (!leave_mark(d->path, COMPLETE, ""))
		return false; /* two ranks that end together both see all marks: the first to leave this one is the last rank */
	if (d->job_nr) {
		name_link(link, d, d->job_nr);
		unlink(link);
	}
	remove_marks(d);
	return true;
}

/* --- runs of one process, sweeps and jobs ------------------------------------------------------ */

/* All kinds of run directory begin with this: the rank, the name, the parent directories. */
static int begin_rundir(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	struct sonde_err why = {0};
	int rc;

	*out = (struct sonde_rundir){0};
	sonde_rank_find(&out->rank);
	if (strlen(wanted) >= sizeof(out->path) - 100)
		return sonde_err_set(err, SONDE_ERR_USAGE, 
			"%.60s…: the name of the run directory is too long: choose another with -o DIR",
			wanted);
	snprintf(out->path, sizeof(out->path), "%s", wanted);
	if (out->rank.is_parallel)
		snprintf(out->suffix, sizeof(out->suffix), ".rank%u", out->rank.rank);
	rc = make_parents(wanted, &why);
	return rc ? sonde_err_set(err, rc, "%s; choose another run directory with -o DIR", why.msg) : 0;
}

int sonde_rundir_open(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin_rundir(out, wanted, err);

	if (rc)
		return rc;
	return out->rank.is_parallel ? open_shared(out, wanted, err) : open_alone(out, wanted, err);
}

int sonde_rundir_open_sweep(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin_rundir(out, wanted, err);

	if (rc)
		return rc;
	if (out->rank.is_parallel)
		return open_shared(out, wanted, err);
	if (sonde_rundir_is_timed(wanted))
		return open_alone(out, wanted, err);
	out->is_first = true;
	return mkdir(wanted, RUN_MODE) == 0 ? 0 : sonde_dir_make(wanted, err);
}

int sonde_rundir_open_job(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin_rundir(out, wanted, err);

	if (rc)
		return rc;
	if (!out->rank.is_parallel)
		return open_alone(out, wanted, err);
	out->is_first = mkdir(wanted, RUN_MODE) == 0;
	return out->is_first ? 0 : sonde_dir_make(wanted, err);
}

unsigned sonde_rundir_begin_private(void)
{
	mode_t before = umask(S_IRWXG | S_IRWXO);

	umask(before | S_IRWXG | S_IRWXO);
	return before;
}

void sonde_rundir_end_private(unsigned before)
{
	umask(before);
}

int sonde_rundir_write(const struct sonde_rundir *d, const char *name, struct sonde_str text,
	struct sonde_err *err)
{
	unsigned before = sonde_rundir_begin_private();
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	rc = make_parents(path, err);
	if (rc == 0)
		rc = sonde_file_write(path, text, err);
	sonde_rundir_end_private(before);
	return rc;
}

/* Profilers and the injected library obey nothing but the umask, so the modes of their files are changed afterwards. */
static void close_captures(const struct sonde_rundir *d)
{
	static const char *const stages[] = {"ncu", "nsys", "native", "torch_profiler"};
	char dirs[4][3200], *paths[] = {dirs[0], dirs[1], dirs[2], dirs[3], NULL};
	FTSENT *e;
	FTS *walk;
	size_t i;

	for (i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		snprintf(dirs[i], sizeof(dirs[i]), "%s/%s", d->path, stages[i]);
	walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (walk && (e = fts_read(walk)))
		if ((e->fts_info == FTS_F || e->fts_info == FTS_DP) &&
			(e->fts_statp->st_mode & (S_IRWXG | S_IRWXO)))
			chmod(e->fts_path, e->fts_statp->st_mode & S_IRWXU);
	if (walk)
		fts_close(walk);
}

bool sonde_rundir_finish(const struct sonde_rundir *d)
{
	char begun[4096];

	close_captures(d);
	if (d->rank.is_parallel)
		return finish_rank(d);
	snprintf(begun, sizeof(begun), "%s/" BEGUN, d->path);
	unlink(begun);
	return true;
}
