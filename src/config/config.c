#include "config/config_int.h"

#include "base/file.h"
#include "base/alloc.h"
#include "base/map.h"
#include "config/pytext.h"
#include "config/keys.h"
#include "config/sweep.h"
#include "config/yaml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONFIG_NAME   "config"
#define JOB_NAME      "sonde"
#define HYDRA_VERSION "1.3.2" /* whose language this is */

/* Composing. */

static const char *copy_text(struct sonde_config *c, const char *z)
{
	return z ? sonde_ctx__dup(&c->cx, sonde_str_from(z)).p : NULL;
}

static struct sonde_config *new_config(const struct sonde_config_request *req, int64_t now)
{
	struct sonde_config *c = sonde_calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->cx = (struct sonde_ctx){.arena = &c->arena, .notes = &c->notes};
	c->req = *req;
	c->req.overrides = NULL;
	c->req.nr_overrides = 0;
	c->req.config_dir = copy_text(c, req->config_dir);
	c->req.config_name = copy_text(c, req->config_name ? req->config_name : CONFIG_NAME);
	c->compose = (struct sonde_compose){.cx = &c->cx,
		.name = sonde_str_from(c->req.config_name),
		.job_name = JOB_NAME,
		.version = HYDRA_VERSION,
		.now = now,
		.multirun = req->multirun};
	return c;
}

/* Gives the frozen tree what the table knows and no file said. */
static int fill_defaults(struct sonde_config *c)
{
	static const struct sonde_from from = {.name = {"the default", 11}};
	const struct sonde_key *k;

	for (k = sonde_keys__table; k->key; k++) {
		struct sonde_str rest = sonde_str_from(k->key), step;
		struct sonde_datum *at = c->frozen, *next, *value;

		while (sonde_str_find(rest, '.') < rest.n) {
			step = sonde_str_cut(rest, '.', &rest);
			next = sonde_datum__get(at, step);
			if (!next || next->kind != SONDE_MAP) {
				next = sonde_datum__new(&c->cx, SONDE_MAP);
				sonde_datum__set(
					&c->cx, at, sonde_datum__string(&c->cx, step), next);
			}
			if (!next)
				return c->cx.fail.code;
			at = next;
		}
		if (sonde_datum__get(at, rest))
			continue;
		if (sonde_yaml__load(&value, &c->cx, &from, sonde_str_from(k->fallback)) ||
			sonde_datum__set(&c->cx, at, sonde_datum__string(&c->cx, rest), value))
			return c->cx.fail.code;
	}
	return 0;
}

/* `part` of the hydra node resolved; parts it does not have are fine. */
static int resolve_hydra(struct sonde_config *c, const char *part)
{
	struct sonde_lookup look = sonde_compose__scope(&c->compose);
	struct sonde_datum *n = sonde_datum__path_get(sonde_datum__getz(c->frozen, "hydra"), part);

	return n ? sonde_interp__resolve_tree(&look, n) : 0;
}

/* hydra.runtime.output_dir: known once the directories are, and what the job's keys may refer to.
 */
static int fill_output_dir(struct sonde_config *c)
{
	struct sonde_datum *at[] = {sonde_datum__path_get(c->compose.root, "hydra.runtime"),
		sonde_datum__path_get(c->frozen, "hydra.runtime")};
	struct sonde_str dir = sonde_config_run_dir(c), cwd;
	size_t i;

	cwd = sonde_config_str(c, "hydra.runtime.cwd");
	if (!dir.n || !cwd.n)
		return c->cx.fail.code;
	if (dir.p[0] != '/')
		dir = sonde_ctx__printf(
			&c->cx, "%.*s/%.*s", SONDE_STR_ARG(cwd), SONDE_STR_ARG(dir));
	for (i = 0; i < 2 && at[i]; i++)
		sonde_datum__setz(&c->cx, at[i], "output_dir", sonde_datum__string(&c->cx, dir));
	return c->cx.fail.code;
}

/*
 * The job's keys resolved, and of the hydra node what decides where and how a
 * run goes. The master of a sweep is not run itself: its keys may well wait for
 * what the jobs say, and stay as they are.
 */
