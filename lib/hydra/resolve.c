/* Follows interpolations: paths through the tree, chains of interpolations, and all interpolations of a tree. */
#include "hydra/interp.h"

struct hydra_frame {
	const struct hydra_datum *node;
	const struct hydra_frame *prev;
};

struct hydra_datum *hydra_interp__deref(struct hydra_lookup *sc, struct hydra_datum *n)
{
	struct hydra_frame frame = {n, sc->frame};
	const struct hydra_frame *f;

	if (!n || !n->interp)
		return n;
	for (f = sc->frame; f; f = f->prev)
		if (f->node == n)
			return hydra_ctx__refuse(sc->cx, "InterpolationResolutionError",
				"Recursive interpolation detected");
	sc->frame = &frame;
	n = hydra_interp__eval(sc, n->s, n->parent, n);
	sc->frame = frame.prev;
	return n;
}

/* Takes the next step off a path: a name up to '.' or '[', or the text in brackets. */
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

static struct hydra_datum *select_one(
	struct hydra_lookup *sc, struct hydra_datum *c, struct sonde_str step, bool throw_missing)
{
	struct hydra_datum *n;
	struct sonde_str path;

	if (c->kind != HYDRA_LIST)
		n = hydra_datum__get(c, step);
	else if (!hydra_datum__item(sc->cx, c, step, &n))
		return hydra_ctx__refuse(sc->cx, "TypeError", "Index '%.*s' (str) is not an int",
			SONDE_STR_ARG(step));
	if (!n || !n->missing || !throw_missing)
		return n;
	path = hydra_datum__path(sc->cx, n);
	return hydra_ctx__refuse(sc->cx, "MissingMandatoryValue", "Missing mandatory value: %.*s",
		SONDE_STR_ARG(path));
}

static struct hydra_datum *not_container(struct hydra_lookup *sc, struct sonde_str whole,
	struct sonde_str done, struct sonde_str step)
{
	while (done.n && done.p[done.n - 1] == '.')
		done.n--;
	return hydra_ctx__refuse(sc->cx, "ConfigTypeError",
		"Error trying to access %.*s: node `%.*s` is not a container and thus cannot "
		"contain `%.*s`",
		SONDE_STR_ARG(whole), SONDE_STR_ARG(done), SONDE_STR_ARG(step));
}

static struct hydra_datum *walk(struct hydra_lookup *sc, struct hydra_datum *root,
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
		sc->cx->env_reads += root->from_env;
		root = hydra_interp__deref(sc, root);
		if (!root || !path.n)
			return root;
		if (!hydra_datum__is_container(root))
			return root->missing ? NULL
					     : not_container(sc, whole, done, next_step(&rest));
	}
	return NULL;
}

struct hydra_datum *hydra_interp__select(struct hydra_lookup *sc, struct hydra_datum *container,
	struct sonde_str path, bool throw_missing)
{
	struct hydra_datum *root = container;
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
		if (!root)
			return hydra_ctx__refuse(sc->cx, "InterpolationKeyError",
				"ConfigKeyError while resolving interpolation: Error resolving key "
				"'%.*s'",
				SONDE_STR_ARG(whole));
	}
	return walk(sc, root, path, throw_missing);
}

static int resolve_deep(struct hydra_lookup *sc, struct hydra_datum *n, unsigned depth);

/* Adds to the failure the file and line, or the override, that has the interpolation. */
static int blame(struct hydra_ctx *cx, const struct hydra_datum *n)
{
	if (!cx->fail.where.n && n->from && n->from->is_override)
		cx->fail.where = sonde_arena_printf(
			cx->arena, "override '%.*s'", SONDE_STR_ARG(n->from->name));
	else if (!cx->fail.where.n && n->from)
		cx->fail.where = sonde_arena_printf(
			cx->arena, "%.*s:%u", SONDE_STR_ARG(n->from->name), n->line);
	return cx->fail.code;
}

static int resolve_child(struct hydra_lookup *sc, struct hydra_datum *child, unsigned depth)
{
	struct hydra_ctx *cx = sc->cx;
	struct hydra_datum *value, *copy;
	uint32_t env_reads = cx->env_reads;

	if (!child->interp)
		return resolve_deep(sc, child, depth + 1);
	value = hydra_interp__deref(sc, child);
	if (!value && hydra_ctx__is_type(cx, "InterpolationToMissingValueError")) {
		hydra_ctx__clear(cx);
		value = hydra_datum__text(cx, "???");
	}
	if (!value)
		return blame(cx, child);
	if (hydra_datum__is_container(value) && value->raw)
		return hydra_ctx__fail(cx, "UnsupportedValueType",
			"Value '%s' is not a supported primitive type",
			hydra_datum__type_name(value));
	if (hydra_datum__is_container(value) && resolve_deep(sc, value, depth + 1))
		return cx->fail.code;
	copy = hydra_datum__copy(cx, value);
	if (!copy)
		return cx->fail.code;
	if (cx->env_reads != env_reads && sc->keeps_env)
		return 0;
	copy->from = child->from;
	copy->line = child->line;
	copy->from_env = cx->env_reads != env_reads;
	hydra_datum__replace(child, copy);
	return copy->interp ? hydra_interp__check(cx, copy->s) : 0;
}

static int resolve_deep(struct hydra_lookup *sc, struct hydra_datum *n, unsigned depth)
{
	uint32_t i;

	if (hydra_ctx__is_deep(sc->cx, depth))
		return sc->cx->fail.code;
	if (!hydra_datum__is_container(n))
		return 0;
	for (i = 0; i < n->seq.nr; i++)
		if (resolve_child(sc, n->seq.at[i], depth))
			return sc->cx->fail.code;
	return 0;
}

int hydra_interp__resolve_tree(struct hydra_lookup *sc, struct hydra_datum *n)
{
	return resolve_deep(sc, n, 0);
}
