#include "lib/run_in.h"

#include "base/argv.h"
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NCU "ncu"

static bool is_there(const char *dir, const char *stage, const char *name)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/%s/%s", dir, stage, name) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

bool sonde_is_run(const char *dir)
{
	return is_there(dir, ".", "config.yaml") && is_there(dir, ".", "inputs.yaml");
}

/* Whether `dir/stage` has a file whose name contains one of these endings. */
static bool has_file(const char *dir, const char *stage, const char *const *endings)
{
	char path[4096];
	struct dirent *e;
	bool is = false;
	DIR *d;
	size_t i;

	snprintf(path, sizeof(path), "%s/%s", dir, stage);
	d = opendir(path);
	while (d && !is && (e = readdir(d)))
		for (i = 0; endings[i] && !is; i++)
			is = e->d_name[0] != '.' && strstr(e->d_name, endings[i]);
	if (d)
		closedir(d);
	return is;
}

/* Whether the stage has captures. For torch.profiler, any trace is one. */
bool sonde_run_has_captures(const char *dir, const char *stage)
{
	static const char *const endings[] = {".ncu-rep", ".sonde", ".sqlite", NULL};
	static const char *const traces[] = {".json", NULL};

	return has_file(dir, stage, strcmp(stage, "torch_profiler") == 0 ? traces : endings);
}

const char *sonde_run_stage(const char *dir)
{
	static const char *const stages[] = {NCU, "native", "nsys", "torch_profiler"};
	size_t i;

	for (i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		if (sonde_run_has_captures(dir, stages[i]))
			return stages[i];
	return is_there(dir, NCU, SONDE_RUN_BASELINE) ? NCU : NULL;
}

/* The folders of the look at the program: those of the native stage if it has captures, else what each rank's look left. */
static int find_look(struct sonde_pipeline *p, const char *dir, struct sonde_word_list *out, struct sonde_err *err)
{
	struct dirent *e;
	int rc = 0;
	DIR *d;

	if (sonde_run_has_captures(dir, "native")) {
		const char *native = sonde_arena_printf(&p->arena, "%s/native", dir).p;

		return native && sonde_word_list_add(out, native) ? 0 : sonde_err_nomem(err);
	}
	d = opendir(dir);
	while (d && rc == 0 && (e = readdir(d))) {
		const char *path = strncmp(e->d_name, "discover", 8) == 0
					   ? sonde_arena_printf(&p->arena, "%s/%s", dir, e->d_name).p
					   : "";

		if (!path || (*path && sonde_run_has_captures(path, ".") && !sonde_word_list_add(out, path)))
			rc = sonde_err_nomem(err);
	}
	if (d)
		closedir(d);
	return rc;
}

/*
 * Adds the regions that the look found: without it, regions without a launch would be missing. If the look cannot be
 * read, only these are missing.
 */
static int learn_regions(struct sonde_pipeline *p, const struct sonde_word_list *look, struct sonde_err *err)
{
	struct sonde_pipeline *other = look->nr ? sonde_pipeline_new() : NULL;
	bool ok = !look->nr || other;
	size_t i;

	for (i = 0; i < look->nr && ok; i++)
		ok = sonde_pipeline_add_input(other, look->at[i]) == 0;
	if (ok && other && sonde_pipeline_look(other, NULL) == 0)
		for (i = 0; i < other->launches->regions.nr && ok; i++) {
			const char *id = sonde_arena_z(&p->arena, other->launches->regions.at[i].id);

			ok = id && sonde_word_list_add(&p->known, id);
		}
	sonde_pipeline_free(other);
	return ok ? 0 : sonde_err_nomem(err);
}

static void read_notes(struct sonde_pipeline *p, const char *dir)
{
	struct sonde_buf text = {0};
	struct sonde_str rest;
	char path[4096];

	snprintf(path, sizeof(path), "%s/" SONDE_RUN_NOTES, dir);
	sonde_file_slurp(&text, path);
	for (rest = sonde_buf_view(&text); rest.n;) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

		if (line.n)
			sonde_note(&p->notes, "%.*s", SONDE_STR_ARG(line));
	}
	sonde_buf_release(&text);
}

