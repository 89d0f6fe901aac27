#include "attribute/levels.h"
#include "capture/child.h"
#include "capture/offers.h"
#include "capture/plan.h"
#include "capture/progress.h"
#include "cli/option.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The stage at work. */
struct stage {
	struct sonde_run *run;
	struct sonde_tool ncu;
	struct sonde_plan plan;
	struct sonde_look look;
	struct sonde_word_list include, exclude; /* in ncu's grammar */
	SONDE_VEC(size_t) word_of;		 /* per include, the user's word */
	struct sonde_buf commands;		 /* cmd.txt */
	struct sonde_err *err;
	bool is_nothing; /* some capture selected nothing */
	bool has_fallen_back;
};

static int open_ncu(struct stage *s)
{
	struct sonde_err why = {0};
	int rc = sonde_tool_open(&s->ncu, s->run->set.ncu_program, &why);

	if (rc && s->run->is_dry) { /* a plan needs no ncu */
		snprintf(s->ncu.path, sizeof(s->ncu.path), "ncu");
		s->ncu.major = 2025;
		sonde_note(&s->plan.notes, "%s", why.msg);
		return 0;
	}
	if (rc)
		return sonde_err_set(s->err, rc,
			"Nsight Compute cannot be used: %s. `sonde doctor` tells what this machine "
			"has; "
			"pipeline.native.enable=true needs no ncu, and `sonde report` reads "
			"reports made "
			"elsewhere",
			why.msg);
	if (s->ncu.major && s->ncu.major < 2021)
		return sonde_err_set(s->err, SONDE_ERR_NOTFOUND,
			"%s is Nsight Compute %s: too old, sonde needs 2021.1 or newer (2022.1 for "
			"app-range replay)",
			s->ncu.path, s->ncu.version);
	return 0;
}

static int add_expression(
	struct stage *s, struct sonde_word_list *to, struct sonde_str line, size_t word)
{
	const char **slot = sonde_vec_push(to);
	size_t *of = to == &s->include ? sonde_vec_push(&s->word_of) : NULL;

	if (slot)
		*slot = sonde_arena_z(&s->run->arena, line);
	if (of)
		*of = word;
	return slot && *slot && (of || to != &s->include) ? 0 : sonde_err_nomem(s->err);
}

static int translate(struct stage *s, struct sonde_list words, struct sonde_word_list *to)
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

/* Range replay needs to know what nests in what: look at the program once, cheaply. */
static void look_first(struct stage *s)
{
	struct sonde_err why = {0};

	if (s->run->is_dry || !sonde_replay_is_ranges(s->run->set.ncu.replay_mode))
		return;
	if (sonde_run_look(&s->look, s->run, &why))
		sonde_note(&s->plan.notes, "the program's ranges are not known beforehand: %s",
			why.msg);
}

static int build_plan(struct stage *s)
{
	const struct sonde_capture_settings *set = &s->run->set;
	struct sonde_words include = {set->nvtx_include.at, set->nvtx_include.nr};
	struct sonde_words exclude = {set->nvtx_exclude.at, set->nvtx_exclude.nr};
	struct sonde_plan_request q = {.replay_mode = set->ncu.replay_mode,
		.include = {s->include.at, s->include.nr},
		.words = set->nvtx_include,
		.word_of = s->word_of.at,
		.metrics = set->ncu.metrics,
		.clock_control = set->ncu.clock_control,
		.chip = s->run->chip};
	struct sonde_notes early = s->plan.notes;
	SONDE_VEC(struct sonde_plan_range) ranges = {0};
	struct sonde_levels levels = {0};
	size_t i;
	int rc = 0;

	if (s->look.launches)
		rc = sonde_levels_build(&levels, s->look.launches, include, exclude, s->err);
	for (i = 0; i < levels.at.nr && rc == 0; i++) {
		struct sonde_plan_range *p = sonde_vec_push(&ranges);

		if (!p)
			rc = sonde_err_nomem(s->err);
		else
			*p = (struct sonde_plan_range){
				levels.at.at[i].expression, levels.at.at[i].level};
	}
	q.ranges = ranges.nr ? ranges.at : NULL;
	q.nr_ranges = ranges.nr;
	if (rc == 0)
		rc = sonde_plan_build(&s->plan, &q, s->err);
	if (rc == 0)
		sonde_notes_add(&s->plan.notes, &early);
	if (rc == 0 && s->look.launches)
		s->plan.launches = s->look.launches->launches.nr;
	sonde_notes_release(&early);
	sonde_levels_release(&levels);
	sonde_vec_release(&ranges);
	return rc;
}

