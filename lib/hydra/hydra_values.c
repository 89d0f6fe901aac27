/* The getters: values of a frozen configuration, by key. */
#include "hydra/hydra_int.h"

#include "hydra/keys_int.h"
#include "hydra/pytext.h"

/* The child for one part of a key: a key of a map, or a number in a list. */
static struct hydra_datum *child(struct hydra_ctx *cx, struct hydra_datum *n, struct sonde_str step)
{
	struct hydra_datum *item = NULL;

	if (n->kind == HYDRA_LIST)
		hydra_datum__item(cx, n, step, &item);
	return n->kind == HYDRA_LIST ? item : hydra_datum__get(n, step);
}

static struct hydra_datum *node_below(
	const struct hydra_config *c, struct hydra_datum *n, const char *key)
{
	struct sonde_str rest = sonde_str_from(key);

	while (n && rest.n)
		n = child(hydra_config__scratch(c), n, sonde_str_cut(rest, '.', &rest));
	return n;
}

static struct hydra_datum *node_at(const struct hydra_config *c, const char *key)
{
	return node_below(c, c->frozen ? c->frozen : c->compose.root, key);
}

bool hydra_config_bool(const struct hydra_config *c, const char *key)
{
	const struct hydra_datum *n = node_at(c, key);

	return n && n->kind == HYDRA_BOOL && n->b;
}

int64_t hydra_config_int(const struct hydra_config *c, const char *key)
{
	const struct hydra_datum *n = node_at(c, key);

	if (n && n->kind == HYDRA_BOOL)
		return n->b;
	return n && n->kind == HYDRA_INT ? n->i : 0;
}

struct hydra_ctx *hydra_config__scratch(const struct hydra_config *c)
{
	return (struct hydra_ctx *)(uintptr_t)&c->cx;
}

static struct sonde_str scalar_text(const struct hydra_config *c, const struct hydra_datum *n)
{
	if (!hydra_datum__is_scalar(n) || n->kind == HYDRA_NULL)
		return SONDE_STR("");
	if (n->kind == HYDRA_STRING)
		return n->s;
	if (n->kind == HYDRA_BOOL)
		return n->b ? SONDE_STR("true") : SONDE_STR("false");
	return hydra_pytext__show(hydra_config__scratch(c), n);
}

struct sonde_str hydra_config_str(const struct hydra_config *c, const char *key)
{
	return scalar_text(c, node_at(c, key));
}

struct sonde_str hydra_config_recorded(const struct hydra_config *c, const char *key)
{
	const struct hydra_datum *n = node_at(c, key);

	if (!n || !n->from_env)
		return hydra_config_str(c, key);
	n = node_below(c, c->compose.root, key);
	return n && n->interp ? n->s : SONDE_STR("${oc.env:...}");
}

size_t hydra_config_list(
	const struct hydra_config *c, const char *key, const struct sonde_str **items)
{
	const struct hydra_datum *n = node_at(c, key);
	size_t i, nr = n && n->kind == HYDRA_LIST ? n->seq.nr : 0;
	struct sonde_str *out;

	*items = NULL;
	if (!n || n->kind == HYDRA_NULL || n->kind == HYDRA_MAP)
		return 0;
	out = hydra_ctx__alloc(hydra_config__scratch(c), nr + 1, sizeof(*out));
	if (!out)
		return 0;
	*items = out;
	if (n->kind != HYDRA_LIST) {
		out[0] = scalar_text(c, n);
		return out[0].n ? 1 : 0;
	}
	for (i = 0; i < nr; i++)
		out[i] = scalar_text(c, n->seq.at[i]);
	return nr;
}

size_t hydra_config_keys(
	const struct hydra_config *c, const char *key, const struct sonde_str **names)
{
	const struct hydra_datum *n = node_at(c, key);
	struct sonde_str *out;
	uint32_t i;

	*names = NULL;
	if (!n || n->kind != HYDRA_MAP)
		return 0;
	out = hydra_ctx__alloc(hydra_config__scratch(c), n->seq.nr + 1, sizeof(*out));
	if (!out)
		return 0;
	for (i = 0; i < n->seq.nr; i++)
		out[i] = scalar_text(c, n->seq.at[i]->key);
	*names = out;
	return n->seq.nr;
}

bool hydra_config_is_null(const struct hydra_config *c, const char *key)
{
	const struct hydra_datum *n = node_at(c, key);

	return !n || n->kind == HYDRA_NULL || n->missing;
}

void hydra_config__put_origin(struct sonde_buf *b, const struct hydra_datum *n)
{
	if (!n->from)
		sonde_buf_puts(b, "set at run time");
	else if (n->from->is_override)
		sonde_buf_printf(b, "override '%.*s'", SONDE_STR_ARG(n->from->name));
	else
		sonde_buf_str(b, n->from->name);
	if (n->from && !n->from->is_override && n->line && !hydra_keys__is_default(n))
		sonde_buf_printf(b, ":%u", n->line);
}

struct sonde_str hydra_config_origin(const struct hydra_config *c, const char *key)
{
	const struct hydra_datum *n = node_at(c, key);
	struct sonde_buf b = {0};

	if (!n || !n->from)
		return SONDE_STR("");
	hydra_config__put_origin(&b, n);
	return hydra_ctx__take(hydra_config__scratch(c), &b);
}
