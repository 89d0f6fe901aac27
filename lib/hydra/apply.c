/* Applies overrides of single keys to a composed config. Only `+` and `++` may add keys that it does not have. */
#include "hydra/merge.h"

#include "hydra/keys_int.h"
#include "hydra/pynumber.h"
#include "hydra/pytext.h"

struct target {
	struct hydra_lookup *sc;
	const struct hydra_override *o;
	bool force;
};

/* Fails because `list` has no item number `step`. */
static int out_of_range(struct hydra_ctx *cx, struct hydra_datum *list, struct sonde_str step)
{
	struct hydra_datum *key = hydra_pynumber__int(cx, step, 10);

	if (cx->fail.code)
		return cx->fail.code;
	return hydra_datum__fail(cx, "ConfigIndexError", list, hydra_datum__path_to(cx, list, key),
		SONDE_STR("list index out of range"));
}

static struct hydra_datum *child_of(
	struct hydra_ctx *cx, struct hydra_datum *c, struct sonde_str step)
{
	struct hydra_datum *item;

	if (c->kind == HYDRA_MAP)
		return hydra_datum__get(c, step);
	if (!hydra_datum__item(cx, c, step, &item))
		return hydra_ctx__refuse(
			cx, "TypeError", "Index '%.*s' (str) is not an int", SONDE_STR_ARG(step));
	return item;
}

/* Sets child `step` of `c`, which may not exist yet. */
static int set_child(struct target *t, struct hydra_datum *c, struct sonde_str step,
	struct hydra_datum *value, const char *type)
{
	struct hydra_ctx *cx = t->sc->cx;
	struct hydra_datum *old, *key;

	if (c->kind == HYDRA_LIST) {
		if (!hydra_datum__item(cx, c, step, &old))
			return hydra_ctx__fail(cx, "ValueError",
				"invalid literal for int() with base 10: '%.*s'",
				SONDE_STR_ARG(step));
		if (!old)
			return out_of_range(cx, c, step);
		hydra_datum__replace(old, value);
		return 0;
	}
	old = hydra_datum__get(c, step);
	if (old) {
		value = hydra_merge__fit(cx, old, value);
		if (value)
			hydra_datum__replace(old, value);
		return cx->fail.code;
	}
	key = hydra_datum__string(cx, step);
	if (!key)
		return cx->fail.code;
	key->from = t->o->from;
	if (!t->force)
		return hydra_merge__unknown_key(cx, type, c, key);
	return hydra_datum__set(cx, c, key, value);
}

/* Follows the key to the container of its last part, which remains in `*rest`. Scalars on the way become maps. */
static struct hydra_datum *walk(struct target *t, struct hydra_datum *root, struct sonde_str *rest)
{
	struct hydra_ctx *cx = t->sc->cx;
	unsigned depth = 0;

