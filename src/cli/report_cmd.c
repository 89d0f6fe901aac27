#include "cli/command.h"
#include "cli/input.h"
#include "cli/option.h"
#include "cli/say.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "export/export.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* As in the option table. */
enum format {
	FORMAT_NONE = -1, /* not given: text on standard output, a whole directory with -o */
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_MARKDOWN,
	FORMAT_CSV,
	FORMAT_HTML,
	FORMAT_SVG,
	FORMAT_SPEEDSCOPE,
	FORMAT_PERFETTO,
	FORMAT_FOLDED,
	FORMAT_HATCHET,
	FORMAT_SQLITE,
};

/* What the command line said. */
struct request {
	struct sonde_args args;
	struct sonde_word_list nvtx_include, nvtx_exclude, kernel_include, kernel_exclude;
	struct sonde_word_list metrics, sections, scopes;
	struct sonde_word_list inputs;
	struct sonde_overrides overrides;
	const char *output, *config_dir, *config_name;
	const char *sort, *nesting, *by;
	int format, colour;
	size_t max_regions, max_kernels, width;
	bool no_aggregate, deterministic;
	char generated_at[32];
	struct sonde_buf command; /* as typed, quoted for a shell */
};

static void request_release(struct request *q)
{
	sonde_args_release(&q->args);
	sonde_vec_release(&q->nvtx_include);
	sonde_vec_release(&q->nvtx_exclude);
	sonde_vec_release(&q->kernel_include);
	sonde_vec_release(&q->kernel_exclude);
	sonde_vec_release(&q->metrics);
	sonde_vec_release(&q->sections);
	sonde_vec_release(&q->scopes);
	sonde_vec_release(&q->inputs);
	sonde_overrides_release(&q->overrides);
	sonde_buf_release(&q->command);
}

static void add_quoted(struct sonde_buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:=,@%+";

	if (*word && strspn(word, plain) == strlen(word)) {
		sonde_buf_puts(b, word);
		return;
	}
	sonde_buf_putc(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			sonde_buf_puts(b, "'\\'");
		sonde_buf_putc(b, *word);
	}
	sonde_buf_putc(b, '\'');
}

/* The command line as it was typed, for the report to say how it was made. */
static void keep_command(struct request *q, int argc, char **argv)
{
	int i;

	sonde_buf_puts(&q->command, "sonde report");
	for (i = 1; i < argc; i++) {
		sonde_buf_putc(&q->command, ' ');
		add_quoted(&q->command, argv[i]);
	}
}

