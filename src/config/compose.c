#include "config/compose.h"

#include "config/merge.h"
#include "config/pytext.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sonde_compose__override(struct sonde_compose *c, struct sonde_str line)
{
	struct sonde_override *o = sonde_vec_push(&c->overrides);

	if (!o)
		return sonde_ctx__nomem(c->cx);
	return sonde_override__parse(o, c->cx, line);
}

void sonde_compose__release(struct sonde_compose *c)
{
	sonde_search__release(&c->search);
	sonde_vec_release(&c->overrides);
	sonde_defaults__release(&c->defaults);
}

struct sonde_lookup sonde_compose__scope(struct sonde_compose *c)
{
	return (struct sonde_lookup){.cx = c->cx, .hydra = c->root, .now = c->now};
}

/* hydra.searchpath: from the command line, or else from the primary config itself. */

static int bad_searchpath(struct sonde_compose *c, const struct sonde_datum *n)
{
	struct sonde_buf b = {0};
	int rc;

	sonde_pytext__str(&b, n);
	rc = sonde_ctx__fail(c->cx, "ConfigCompositionException",
		"hydra.searchpath must be a list of strings. Got: %s", b.p ? b.p : "");
	sonde_buf_release(&b);
	return rc;
}

static int add_searchpath(struct sonde_compose *c, struct sonde_datum *list, const char *provider)
{
	struct sonde_conf_source schema = c->search.sources.at[c->search.sources.nr - 1];
	struct sonde_lookup sc = sonde_compose__scope(c);
	uint32_t i;

	if (list->kind != SONDE_LIST)
		return bad_searchpath(c, list);
	for (i = 0; i < list->seq.nr; i++)
		if (list->seq.at[i]->kind != SONDE_STRING)
			return bad_searchpath(c, list);
	c->search.sources.nr--;
	for (i = 0; i < list->seq.nr; i++) {
		struct sonde_datum *n = sonde_interp__deref(&sc, list->seq.at[i]);
		struct sonde_str dir;

		if (!n || n->kind != SONDE_STRING)
			return c->cx->fail.code ? c->cx->fail.code : bad_searchpath(c, list);
		dir = n->s;
		if (sonde_str_starts(dir, "file://"))
			dir = (struct sonde_str){dir.p + 7, dir.n - 7};
		if (sonde_search__add(&c->search, SONDE_SOURCE_DIR, provider, dir))
			return c->cx->fail.code;
		if (c->cx->notes && !sonde_search__is_available(
					    &c->search.sources.at[c->search.sources.nr - 1]))
			sonde_note(c->cx->notes, "provider=%s, path=%.*s is not available.",
				provider, SONDE_STR_ARG(dir));
	}
	return sonde_search__add(&c->search, schema.kind, schema.provider.p, schema.dir);
}

static int process_searchpath(struct sonde_compose *c)
{
	const struct sonde_loaded *file = NULL;
	struct sonde_datum *list = NULL;
	const char *provider = "hydra.searchpath in main";
	size_t i;

	if (c->name.n)
		file = sonde_search__load(&c->search, c->name);
	if (c->cx->fail.code)
		return c->cx->fail.code;
	if (file && file->config->kind != SONDE_MAP)
		return sonde_ctx__fail(c->cx, "ConfigCompositionException",
			"primary config '%.*s' must be a DictConfig, got ListConfig",
			SONDE_STR_ARG(c->name));
	if (file)
		list = sonde_datum__path_get(file->config, "hydra.searchpath");
	for (i = 0; i < c->overrides.nr; i++) {
		const struct sonde_override *o = &c->overrides.at[i];

		if (o->kind != SONDE_OVERRIDE_CHANGE || o->has_package || !o->value ||
			!sonde_str_is(o->key, "hydra.searchpath"))
			continue;
		provider = "hydra.searchpath in command-line";
		list = o->value;
		break;
	}
	if (!list || list->kind == SONDE_NULL)
		return 0;
	return add_searchpath(c, list, provider);
}

