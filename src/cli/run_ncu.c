/* The Nsight Compute stage of `sonde run`: planning, capturing. */
#include "attribute/levels.h"
#include "capture/child.h"
#include "capture/ncu_names.h"
#include "capture/plan.h"
#include "capture/progress.h"
#include "catalogue/metrics.h"
#include "cli/option.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The state of the stage. */
struct stage {
	struct sonde_run *run;
	struct sonde_tool ncu;
	struct sonde_plan plan;
	struct sonde_pipeline *look; /* NULL = not needed, or not possible */
	struct sonde_word_list include, exclude; /* NVTX expressions in ncu's grammar */
	SONDE_VEC(size_t) word_of;		 /* for each include, index of the user's word */
	struct sonde_word_list metrics;		 /* metrics to ask ncu for */
	struct sonde_buf commands;		 /* text of cmd.txt */
	struct sonde_word_list made;		 /* names of the captures that left a report */
	struct sonde_err *err;
	bool is_nothing; /* some capture had nothing to profile */
	bool has_fallen_back;
};

/* --- planning ---------------------------------------------------------------------------------- */

static int open_ncu(struct stage *s)
{
	struct sonde_err why = {0};
	int rc = sonde_tool_open(&s->ncu, s->run->set.ncu_program, &why);

	if (rc && s->run->request.is_dry) { /* a plan needs no ncu */
		snprintf(s->ncu.path, sizeof(s->ncu.path), "ncu");
		s->ncu.major = 2025;
		sonde_note(&s->plan.notes, "%s", why.msg);
		return 0;
	}
	if (rc)
		return sonde_advice_err(s->err, rc, SONDE_WHEN_NCU_UNUSABLE, why.msg);
	if (s->ncu.major && s->ncu.major < SONDE_NCU_OLDEST)
		return sonde_advice_err(s->err, SONDE_ERR_NOTFOUND, SONDE_WHEN_NCU_OLD,
			sonde_arena_printf(
				&s->run->arena, "%s (%s)", s->ncu.version, s->ncu.path)
				.p);
	return 0;
}

static int add_expression(
	struct stage *s, struct sonde_word_list *to, struct sonde_str line, size_t word)
{
	const char *copy = sonde_arena_z(&s->run->arena, line);
	bool ok = copy && sonde_word_list_add(to, copy) &&
		  (to != &s->include || sonde_vec_put(&s->word_of, word));

	return ok ? 0 : sonde_err_nomem(s->err);
}

static int translate(struct stage *s, struct sonde_words words, struct sonde_word_list *to)
{
	struct sonde_buf b = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < words.nr && rc == 0; i++) {
		struct sonde_str rest;

		sonde_buf_clear(&b);
		rc = sonde_nvtx_filter_translate(&b, words.at[i], s->err);
		for (rest = sonde_buf_view(&b); rest.n && rc == 0;) {
			struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

			if (line.n)
				rc = add_expression(s, to, line, i);
		}
	}
	sonde_buf_release(&b);
	return rc;
}

/* Range replay needs to know which ranges nest in which: looks at the program once, cheaply. */
static void look_first(struct stage *s)
{
	struct sonde_err why = {0};

	if (s->run->request.is_dry || !sonde_replay_is_ranges(s->run->set.ncu.replay_mode))
		return;
	if (sonde_run_look(&s->look, s->run, &why))
		sonde_note(&s->plan.notes,
			"the program's ranges could not be listed before the capture: %s", why.msg);
}

static int build_plan(struct stage *s)
{
	const struct sonde_capture_settings *set = &s->run->set;
	struct sonde_words include = {set->nvtx_include.at, set->nvtx_include.nr};
	struct sonde_words exclude = {set->nvtx_exclude.at, set->nvtx_exclude.nr};
	struct sonde_plan_request q = {.replay_mode = set->ncu.replay_mode,
		.include = {s->include.at, s->include.nr},
		.words = set->nvtx_include,
		.is_found_later = s->run->request.is_dry && !s->look,
		.word_of = s->word_of.at,
		.metrics = set->ncu.metrics,
		.clock_control = set->ncu.clock_control,
		.chip = s->run->request.chip};
	struct sonde_notes early = s->plan.notes;
	SONDE_VEC(struct sonde_plan_range) ranges = {0};
	struct sonde_levels levels = {0};
	size_t i;
	int rc = 0;

	if (s->look)
		rc = sonde_levels_build(&levels, s->look->launches, include, exclude, s->err);
	for (i = 0; i < levels.at.nr && rc == 0; i++)
		if (!sonde_vec_put(&ranges,
			    (struct sonde_plan_range){
				    levels.at.at[i].expression, levels.at.at[i].level}))
			rc = sonde_err_nomem(s->err);
	q.ranges = ranges.nr ? ranges.at : NULL;
	q.nr_ranges = ranges.nr;
	if (rc == 0)
		rc = sonde_plan_build(&s->plan, &q, s->err);
	if (rc == 0)
		sonde_notes_add(&s->plan.notes, &early);
	if (rc == 0 && s->look)
		s->plan.launches = s->look->launches->launches.nr;
	sonde_notes_release(&early);
	sonde_levels_release(&levels);
	sonde_vec_release(&ranges);
	return rc;
}

