#include "lib/pipeline.h"

#include "base/alloc.h"
#include "base/map.h"
#include "cellfile/cellfile.h"
#include "lib/run_in.h"

#include <sys/stat.h>
#include <time.h>

const char *sonde_texts__z(struct sonde_texts *t, struct sonde_str text)
{
	uint32_t n = sonde_map_keep(&t->map, &t->arena, text, NULL);

	return n == SONDE_NONE ? NULL : t->map.keys[n].p;
}

void sonde_texts__release(struct sonde_texts *t)
{
	sonde_map_release(&t->map);
	sonde_arena_release(&t->arena);
}

struct sonde_pipeline *sonde_pipeline_new(void)
{
	struct sonde_pipeline *p = sonde_calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	sonde_sink_init_string(&p->yaml);
	sonde_sink_init_string(&p->json);
	return p;
}

void sonde_pipeline_free(struct sonde_pipeline *p)
{
	if (!p)
		return;
	sonde_figures_release(&p->figures);
	sonde_vec_release(&p->views);
	sonde_tree_free(p->tree);
	sonde_cells_free(p->cells);
	sonde_parts_release(&p->parts);
	sonde_launches_free(p->launches);
	sonde_records_free(p->records);
	sonde_texts__release(&p->texts);
	sonde_sink_abort(&p->json);
	sonde_sink_abort(&p->yaml);
	sonde_settings_release(&p->settings);
	hydra_config_free(p->config);
	sonde_notes_release(&p->notes);
	sonde_notes_release(&p->config_notes);
	sonde_vec_release(&p->inputs);
	sonde_vec_release(&p->known);
	sonde_vec_release(&p->overrides);
	sonde_arena_release(&p->arena);
	sonde_free(p);
}

static int add_word(struct sonde_pipeline *p, struct sonde_word_list *to, const char *word)
{
	const char *copy = sonde_arena_z(&p->arena, sonde_str_from(word));

	return copy && sonde_vec_put(to, copy) ? 0 : SONDE_ERR_NOMEM;
}

int sonde_pipeline_add_input(struct sonde_pipeline *p, const char *path)
{
	return add_word(p, &p->inputs, path);
}

int sonde_pipeline_set(struct sonde_pipeline *p, const char *key_and_value)
{
	return add_word(p, &p->overrides, key_and_value);
}

int sonde_pipeline_set_config(struct sonde_pipeline *p, const char *dir, const char *name)
{
	p->config_dir = dir ? sonde_arena_z(&p->arena, sonde_str_from(dir)) : NULL;
	p->config_name = name ? sonde_arena_z(&p->arena, sonde_str_from(name)) : NULL;
	return (dir && !p->config_dir) || (name && !p->config_name) ? SONDE_ERR_NOMEM : 0;
}

void sonde_pipeline_keep_launches(struct sonde_pipeline *p)
{
	p->settings.fold.keeps_timeline = p->settings.fold.keeps_untimed = true;
}

int sonde_pipeline_configure_by(
	struct sonde_pipeline *p, struct hydra_config *config, struct sonde_err *err)
{
	time_t now = time(NULL);
	struct tm tm;
	int rc = sonde_settings_read(&p->settings, config, p->capture_lists, err);

	if (rc == 0)
		rc = sonde_settings_record(config, &p->yaml, err);
	if (rc)
		return rc;
	if (!hydra_config_bool(config, "report.deterministic") && gmtime_r(&now, &tm) &&
		strftime(p->generated_at, sizeof(p->generated_at), "%Y-%m-%dT%H:%M:%SZ", &tm))
		p->settings.options.generated_at = p->generated_at;
	p->settings.options.config = p->yaml.buf.p;
	p->settings.options.baseline = p->baseline;
	p->settings.fold.selection.known = (struct sonde_words){p->known.at, p->known.nr};
	p->used = config;
	p->is_configured = true;
	return 0;
}

int sonde_pipeline_configure(struct sonde_pipeline *p, struct sonde_err *err)
{
	const struct sonde_config_request want = {.overrides = p->overrides.at,
		.nr_overrides = p->overrides.nr,
		.config_dir = p->config_dir ? p->config_dir : p->run,
		.config_name = p->config_name,
		.is_recorded = p->run,
		.notes = &p->config_notes};
	int rc = sonde_config_open(&p->config, &want, err);

	return rc ? rc : sonde_pipeline_configure_by(p, p->config, err);
}

/*
 * Leaves out inputs that were named before, also by another path or through a link: a capture that is read twice would
 * count twice. Notes each input that is left out.
 */
static int unite_inputs(
	struct sonde_word_list *paths, struct sonde_notes *notes, struct sonde_err *err)
{
	struct sonde_arena arena = {0};
	struct sonde_map seen = {0};
	size_t i, nr = 0;
	int rc = 0;

	for (i = 0; i < paths->nr && rc == 0; i++) {
		const char *path = paths->at[i];
		struct sonde_str key;
		struct stat st;
		bool is_new = true;

		if (stat(path, &st) == 0) { /* a missing file is reported when it is read */
			key = sonde_arena_printf(&arena, "%llx:%llx", (unsigned long long)st.st_dev,
				(unsigned long long)st.st_ino);
			if (!key.p || sonde_map_add(&seen, key, &is_new) == SONDE_NONE)
				rc = sonde_err_nomem(err);
		}
		if (is_new)
			paths->at[nr++] = path;
		else
			sonde_note(notes, "%s was given more than once; it is read once", path);
	}
	paths->nr = nr;
	sonde_map_release(&seen);
	sonde_arena_release(&arena);
	return rc;
}