static int parse(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	const struct sonde_option options[] = {
		{'f', "format",
			"text|json|md|csv|html|svg|speedscope|perfetto|folded|hatchet|sqlite",
			"what to print (text)", SONDE_OPTION_CHOICE, &q->format},
		{'o', "output", "PATH",
			"with --format, write that to the file PATH; without, write report.json, "
			"report.md, report.html and a folder per region into the directory PATH",
			SONDE_OPTION_WORD, &q->output},
		{0, "by", "METRIC",
			"what widths mean in folded, speedscope and svg: time, host, launches, "
			"entries, or a metric that adds up (time)",
			SONDE_OPTION_WORD, &q->by},
		{0, "nvtx-include", "EXPR",
			"only launches inside these ranges: ncu's grammar (A/, [A/B], D@x) or a "
			"glob "
			"of labels (decode*); may be repeated",
			SONDE_OPTION_WORDS, &q->nvtx_include},
		{0, "nvtx-exclude", "EXPR", "leave out launches inside these ranges",
			SONDE_OPTION_WORDS, &q->nvtx_exclude},
		{0, "kernel-include", "PATTERN",
			"only kernels with this name: whole name, glob or regex:...; may be "
			"repeated",
			SONDE_OPTION_WORDS, &q->kernel_include},
		{0, "kernel-exclude", "PATTERN", "leave out these kernels; wins over include",
			SONDE_OPTION_WORDS, &q->kernel_exclude},
		{0, "metrics", "NAME,...", "report these metrics: names, globs, regex:...",
			SONDE_OPTION_LIST, &q->metrics},
		{0, "sections", "ID,...", "report these sections and their metrics",
			SONDE_OPTION_LIST, &q->sections},
		{0, "no-aggregate", NULL, "per process and device only, no summary over them",
			SONDE_OPTION_FLAG, &q->no_aggregate},
		{0, "scope", "NAME", "only these: aggregate, process:4519/device:0, globs",
			SONDE_OPTION_LIST, &q->scopes},
		{0, "nesting", "label|stack",
			"whether A::A1 pushed outside A hangs below A (label) or not (stack)",
			SONDE_OPTION_ONE_OF, &q->nesting},
		{0, "sort", "order|time|launches|name", "regions beside each other (order)",
			SONDE_OPTION_ONE_OF, &q->sort},
		{0, "max-regions", "N", "longest region table in text and md (100; 0: all)",
			SONDE_OPTION_LIMIT, &q->max_regions},
		{0, "max-kernels", "N",
			"longest kernel table in md (20; 0: all); in text, show the N longest per "
			"region",
			SONDE_OPTION_LIMIT, &q->max_kernels},
		{0, "deterministic", NULL, "leave out the time of writing: same input, same bytes",
			SONDE_OPTION_FLAG, &q->deterministic},
		{0, "width", "N", "columns of the terminal (its own; 100 for a file)",
			SONDE_OPTION_NUMBER, &q->width},
		{0, "config-dir", "DIR", "look for configuration files here first",
			SONDE_OPTION_WORD, &q->config_dir},
		{0, "config-name", "NAME", "the configuration to start from (config)",
			SONDE_OPTION_WORD, &q->config_name},
		{0, "color", "auto|always|never", "colours in text (auto: on a terminal)",
			SONDE_OPTION_CHOICE, &q->colour},
	};
	const struct sonde_usage usage = {"sonde report INPUT... [KEY=VALUE...] [options]",
		"Shows what each NVTX region of a capture cost. Reads Nsight Compute reports\n"
		"(.ncu-rep, or `ncu --csv --page raw` output), Nsight Systems exports (.sqlite),\n"
		"native captures (.sonde) and directories of them, such as those of `sonde run`.\n"
		"Needs no GPU and no NVIDIA software.\n"
		"KEY=VALUE overrides the configuration (`sonde config` shows it); the flags are\n"
		"short for keys below report.",
		options, sizeof(options) / sizeof(*options),
		{{"the region tree on the terminal", "sonde report kernels.ncu-rep"},
			{"one region's kernels but memsets, as files",
				"sonde report kernels.ncu-rep --nvtx-include 'decode*' "
				"--kernel-exclude '*memset*' -o out"}}};
	struct sonde_sink out;
	int rc = sonde_options_parse(&q->args, &usage, argc, argv, err);

	if (rc)
		return rc;
	if (q->args.wants_help) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		sonde_usage_print(&usage, &out);
		rc = sonde_sink_close(&out, err);
		return rc ? rc : 1;
	}
	return 0;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool writes_dir(const struct request *q)
{
	return q->output && q->format == FORMAT_NONE;
}

/* The format a file of this name would have, as -f takes it; NULL when none is known. */
static const char *format_of_name(const char *path)
{
	static const char *const names[][2] = {{".html", "html"}, {".json", "json"}, {".md", "md"},
		{".csv", "csv"}, {".svg", "svg"}, {".txt", "text"}, {".db", "sqlite"},
		{".sqlite", "sqlite"}, {".folded", "folded"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sonde_str_ends(sonde_str_from(path), names[i][0]))
			return names[i][1];
	return NULL;
}

/* Combinations that would write something else than was meant. */
static int check_output(const struct request *q, struct sonde_err *err)
{
	const char *meant = writes_dir(q) && !is_dir(q->output) ? format_of_name(q->output) : NULL;

	if (q->format == FORMAT_SQLITE && !q->output)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: a database is a file; say where with -o FILE");
	if (q->output && q->format != FORMAT_NONE && is_dir(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: %s is a directory, and --format writes one file: name it, or "
			"leave --format out for a directory of all (report.formats)",
			q->output);
	if (meant)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: -o without -f writes a directory, and %s looks like a file: add "
			"-f %s for one file, or a slash (-o %s/) for a directory of that name",
			q->output, meant, q->output);
	if (q->by && q->format != FORMAT_FOLDED && q->format != FORMAT_SPEEDSCOPE &&
		q->format != FORMAT_SVG && !writes_dir(q))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: --by is for -f folded, -f speedscope, -f svg, and for the chart "
			"of a directory (-o DIR without -f)");
	return 0;
}