/*
 * A range mode without chosen ranges takes all ranges of the program. A dry run does not look and cannot name them, so
 * it plans with a glob.
 */
static int include_every(struct stage *s)
{
	static const char *const every = "*";

	if (!s->run->request.is_dry || s->include.nr || !sonde_replay_is_ranges(s->run->set.ncu.replay_mode))
		return 0;
	s->run->set.nvtx_include = (struct sonde_words){&every, 1};
	return translate(s, s->run->set.nvtx_include, &s->include);
}

static void set_metrics(struct stage *s)
{
	s->run->set.ncu.metrics = (struct sonde_words){s->metrics.at, s->metrics.nr};
}

static void leave_out(struct stage *s, size_t metric, const char *why)
{
	sonde_note(&s->run->notes, "%s is left out: %s; pipeline.ncu.strict=true refuses that", s->metrics.at[metric], why);
	sonde_say("%s is left out: %s (pipeline.ncu.strict=true refuses that)", s->metrics.at[metric], why);
	memmove(&s->metrics.at[metric], &s->metrics.at[metric + 1],
		(s->metrics.nr - metric - 1) * sizeof(*s->metrics.at));
	s->metrics.nr--;
	set_metrics(s);
}

#define SASS "sass_" /* metrics of instructions by kind; ncu ends at once when it should collect one in a range mode */

/*
 * Replaces names from nvprof by today's names, and leaves out metrics that ncu cannot collect, unless
 * pipeline.ncu.strict is set.
 */
static int choose_metrics(struct stage *s)
{
	const bool is_ranges = sonde_replay_is_ranges(s->run->set.ncu.replay_mode);
	const struct sonde_words asked = s->run->set.ncu.metrics;
	bool ok = true;
	size_t i, k;

	for (i = 0; i < asked.nr && ok; i++) {
		struct sonde_words now = s->run->set.ncu_strict ? (struct sonde_words){0}
								: sonde_metric_successors(asked.at[i]);

		if (now.nr)
			sonde_note(&s->run->notes, "%s is a metric of nvprof: %s%s%s%s%s in its place", asked.at[i], now.at[0],
				now.nr > 1 ? ", " : "", now.nr > 1 ? now.at[1] : "", now.nr > 2 ? ", " : "",
				now.nr > 2 ? now.at[2] : "");
		for (k = 0; k < now.nr && ok; k++)
			ok = sonde_word_list_add(&s->metrics, now.at[k]);
		ok = ok && (now.nr || sonde_word_list_add(&s->metrics, asked.at[i]));
	}
	set_metrics(s);
	for (i = 0; i < s->metrics.nr && ok && !s->run->set.ncu_strict;)
		if (!sonde_metric_is_ncus(s->metrics.at[i]))
			leave_out(s, i, "ncu has no metric of that name");
		else if (is_ranges && strstr(s->metrics.at[i], SASS))
			leave_out(s, i, "ncu does not collect it in range replay");
		else
			i++;
	return ok ? 0 : sonde_err_nomem(s->err);
}

/*
 * Checks the metrics with what CUPTI said. SONDE_ERR_NOTFOUND for one that is near to no other. If the chip is only
 * assumed, an unknown metric is a note, no error.
 */
static int check_passes(struct stage *s, size_t *metric)
{
	const struct sonde_passes *p = &s->plan.passes;
	const char *before = p->near[0] ? ", did you mean '" : "",
		   *after = p->near[0] ? "'?" : "; `ncu --query-metrics` lists them";

	if (!p->nr_unknown)
		return 0;
	for (*metric = 0; *metric < s->metrics.nr && strcmp(s->metrics.at[*metric], p->unknown) != 0; ++*metric)
		;
	if (!s->plan.is_chip_assumed)
		return sonde_err_set(s->err, p->near[0] || *metric == s->metrics.nr ? SONDE_ERR_USAGE : SONDE_ERR_NOTFOUND,
			"%s has no metric '%s'%s%s%s", s->plan.chip, p->unknown, before, p->near, after);
	sonde_note(&s->plan.notes, "%s has no metric '%s'%s%s%s", s->plan.chip, p->unknown, before,
		p->near, after);
	return 0;
}

