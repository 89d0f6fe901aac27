#include "base/argv.h"
#include "base/file.h"
#include "capture/capture_settings.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/newest_run.h"
#include "cli/option.h"
#include "cli/overrides.h"
#include "cli/terminal.h"
#include "export/format.h"
#include "lib/run_in.h"
#include "read/folder_in.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_INPUTS 100 /* bytes: findings say RUN for a longer list of inputs */

/* --- the command line -------------------------------------------------------------------------- */

/* The command line: inputs, output and format. Everything else is an override of the configuration. */
struct request {
	struct sonde_args args;
	struct sonde_word_list nvtx_include, nvtx_exclude, kernel_include, kernel_exclude;
	struct sonde_word_list metrics, sections, scopes;
	struct sonde_word_list inputs;
	struct sonde_argv overrides;
	const char *output, *config_dir, *config_name;
	const char *sort, *nesting, *by, *findings;
	const char *format_name;
	const struct sonde_format *format; /* NULL = text on stdout, or a directory with -o */
	int colour;
	size_t max_regions, max_kernels, max_lines, width, cores;
	bool together, no_aggregate, per_scope, deterministic, strict, lists_metrics, is_export, partial;
	bool shows_all, entries, flat, full_names, shows_idle, shows_memory, shows_ranks, shows_stalls, is_opened;
	char made[SONDE_PAGE_PATH]; /* --open without -o: path of the page */
	struct sonde_buf command; /* the command line as typed, quoted for a shell */
	struct sonde_buf run;	  /* its inputs; empty when the newest run was taken */
};

static void release_request(struct request *q)
{
	sonde_args_release(&q->args);
	sonde_vec_release(&q->inputs);
	sonde_argv_release(&q->overrides);
	sonde_buf_release(&q->command);
	sonde_buf_release(&q->run);
}