/* Operands are inputs or overrides; flags become overrides behind them. */
static int sort_operands(struct request *q, struct sonde_err *err)
{
	struct sonde_overrides *o = &q->overrides;
	const char **slot;
	size_t i;

	for (i = 0; i < q->args.operands.nr; i++) {
		const char *operand = q->args.operands.at[i];

		if (sonde_is_override(operand)) {
			sonde_overrides_add(o, operand);
			continue;
		}
		slot = sonde_vec_push(&q->inputs);
		if (!slot)
			return sonde_err_nomem(err);
		*slot = operand;
	}
	sonde_overrides_list(o, "report.nvtx.include", &q->nvtx_include);
	sonde_overrides_list(o, "report.nvtx.exclude", &q->nvtx_exclude);
	sonde_overrides_list(o, "report.kernels.include", &q->kernel_include);
	sonde_overrides_list(o, "report.kernels.exclude", &q->kernel_exclude);
	sonde_overrides_list(o, "report.metrics", &q->metrics);
	sonde_overrides_list(o, "report.sections", &q->sections);
	sonde_overrides_list(o, "report.scope", &q->scopes);
	sonde_overrides_word(o, "report.sort", q->sort);
	sonde_overrides_word(o, "report.nesting", q->nesting);
	sonde_overrides_number(o, "report.max_regions", q->max_regions);
	sonde_overrides_number(o, "report.max_kernels", q->max_kernels);
	if (q->no_aggregate)
		sonde_overrides_add(o, "report.aggregate=false");
	if (q->inputs.nr == 0)
		return sonde_err_set(
			err, SONDE_ERR_USAGE, "report: no input; `sonde report --help` tells more");
	return o->failed ? sonde_err_nomem(err) : check_output(q, err);
}