/* Finds wrong names before the run, by ncu's lists or by CUPTI. */
static int check_names(struct stage *s, size_t *metric)
{
	struct sonde_ncu_names names;
	bool asks_metrics = s->plan.passes.nr_unknown || !s->plan.passes.nr;
	int rc;

	if (s->run->request.is_dry && s->ncu.version[0] == '\0')
		return check_passes(s, metric);
	sonde_ncu_names_open(&names, &s->ncu, &s->run->set.ncu,
		s->plan.is_chip_assumed ? NULL : s->plan.chip,
		asks_metrics && s->run->set.ncu.metrics.nr);
	rc = sonde_ncu_names_check(&names, &s->run->set.ncu, metric, s->err);
	if (rc == 0 && !names.metrics.nr)
		rc = check_passes(s, metric);
	sonde_ncu_names_release(&names);
	return rc;
}

/* Plans with the metrics that are known. Others are left out, or refused with pipeline.ncu.strict. */
static int plan_known(struct stage *s)
{
	size_t metric = 0;
	int rc = build_plan(s);

	while (rc == 0) {
		struct sonde_notes notes;

		rc = check_names(s, &metric);
		if (rc != SONDE_ERR_NOTFOUND)
			return rc;
		if (s->run->set.ncu_strict)
			return SONDE_ERR_USAGE;
		leave_out(s, metric, s->err->msg);
		notes = s->plan.notes;
		s->plan.notes = (struct sonde_notes){0};
		sonde_plan_release(&s->plan);
		s->plan = (struct sonde_plan){.notes = notes};
		rc = build_plan(s);
	}
	return rc;
}

/* Builds the words of one capture, and the paths of its log and report. */
static int build_command(struct stage *s, const struct sonde_plan_capture *c,
	struct sonde_argv *argv, const char **log, const char **report)
{
	struct sonde_run *r = s->run;
	struct sonde_ncu_request q = r->set.ncu;
	const char *base = sonde_run_path(r, "ncu/%s%s", c->name, r->dir.suffix);

	*log = sonde_run_path(r, "ncu/%s%s.log", c->name, r->dir.suffix);
	*report = sonde_run_path(r, "ncu/%s%s.ncu-rep", c->name, r->dir.suffix);
	if (!base || !*log || !*report)
		return sonde_err_nomem(s->err);
	q.report = base;
	q.log = *log;
	q.replay_mode = c->mode;
	q.nvtx_include = (struct sonde_words){c->include.at, c->include.nr};
	q.nvtx_exclude = (struct sonde_words){s->exclude.at, s->exclude.nr};
	sonde_ncu_args_build(argv, &s->ncu, &q, r->program);
	return argv->failed ? sonde_err_nomem(s->err) : 0;
}

/* --- capturing --------------------------------------------------------------------------------- */

