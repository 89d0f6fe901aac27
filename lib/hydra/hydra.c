/* Makes a config, which is a frozen tree, from a request; and the jobs of a sweep. */
#include "hydra/hydra_int.h"

#include "base/alloc.h"
#include "base/file.h"
#include "hydra/keys_int.h"
#include "hydra/sweep.h"
#include "hydra/yaml.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define CONFIG_NAME "config"

static const char *copy_text(struct hydra_config *c, const char *z)
{
	return z ? hydra_ctx__dup(&c->cx, sonde_str_from(z)).p : NULL;
}

static int copy_sources(struct hydra_config *c, const struct hydra_request *req)
{
	struct hydra_source *at = hydra_ctx__alloc(&c->cx, req->nr_sources + 1, sizeof(*at));
	size_t i;

	for (i = 0; at && i < req->nr_sources; i++)
		at[i] = (struct hydra_source){copy_text(c, req->sources[i].provider),
			copy_text(c, req->sources[i].dir), req->sources[i].is_required,
			req->sources[i].is_allowed};
	c->req.sources = at;
	return c->cx.fail.code;
}

/* If a copy fails, the failure is in the context, and compose() returns it before it does anything. */
static struct hydra_config *new_config(const struct hydra_request *req, int64_t now)
{
	struct hydra_config *c = sonde_calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->cx = (struct hydra_ctx){.arena = &c->arena, .notes = &c->notes, .keeps_env = req->keeps_env};
	c->req = *req;
	c->req.overrides = NULL;
	c->req.nr_overrides = 0;
	c->req.config_name = copy_text(c, req->config_name ? req->config_name : CONFIG_NAME);
	c->req.job_name = copy_text(c, req->job_name ? req->job_name : "app");
	copy_sources(c, req);
	c->compose = (struct hydra_compose){.cx = &c->cx,
		.name = sonde_str_from(c->req.config_name),
		.job_name = c->req.job_name,
		.now = now,
		.keys = req->keys,
		.multirun = req->multirun};
	return c;
}