static int check_sweeps(struct sonde_compose *c)
{
	size_t i;

	for (i = 0; i < c->overrides.nr; i++) {
		const struct sonde_override *o = &c->overrides.at[i];

		if (!sonde_datum__is_sweep(o->value))
			continue;
		if (c->multirun && sonde_override__is_hydra(o))
			return sonde_ctx__fail(c->cx, "ConfigCompositionException",
				"Sweeping over Hydra's configuration is not supported : '%.*s'",
				SONDE_STR_ARG(o->line));
		if (c->multirun)
			continue;
		if (o->value->kind == SONDE_CHOICE && o->value->simple)
			return sonde_ctx__fail(c->cx, "ConfigCompositionException",
				"Ambiguous value for argument '%.*s'\n1. To use it as a list, use "
				"key=[value1,value2]\n2. To use it as string, quote the value: "
				"key=\\'value1,value2\\'\n3. To sweep over it, add --multirun to "
				"your "
				"command line",
				SONDE_STR_ARG(o->line));
		return sonde_ctx__fail(c->cx, "ConfigCompositionException",
			"Sweep parameters '%.*s' requires --multirun", SONDE_STR_ARG(o->line));
	}
	return 0;
}

/* The content of a file under its package. */
static struct sonde_datum *embed(
	struct sonde_compose *c, const struct sonde_datum *config, struct sonde_str package)
{
	struct sonde_datum *inner = sonde_datum__copy(c->cx, config), *outer;
	unsigned depth = 0;

	while (inner && package.n) {
		size_t i = package.n;

		while (i > 0 && package.p[i - 1] != '.')
			i--;
		outer = sonde_datum__new(c->cx, SONDE_MAP);
		if (!outer || ++depth > SONDE_MAX_DEPTH)
			return NULL;
		outer->from = inner->from;
		outer->line = inner->line;
		if (sonde_datum__set(c->cx, outer,
			    sonde_datum__string(
				    c->cx, (struct sonde_str){package.p + i, package.n - i}),
			    inner))
			return NULL;
		inner = outer;
		package.n = i ? i - 1 : 0;
	}
	return inner;
}

static int merge_one(struct sonde_compose *c, const struct sonde_default *d)
{
	const struct sonde_loaded *file = sonde_search__load(&c->search, d->config_path);
	struct sonde_lookup sc = sonde_compose__scope(c);
	struct sonde_datum *config, *searchpath;

	if (!file)
		return c->cx->fail.code;
	config = embed(c, file->config, d->package);
	if (!config)
		return c->cx->fail.code ? c->cx->fail.code
					: sonde_ctx__limit(c->cx, "the package '%.*s' is too deep",
						  SONDE_STR_ARG(d->package));
	searchpath = sonde_datum__path_get(config, "hydra.searchpath");
	if (searchpath && searchpath->kind != SONDE_NULL && !d->primary &&
		!sonde_str_is(d->config_path, "hydra/config"))
		return sonde_ctx__fail(c->cx, "ConfigCompositionException",
			"In '%.*s': Overriding hydra.searchpath is only supported from the primary "
			"config",
			SONDE_STR_ARG(d->config_path));
	sonde_merge__into(&sc, c->root, config, false);
	if (sonde_ctx__is_value_error(c->cx)) {
		struct sonde_fail inner = c->cx->fail;

		sonde_ctx__clear(c->cx);
		sonde_ctx__fail(c->cx, "ConfigCompositionException",
			"In '%.*s': %s raised while composing config:\n%.*s",
			SONDE_STR_ARG(d->config_path), inner.type, SONDE_STR_ARG(inner.msg));
		c->cx->fail.where = inner.where;
	}
	if (sonde_str_is(d->config_path, "hydra/config"))
		sonde_merge__type_hydra(c->root);
	return c->cx->fail.code;
}

static int merge_all(struct sonde_compose *c)
{
	size_t i;

	c->root = sonde_datum__new(c->cx, SONDE_MAP);
	for (i = 0; c->root && i < c->defaults.list.nr; i++)
		if (merge_one(c, &c->defaults.list.at[i]))
			return c->cx->fail.code;
	return c->cx->fail.code;
}

