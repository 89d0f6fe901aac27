/* The resolvers: ${oc.env:…}, ${oc.select:…}, ${now:…}, ${hydra:…} and their kin. */
#include "config/interp.h"

#include "config/pytext.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct call {
	struct sonde_lookup *sc;
	struct sonde_datum *args, *container, *self;
};

static struct sonde_datum *arg(const struct call *c, uint32_t i)
{
	return i < c->args->seq.nr ? c->args->seq.at[i] : NULL;
}

static struct sonde_datum *null(const struct call *c)
{
	return sonde_datum__new(c->sc->cx, SONDE_NULL);
}

/* The first argument as text; a failure when it is not a string. */
static bool text_arg(const struct call *c, const char *name, struct sonde_str *out)
{
	struct sonde_datum *n = arg(c, 0);

	if (n && n->kind == SONDE_STRING) {
		*out = n->s;
		return true;
	}
	sonde_ctx__fail(c->sc->cx, "TypeError", "%s needs a string as its first argument", name);
	return false;
}

static struct sonde_datum *env(const struct call *c)
{
	struct sonde_datum *fallback = arg(c, 1);
	struct sonde_str name;
	struct sonde_buf b = {0};
	const char *value;

	if (!text_arg(c, "oc.env", &name))
		return NULL;
	value = name.p && strlen(name.p) == name.n ? getenv(name.p) : NULL;
	if (value)
		return sonde_datum__text(c->sc->cx, value);
	if (fallback && fallback->kind == SONDE_NULL)
		return null(c);
	if (fallback) {
		sonde_pytext__str(&b, fallback);
		return sonde_datum__string(c->sc->cx, sonde_ctx__take(c->sc->cx, &b));
	}
	sonde_ctx__fail(c->sc->cx, "KeyError", "\"Environment variable '%.*s' not found\"",
		SONDE_STR_ARG(name));
	return NULL;
}

static struct sonde_datum *select_key(const struct call *c)
{
	struct sonde_datum *n;
	struct sonde_str path;

	if (!text_arg(c, "oc.select", &path))
		return NULL;
	n = sonde_interp__select(c->sc, c->container, path, false);
	if (c->sc->cx->fail.code)
		return NULL;
	if (n && !n->missing)
		return n;
	return arg(c, 1) ? arg(c, 1) : null(c);
}

static struct sonde_datum *decode(const struct call *c)
{
	struct sonde_datum *n = arg(c, 0);
	struct sonde_buf shown = {0};

	if (!n || n->kind == SONDE_NULL)
		return null(c);
	if (n->kind == SONDE_STRING)
		return sonde_interp__eval_element(c->sc, n->s, c->container, c->self);
	sonde_pytext__str(&shown, n);
	sonde_ctx__fail(c->sc->cx, "TypeError",
		"`oc.decode` can only take strings or None as input, but `%s` is of type %s",
		shown.p ? shown.p : "", sonde_datum__type_name(n));
	sonde_buf_release(&shown);
	return NULL;
}

static void clear_raw(struct sonde_datum *n)
{
	uint32_t i;

	n->raw = false;
	if (!sonde_datum__is_container(n))
		return;
	for (i = 0; i < n->seq.nr; i++)
		clear_raw(n->seq.at[i]);
}

static struct sonde_datum *create(const struct call *c)
{
	struct sonde_datum *n = sonde_datum__copy(c->sc->cx, arg(c, 0));

	if (!arg(c, 0))
		return null(c);
	if (n) {
		clear_raw(n);
		n->parent = c->container;
	}
	return n;
}

static struct sonde_datum *dict_arg(const struct call *c, const char *name, struct sonde_str *path)
{
	struct sonde_datum *n;

	if (!text_arg(c, name, path))
		return NULL;
	n = sonde_interp__select(c->sc, c->container, *path, false);
	if (c->sc->cx->fail.code)
		return NULL;
	if (n && n->kind == SONDE_MAP)
		return n;
	if (!n)
		sonde_ctx__fail(
			c->sc->cx, "ConfigKeyError", "Key not found: '%.*s'", SONDE_STR_ARG(*path));
	else
		sonde_ctx__fail(c->sc->cx, "TypeError",
			"`%s` cannot be applied to objects of type: %s", name,
			n->kind == SONDE_LIST ? "ListConfig" : sonde_datum__type_name(n));
	return NULL;
}

static struct sonde_datum *dict_keys(const struct call *c)
{
	struct sonde_ctx *cx = c->sc->cx;
	struct sonde_datum *list = sonde_datum__new(cx, SONDE_LIST), *map;
	struct sonde_str path;
	uint32_t i;

	map = dict_arg(c, "oc.dict.keys", &path);
	if (!map || !list)
		return NULL;
	list->parent = c->container;
	for (i = 0; i < map->seq.nr; i++)
		if (sonde_datum__push(cx, list, sonde_datum__copy(cx, map->seq.at[i]->key)))
			return NULL;
	return list;
}

