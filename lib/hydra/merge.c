/*
 * Merges configs: maps key by key; all other values are replaced. Only the hydra
 * node has types: its keys are fixed, and some accept values of one type only.
 */
#include "hydra/merge.h"

#include "hydra/pynumber.h"
#include "hydra/pytext.h"

struct merger {
	struct hydra_lookup *sc;
	const struct hydra_datum *top; /* the destination of the whole merge, for messages */
	bool strict;
	unsigned depth;
};

/* Typed slots of the hydra node. */

static const struct {
	const char *path;
	enum hydra_slot slot;
} slots[] = {
	{"run.dir", HYDRA_SLOT_STR},
	{"sweep.dir", HYDRA_SLOT_STR},
	{"sweep.subdir", HYDRA_SLOT_STR},
	{"mode", HYDRA_SLOT_MODE},
	{"output_subdir", HYDRA_SLOT_OPT_STR},
	{"job.name", HYDRA_SLOT_STR},
	{"job.chdir", HYDRA_SLOT_OPT_BOOL},
	{"job.override_dirname", HYDRA_SLOT_STR},
	{"job.id", HYDRA_SLOT_STR},
	{"job.num", HYDRA_SLOT_INT},
	{"job.config_name", HYDRA_SLOT_OPT_STR},
	{"job.config.override_dirname.kv_sep", HYDRA_SLOT_STR},
	{"job.config.override_dirname.item_sep", HYDRA_SLOT_STR},
	{"runtime.version", HYDRA_SLOT_STR},
	{"runtime.version_base", HYDRA_SLOT_STR},
	{"runtime.cwd", HYDRA_SLOT_STR},
	{"runtime.output_dir", HYDRA_SLOT_STR},
};

static const struct {
	const char *path, *klass;
} classes[] = {
	{"", "HydraConf"},
	{"run", "RunDir"},
	{"sweep", "SweepDir"},
	{"overrides", "OverridesConf"},
	{"job", "JobConf"},
	{"job.config", "JobConfig"},
	{"job.config.override_dirname", "OverrideDirname"},
	{"runtime", "RuntimeConf"},
	{"help", "HelpConf"},
	{"hydra_help", "HydraHelpConf"},
};

void hydra_merge__type_hydra(struct hydra_datum *root)
{
	struct hydra_datum *hydra = hydra_datum__getz(root, "hydra"), *n;
	size_t i;

	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		n = hydra_datum__path_get(hydra, slots[i].path);
		if (n)
			n->slot = slots[i].slot;
	}
	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		n = hydra_datum__path_get(hydra, classes[i].path);
		if (n && n->kind == HYDRA_MAP)
			n->klass = classes[i].klass;
	}
}

static struct hydra_datum *misfit(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct sonde_str msg)
{
	hydra_datum__fail(cx, "ValidationError", slot_of->parent ? slot_of->parent : slot_of,
		hydra_datum__path(cx, slot_of), msg);
	return NULL;
}

static struct hydra_datum *fit_bool(struct hydra_ctx *cx, struct hydra_datum *v)
{
	if (v->kind == HYDRA_BOOL)
		return v;
	if (v->kind == HYDRA_INT)
		return hydra_datum__bool(cx, v->i != 0 || v->s.n);
	if (v->kind == HYDRA_STRING && hydra_pynumber__is_word(v->s, "y|yes|on|true|1"))
		return hydra_datum__bool(cx, true);
	if (v->kind == HYDRA_STRING && hydra_pynumber__is_word(v->s, "n|no|off|false|0"))
		return hydra_datum__bool(cx, false);
	return NULL;
}

/* Fails with Hydra's message about a value of the wrong type. */
static struct hydra_datum *wrong_type(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, const struct hydra_datum *v)
{
	struct sonde_str value = hydra_pytext__show(cx, v);
	const char *type = hydra_datum__type_name(v);

	switch (slot_of->slot) {
	case HYDRA_SLOT_MODE:
		return misfit(cx, slot_of,
			hydra_ctx__printf(cx,
				"Invalid value '%.*s', expected one of [RUN, MULTIRUN]",
				SONDE_STR_ARG(value)));
	case HYDRA_SLOT_INT:
		return misfit(cx, slot_of,
			hydra_ctx__printf(cx,
				"Value '%.*s' of type '%s' could not be converted to Integer",
				SONDE_STR_ARG(value), type));
	case HYDRA_SLOT_OPT_BOOL:
		return misfit(cx, slot_of,
			hydra_ctx__printf(cx, "Value '%.*s' is not a valid bool (type %s)",
				SONDE_STR_ARG(value), type));
	default:
		return misfit(cx, slot_of,
			hydra_ctx__printf(cx, "Cannot convert '%s' to string: '%.*s'", type,
				SONDE_STR_ARG(value)));
	}
}

/* Converts a value to the type of a slot; NULL without a failure when the slot does not accept it. */
static struct hydra_datum *convert(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *v)
{
	bool is_string = v->kind == HYDRA_STRING;

	switch (slot_of->slot) {
	case HYDRA_SLOT_MODE:
		return sonde_str_is(v->s, "RUN") || sonde_str_is(v->s, "MULTIRUN") ? v : NULL;
	case HYDRA_SLOT_INT:
		if (is_string && hydra_pynumber__is_py_int(v->s))
			return hydra_pynumber__int(cx, v->s, 10);
		return v->kind == HYDRA_INT ? v : NULL;
	case HYDRA_SLOT_OPT_BOOL:
		return fit_bool(cx, v);
	default:
		if (is_string || !hydra_datum__is_scalar(v))
			return is_string ? v : NULL;
		return hydra_datum__string(cx, hydra_pytext__show(cx, v));
	}
}

