#include "attribute/filter.h"
#include "capture/modules_env.h"
#include "cli/newest_run.h"
#include "cli/run_int.h"
#include "cli/terminal.h"
#include "export/source_note.h"
#include "lib/run_in.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What commands call the run: nothing if it is the newest one, which they take by themselves. */
static const char *name_run(struct sonde_run *r)
{
	char *words[] = {r->dir.path, NULL};
	struct sonde_buf name = {0};

	if (sonde_str_starts(sonde_str_from(r->dir.path), SONDE_RUNS "/") && !r->job)
		return "";
	sonde_argv_show(&name, words);
	return sonde_arena_take(&r->arena, &name);
}

static int print_tree(const struct sonde_pipeline *p, struct sonde_err *err)
{
	struct sonde_sink out;

	sonde_sink_init_fd(&out, STDOUT_FILENO);
	return sonde_sink_finish(
		&out, sonde_export_text(p->tree, &p->settings.options, &out, err), err);
}

/*
 * Writes the file for dashboards, if the user asks for it; it appears complete. Unlike the run directory, it is not for the user
 * alone, since node_exporter runs as another user. It has the mode of the file that it replaces, or 0644.
 */
static int write_prometheus(const struct sonde_run *r, struct sonde_pipeline *p, struct sonde_err *err)
{
	const char *path = r->set.prometheus;
	mode_t mode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, before;
	struct stat old;
	int rc;

	if (!path)
		return 0;
	if (stat(path, &old) == 0 && S_ISREG(old.st_mode))
		mode = old.st_mode;
	before = umask(~mode & (S_IRWXU | S_IRWXG | S_IRWXO));
	rc = sonde_pipeline_export(p, "prometheus", path, err);
	umask(before);
	return rc;
}

static int write_markdown(struct sonde_run *r, struct sonde_pipeline *p, struct sonde_err *err)
{
	const char *path = sonde_run_path(r, "report.md");

	return path ? sonde_pipeline_export(p, "md", path, err) : sonde_err_nomem(err);
}

/*
 * Links a file that people and programs look for into the top of the run directory, too; returns whether it is there.
 */
static bool raise_file(struct sonde_run *r, const char *dir, const char *name)
{
	const char *from = sonde_arena_printf(&r->arena, "%s/%s", dir, name).p, *to = sonde_run_path(r, "%s", name);

	if (to)
		unlink(to); /* left by a rank that ended before, if nobody knows which rank is the last */
	return from && to && access(from, R_OK) == 0 &&
	       (link(from, to) == 0 || symlink(from + strlen(r->dir.path) + 1, to) == 0);
}

void sonde_run_say_modules(const struct sonde_run *r)
{
	bool is_on = r->set.modules && strcmp(r->set.modules, "off") != 0;

	if (is_on)
		sonde_say("no module was called: does the program import torch, and does Python read its environment "
			  "(-E, -I and -S keep sonde out)?");
	else if (sonde_modules_would_help(r->program))
		sonde_say("no ranges: `sonde run --modules -- ...` makes a region of each PyTorch module, without a "
			  "change to the program");
}

static int export_all(struct sonde_run *r, struct sonde_pipeline *p, const char *dir, bool is_shown,
	struct sonde_err *err)
{
	struct sonde_export_options *o = &p->settings.options;
	int rc = sonde_pipeline_export(p, NULL, dir, err);

	if (rc == 0 && is_shown)
		rc = write_markdown(r, p, err);
	if (rc || !is_shown)
		return rc;
	r->has_page = raise_file(r, dir, "report.html");
	raise_file(r, dir, "report.json");
	o->width = sonde_terminal_width();
	o->is_coloured = sonde_terminal_is_coloured(SONDE_COLOUR_AUTO);
	o->max_kernels = 0;
	o->run = name_run(r);
	rc = print_tree(p, err);
	if (rc == 0)
		rc = write_prometheus(r, p, err);
	if (rc == 0 && !p->tree->cells->regions.nr)
		sonde_run_say_modules(r);
	return rc;
}

