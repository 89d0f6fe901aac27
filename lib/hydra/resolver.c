/* The built-in resolvers: ${oc.env:…}, ${oc.select:…}, ${now:…}, ${hydra:…} and others. */
#include "hydra/interp.h"

#include "hydra/pytext.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct call {
	struct hydra_lookup *sc;
	struct hydra_datum *args, *container, *self;
};

static struct hydra_datum *arg(const struct call *c, uint32_t i)
{
	return i < c->args->seq.nr ? c->args->seq.at[i] : NULL;
}

static struct hydra_datum *null(const struct call *c)
{
	return hydra_datum__new(c->sc->cx, HYDRA_NULL);
}

/* Gets the first argument, which must be a string; false with a failure when it is not. */
static bool text_arg(const struct call *c, const char *name, struct sonde_str *out)
{
	struct hydra_datum *n = arg(c, 0);

	if (n && n->kind == HYDRA_STRING) {
		*out = n->s;
		return true;
	}
	hydra_ctx__fail(c->sc->cx, "TypeError", "%s needs a string as its first argument", name);
	return false;
}

static struct hydra_datum *env(const struct call *c)
{
	struct hydra_datum *fallback = arg(c, 1);
	struct sonde_str name;
	const char *value;

	if (!text_arg(c, "oc.env", &name))
		return NULL;
	value = name.p && strlen(name.p) == name.n ? getenv(name.p) : NULL;
	if (value) {
		c->sc->cx->env_reads++;
		return hydra_datum__text(c->sc->cx, value);
	}
	if (fallback && fallback->kind == HYDRA_NULL)
		return null(c);
	if (fallback)
		return hydra_datum__string(c->sc->cx, hydra_pytext__show(c->sc->cx, fallback));
	if (c->sc->cx->keeps_env)
		return hydra_datum__string(
			c->sc->cx, hydra_ctx__printf(c->sc->cx, "${oc.env:%.*s}", SONDE_STR_ARG(name)));
	return hydra_ctx__refuse(c->sc->cx, "KeyError", "\"Environment variable '%.*s' not found\"",
		SONDE_STR_ARG(name));
}

static struct hydra_datum *select_key(const struct call *c)
{
	struct hydra_datum *n;
	struct sonde_str path;

	if (!text_arg(c, "oc.select", &path))
		return NULL;
	n = hydra_interp__select(c->sc, c->container, path, false);
	if (c->sc->cx->fail.code)
		return NULL;
	if (n && !n->missing)
		return n;
	return arg(c, 1) ? arg(c, 1) : null(c);
}

static struct hydra_datum *decode(const struct call *c)
{
	struct hydra_datum *n = arg(c, 0);
	struct sonde_str shown;

	if (!n || n->kind == HYDRA_NULL)
		return null(c);
	if (n->kind == HYDRA_STRING)
		return hydra_interp__eval_element(c->sc, n->s, c->container, c->self);
	shown = hydra_pytext__show(c->sc->cx, n);
	return hydra_ctx__refuse(c->sc->cx, "TypeError",
		"`oc.decode` can only take strings or None as input, but `%.*s` is of type %s",
		SONDE_STR_ARG(shown), hydra_datum__type_name(n));
}

static void clear_raw(struct hydra_datum *n)
{
	uint32_t i;

	n->raw = false;
	if (!hydra_datum__is_container(n))
		return;
	for (i = 0; i < n->seq.nr; i++)
		clear_raw(n->seq.at[i]);
}

static struct hydra_datum *create(const struct call *c)
{
	struct hydra_datum *n = hydra_datum__copy(c->sc->cx, arg(c, 0));

	if (!arg(c, 0))
		return null(c);
	if (n) {
		clear_raw(n);
		n->parent = c->container;
	}
	return n;
}

static struct hydra_datum *dict_arg(const struct call *c, const char *name, struct sonde_str *path)
{
	struct hydra_datum *n;

	if (!text_arg(c, name, path))
		return NULL;
	n = hydra_interp__select(c->sc, c->container, *path, false);
	if (c->sc->cx->fail.code)
		return NULL;
	if (n && n->kind == HYDRA_MAP)
		return n;
	if (!n)
		return hydra_ctx__refuse(
			c->sc->cx, "ConfigKeyError", "Key not found: '%.*s'", SONDE_STR_ARG(*path));
	return hydra_ctx__refuse(c->sc->cx, "TypeError",
		"`%s` cannot be applied to objects of type: %s", name,
		n->kind == HYDRA_LIST ? "ListConfig" : hydra_datum__type_name(n));
}

static struct hydra_datum *dict_keys(const struct call *c)
{
	struct hydra_ctx *cx = c->sc->cx;
	struct hydra_datum *list = hydra_datum__new(cx, HYDRA_LIST), *map;
	struct sonde_str path;
	uint32_t i;