static int apply_overrides(struct sonde_compose *c)
{
	struct sonde_lookup sc = sonde_compose__scope(c);
	size_t i;

	for (i = 0; i < c->defaults.config_overrides.nr; i++)
		if (sonde_apply__override(&sc, c->root, c->defaults.config_overrides.at[i]))
			return c->cx->fail.code;
	return 0;
}

/* Runtime values of the hydra node. */

static int compare_lines(const void *a, const void *b)
{
	return sonde_str_cmp(*(const struct sonde_str *)a, *(const struct sonde_str *)b);
}

static bool is_excluded(const struct sonde_datum *keys, struct sonde_str key)
{
	uint32_t i;

	for (i = 0; keys && keys->kind == SONDE_LIST && i < keys->seq.nr; i++)
		if (sonde_str_eq(keys->seq.at[i]->s, key))
			return true;
	return false;
}

static struct sonde_str option_text(
	struct sonde_datum *options, const char *key, const char *fallback)
{
	struct sonde_datum *n = sonde_datum__getz(options, key);

	return n && n->kind == SONDE_STRING ? n->s : sonde_str_from(fallback);
}

struct sonde_str sonde_compose__dirname(struct sonde_compose *c)
{
	struct sonde_datum *options =
		sonde_datum__path_get(c->root, "hydra.job.config.override_dirname");
	struct sonde_str kv = option_text(options, "kv_sep", "=");
	struct sonde_str sep = option_text(options, "item_sep", ",");
	struct sonde_str *lines =
		sonde_ctx__alloc(c->cx, c->overrides.nr + 1, sizeof(struct sonde_str));
	struct sonde_buf b = {0};
	size_t i, k, nr = 0;

	for (i = 0; lines && i < c->overrides.nr; i++) {
		const struct sonde_override *o = &c->overrides.at[i];

		if (!sonde_override__is_hydra(o) &&
			!is_excluded(sonde_datum__getz(options, "exclude_keys"), o->key))
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
	return sonde_ctx__take(c->cx, &b);
}

static struct sonde_datum *sources_node(struct sonde_compose *c)
{
	static const char *const schemas[] = {"pkg", "file", "structured"};
	struct sonde_datum *list = sonde_datum__new(c->cx, SONDE_LIST), *map;
	size_t i;