static int freeze(struct sonde_config *c)
{
	struct sonde_lookup look = sonde_compose__scope(&c->compose);
	struct sonde_datum *hydra =
		sonde_datum__copy(&c->cx, sonde_datum__getz(c->compose.root, "hydra"));
	struct sonde_datum *job = sonde_datum__copy(&c->cx, c->compose.job);

	c->frozen = sonde_datum__new(&c->cx, SONDE_MAP);
	if (!c->frozen || !job || !hydra || sonde_datum__setz(&c->cx, c->frozen, "hydra", hydra))
		return c->cx.fail.code;
	if (resolve_hydra(c, "run") || resolve_hydra(c, "sweep"))
		return c->cx.fail.code;
	if (!c->req.multirun && (fill_output_dir(c) || resolve_hydra(c, "job.env_set") ||
					sonde_interp__resolve_tree(&look, job)))
		return c->cx.fail.code;
	c->frozen = job;
	return sonde_datum__setz(&c->cx, job, "hydra", hydra);
}

/* The frozen tree without hydra, against the table. */
static int check_keys(struct sonde_config *c)
{
	struct sonde_datum *job = sonde_datum__copy(&c->cx, c->frozen), *hydra;

	hydra = sonde_datum__getz(job, "hydra");
	if (hydra)
		sonde_datum__remove(job, sonde_datum__index(hydra));
	return job ? sonde_keys__check(&c->cx, job) : c->cx.fail.code;
}

static int compose(struct sonde_config *c)
{
	uint32_t batch;

	if (sonde_config__add_sources(c) || sonde_compose__run(&c->compose))
		return c->cx.fail.code;
	if (c->req.multirun) {
		c->jobs = sonde_sweep__plan(&c->compose, &batch);
		if (!c->jobs)
			return c->cx.fail.code;
	}
	if (c->req.raw)
		return 0;
	if (freeze(c) || c->req.any_keys || c->req.multirun)
		return c->cx.fail.code;
	return check_keys(c) ? c->cx.fail.code : fill_defaults(c);
}

/* A slip of the pen is likelier than a new key, which is what Hydra's sentence thinks of. */
static void put_nearest(struct sonde_err *err, const char *nearest)
{
	char said[sizeof(err->msg)];

	memcpy(said, err->msg, sizeof(said));
	snprintf(err->msg, sizeof(err->msg), "did you mean '%.200s'? %.800s", nearest, said);
}

int sonde_config__report(struct sonde_config *c, struct sonde_err *err)
{
	static const char head[] = "Could not override '";
	struct sonde_str msg = c->cx.fail.msg, key;
	const char *nearest = NULL;
	size_t n = sizeof(head) - 1;
	int code;

	if (c->cx.fail.cause_type && sonde_str_starts(msg, head)) {
		key = (struct sonde_str){msg.p + n, msg.n - n};
		key.n = sonde_str_find(key, '\'');
		nearest = sonde_keys__nearest(key);
	}
	code = sonde_ctx__report(&c->cx, err);
	if (nearest && err)
		put_nearest(err, nearest);
	return code;
}

static int finish_open(struct sonde_config **out, struct sonde_config *c, struct sonde_err *err)
{
	int code;

	if (compose(c) == 0) {
		*out = c;
		return 0;
	}
	code = sonde_config__report(c, err);
	sonde_config_free(c);
	return code;
}

int sonde_config_open(
	struct sonde_config **out, const struct sonde_config_request *req, struct sonde_err *err)
{
	struct sonde_config *c = new_config(req, (int64_t)time(NULL));
	size_t i;

	*out = NULL;
	if (!c)
		return sonde_err_nomem(err);
	for (i = 0; i < req->nr_overrides && !c->cx.fail.code; i++)
		sonde_compose__override(&c->compose, sonde_str_from(req->overrides[i]));
	return finish_open(out, c, err);
}

static int load_file(struct sonde_config *c, const char *path, struct sonde_err *err)
{
	struct sonde_from *from = sonde_ctx__alloc(&c->cx, 1, sizeof(*from));
	struct sonde_mapping file = {0};
	int code;

	if (!from)
		return sonde_err_nomem(err);
	*from = (struct sonde_from){.name = sonde_str_from(copy_text(c, path))};
	code = sonde_mapping_open(&file, path, err);
	if (code)
		return code;
	if (file.data.n > SONDE_MAX_FILE_BYTES)
		code = sonde_err_set(err, SONDE_ERR_LIMIT, "%s: larger than 16 MiB", path);
	else if (sonde_yaml__load(&c->frozen, &c->cx, from, sonde_arena_dup(&c->arena, file.data)))
		code = sonde_config__report(c, err);
	sonde_mapping_release(&file);
	return code;
}

