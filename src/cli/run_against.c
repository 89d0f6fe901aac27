/*
 * `sonde run --against`: runs the program several times, each run with a capture of its own, then `sonde diff`. With
 * --base-cmd the base runs too, in turns with the program, so that what drifts on a machine (clocks, temperature,
 * neighbours) affects both sides alike.
 */
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/newest_run.h"
#include "cli/overrides.h"
#include "cli/run_int.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

struct series {
	const struct sonde_run_request *q;
	const struct sonde_run_against *a;
	const char *dir;
	struct sonde_argv diff; /* the words of the `sonde diff` command */
	struct sonde_err *err;
};

/* Runs one side once, in a folder below the directory of all runs. */
static int run_side(const struct series *s, const char *side, size_t number, char *const *program)
{
	struct sonde_run_request q = *s->q;
	struct sonde_argv lines = {0};
	struct sonde_buf dir = {0};
	size_t i;
	int status;

	sonde_buf_printf(&dir, "%s/%s-%zu", s->dir, side, number);
	for (i = 0; i < q.overrides.nr; i++)
		sonde_argv_add(&lines, q.overrides.at[i]);
	sonde_overrides_word(&lines, "hydra.run.dir", dir.failed ? NULL : dir.p);
	q.overrides = (struct sonde_words){(const char *const *)lines.words.at, lines.words.nr};
	q.program = program;
	q.hides_report = true;
	q.is_opened = false;
	if (lines.failed || dir.failed) {
		sonde_err_nomem(s->err);
		status = sonde_cmd_fail(s->err);
	} else {
		status = sonde_run_once(&q, s->err);
	}
	sonde_argv_release(&lines);
	sonde_buf_release(&dir);
	return status;
}

static int run_all(const struct series *s)
{
	char *shell[] = {"/bin/sh", "-c", (char *)(uintptr_t)s->a->base_command, NULL};
	size_t i;
	int status = 0;

	for (i = 1; i <= s->a->repeat && status == 0; i++) {
		if (s->a->base_command)
			status = run_side(s, "base", i, shell);
		if (status == 0)
			status = run_side(s, "new", i, s->q->program);
	}
	return status;
}

/* Builds the words of `sonde diff` and checks them, before anything runs. */
static int build_diff(struct series *s)
{
	const struct sonde_run_against *a = s->a;
	size_t i;

	sonde_argv_add(&s->diff, "diff");
	for (i = 0; i < a->base.nr; i++)
		sonde_argv_pair(&s->diff, "--base", a->base.at[i]);
	for (i = 1; i <= a->repeat; i++) {
		if (a->base_command)
			sonde_argv_printf(&s->diff, "--base=%s/base-%zu", s->dir, i);
		sonde_argv_printf(&s->diff, "--new=%s/new-%zu", s->dir, i);
	}
	for (i = 0; i < a->limits.nr; i++)
		sonde_argv_pair(&s->diff, "--fail-above", a->limits.at[i]);
	if (a->allows_insufficient)
		sonde_argv_add(&s->diff, "--allow-insufficient");
	if (a->takes_partial)
		sonde_argv_add(&s->diff, "--partial-inputs");
	if (a->accepts_single)
		sonde_argv_add(&s->diff, "--single");
	sonde_argv_printf(&s->diff, "--output=%s/", s->dir);
	if (s->diff.failed)
		return sonde_err_nomem(s->err);
	return sonde_cmd_diff_check((int)s->diff.words.nr, s->diff.words.at, s->err);
}

/* Makes the directory of all runs. A directory named by the time gets a number if another run began in this second. */
static int open_dir(struct series *s, struct sonde_rundir *d)
{
	int rc = sonde_rundir_open_sweep(d, s->dir, s->err);

	if (rc || strcmp(d->path, s->dir) == 0)
		return rc;
	s->dir = d->path;
	sonde_argv_release(&s->diff);
	s->diff = (struct sonde_argv){0};
	return build_diff(s);
}

/* A directory has one comparison. In a parallel job, another rank may have begun this very one. */
static int refuse_used(struct series *s, const struct sonde_rank *rank)
{
	struct sonde_buf path = {0};
	bool is_used;

	sonde_buf_printf(&path, "%s/new-1", s->dir);
	is_used = !path.failed && !rank->is_parallel && access(path.p, F_OK) == 0;
	sonde_buf_release(&path);
	if (!is_used)
		return 0;
	return sonde_err_set(s->err, SONDE_ERR_USAGE,
		"run: -o %s: that directory has the runs of a comparison already: choose another one with -o, or remove %s", s->dir, s->dir);
}

/* --open: shows the page of the comparison, if there is one. */
static int show_page(struct series *s)
{
	struct sonde_buf page = {0};
	int rc = 0;

	sonde_buf_printf(&page, "%s/diff.html", s->dir);
	if (page.failed)
		rc = sonde_err_nomem(s->err);
	else if (access(page.p, R_OK) == 0)
		rc = sonde_page_view_show(&(struct sonde_page_view){.page = page.p}, s->err);
	sonde_buf_release(&page);
	return rc;
}

static int run_and_compare(struct series *s, bool is_timed)
{
	struct sonde_rundir dir = {0};
	int status;

	if (s->q->is_dry)
		return run_all(s);
	sonde_rank_find(&dir.rank);
	if (!is_timed && refuse_used(s, &dir.rank))
		return sonde_cmd_fail(s->err);
	if (open_dir(s, &dir))
		return sonde_cmd_fail(s->err);
	status = run_all(s);
	sonde_rundir_finish(&dir);
	if (status)
		return status;
	if (is_timed)
		sonde_rundir_link_latest(dir.path);
	status = sonde_cmd_diff((int)s->diff.words.nr, s->diff.words.at);
	sonde_say("the comparison is in %s: diff.html, diff.json, diff.md, diff.txt and diff.xml (JUnit)", s->dir);
	sonde_run_say_view(s->dir);
	if (s->q->is_opened && show_page(s))
		return sonde_cmd_fail(s->err);
	return status;
}

int sonde_run_against(const struct sonde_run_request *q, const struct sonde_run_against *a,
	const char *out, struct sonde_err *err)
{
	char timed[64] = "";
	struct series s = {.q = q, .a = a, .dir = out ? out : timed, .err = err};
	time_t now = time(NULL);
	struct tm tm;
	int status;

	if (localtime_r(&now, &tm))
		strftime(timed, sizeof(timed), SONDE_RUNS "/%Y%m%d-%H%M%S", &tm);
	status = build_diff(&s) ? sonde_cmd_fail(err) : run_and_compare(&s, !out);
	sonde_argv_release(&s.diff);
	return status;
}