/* Makes sure that the pipeline has not run and has inputs, and leaves out repeated inputs. */
static int take_inputs(struct sonde_pipeline *p, struct sonde_err *err)
{
	if (p->tree || p->parts.at.nr || p->records)
		return sonde_err_set(err, SONDE_ERR_USAGE, "this pipeline has run already: make another (sonde_pipeline_new)");
	if (!p->inputs.nr && !p->baseline)
		return sonde_err_set(err, SONDE_ERR_USAGE, "there is no input to report on: add one first (sonde_pipeline_add_input)");
	return unite_inputs(&p->inputs, &p->notes, err);
}

int sonde_pipeline_fold(struct sonde_pipeline *p, struct sonde_err *err)
{
	int rc = take_inputs(p, err);

	if (rc == 0 && !p->is_configured)
		rc = sonde_pipeline_configure(p, err);
	return rc || !p->inputs.nr
		       ? rc
		       : sonde_parts_open(&p->parts, p->inputs.at, p->inputs.nr, &p->settings.fold, err);
}

int sonde_pipeline_look(struct sonde_pipeline *p, struct sonde_err *err)
{
	static const char *const raw = "raw";
	const struct sonde_selection all = {.stack_only = true,
		.no_origins = true,
		.labels = {&raw, 1}};
	int rc = take_inputs(p, err);

	if (rc == 0)
		rc = sonde_records_open(&p->records, p->inputs.at, p->inputs.nr,
			&p->settings.fold.read, err);
	if (rc)
		return rc;
	sonde_records_note(p->records);
	sonde_notes_add(&p->records->notes, &p->notes);
	return sonde_launches_build(&p->launches, p->records, &all, err);
}

static int make_views(struct sonde_pipeline *p, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < p->tree->reports.nr; i++)
		if (!sonde_vec_put(&p->views, (struct sonde_view){p, &p->tree->reports.at[i]}))
			return sonde_err_nomem(err);
	return sonde_figures_init(&p->figures, p->tree, err);
}

int sonde_pipeline_arrange(struct sonde_pipeline *p, struct sonde_err *err)
{
	int rc = sonde_parts_unite(&p->cells, &p->parts, err);

	if (rc)
		return rc;
	sonde_notes_add(&p->cells->notes, &p->notes);
	rc = sonde_tree_build(&p->tree, p->cells, &p->settings.fold.choice, err);
	if (rc == 0 && p->run)
		sonde_run_explain(p);
	if (rc == 0 && p->settings.has_gains)
		rc = sonde_pipeline__tell_gains(p, err);
	return rc ? rc : make_views(p, err);
}

int sonde_pipeline_run(struct sonde_pipeline *p, struct sonde_err *err)
{
	int rc = sonde_pipeline_fold(p, err);

	if (rc == 0)
		rc = sonde_pipeline_arrange(p, err);
	return rc ? rc : sonde_export_check_scopes(p->tree, &p->settings.options, err);
}

/* Writes the folded parts to a file. The notes of this call are written with the last part. */
int sonde_pipeline_write_partial(struct sonde_pipeline *p, const char *path, struct sonde_err *err)
{
	struct sonde_sink out;
	int rc;

	if (!p->is_configured) {
		rc = sonde_pipeline_configure(p, err);
		if (rc)
			return rc;
	}
	p->settings.fold.keep = 0; /* a report of the file decides how many scopes it keeps */
	rc = sonde_pipeline_fold(p, err);
	if (rc == 0)
		rc = sonde_sink_open(&out, path, err);
	if (rc)
		return rc;
	sonde_notes_add(&p->parts.at.at[p->parts.at.nr - 1]->notes, &p->notes);
	return sonde_sink_finish(&out, sonde_cellfile_write(&p->parts, &out, err), err);
}

/* --- the report as bytes ----------------------------------------------------------------------- */

static int check_ran(const struct sonde_pipeline *p, struct sonde_err *err)
{
	return p->tree ? 0
		       : sonde_err_set(err, SONDE_ERR_USAGE,
				 "this pipeline has not run yet: call sonde_pipeline_run first");
}

int sonde_pipeline_export(
	struct sonde_pipeline *p, const char *format, const char *path, struct sonde_err *err)
{
	const struct sonde_format *f;
	struct sonde_sink out;
	int rc = check_ran(p, err);

	if (rc)
		return rc;
	if (!format)
		return sonde_export_dir(p->tree, &p->settings.options, path, err);
	f = sonde_format_named(sonde_str_from(format));
	if (!f)
		return sonde_err_set(err, SONDE_ERR_USAGE, "there is no format '%s', only %s",
			format, SONDE_FORMAT_WORDS(SONDE_FORMATS));
	rc = sonde_sink_open(&out, path, err);
	return rc ? rc
		  : sonde_sink_finish(
			    &out, sonde_export(f, p->tree, &p->settings.options, &out, err), err);
}

int sonde_pipeline_json(
	struct sonde_pipeline *p, const char **out, size_t *size, struct sonde_err *err)
{
	int rc = check_ran(p, err);

	if (rc)
		return rc;
	if (!p->json.buf.n) {
		rc = sonde_export_json(p->tree, &p->settings.options, &p->json, err);
		if (rc == 0 && p->json.buf.failed)
			rc = sonde_err_nomem(err);
	}
	*out = rc ? NULL : p->json.buf.p;
	*size = rc ? 0 : p->json.buf.n;
	return rc;
}
