#include "cli/command.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <string.h>

/* The state of a sweep. */
struct sweep {
	struct hydra_config *master;
	const struct sonde_run_request *q;
	struct sonde_rundir dir;
	const char *wanted; /* hydra.sweep.dir as configured: the directory may get a number behind it */
	size_t nr_jobs, nr_done, nr_failed;
	int status; /* the first status that is not 0 */
	bool is_stopped;
	struct sonde_err *err;
};

/* Changes a job's directory if the sweep's directory got another name than was wanted. */
static int place_job(const struct sweep *s, struct sonde_run *r)
{
	size_t n = strlen(s->wanted);
	const char *dir = r->set.run_dir, *below = strstr(dir, s->wanted);
	struct sonde_buf b = {0};

	if (s->q->is_dry || !below || below[n] != '/' || strcmp(s->wanted, s->dir.path) == 0)
		return 0;
	sonde_buf_printf(&b, "%.*s%s%s", (int)(below - dir), dir, s->dir.path, below + n);
	r->set.run_dir = sonde_arena_take(&r->arena, &b);
	return r->set.run_dir ? 0 : sonde_err_nomem(s->err);
}

static const char *describe_job(const struct sweep *s, struct sonde_run *r, size_t job)
{
	struct sonde_buf b = {0};

	sonde_buf_printf(&b, "job %zu of %zu: ", job + 1, s->nr_jobs);
	sonde_run_config_job_words(s->master, job, &b);
	return sonde_arena_take(&r->arena, &b);
}

static int open_job(struct sweep *s, struct hydra_config **config, struct sonde_run *r, size_t job)
{
	int rc = hydra_config_job_open(config, s->master, job, s->err);

	*r = (struct sonde_run){0};
	if (rc == 0)
		rc = sonde_run_open(r, *config, s->q, s->err);
	r->job = describe_job(s, r, job);
	return rc == 0 && !r->job ? sonde_err_nomem(s->err) : rc;
}

/* Composes every job once before any job runs, so that a mistake in the last one shows at once. */
static int check_jobs(struct sweep *s)
{
	/* Other ranks may have begun there already; and a name made of the time is always new. */
	bool is_own =
		!s->q->is_dry && !s->dir.rank.is_parallel && !sonde_rundir_is_timed(s->wanted);
	size_t i;
	int rc = 0;

	for (i = 0; i < s->nr_jobs && rc == 0; i++) {
		struct hydra_config *config = NULL;
		struct sonde_run r;

		rc = open_job(s, &config, &r, i);
		if (rc == 0 && is_own && sonde_rundir_is_taken(r.set.run_dir))
			rc = sonde_err_set(s->err, SONDE_ERR_USAGE,
				"%s already contains a run: choose another hydra.sweep.dir or "
				"hydra.sweep.subdir, or remove it",
				r.set.run_dir);
		if (rc)
			sonde_say("%s", r.job ? r.job : "out of memory");
		sonde_run_release(&r);
		hydra_config_free(config);
	}
	return rc;
}

static void run_job(struct sweep *s, size_t job)
{
	struct hydra_config *config = NULL;
	struct sonde_run r;
	int rc = open_job(s, &config, &r, job), status;

	if (rc == 0 && s->q->is_dry)
		printf("%s%s\n", job ? "\n" : "", r.job);
	else if (rc == 0 && !s->q->is_quiet)
		sonde_say("%s", r.job);
	if (rc == 0)
		rc = place_job(s, &r);
	if (rc == 0)
		rc = sonde_run_do(&r, s->err);
	status = sonde_run_status(&r, rc, s->err);
	if (s->status == 0)
		s->status = status;
	s->nr_failed += status != 0;
	s->nr_done++;
	s->is_stopped = r.is_stopped;
	sonde_run_release(&r);
	hydra_config_free(config);
}

/* Makes the directory of all jobs, with the file that Hydra leaves there. */
static int open_dir(struct sweep *s)
{
	struct sonde_buf yaml = {0};
	int rc = sonde_rundir_open_sweep(&s->dir, s->wanted, s->err);

	if (rc == 0 && s->dir.is_first) {
		rc = sonde_run_config_yaml(s->master, &yaml, SONDE_RUN_ALL_YAML, s->err);
		if (rc == 0)
			rc = sonde_rundir_write(
				&s->dir, "multirun.yaml", sonde_buf_view(&yaml), s->err);
	}
	sonde_buf_release(&yaml);
	return rc;
}

static void say_end(const struct sweep *s)
{
	char how[128];

	if (s->is_stopped)
		snprintf(how, sizeof(how), "stopped in job %zu of %zu; what was done is in", s->nr_done, s->nr_jobs);
	else
		snprintf(how, sizeof(how), "%zu of %zu jobs went well; everything is in",
			s->nr_jobs - s->nr_failed, s->nr_jobs);
	sonde_say_where(how, s->dir.path);
}

int sonde_run_sweep(
	struct hydra_config *master, const struct sonde_run_request *q, struct sonde_err *err)
{
	struct sweep s = {.master = master,
		.q = q,
		.wanted = hydra_config_str(master, "hydra.sweep.dir").p,
		.nr_jobs = hydra_config_nr_jobs(master),
		.err = err};
	const struct sonde_run none = {0};
	size_t i;
	int rc;

	sonde_rank_find(&s.dir.rank);
	rc = check_jobs(&s);
	if (rc == 0 && !q->is_dry)
		rc = open_dir(&s);
	if (rc)
		return sonde_run_status(&none, rc, err);
	if (s.nr_jobs == 0)
		sonde_say("the sweep is empty: give a key several values, as in report.sort=time,name");
	for (i = 0; i < s.nr_jobs && !s.is_stopped; i++)
		run_job(&s, i);
	if (!q->is_dry) {
		sonde_rundir_finish(&s.dir);
		say_end(&s);
	}
	return s.status;
}