static int write_command(struct stage *s, const struct sonde_plan_capture *c,
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

/* Learns from ncu's log and status how the program and ncu itself did. */
static int judge_log(struct stage *s, const struct sonde_ncu_log *log,
	const struct sonde_child_end *end)
{
	bool is_ours = sonde_ncu_log_is_range_limit(log);

	if (sonde_ncu_log_has(log, SONDE_WHEN_NOTHING) && !sonde_ncu_log_has_failure(log))
		s->is_nothing = true; /* otherwise the failure is the reason, and no range is to blame */
	if (is_ours && s->run->set.ncu_fallback && !end->is_interrupted)
		return 0; /* range replay ended the program: kernel replay will show its real status */
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

/* Notes, for the report too, that a range mode met its limits and kernel replay takes over. */
static void note_limit(struct stage *s, const char *mode, const struct sonde_ncu_log *log)
{
	const char *api = log->details[SONDE_WHEN_UNSUPPORTED_API];

	if (s->run->set.ncu_fallback)
		sonde_note(&s->run->notes,
			"%s replay failed%s%s: fell back to kernel replay; what was captured is "
			"kept",
			mode, api[0] ? " at the unsupported API " : "", api);
}

/* Runs ncu to its end, shows its progress and reads its log. */
static int run_watched(struct stage *s, struct sonde_progress *progress,
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

static int capture_one(
	struct stage *s, const struct sonde_plan_capture *c, bool *is_range_limit)
{
	struct sonde_argv argv = {0};
	struct sonde_progress progress = {.show = s->run->request.is_quiet ? NULL : sonde_say_progress,
		.expected = sonde_replay_is_ranges(c->mode) ? 0 : s->plan.launches};
	struct sonde_child_end end = {0};
	const char *log = NULL, *report = NULL;
	int rc = build_command(s, c, &argv, &log, &report);

	if (rc == 0)
		rc = write_command(s, c, &argv);
	if (rc == 0) {
		rc = run_watched(s, &progress, &argv, log, &end);
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
			rc = judge_log(s, &progress.log, &end);
		sonde_progress_release(&progress);
	}
	sonde_argv_release(&argv);
	return rc;
}

static int fall_back(struct stage *s)
{
	struct sonde_plan_capture kernel = {.name = "kernel", .mode = "kernel"};
	bool ignored = false;
	size_t i;
	int rc = 0;

	for (i = 0; i < s->include.nr && rc == 0; i++)
		if (!sonde_vec_put(&kernel.include, s->include.at[i]))
			rc = sonde_err_nomem(s->err);
	sonde_say("falling back to kernel replay (pipeline.ncu.fallback=false turns this off)");
	s->has_fallen_back = true;
	s->is_nothing = false;
	if (rc == 0)
		rc = capture_one(s, &kernel, &ignored);
	sonde_vec_release(&kernel.include);
	return rc;
}

static int capture_all(struct stage *s)
{
	bool is_range_limit = false;
	size_t i;
	int rc = 0;

	for (i = 0; i < s->plan.captures.nr && rc == 0 && !s->run->is_stopped && !is_range_limit;
		i++)
		rc = capture_one(s, &s->plan.captures.at[i], &is_range_limit);
	if (rc == 0 && is_range_limit && s->run->set.ncu_fallback && !s->run->is_stopped)
		rc = fall_back(s);
	return rc;
}

/* Writes ncu's own view of a report beside ours: raw.csv or sections_report.txt. */
static void import_one(
	struct stage *s, const char *report, const char *page, const char *name)
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

/* The files of the main capture, which is the fall-back or else the first, get plain names. */
static void import_all(struct stage *s)
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

/* Runs all captures of the plan, with the fall-back, and writes ncu's own view of each. */
static int capture_stage(struct stage *s)
{
	int rc = capture_all(s);

	if (rc == 0 && s->is_nothing && !s->run->is_stopped)
		sonde_run_explain_nothing(s->run, &s->look);
	if (rc == 0 && s->run->nr_ncu && !s->run->is_stopped)
		import_all(s);
	return rc;
}

/* --- the stage --------------------------------------------------------------------------------- */

static int print_dry(struct stage *s)
{
	struct sonde_buf out = {0};
	const char *log, *report;
	size_t i;
	int rc = 0;

	sonde_plan_show(&s->plan, &out);
	for (i = 0; i < s->plan.captures.nr && rc == 0; i++) {
		struct sonde_argv argv = {0};

		rc = build_command(s, &s->plan.captures.at[i], &argv, &log, &report);
		sonde_buf_puts(&out, "  $ ");
		if (rc == 0)
			sonde_argv_show(&out, argv.words.at);
		sonde_buf_putc(&out, '\n');
		sonde_argv_release(&argv);
	}
	if (rc == 0 && !out.failed)
		fwrite(out.p, 1, out.n, stdout);
	sonde_buf_release(&out);
	return rc;
}

static void say_plan(struct stage *s)
{
	struct sonde_buf out = {0};
	struct sonde_str rest;

	sonde_plan_show(&s->plan, &out);
	for (rest = sonde_buf_view(&out); rest.n && !s->run->request.is_quiet;) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

		sonde_say("%.*s", SONDE_STR_ARG(line));
	}
	sonde_buf_release(&out);
}

int sonde_run_ncu(struct sonde_run *r, struct sonde_err *err)
{
	struct stage s = {.run = r, .err = err};
	int rc = open_ncu(&s);

	if (rc == 0)
		rc = choose_metrics(&s);
	if (rc == 0 && r->set.ncu_gating)
		rc = translate(&s, r->set.nvtx_include, &s.include);
	if (rc == 0)
		rc = include_every(&s);
	if (rc == 0)
		rc = translate(&s, r->set.nvtx_exclude, &s.exclude);
	if (rc == 0)
		look_first(&s);
	if (rc == 0)
		rc = plan_known(&s);
	if (rc == 0 && r->request.is_dry)
		rc = print_dry(&s);
	if (rc == 0 && !r->request.is_dry) {
		say_plan(&s);
		sonde_note(&r->notes, "clocks: %s", sonde_plan_clocks(&s.plan));
		rc = capture_stage(&s);
	}
	sonde_pipeline_free(s.look);
	sonde_plan_release(&s.plan);
	sonde_vec_release(&s.include);
	sonde_vec_release(&s.exclude);
	sonde_vec_release(&s.word_of);
	sonde_vec_release(&s.made);
	r->set.ncu.metrics = (struct sonde_words){0};
	sonde_vec_release(&s.metrics);
	sonde_buf_release(&s.commands);
	return rc;
}
