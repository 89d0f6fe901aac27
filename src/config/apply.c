/* Single keys from the command line onto a composed config, which is closed to unknown keys. */
#include "config/merge.h"

#include "config/pynumber.h"
#include "config/pytext.h"

struct target {
	struct sonde_lookup *sc;
	const struct sonde_override *o;
	bool force;
};

static struct sonde_str cut_step(struct sonde_str *rest)
{
	return sonde_str_cut(*rest, '.', rest);
}

/* A list index, or -1 when out of range; fails when it is no number. */
static int64_t list_index(
	struct sonde_ctx *cx, const struct sonde_datum *list, struct sonde_str step, bool last)
{
	struct sonde_datum *n;

	if (!sonde_pynumber__is_py_int(step)) {
		if (last)
			sonde_ctx__fail(cx, "ValueError",
				"invalid literal for int() with base 10: '%.*s'",
				SONDE_STR_ARG(step));
		else
			sonde_ctx__fail(cx, "TypeError", "Index '%.*s' (str) is not an int",
				SONDE_STR_ARG(step));
		return -1;
	}
	n = sonde_pynumber__int(cx, step, 10);
	return n && !n->s.n && n->i >= 0 && n->i < list->seq.nr ? n->i : -1;
}

static int out_of_range(struct sonde_ctx *cx, struct sonde_datum *list, struct sonde_str step)
{
	struct sonde_datum *key = sonde_pynumber__int(cx, step, 10);

	if (cx->fail.code)
		return cx->fail.code;
	return sonde_datum__fail(cx, "ConfigIndexError", list, sonde_datum__path_to(cx, list, key),
		"list index out of range");
}

static struct sonde_datum *child_of(
	struct sonde_ctx *cx, struct sonde_datum *c, struct sonde_str step)
{
	int64_t i;

	if (c->kind == SONDE_MAP)
		return sonde_datum__get(c, step);
	i = list_index(cx, c, step, false);
	return i < 0 ? NULL : c->seq.at[i];
}

/* Sets child `step` of `c`, which may not exist yet. */
static int set_child(struct target *t, struct sonde_datum *c, struct sonde_str step,
	struct sonde_datum *value, const char *type)
{
	struct sonde_ctx *cx = t->sc->cx;
	struct sonde_datum *old, *key;
	int64_t i;

	if (c->kind == SONDE_LIST) {
		i = list_index(cx, c, step, true);
		if (cx->fail.code)
			return cx->fail.code;
		if (i < 0)
			return out_of_range(cx, c, step);
		sonde_datum__replace(c->seq.at[i], value);
		return 0;
	}
	old = sonde_datum__get(c, step);
	if (old) {
		value = sonde_merge__fit(cx, old, value);
		if (value)
			sonde_datum__replace(old, value);
		return cx->fail.code;
	}
	key = sonde_datum__string(cx, step);
	if (!key)
		return cx->fail.code;
	key->from = t->o->from;
	if (!t->force)
		return sonde_merge__unknown_key(cx, type, c, key);
	return sonde_datum__set(cx, c, key, value);
}

/* The container that holds the last step; scalars on the way become maps. */
static struct sonde_datum *walk(struct target *t, struct sonde_datum *root, struct sonde_str *rest)
{
	struct sonde_ctx *cx = t->sc->cx;
	unsigned depth = 0;

	while (sonde_str_find(*rest, '.') < rest->n) {
		struct sonde_str step = cut_step(rest);
		struct sonde_datum *next = child_of(cx, root, step);

		if (cx->fail.code)
			return NULL;
		if (++depth > SONDE_MAX_DEPTH) {
			sonde_ctx__limit(cx, "the key has more than %d parts", SONDE_MAX_DEPTH);
			return NULL;
		}
		if (!sonde_datum__is_container(next)) {
			next = sonde_datum__new(cx, SONDE_MAP);
			if (!next)
				return NULL;
			next->from = t->o->from;
			if (set_child(t, root, step, next, "ConfigKeyError"))
				return NULL;
		}
		root = next;
	}
	return root;
}

static int update(struct target *t, struct sonde_datum *root)
{
	struct sonde_ctx *cx = t->sc->cx;
	struct sonde_str last = t->o->key;
	struct sonde_datum *c = walk(t, root, &last), *value, *old;

	if (!c)
		return cx->fail.code;
	value = sonde_datum__copy(cx, t->o->value);
	if (!value)
		return cx->fail.code;
	if (sonde_datum__is_container(value)) {
		old = c->kind == SONDE_LIST && !sonde_pynumber__is_py_int(last)
			      ? NULL
			      : child_of(cx, c, last);
		if (sonde_datum__is_container(old)) {
			if (sonde_interp__check_tree(cx, value))
				return cx->fail.code;
			if (old->kind == SONDE_LIST && value->kind == SONDE_LIST) {
				sonde_datum__replace(old, value);
				return 0;
			}
			return sonde_merge__into(t->sc, old, value, !t->force);
		}
	}
	if (set_child(t, c, last, value, "ConfigAttributeError"))
		return cx->fail.code;
	return sonde_interp__check_tree(cx, value);
}

/* Says which key's interpolation failed while the path was followed. */
static void name_broken_key(struct sonde_ctx *cx, struct sonde_datum *root, struct sonde_str path)
{
	struct sonde_datum *n = root;
	const char *type = cx->fail.type;
	struct sonde_str msg = cx->fail.msg;

	while (path.n && n && sonde_datum__is_container(n)) {
		struct sonde_str step = cut_step(&path);

		n = n->kind == SONDE_MAP ? sonde_datum__get(n, step) : NULL;
		if (!n || !n->interp)
			continue;
		sonde_ctx__clear(cx);
		sonde_datum__fail(cx, type, n->parent, sonde_datum__path(cx, n), msg.p);
		return;
	}
}

