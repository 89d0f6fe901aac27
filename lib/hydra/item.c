/* One entry of a defaults list: its syntax, and the paths and packages derived from it. */
#include "hydra/defaults.h"

#include "hydra/pytext.h"

#include <string.h>

#define GLOBAL "_global_"

static struct sonde_str without_slash(struct sonde_str path)
{
	if (path.n && path.p[0] == '/')
		return (struct sonde_str){path.p + 1, path.n - 1};
	return path;
}

static struct sonde_str dir_part(struct sonde_str path)
{
	size_t n = path.n;

	while (n > 0 && path.p[n - 1] != '/')
		n--;
	return (struct sonde_str){path.p, n ? n - 1 : 0};
}

static struct sonde_str join(
	struct hydra_ctx *cx, struct sonde_str a, struct sonde_str sep, struct sonde_str b)
{
	if (!a.n || !b.n)
		return a.n ? a : b;
	return HYDRA_JOIN(cx, a, sep, b);
}

static struct sonde_str dotted(struct hydra_ctx *cx, struct sonde_str path)
{
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < path.n; i++)
		sonde_buf_putc(&b, path.p[i] == '/' ? '.' : path.p[i]);
	return hydra_ctx__take(cx, &b);
}

static struct sonde_str relative_group(const struct hydra_item *it)
{
	struct sonde_str path = without_slash(it->path);

	return it->kind == HYDRA_ITEM_GROUP ? path : dir_part(path);
}

static bool is_absolute(const struct hydra_item *it)
{
	return it->path.n && it->path.p[0] == '/';
}

struct sonde_str hydra_item__group_path(struct hydra_ctx *cx, const struct hydra_item *it)
{
	if (is_absolute(it))
		return relative_group(it);
	return join(cx, it->base_dir, SONDE_STR("/"), relative_group(it));
}

struct sonde_str hydra_item__name(const struct hydra_item *it)
{
	struct sonde_str dir;

	if (it->kind == HYDRA_ITEM_GROUP) {
		if (it->value->kind == HYDRA_STRING)
			return it->value->s;
		return SONDE_STR("None");
	}
	dir = dir_part(it->path);
	if (!dir.n && !is_absolute(it))
		return it->path;
	return (struct sonde_str){it->path.p + dir.n + 1, it->path.n - dir.n - 1};
}

struct sonde_str hydra_item__config_path(struct hydra_ctx *cx, const struct hydra_item *it)
{
	if (it->kind == HYDRA_ITEM_GROUP)
		return HYDRA_JOIN(
			cx, hydra_item__group_path(cx, it), SONDE_STR("/"), hydra_item__name(it));
	if (is_absolute(it))
		return without_slash(it->path);
	return join(cx, it->base_dir, SONDE_STR("/"), it->path);
}

bool hydra_item__is_missing(struct hydra_ctx *cx, const struct hydra_item *it)
{
	return sonde_str_ends(hydra_item__config_path(cx, it), "???");
}

/* The part of a package behind its last _global_ (and the dot), or the whole package. */
static struct sonde_str after_global(struct sonde_str package)
{
	size_t n = sizeof(GLOBAL) - 1, i;

	for (i = package.n; i-- > 0;) {
		if (i + n > package.n || memcmp(package.p + i, GLOBAL, n) != 0)
			continue;
		i += n;
		if (i < package.n && package.p[i] == '.')
			i++;
		return (struct sonde_str){package.p + i, package.n - i};
	}
	return package;
}

static struct sonde_str final_package(
	struct hydra_ctx *cx, const struct hydra_item *it, bool use_header)
{
	struct sonde_str package;

	if (it->has_package)
		package = it->package;
	else if (use_header && it->has_header)
		package = it->header;
	else
		package = dotted(cx, relative_group(it));
	return after_global(join(cx, it->parent_package, SONDE_STR("."), package));
}

struct sonde_str hydra_item__final_package(struct hydra_ctx *cx, const struct hydra_item *it)
{
	return final_package(cx, it, true);
}

struct sonde_str hydra_item__override_key(struct hydra_ctx *cx, const struct hydra_item *it)
{
	struct sonde_str group = hydra_item__group_path(cx, it);
	struct sonde_str package = final_package(cx, it, false);

	if (sonde_str_eq(package, dotted(cx, group)))
		return group;
	return HYDRA_JOIN(cx, group, SONDE_STR("@"), package.n ? package : SONDE_STR(GLOBAL));
}

/* Replaces `_group_` in a package by the item's own group path; the package then is absolute. */
static void expand_group(struct hydra_ctx *cx, struct hydra_item *it)
{
	static const char word[] = "_group_";
	struct sonde_str group = dotted(cx, hydra_item__group_path(cx, it));
	struct sonde_buf b = {0};
	size_t i, n = sizeof(word) - 1;

	if (!it->has_package || !it->package.n || !memmem(it->package.p, it->package.n, word, n))
		return;
	sonde_buf_puts(&b, GLOBAL ".");
	for (i = 0; i < it->package.n;) {
		if (i + n <= it->package.n && memcmp(it->package.p + i, word, n) == 0) {
			sonde_buf_str(&b, group);
			i += n;
		} else {
			sonde_buf_putc(&b, it->package.p[i++]);
		}
	}
	it->package = hydra_ctx__take(cx, &b);
}

void hydra_item__set_parent(struct hydra_ctx *cx, struct hydra_item *it, struct hydra_item *parent)
{
	it->parent = parent;
	it->base_dir = hydra_item__group_path(cx, parent);
	it->parent_package = hydra_item__final_package(cx, parent);
	expand_group(cx, it);
}

