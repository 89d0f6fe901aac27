#include "cli/command.h"
#include "cli/input.h"
#include "cli/report_int.h"
#include "cli/say.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "export/export.h"
#include "fold/partial.h"

#include <time.h>
#include <unistd.h>

/* What the terminal and the clock add to the configured options. */
static void fit_options(struct sonde_report_request *q, struct sonde_export_options *o,
	const struct hydra_config *c)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!q->deterministic && !hydra_config_bool(c, "report.deterministic") &&
		gmtime_r(&now, &tm))
		strftime(q->generated_at, sizeof(q->generated_at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	o->generated_at = q->generated_at[0] ? q->generated_at : NULL;
	o->command = q->command.failed ? NULL : q->command.p;
	o->by = q->by;
	o->lists_kernels = sonde_str_starts(
		hydra_config_origin(c, "report.max_kernels"), "override"); /* asked for */
	o->width = q->width ? q->width : sonde_terminal_width();
	o->is_coloured = !q->output && sonde_terminal_is_coloured(q->colour);
	o->is_utf8 = sonde_terminal_is_utf8();
}

/* To standard output, or to the file q->output. */
static int export_one(const struct sonde_tree *t, const struct sonde_export_options *o,
	const struct sonde_report_request *q, struct sonde_err *err)
{
	const struct sonde_format *f =
		q->format ? q->format : sonde_format_named(SONDE_STR("text"));
	struct sonde_sink out;
	int rc = 0;

	if (q->output)
		rc = sonde_sink_open(&out, q->output, err);
	else
		sonde_sink_init_fd(&out, STDOUT_FILENO);
	if (rc)
		return rc;
	rc = q->lists_metrics ? sonde_export_metric_list(t, &out, o->is_utf8, err)
			      : sonde_export(f, t, o, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

/* Region-only formats cannot carry the notes that say why there is no region. */
static void warn_if_empty(const struct sonde_cells *c, const struct sonde_report_request *q)
{
	bool is_regions_only = q->format && (q->format->flags & SONDE_FORMAT_REGIONS_ONLY);
	struct sonde_notes notes = {0};
	size_t i;

	if (!is_regions_only ||
		(c->regions.nr && (c->tally.nr_taken || !c->tally.nr_launches)))
		return;
	sonde_cells_explain(c, &notes);
	for (i = 0; i < notes.texts.nr; i++)
		sonde_say_text(notes.texts.keys[i]);
	sonde_notes_release(&notes);
}

/* With --strict, no output where the selections take nothing; the first note says why. */
static int check_strict(
	const struct sonde_tree *t, const struct sonde_report_request *q, struct sonde_err *err)
{
	const struct sonde_map *notes = &t->notes.texts;

	if (!q->strict || !sonde_selects_nothing(t))
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE, "report: nothing is selected (--strict)%s%.*s",
		notes->nr ? ": " : "", SONDE_STR_ARG(notes->nr ? notes->keys[0] : SONDE_STR("")));
}

static int write_report(const struct sonde_cells *cells, const struct sonde_report_request *q,
	const struct sonde_settings *s, struct sonde_err *err)
{
	struct sonde_tree *tree = NULL;
	int rc = sonde_tree_build(&tree, cells, &s->fold.choice, err);

	if (rc == 0)
		rc = sonde_export_check_scopes(tree, &s->options, err);
	if (rc == 0)
		rc = check_strict(tree, q, err);
	if (rc == 0)
		rc = sonde_report_request_writes_dir(q)
			     ? sonde_export_dir(tree, &s->options, q->output, err)
			     : export_one(tree, &s->options, q, err);
	if (rc == 0)
		warn_if_empty(cells, q);
	sonde_tree_free(tree);
	return rc;
}

/* What was folded, as a file. Notes of this call go with the last part. */
static int write_partial(struct sonde_parts *parts, const struct sonde_notes *notes,
	const char *path, struct sonde_err *err)
{
	struct sonde_sink out;
	int rc = sonde_sink_open(&out, path, err);

	if (rc)
		return rc;
	sonde_notes_add(&parts->at.at[parts->at.nr - 1]->notes, notes);
	rc = sonde_partial_write(parts, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

/* read → attribute → fold → tree → export */
static int report(struct sonde_report_request *q, struct sonde_settings *s, struct sonde_err *err)
{
	struct sonde_parts parts = {0};
	struct sonde_cells *cells = NULL;
	struct sonde_notes notes = {0};
	int rc = sonde_inputs_unite(&q->inputs, &notes, err);

	s->fold.keeps_timeline = sonde_report_request_writes_dir(q) ||
				 (q->format && (q->format->flags & SONDE_FORMAT_EVENTS));
	if (rc == 0)
		rc = sonde_parts_open(&parts, q->inputs.at, q->inputs.nr, &s->fold, err);
	if (rc == 0 && q->partial)
		rc = write_partial(&parts, &notes, q->output, err);
	else if (rc == 0)
		rc = sonde_parts_unite(&cells, &parts, err);
	if (rc == 0 && cells) {
		sonde_notes_add(&cells->notes, &notes);
		rc = write_report(cells, q, s, err);
	}
	sonde_cells_free(cells);
	sonde_parts_release(&parts);
	sonde_notes_release(&notes);
	return rc;
}

/* config → the rest */
static int configured_report(struct sonde_report_request *q, struct sonde_err *err)
{
	const struct sonde_config_request want = {.overrides = q->overrides.lines.at,
		.nr_overrides = q->overrides.lines.nr,
		.config_dir = q->config_dir,
		.config_name = q->config_name};
	struct sonde_settings settings = {0};
	struct hydra_config *config = NULL;
	struct sonde_sink yaml;
	int rc = sonde_settings_compose(&config, &want, false, err);

	sonde_sink_init_string(&yaml);
	if (rc == 0)
		rc = sonde_settings_read(&settings, config, SONDE_STAND_IN_NAMED, err);
	settings.fold.choice.headline_only = q->format ? q->format->flags & SONDE_FORMAT_HEADLINE
						  : !sonde_report_request_writes_dir(q) && !q->partial;
	if (rc == 0)
		rc = sonde_settings_record(config, &yaml, err);
	if (rc == 0) {
		settings.options.config = yaml.buf.p;
		fit_options(q, &settings.options, config);
		rc = report(q, &settings, err);
	}
	sonde_sink_abort(&yaml);
	sonde_settings_release(&settings);
	hydra_config_free(config);
	return rc;
}

int sonde_cmd_report(int argc, char **argv)
{
	struct sonde_report_request q;
	struct sonde_err err = {0};
	int rc = sonde_report_request_read(&q, argc, argv, &err);

	if (rc == 0)
		rc = sonde_report_request_export(&q, &err);
	if (rc == 0)
		rc = configured_report(&q, &err);
	sonde_report_request_release(&q);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
