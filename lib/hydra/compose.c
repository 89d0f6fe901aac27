#include "hydra/compose.h"

#include "hydra/keys_int.h"
#include "hydra/merge.h"
#include "hydra/pytext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hydra_compose__override(struct hydra_compose *c, struct sonde_str line)
{
	struct hydra_override *o = sonde_vec_push(&c->overrides);

	if (!o)
		return hydra_ctx__nomem(c->cx);
	return hydra_override__parse(o, c->cx, line);
}

void hydra_compose__release(struct hydra_compose *c)
{
	hydra_search__release(&c->search);
	sonde_vec_release(&c->overrides);
	hydra_defaults__release(&c->defaults);
}

struct hydra_lookup hydra_compose__scope(struct hydra_compose *c)
{
	return (struct hydra_lookup){.cx = c->cx, .hydra = c->root, .now = c->now};
}

/* hydra.searchpath: from the command line, or else from the primary config itself. */

static int refuse_searchpath(struct hydra_compose *c, const struct hydra_datum *n)
{
	struct sonde_buf b = {0};
	int rc;

	hydra_pytext__str(&b, n);
	rc = hydra_ctx__fail(c->cx, "ConfigCompositionException",
		"hydra.searchpath must be a list of strings. Got: %s", b.p ? b.p : "");
	sonde_buf_release(&b);
	return rc;
}

static int add_searchpath(struct hydra_compose *c, struct hydra_datum *list, const char *provider)
{
	struct hydra_conf_source schema = c->search.sources.at[c->search.sources.nr - 1];
	struct hydra_lookup sc = hydra_compose__scope(c);
	uint32_t i;

	if (list->kind != HYDRA_LIST)
		return refuse_searchpath(c, list);
	for (i = 0; i < list->seq.nr; i++)
		if (list->seq.at[i]->kind != HYDRA_STRING)
			return refuse_searchpath(c, list);
	c->search.sources.nr--;
	for (i = 0; i < list->seq.nr; i++) {
		struct hydra_datum *n = hydra_interp__deref(&sc, list->seq.at[i]);
		struct sonde_str dir;

		if (!n || n->kind != HYDRA_STRING)
			return c->cx->fail.code ? c->cx->fail.code : refuse_searchpath(c, list);
		dir = n->s;
		if (sonde_str_starts(dir, "file://"))
			dir = (struct sonde_str){dir.p + 7, dir.n - 7};
		if (hydra_search__add(&c->search, HYDRA_SOURCE_DIR, provider, dir))
			return c->cx->fail.code;
		if (c->cx->notes && !hydra_search__is_available(
					    &c->search.sources.at[c->search.sources.nr - 1]))
			sonde_note(c->cx->notes, "provider=%s, path=%.*s is not available.",
				provider, SONDE_STR_ARG(dir));
	}
	return hydra_search__add(&c->search, schema.kind, schema.provider.p, schema.dir);
}

static int process_searchpath(struct hydra_compose *c)
{
	const struct hydra_loaded *file = NULL;
	struct hydra_datum *list = NULL;
	const char *provider = "hydra.searchpath in main";
	size_t i;

	if (c->name.n)
		file = hydra_search__load(&c->search, c->name);
	if (c->cx->fail.code)
		return c->cx->fail.code;
	if (file && file->config->kind != HYDRA_MAP)
		return hydra_ctx__fail(c->cx, "ConfigCompositionException",
			"primary config '%.*s' must be a DictConfig, got ListConfig",
			SONDE_STR_ARG(c->name));
	if (file)
		list = hydra_datum__path_get(file->config, "hydra.searchpath");
	for (i = 0; i < c->overrides.nr; i++) {
		const struct hydra_override *o = &c->overrides.at[i];

		if (o->kind != HYDRA_OVERRIDE_CHANGE || o->has_package || !o->value ||
			!sonde_str_is(o->key, "hydra.searchpath"))
			continue;
		provider = "hydra.searchpath in command-line";
		list = o->value;
		break;
	}
	if (!list || list->kind == HYDRA_NULL)
		return 0;
	return add_searchpath(c, list, provider);
}