/* Keeps the command line as it was typed, because the report says how it was made. */
static void keep_command(struct request *q, int argc, char **argv)
{
	sonde_buf_puts(&q->command, argc > 1 ? "sonde report " : "sonde report");
	sonde_argv_record(&q->command, argc > 1 ? argv + 1 : argv + argc);
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('f', "format", SONDE_FORMAT_WORDS(SONDE_FORMATS), ONE_OF, format_name,
		"what to print (text)"),
	SONDE_OPT('o', "output", "PATH", WORD, output,
		"write to the file PATH, whose ending says the format unless -f does (.html, .json, .csv, "
		".svg ...); a PATH without such an ending is a directory: report.json, report.md, "
		"report.html and a folder per region"),
	SONDE_OPT(0, "open", NULL, FLAG, is_opened,
		"make the page (html) and show it in a browser, as `sonde view` does"),
	SONDE_OPT(0, "partial", NULL, FLAG, partial,
		"write a partial report to the file -o PATH: small, without single launches, an "
		"input for later reports"),
	SONDE_OPT(0, "by", "METRIC", WORD, by,
		"what widths mean in folded, speedscope and svg: time, host, launches, entries, "
		"or a metric that adds up (time)"),
	SONDE_OPT_KEY("nvtx-include", "EXPR", WORDS, nvtx_include, "report.nvtx.include",
		"only launches inside these ranges: ncu's grammar (A/, [A/B], D@x) or a glob of "
		"labels (decode*); may be repeated"),
	SONDE_OPT_KEY("nvtx-exclude", "EXPR", WORDS, nvtx_exclude, "report.nvtx.exclude",
		"leave out launches inside these ranges"),
	SONDE_OPT_KEY("kernel-include", "PATTERN", WORDS, kernel_include, "report.kernels.include",
		"only kernels with this name: whole name, glob or regex:...; may be repeated"),
	SONDE_OPT_KEY("kernel-exclude", "PATTERN", WORDS, kernel_exclude, "report.kernels.exclude",
		"leave out these kernels; wins over include"),
	SONDE_OPT_KEY("metrics", "NAME,...", LIST, metrics, "report.metrics",
		"report these metrics: names, globs, regex:..., all, or default,... for more "
		"than the usual"),
	SONDE_OPT(0, "list-metrics", NULL, FLAG, lists_metrics,
		"print the metrics of the capture: name, unit, how it rolls up, whether a report "
		"has it by default, what it means; a table on a terminal or with --width, else tabs"),
	SONDE_OPT_KEY("sections", "ID,...", LIST, sections, "report.sections",
		"report these sections and their metrics"),
	SONDE_OPT_KEY("together", NULL, FLAG, together, "report.together=true",
		"of a folder, add up all runs and jobs in it; otherwise read its newest run (of several "
		"jobs, name one)"),
	SONDE_OPT_KEY("no-aggregate", NULL, FLAG, no_aggregate, "report.aggregate=false",
		"show each process and device only, no summary over them"),
	SONDE_OPT_KEY("per-scope", NULL, FLAG, per_scope, "report.per_scope=true",
		"text: the summary, then each process and device; otherwise, where there are several, "
		"only the summary (Markdown and JSON always have each)"),
	SONDE_OPT_KEY("idle", NULL, FLAG, shows_idle, "report.view=idle",
		"text and md: why the GPU was idle, by cause and region, and the longest gaps"),
	SONDE_OPT_KEY("memory", NULL, FLAG, shows_memory, "report.view=memory",
		"text and md: GPU memory allocated, freed, left and held, by region"),
	SONDE_OPT_KEY("ranks", NULL, FLAG, shows_ranks, "report.view=ranks",
		"text and md: which rank is slow where, and who waits for whom at collectives"),
	SONDE_OPT_KEY("stalls", NULL, FLAG, shows_stalls, "report.view=stalls",
		"text and md: why warps did not go on, by region (with --flat by kernel); needs "
		"PC samples (`sonde run --lines`)"),
	SONDE_OPT_KEY("lines", "N", LIMIT, max_lines, "report.lines",
		"text and md: the N hottest lines of source of each kernel; needs PC samples"),
	SONDE_OPT_KEY("scope", "NAME", LIST, scopes, "report.scope",
		"only these: aggregate, process:4519/device:0, globs"),
	SONDE_OPT_KEY("entries", NULL, FLAG, entries, "report.entries=true",
		"text: how long single entries of each region took, and the slowest"),
	SONDE_OPT_KEY("flat", NULL, FLAG, flat, "report.flat=true",
		"text: all kernels, longest first, instead of regions"),
	SONDE_OPT_KEY("full-names", NULL, FLAG, full_names, "report.full_names=true",
		"whole C++ names of kernels in text, md and html, too, not short ones"),
	SONDE_OPT_KEY("nesting", "label|stack", ONE_OF, nesting, "report.nesting",
		"show A::A1 below A also when it was pushed outside A (label), or only when "
		"nested (stack)"),
	SONDE_OPT_KEY("sort", "order|time|launches|name", ONE_OF, sort, "report.sort",
		"order of sibling regions (order)"),
	SONDE_OPT_KEY("findings", "N|all|none", WORD, findings, "report.findings",
		"how many findings text and md show: what to change first (3)"),
	SONDE_OPT_KEY("all", NULL, FLAG, shows_all, "report.all=true",
		"text: every region and note; otherwise the 25 rows that best show where the time went, "
		"and one for the rest"),
	SONDE_OPT_KEY("max-regions", "N", LIMIT, max_regions, "report.max_regions",
		"most rows of a region table (text: 25, with --all and in md: 100; 0: all)"),
	SONDE_OPT_KEY("max-kernels", "N", LIMIT, max_kernels, "report.max_kernels",
		"most rows of a kernel table in md (20; 0: all); in text, show the N longest per region"),
	SONDE_OPT(0, "strict", NULL, FLAG, strict,
		"when nothing is selected, fail: exit status 2, no output"),
	SONDE_OPT(0, "deterministic", NULL, FLAG, deterministic,
		"leave out the time of writing: same input, same bytes"),
	SONDE_OPT(0, "export", NULL, FLAG, is_export,
		"let nsys export .nsys-rep inputs (to .sqlite beside them) and report on that"),
	SONDE_OPT_WIDTH(width),
	SONDE_OPT(0, "cores", "N", NUMBER, cores,
		"cores to fold inputs on (all); the report is the same"),
	SONDE_OPT_CONFIG_DIR(config_dir),
	SONDE_OPT_CONFIG_NAME(config_name),
	SONDE_OPT_COLOUR(colour),
};

