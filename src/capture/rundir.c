#include "capture/rundir.h"

#include "base/file.h"
#include "base/sink.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAKEN                                                                                      \
	"%s already holds a run: choose another directory (hydra.run.dir=DIR, of a sweep "         \
	"hydra.sweep.dir=DIR) or remove it"

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

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return sonde_err_set(err, SONDE_ERR_IO, "%s: cannot make the run directory: %s",
			path, strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: cannot make the run directory: a file of that name is there", path);
	if (sonde_rundir_is_taken(path))
		return 1;
	if (access(path, W_OK) < 0)
		return sonde_err_set(err, SONDE_ERR_IO, "%s: cannot write to the run directory: %s",
			path, strerror(errno));
	return 0;
}

/*
 * The same for a name made of the time: nobody makes such a directory beforehand, so one that is
 * there is another run's that began in this second and may not have written anything yet.
 */
static int make_timed(const char *path, struct sonde_err *err)
{
	if (mkdir(path, 0777) == 0)
		return 0;
	return errno == EEXIST ? 1 : make_own(path, err);
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
	if (rc == 1)
		return sonde_err_set(err, SONDE_ERR_USAGE, TAKEN, wanted);
	return rc;
}

/* The first rank to come makes the directory and leaves a link with the job's name to it. */
static int open_shared(struct sonde_rundir *d, const char *wanted, struct sonde_err *err)
{
	char copy[3072], link[3400], target[3072];
	ssize_t n;
	int rc;

	snprintf(copy, sizeof(copy), "%s", wanted);
	snprintf(link, sizeof(link), "%s/.job-%s", dirname(copy), d->rank.job);
	snprintf(copy, sizeof(copy), "%s", wanted);
	if (symlink(basename(copy), link) == 0) {
		rc = make_own(wanted, err);
		if (rc == 1) {
			unlink(link);
			rc = sonde_err_set(err, SONDE_ERR_USAGE, TAKEN, wanted);
		}
		d->is_first = true;
		return rc;
	}
	if (errno != EEXIST)
		return sonde_err_set(err, SONDE_ERR_IO, "%s: %s", link, strerror(errno));
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return sonde_err_set(err, SONDE_ERR_IO, "%s: %s", link, strerror(errno));
	target[n] = '\0';
	snprintf(copy, sizeof(copy), "%s", wanted);
	snprintf(d->path, sizeof(d->path), "%.2000s/%.1000s", dirname(copy), target);
	return sonde_dir_make(d->path, err);
}

/* What all kinds begin with: the rank, the name, the folders above. */
static int begin(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	*out = (struct sonde_rundir){0};
	sonde_rank_find(&out->rank);
	if (strlen(wanted) >= sizeof(out->path) - 100)
		return sonde_err_set(err, SONDE_ERR_USAGE, "the run directory's name is too long");
	snprintf(out->path, sizeof(out->path), "%s", wanted);
	if (out->rank.is_parallel)
		snprintf(out->suffix, sizeof(out->suffix), ".rank%u", out->rank.rank);
	return make_parents(wanted, err);
}

int sonde_rundir_open(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin(out, wanted, err);

	if (rc)
		return rc;
	return out->rank.is_parallel ? open_shared(out, wanted, err) : open_alone(out, wanted, err);
}

int sonde_rundir_open_sweep(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin(out, wanted, err);

	if (rc)
		return rc;
	if (out->rank.is_parallel)
		return open_shared(out, wanted, err);
	if (sonde_rundir_is_timed(wanted))
		return open_alone(out, wanted, err);
	out->is_first = true;
	return sonde_dir_make(wanted, err);
}

int sonde_rundir_open_job(struct sonde_rundir *out, const char *wanted, struct sonde_err *err)
{
	int rc = begin(out, wanted, err);

	if (rc)
		return rc;
	if (!out->rank.is_parallel)
		return open_alone(out, wanted, err);
	out->is_first = mkdir(wanted, 0777) == 0;
	return out->is_first ? 0 : sonde_dir_make(wanted, err);
}

int sonde_rundir_write(const struct sonde_rundir *d, const char *name, struct sonde_str text,
	struct sonde_err *err)
{
	char path[4096];
	struct sonde_sink sink;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	rc = make_parents(path, err);
	if (rc == 0)
		rc = sonde_sink_open(&sink, path, err);
	if (rc)
		return rc;
	sonde_sink_str(&sink, text);
	return sonde_sink_close(&sink, err);
}

bool sonde_rundir_finish(const struct sonde_rundir *d)
{
	char path[4096], copy[3072];
	glob_t done = {0};
	size_t nr;
	int fd;

	if (!d->rank.is_parallel)
		return true;
	snprintf(path, sizeof(path), "%s/.done%s", d->path, d->suffix);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "%s/.done.rank*", d->path);
	nr = glob(path, 0, NULL, &done) == 0 ? done.gl_pathc : 0;
	globfree(&done);
	if (d->rank.size && nr < d->rank.size)
		return false;
	snprintf(copy, sizeof(copy), "%s", d->path);
	snprintf(path, sizeof(path), "%s/.job-%s", dirname(copy), d->rank.job);
	unlink(path);
	return true;
}