/* The value an override refers to, or NULL (absent, null, missing, or a failure). */
static struct sonde_datum *current(struct target *t, struct sonde_datum *root, struct sonde_str key)
{
	struct sonde_ctx *cx = t->sc->cx;
	struct sonde_datum *n = sonde_interp__select(t->sc, root, key, false);

	if (sonde_ctx__is_type(cx, "ConfigTypeError"))
		sonde_ctx__clear(cx);
	else if (sonde_ctx__is_value_error(cx))
		name_broken_key(cx, root, key);
	if (cx->fail.code || !n || n->missing || n->kind == SONDE_NULL)
		return NULL;
	return n;
}

static int add(struct target *t, struct sonde_datum *root)
{
	struct sonde_ctx *cx = t->sc->cx;
	struct sonde_datum *now = current(t, root, t->o->key);
	struct sonde_str line = t->o->line;

	if (cx->fail.code)
		return cx->fail.code;
	t->force = true;
	if (!now || sonde_datum__is_container(t->o->value))
		return update(t, root);
	return sonde_ctx__fail(cx, "ConfigCompositionException",
		"Could not append to config. An item is already at '%.*s'.\nEither remove + "
		"prefix: "
		"'%.*s'\nOr add a second + to add or override '%.*s': '+%.*s'\n",
		SONDE_STR_ARG(t->o->key), (int)line.n - 1, line.p + 1, SONDE_STR_ARG(t->o->key),
		SONDE_STR_ARG(line));
}

static int wrong_value(struct target *t, const struct sonde_datum *now)
{
	struct sonde_buf is = {0}, asked = {0};
	int rc;

	sonde_pytext__str(&is, now);
	sonde_pytext__str(&asked, t->o->value);
	rc = sonde_ctx__fail(t->sc->cx, "ConfigCompositionException",
		"Could not delete from config. The value of '%.*s' is %s and not %s.",
		SONDE_STR_ARG(t->o->key), is.p ? is.p : "", asked.p ? asked.p : "");
	sonde_buf_release(&is);
	sonde_buf_release(&asked);
	return rc;
}

static int del(struct target *t, struct sonde_datum *root)
{
	struct sonde_ctx *cx = t->sc->cx;
	struct sonde_str key = t->o->key, last = key, parent = {key.p, 0};
	struct sonde_datum *now = current(t, root, key), *c = root, *child;
	size_t i;

	if (cx->fail.code)
		return cx->fail.code;
	if (!now)
		return sonde_ctx__fail(cx, "ConfigCompositionException",
			"Could not delete from config. '%.*s' does not exist.", SONDE_STR_ARG(key));
	if (t->o->value && t->o->value->kind != SONDE_NULL && !sonde_datum__equal(now, t->o->value))
		return wrong_value(t, now);
	for (i = key.n; i-- > 0;)
		if (key.p[i] == '.')
			break;
	if (i < key.n) {
		parent.n = i;
		last = (struct sonde_str){key.p + i + 1, key.n - i - 1};
		c = sonde_interp__select(t->sc, root, parent, false);
	}
	if (!c || cx->fail.code)
		return cx->fail.code;
	if (c->kind == SONDE_LIST)
		return sonde_ctx__fail(
			cx, "TypeError", "list indices must be integers or slices, not str");
	if (c->klass)
		return sonde_datum__fail(cx, "ConfigTypeError", c, key,
			sonde_ctx__printf(cx, "%s (DictConfig) does not support deletion", c->klass)
				.p);
	child = sonde_datum__get(c, last);
	if (child)
		sonde_datum__remove(c, sonde_datum__index(child));
	return 0;
}

int sonde_apply__override(
	struct sonde_lookup *sc, struct sonde_datum *root, const struct sonde_override *o)
{
	struct target t = {.sc = sc, .o = o, .force = o->kind == SONDE_OVERRIDE_FORCE_ADD};
	struct sonde_ctx *cx = sc->cx;

	if (o->has_package)
		return sonde_ctx__fail(cx, "ConfigCompositionException",
			"Override %.*s looks like a config group override, but config group '%.*s' "
			"does "
			"not exist.",
			SONDE_STR_ARG(o->line), SONDE_STR_ARG(o->key));
	if (o->kind == SONDE_OVERRIDE_DEL)
		del(&t, root);
	else if (o->kind == SONDE_OVERRIDE_ADD)
		add(&t, root);
	else
		update(&t, root);
	if (!sonde_ctx__is_value_error(cx))
		return cx->fail.code;
	cx->fail.where = (struct sonde_str){0}; /* the override is to blame, not the file */
	if (o->kind == SONDE_OVERRIDE_CHANGE && (sonde_ctx__is_type(cx, "ConfigAttributeError") ||
							sonde_ctx__is_type(cx, "ConfigKeyError")))
		return sonde_ctx__wrap(cx, "ConfigCompositionException",
			"Could not override '%.*s'.\nTo append to your config use +%.*s",
			SONDE_STR_ARG(o->key), SONDE_STR_ARG(o->line));
	return sonde_ctx__wrap(cx, "ConfigCompositionException", "Error merging override %.*s",
		SONDE_STR_ARG(o->line));
}