struct hydra_datum *hydra_merge__fit(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *v)
{
	struct hydra_datum *out;

	if (slot_of->slot == HYDRA_SLOT_ANY || v->interp || v->missing)
		return v;
	if (v->kind == HYDRA_NULL && slot_of->slot == HYDRA_SLOT_INT)
		return misfit(cx, slot_of,
			SONDE_STR("Incompatible value 'None' for field of type 'int'"));
	if (v->kind == HYDRA_NULL && slot_of->slot == HYDRA_SLOT_STR)
		return misfit(cx, slot_of,
			SONDE_STR("Incompatible value 'None' for field of type 'str'"));
	if (v->kind == HYDRA_NULL)
		return v;
	out = convert(cx, slot_of, v);
	if (!out)
		return cx->fail.code ? NULL : wrong_type(cx, slot_of, v);
	if (out != v)
		out->from = v->from, out->line = v->line;
	return out;
}

/* Adds to the failure the file and line of `n`; a value from an override has none. */
static void blame_file(struct hydra_ctx *cx, const struct hydra_datum *n)
{
	if (n->from && !n->from->is_override)
		cx->fail.where =
			hydra_ctx__printf(cx, "%.*s:%u", SONDE_STR_ARG(n->from->name), n->line);
}

int hydra_merge__unknown_key(
	struct hydra_ctx *cx, const char *type, struct hydra_datum *map, struct hydra_datum *key)
{
	struct sonde_str name = hydra_pytext__show(cx, key), msg;

	if (map->klass)
		msg = hydra_ctx__printf(
			cx, "Key '%.*s' not in '%s'", SONDE_STR_ARG(name), map->klass);
	else
		msg = hydra_ctx__printf(cx, "Key '%.*s' is not in struct", SONDE_STR_ARG(name));
	hydra_datum__fail(cx, type, map, hydra_datum__path_to(cx, map, key), msg);
	blame_file(cx, key);
	return cx->fail.code;
}

static int refuse_mismatch(struct merger *m, const struct hydra_datum *src)
{
	hydra_datum__fail(m->sc->cx, "ConfigTypeError", m->top,
		hydra_datum__path(m->sc->cx, m->top),
		SONDE_STR("Cannot merge DictConfig with ListConfig"));
	blame_file(m->sc->cx, src);
	return m->sc->cx->fail.code;
}

/* Replaces a destination that is an interpolation by a copy of the map or list that it refers to. */
static struct hydra_datum *materialize(struct merger *m, struct hydra_datum *d)
{
	struct hydra_ctx *cx = m->sc->cx;
	struct hydra_datum *target = hydra_interp__deref(m->sc, d), *copy;

	if (!target && hydra_ctx__is_user_error(cx))
		hydra_ctx__clear(cx);
	if (!hydra_datum__is_container(target) || target->raw)
		return d;
	copy = hydra_datum__copy(cx, target);
	if (!copy)
		return NULL;
	hydra_datum__replace(d, copy);
	return copy;
}

static int merge_map(struct merger *m, struct hydra_datum *dest, const struct hydra_datum *src);

static int merge_value(struct merger *m, struct hydra_datum *d, struct hydra_datum *s)
{
	struct hydra_ctx *cx = m->sc->cx;
	struct hydra_datum *copy;

	if (d->interp)
		d = materialize(m, d);
	if (!d || s->missing)
		return cx->fail.code;
	if (d->kind == HYDRA_MAP && s->kind == HYDRA_MAP)
		return merge_map(m, d, s);
	if (hydra_datum__is_container(d) && hydra_datum__is_container(s) && d->kind != s->kind)
		return refuse_mismatch(m, s);
	copy = hydra_datum__copy(cx, s);
	if (copy)
		copy = hydra_merge__fit(cx, d, copy);
	if (!copy)
		return cx->fail.code;
	hydra_datum__replace(d, copy);
	return 0;
}

static int merge_map(struct merger *m, struct hydra_datum *dest, const struct hydra_datum *src)
{
	struct hydra_ctx *cx = m->sc->cx;
	uint32_t i;

	if (hydra_ctx__is_deep(cx, ++m->depth))
		return cx->fail.code;
	for (i = 0; i < src->seq.nr; i++) {
		struct hydra_datum *s = src->seq.at[i], *d = hydra_datum__find(dest, s->key);

		if (d) {
			if (merge_value(m, d, s))
				return cx->fail.code;
			continue;
		}
		if (m->strict || dest->klass)
			return hydra_merge__unknown_key(cx, "ConfigKeyError", dest, s->key);
		if (hydra_datum__set(cx, dest, s->key, hydra_datum__copy(cx, s)) || cx->fail.code)
			return cx->fail.code;
	}
	m->depth--;
	return 0;
}

int hydra_merge__into(struct hydra_lookup *sc, struct hydra_datum *dest,
	const struct hydra_datum *src, bool strict)
{
	struct merger m = {.sc = sc, .top = dest, .strict = strict};

	if (dest->kind != src->kind)
		return refuse_mismatch(&m, src);
	return merge_map(&m, dest, src);
}
