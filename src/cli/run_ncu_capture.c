/* Runs the captures of a plan under ncu and says what its log means. */
#include "capture/child.h"
#include "capture/progress.h"
#include "cli/run_ncu_int.h"

#include <stdio.h>
#include <unistd.h>

static int write_command(struct sonde_ncu_stage *s, const struct sonde_plan_capture *c,
	const struct sonde_argv *argv)
{
	struct sonde_buf line = {0};
	char name[160];
	int rc;

	sonde_run_record(s->run, &line, argv->words.at);
	sonde_buf_putc(&line, '\n');
	sonde_buf_str(&s->commands, sonde_buf_view(&line));
	snprintf(name, sizeof(name), "ncu/%s%s.cmd.txt", c->name, s->run->dir.suffix);
	rc = line.failed || s->commands.failed
		     ? sonde_err_nomem(s->err)
		     : sonde_rundir_write(&s->run->dir, name, sonde_buf_view(&line), s->err);
	snprintf(name, sizeof(name), "ncu/cmd%s.txt", s->run->dir.suffix);
	if (rc == 0)
		rc = sonde_rundir_write(&s->run->dir, name, sonde_buf_view(&s->commands), s->err);
	sonde_buf_release(&line);
	return rc;
}

/* What the end of ncu says about the program and about ncu itself. */
static int judge(struct sonde_ncu_stage *s, const struct sonde_ncu_log *log,
	const struct sonde_child_end *end)
{
	bool is_ours = sonde_ncu_log_is_range_limit(log);

	if (sonde_ncu_log_has(log, SONDE_WHEN_NOTHING) && !sonde_ncu_log_has_failure(log))
		s->is_nothing = true; /* else the error is why, and no range to blame */
	if (is_ours && s->run->set.ncu_fallback && !end->is_interrupted)
		return 0; /* the program's end is range replay's doing: kernel replay tells */
	if (sonde_ncu_log_has_failure(log))
		s->run->has_failed = true;
	if (log->program_status >= 0)
		sonde_run_take_end(s->run, log->program_status, end->is_interrupted);
	else if (end->signal || end->is_interrupted)
		sonde_run_take_end(s->run, end->status, end->is_interrupted);
	else if (end->status && log->nr_processes == 0)
		return sonde_err_set(s->err, SONDE_ERR_NOTFOUND,
			"ncu ended with status %d before the program ran; ncu/*.log in the run directory "
			"says why", end->status);
	else if (end->status)
		s->run->has_failed = true;
	return 0;
}

/* A range mode that met its limits is told in the report too: kernel replay takes over. */
static void note_limit(struct sonde_ncu_stage *s, const char *mode, const struct sonde_ncu_log *log)
{
	const char *api = log->details[SONDE_WHEN_UNSUPPORTED_API];

	if (s->run->set.ncu_fallback)
		sonde_note(&s->run->notes,
			"%s replay failed%s%s: fell back to kernel replay; what was captured is "
			"kept",
			mode, api[0] ? " at the unsupported API " : "", api);
}

/* Runs ncu to its end, its progress shown, its log read. */
static int watch(struct sonde_ncu_stage *s, struct sonde_progress *progress,
	const struct sonde_argv *argv, const char *log, struct sonde_child_end *end)
{
	struct sonde_child_spec spec = sonde_run_spec(s->run, argv->words.at);
	int rc;

	spec.tick = sonde_progress_tick;
	spec.of = progress;
	sonde_progress_begin(progress, "ncu", log);
	rc = sonde_child_run(end, &spec, s->err);
	sonde_progress_end(progress);
	return rc;
}

static int capture(
	struct sonde_ncu_stage *s, const struct sonde_plan_capture *c, bool *is_range_limit)
{
	struct sonde_argv argv = {0};
	struct sonde_progress progress = {.show = s->run->is_quiet ? NULL : sonde_say_progress,
		.expected = sonde_replay_is_ranges(c->mode) ? 0 : s->plan.launches};
	struct sonde_child_end end = {0};
	const char *log = NULL, *report = NULL;
	int rc = sonde_ncu_stage__command(s, c, &argv, &log, &report);