static int check_sweeps(struct hydra_compose *c)
{
	size_t i;

	for (i = 0; i < c->overrides.nr; i++) {
		const struct hydra_override *o = &c->overrides.at[i];

		if (!hydra_datum__is_sweep(o->value))
			continue;
		if (c->multirun && hydra_override__is_hydra(o))
			return hydra_ctx__fail(c->cx, "ConfigCompositionException",
				"Sweeping over Hydra's configuration is not supported : '%.*s'",
				SONDE_STR_ARG(o->line));
		if (c->multirun)
			continue;
		if (o->value->kind == HYDRA_CHOICE && o->value->simple)
			return hydra_ctx__fail(c->cx, "ConfigCompositionException",
				"Ambiguous value for argument '%.*s'\n1. To use it as a list, use "
				"key=[value1,value2]\n2. To use it as string, quote the value: "
				"key=\\'value1,value2\\'\n3. To sweep over it, add --multirun to "
				"your "
				"command line",
				SONDE_STR_ARG(o->line));
		return hydra_ctx__fail(c->cx, "ConfigCompositionException",
			"Sweep parameters '%.*s' requires --multirun", SONDE_STR_ARG(o->line));
	}
	return 0;
}

/* The content of a file under its package. */
static struct hydra_datum *embed(
	struct hydra_compose *c, const struct hydra_datum *config, struct sonde_str package)
{
	struct hydra_datum *inner = hydra_datum__copy(c->cx, config), *outer;
	unsigned depth = 0;

	while (inner && package.n) {
		size_t i = package.n;

		while (i > 0 && package.p[i - 1] != '.')
			i--;
		outer = hydra_datum__new(c->cx, HYDRA_MAP);
		if (!outer || ++depth > HYDRA_MAX_DEPTH)
			return NULL;
		outer->from = inner->from;
		outer->line = inner->line;
		if (hydra_datum__set(c->cx, outer,
			    hydra_datum__string(
				    c->cx, (struct sonde_str){package.p + i, package.n - i}),
			    inner))
			return NULL;
		inner = outer;
		package.n = i ? i - 1 : 0;
	}
	return inner;
}

static int merge_one(struct hydra_compose *c, const struct hydra_default *d)
{
	const struct hydra_loaded *file = hydra_search__load(&c->search, d->config_path);
	struct hydra_lookup sc = hydra_compose__scope(c);
	struct hydra_datum *config, *searchpath;

	if (!file)
		return c->cx->fail.code;
	config = embed(c, file->config, d->package);
	if (!config)
		return c->cx->fail.code ? c->cx->fail.code
					: hydra_ctx__limit(c->cx, "the package '%.*s' is too deep",
						  SONDE_STR_ARG(d->package));
	searchpath = hydra_datum__path_get(config, "hydra.searchpath");
	if (searchpath && searchpath->kind != HYDRA_NULL && !d->primary &&
		!sonde_str_is(d->config_path, "hydra/config"))
		return hydra_ctx__fail(c->cx, "ConfigCompositionException",
			"In '%.*s': Overriding hydra.searchpath is only supported from the primary "
			"config",
			SONDE_STR_ARG(d->config_path));
	hydra_merge__into(&sc, c->root, config, false);
	if (hydra_ctx__is_value_error(c->cx)) {
		struct hydra_fail inner = c->cx->fail;

		hydra_ctx__clear(c->cx);
		hydra_ctx__fail(c->cx, "ConfigCompositionException",
			"In '%.*s': %s raised while composing config:\n%.*s",
			SONDE_STR_ARG(d->config_path), inner.type, SONDE_STR_ARG(inner.msg));
		c->cx->fail.where = inner.where;
	}
	if (sonde_str_is(d->config_path, "hydra/config"))
		hydra_merge__type_hydra(c->root);
	return c->cx->fail.code;
}