/* What the terminal and the clock add to the configured options. */
static void fit_options(
	struct request *q, struct sonde_export_options *o, const struct sonde_config *c)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!q->deterministic && !sonde_config_bool(c, "report.deterministic") &&
		gmtime_r(&now, &tm))
		strftime(q->generated_at, sizeof(q->generated_at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	o->generated_at = q->generated_at[0] ? q->generated_at : NULL;
	o->command = q->command.failed ? NULL : q->command.p;
	o->by = q->by;
	o->lists_kernels = sonde_str_starts(
		sonde_config_origin(c, "report.max_kernels"), "override"); /* asked for */
	o->width = q->width ? q->width : sonde_terminal_width();
	o->is_coloured = !q->output && sonde_terminal_is_coloured(q->colour);
	o->is_utf8 = sonde_terminal_is_utf8();
}

/* To standard output, or to the file q->output. */
static int export_one(const struct sonde_tree *t, const struct sonde_export_options *o,
	const struct request *q, struct sonde_err *err)
{
	static int (*const exports[])(const struct sonde_tree *,
		const struct sonde_export_options *, struct sonde_sink *,
		struct sonde_err *) = {[FORMAT_TEXT] = sonde_export_text,
		[FORMAT_JSON] = sonde_export_json,
		[FORMAT_MARKDOWN] = sonde_export_markdown,
		[FORMAT_CSV] = sonde_export_csv,
		[FORMAT_HTML] = sonde_export_html,
		[FORMAT_SVG] = sonde_export_svg,
		[FORMAT_SPEEDSCOPE] = sonde_export_speedscope,
		[FORMAT_PERFETTO] = sonde_export_perfetto,
		[FORMAT_FOLDED] = sonde_export_folded,
		[FORMAT_HATCHET] = sonde_export_hatchet};
	enum format format = q->format == FORMAT_NONE ? FORMAT_TEXT : (enum format)q->format;
	struct sonde_sink out;
	int rc = 0;

	if (format == FORMAT_SQLITE)
		return sonde_export_sqlite(t, o, q->output, err);
	if (q->output)
		rc = sonde_sink_open(&out, q->output, err);
	else
		sonde_sink_init_fd(&out, STDOUT_FILENO);
	if (rc)
		return rc;
	rc = exports[format](t, o, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

/* Formats of nothing but regions have no place for the notes that say why there is none. */
static void warn_if_empty(const struct sonde_launches *l, const struct request *q)
{
	bool is_regions_only = q->format == FORMAT_SVG || q->format == FORMAT_SPEEDSCOPE ||
			       q->format == FORMAT_FOLDED || q->format == FORMAT_HATCHET;
	size_t i;

	if (!is_regions_only || (l->regions.nr && (l->nr_taken || !l->launches.nr)))
		return;
	for (i = 0; i < l->notes.texts.nr; i++)
		sonde_say_text(l->notes.texts.keys[i]);
}

/* read → attribute → aggregate → export */
static int report(struct request *q, const struct sonde_settings *s, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct sonde_launches *launches = NULL;
	struct sonde_tree *tree = NULL;
	struct sonde_notes notes = {0};
	int rc = sonde_inputs_unite(&q->inputs, &notes, err);

	if (rc == 0)
		rc = sonde_records_open(&records, q->inputs.at, q->inputs.nr, err);
	if (rc == 0)
		sonde_notes_add(&records->notes, &notes);
	if (rc == 0)
		rc = sonde_launches_build(&launches, records, &s->selection, err);
	if (rc == 0)
		rc = sonde_tree_build(&tree, launches, &s->choice, err);
	if (rc == 0)
		rc = sonde_export_check_scopes(tree, &s->options, err);
	if (rc == 0)
		rc = writes_dir(q) ? sonde_export_dir(tree, &s->options, q->output, err)
				   : export_one(tree, &s->options, q, err);
	if (rc == 0)
		warn_if_empty(launches, q);
	sonde_tree_free(tree);
	sonde_launches_free(launches);
	sonde_records_free(records);
	sonde_notes_release(&notes);
	return rc;
}

/* config → the rest */
static int configured_report(struct request *q, struct sonde_err *err)
{
	const struct sonde_config_request want = {.overrides = q->overrides.lines.at,
		.nr_overrides = q->overrides.lines.nr,
		.config_dir = q->config_dir,
		.config_name = q->config_name};
	struct sonde_settings settings = {0};
	struct sonde_config *config = NULL;
	struct sonde_sink yaml;
	int rc = sonde_config_open(&config, &want, err);

	sonde_sink_init_string(&yaml);
	if (rc == 0)
		rc = sonde_settings_read(&settings, config, SONDE_STAND_IN_NAMED, err);
	settings.choice.headline_only = q->format <= FORMAT_TEXT && !writes_dir(q);
	if (rc == 0)
		rc = sonde_config_dump(config, &yaml, SONDE_CONFIG_JOB, "report", true, err);
	if (rc == 0) {
		settings.options.config = yaml.buf.p;
		fit_options(q, &settings.options, config);
		rc = report(q, &settings, err);
	}
	sonde_sink_abort(&yaml);
	sonde_settings_release(&settings);
	sonde_config_free(config);
	return rc;
}

int sonde_cmd_report(int argc, char **argv)
{
	struct request q = {.format = FORMAT_NONE};
	struct sonde_err err = {0};
	int rc = parse(&q, argc, argv, &err);

	keep_command(&q, argc, argv);
	if (rc == 0)
		rc = sort_operands(&q, &err);
	if (rc == 0)
		rc = configured_report(&q, &err);
	request_release(&q);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
