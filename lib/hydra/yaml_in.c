/* A parsed document to values: types, merge keys, duplicate keys, aliases. */
#include "hydra/yaml.h"

#include "base/map.h"
#include "hydra/interp.h"
#include "hydra/pynumber.h"

#include <string.h>

#define NO_TAG	 "tag not understood here, quote the value or write !!str:"
#define NO_MERGE "'<<' needs a mapping or a list of mappings"
#define LOOP	 "the alias refers to a value it is part of"

struct builder {
	struct hydra_ctx *cx;
	const struct hydra_from *from;
	unsigned depth;
};

static struct hydra_datum *build(struct builder *b, struct hydra_yaml *y);

static int fail(struct builder *b, const struct hydra_yaml *y, const char *what)
{
	return hydra_ctx__fail_at(b->cx, "ConstructorError", b->from->name, y->line, "%s", what);
}

/* The same with `text` quoted behind the sentence. Returns NULL. */
static struct hydra_datum *refuse(
	struct builder *b, const struct hydra_yaml *y, const char *what, struct sonde_str text)
{
	hydra_ctx__fail_at(b->cx, "ConstructorError", b->from->name, y->line, "%s '%.*s'", what,
		SONDE_STR_ARG(text));
	return NULL;
}

static enum hydra_yaml_tag tag_of(const struct hydra_yaml *y, bool *known)
{
	static const struct {
		const char *name;
		enum hydra_yaml_tag tag;
	} tags[] = {{"!!str", YAML_TAG_STR}, {"!!null", YAML_TAG_NULL}, {"!!bool", YAML_TAG_BOOL},
		{"!!int", YAML_TAG_INT}, {"!!float", YAML_TAG_FLOAT}, {"!!merge", YAML_TAG_MERGE}};
	size_t i;

	*known = true;
	if (!y->tag.n)
		return y->plain ? hydra_yaml__resolve_loose(y->value) : YAML_TAG_STR;
	if (sonde_str_is(y->tag, "!"))
		return hydra_yaml__resolve_loose(y->value);
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (sonde_str_is(y->tag, tags[i].name))
			return tags[i].tag;
	*known = false;
	return YAML_TAG_STR;
}

static struct hydra_datum *build_bool(struct builder *b, const struct hydra_yaml *y)
{
	bool yes = hydra_pynumber__is_word(y->value, "yes|true|on");

	if (!yes && !hydra_pynumber__is_word(y->value, "no|false|off"))
		return refuse(b, y, "not a boolean:", y->value);
	return hydra_datum__bool(b->cx, yes);
}

static struct sonde_str without_sign(struct sonde_str s)
{
	size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');

	return (struct sonde_str){s.p + sign, s.n - sign};
}

static struct hydra_datum *build_int(struct builder *b, const struct hydra_yaml *y)
{
	struct sonde_str s = y->value, rest = without_sign(s);
	unsigned base = 10;

	if (hydra_yaml__resolve(s) != YAML_TAG_INT && !hydra_pynumber__is_py_int(s))
		return refuse(b, y, "not an integer:", s);
	if (memchr(rest.p, ':', rest.n))
		return hydra_pynumber__int60(b->cx, s);
	if (sonde_str_starts(rest, "0b"))
		base = 2;
	else if (sonde_str_starts(rest, "0x"))
		base = 16;
	else if (rest.n > 1 && rest.p[0] == '0')
		base = 8;
	return hydra_pynumber__int(b->cx, s, base);
}

static struct hydra_datum *build_float(struct builder *b, const struct hydra_yaml *y)
{
	struct sonde_str s = y->value, rest = without_sign(s);
	double f;

	if (hydra_yaml__resolve_loose(s) != YAML_TAG_FLOAT && !hydra_pynumber__is_py_float(s))
		return refuse(b, y, "not a number:", s);
	if (memchr(rest.p, ':', rest.n))
		f = hydra_pynumber__double60(s);
	else if (hydra_pynumber__is_word(rest, ".inf"))
		f = s.p[0] == '-' ? -__builtin_inf() : __builtin_inf();
	else if (hydra_pynumber__is_word(rest, ".nan"))
		f = __builtin_nan("");
	else
		f = hydra_pynumber__py_float(s);
	return hydra_datum__float(b->cx, f);
}

static struct hydra_datum *build_scalar(struct builder *b, const struct hydra_yaml *y)
{
	bool known;

	switch (tag_of(y, &known)) {
	case YAML_TAG_NULL:
		return hydra_datum__new(b->cx, HYDRA_NULL);
	case YAML_TAG_BOOL:
		return build_bool(b, y);
	case YAML_TAG_INT:
		return build_int(b, y);
	case YAML_TAG_FLOAT:
		return build_float(b, y);
	case YAML_TAG_MERGE:
	case YAML_TAG_VALUE:
		return refuse(b, y, "this has a meaning of its own in YAML, quote it:", y->value);
	default:
		break;
	}
	if (!known)
		return refuse(b, y, NO_TAG, y->tag);
	return hydra_datum__string(b->cx, y->value);
}

static bool is_merge(const struct hydra_yaml *key)
{
	bool known;

	return key->kind == YAML_SCALAR && tag_of(key, &known) == YAML_TAG_MERGE;
}

/* Scalar keys only; `=` is an ordinary key. */
static struct hydra_datum *build_key(struct builder *b, struct hydra_yaml *key)
{
	struct hydra_datum *n;
	bool known;

	if (key->kind != YAML_SCALAR) {
		fail(b, key, "a key must be a scalar, found unhashable key");
		return NULL;
	}
	if (tag_of(key, &known) == YAML_TAG_VALUE)
		n = hydra_datum__string(b->cx, key->value);
	else
		n = build_scalar(b, key);
	if (n)
		n->from = b->from, n->line = key->line;
	return n;
}