/* Wrong names are told before the run, by whoever knows the names. */
static int check_names(struct stage *s)
{
	const struct sonde_passes *p = &s->plan.passes;
	struct sonde_offers offers;
	bool asks_metrics = s->plan.passes.nr_unknown || !p->nr;
	int rc;

	if (s->run->is_dry && s->ncu.version[0] == '\0')
		return 0;
	sonde_offers_open(&offers, &s->ncu, &s->run->set.ncu,
		s->plan.is_chip_assumed ? NULL : s->plan.chip,
		asks_metrics && s->run->set.ncu.metrics.nr);
	rc = sonde_offers_check(&offers, &s->run->set.ncu, s->err);
	if (rc == 0 && p->nr_unknown && !offers.metrics.nr && !s->plan.is_chip_assumed)
		rc = sonde_err_set(s->err, SONDE_ERR_USAGE, "%s has no metric '%s'%s%s%s",
			s->plan.chip, p->unknown, p->near[0] ? ", did you mean '" : "", p->near,
			p->near[0] ? "'?" : "");
	sonde_offers_release(&offers);
	return rc;
}

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
	q.nvtx_include = (struct sonde_list){c->include.at, c->include.nr};
	q.nvtx_exclude = (struct sonde_list){s->exclude.at, s->exclude.nr};
	sonde_ncu_args_build(argv, &s->ncu, &q, r->program);
	return argv->failed ? sonde_err_nomem(s->err) : 0;
}

static int write_command(
	struct stage *s, const struct sonde_plan_capture *c, const struct sonde_argv *argv)
{
	struct sonde_buf line = {0};
	char name[160];
	int rc;

	sonde_argv_show(&line, argv->words.at);
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

static void say_findings(const struct sonde_ncu_log *log, const char *path)
{
	struct sonde_buf b = {0};
	struct sonde_str rest;

	sonde_ncu_log_explain(log, &b);
	for (rest = sonde_buf_view(&b); rest.n;) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

		sonde_say("%.*s", SONDE_STR_ARG(line));
	}
	if (b.n)
		sonde_say("  log: %s", path);
	sonde_buf_release(&b);
}

static bool has_error(const struct sonde_ncu_log *log)
{
	unsigned f;

	for (f = 0; f < SONDE_NR_NCU_FINDINGS; f++)
		if (f != SONDE_NCU_PROGRAM_FAILED && sonde_ncu_log_has(log, f) &&
			sonde_ncu_advice(f)->is_error)
			return true;
	return false;
}

/* What the end of ncu says about the program and about ncu itself. */
static int judge(
	struct stage *s, const struct sonde_ncu_log *log, const struct sonde_child_end *end)
{
	bool is_ours = sonde_ncu_log_is_range_limit(log);

	if (sonde_ncu_log_has(log, SONDE_NCU_NOTHING))
		s->is_nothing = true;
	if (is_ours && s->run->set.ncu_fallback && !end->is_interrupted)
		return 0; /* the program's end is range replay's doing: kernel replay tells */
	if (has_error(log))
		s->run->has_failed = true;
	if (log->program_status >= 0)
		sonde_run_take_end(s->run, log->program_status, end->is_interrupted);
	else if (end->signal || end->is_interrupted)
		sonde_run_take_end(s->run, end->status, end->is_interrupted);
	else if (end->status && log->nr_processes == 0)
		return sonde_err_set(s->err, SONDE_ERR_NOTFOUND,
			"ncu ended with status %d before the program ran", end->status);
	else if (end->status)
		s->run->has_failed = true;
	return 0;
}