static const struct sonde_usage usage = {"sonde report [INPUT...] [KEY=VALUE...] [options]",
	"Shows what each NVTX region of a capture cost. Reads Nsight Compute reports\n"
	"(.ncu-rep, or `ncu --csv --page raw` output), Nsight Systems exports (.sqlite),\n"
	"torch.profiler traces (.json), Proton profiles, memory snapshots of PyTorch\n"
	"(.pickle), native captures (.sonde), each also as .gz or in a .tar, partial\n"
	"reports (.sondecells), and directories of them, such as those of `sonde run`.\n"
	"Without INPUT the newest run is read, and `sonde FILE` is short for\n"
	"`sonde report FILE`.\n"
	"Needs no GPU and no NVIDIA software.\n"
	"KEY=VALUE overrides the configuration (`sonde config` shows it); most options are\n"
	"short for its keys report.*.",
	options, sizeof(options) / sizeof(*options),
	{{"the region tree on the terminal", "sonde report kernels.ncu-rep"},
		{"one region's kernels but memsets, as files",
			"sonde report kernels.ncu-rep --nvtx-include 'decode*' --kernel-exclude '*memset*' -o out"}}};

/* Whether the path is, or can become, a regular file: opening a device or a pipe has effects, and a pipe may block. */
static bool may_be_file(const char *path)
{
	struct stat st;

	return path && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

/* Whether the user asks for a directory of all formats, not for one file. */
static bool writes_dir(const struct request *q)
{
	return q->output && !q->format && !q->partial;
}

static int refuse_by(struct sonde_err *err)
{
	struct sonde_buf names = {0};
	int rc;

	sonde_format_list(&names, SONDE_FORMAT_WIDTHS);
	rc = sonde_err_set(err, SONDE_ERR_USAGE,
		"report: --by is for -f %s, and for the chart of a directory (-o DIR without -f)",
		names.failed ? "" : names.p);
	sonde_buf_release(&names);
	return rc;
}

static int check_partial(const struct request *q, struct sonde_err *err)
{
	if (q->partial && (q->format || q->by))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: --partial writes a format of its own: leave out -f and --by");
	if (q->partial && !may_be_file(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: --partial needs a file: name one with -o FILE.sondecells");
	return 0;
}

/* `-o page.html` is that page: the ending of a file says its format if no option does. */
static void infer_format(struct request *q)
{
	if (!writes_dir(q) || sonde_dir_exists(q->output))
		return;
	q->format = sonde_format_of_file(sonde_str_from(q->output));
	if (!q->format)
		q->format = sonde_format_of_file(sonde_output_stem(q->output));
	q->partial = sonde_str_ends(sonde_str_from(q->output), ".sondecells");
}

/* Refuses combinations that would write something else than the user meant. */
static int check_output(const struct request *q, struct sonde_err *err)
{
	const struct sonde_format *f = q->format;
	int rc = check_partial(q, err);

	if (rc == 0 && writes_dir(q))
		rc = sonde_output_check("report", q->output, SONDE_FORMAT_ENDS(SONDE_FORMATS) "|.sondecells", err);
	if (rc)
		return rc;
	if (f && (f->flags & SONDE_FORMAT_FILE) && q->output && sonde_str_ends(sonde_str_from(q->output), ".gz"))
		return sonde_err_set(err, SONDE_ERR_USAGE, "report: -f %s cannot be written compressed: leave out .gz", f->name);
	if (f && (f->flags & SONDE_FORMAT_FILE) && !may_be_file(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: -f %s needs a file of its own: name one with -o FILE", f->name);
	if (f && (f->flags & SONDE_FORMAT_NO_TEXT) && !q->output && !q->is_opened)
		rc = sonde_output_refuse_terminal("report", f->name, err);
	if (rc)
		return rc;
	if (q->output && f && sonde_dir_exists(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: %s is a directory, and --format writes one file: name it, or "
			"leave --format out for a directory of all (report.formats)",
			q->output);
	if (q->by && !(f && (f->flags & SONDE_FORMAT_WIDTHS)) &&
		!writes_dir(q))
		return refuse_by(err);
	return 0;
}

/* --open shows a page: the one that -o writes, or one made for it. */
static int place_page(struct request *q, struct sonde_err *err)
{
	bool is_page = q->format && strcmp(q->format->name, "html") == 0;
	int rc;

	if (!q->is_opened || writes_dir(q) || (q->output && is_page))
		return 0;
	if (q->output || q->partial || q->lists_metrics || (q->format && !is_page))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: --open shows the page: leave out --partial, --list-metrics and other formats than html");
	rc = sonde_page_view_place(q->made, err);
	q->output = q->made;
	q->format = sonde_format_named(SONDE_STR("html"));
	return rc;
}

static int look_at_page(const struct request *q, struct sonde_err *err)
{
	struct sonde_page_view look = {.page = q->output, .is_made = q->made[0]};
	struct sonde_buf page = {0};
	int rc;

	if (writes_dir(q))
		sonde_buf_printf(&page, "%s/report.html", q->output);
	look.page = page.n ? page.p : q->output;
	rc = page.failed ? sonde_err_nomem(err) : sonde_page_view_show(&look, err);
	sonde_buf_release(&page);
	return rc;
}

/* Keeps the inputs as typed, quoted for a shell: findings name commands that look closer at them. */
static int name_inputs(struct request *q, struct sonde_err *err)
{
	struct sonde_argv words = {0};
	size_t i;

	for (i = 0; i < q->inputs.nr; i++)
		sonde_argv_add(&words, q->inputs.at[i]);
	if (!words.failed)
		sonde_argv_show(&q->run, words.words.at);
	q->run.failed |= words.failed;
	sonde_argv_release(&words);
	return q->run.failed ? sonde_err_nomem(err) : 0;
}

/* Operands are inputs or overrides; options become overrides behind them. */
static int sort_operands(struct request *q, struct sonde_err *err)
{
	struct sonde_argv *o = &q->overrides;
	const char *newest;
	size_t i;
	int rc;

	for (i = 0; i < q->args.operands.nr; i++) {
		const char *operand = q->args.operands.at[i];

		if (sonde_is_override(operand))
			sonde_argv_add(o, operand);
		else if (!sonde_word_list_add(&q->inputs, operand))
			return sonde_err_nomem(err);
	}
	sonde_overrides_take(o, &q->args);
	if (q->lists_metrics && !q->metrics.nr)
		sonde_argv_add(o, "report.metrics=[all]");
	infer_format(q);
	rc = o->failed ? sonde_err_nomem(err) : check_output(q, err);
	if (rc == 0)
		rc = place_page(q, err);
	if (rc || q->inputs.nr)
		return rc ? rc : name_inputs(q, err);
	rc = sonde_newest_run(&newest, "report", &o->arena, err);
	return rc || sonde_word_list_add(&q->inputs, newest) ? rc : sonde_err_nomem(err);
}

/* Returns 0, more than 0 when help was printed, or an error. Release `q` in any case. */
static int read_request(
	struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int rc;

	*q = (struct request){0};
	rc = sonde_options_read(&q->args, &usage, q, argc, argv, err);
	q->format = sonde_format_named(sonde_str_from(q->format_name));
	keep_command(q, argc, argv);
	return rc ? rc : sort_operands(q, err);
}

/* --- --export: reports of Nsight Systems, which only nsys reads, as SQLite beside them --------- */

#define SUFFIX ".nsys-rep"

/* The name of the export, in the request's arena. */
static const char *export_name(struct request *q, const char *report)
{
	int stem = (int)(strlen(report) - strlen(SUFFIX));

	return sonde_arena_printf(&q->overrides.arena, "%.*s.sqlite", stem, report).p;
}

static int run_export(const struct sonde_tool *nsys, const char *report, const char *sqlite,
	struct sonde_err *err)
{
	struct sonde_argv argv = {0};
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	int rc;

	sonde_nsys_export_args(&argv, nsys, report, sqlite);
	rc = sonde_tool_text(&text, &argv, &why);
	if (rc == 0 && access(sqlite, R_OK) != 0)
		rc = sonde_err_set(&why, SONDE_ERR_IO, "nsys wrote nothing: %.600s",
			text.n ? text.p : "it printed nothing");
	if (rc)
		sonde_err_set(err, rc, "%s: cannot be exported: %s", report, why.msg);
	sonde_buf_release(&text);
	sonde_argv_release(&argv);
	return rc;
}

/* With --export: has nsys export its reports among the inputs, and puts the exports in their place. */
static int export_inputs(struct request *q, struct sonde_err *err)
{
	const char *program = getenv("SONDE_NSYS");
	struct sonde_tool nsys = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < q->inputs.nr && rc == 0 && q->is_export; i++) {
		const char *report = q->inputs.at[i], *sqlite;

		if (!sonde_str_ends(sonde_str_from(report), SUFFIX))
			continue;
		if (!nsys.path[0])
			rc = sonde_tool_open(&nsys, program ? program : "nsys", err);
		sqlite = rc ? NULL : export_name(q, report);
		if (rc == 0)
			rc = sqlite ? run_export(&nsys, report, sqlite, err) : sonde_err_nomem(err);
		if (rc)
			break;
		sonde_say("%s: exported to %s", report, sqlite);
		q->inputs.at[i] = sqlite;
	}
	return rc;
}

/* --- the report -------------------------------------------------------------------------------- */

/* Adds what the terminal and the command line say to the configured options. */
static void fit_options(struct sonde_pipeline *p, const struct request *q)
{
	struct sonde_export_options *o = &p->settings.options;

	if (q->deterministic)
		o->generated_at = NULL;
	o->command = p->run && !q->overrides.words.nr ? sonde_run_command(p)
		     : q->command.failed			      ? NULL
								      : q->command.p;
	o->run = q->run.n > LONG_INPUTS ? NULL : q->run.n ? q->run.p : "";
	o->by = p->settings.fold.choice.also = q->by;
	o->lists_kernels = sonde_str_starts(
		hydra_config_origin(p->config, "report.max_kernels"), "override"); /* the user asked for kernels */
	o->width = q->width ? q->width : sonde_terminal_width();
	o->is_coloured = !q->output && sonde_terminal_is_coloured(q->colour);
	o->is_utf8 = sonde_terminal_is_utf8();
	p->settings.fold.choice.headline_only =
		q->format ? q->format->flags & SONDE_FORMAT_HEADLINE
			  : !writes_dir(q) && !q->partial;
	p->settings.fold.cores = q->cores;
	p->settings.fold.keeps_timeline = writes_dir(q) ||
					  (q->format && (q->format->flags & SONDE_FORMAT_EVENTS));
	p->settings.fold.keeps_untimed = q->format && (q->format->flags & SONDE_FORMAT_LAUNCHES);
}

/* Writes one format, to standard output or to the file q->output. */
static int export_one(
	const struct sonde_pipeline *p, const struct request *q, struct sonde_err *err)
{
	const struct sonde_format *f =
		q->format ? q->format : sonde_format_named(SONDE_STR("text"));
	const struct sonde_export_options *o = &p->settings.options;
	struct sonde_sink out;
	bool is_packed = f->flags & SONDE_FORMAT_PACKED;
	int rc = is_packed && q->output ? sonde_sink_open(&out, q->output, err) : sonde_output_open(&out, q->output, err);

	if (rc)
		return rc;
	rc = q->lists_metrics ? sonde_export_metric_list(p->tree, o, !q->output && (q->width || isatty(STDOUT_FILENO)), &out, err)
			      : sonde_export(f, p->tree, o, &out, err);
	return sonde_sink_finish(&out, rc, err);
}

/* Prints why there is no region: formats that contain only regions cannot carry that note. */
static void warn_if_empty(const struct sonde_cells *c, const struct request *q)
{
	bool is_regions_only = q->format && (q->format->flags & SONDE_FORMAT_REGIONS_ONLY);
	struct sonde_notes notes = {0};

	if (!is_regions_only || (c->regions.nr && (c->tally.nr_taken || !c->tally.nr_launches)))
		return;
	sonde_cells_explain(c, &notes);
	sonde_say_notes(&notes);
	sonde_notes_release(&notes);
}

/* With --strict there is no output when nothing is selected; the first note on the selections says why. */
static int check_strict(
	const struct sonde_tree *t, const struct request *q, struct sonde_err *err)
{
	struct sonde_notes why = {0};
	int rc;

	if (!q->strict || !sonde_selects_nothing(t))
		return 0;
	sonde_cells_explain(t->cells, &why);
	rc = sonde_err_set(err, SONDE_ERR_USAGE, "report: nothing is selected (--strict)%s%.*s",
		why.texts.nr ? ": " : "",
		SONDE_STR_ARG(why.texts.nr ? why.texts.keys[0] : SONDE_STR("")));
	sonde_notes_release(&why);
	return rc;
}

static int write_report(
	struct sonde_pipeline *p, const struct request *q, struct sonde_err *err)
{
	int rc;

	if (q->partial)
		return sonde_pipeline_write_partial(p, q->output, err);
	rc = sonde_pipeline_run(p, err);
	if (rc == 0)
		rc = check_strict(p->tree, q, err);
	if (rc == 0)
		rc = writes_dir(q)
			     ? sonde_pipeline_export(p, NULL, q->output, err)
			     : export_one(p, q, err);
	if (rc == 0)
		warn_if_empty(p->cells, q);
	return rc;
}

/* The run directory that is the only input, or the newest one in it; NULL = none. Adds a note if there was a choice. */
static const char *find_run(struct sonde_pipeline *p, const struct request *q)
{
	struct sonde_folder f = {.dir = q->inputs.at[0]};
	size_t i;

	for (i = 0; i < q->overrides.words.nr; i++)
		f.together |= strncmp(q->overrides.words.at[i], "report.together=true", 20) == 0;
	if (q->inputs.nr != 1 || f.together || !sonde_dir_exists(f.dir))
		return NULL;
	if (sonde_is_run(f.dir)) /* even one without captures */
		return f.dir;
	if (sonde_folder_expand(&f, &p->arena, &p->notes, NULL))
		f.run = NULL; /* reading the folder later says why */
	sonde_vec_release(&f.files);
	return f.run;
}

/* Adds inputs and overrides. A run directory brings its configuration and the other facts of its own report. */
static int add_words(
	struct sonde_pipeline *p, const struct request *q, struct sonde_err *err)
{
	int rc = sonde_pipeline_set_config(p, q->config_dir, q->config_name);
	const char *run;
	size_t i;

	for (i = 0; i < q->overrides.words.nr && rc == 0; i++)
		rc = sonde_pipeline_set(p, q->overrides.words.at[i]);
	run = rc ? NULL : find_run(p, q);
	if (run && sonde_run_stage(run))
		return sonde_pipeline_add_run(p, run, sonde_run_stage(run), err);
	for (i = 0; i < q->inputs.nr && rc == 0; i++)
		rc = sonde_pipeline_add_input(p, q->inputs.at[i]);
	if (rc)
		return sonde_err_nomem(err);
	return q->config_dir && sonde_is_run(q->config_dir) ? sonde_pipeline_take_run(p, q->config_dir, err) : 0;
}

static int run_report(const struct request *q, struct sonde_sharing *others, struct sonde_err *err)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	int rc = p ? add_words(p, q, err) : sonde_err_nomem(err);

	if (rc == 0) {
		rc = sonde_pipeline_configure(p, err);
		sonde_say_notes(&p->config_notes);
	}
	if (rc == 0) {
		fit_options(p, q);
		p->settings.fold.sharing = others;
		rc = write_report(p, q, err);
	}
	sonde_pipeline_free(p);
	return rc;
}

int sonde_cmd_report_shared(int argc, char **argv, struct sonde_sharing *others)
{
	struct request q;
	struct sonde_err err = {0};
	int rc = read_request(&q, argc, argv, &err);

	if (rc == 0)
		rc = export_inputs(&q, &err);
	if (rc == 0)
		rc = run_report(&q, others, &err);
	if (rc == 0 && q.is_opened)
		rc = look_at_page(&q, &err);
	release_request(&q);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}

int sonde_cmd_report(int argc, char **argv)
{
	return sonde_cmd_report_shared(argc, argv, NULL);
}
