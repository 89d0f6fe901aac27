/*
 * The steps of a composition, in order: the search path, the defaults list, merging the files under their
 * packages, the overrides, and the values that are known only at run time.
 */
#include "hydra/compose.h"

#include "hydra/keys_int.h"
#include "hydra/merge.h"
#include "hydra/pytext.h"

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

static int refuse_searchpath(struct hydra_compose *c, const struct hydra_datum *n)
{
	struct sonde_str got = hydra_pytext__show(c->cx, n);

	return hydra_ctx__fail(c->cx, "ConfigCompositionException",
		"hydra.searchpath must be a list of strings. Got: %.*s", SONDE_STR_ARG(got));
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

/* Adds hydra.searchpath to the sources: the list from the command line, or else that of the primary config itself. */
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

/* The contents of a file, inside the nested maps of its package. */
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

static int split_result(struct hydra_compose *c)
{
	c->job = hydra_datum__copy(c->cx, c->root);
	hydra_datum__drop(hydra_datum__getz(c->job, "hydra"));
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
	if (merge_all(c) || apply_overrides(c) || hydra_compose__fill(c))
		return c->cx->fail.code;
	return split_result(c);
}

int hydra_compose__run(struct hydra_compose *c)
{
	if (c->cx->fail.code)
		return c->cx->fail.code;
	compose(c);
	/* A value error that was not wrapped yet becomes the cause of a composition error with an empty message. */
	if (hydra_ctx__is_value_error(c->cx))
		hydra_ctx__wrap(c->cx, "ConfigCompositionException", "%s", "");
	return c->cx->fail.code;
}