/* The search path: Hydra's own configs, the folders of the request, the schema. */
static int add_sources(struct hydra_config *c)
{
	struct hydra_search *s = &c->compose.search;
	const struct hydra_source *src = c->req.sources;
	size_t i;

	s->cx = &c->cx;
	for (i = 0; i < c->req.nr_sources; i++)
		if (src[i].is_required && !sonde_dir_exists(src[i].dir))
			return hydra_ctx__fail(&c->cx, "SearchPathException",
				"Additional config directory '%s' not found", src[i].dir);
	hydra_search__add(s, HYDRA_SOURCE_BUILTIN, "hydra", (struct sonde_str){0});
	for (i = 0; i < c->req.nr_sources && !c->cx.fail.code; i++)
		if (!hydra_search__add(
			    s, HYDRA_SOURCE_DIR, src[i].provider, sonde_str_from(src[i].dir)))
			s->sources.at[s->sources.nr - 1].is_allowed = src[i].is_allowed;
	if (c->cx.fail.code)
		return c->cx.fail.code;
	return hydra_search__add(s, HYDRA_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
}

/* Resolves `part` of the hydra node. Nothing to do if the node does not have that part. */
static int resolve_hydra(struct hydra_config *c, const char *part)
{
	struct hydra_lookup look = hydra_compose__scope(&c->compose);
	struct hydra_datum *n = hydra_datum__path_get(hydra_datum__getz(c->frozen, "hydra"), part);

	return n ? hydra_interp__resolve_tree(&look, n) : 0;
}

/*
 * Sets hydra.runtime.output_dir. It can be computed only when the directories of the run are resolved, and it must be
 * set before the job's keys are, since these may refer to it.
 */
static int fill_output_dir(struct hydra_config *c)
{
	struct hydra_datum *at[] = {hydra_datum__path_get(c->compose.root, "hydra.runtime"),
		hydra_datum__path_get(c->frozen, "hydra.runtime")};
	struct sonde_str dir = hydra_config_run_dir(c), cwd;
	size_t i;

	cwd = hydra_config_str(c, "hydra.runtime.cwd");
	if (!dir.n || !cwd.n)
		return c->cx.fail.code;
	if (dir.p[0] != '/')
		dir = hydra_ctx__printf(
			&c->cx, "%.*s/%.*s", SONDE_STR_ARG(cwd), SONDE_STR_ARG(dir));
	for (i = 0; i < 2 && at[i]; i++)
		hydra_datum__setz(&c->cx, at[i], "output_dir", hydra_datum__string(&c->cx, dir));
	return c->cx.fail.code;
}

/*
 * Resolves the job's keys, and those parts of the hydra node that say where and how
 * to run. The master of a sweep does not run itself: its keys may refer to values
 * that only the jobs set, so they stay as they are.
 */
static int freeze(struct hydra_config *c)
{
	struct hydra_lookup look = hydra_compose__scope(&c->compose);
	struct hydra_datum *hydra =
		hydra_datum__copy(&c->cx, hydra_datum__getz(c->compose.root, "hydra"));
	struct hydra_datum *job = hydra_datum__copy(&c->cx, c->compose.job);

	c->frozen = hydra_datum__new(&c->cx, HYDRA_MAP);
	if (!c->frozen || !job || !hydra || hydra_datum__setz(&c->cx, c->frozen, "hydra", hydra))
		return c->cx.fail.code;
	if (resolve_hydra(c, "run") || resolve_hydra(c, "sweep"))
		return c->cx.fail.code;
	if (!c->req.multirun && (fill_output_dir(c) || resolve_hydra(c, "job.env_set") ||
					hydra_interp__resolve_tree(&look, job)))
		return c->cx.fail.code;
	c->frozen = job;
	return hydra_datum__setz(&c->cx, job, "hydra", hydra);
}

/* Checks the frozen tree without the hydra node against the table of keys. */
static int check_keys(struct hydra_config *c)
{
	struct hydra_datum *job = hydra_datum__copy(&c->cx, c->frozen);

	hydra_datum__drop(hydra_datum__getz(job, "hydra"));
	return job ? hydra_keys__check(&c->cx, c->req.keys, c->req.keys_hint, job)
		   : c->cx.fail.code;
}

static int compose(struct hydra_config *c)
{
	uint32_t batch; /* not used: jobs always run one after the other */

	if (c->cx.fail.code || add_sources(c) || hydra_compose__run(&c->compose))
		return c->cx.fail.code;
	if (c->req.multirun) {
		c->jobs = hydra_sweep__plan(&c->compose, &batch);
		if (!c->jobs)
			return c->cx.fail.code;
	}
	if (c->req.raw)
		return 0;
	if (freeze(c) || !c->req.keys || c->req.multirun)
		return c->cx.fail.code;
	/* Fill in the defaults again: a file may have removed keys (`report: null`). */
	return check_keys(c) ? c->cx.fail.code : hydra_keys__fill(&c->cx, c->req.keys, c->frozen);
}

/*
 * Rewords Hydra's error about a key that does not exist, which tells the user how to append a key to a struct. With a
 * table of keys, an unknown key is a typing error, so the message is the same as for an unknown key in a file.
 */
static void say_unknown(const struct hydra_config *c, struct sonde_err *err, int code, struct sonde_str key)
{
	struct sonde_str nearest = hydra_keys__nearest(c->req.keys, key);
	const char *hint = c->req.keys_hint;

	if (nearest.n)
		sonde_err_set(err, code, "unknown key '%.*s', did you mean '%.*s'?", SONDE_STR_ARG(key), SONDE_STR_ARG(nearest));
	else
		sonde_err_set(err, code, "unknown key '%.*s'; %s%s+%.*s=VALUE adds one on purpose", SONDE_STR_ARG(key),
			hint ? hint : "", hint ? ", " : "", SONDE_STR_ARG(key));
}

int hydra_config__report(struct hydra_config *c, struct sonde_err *err)
{
	static const char head[] = "Could not override '";
	struct sonde_str msg = c->cx.fail.msg, key = {0};
	size_t n = sizeof(head) - 1;
	int code;

	if (c->req.keys && c->cx.fail.cause_type && sonde_str_starts(msg, head)) {
		key = (struct sonde_str){msg.p + n, msg.n - n};
		key.n = sonde_str_find(key, '\'');
	}
	code = hydra_ctx__report(&c->cx, err);
	if (key.n)
		say_unknown(c, err, code, key);
	return code;
}

static int finish_open(struct hydra_config **out, struct hydra_config *c, struct sonde_err *err)
{
	int code;

	if (compose(c) == 0) {
		*out = c;
		return 0;
	}
	code = hydra_config__report(c, err);
	hydra_config_free(c);
	return code;
}

int hydra_config_open(
	struct hydra_config **out, const struct hydra_request *req, struct sonde_err *err)
{
	struct hydra_config *c = new_config(req, (int64_t)time(NULL));
	size_t i;

	*out = NULL;
	if (!c)
		return sonde_err_nomem(err);
	for (i = 0; i < req->nr_overrides && !c->cx.fail.code; i++)
		hydra_compose__override(&c->compose, sonde_str_from(req->overrides[i]));
	return finish_open(out, c, err);
}

static int load_file(struct hydra_config *c, const char *path, struct sonde_err *err)
{
	struct hydra_from *from = hydra_ctx__alloc(&c->cx, 1, sizeof(*from));
	struct sonde_mapping file = {0};
	int code;

	if (!from)
		return sonde_err_nomem(err);
	*from = (struct hydra_from){.name = sonde_str_from(copy_text(c, path))};
	code = sonde_mapping_open(&file, path, err);
	if (code)
		return code;
	if (hydra_yaml__load(&c->frozen, &c->cx, from, file.data))
		code = hydra_config__report(c, err);
	sonde_mapping_release(&file);
	return code;
}

int hydra_config_file_open(struct hydra_config **out, const char *path, struct sonde_err *err)
{
	const struct hydra_request any = {0};
	struct hydra_config *c = new_config(&any, 0);
	int code;

	*out = NULL;
	if (!c)
		return sonde_err_nomem(err);
	code = load_file(c, path, err);
	if (code)
		hydra_config_free(c);
	else
		*out = c;
	return code;
}

void hydra_config_free(struct hydra_config *c)
{
	if (!c)
		return;
	hydra_compose__release(&c->compose);
	sonde_notes_release(&c->notes);
	sonde_arena_release(&c->arena);
	sonde_free(c);
}

const struct sonde_notes *hydra_config_notes(const struct hydra_config *c)
{
	return &c->notes;
}

/* Sweeps. */

size_t hydra_config_nr_jobs(const struct hydra_config *c)
{
	return c->jobs ? c->jobs->seq.nr : 1;
}

size_t hydra_config_job_overrides(
	const struct hydra_config *master, size_t job, const struct sonde_str **lines)
{
	const struct hydra_datum *n;
	struct sonde_str *out;
	uint32_t i;

	*lines = NULL;
	if (!master->jobs || job >= master->jobs->seq.nr)
		return 0;
	n = master->jobs->seq.at[job];
	out = hydra_ctx__alloc(hydra_config__scratch(master), n->seq.nr + 1, sizeof(*out));
	if (!out)
		return 0;
	for (i = 0; i < n->seq.nr; i++)
		out[i] = n->seq.at[i]->s;
	*lines = out;
	return n->seq.nr;
}

int hydra_config_job_open(struct hydra_config **out, const struct hydra_config *master, size_t job,
	struct sonde_err *err)
{
	struct hydra_request req = master->req;
	struct hydra_config *c;
	const struct sonde_str *lines;
	size_t i, nr = hydra_config_job_overrides(master, job, &lines);

	*out = NULL;
	req.multirun = false;
	c = new_config(&req, master->compose.now);
	if (!c)
		return sonde_err_nomem(err);
	c->compose.job_num = (int64_t)job;
	c->compose.has_job_num = master->jobs != NULL;
	for (i = 0; i < master->compose.overrides.nr && !c->cx.fail.code; i++) {
		const struct hydra_override *o = &master->compose.overrides.at[i];

		if (!master->jobs || hydra_override__is_hydra(o))
			hydra_compose__override(&c->compose, o->line);
	}
	for (i = 0; i < nr && !c->cx.fail.code; i++)
		hydra_compose__override(&c->compose, lines[i]);
	return finish_open(out, c, err);
}

struct sonde_str hydra_config_run_dir(const struct hydra_config *c)
{
	if (!c->compose.has_job_num)
		return hydra_config_str(c, "hydra.run.dir");
	return HYDRA_JOIN(hydra_config__scratch(c), hydra_config_str(c, "hydra.sweep.dir"),
		SONDE_STR("/"), hydra_config_str(c, "hydra.sweep.subdir"));
}
