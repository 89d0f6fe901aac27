/*
 * The torch.profiler stage: the program profiles itself and writes traces to $TORCH_TRACE_DIR, or to a place of its own
 * where a pattern finds them. They are copied to torch_profiler/ of the run directory and reported as they are.
 */
#include "base/argv.h"
#include "base/file.h"
#include "base/sink.h"
#include "capture/child.h"
#include "cli/run_int.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define VARIABLE "TORCH_TRACE_DIR"

struct stage {
	struct sonde_run *run;
	const char *dir;     /* our directory for traces, absolute */
	const char *pattern; /* glob for traces elsewhere; NULL = there are none */
	struct sonde_argv env;
	time_t begun;
	size_t nr_before; /* traces that are in `dir` before the program runs: those of other ranks */
	struct sonde_err *err;
};

/* A variable that the user has set stays as it is, and shows where the traces are. */
static int find_places(struct stage *s)
{
	const char *asked = getenv(VARIABLE), *dir = sonde_run_path(s->run, "torch_profiler");
	char full[PATH_MAX];
	char *const *env;
	int rc = dir ? sonde_dir_make(dir, s->err) : sonde_err_nomem(s->err);

	if (rc)
		return rc;
	if (!realpath(dir, full))
		return sonde_err_set(s->err, SONDE_ERR_IO, "%s: the run directory is gone: do not move it while the program runs", dir);
	s->dir = sonde_arena_printf(&s->run->arena, "%s", full).p;
	s->pattern = s->run->set.torch_pattern;
	for (env = s->run->env; env && *env; env++)
		if (strncmp(*env, VARIABLE "=", strlen(VARIABLE) + 1) == 0)
			asked = *env + strlen(VARIABLE) + 1;
	if (s->run->env)
		sonde_argv_all(&s->env, s->run->env);
	if (asked && *asked && !s->pattern)
		s->pattern = sonde_arena_printf(&s->run->arena, "%s/*.json*", asked).p;
	if (!asked || !*asked)
		sonde_argv_printf(&s->env, VARIABLE "=%s", full);
	return s->env.failed || !s->dir ? sonde_err_nomem(s->err) : 0;
}

static int copy_file(const char *from, const char *to, struct sonde_err *err)
{
	struct sonde_mapping file;
	int rc = sonde_mapping_open(&file, from, err);

	if (rc)
		return rc;
	rc = sonde_file_write(to, file.data, err);
	sonde_mapping_release(&file);
	return rc;
}

/* Whether this run wrote the trace: an older file belongs to another run. */
static bool is_new_file(const struct stage *s, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mtime >= s->begun;
}

static int collect(struct stage *s)
{
	const char *base = s->run->set.workload_dir;
	const char *pattern = s->pattern && s->pattern[0] != '/' && base
				      ? sonde_arena_printf(&s->run->arena, "%s/%s", base, s->pattern).p
				      : s->pattern;
	glob_t found = {0};
	size_t i;
	int rc = 0;

	if (!pattern || glob(pattern, GLOB_NOSORT | GLOB_BRACE | GLOB_TILDE, NULL, &found) != 0)
		return 0;
	for (i = 0; i < found.gl_pathc && rc == 0; i++) {
		const char *from = found.gl_pathv[i], *name = strrchr(from, '/'), *to;

		if (!is_new_file(s, from))
			continue;
		to = sonde_arena_printf(&s->run->arena, "%s/%s", s->dir, name ? name + 1 : from).p;
		rc = to ? copy_file(from, to, s->err) : sonde_err_nomem(s->err);
	}
	globfree(&found);
	return rc;
}

static size_t count_traces(struct stage *s)
{
	const char *all = sonde_arena_printf(&s->run->arena, "%s/*.json*", s->dir).p;
	glob_t found = {0};
	size_t nr = all && glob(all, GLOB_NOSORT, NULL, &found) == 0 ? found.gl_pathc : 0;

	globfree(&found);
	return nr;
}

static int run_program(struct stage *s)
{
	struct sonde_run *r = s->run;
	struct sonde_child_spec spec = sonde_run_spec(r, r->program);
	int rc;

	spec.env = (char *const *)s->env.words.at;
	s->begun = time(NULL);
	s->nr_before = count_traces(s);
	rc = sonde_run_child(r, &spec, s->err);
	if (rc)
		return rc;
	rc = collect(s);
	if (rc == 0 && count_traces(s) > s->nr_before) {
		r->nr_torch++;
		return 0;
	}
	r->has_failed = true;
	sonde_say("%s", rc ? s->err->msg
			   : "the program wrote no torch.profiler trace: write it below "
			     "$" VARIABLE " (prof.export_chrome_trace(os.environ['" VARIABLE
			     "'] + '/trace.json')), or say where it is with "
			     "pipeline.torch.pattern='traces/*.json'");
	return 0;
}

int sonde_run_torch(struct sonde_run *r, struct sonde_err *err)
{
	struct stage s = {.run = r, .err = err};
	int rc;

	if (r->request.is_dry) {
		sonde_run_show_plan("the program profiles itself with torch.profiler, one run of it",
			VARIABLE "=torch_profiler ", r->program);
		return 0;
	}
	rc = find_places(&s);
	if (rc == 0)
		rc = run_program(&s);
	sonde_argv_release(&s.env);
	return rc;
}