static int capture(struct stage *s, const struct sonde_plan_capture *c, bool *is_range_limit)
{
	struct sonde_argv argv = {0};
	struct sonde_progress progress = {
		.is_quiet = s->run->is_quiet, .expected = s->plan.launches};
	struct sonde_child_spec spec = {.tick = sonde_progress_tick,
		.of = &progress,
		.out_fd = -1,
		.env = s->run->env,
		.timeout_ms = (unsigned)s->run->set.timeout_s * 1000u,
		.dir = s->run->set.workload_dir};
	struct sonde_child_end end = {0};
	const char *log = NULL, *report = NULL;
	int rc = build_command(s, c, &argv, &log, &report);

	if (sonde_replay_is_ranges(c->mode))
		progress.expected = 0;
	if (rc == 0)
		rc = write_command(s, c, &argv);
	if (rc == 0) {
		spec.argv = argv.words.at;
		sonde_progress_begin(&progress, "ncu", log);
		rc = sonde_child_run(&end, &spec, s->err);
		sonde_progress_end(&progress);
		if (access(report, R_OK) == 0)
			s->run->nr_ncu++;
		say_findings(&progress.log, log);
		*is_range_limit = sonde_ncu_log_is_range_limit(&progress.log);
		if (*is_range_limit && s->run->set.ncu_fallback)
			sonde_note(&s->run->notes,
				"%s replay failed%s%s: fell back to kernel replay; what was "
				"captured is kept",
				c->mode,
				progress.log.details[SONDE_NCU_UNSUPPORTED_API][0]
					? " at the unsupported API "
					: "",
				progress.log.details[SONDE_NCU_UNSUPPORTED_API]);
		sonde_run_say_timeout(s->run, &end);
		if (rc == 0)
			rc = judge(s, &progress.log, &end);
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

	for (i = 0; i < s->include.nr && rc == 0; i++) {
		const char **slot = sonde_vec_push(&kernel.include);

		if (!slot)
			rc = sonde_err_nomem(s->err);
		else
			*slot = s->include.at[i];
	}
	sonde_say("falling back to kernel replay (pipeline.ncu.fallback=false refuses)");
	s->has_fallen_back = true;
	s->is_nothing = false;
	if (rc == 0)
		rc = capture(s, &kernel, &ignored);
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
		rc = capture(s, &s->plan.captures.at[i], &is_range_limit);
	if (rc == 0 && is_range_limit && s->run->set.ncu_fallback && !s->run->is_stopped)
		rc = fall_back(s);
	return rc;
}

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
	for (rest = sonde_buf_view(&out); rest.n && !s->run->is_quiet;) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

		sonde_say("%.*s", SONDE_STR_ARG(line));
	}
	sonde_buf_release(&out);
}

/* NVIDIA's own reading beside ours: raw.csv and sections_report.txt. */
static void import_one(struct stage *s, const char *report, const char *page, const char *name)
{
	struct sonde_argv argv = {0};
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	int status = 0, rc;

	sonde_ncu_import_args(&argv, &s->ncu, report, page);
	rc = argv.failed ? sonde_err_nomem(&why)
			 : sonde_tool_output(&text, &status, argv.words.at, 600000, &why);
	if (rc == 0 && status == 0)
		rc = sonde_rundir_write(&s->run->dir, name, sonde_buf_view(&text), &why);
	if (rc || status)
		sonde_say("%s was not written: %s", name, rc ? why.msg : "ncu --import failed");
	sonde_buf_release(&text);
	sonde_argv_release(&argv);
}

static void import_all(struct stage *s)
{
	const struct sonde_plan_capture *first = s->plan.captures.at;
	const char *name = s->has_fallen_back ? "kernel" : first->name;
	const char *report = sonde_run_path(s->run, "ncu/%s%s.ncu-rep", name, s->run->dir.suffix);
	char file[64];

	if (!s->run->set.ncu_csv || !report || access(report, R_OK) < 0)
		return;
	snprintf(file, sizeof(file), "ncu/raw%s.csv", s->run->dir.suffix);
	import_one(s, report, "raw", file);
	snprintf(file, sizeof(file), "ncu/sections_report%s.txt", s->run->dir.suffix);
	import_one(s, report, "details", file);
}

static int run(struct stage *s)
{
	int rc = capture_all(s);

	if (rc == 0 && s->is_nothing && !s->run->is_stopped)
		sonde_run_explain_nothing(s->run, &s->look);
	if (rc == 0 && s->run->nr_ncu && !s->run->is_stopped)
		import_all(s);
	return rc;
}

int sonde_run_ncu(struct sonde_run *r, struct sonde_err *err)
{
	struct stage s = {.run = r, .err = err};
	int rc = open_ncu(&s);

	if (rc == 0 && r->set.ncu_gating)
		rc = translate(&s, r->set.nvtx_include, &s.include);
	if (rc == 0)
		rc = translate(&s, r->set.nvtx_exclude, &s.exclude);
	if (rc == 0)
		look_first(&s);
	if (rc == 0)
		rc = build_plan(&s);
	if (rc == 0)
		rc = check_names(&s);
	if (rc == 0 && r->is_dry)
		rc = print_dry(&s);
	if (rc == 0 && !r->is_dry) {
		say_plan(&s);
		sonde_note(&r->notes, "clocks: %s", sonde_plan_clocks(&s.plan));
		rc = run(&s);
	}
	sonde_look_release(&s.look);
	sonde_plan_release(&s.plan);
	sonde_vec_release(&s.include);
	sonde_vec_release(&s.exclude);
	sonde_vec_release(&s.word_of);
	sonde_buf_release(&s.commands);
	return rc;
}
