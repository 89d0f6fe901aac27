#include "cli/report_request.h"

#include "base/argv.h"
#include "base/file.h"

#include <sys/stat.h>

void sonde_report_request_release(struct sonde_report_request *q)
{
	sonde_args_release(&q->args);
	sonde_vec_release(&q->inputs);
	sonde_argv_release(&q->overrides);
	sonde_buf_release(&q->command);
}

/* The command line as it was typed, for the report to say how it was made. */
static void keep_command(struct sonde_report_request *q, int argc, char **argv)
{
	sonde_buf_puts(&q->command, argc > 1 ? "sonde report " : "sonde report");
	sonde_argv_record(&q->command, argc > 1 ? argv + 1 : argv + argc);
}

#define INTO(member) offsetof(struct sonde_report_request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('f', "format", SONDE_FORMAT_WORDS(SONDE_FORMATS), ONE_OF, format_name,
		"what to print (text)"),
	SONDE_OPT('o', "output", "PATH", WORD, output,
		"with --format, write that to the file PATH; without, write report.json, "
		"report.md, report.html and a folder per region into the directory PATH"),
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
		"has it by default"),
	SONDE_OPT_KEY("sections", "ID,...", LIST, sections, "report.sections",
		"report these sections and their metrics"),
	SONDE_OPT_KEY("together", NULL, FLAG, together, "report.together=true",
		"add up all runs and jobs in a folder; without, the newest run is read, and of several "
		"jobs one must be named"),
	SONDE_OPT_KEY("no-aggregate", NULL, FLAG, no_aggregate, "report.aggregate=false",
		"per process and device only, no summary over them"),
	SONDE_OPT_KEY("per-scope", NULL, FLAG, per_scope, "report.per_scope=true",
		"text: the summary, then each process and device; without, where there are several, "
		"the summary alone (Markdown and JSON always have each)"),
	SONDE_OPT_KEY("idle", NULL, FLAG, shows_idle, "report.view=idle",
		"text and md: why the GPU was idle, by cause and region, and the longest gaps"),
	SONDE_OPT_KEY("memory", NULL, FLAG, shows_memory, "report.view=memory",
		"text and md: GPU memory allocated, freed, left and held, by region"),
	SONDE_OPT_KEY("ranks", NULL, FLAG, shows_ranks, "report.view=ranks",
		"text and md: which rank is slow where, and who waits for whom at collectives"),
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
	SONDE_OPT_KEY("max-regions", "N", LIMIT, max_regions, "report.max_regions",
		"longest region table in text and md (100; 0: all)"),
	SONDE_OPT_KEY("max-kernels", "N", LIMIT, max_kernels, "report.max_kernels",
		"longest kernel table in md (20; 0: all); in text, show the N longest per region"),
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

static const struct sonde_usage usage = {"sonde report INPUT... [KEY=VALUE...] [options]",
	"Shows what each NVTX region of a capture cost. Reads Nsight Compute reports\n"
	"(.ncu-rep, or `ncu --csv --page raw` output), Nsight Systems exports (.sqlite),\n"
	"torch.profiler traces (.json), Proton profiles, native captures (.sonde), each\n"
	"also as .gz or in a .tar, partial reports (.sondecells), and directories of them,\n"
	"such as those of `sonde run`.\n"
	"Needs no GPU and no NVIDIA software.\n"
	"KEY=VALUE overrides the configuration (`sonde config` shows it); the flags are\n"
	"short for keys below report.",
	options, sizeof(options) / sizeof(*options),
	{{"the region tree on the terminal", "sonde report kernels.ncu-rep"},
		{"one region's kernels but memsets, as files",
			"sonde report kernels.ncu-rep --nvtx-include 'decode*' --kernel-exclude '*memset*' -o out"}}};

/* A device or pipe would be opened, and a pipe waited for. */
static bool may_be_file(const char *path)
{
	struct stat st;

	return path && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

bool sonde_report_request_writes_dir(const struct sonde_report_request *q)
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

static int check_partial(const struct sonde_report_request *q, struct sonde_err *err)
{
	if (q->partial && (q->format || q->by))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: --partial writes a format of its own: leave out -f and --by");
	if (q->partial && !may_be_file(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: --partial needs a file: name one with -o FILE.sondecells");
	if (!q->partial && q->output && !sonde_dir_exists(q->output) &&
		sonde_str_ends(sonde_str_from(q->output), ".sondecells"))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: %s is the name of a partial report: add --partial to write one",
			q->output);
	return 0;
}

/* Combinations that would write something else than was meant. */
static int check_output(const struct sonde_report_request *q, struct sonde_err *err)
{
	const struct sonde_format *f = q->format, *meant = NULL;
	int rc = check_partial(q, err);

	if (rc)
		return rc;
	if (sonde_report_request_writes_dir(q) && !sonde_dir_exists(q->output))
		meant = sonde_format_of_file(sonde_str_from(q->output));
	if (f && (f->flags & SONDE_FORMAT_FILE) && !may_be_file(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: -f %s needs a file of its own: name one with -o FILE", f->name);
	if (q->output && f && sonde_dir_exists(q->output))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: %s is a directory, and --format writes one file: name it, or "
			"leave --format out for a directory of all (report.formats)",
			q->output);
	if (meant)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: -o without -f writes a directory, and %s looks like a file: add "
			"-f %s for one file, or a slash (-o %s/) for a directory of that name",
			q->output, meant->name, q->output);
	if (q->by && !(f && (f->flags & SONDE_FORMAT_WIDTHS)) &&
		!sonde_report_request_writes_dir(q))
		return refuse_by(err);
	return 0;
}

/* Operands are inputs or overrides; options become overrides behind them. */
static int sort_operands(struct sonde_report_request *q, struct sonde_err *err)
{
	struct sonde_argv *o = &q->overrides;
	size_t i;

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
	if (q->inputs.nr == 0)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report: no input: name a capture or a run directory (`sonde report "
			"--help`)");
	return o->failed ? sonde_err_nomem(err) : check_output(q, err);
}

int sonde_report_request_read(
	struct sonde_report_request *q, int argc, char **argv, struct sonde_err *err)
{
	int rc;

	*q = (struct sonde_report_request){0};
	rc = sonde_options_read(&q->args, &usage, q, argc, argv, err);
	q->format = sonde_format_named(sonde_str_from(q->format_name));
	keep_command(q, argc, argv);
	return rc ? rc : sort_operands(q, err);
}