/* Reads why a stage captured nothing of what was asked for. Leaves p->baseline NULL if it has captures. */
static int read_baseline(struct sonde_pipeline *p, const char *dir, const char *stage, struct sonde_err *err)
{
	struct sonde_buf text = {0};
	char path[4096];

	if (sonde_run_has_captures(dir, stage) || !is_there(dir, stage, SONDE_RUN_BASELINE))
		return 0;
	snprintf(path, sizeof(path), "%s/%s/" SONDE_RUN_BASELINE, dir, stage);
	sonde_file_slurp(&text, path);
	p->baseline = sonde_arena_z(&p->arena, sonde_str_trim(sonde_buf_view(&text)));
	sonde_buf_release(&text);
	return p->baseline ? 0 : sonde_err_nomem(err);
}

/* Takes over everything of a run except its captures. For a baseline, the captures are those of the look. */
static int take_run(struct sonde_pipeline *p, const char *dir, const char *stage, struct sonde_err *err)
{
	struct sonde_word_list look = {0};
	bool is_ncu = strcmp(stage, NCU) == 0;
	size_t i;
	int rc = read_baseline(p, dir, stage, err);

	p->run = rc ? NULL : sonde_arena_z(&p->arena, sonde_str_from(dir));
	p->stage = stage;
	p->capture_lists = is_ncu && !p->baseline ? SONDE_CAPTURE_LISTS_ALWAYS : SONDE_CAPTURE_LISTS_NEVER;
	if (rc == 0 && !p->run)
		rc = sonde_err_nomem(err);
	if (rc == 0 && is_ncu)
		rc = find_look(p, dir, &look, err);
	if (rc == 0 && !p->baseline)
		rc = learn_regions(p, &look, err);
	for (i = 0; i < look.nr && rc == 0 && p->baseline; i++)
		rc = sonde_pipeline_add_input(p, look.at[i]) ? sonde_err_nomem(err) : 0;
	sonde_vec_release(&look);
	if (rc == 0)
		read_notes(p, dir);
	return rc;
}

int sonde_pipeline_add_run(
	struct sonde_pipeline *p, const char *dir, const char *stage, struct sonde_err *err)
{
	const char *captures = sonde_arena_printf(&p->arena, "%s/%s", dir, stage).p;
	int rc = captures ? take_run(p, dir, stage, err) : sonde_err_nomem(err);

	if (rc == 0 && !p->baseline && sonde_pipeline_add_input(p, captures))
		rc = sonde_err_nomem(err);
	return rc;
}

int sonde_pipeline_take_run(struct sonde_pipeline *p, const char *dir, struct sonde_err *err)
{
	size_t i, nr_ncu = 0;

	for (i = 0; i < p->inputs.nr; i++)
		nr_ncu += sonde_str_ends(sonde_str_from(p->inputs.at[i]), ".ncu-rep");
	return take_run(p, dir, nr_ncu && nr_ncu == p->inputs.nr ? NCU : "native", err);
}

const char *sonde_run_command(struct sonde_pipeline *p)
{
	char *const words[] = {"sonde", "report", (char *)(uintptr_t)p->run, NULL};
	struct sonde_buf line = {0};

	sonde_argv_show(&line, words);
	return sonde_arena_take(&p->arena, &line);
}

void sonde_run_explain(struct sonde_pipeline *p)
{
	const struct sonde_cells *c = p->tree->cells;
	const struct sonde_str *words;
	bool has_patterns = hydra_config_list(p->used, "pipeline.native.nvtx.include", &words) ||
			    hydra_config_list(p->used, "pipeline.native.nvtx.exclude", &words);

	if (c->tally.nr_taken == 0 && c->tally.nr_launches && !p->baseline)
		sonde_note(&p->tree->notes,
			"no launch is in a selected region, so no region was profiled; "
			"`sonde regions -- COMMAND` lists the program's regions");
	if (c->regions.nr == 0 && strcmp(p->stage, "native") == 0 && has_patterns)
		sonde_note(&p->tree->notes,
			"the patterns of pipeline.native.nvtx match no range of the program; `sonde regions "
			"-- COMMAND` lists its ranges");
}