	if (rc == 0)
		rc = write_command(s, c, &argv);
	if (rc == 0) {
		rc = watch(s, &progress, &argv, log, &end);
		if (access(report, R_OK) == 0) {
			s->run->nr_ncu++;
			if (!sonde_word_list_add(&s->made, c->name) && rc == 0)
				rc = sonde_err_nomem(s->err);
		}
		sonde_say_log(&progress.log, log);
		*is_range_limit = sonde_ncu_log_is_range_limit(&progress.log);
		if (*is_range_limit)
			note_limit(s, c->mode, &progress.log);
		sonde_run_say_timeout(s->run, &end);
		if (rc == 0)
			rc = judge(s, &progress.log, &end);
		sonde_progress_release(&progress);
	}
	sonde_argv_release(&argv);
	return rc;
}

static int fall_back(struct sonde_ncu_stage *s)
{
	struct sonde_plan_capture kernel = {.name = "kernel", .mode = "kernel"};
	bool ignored = false;
	size_t i;
	int rc = 0;

	for (i = 0; i < s->include.nr && rc == 0; i++)
		if (!sonde_vec_put(&kernel.include, s->include.at[i]))
			rc = sonde_err_nomem(s->err);
	sonde_say("falling back to kernel replay (pipeline.ncu.fallback=false refuses)");
	s->has_fallen_back = true;
	s->is_nothing = false;
	if (rc == 0)
		rc = capture(s, &kernel, &ignored);
	sonde_vec_release(&kernel.include);
	return rc;
}

static int capture_all(struct sonde_ncu_stage *s)
{
	bool is_range_limit = false;
	size_t i;
	int rc = 0;

	for (i = 0; i < s->plan.captures.nr && rc == 0 && !s->run->is_stopped && !is_range_limit;
		i++)
		rc = capture(s, &s->plan.captures.at[i], &is_range_limit);
	if (rc == 0 && is_range_limit && s->run->set.ncu_fallback && !s->run->is_stopped)
		rc = fall_back(s);
	return rc;
}

/* NVIDIA's own reading beside ours: raw.csv and sections_report.txt. */
static void import_one(
	struct sonde_ncu_stage *s, const char *report, const char *page, const char *name)
{
	struct sonde_argv argv = {0};
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	int rc;

	sonde_ncu_import_args(&argv, &s->ncu, report, page);
	rc = sonde_tool_text(&text, &argv, &why);
	if (rc == 0)
		rc = sonde_rundir_write(&s->run->dir, name, sonde_buf_view(&text), &why);
	if (rc)
		sonde_say("%s was not written: %s", name, why.msg);
	sonde_buf_release(&text);
	sonde_argv_release(&argv);
}

/* The files of the main capture have plain names: the first, or the one that was fallen back to. */
static void import_all(struct sonde_ncu_stage *s)
{
	size_t i, main_one = s->has_fallen_back ? s->made.nr - 1 : 0;
	const char *rank = s->run->dir.suffix;
	char file[192];

	for (i = 0; i < s->made.nr && s->run->set.ncu_csv; i++) {
		const char *name = i == main_one ? "" : s->made.at[i], *dot = *name ? "." : "";
		const char *report = sonde_run_path(s->run, "ncu/%s%s.ncu-rep", s->made.at[i], rank);

		if (!report)
			return;
		snprintf(file, sizeof(file), "ncu/raw%s%s%s.csv", dot, name, rank);
		import_one(s, report, "raw", file);
		snprintf(file, sizeof(file), "ncu/sections_report%s%s%s.txt", dot, name, rank);
		import_one(s, report, "details", file);
	}
}

int sonde_ncu_stage__capture(struct sonde_ncu_stage *s)
{
	int rc = capture_all(s);

	if (rc == 0 && s->is_nothing && !s->run->is_stopped)
		sonde_run_explain_nothing(s->run, &s->look);
	if (rc == 0 && s->run->nr_ncu && !s->run->is_stopped)
		import_all(s);
	return rc;
}