static int check_duplicates(struct builder *b, struct hydra_yaml *y)
{
	struct sonde_map seen = {0};
	uint32_t i;
	bool known, is_new;
	int rc = 0;

	for (i = 0; i < y->nr && !rc; i += 2) {
		struct hydra_yaml *key = y->items[i];

		if (key->kind != YAML_SCALAR || tag_of(key, &known) != YAML_TAG_STR)
			continue;
		if (sonde_map_add(&seen, key->value, &is_new) == SONDE_NONE)
			rc = hydra_ctx__nomem(b->cx);
		else if (!is_new)
			rc = (refuse(b, key, "found duplicate key", key->value), b->cx->fail.code);
	}
	sonde_map_release(&seen);
	return rc;
}

static int add_pairs(struct builder *b, struct hydra_datum *map, struct hydra_yaml *y);

/* `<<: *x` or `<<: [*x, *y]`: the earlier of several wins, all lose against the map's own keys. */
static int add_merged(struct builder *b, struct hydra_datum *map, struct hydra_yaml *value)
{
	uint32_t i;

	if (value->busy)
		return fail(b, value, LOOP);
	if (value->kind == YAML_MAPPING)
		return add_pairs(b, map, value);
	if (value->kind != YAML_SEQUENCE)
		return fail(b, value, NO_MERGE);
	for (i = value->nr; i-- > 0;) {
		if (value->items[i]->kind != YAML_MAPPING || value->items[i]->busy)
			return fail(b, value, NO_MERGE);
		if (add_pairs(b, map, value->items[i]))
			return b->cx->fail.code;
	}
	return 0;
}

static int add_pairs(struct builder *b, struct hydra_datum *map, struct hydra_yaml *y)
{
	uint32_t i;

	if (hydra_ctx__is_deep(b->cx, ++b->depth))
		return b->cx->fail.code;
	y->busy = true;
	for (i = 0; i < y->nr; i += 2)
		if (is_merge(y->items[i]) && add_merged(b, map, y->items[i + 1]))
			return b->cx->fail.code;
	for (i = 0; i < y->nr; i += 2) {
		struct hydra_datum *key;

		if (is_merge(y->items[i]))
			continue;
		key = build_key(b, y->items[i]);
		if (!key || hydra_datum__set(b->cx, map, key, build(b, y->items[i + 1])) ||
			b->cx->fail.code)
			return b->cx->fail.code;
	}
	y->busy = false;
	b->depth--;
	return 0;
}

static struct hydra_datum *build_map(struct builder *b, struct hydra_yaml *y)
{
	struct hydra_datum *map = hydra_datum__new(b->cx, HYDRA_MAP);

	if (!map || check_duplicates(b, y) || add_pairs(b, map, y))
		return NULL;
	return map;
}

static struct hydra_datum *build_list(struct builder *b, struct hydra_yaml *y)
{
	struct hydra_datum *list = hydra_datum__new(b->cx, HYDRA_LIST);
	uint32_t i;

	if (!list || hydra_ctx__is_deep(b->cx, ++b->depth))
		return NULL;
	y->busy = true;
	for (i = 0; i < y->nr; i++)
		if (hydra_datum__push(b->cx, list, build(b, y->items[i])) || b->cx->fail.code)
			return NULL;
	y->busy = false;
	b->depth--;
	return list;
}

static struct hydra_datum *build(struct builder *b, struct hydra_yaml *y)
{
	struct hydra_datum *n = NULL;

	if (b->cx->fail.code)
		return NULL;
	if (y->busy)
		fail(b, y, LOOP);
	else if (y->kind == YAML_SCALAR)
		n = build_scalar(b, y);
	else if (y->tag.n > 1 && !sonde_str_is(y->tag, y->kind == YAML_MAPPING ? "!!map" : "!!seq"))
		refuse(b, y, NO_TAG, y->tag);
	else
		n = y->kind == YAML_MAPPING ? build_map(b, y) : build_list(b, y);
	if (n)
		n->from = b->from, n->line = y->line;
	return n;
}

int hydra_yaml__load(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data)
{
	struct builder b = {.cx = cx, .from = from};
	struct hydra_yaml *y;

	*out = NULL;
	if (data.n > HYDRA_MAX_FILE_BYTES)
		return hydra_ctx__fail_at(cx, "LimitError", from->name, 1,
			"the file has more than %u MiB", HYDRA_MAX_FILE_BYTES >> 20);
	if (hydra_yaml__parse(&y, cx, from->name, data))
		return cx->fail.code;
	*out = y ? build(&b, y) : hydra_datum__new(cx, HYDRA_NULL);
	return cx->fail.code;
}

int hydra_yaml__load_config(struct hydra_datum **out, struct hydra_ctx *cx,
	const struct hydra_from *from, struct sonde_str data)
{
	struct hydra_datum *n, *map;

	if (hydra_yaml__load(&n, cx, from, data))
		return cx->fail.code;
	if (n->kind != HYDRA_MAP && n->kind != HYDRA_LIST) {
		if (n->kind != HYDRA_NULL && n->kind != HYDRA_STRING)
			return hydra_ctx__fail_at(cx, "OSError", from->name, n->line,
				"Invalid loaded object type: %s", hydra_datum__type_name(n));
		map = hydra_datum__new(cx, HYDRA_MAP);
		if (map)
			map->from = from, map->line = n->line;
		if (n->kind == HYDRA_STRING)
			hydra_datum__set(cx, map, n, hydra_datum__new(cx, HYDRA_NULL));
		n = map;
	}
	*out = n;
	return cx->fail.code ? cx->fail.code : hydra_interp__check_tree(cx, n);
}