int sonde_config_file_open(struct sonde_config **out, const char *path, struct sonde_err *err)
{
	const struct sonde_config_request any = {.any_keys = true};
	struct sonde_config *c = new_config(&any, 0);
	int code;

	*out = NULL;
	if (!c)
		return sonde_err_nomem(err);
	code = load_file(c, path, err);
	if (code)
		sonde_config_free(c);
	else
		*out = c;
	return code;
}

void sonde_config_free(struct sonde_config *c)
{
	if (!c)
		return;
	sonde_compose__release(&c->compose);
	sonde_notes_release(&c->notes);
	sonde_arena_release(&c->arena);
	sonde_free(c);
}

const struct sonde_notes *sonde_config_notes(const struct sonde_config *c)
{
	return &c->notes;
}

/* Getters. */

/* One step down: a key of a map, a number in a list. */
static struct sonde_datum *child(struct sonde_datum *n, struct sonde_str step)
{
	uint32_t i = 0;
	size_t k;

	if (n->kind == SONDE_MAP)
		return sonde_datum__get(n, step);
	for (k = 0; k < step.n && step.p[k] >= '0' && step.p[k] <= '9' && i < UINT32_MAX / 10 - 9;
		k++)
		i = i * 10 + (uint32_t)(step.p[k] - '0');
	return n->kind == SONDE_LIST && step.n && k == step.n && i < n->seq.nr ? n->seq.at[i]
									       : NULL;
}

struct sonde_datum *sonde_config__node(const struct sonde_config *c, const char *key)
{
	struct sonde_datum *n = c->frozen ? c->frozen : c->compose.root;
	struct sonde_str rest = sonde_str_from(key);

	while (n && rest.n)
		n = child(n, sonde_str_cut(rest, '.', &rest));
	return n;
}

bool sonde_config_bool(const struct sonde_config *c, const char *key)
{
	const struct sonde_datum *n = sonde_config__node(c, key);

	return n && n->kind == SONDE_BOOL && n->b;
}

int64_t sonde_config_int(const struct sonde_config *c, const char *key)
{
	const struct sonde_datum *n = sonde_config__node(c, key);

	if (n && n->kind == SONDE_BOOL)
		return n->b;
	return n && n->kind == SONDE_INT ? n->i : 0;
}

double sonde_config_float(const struct sonde_config *c, const char *key)
{
	const struct sonde_datum *n = sonde_config__node(c, key);

	if (n && n->kind == SONDE_FLOAT)
		return n->f;
	return (double)sonde_config_int(c, key);
}

/* The arena is the config's own scratch: getters stay const for their callers. */
static struct sonde_ctx *scratch(const struct sonde_config *c)
{
	return (struct sonde_ctx *)(uintptr_t)&c->cx;
}

static struct sonde_str scalar_text(const struct sonde_config *c, const struct sonde_datum *n)
{
	struct sonde_buf b = {0};

	if (!sonde_datum__is_scalar(n) || n->kind == SONDE_NULL)
		return SONDE_STR("");
	if (n->kind == SONDE_STRING)
		return n->s;
	if (n->kind == SONDE_BOOL)
		return n->b ? SONDE_STR("true") : SONDE_STR("false");
	sonde_pytext__str(&b, n);
	return sonde_ctx__take(scratch(c), &b);
}

struct sonde_str sonde_config_str(const struct sonde_config *c, const char *key)
{
	return scalar_text(c, sonde_config__node(c, key));
}

size_t sonde_config_list(
	const struct sonde_config *c, const char *key, const struct sonde_str **items)
{
	const struct sonde_datum *n = sonde_config__node(c, key);
	size_t i, nr = n && n->kind == SONDE_LIST ? n->seq.nr : 0;
	struct sonde_str *out;

	*items = NULL;
	if (!n || n->kind == SONDE_NULL || n->kind == SONDE_MAP)
		return 0;
	out = sonde_ctx__alloc(scratch(c), nr + 1, sizeof(*out));
	if (!out)
		return 0;
	*items = out;
	if (n->kind != SONDE_LIST) {
		out[0] = scalar_text(c, n);
		return out[0].n ? 1 : 0;
	}
	for (i = 0; i < nr; i++)
		out[i] = scalar_text(c, n->seq.at[i]);
	return nr;
}

size_t sonde_config_keys(
	const struct sonde_config *c, const char *key, const struct sonde_str **names)
{
	const struct sonde_datum *n = sonde_config__node(c, key);
	struct sonde_str *out;
	uint32_t i;

	*names = NULL;
	if (!n || n->kind != SONDE_MAP)
		return 0;
	out = sonde_ctx__alloc(scratch(c), n->seq.nr + 1, sizeof(*out));
	if (!out)
		return 0;
	for (i = 0; i < n->seq.nr; i++)
		out[i] = scalar_text(c, n->seq.at[i]->key);
	*names = out;
	return n->seq.nr;
}