	for (i = 0; list && i < c->search.sources.nr; i++) {
		const struct sonde_conf_source *src = &c->search.sources.at[i];
		struct sonde_buf b = {0};
		struct sonde_str path;

		sonde_search__location(src, &b);
		path = sonde_ctx__take(c->cx, &b);
		path.p = path.p ? strstr(path.p, "://") : NULL;
		map = sonde_datum__new(c->cx, SONDE_MAP);
		if (!map || !path.p)
			return NULL;
		sonde_datum__setz(c->cx, map, "path", sonde_datum__text(c->cx, path.p + 3));
		sonde_datum__setz(
			c->cx, map, "schema", sonde_datum__text(c->cx, schemas[src->kind]));
		sonde_datum__setz(
			c->cx, map, "provider", sonde_datum__string(c->cx, src->provider));
		sonde_datum__push(c->cx, list, map);
	}
	return list;
}

static int fill_job(struct sonde_compose *c, struct sonde_datum *job)
{
	struct sonde_datum *name = sonde_datum__getz(job, "name");

	if (!name || name->missing)
		sonde_datum__setz(c->cx, job, "name", sonde_datum__text(c->cx, c->job_name));
	if (c->has_job_num) {
		sonde_datum__setz(c->cx, job, "num", sonde_datum__int(c->cx, c->job_num));
		sonde_datum__setz(c->cx, job, "id",
			sonde_datum__string(
				c->cx, sonde_ctx__printf(c->cx, "%lld", (long long)c->job_num)));
	}
	sonde_datum__setz(c->cx, job, "override_dirname",
		sonde_datum__string(c->cx, sonde_compose__dirname(c)));
	return sonde_datum__setz(c->cx, job, "config_name",
		c->name.n ? sonde_datum__string(c->cx, c->name)
			  : sonde_datum__new(c->cx, SONDE_NULL));
}

static int fill_runtime(struct sonde_compose *c, struct sonde_datum *runtime)
{
	char *cwd = getcwd(NULL, 0);

	sonde_datum__setz(c->cx, runtime, "version", sonde_datum__text(c->cx, c->version));
	sonde_datum__setz(c->cx, runtime, "version_base", sonde_datum__text(c->cx, "1.3"));
	sonde_datum__setz(c->cx, runtime, "cwd", sonde_datum__text(c->cx, cwd ? cwd : "."));
	sonde_datum__setz(c->cx, runtime, "config_sources", sources_node(c));
	sonde_datum__setz(c->cx, runtime, "choices", sonde_datum__copy(c->cx, c->defaults.known));
	free(cwd);
	return c->cx->fail.code;
}

static int fill_env(struct sonde_compose *c, struct sonde_datum *hydra)
{
	struct sonde_datum *copy = sonde_datum__path_get(hydra, "job.env_copy");
	struct sonde_datum *set = sonde_datum__path_get(hydra, "job.env_set");
	uint32_t i;

	for (i = 0; copy && set && copy->kind == SONDE_LIST && set->kind == SONDE_MAP &&
		    i < copy->seq.nr;
		i++) {
		struct sonde_datum *n = copy->seq.at[i];
		const char *value = n->kind == SONDE_STRING ? getenv(n->s.p) : NULL;

		if (!value)
			return sonde_ctx__fail(c->cx, "KeyError", "'%.*s'", SONDE_STR_ARG(n->s));
		sonde_datum__set(c->cx, set, sonde_datum__string(c->cx, n->s),
			sonde_datum__text(c->cx, value));
	}
	return c->cx->fail.code;
}

static int fill_hydra(struct sonde_compose *c)
{
	struct sonde_datum *hydra = sonde_datum__getz(c->root, "hydra"), *list;
	size_t i;

	if (!hydra || hydra->kind != SONDE_MAP)
		return 0;
	for (i = 0; i < c->overrides.nr; i++) {
		const struct sonde_override *o = &c->overrides.at[i];

		list = sonde_datum__path_get(
			hydra, sonde_override__is_hydra(o) ? "overrides.hydra" : "overrides.task");
		if (list && list->kind == SONDE_LIST)
			sonde_datum__push(c->cx, list, sonde_datum__string(c->cx, o->line));
	}
	if (sonde_datum__getz(hydra, "runtime") &&
		fill_runtime(c, sonde_datum__getz(hydra, "runtime")))
		return c->cx->fail.code;
	if (fill_env(c, hydra))
		return c->cx->fail.code;
	return sonde_datum__getz(hydra, "job") ? fill_job(c, sonde_datum__getz(hydra, "job")) : 0;
}

static int split_result(struct sonde_compose *c)
{
	struct sonde_datum *hydra;

	c->job = sonde_datum__copy(c->cx, c->root);
	hydra = c->job ? sonde_datum__getz(c->job, "hydra") : NULL;
	if (hydra)
		sonde_datum__remove(c->job, sonde_datum__index(hydra));
	return c->cx->fail.code;
}

static int compose(struct sonde_compose *c)
{
	struct sonde_str primary = c->name.n ? c->name : SONDE_STR(SONDE_DUMMY_CONFIG);

	if (process_searchpath(c) || check_sweeps(c))
		return c->cx->fail.code;
	c->defaults.cx = c->cx;
	c->defaults.search = &c->search;
	c->defaults.skip_missing = c->multirun || c->skip_missing;
	if (sonde_defaults__build(&c->defaults, primary, c->overrides.at, c->overrides.nr, true))
		return c->cx->fail.code;
	if (merge_all(c) || apply_overrides(c) || fill_hydra(c))
		return c->cx->fail.code;
	return split_result(c);
}

int sonde_compose__run(struct sonde_compose *c)
{
	if (c->cx->fail.code)
		return c->cx->fail.code;
	compose(c);
	/* A value error that nobody gave a sentence to is the cause of an empty one. */
	if (sonde_ctx__is_value_error(c->cx))
		sonde_ctx__wrap(c->cx, "ConfigCompositionException", "%s", "");
	return c->cx->fail.code;
}
