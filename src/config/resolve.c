/* Where interpolations lead: paths through the tree, chains, whole trees. */
#include "config/interp.h"

#include "config/pynumber.h"

#include <string.h>

struct sonde_frame {
	const struct sonde_datum *node;
	const struct sonde_frame *prev;
};

struct sonde_datum *sonde_interp__deref(struct sonde_lookup *sc, struct sonde_datum *n)
{
	struct sonde_frame frame = {n, sc->frame};
	const struct sonde_frame *f;

	if (!n || !n->interp)
		return n;
	for (f = sc->frame; f; f = f->prev) {
		if (f->node != n)
			continue;
		sonde_ctx__fail(
			sc->cx, "InterpolationResolutionError", "Recursive interpolation detected");
		return NULL;
	}
	sc->frame = &frame;
	n = sonde_interp__eval(sc, n->s, n->parent, n);
	sc->frame = frame.prev;
	return n;
}

/* The next step of a path: a name up to '.' or '[', or what stands in brackets. */
static struct sonde_str next_step(struct sonde_str *path)
{
	struct sonde_str step = {path->p, 0};
	size_t n = 0;

	if (path->n && path->p[0] == '[') {
		for (n = 1; n < path->n && path->p[n] != ']'; n++)
			;
		step = (struct sonde_str){path->p + 1, n - 1};
		n += n < path->n;
	} else {
		while (n < path->n && path->p[n] != '.' && path->p[n] != '[')
			n++;
		step.n = n;
	}
	path->p += n;
	path->n -= n;
	if (path->n > 1 && path->p[0] == '.')
		path->p++, path->n--;
	return step;
}

static struct sonde_datum *list_item(
	struct sonde_lookup *sc, struct sonde_datum *list, struct sonde_str step)
{
	struct sonde_datum *index;

	if (!sonde_pynumber__is_py_int(step)) {
		sonde_ctx__fail(sc->cx, "TypeError", "Index '%.*s' (str) is not an int",
			SONDE_STR_ARG(step));
		return NULL;
	}
	index = sonde_pynumber__int(sc->cx, step, 10);
	if (!index || index->s.n || index->i < 0 || index->i >= list->seq.nr)
		return NULL;
	return list->seq.at[index->i];
}

static struct sonde_datum *select_one(
	struct sonde_lookup *sc, struct sonde_datum *c, struct sonde_str step, bool throw_missing)
{
	struct sonde_datum *n;

	n = c->kind == SONDE_LIST ? list_item(sc, c, step) : sonde_datum__get(c, step);
	if (n && n->missing && throw_missing) {
		struct sonde_str path = sonde_datum__path(sc->cx, n);

		sonde_ctx__fail(sc->cx, "MissingMandatoryValue", "Missing mandatory value: %.*s",
			SONDE_STR_ARG(path));
		return NULL;
	}
	return n;
}

static struct sonde_datum *not_container(struct sonde_lookup *sc, struct sonde_str whole,
	struct sonde_str done, struct sonde_str step)
{
	while (done.n && done.p[done.n - 1] == '.')
		done.n--;
	sonde_ctx__fail(sc->cx, "ConfigTypeError",
		"Error trying to access %.*s: node `%.*s` is not a container and thus cannot "
		"contain "
		"`%.*s`",
		SONDE_STR_ARG(whole), SONDE_STR_ARG(done), SONDE_STR_ARG(step));
	return NULL;
}

static struct sonde_datum *walk(struct sonde_lookup *sc, struct sonde_datum *root,
	struct sonde_str path, bool throw_missing)
{
	struct sonde_str whole = path;

	while (root) {
		struct sonde_str step = next_step(&path);
		struct sonde_str done = {whole.p, (size_t)(path.p - whole.p)};
		struct sonde_str rest = path;

		root = select_one(sc, root, step, throw_missing);
		if (!root || (root->missing && !path.n))
			return root;
		root = sonde_interp__deref(sc, root);
		if (!root || !path.n)
			return root;
		if (!sonde_datum__is_container(root))
			return root->missing ? NULL
					     : not_container(sc, whole, done, next_step(&rest));
	}
	return NULL;
}

struct sonde_datum *sonde_interp__select(struct sonde_lookup *sc, struct sonde_datum *container,
	struct sonde_str path, bool throw_missing)
{
	struct sonde_datum *root = container;
	struct sonde_str whole = path;

	if (!container)
		return NULL;
	if (!path.n || path.p[0] != '.') {
		while (root->parent)
			root = root->parent;
		return walk(sc, root, path, throw_missing);
	}
	for (path.p++, path.n--; path.n && path.p[0] == '.'; path.p++, path.n--) {
		root = root->parent;
		if (root)
			continue;
		sonde_ctx__fail(sc->cx, "InterpolationKeyError",
			"ConfigKeyError while resolving interpolation: Error resolving key '%.*s'",
			SONDE_STR_ARG(whole));
		return NULL;
	}
	return walk(sc, root, path, throw_missing);
}

static int resolve_deep(struct sonde_lookup *sc, struct sonde_datum *n, unsigned depth);

/* Where the interpolation stands, for the door's message. */
static int blame(struct sonde_ctx *cx, const struct sonde_datum *n)
{
	if (!cx->fail.where.n && n->from && n->from->is_override)
		cx->fail.where = sonde_arena_printf(
			cx->arena, "override '%.*s'", SONDE_STR_ARG(n->from->name));
	else if (!cx->fail.where.n && n->from)
		cx->fail.where = sonde_arena_printf(
			cx->arena, "%.*s:%u", SONDE_STR_ARG(n->from->name), n->line);
	return cx->fail.code;
}

static int resolve_child(struct sonde_lookup *sc, struct sonde_datum *child, unsigned depth)
{
	struct sonde_ctx *cx = sc->cx;
	struct sonde_datum *value, *copy;

	if (!child->interp)
		return resolve_deep(sc, child, depth + 1);
	value = sonde_interp__deref(sc, child);
	if (!value && sonde_ctx__is_type(cx, "InterpolationToMissingValueError")) {
		sonde_ctx__clear(cx);
		value = sonde_datum__text(cx, "???");
	}
	if (!value)
		return blame(cx, child);
	if (sonde_datum__is_container(value) && value->raw)
		return sonde_ctx__fail(cx, "UnsupportedValueType",
			"Value '%s' is not a supported primitive type",
			sonde_datum__type_name(value));
	if (sonde_datum__is_container(value) && resolve_deep(sc, value, depth + 1))
		return cx->fail.code;
	copy = sonde_datum__copy(cx, value);
	if (!copy)
		return cx->fail.code;
	copy->from = child->from;
	copy->line = child->line;
	sonde_datum__replace(child, copy);
	return copy->interp ? sonde_interp__check(cx, copy->s) : 0;
}

static int resolve_deep(struct sonde_lookup *sc, struct sonde_datum *n, unsigned depth)
{
	uint32_t i;

	if (depth > SONDE_MAX_DEPTH)
		return sonde_ctx__limit(
			sc->cx, "values are nested deeper than %d levels", SONDE_MAX_DEPTH);
	if (!sonde_datum__is_container(n))
		return 0;
	for (i = 0; i < n->seq.nr; i++)
		if (resolve_child(sc, n->seq.at[i], depth))
			return sc->cx->fail.code;
	return 0;
}

int sonde_interp__resolve_tree(struct sonde_lookup *sc, struct sonde_datum *n)
{
	return resolve_deep(sc, n, 0);
}
