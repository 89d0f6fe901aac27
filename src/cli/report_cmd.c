#include "base/file.h"
#include "cli/command.h"
#include "cli/report_request.h"
#include "cli/messages.h"
#include "cli/terminal.h"
#include "lib/run_in.h"
#include "read/folder_in.h"

#include <string.h>

/* What the terminal and the command line add to the configured options. */
static void fit_options(struct sonde_pipeline *p, const struct sonde_report_request *q)
{
	struct sonde_export_options *o = &p->settings.options;

	if (q->deterministic)
		o->generated_at = NULL;
	o->command = p->run && !q->overrides.words.nr ? sonde_run_command(p)
		     : q->command.failed			      ? NULL
								      : q->command.p;
	o->by = p->settings.fold.choice.also = q->by;
	o->lists_kernels = sonde_str_starts(
		hydra_config_origin(p->config, "report.max_kernels"), "override"); /* asked for */
	o->width = q->width ? q->width : sonde_terminal_width();
	o->is_coloured = !q->output && sonde_terminal_is_coloured(q->colour);
	o->is_utf8 = sonde_terminal_is_utf8();
	p->settings.fold.choice.headline_only =
		q->format ? q->format->flags & SONDE_FORMAT_HEADLINE
			  : !sonde_report_request_writes_dir(q) && !q->partial;
	p->settings.fold.cores = q->cores;
	p->settings.fold.keeps_timeline = sonde_report_request_writes_dir(q) ||
					  (q->format && (q->format->flags & SONDE_FORMAT_EVENTS));
	p->settings.fold.keeps_untimed = q->format && (q->format->flags & SONDE_FORMAT_LAUNCHES);
}

/* To standard output, or to the file q->output. */
static int export_one(
	const struct sonde_pipeline *p, const struct sonde_report_request *q, struct sonde_err *err)
{
	const struct sonde_format *f =
		q->format ? q->format : sonde_format_named(SONDE_STR("text"));
	const struct sonde_export_options *o = &p->settings.options;
	struct sonde_sink out;
	int rc = sonde_output_open(&out, q->output, err);

	if (rc)
		return rc;
	rc = q->lists_metrics ? sonde_export_metric_list(p->tree, &out, o->is_utf8, err)
			      : sonde_export(f, p->tree, o, &out, err);
	return sonde_sink_finish(&out, rc, err);
}

/* Region-only formats cannot carry the notes that say why there is no region. */
static void warn_if_empty(const struct sonde_cells *c, const struct sonde_report_request *q)
{
	bool is_regions_only = q->format && (q->format->flags & SONDE_FORMAT_REGIONS_ONLY);
	struct sonde_notes notes = {0};

	if (!is_regions_only || (c->regions.nr && (c->tally.nr_taken || !c->tally.nr_launches)))
		return;
	sonde_cells_explain(c, &notes);
	sonde_say_notes(&notes);
	sonde_notes_release(&notes);
}

/* With --strict, no output where the selections take nothing; the first thing there is to say of them is why. */
static int check_strict(
	const struct sonde_tree *t, const struct sonde_report_request *q, struct sonde_err *err)
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
	struct sonde_pipeline *p, const struct sonde_report_request *q, struct sonde_err *err)
{
	int rc;

	if (q->partial)
		return sonde_pipeline_write_partial(p, q->output, err);
	rc = sonde_pipeline_run(p, err);
	if (rc == 0)
		rc = check_strict(p->tree, q, err);
	if (rc == 0)
		rc = sonde_report_request_writes_dir(q)
			     ? sonde_pipeline_export(p, NULL, q->output, err)
			     : export_one(p, q, err);
	if (rc == 0)
		warn_if_empty(p->cells, q);
	return rc;
}

/* The run directory that the only input is, or holds as the newest; NULL = none. What there is to say is noted. */
static const char *find_run(struct sonde_pipeline *p, const struct sonde_report_request *q)
{
	struct sonde_folder f = {.dir = q->inputs.at[0]};
	size_t i;

	for (i = 0; i < q->overrides.words.nr; i++)
		f.together |= strncmp(q->overrides.words.at[i], "report.together=true", 20) == 0;
	if (q->inputs.nr != 1 || f.together || !sonde_dir_exists(f.dir))
		return NULL;
	if (sonde_is_run(f.dir)) /* be it one without captures */
		return f.dir;
	if (sonde_folder_expand(&f, &p->arena, &p->notes, NULL))
		f.run = NULL; /* reading it says why */
	sonde_vec_release(&f.files);
	return f.run;
}

/* A run directory comes with its configuration, and with what else its own report has. */
static int add_words(
	struct sonde_pipeline *p, const struct sonde_report_request *q, struct sonde_err *err)
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

static int run_report(const struct sonde_report_request *q, struct sonde_sharing *others, struct sonde_err *err)
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
	struct sonde_report_request q;
	struct sonde_err err = {0};
	int rc = sonde_report_request_read(&q, argc, argv, &err);

	if (rc == 0)
		rc = sonde_report_request_export(&q, &err);
	if (rc == 0)
		rc = run_report(&q, others, &err);
	sonde_report_request_release(&q);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}

int sonde_cmd_report(int argc, char **argv)
{
	return sonde_cmd_report_shared(argc, argv, NULL);
}
