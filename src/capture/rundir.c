#include "capture/rundir_int.h"

#include "base/file.h"
#include "base/sink.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_MODE 0700

/* Whether the name ends like 20260131-120000: then nobody chose it. */
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

bool sonde_rundir_is_taken(const char *path)
{
	static const char *const marks[] = {
		"config.yaml", "multirun.yaml", "ncu", "nsys", "native"};
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
 * Makes `path` for this process alone; 1 when it holds a run already. One that somebody made
 * beforehand and left empty is good.
 */
static int make_own(const char *path, struct sonde_err *err)
{
	struct stat st;

	if (mkdir(path, RUN_MODE) == 0)
		return 0;
	if (errno != EEXIST)
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: cannot make the run directory: %s (-o DIR names another)", path,
			strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: cannot make the run directory: a file of that name is there "
			"(-o DIR names another)",
			path);
	if (sonde_rundir_is_taken(path))
		return 1;
	if (access(path, W_OK) < 0)
		return sonde_err_system(err, errno, "%s: cannot write to the run directory", path);
	return 0;
}

/*
 * The same for a name made of the time: nobody makes such a directory beforehand, so one that is
 * there is another run's that began in this second and may not have written anything yet.
 */
static int make_timed(const char *path, struct sonde_err *err)
{
	if (mkdir(path, RUN_MODE) == 0)
		return 0;
	return errno == EEXIST ? 1 : make_own(path, err);
}

bool sonde_rundir__mark(const char *path, const char *name, const char *suffix)
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
 * The same for the whole directory, with the job's name in it: it tells who comes later whether it
 * is one of their own that has it. A link, as its text is there at once.
 */
static bool mark_begun(const struct sonde_rundir *d, const char *path)
{
	char whole[4096];

	snprintf(whole, sizeof(whole), "%s/" SONDE_RUNDIR_BEGUN, path);
	return symlink(d->rank.job[0] ? d->rank.job : "alone", whole) == 0;
}

int sonde_rundir__open_alone(struct sonde_rundir *d, const char *wanted, struct sonde_err *err)
{
	bool is_timed = sonde_rundir_is_timed(wanted);
	unsigned i;
	int rc = is_timed ? make_timed(wanted, err) : make_own(wanted, err);

	d->is_first = true;
	for (i = 2; rc == 1 && is_timed && i < 1000; i++) {
		snprintf(d->path, sizeof(d->path), "%.3000s-%u", wanted, i);
		rc = make_timed(d->path, err);
	}
	/* Of several that found it empty at once, one has it. */
	if (rc == 0 && !is_timed && !mark_begun(d, wanted) && errno == EEXIST)
		rc = 1;
	if (rc == 1)
		return sonde_err_set(err, SONDE_ERR_USAGE, SONDE_RUNDIR_TAKEN, wanted);
	return rc;
}

/* What all kinds begin with: the rank, the name, the folders above. */
static int begin(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	struct sonde_err why = {0};
	int rc;

	*out = (struct sonde_rundir){0};
	sonde_rank_find(&out->rank);
	if (strlen(wanted) >= sizeof(out->path) - 100)
		return sonde_err_set(err, SONDE_ERR_USAGE, 
			"%.60s…: the name of the run directory is too long: -o DIR names "
			"another",
			wanted);
	snprintf(out->path, sizeof(out->path), "%s", wanted);
	if (out->rank.is_parallel)
		snprintf(out->suffix, sizeof(out->suffix), ".rank%u", out->rank.rank);
	rc = make_parents(wanted, &why);
	return rc ? sonde_err_set(err, rc, "%s; -o DIR names another run directory", why.msg) : 0;
}

int sonde_rundir_open(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin(out, wanted, err);

	if (rc)
		return rc;
	return out->rank.is_parallel ? sonde_rundir__open_shared(out, wanted, err) : sonde_rundir__open_alone(out, wanted, err);
}

int sonde_rundir_open_sweep(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin(out, wanted, err);

	if (rc)
		return rc;
	if (out->rank.is_parallel)
		return sonde_rundir__open_shared(out, wanted, err);
	if (sonde_rundir_is_timed(wanted))
		return sonde_rundir__open_alone(out, wanted, err);
	out->is_first = true;
	return mkdir(wanted, RUN_MODE) == 0 ? 0 : sonde_dir_make(wanted, err);
}

int sonde_rundir_open_job(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin(out, wanted, err);

	if (rc)
		return rc;
	if (!out->rank.is_parallel)
		return sonde_rundir__open_alone(out, wanted, err);
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

/* Profilers and the injected library know of umasks only: what they left is closed afterwards. */
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
		return sonde_rundir__finish_rank(d);
	snprintf(begun, sizeof(begun), "%s/" SONDE_RUNDIR_BEGUN, d->path);
	unlink(begun);
	return true;
}
