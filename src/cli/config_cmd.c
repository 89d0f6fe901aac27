#include "cli/command.h"
#include "cli/option.h"
#include "cli/messages.h"
#include "cli/overrides.h"

#include <unistd.h>

struct request {
	const char *config_dir, *config_name, *package;
	int part, info;
	bool origin, resolve, multirun, no_check, markdown;
};

#define NO_INFO (-1)

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('c', "cfg", "job|hydra|all", CHOICE, part, "which part to print (default: job)"),
	SONDE_OPT('p', "package", "P", WORD, package,
		"only the part at this dotted key; a single value is printed bare"),
	SONDE_OPT(0, "resolve", NULL, FLAG, resolve, "replace interpolations by their values"),
	SONDE_OPT(0, "origin", NULL, FLAG, origin,
		"one line per value, with the file and line or the override it comes from"),
	SONDE_OPT('i', "info", "defaults|defaults-tree|searchpath", CHOICE, info,
		"what was merged where, how the defaults lists led there, or where configs are "
		"looked for"),
	SONDE_OPT('m', "multirun", NULL, FLAG, multirun,
		"expand sweeps (a=1,2) and print every job"),
	SONDE_OPT_CONFIG_DIR(config_dir),
	SONDE_OPT_CONFIG_NAME(config_name),
	SONDE_OPT(0, "no-check", NULL, FLAG, no_check,
		"accept keys and values sonde does not know"),
	SONDE_OPT(0, "markdown", NULL, FLAG, markdown,
		"print the table of keys as Markdown, for the manual"),
};

static const struct sonde_usage usage = {.synopsis = "sonde config [OVERRIDES] [options]",
	.about = "Prints the configuration that would be used, composed from the search path and the\n"
		 "overrides: key=value, +key=value, ++key=value, ~key, group=option, group@package=option.\n"
		 "Exit status: 0 good, 1 the package does not exist, 2 wrong usage or configuration.",
	.options = options,
	.nr_options = sizeof(options) / sizeof(*options),
	.examples = {{"where every value comes from", "sonde config report.sort=time --origin"},
		{"what another preset would collect",
			"sonde config profiling/ncu@pipeline.ncu=ncu.high --package pipeline.ncu.ncu_cli"}}};

static int print_one(const struct request *q, struct hydra_config *c, struct sonde_sink *out,
	struct sonde_err *err)
{
	enum hydra_part part = (enum hydra_part)q->part;

	if (q->info != NO_INFO)
		return hydra_config_print_info(c, out, (enum hydra_info)q->info, err);
	if (q->origin)
		return hydra_config_dump_origins(c, out, part, err);
	return hydra_config_dump(c, out,
		&(struct hydra_dump){.part = part,
			.package = q->package,
			.resolve = q->resolve ? HYDRA_RESOLVED : HYDRA_AS_WRITTEN},
		err);
}

/* Prints the jobs of a sweep, one document each. */
static int print_jobs(const struct request *q, struct hydra_config *master,
	struct sonde_sink *out, struct sonde_err *err)
{
	const struct sonde_str *lines;
	struct hydra_config *job;
	size_t i, k, nr;
	int rc = 0;

	for (i = 0; i < hydra_config_nr_jobs(master) && rc == 0; i++) {
		rc = hydra_config_job_open(&job, master, i, err);
		if (rc)
			break;
		nr = hydra_config_job_overrides(master, i, &lines);
		sonde_sink_printf(out, "--- # job %zu:", i);
		for (k = 0; k < nr; k++)
			sonde_sink_printf(out, " %.*s", SONDE_STR_ARG(lines[k]));
		sonde_sink_puts(out, "\n# in ");
		sonde_sink_str(out, hydra_config_run_dir(job));
		sonde_sink_putc(out, '\n');
		rc = print_one(q, job, out, err);
		hydra_config_free(job);
	}
	return rc;
}

/* Prints the settings of other programs that are in the same files. */
static void say_kept(const struct hydra_config *c)
{
	struct sonde_buf kept = {0};

	hydra_config_print_kept(c, &kept);
	if (kept.n)
		sonde_say("sonde uses none of these, they are kept for other programs: %s", kept.p);
	sonde_buf_release(&kept);
}

static int show_config(
	const struct request *q, const struct sonde_word_list *overrides, struct sonde_sink *out,
	struct sonde_err *err)
{
	struct sonde_config_request req = {.overrides = overrides->at,
		.nr_overrides = overrides->nr,
		.config_dir = q->config_dir,
		.config_name = q->config_name,
		.takes_project = true,
		.multirun = q->multirun,
		.any_keys = q->no_check,
		.raw = q->no_check || q->info != NO_INFO};
	struct hydra_config *c;
	int rc = sonde_settings_compose(&c, &req, false, err);

	if (rc)
		return rc;
	sonde_say_notes(hydra_config_notes(c));
	say_kept(c);
	rc = q->multirun && q->info == NO_INFO ? print_jobs(q, c, out, err)
						   : print_one(q, c, out, err);
	hydra_config_free(c);
	return rc;
}

/* Prints the keys at the end of every kind of help. */
static void print_keys(enum sonde_help as, struct sonde_sink *out)
{
	const struct hydra_key *k;

	if (as == SONDE_HELP_TEXT) {
		sonde_sink_puts(out, "\nkeys and their defaults:\n");
		hydra_keys_print_help(sonde_keys, out);
		return;
	}
	sonde_sink_puts(out, as == SONDE_HELP_MAN ? ".SH KEYS AND THEIR DEFAULTS\n" : "");
	for (k = sonde_keys; k->key; k++) {
		if (as == SONDE_HELP_TABLE) {
			sonde_sink_printf(out, "key\t-\t%s\t%s\t%s\n", k->key,
				k->words ? k->words : "-", k->doc);
			continue;
		}
		sonde_sink_puts(out, ".TP\n\\fB");
		sonde_man_text(out, sonde_str_from(k->key));
		sonde_sink_puts(out, "\\fR=");
		sonde_man_text(out, sonde_str_from(k->fallback));
		sonde_sink_putc(out, '\n');
		sonde_man_text(out, sonde_str_from(k->doc));
		sonde_sink_putc(out, '\n');
	}
}

static int run_config(const struct request *q, struct sonde_args *args, struct sonde_sink *out,
	struct sonde_err *err)
{
	if (args->wants_help) {
		sonde_usage_print(&usage, args, out);
		print_keys(args->help_as, out);
		return 0;
	}
	if (q->markdown) {
		hydra_keys_print_markdown(sonde_keys, out);
		return 0;
	}
	if (q->origin && q->info != NO_INFO)
		return sonde_err_set(
			err, SONDE_ERR_USAGE, "config: --origin and --info exclude each other: leave one of them out");
	return show_config(q, &args->operands, out, err);
}

int sonde_cmd_config(int argc, char **argv)
{
	struct request q = {.info = NO_INFO};
	struct sonde_args args = {0};
	struct sonde_err err = {0};
	struct sonde_sink out;
	int rc = sonde_options_parse(&args, &usage, &q, argc, argv, &err);

	sonde_sink_init_fd(&out, STDOUT_FILENO);
	if (rc == 0)
		rc = run_config(&q, &args, &out, &err);
	rc = sonde_sink_finish(&out, rc, &err);
	sonde_args_release(&args);
	return rc ? sonde_cmd_fail(&err) : 0;
}
