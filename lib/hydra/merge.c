#include "hydra/merge.h"

#include "hydra/pynumber.h"
#include "hydra/pytext.h"

#include <string.h>
#include <strings.h>

struct merger {
	struct hydra_lookup *sc;
	const struct hydra_datum *top; /* where the merge began, for messages */
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
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, const char *msg)
{
	hydra_datum__fail(cx, "ValidationError", slot_of->parent ? slot_of->parent : slot_of,
		hydra_datum__path(cx, slot_of), msg);
	return NULL;
}

static struct hydra_datum *fit_mode(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *v)
{
	struct sonde_buf b = {0};

	if (v->kind == HYDRA_NULL || sonde_str_is(v->s, "RUN") || sonde_str_is(v->s, "MULTIRUN"))
		return v;
	sonde_buf_puts(&b, "Invalid value '");
	hydra_pytext__str(&b, v);
	sonde_buf_puts(&b, "', expected one of [RUN, MULTIRUN]");
	misfit(cx, slot_of, b.p ? b.p : "");
	sonde_buf_release(&b);
	return NULL;
}

static struct hydra_datum *fit_bool(struct hydra_ctx *cx, struct hydra_datum *v)
{
	static const char *const yes[] = {"y", "yes", "on", "true", "1"};
	static const char *const no[] = {"n", "no", "off", "false", "0"};
	size_t i;

	if (v->kind == HYDRA_BOOL)
		return v;
	if (v->kind == HYDRA_INT)
		return hydra_datum__bool(cx, v->i != 0 || v->s.n);
	for (i = 0; v->kind == HYDRA_STRING && i < 5; i++) {
		if (v->s.n == strlen(yes[i]) && !strncasecmp(v->s.p, yes[i], v->s.n))
			return hydra_datum__bool(cx, true);
		if (v->s.n == strlen(no[i]) && !strncasecmp(v->s.p, no[i], v->s.n))
			return hydra_datum__bool(cx, false);
	}
	return NULL;
}

/* What the reference says about a value of the wrong type. */
static struct hydra_datum *wrong_type(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, const struct hydra_datum *v)
{
	const char *type = hydra_datum__type_name(v);
	struct sonde_buf value = {0}, msg = {0};

	hydra_pytext__str(&value, v);
	if (slot_of->slot == HYDRA_SLOT_INT)
		sonde_buf_printf(&msg, "Value '%s' of type '%s' could not be converted to Integer",
			value.p, type);
	else if (slot_of->slot == HYDRA_SLOT_OPT_BOOL)
		sonde_buf_printf(&msg, "Value '%s' is not a valid bool (type %s)", value.p, type);
	else
		sonde_buf_printf(&msg, "Cannot convert '%s' to string: '%s'", type, value.p);
	misfit(cx, slot_of, msg.p ? msg.p : "");
	sonde_buf_release(&value);
	sonde_buf_release(&msg);
	return NULL;
}

static struct hydra_datum *fit_scalar(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *v)
{
	struct hydra_datum *out = NULL;
	struct sonde_buf b = {0};

	if (slot_of->slot == HYDRA_SLOT_INT) {
		if (v->kind == HYDRA_INT)
			out = v;
		else if (v->kind == HYDRA_STRING && hydra_pynumber__is_py_int(v->s))
			out = hydra_pynumber__int(cx, v->s, 10);
	} else if (slot_of->slot == HYDRA_SLOT_OPT_BOOL) {
		out = fit_bool(cx, v);
	} else if (v->kind == HYDRA_STRING) {
		out = v;
	} else if (hydra_datum__is_scalar(v)) {
		hydra_pytext__str(&b, v);
		out = hydra_datum__string(cx, hydra_ctx__take(cx, &b));
	}
	if (!out)
		return cx->fail.code ? NULL : wrong_type(cx, slot_of, v);
	if (out != v)
		out->from = v->from, out->line = v->line;
	return out;
}

struct hydra_datum *hydra_merge__fit(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *v)
{
	bool optional = slot_of->slot == HYDRA_SLOT_OPT_STR || slot_of->slot == HYDRA_SLOT_OPT_BOOL;

	if (slot_of->slot == HYDRA_SLOT_ANY || v->interp || v->missing)
		return v;
	if (slot_of->slot == HYDRA_SLOT_MODE)
		return fit_mode(cx, slot_of, v);
	if (v->kind != HYDRA_NULL)
		return fit_scalar(cx, slot_of, v);
	if (optional)
		return v;
	return misfit(cx, slot_of,
		slot_of->slot == HYDRA_SLOT_INT
			? "Incompatible value 'None' for field of type 'int'"
			: "Incompatible value 'None' for field of type 'str'");
}

int hydra_merge__unknown_key(
	struct hydra_ctx *cx, const char *type, struct hydra_datum *map, struct hydra_datum *key)
{
	struct sonde_buf b = {0};
	int rc;

	sonde_buf_puts(&b, "Key '");
	hydra_pytext__str(&b, key);
	if (map->klass)
		sonde_buf_printf(&b, "' not in '%s'", map->klass);
	else
		sonde_buf_puts(&b, "' is not in struct");
	rc = hydra_datum__fail(
		cx, type, map, hydra_datum__path_to(cx, map, key), b.p ? b.p : "unknown key");
	sonde_buf_release(&b);
	if (key->from && !key->from->is_override)
		cx->fail.where =
			hydra_ctx__printf(cx, "%.*s:%u", SONDE_STR_ARG(key->from->name), key->line);
	return rc;
}

static int refuse_mismatch(struct merger *m, const struct hydra_datum *src)
{
	hydra_datum__fail(m->sc->cx, "ConfigTypeError", m->top,
		hydra_datum__path(m->sc->cx, m->top), "Cannot merge DictConfig with ListConfig");
	if (src->from && !src->from->is_override)
		m->sc->cx->fail.where = hydra_ctx__printf(
			m->sc->cx, "%.*s:%u", SONDE_STR_ARG(src->from->name), src->line);
	return m->sc->cx->fail.code;
}

/* A destination that is an interpolation to a map or list becomes a copy of it. */
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

	if (++m->depth > HYDRA_MAX_DEPTH)
		return hydra_ctx__limit(
			cx, "values are nested deeper than %d levels", HYDRA_MAX_DEPTH);
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