bool sonde_config_is_null(const struct sonde_config *c, const char *key)
{
	const struct sonde_datum *n = sonde_config__node(c, key);

	return !n || n->kind == SONDE_NULL || n->missing;
}

struct sonde_str sonde_config_origin(const struct sonde_config *c, const char *key)
{
	const struct sonde_datum *n = sonde_config__node(c, key);
	struct sonde_str name;

	if (!n || !n->from)
		return SONDE_STR("");
	name = n->from->name;
	if (n->from->is_override)
		return sonde_ctx__printf(scratch(c), "override '%.*s'", SONDE_STR_ARG(name));
	if (!n->line || sonde_str_is(name, "the default"))
		return name;
	return sonde_ctx__printf(scratch(c), "%.*s:%u", SONDE_STR_ARG(name), n->line);
}

struct sonde_str sonde_config_fingerprint(const struct sonde_config *c)
{
	const struct sonde_key *k;
	struct sonde_buf b = {0};
	uint64_t hash;

	for (k = sonde_keys__table; k->key; k++) {
		const struct sonde_datum *n = k->counts ? sonde_config__node(c, k->key) : NULL;

		if (!n)
			continue;
		sonde_buf_puts(&b, k->key);
		sonde_buf_putc(&b, '=');
		sonde_pytext__repr(&b, n);
		sonde_buf_putc(&b, '\n');
	}
	hash = sonde_hash(b.p ? b.p : "", b.n);
	sonde_buf_release(&b);
	return sonde_ctx__printf(scratch(c), "xxh3:%016" PRIx64, hash);
}

/* Sweeps. */

size_t sonde_config_nr_jobs(const struct sonde_config *c)
{
	return c->jobs ? c->jobs->seq.nr : 1;
}

size_t sonde_config_job_overrides(
	const struct sonde_config *master, size_t job, const struct sonde_str **lines)
{
	const struct sonde_datum *n;
	struct sonde_str *out;
	uint32_t i;

	*lines = NULL;
	if (!master->jobs || job >= master->jobs->seq.nr)
		return 0;
	n = master->jobs->seq.at[job];
	out = sonde_ctx__alloc(scratch(master), n->seq.nr + 1, sizeof(*out));
	if (!out)
		return 0;
	for (i = 0; i < n->seq.nr; i++)
		out[i] = n->seq.at[i]->s;
	*lines = out;
	return n->seq.nr;
}

int sonde_config_job_open(struct sonde_config **out, const struct sonde_config *master, size_t job,
	struct sonde_err *err)
{
	struct sonde_config_request req = master->req;
	struct sonde_config *c;
	const struct sonde_str *lines;
	size_t i, nr = sonde_config_job_overrides(master, job, &lines);

	*out = NULL;
	req.multirun = false;
	c = new_config(&req, master->compose.now);
	if (!c)
		return sonde_err_nomem(err);
	c->is_job = master->jobs != NULL;
	c->compose.job_num = (int64_t)job;
	c->compose.has_job_num = c->is_job;
	for (i = 0; i < master->compose.overrides.nr && !c->cx.fail.code; i++) {
		const struct sonde_override *o = &master->compose.overrides.at[i];

		if (!master->jobs || sonde_override__is_hydra(o))
			sonde_compose__override(&c->compose, o->line);
	}
	for (i = 0; i < nr && !c->cx.fail.code; i++)
		sonde_compose__override(&c->compose, lines[i]);
	return finish_open(out, c, err);
}

struct sonde_str sonde_config_run_dir(const struct sonde_config *c)
{
	struct sonde_str dir, sub;
	struct sonde_buf b = {0};

	if (!c->is_job)
		return sonde_config_str(c, "hydra.run.dir");
	dir = sonde_config_str(c, "hydra.sweep.dir");
	sub = sonde_config_str(c, "hydra.sweep.subdir");
	sonde_buf_str(&b, dir);
	sonde_buf_putc(&b, '/');
	sonde_buf_str(&b, sub);
	return sonde_ctx__take(scratch(c), &b);
}

void sonde_config_print_help(struct sonde_sink *out)
{
	sonde_keys__print_help(out);
}

void sonde_config_print_markdown(struct sonde_sink *out)
{
	sonde_keys__print_markdown(out);
}