	map = dict_arg(c, "oc.dict.keys", &path);
	if (!map || !list)
		return NULL;
	list->parent = c->container;
	for (i = 0; i < map->seq.nr; i++)
		if (hydra_datum__push(cx, list, hydra_datum__copy(cx, map->seq.at[i]->key)))
			return NULL;
	return list;
}

/* Returns a list of interpolations, one per key of the map: its items are whatever the map's values are when asked for. */
static struct hydra_datum *dict_values(const struct call *c)
{
	struct hydra_ctx *cx = c->sc->cx;
	struct hydra_datum *list = hydra_datum__new(cx, HYDRA_LIST), *map;
	struct sonde_str path;
	uint32_t i;

	map = dict_arg(c, "oc.dict.values", &path);
	if (!map || !list)
		return NULL;
	list->parent = c->container;
	for (i = 0; i < map->seq.nr; i++) {
		struct sonde_str text = HYDRA_JOIN(cx,
			path.n && path.p[0] == '.' ? SONDE_STR("${.") : SONDE_STR("${"), path,
			SONDE_STR("."), hydra_pytext__show(cx, map->seq.at[i]->key),
			SONDE_STR("}"));

		if (hydra_datum__push(cx, list, hydra_datum__string(cx, text)))
			return NULL;
	}
	return list;
}

static struct hydra_datum *deprecated(const struct call *c)
{
	struct hydra_ctx *cx = c->sc->cx;
	struct sonde_str path, old = {0}, now;
	struct hydra_datum *n;

	if (!text_arg(c, "oc.deprecated", &path))
		return NULL;
	if (c->self)
		old = hydra_datum__path(cx, c->self);
	n = hydra_interp__select(c->sc, c->container, path, false);
	if (cx->fail.code)
		return NULL;
	if (!n)
		return hydra_ctx__refuse(cx, "ConfigKeyError",
			"In oc.deprecated resolver at '%.*s': Key not found: '%.*s'",
			SONDE_STR_ARG(old), SONDE_STR_ARG(path));
	now = hydra_datum__path(cx, n);
	if (cx->notes && arg(c, 1) && arg(c, 1)->kind == HYDRA_STRING)
		sonde_note(cx->notes, "%.*s", SONDE_STR_ARG(arg(c, 1)->s));
	else if (cx->notes)
		sonde_note(cx->notes,
			"'%.*s' is deprecated. Change your code and config to use '%.*s'",
			SONDE_STR_ARG(old), SONDE_STR_ARG(now));
	return n;
}

static struct hydra_datum *now(const struct call *c)
{
	struct sonde_str format;
	time_t seconds = (time_t)c->sc->now;
	struct tm tm;
	char out[512];
	size_t n;

	if (!text_arg(c, "now", &format))
		return NULL;
	if (!format.n)
		return hydra_datum__text(c->sc->cx, "");
	if (!localtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof(tm));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = format.n < 200 ? strftime(out, sizeof(out), format.p, &tm) : 0;
#pragma GCC diagnostic pop
	if (!n)
		return hydra_ctx__refuse(c->sc->cx, "ValueError", "the time format is too long");
	return hydra_datum__string(
		c->sc->cx, hydra_ctx__dup(c->sc->cx, (struct sonde_str){out, n}));
}

static struct hydra_datum *hydra(const struct call *c)
{
	struct hydra_datum *n;
	struct sonde_str path;

	if (!text_arg(c, "hydra", &path))
		return NULL;
	if (!c->sc->hydra)
		return hydra_ctx__refuse(c->sc->cx, "ValueError", "HydraConfig was not set");
	path = HYDRA_JOIN(c->sc->cx, SONDE_STR("hydra."), path);
	n = hydra_interp__select(c->sc, c->sc->hydra, path, false);
	if (c->sc->cx->fail.code)
		return NULL;
	return n ? n : null(c);
}

static const struct {
	const char *name;
	struct hydra_datum *(*fn)(const struct call *c);
} resolvers[] = {
	{"oc.env", env},
	{"oc.select", select_key},
	{"oc.decode", decode},
	{"oc.create", create},
	{"oc.dict.keys", dict_keys},
	{"oc.dict.values", dict_values},
	{"oc.deprecated", deprecated},
	{"now", now},
	{"hydra", hydra},
};

struct hydra_datum *hydra_interp__resolver(struct hydra_lookup *sc, struct sonde_str name,
	struct hydra_datum *args, struct hydra_datum *container, struct hydra_datum *self)
{
	struct call c = {sc, args, container, self};
	struct hydra_datum *n;
	size_t i;

	for (i = 0; i < sizeof(resolvers) / sizeof(resolvers[0]); i++)
		if (sonde_str_is(name, resolvers[i].name))
			return resolvers[i].fn(&c);
	n = sc->extra ? sc->extra(sc, name, args) : NULL;
	return n ? n
		 : hydra_ctx__refuse(sc->cx, "UnsupportedInterpolationType",
			   "Unsupported interpolation type %.*s", SONDE_STR_ARG(name));
}
