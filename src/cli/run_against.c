/*
 * `sonde run --against`: the program several times, each run a capture of its own, then
 * `sonde diff`. With --base-cmd the base runs too, in turns with it: what drifts on a machine
 * (clocks, temperature, neighbours) then meets both sides alike.
 */
#include "cli/command.h"
#include "cli/overrides.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <time.h>

struct series {
	const struct sonde_run_request *q;
	const struct sonde_run_against *a;
	char dir[256];		     /* made of the time, unless one was given */
	struct sonde_argv base, now; /* what is to be compared */
	struct sonde_err *err;
};

/* One run of one side; its directory becomes an input. */
static int run_side(struct series *s, const char *side, size_t number, char *const *program,
	struct sonde_argv *inputs)
{
	struct sonde_run_request q = *s->q;
	struct sonde_overrides lines = {0};
	struct sonde_buf dir = {0};
	size_t i;
	int status;

	sonde_buf_printf(&dir, "%s/%s-%zu", s->dir, side, number);
	for (i = 0; i < q.overrides.nr; i++)
		sonde_overrides_add(&lines, q.overrides.at[i]);
	sonde_overrides_word(&lines, "hydra.run.dir", dir.failed ? NULL : dir.p);
	sonde_argv_add(inputs, dir.failed ? "" : dir.p);
	q.overrides = (struct sonde_words){lines.lines.at, lines.lines.nr};
	q.program = program;
	q.hides_report = true;
	if (lines.failed || dir.failed || inputs->failed) {
		sonde_err_nomem(s->err);
		status = sonde_cmd_fail(s->err);
	} else {
		status = sonde_run_once(&q, s->err);
	}
	sonde_overrides_release(&lines);
	sonde_buf_release(&dir);
	return status;
}

static int run_all(struct series *s)
{
	char *shell[] = {"/bin/sh", "-c", (char *)(uintptr_t)s->a->base_command, NULL};
	size_t i;
	int status = 0;

	for (i = 1; i <= s->a->repeat && status == 0; i++) {
		if (s->a->base_command)
			status = run_side(s, "base", i, shell, &s->base);
		if (status == 0)
			status = run_side(s, "new", i, s->q->program, &s->now);
	}
	return status;
}

static int compare(struct series *s)
{
	struct sonde_argv words = {0};
	int status;

	sonde_argv_add(&words, "diff");
	sonde_argv_add(&words, "--base");
	sonde_argv_all(&words, s->base.words.at);
	sonde_argv_add(&words, "--new");
	sonde_argv_all(&words, s->now.words.at);
	if (words.failed) {
		sonde_err_nomem(s->err);
		status = sonde_cmd_fail(s->err);
	} else {
		status = sonde_cmd_diff((int)words.words.nr, words.words.at);
	}
	sonde_argv_release(&words);
	return status;
}

static void choose_dir(struct series *s, const char *out)
{
	time_t now = time(NULL);
	struct tm tm;

	if (out)
		snprintf(s->dir, sizeof(s->dir), "%s", out);
	else if (localtime_r(&now, &tm))
		strftime(s->dir, sizeof(s->dir), "tmp/profile-output/%Y%m%d-%H%M%S", &tm);
}

int sonde_run_against(const struct sonde_run_request *q, const struct sonde_run_against *a,
	const char *out, struct sonde_err *err)
{
	struct series s = {.q = q, .a = a, .err = err};
	size_t i;
	int status;

	choose_dir(&s, out);
	for (i = 0; i < a->base.nr; i++)
		sonde_argv_add(&s.base, a->base.at[i]);
	status = run_all(&s);
	if (status == 0 && !q->is_dry)
		status = compare(&s);
	sonde_argv_release(&s.base);
	sonde_argv_release(&s.now);
	return status;
}