	while (sonde_str_find(*rest, '.') < rest->n) {
		struct sonde_str step = sonde_str_cut(*rest, '.', rest);
		struct hydra_datum *next = child_of(cx, root, step);

		if (cx->fail.code)
			return NULL;
		if (++depth > HYDRA_MAX_DEPTH) {
			hydra_ctx__limit(cx, "the key has more than %d parts", HYDRA_MAX_DEPTH);
			return NULL;
		}
		if (!hydra_datum__is_container(next)) {
			next = hydra_datum__new(cx, HYDRA_MAP);
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

static int update(struct target *t, struct hydra_datum *root)
{
	struct hydra_ctx *cx = t->sc->cx;
	struct sonde_str last = t->o->key;
	struct hydra_datum *c = walk(t, root, &last), *value, *old;

	if (!c)
		return cx->fail.code;
	value = hydra_datum__copy(cx, t->o->value);
	if (!value)
		return cx->fail.code;
	if (hydra_datum__is_container(value)) {
		old = c->kind == HYDRA_LIST && !hydra_pynumber__is_py_int(last)
			      ? NULL
			      : child_of(cx, c, last);
		if (hydra_datum__is_container(old)) {
			if (hydra_interp__check_tree(cx, value))
				return cx->fail.code;
			if (old->kind == HYDRA_LIST && value->kind == HYDRA_LIST) {
				hydra_datum__replace(old, value);
				return 0;
			}
			return hydra_merge__into(t->sc, old, value, !t->force);
		}
	}
	if (set_child(t, c, last, value, "ConfigAttributeError"))
		return cx->fail.code;
	return hydra_interp__check_tree(cx, value);
}

/* Adds to the failure the key on the path whose interpolation could not be resolved. */
static void name_broken_key(struct hydra_ctx *cx, struct hydra_datum *root, struct sonde_str path)
{
	struct hydra_datum *n = root;
	const char *type = cx->fail.type;
	struct sonde_str msg = cx->fail.msg;

	while (path.n && n && hydra_datum__is_container(n)) {
		struct sonde_str step = sonde_str_cut(path, '.', &path);

		n = n->kind == HYDRA_MAP ? hydra_datum__get(n, step) : NULL;
		if (!n || !n->interp)
			continue;
		hydra_ctx__clear(cx);
		hydra_datum__fail(cx, type, n->parent, hydra_datum__path(cx, n), msg);
		return;
	}
}

/* The present value of the key of an override; NULL when it is absent, null or missing, or after a failure. */
static struct hydra_datum *current(struct target *t, struct hydra_datum *root, struct sonde_str key)
{
	struct hydra_ctx *cx = t->sc->cx;
	struct hydra_datum *n = hydra_interp__select(t->sc, root, key, false);

	if (hydra_ctx__is_type(cx, "ConfigTypeError"))
		hydra_ctx__clear(cx);
	else if (hydra_ctx__is_value_error(cx))
		name_broken_key(cx, root, key);
	if (cx->fail.code || !n || n->missing || n->kind == HYDRA_NULL)
		return NULL;
	return n;
}

static int add(struct target *t, struct hydra_datum *root)
{
	struct hydra_ctx *cx = t->sc->cx;
	struct hydra_datum *now = current(t, root, t->o->key);
	struct sonde_str line = t->o->line;

	if (cx->fail.code)
		return cx->fail.code;
	t->force = true;
	if (!now || hydra_keys__is_default(now) || hydra_datum__is_container(t->o->value))
		return update(t, root);
	return hydra_ctx__fail(cx, "ConfigCompositionException",
		"Could not append to config. An item is already at '%.*s'.\nEither remove + "
		"prefix: "
		"'%.*s'\nOr add a second + to add or override '%.*s': '+%.*s'\n",
		SONDE_STR_ARG(t->o->key), (int)line.n - 1, line.p + 1, SONDE_STR_ARG(t->o->key),
		SONDE_STR_ARG(line));
}

static int refuse_value(struct target *t, const struct hydra_datum *now)
{
	struct hydra_ctx *cx = t->sc->cx;
	struct sonde_str is = hydra_pytext__show(cx, now);
	struct sonde_str asked = hydra_pytext__show(cx, t->o->value);

	return hydra_ctx__fail(cx, "ConfigCompositionException",
		"Could not delete from config. The value of '%.*s' is %.*s and not %.*s.",
		SONDE_STR_ARG(t->o->key), SONDE_STR_ARG(is), SONDE_STR_ARG(asked));
}

static int del(struct target *t, struct hydra_datum *root)
{
	struct hydra_ctx *cx = t->sc->cx;
	struct sonde_str key = t->o->key, last = key, parent = {key.p, 0};
	struct hydra_datum *now = current(t, root, key), *c = root;
	size_t i;

	if (cx->fail.code)
		return cx->fail.code;
	if (!now)
		return hydra_ctx__fail(cx, "ConfigCompositionException",
			"Could not delete from config. '%.*s' does not exist.", SONDE_STR_ARG(key));
	if (t->o->value && t->o->value->kind != HYDRA_NULL && !hydra_datum__equal(now, t->o->value))
		return refuse_value(t, now);
	for (i = key.n; i-- > 0;)
		if (key.p[i] == '.')
			break;
	if (i < key.n) {
		parent.n = i;
		last = (struct sonde_str){key.p + i + 1, key.n - i - 1};
		c = hydra_interp__select(t->sc, root, parent, false);
	}
	if (!c || cx->fail.code)
		return cx->fail.code;
	if (c->kind == HYDRA_LIST)
		return hydra_ctx__fail(
			cx, "TypeError", "list indices must be integers or slices, not str");
	if (c->klass)
		return hydra_datum__fail(cx, "ConfigTypeError", c, key,
			hydra_ctx__printf(
				cx, "%s (DictConfig) does not support deletion", c->klass));
	hydra_datum__drop(hydra_datum__get(c, last));
	return 0;
}

int hydra_apply__override(
	struct hydra_lookup *sc, struct hydra_datum *root, const struct hydra_override *o)
{
	struct target t = {.sc = sc, .o = o, .force = o->kind == HYDRA_OVERRIDE_FORCE_ADD};
	struct hydra_ctx *cx = sc->cx;

	if (o->has_package)
		return hydra_ctx__fail(cx, "ConfigCompositionException",
			"Override %.*s looks like a config group override, but config group '%.*s' "
			"does "
			"not exist.",
			SONDE_STR_ARG(o->line), SONDE_STR_ARG(o->key));
	if (o->kind == HYDRA_OVERRIDE_DEL)
		del(&t, root);
	else if (o->kind == HYDRA_OVERRIDE_ADD)
		add(&t, root);
	else
		update(&t, root);
	if (!hydra_ctx__is_value_error(cx))
		return cx->fail.code;
	cx->fail.where = (struct sonde_str){0}; /* the override is to blame, not the file */
	if (o->kind == HYDRA_OVERRIDE_CHANGE && (hydra_ctx__is_type(cx, "ConfigAttributeError") ||
							hydra_ctx__is_type(cx, "ConfigKeyError")))
		return hydra_ctx__wrap(cx, "ConfigCompositionException",
			"Could not override '%.*s'.\nTo append to your config use +%.*s",
			SONDE_STR_ARG(o->key), SONDE_STR_ARG(o->line));
	return hydra_ctx__wrap(cx, "ConfigCompositionException", "Error merging override %.*s",
		SONDE_STR_ARG(o->line));
}