/* A list of interpolations, so that the values stay what they are in the map. */
static struct sonde_datum *dict_values(const struct call *c)
{
	struct sonde_ctx *cx = c->sc->cx;
	struct sonde_datum *list = sonde_datum__new(cx, SONDE_LIST), *map;
	struct sonde_str path;
	uint32_t i;

	map = dict_arg(c, "oc.dict.values", &path);
	if (!map || !list)
		return NULL;
	list->parent = c->container;
	for (i = 0; i < map->seq.nr; i++) {
		struct sonde_buf b = {0};

		sonde_buf_puts(&b, path.n && path.p[0] == '.' ? "${." : "${");
		sonde_buf_str(&b, path);
		sonde_buf_putc(&b, '.');
		sonde_pytext__str(&b, map->seq.at[i]->key);
		sonde_buf_putc(&b, '}');
		if (sonde_datum__push(cx, list, sonde_datum__string(cx, sonde_ctx__take(cx, &b))))
			return NULL;
	}
	return list;
}

static struct sonde_datum *deprecated(const struct call *c)
{
	struct sonde_ctx *cx = c->sc->cx;
	struct sonde_str path, old = {0}, now;
	struct sonde_datum *n;

	if (!text_arg(c, "oc.deprecated", &path))
		return NULL;
	if (c->self)
		old = sonde_datum__path(cx, c->self);
	n = sonde_interp__select(c->sc, c->container, path, false);
	if (cx->fail.code)
		return NULL;
	if (!n) {
		sonde_ctx__fail(cx, "ConfigKeyError",
			"In oc.deprecated resolver at '%.*s': Key not found: '%.*s'",
			SONDE_STR_ARG(old), SONDE_STR_ARG(path));
		return NULL;
	}
	now = sonde_datum__path(cx, n);
	if (cx->notes && arg(c, 1) && arg(c, 1)->kind == SONDE_STRING)
		sonde_note(cx->notes, "%.*s", SONDE_STR_ARG(arg(c, 1)->s));
	else if (cx->notes)
		sonde_note(cx->notes,
			"'%.*s' is deprecated. Change your code and config to use '%.*s'",
			SONDE_STR_ARG(old), SONDE_STR_ARG(now));
	return n;
}

static struct sonde_datum *now(const struct call *c)
{
	struct sonde_str format;
	time_t seconds = (time_t)c->sc->now;
	struct tm tm;
	char out[512];
	size_t n;

	if (!text_arg(c, "now", &format))
		return NULL;
	if (!format.n)
		return sonde_datum__text(c->sc->cx, "");
	if (!localtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof(tm));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = format.n < 200 ? strftime(out, sizeof(out), format.p, &tm) : 0;
#pragma GCC diagnostic pop
	if (!n) {
		sonde_ctx__fail(c->sc->cx, "ValueError", "the time format is too long");
		return NULL;
	}
	return sonde_datum__string(
		c->sc->cx, sonde_ctx__dup(c->sc->cx, (struct sonde_str){out, n}));
}

static struct sonde_datum *hydra(const struct call *c)
{
	struct sonde_datum *n;
	struct sonde_buf b = {0};
	struct sonde_str path;

	if (!text_arg(c, "hydra", &path))
		return NULL;
	if (!c->sc->hydra) {
		sonde_ctx__fail(c->sc->cx, "ValueError", "HydraConfig was not set");
		return NULL;
	}
	sonde_buf_puts(&b, "hydra.");
	sonde_buf_str(&b, path);
	path = sonde_ctx__take(c->sc->cx, &b);
	n = sonde_interp__select(c->sc, c->sc->hydra, path, false);
	if (c->sc->cx->fail.code)
		return NULL;
	return n ? n : null(c);
}

struct sonde_datum *sonde_interp__resolver(struct sonde_lookup *sc, struct sonde_str name,
	struct sonde_datum *args, struct sonde_datum *container, struct sonde_datum *self)
{
	static const struct {
		const char *name;
		struct sonde_datum *(*fn)(const struct call *c);
	} table[] = {{"oc.env", env}, {"oc.select", select_key}, {"oc.decode", decode},
		{"oc.create", create}, {"oc.dict.keys", dict_keys}, {"oc.dict.values", dict_values},
		{"oc.deprecated", deprecated}, {"now", now}, {"hydra", hydra}};
	struct call c = {sc, args, container, self};
	struct sonde_datum *n;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (sonde_str_is(name, table[i].name))
			return table[i].fn(&c);
	n = sc->extra ? sc->extra(sc, name, args) : NULL;
	if (!n)
		sonde_ctx__fail(sc->cx, "UnsupportedInterpolationType",
			"Unsupported interpolation type %.*s", SONDE_STR_ARG(name));
	return n;
}