static int merge_all(struct hydra_compose *c)
{
	size_t i;

	c->root = hydra_datum__new(c->cx, HYDRA_MAP);
	if (c->root && c->keys && hydra_keys__fill(c->cx, c->keys, c->root))
		return c->cx->fail.code;
	for (i = 0; c->root && i < c->defaults.list.nr; i++)
		if (merge_one(c, &c->defaults.list.at[i]))
			return c->cx->fail.code;
	return c->cx->fail.code;
}

static int apply_overrides(struct hydra_compose *c)
{
	struct hydra_lookup sc = hydra_compose__scope(c);
	size_t i;

	for (i = 0; i < c->defaults.config_overrides.nr; i++)
		if (hydra_apply__override(&sc, c->root, c->defaults.config_overrides.at[i]))
			return c->cx->fail.code;
	return 0;
}

/* Runtime values of the hydra node. */

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
		struct sonde_buf line = {0};

		sonde_buf_str(&line, i ? sep : (struct sonde_str){0});
		sonde_buf_str(&line, lines[i]);
		for (k = 0; k < line.n; k++) {
			if (line.p[k] == '=')
				sonde_buf_str(&b, kv);
			else
				sonde_buf_putc(&b, line.p[k]);
		}
		b.failed |= line.failed;
		sonde_buf_release(&line);
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

	hydra_datum__setz(c->cx, runtime, "version", hydra_datum__text(c->cx, c->version));
	hydra_datum__setz(c->cx, runtime, "version_base", hydra_datum__text(c->cx, "1.3"));
	hydra_datum__setz(c->cx, runtime, "cwd", hydra_datum__text(c->cx, cwd ? cwd : "."));
	hydra_datum__setz(c->cx, runtime, "config_sources", sources_node(c));
	hydra_datum__setz(c->cx, runtime, "choices", hydra_datum__copy(c->cx, c->defaults.known));
	free(cwd);
	return c->cx->fail.code;
}

/* The variable by name, so that what is written about a run does not hold its value. */
static struct hydra_datum *variable(
	struct hydra_compose *c, struct sonde_str name, const char *value)
{
	size_t i;

	for (i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_')
			return hydra_datum__text(c->cx, value); /* no name for an interpolation */
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

static int fill_hydra(struct hydra_compose *c)
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

static int split_result(struct hydra_compose *c)
{
	struct hydra_datum *hydra;

	c->job = hydra_datum__copy(c->cx, c->root);
	hydra = c->job ? hydra_datum__getz(c->job, "hydra") : NULL;
	if (hydra)
		hydra_datum__remove(c->job, hydra_datum__index(hydra));
	return c->cx->fail.code;
}

static int compose(struct hydra_compose *c)
{
	struct sonde_str primary = c->name.n ? c->name : SONDE_STR(HYDRA_DUMMY_CONFIG);

	if (process_searchpath(c) || check_sweeps(c))
		return c->cx->fail.code;
	c->defaults.cx = c->cx;
	c->defaults.search = &c->search;
	c->defaults.skip_missing = c->multirun || c->skip_missing;
	if (hydra_defaults__build(&c->defaults, primary, c->overrides.at, c->overrides.nr, true))
		return c->cx->fail.code;
	if (merge_all(c) || apply_overrides(c) || fill_hydra(c))
		return c->cx->fail.code;
	return split_result(c);
}

int hydra_compose__run(struct hydra_compose *c)
{
	if (c->cx->fail.code)
		return c->cx->fail.code;
	compose(c);
	/* A value error that nobody gave a sentence to is the cause of an empty one. */
	if (hydra_ctx__is_value_error(c->cx))
		hydra_ctx__wrap(c->cx, "ConfigCompositionException", "%s", "");
	return c->cx->fail.code;
}