int sonde_run_check_report(struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_nvtx_filter *ranges = NULL;
	struct sonde_name_filter *kernels = NULL;
	struct sonde_settings s = {0};
	int rc = sonde_settings_read(&s, r->config,
		r->set.ncu_enable ? SONDE_CAPTURE_LISTS_ALWAYS : SONDE_CAPTURE_LISTS_NEVER, err);

	if (rc == 0)
		rc = sonde_nvtx_filter_build(
			&ranges, s.fold.selection.nvtx_include, s.fold.selection.nvtx_exclude, err);
	if (rc == 0)
		rc = sonde_kernel_filter_build(&kernels, s.fold.selection.kernel_include,
			s.fold.selection.kernel_exclude, err);
	sonde_nvtx_filter_free(ranges);
	sonde_name_filter_free(kernels);
	sonde_settings_release(&s);
	return rc;
}

void sonde_run_write_notes(struct sonde_run *r)
{
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < r->notes.texts.nr; i++)
		sonde_buf_printf(&text, "%.*s\n", SONDE_STR_ARG(r->notes.texts.keys[i]));
	if (text.n)
		rc = sonde_rundir_write(&r->dir, SONDE_RUN_NOTES, sonde_buf_view(&text), &why);
	sonde_buf_clear(&text);
	if (rc == 0 && r->baseline) {
		sonde_buf_printf(&text, "%s\n", r->baseline);
		rc = sonde_rundir_write(&r->dir, "ncu/" SONDE_RUN_BASELINE, sonde_buf_view(&text), &why);
	}
	if (rc)
		sonde_say("notes for the report were not written: %s", why.msg);
	sonde_buf_release(&text);
}

/*
 * Notes the hashes of the source files while these are still what the program was made of. If that fails, the report
 * has no such notes.
 */
static void note_sources(struct sonde_run *r, const struct sonde_pipeline *p, const char *stage)
{
	const char *path = sonde_run_path(r, "%s/" SONDE_SOURCE_NOTES, stage);
	struct sonde_err why = {0};

	if (path && sonde_source_note(p->tree->cells, path, &why))
		sonde_say("source files were not noted: %s", why.msg);
}

static int write_report(struct sonde_run *r, struct sonde_pipeline *p, const char *stage, bool is_shown,
	struct sonde_err *err)
{
	const char *to = sonde_run_path(r, "%s/regions", stage);
	int rc = to ? sonde_pipeline_add_run(p, r->dir.path, stage, err) : sonde_err_nomem(err);

	if (rc == 0)
		rc = sonde_pipeline_configure_by(p, r->config, err);
	p->settings.options.is_utf8 = sonde_terminal_is_utf8();
	p->settings.options.more_at = "report.json";
	p->settings.options.command = rc ? NULL : sonde_run_command(p);
	sonde_pipeline_keep_launches(p);
	if (rc == 0)
		rc = sonde_pipeline_fold(p, err);
	if (rc == 0)
		rc = sonde_pipeline_arrange(p, err);
	if (rc == 0)
		note_sources(r, p, stage);
	return rc ? rc : export_all(r, p, to, is_shown, err);
}

static int show_captures(
	const struct sonde_run *r, struct sonde_pipeline *p, const char *dir, struct sonde_err *err)
{
	int rc = sonde_pipeline_add_input(p, dir) == 0 ? 0 : sonde_err_nomem(err);

	p->capture_lists = SONDE_CAPTURE_LISTS_NEVER;
	if (rc == 0)
		rc = sonde_pipeline_configure_by(p, r->config, err);
	p->settings.options.is_utf8 = sonde_terminal_is_utf8();
	if (rc == 0)
		rc = sonde_pipeline_fold(p, err);
	if (rc == 0)
		rc = sonde_pipeline_arrange(p, err);
	if (rc)
		return rc;
	return r->set.prometheus ? write_prometheus(r, p, err) : print_tree(p, err);
}

int sonde_run_show(const struct sonde_run *r, const char *dir, struct sonde_err *err)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	int rc = p ? show_captures(r, p, dir, err) : sonde_err_nomem(err);

	sonde_pipeline_free(p);
	return rc;
}

int sonde_run_report(struct sonde_run *r, const char *stage, bool is_shown, struct sonde_err *err)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	int rc = p ? write_report(r, p, stage, is_shown, err) : sonde_err_nomem(err);

	sonde_pipeline_free(p);
	return rc;
}
