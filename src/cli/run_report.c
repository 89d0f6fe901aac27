#include "attribute/filter.h"
#include "cli/run_int.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "export/format.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int print_tree(
	const struct sonde_tree *t, const struct sonde_export_options *o, struct sonde_err *err)
{
	struct sonde_sink out;
	int rc;

	sonde_sink_init_fd(&out, STDOUT_FILENO);
	rc = sonde_export_text(t, o, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

static int write_markdown(struct sonde_run *r, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	const char *path = sonde_run_path(r, "report.md");
	struct sonde_sink out;
	int rc = path ? sonde_sink_open(&out, path, err) : sonde_err_nomem(err);

	if (rc)
		return rc;
	rc = sonde_export_md(t, o, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

/* The page is what people look for: at the top of the run directory, as the same file. */
static void raise_page(struct sonde_run *r, const char *dir)
{
	const char *from = sonde_arena_printf(&r->arena, "%s/report.html", dir).p,
		   *to = sonde_run_path(r, "report.html");

	r->has_page = from && to && access(from, R_OK) == 0 &&
		      (link(from, to) == 0 || symlink(from + strlen(r->dir.path) + 1, to) == 0);
}

static int export_all(struct sonde_run *r, const struct sonde_tree *t,
	struct sonde_export_options *o, const char *dir, bool is_shown, struct sonde_err *err)
{
	int rc = sonde_export_dir(t, o, dir, err);

	if (rc == 0 && is_shown)
		rc = write_markdown(r, t, o, err);
	if (rc || !is_shown)
		return rc;
	raise_page(r, dir);
	o->width = sonde_terminal_width();
	o->is_coloured = sonde_terminal_is_coloured(SONDE_COLOUR_AUTO);
	o->max_kernels = 0;
	return print_tree(t, o, err);
}

/* What only the run knows about an empty report. */
static void note_emptiness(const struct sonde_run *r, const char *stage, struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;

	if (c->tally.nr_taken == 0 && c->tally.nr_launches)
		sonde_note(&t->notes,
			"no launch lies in a selected region: nothing region-specific "
			"was profiled");
	if (c->regions.nr == 0 && strcmp(stage, "native") == 0 &&
		(r->set.native_include.nr || r->set.native_exclude.nr))
		sonde_note(&t->notes,
			"the patterns of pipeline.native.nvtx let no range through; `sonde regions "
			"-- COMMAND` lists the ranges there are");
}

/* read → attribute → fold → tree → export */
static int build(struct sonde_run *r, const char *stage, struct sonde_settings *s, bool is_shown,
	struct sonde_err *err)
{
	const char *from = sonde_run_path(r, "%s", stage),
		   *to = sonde_run_path(r, "%s/regions", stage);
	struct sonde_parts parts = {0};
	struct sonde_cells *cells = NULL;
	struct sonde_tree *tree = NULL;
	int rc = from && to ? 0 : sonde_err_nomem(err);

	s->fold.keeps_timeline = true;
	if (rc == 0)
		rc = sonde_parts_open(&parts, &from, 1, &s->fold, err);
	if (rc == 0)
		rc = sonde_parts_unite(&cells, &parts, err);
	if (rc == 0) {
		sonde_notes_add(&cells->notes, &r->notes);
		rc = sonde_tree_build(&tree, cells, &s->fold.choice, err);
	}
	if (rc == 0) {
		note_emptiness(r, stage, tree);
		rc = export_all(r, tree, &s->options, to, is_shown, err);
	}
	sonde_tree_free(tree);
	sonde_cells_free(cells);
	sonde_parts_release(&parts);
	return rc;
}

int sonde_run_check_report(struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_nvtx_filter *ranges = NULL;
	struct sonde_kernel_filter *kernels = NULL;
	struct sonde_settings s = {0};
	int rc = sonde_settings_read(&s, r->config,
		r->set.ncu_enable ? SONDE_STAND_IN_ALWAYS : SONDE_STAND_IN_NEVER, err);

	if (rc == 0)
		rc = sonde_nvtx_filter_build(
			&ranges, s.fold.selection.nvtx_include, s.fold.selection.nvtx_exclude, err);
	if (rc == 0)
		rc = sonde_kernel_filter_build(&kernels, s.fold.selection.kernel_include,
			s.fold.selection.kernel_exclude, err);
	sonde_nvtx_filter_free(ranges);
	sonde_kernel_filter_free(kernels);
	sonde_settings_release(&s);
	return rc;
}

int sonde_run_report(struct sonde_run *r, const char *stage, bool is_shown, struct sonde_err *err)
{
	struct sonde_settings s = {0};
	char now[32] = "";
	time_t seconds = time(NULL);
	struct sonde_sink yaml;
	struct tm tm;
	int rc = sonde_settings_read(&s, r->config,
		strcmp(stage, "ncu") == 0 ? SONDE_STAND_IN_ALWAYS : SONDE_STAND_IN_NEVER, err);

	sonde_sink_init_string(&yaml);
	if (rc == 0)
		rc = sonde_settings_record(r->config, &yaml, err);
	if (!hydra_config_bool(r->config, "report.deterministic") && gmtime_r(&seconds, &tm))
		strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &tm);
	s.options.generated_at = now[0] ? now : NULL;
	s.options.config = yaml.buf.p;
	s.options.is_utf8 = sonde_terminal_is_utf8();
	s.options.more_at = "report.json";
	if (rc == 0)
		rc = build(r, stage, &s, is_shown, err);
	sonde_sink_abort(&yaml);
	sonde_settings_release(&s);
	return rc;
}