static struct hydra_item *new_item(struct hydra_ctx *cx, enum hydra_item_kind kind)
{
	struct hydra_item *it = hydra_ctx__alloc(cx, 1, sizeof(*it));

	if (it)
		it->kind = kind;
	return it;
}

/* Splits `path@package` or `group@package:ignored`. */
static void split_package(struct hydra_item *it, struct sonde_str text)
{
	struct sonde_str rest;
	size_t at = sonde_str_find(text, '@');

	it->path = sonde_str_cut(text, '@', &rest);
	it->has_package = at < text.n;
	if (!it->has_package)
		return;
	it->package = sonde_str_cut(rest, ':', &rest);
	if (sonde_str_is(it->package, "_here_"))
		it->package = SONDE_STR("");
}

struct hydra_item *hydra_item__config(struct hydra_ctx *cx, struct sonde_str path)
{
	struct hydra_item *it = new_item(cx, HYDRA_ITEM_CONFIG);

	if (!it)
		return NULL;
	split_package(it, path);
	if (sonde_str_is(it->path, "_self_")) {
		if (it->has_package)
			return hydra_ctx__refuse(
				cx, "ValueError", "_self_@PACKAGE is not supported");
		it->kind = HYDRA_ITEM_SELF;
	}
	return it;
}

/* Takes the words `optional` and `override` in front of the group. Words behind any other word are ignored. */
static void take_keywords(struct hydra_item *it)
{
	struct sonde_str rest = it->path, word;
	bool known = true;

	while (sonde_str_find(rest, ' ') < rest.n) {
		word = sonde_str_cut(rest, ' ', &rest);
		if (known && sonde_str_is(word, "optional"))
			it->optional = true;
		else if (known && sonde_str_is(word, "override"))
			it->override = true;
		else
			known = false;
	}
	it->path = rest;
}

static int check_value(struct hydra_ctx *cx, const struct hydra_datum *v, struct sonde_str file)
{
	uint32_t i;

	if (v->kind != HYDRA_STRING && v->kind != HYDRA_NULL && v->kind != HYDRA_LIST)
		return hydra_ctx__fail_at(cx, "ValueError", file, v->line,
			"Unsupported item value in defaults : %s. Supported: string or list",
			hydra_datum__type_name(v));
	for (i = 0; v->kind == HYDRA_LIST && i < v->seq.nr; i++)
		if (v->seq.at[i]->kind != HYDRA_STRING)
			return hydra_ctx__fail_at(cx, "ValueError", file, v->line,
				"Unsupported item value in defaults : %s, nested list items must "
				"be strings",
				hydra_datum__type_name(v->seq.at[i]));
	return 0;
}

static struct hydra_item *parse_map(struct hydra_ctx *cx, struct hydra_datum *n,
	struct sonde_str file, struct sonde_str config_path)
{
	struct hydra_item *it = new_item(cx, HYDRA_ITEM_GROUP);
	struct sonde_str shown;

	if (!it)
		return NULL;
	if (n->seq.nr != 1) {
		shown = hydra_pytext__show(cx, n);
		hydra_ctx__fail_at(cx, "ValueError", file, n->line, "In %.*s: %s %.*s",
			SONDE_STR_ARG(config_path),
			n->seq.nr ? "Too many keys in default item" : "Missing group name in",
			SONDE_STR_ARG(shown));
		return NULL;
	}
	split_package(it, hydra_pytext__show(cx, n->seq.at[0]->key));
	take_keywords(it);
	it->value = n->seq.at[0];
	return check_value(cx, it->value, file) ? NULL : it;
}

static struct hydra_item *parse_item(struct hydra_ctx *cx, struct hydra_datum *n,
	struct sonde_str file, struct sonde_str config_path)
{
	if (n->kind == HYDRA_STRING)
		return hydra_item__config(cx, n->s);
	if (n->kind == HYDRA_MAP)
		return parse_map(cx, n, file, config_path);
	hydra_ctx__fail_at(cx, "ValueError", file, n->line, "Unsupported type in defaults : %s",
		n->kind == HYDRA_LIST ? "ListConfig" : hydra_datum__type_name(n));
	return NULL;
}

int hydra_item__parse_list(struct hydra_item ***out, uint32_t *nr, struct hydra_ctx *cx,
	const struct hydra_loaded *loaded, struct sonde_str config_path)
{
	struct hydra_datum *list = loaded->defaults;
	uint32_t i;

	*nr = 0;
	*out = NULL;
	if (!list)
		return 0;
	if (list->kind != HYDRA_LIST)
		return hydra_ctx__fail_at(cx, "ValueError", loaded->from->name, list->line,
			"Invalid defaults list in '%.*s', defaults must be a list (got %s)",
			SONDE_STR_ARG(config_path),
			list->kind == HYDRA_MAP ? "mapping" : hydra_datum__type_name(list));
	*out = hydra_ctx__alloc(cx, list->seq.nr + 1, sizeof(**out));
	for (i = 0; *out && i < list->seq.nr; i++) {
		(*out)[i] = parse_item(cx, list->seq.at[i], loaded->from->name, config_path);
		if (!(*out)[i])
			return cx->fail.code;
		(*out)[i]->file = loaded->from->name;
		(*out)[i]->line = list->seq.at[i]->line;
		*nr = i + 1;
	}
	return cx->fail.code;
}
