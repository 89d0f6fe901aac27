/* How messages refer to values: by their path, and by the type that they have in Hydra. */
#include "hydra/datum.h"

#include "hydra/pytext.h"

static void path_step(struct sonde_buf *b, const struct hydra_datum *parent,
	const struct hydra_datum *key, uint32_t index)
{
	if (parent->kind != HYDRA_MAP) {
		sonde_buf_printf(b, "[%u]", index);
		return;
	}
	if (b->n)
		sonde_buf_putc(b, '.');
	hydra_pytext__str(b, key);
}

static void path_of(struct sonde_buf *b, const struct hydra_datum *n)
{
	const struct hydra_datum *chain[HYDRA_MAX_DEPTH * 2];
	unsigned nr = 0;

	for (; n->parent && nr < HYDRA_MAX_DEPTH * 2; n = n->parent)
		chain[nr++] = n;
	while (nr-- > 0)
		path_step(b, chain[nr]->parent, chain[nr]->key, hydra_datum__index(chain[nr]));
}

struct sonde_str hydra_datum__path(struct hydra_ctx *cx, const struct hydra_datum *n)
{
	struct sonde_buf b = {0};

	path_of(&b, n);
	return hydra_ctx__take(cx, &b);
}

struct sonde_str hydra_datum__path_to(
	struct hydra_ctx *cx, const struct hydra_datum *parent, const struct hydra_datum *key)
{
	struct sonde_buf b = {0};

	path_of(&b, parent);
	path_step(&b, parent, key, parent->kind == HYDRA_LIST && key ? (uint32_t)key->i : 0);
	return hydra_ctx__take(cx, &b);
}

/* The type of a container in messages: "dict", "list", or its class in the hydra node. */
static const char *object_type(const struct hydra_datum *n)
{
	if (n->kind == HYDRA_LIST)
		return "list";
	return n->klass ? n->klass : "dict";
}

int hydra_datum__fail(struct hydra_ctx *cx, const char *type, const struct hydra_datum *parent,
	struct sonde_str path, struct sonde_str msg)
{
	struct sonde_str file = {0};
	bool typed;

	if (parent->from && !parent->from->is_override)
		file = parent->from->name;
	/* A class inside another class is also the declared type of its field. */
	typed = parent->klass && parent->parent && parent->parent->klass;
	return hydra_ctx__fail_at(cx, type, file, parent->line,
		"%.*s\n    full_key: %.*s%s%s\n    object_type=%s", SONDE_STR_ARG(msg),
		SONDE_STR_ARG(path), typed ? "\n    reference_type=" : "",
		typed ? parent->klass : "", object_type(parent));
}

const char *hydra_datum__type_name(const struct hydra_datum *n)
{
	static const char *const names[] = {
		[HYDRA_NULL] = "NoneType",
		[HYDRA_BOOL] = "bool",
		[HYDRA_INT] = "int",
		[HYDRA_FLOAT] = "float",
		[HYDRA_STRING] = "str",
		[HYDRA_LIST] = "list",
		[HYDRA_MAP] = "dict",
		[HYDRA_CHOICE] = "ChoiceSweep",
		[HYDRA_RANGE] = "RangeSweep",
		[HYDRA_INTERVAL] = "IntervalSweep",
		[HYDRA_GLOB] = "Glob",
	};

	return n ? names[n->kind] : "NoneType";
}
