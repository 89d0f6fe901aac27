/* Fills in the values of the `hydra` node that are known only at run time: the job, the overrides, the sources, the
 * environment. */
#include "hydra/compose.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HYDRA_VERSION "1.3.2" /* the version of Hydra whose language this library implements */

static int compare_lines(const void *a, const void *b)
{
	return sonde_str_cmp(*(const struct sonde_str *)a, *(const struct sonde_str *)b);
}

static bool is_excluded(const struct hydra_datum *keys, struct sonde_str key)
{
	uint32_t i;

	for (i = 0; keys && keys->kind == HYDRA_LIST && i < keys->seq.nr; i++)
		if (sonde_str_eq(keys->seq.at[i]->s, key))
			return true;
	return false;
}

static struct sonde_str option_text(
	struct hydra_datum *options, const char *key, const char *fallback)
{
	struct hydra_datum *n = hydra_datum__getz(options, key);

	return n && n->kind == HYDRA_STRING ? n->s : sonde_str_from(fallback);
}

struct sonde_str hydra_compose__dirname(struct hydra_compose *c)
{
	struct hydra_datum *options =
		hydra_datum__path_get(c->root, "hydra.job.config.override_dirname");
	struct sonde_str kv = option_text(options, "kv_sep", "=");
	struct sonde_str sep = option_text(options, "item_sep", ",");
	struct sonde_str *lines =
		hydra_ctx__alloc(c->cx, c->overrides.nr + 1, sizeof(struct sonde_str));
	struct sonde_buf b = {0};
	size_t i, k, nr = 0;

	for (i = 0; lines && i < c->overrides.nr; i++) {
		const struct hydra_override *o = &c->overrides.at[i];

		if (!hydra_override__is_hydra(o) &&
			!is_excluded(hydra_datum__getz(options, "exclude_keys"), o->key))
			lines[nr++] = o->line;
	}
	if (nr)
		qsort(lines, nr, sizeof(*lines), compare_lines);
	for (i = 0; i < nr; i++) {
		struct sonde_str line = HYDRA_JOIN(c->cx, i ? sep : SONDE_STR(""), lines[i]);

		for (k = 0; k < line.n; k++)
			sonde_buf_str(
				&b, line.p[k] == '=' ? kv : (struct sonde_str){line.p + k, 1});
	}
	return hydra_ctx__take(c->cx, &b);
}

static struct hydra_datum *sources_node(struct hydra_compose *c)
{
	static const char *const schemas[] = {"pkg", "file", "structured"};
	struct hydra_datum *list = hydra_datum__new(c->cx, HYDRA_LIST), *map;
	size_t i;

	for (i = 0; list && i < c->search.sources.nr; i++) {
		const struct hydra_conf_source *src = &c->search.sources.at[i];
		struct sonde_buf b = {0};
		struct sonde_str path;

		hydra_search__location(src, &b);
		path = hydra_ctx__take(c->cx, &b);
		path.p = path.p ? strstr(path.p, "://") : NULL;
		map = hydra_datum__new(c->cx, HYDRA_MAP);
		if (!map || !path.p)
			return NULL;
		hydra_datum__setz(c->cx, map, "path", hydra_datum__text(c->cx, path.p + 3));
		hydra_datum__setz(
			c->cx, map, "schema", hydra_datum__text(c->cx, schemas[src->kind]));
		hydra_datum__setz(
			c->cx, map, "provider", hydra_datum__string(c->cx, src->provider));
		hydra_datum__push(c->cx, list, map);
	}
	return list;
}

static int fill_job(struct hydra_compose *c, struct hydra_datum *job)
{
	struct hydra_datum *name = hydra_datum__getz(job, "name");

	if (!name || name->missing)
		hydra_datum__setz(c->cx, job, "name", hydra_datum__text(c->cx, c->job_name));
	if (c->has_job_num) {
		hydra_datum__setz(c->cx, job, "num", hydra_datum__int(c->cx, c->job_num));
		hydra_datum__setz(c->cx, job, "id",
			hydra_datum__string(
				c->cx, hydra_ctx__printf(c->cx, "%lld", (long long)c->job_num)));
	}
	hydra_datum__setz(c->cx, job, "override_dirname",
		hydra_datum__string(c->cx, hydra_compose__dirname(c)));
	return hydra_datum__setz(c->cx, job, "config_name",
		c->name.n ? hydra_datum__string(c->cx, c->name)
			  : hydra_datum__new(c->cx, HYDRA_NULL));
}

static int fill_runtime(struct hydra_compose *c, struct hydra_datum *runtime)
{
	char *cwd = getcwd(NULL, 0);

	hydra_datum__setz(c->cx, runtime, "version", hydra_datum__text(c->cx, HYDRA_VERSION));
	hydra_datum__setz(c->cx, runtime, "version_base", hydra_datum__text(c->cx, "1.3"));
	hydra_datum__setz(c->cx, runtime, "cwd", hydra_datum__text(c->cx, cwd ? cwd : "."));
	hydra_datum__setz(c->cx, runtime, "config_sources", sources_node(c));
	hydra_datum__setz(c->cx, runtime, "choices", hydra_datum__copy(c->cx, c->defaults.known));
	free(cwd);
	return c->cx->fail.code;
}

/* An interpolation of an environment variable, so that the records of a run do not contain its value. */
static struct hydra_datum *variable(
	struct hydra_compose *c, struct sonde_str name, const char *value)
{
	size_t i;

	for (i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_')
			return hydra_datum__text(c->cx, value); /* an interpolation cannot contain this name */
	return hydra_datum__string(
		c->cx, hydra_ctx__printf(c->cx, "${oc.env:%.*s}", SONDE_STR_ARG(name)));
}

static int fill_env(struct hydra_compose *c, struct hydra_datum *hydra)
{
	struct hydra_datum *copy = hydra_datum__path_get(hydra, "job.env_copy");
	struct hydra_datum *set = hydra_datum__path_get(hydra, "job.env_set");
	uint32_t i;

	for (i = 0; copy && set && copy->kind == HYDRA_LIST && set->kind == HYDRA_MAP &&
		    i < copy->seq.nr;
		i++) {
		struct hydra_datum *n = copy->seq.at[i];
		const char *value = n->kind == HYDRA_STRING ? getenv(n->s.p) : NULL;

		if (!value)
			return hydra_ctx__fail(c->cx, "KeyError", "'%.*s'", SONDE_STR_ARG(n->s));
		hydra_datum__set(
			c->cx, set, hydra_datum__string(c->cx, n->s), variable(c, n->s, value));
	}
	return c->cx->fail.code;
}

int hydra_compose__fill(struct hydra_compose *c)
{
	struct hydra_datum *hydra = hydra_datum__getz(c->root, "hydra"), *list;
	size_t i;

	if (!hydra || hydra->kind != HYDRA_MAP)
		return 0;
	for (i = 0; i < c->overrides.nr; i++) {
		const struct hydra_override *o = &c->overrides.at[i];

		list = hydra_datum__path_get(
			hydra, hydra_override__is_hydra(o) ? "overrides.hydra" : "overrides.task");
		if (list && list->kind == HYDRA_LIST)
			hydra_datum__push(c->cx, list, hydra_datum__string(c->cx, o->line));
	}
	if (hydra_datum__getz(hydra, "runtime") &&
		fill_runtime(c, hydra_datum__getz(hydra, "runtime")))
		return c->cx->fail.code;
	if (fill_env(c, hydra))
		return c->cx->fail.code;
	return hydra_datum__getz(hydra, "job") ? fill_job(c, hydra_datum__getz(hydra, "job")) : 0;
}
