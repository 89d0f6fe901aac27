/* A parsed document to values: types, merge keys, duplicate keys, aliases. */
#include "config/yaml.h"

#include "base/map.h"
#include "config/interp.h"
#include "config/pynumber.h"

#include <strings.h>
#include <string.h>

struct builder {
	struct sonde_ctx *cx;
	const struct sonde_from *from;
	unsigned depth;
};

static struct sonde_datum *build(struct builder *b, struct sonde_yaml *y);

/* `arg` is quoted behind the sentence when it is not empty. */
static int fail(struct builder *b, uint32_t line, const char *what, struct sonde_str arg)
{
	return sonde_ctx__fail_at(b->cx, "ConstructorError", b->from->name, line, "%s%s%.*s%s",
		what, arg.n ? " '" : "", SONDE_STR_ARG(arg), arg.n ? "'" : "");
}

/* The part of a tag behind tag:yaml.org,2002:, or empty. */
static struct sonde_str core_tag(struct sonde_str tag)
{
	static const char prefix[] = "tag:yaml.org,2002:";
	size_t n = sizeof(prefix) - 1;

	if (!sonde_str_starts(tag, prefix))
		return (struct sonde_str){0};
	return (struct sonde_str){tag.p + n, tag.n - n};
}

static enum sonde_yaml_tag tag_of(const struct sonde_yaml *y, bool *known)
{
	static const struct {
		const char *name;
		enum sonde_yaml_tag tag;
	} tags[] = {{"str", YAML_TAG_STR}, {"null", YAML_TAG_NULL}, {"bool", YAML_TAG_BOOL},
		{"int", YAML_TAG_INT}, {"float", YAML_TAG_FLOAT}, {"merge", YAML_TAG_MERGE}};
	struct sonde_str core = core_tag(y->tag);
	size_t i;

	*known = true;
	if (!y->tag.n)
		return y->plain ? sonde_yaml__resolve_loose(y->value) : YAML_TAG_STR;
	if (sonde_str_is(y->tag, "!"))
		return sonde_yaml__resolve_loose(y->value);
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (sonde_str_is(core, tags[i].name))
			return tags[i].tag;
	*known = false;
	return YAML_TAG_STR;
}

static struct sonde_datum *build_bool(struct builder *b, const struct sonde_yaml *y)
{
	static const char *const yes[] = {"yes", "true", "on"};
	static const char *const no[] = {"no", "false", "off"};
	size_t i;

	for (i = 0; i < 3; i++) {
		if (y->value.n == strlen(yes[i]) && !strncasecmp(y->value.p, yes[i], y->value.n))
			return sonde_datum__bool(b->cx, true);
		if (y->value.n == strlen(no[i]) && !strncasecmp(y->value.p, no[i], y->value.n))
			return sonde_datum__bool(b->cx, false);
	}
	fail(b, y->line, "not a boolean:", y->value);
	return NULL;
}

static struct sonde_datum *build_int(struct builder *b, const struct sonde_yaml *y)
{
	struct sonde_str s = y->value;
	size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');
	struct sonde_str rest = {s.p + sign, s.n - sign};
	struct sonde_datum *n;
	unsigned base = 10;

	if (sonde_yaml__resolve(s) != YAML_TAG_INT && !sonde_pynumber__is_py_int(s)) {
		fail(b, y->line, "not an integer:", s);
		return NULL;
	}
	if (memchr(rest.p, ':', rest.n))
		return sonde_pynumber__int60(b->cx, s);
	if (sonde_str_starts(rest, "0b"))
		base = 2;
	else if (sonde_str_starts(rest, "0x"))
		base = 16;
	else if (rest.n > 1 && rest.p[0] == '0')
		base = 8;
	if (base == 2 || base == 16)
		rest.p += 2, rest.n -= 2;
	n = sonde_pynumber__int(b->cx, rest, base);
	return n && sign && s.p[0] == '-' ? sonde_pynumber__negate(b->cx, n) : n;
}

static struct sonde_datum *build_float(struct builder *b, const struct sonde_yaml *y)
{
	struct sonde_str s = y->value;
	size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');
	struct sonde_str rest = {s.p + sign, s.n - sign};
	double f;

	if (sonde_yaml__resolve_loose(s) != YAML_TAG_FLOAT && !sonde_pynumber__is_py_float(s)) {
		fail(b, y->line, "not a number:", s);
		return NULL;
	}
	if (memchr(rest.p, ':', rest.n))
		f = sonde_pynumber__double60(s);
	else if (rest.n == 4 && rest.p[0] == '.' && (rest.p[1] == 'i' || rest.p[1] == 'I'))
		f = s.p[0] == '-' ? -__builtin_inf() : __builtin_inf();
	else if (rest.n == 4 && rest.p[0] == '.' && (rest.p[1] == 'n' || rest.p[1] == 'N'))
		f = __builtin_nan("");
	else
		f = sonde_pynumber__py_float(s);
	return sonde_datum__float(b->cx, f);
}

static struct sonde_datum *build_scalar(struct builder *b, const struct sonde_yaml *y)
{
	bool known;

	switch (tag_of(y, &known)) {
	case YAML_TAG_NULL:
		return sonde_datum__new(b->cx, SONDE_NULL);
	case YAML_TAG_BOOL:
		return build_bool(b, y);
	case YAML_TAG_INT:
		return build_int(b, y);
	case YAML_TAG_FLOAT:
		return build_float(b, y);
	case YAML_TAG_MERGE:
	case YAML_TAG_VALUE:
		fail(b, y->line, "this has a meaning of its own in YAML, quote it:", y->value);
		return NULL;
	default:
		break;
	}
	if (!known) {
		fail(b, y->line, "tag not understood here:", y->tag);
		return NULL;
	}
	return sonde_datum__string(b->cx, y->value);
}

static bool is_merge(const struct sonde_yaml *key)
{
	bool known;

	return key->kind == YAML_SCALAR && tag_of(key, &known) == YAML_TAG_MERGE;
}

/* Scalar keys only; `=` is an ordinary key. */
static struct sonde_datum *build_key(struct builder *b, struct sonde_yaml *key)
{
	struct sonde_datum *n;
	bool known;

	if (key->kind != YAML_SCALAR) {
		fail(b, key->line, "a key must be a scalar, found unhashable key",
			(struct sonde_str){0});
		return NULL;
	}
	if (tag_of(key, &known) == YAML_TAG_VALUE)
		n = sonde_datum__string(b->cx, key->value);
	else
		n = build_scalar(b, key);
	if (n)
		n->from = b->from, n->line = key->line;
	return n;
}

static int check_duplicates(struct builder *b, struct sonde_yaml *y)
{
	struct sonde_map seen = {0};
	uint32_t i;
	bool known, is_new;
	int rc = 0;

	for (i = 0; i < y->nr && !rc; i += 2) {
		struct sonde_yaml *key = y->items[i];

		if (key->kind != YAML_SCALAR || tag_of(key, &known) != YAML_TAG_STR)
			continue;
		if (sonde_map_add(&seen, key->value, &is_new) == SONDE_NONE)
			rc = sonde_ctx__nomem(b->cx);
		else if (!is_new)
			rc = fail(b, key->line, "found duplicate key", key->value);
	}
	sonde_map_release(&seen);
	return rc;
}

static int add_pairs(struct builder *b, struct sonde_datum *map, struct sonde_yaml *y);

/* `<<: *x` or `<<: [*x, *y]`: the earlier of several wins, all lose against the map's own keys. */
static int add_merged(struct builder *b, struct sonde_datum *map, struct sonde_yaml *value)
{
	uint32_t i;

	if (value->busy)
		return fail(b, value->line, "the alias refers to a value it is part of",
			(struct sonde_str){0});
	if (value->kind == YAML_MAPPING)
		return add_pairs(b, map, value);
	if (value->kind != YAML_SEQUENCE)
		return fail(b, value->line, "'<<' needs a mapping or a list of mappings",
			(struct sonde_str){0});
	for (i = value->nr; i-- > 0;) {
		if (value->items[i]->kind != YAML_MAPPING || value->items[i]->busy)
			return fail(b, value->line, "'<<' needs a mapping or a list of mappings",
				(struct sonde_str){0});
		if (add_pairs(b, map, value->items[i]))
			return b->cx->fail.code;
	}
	return 0;
}

static int add_pairs(struct builder *b, struct sonde_datum *map, struct sonde_yaml *y)
{
	uint32_t i;

	if (++b->depth > SONDE_MAX_DEPTH)
		return sonde_ctx__limit(
			b->cx, "values are nested deeper than %d levels", SONDE_MAX_DEPTH);
	y->busy = true;
	for (i = 0; i < y->nr; i += 2)
		if (is_merge(y->items[i]) && add_merged(b, map, y->items[i + 1]))
			return b->cx->fail.code;
	for (i = 0; i < y->nr; i += 2) {
		struct sonde_datum *key;

		if (is_merge(y->items[i]))
			continue;
		key = build_key(b, y->items[i]);
		if (!key || sonde_datum__set(b->cx, map, key, build(b, y->items[i + 1])) ||
			b->cx->fail.code)
			return b->cx->fail.code;
	}
	y->busy = false;
	b->depth--;
	return 0;
}

static bool has_core_tag(const struct sonde_yaml *y, const char *name)
{
	return !y->tag.n || sonde_str_is(y->tag, "!") || sonde_str_is(core_tag(y->tag), name);
}

static struct sonde_datum *build_map(struct builder *b, struct sonde_yaml *y)
{
	struct sonde_datum *map = sonde_datum__new(b->cx, SONDE_MAP);

	if (!map || check_duplicates(b, y) || add_pairs(b, map, y))
		return NULL;
	return map;
}

static struct sonde_datum *build_list(struct builder *b, struct sonde_yaml *y)
{
	struct sonde_datum *list = sonde_datum__new(b->cx, SONDE_LIST);
	uint32_t i;

	if (!list)
		return NULL;
	if (++b->depth > SONDE_MAX_DEPTH) {
		sonde_ctx__limit(b->cx, "values are nested deeper than %d levels", SONDE_MAX_DEPTH);
		return NULL;
	}
	y->busy = true;
	for (i = 0; i < y->nr; i++)
		if (sonde_datum__push(b->cx, list, build(b, y->items[i])) || b->cx->fail.code)
			return NULL;
	y->busy = false;
	b->depth--;
	return list;
}

static struct sonde_datum *build(struct builder *b, struct sonde_yaml *y)
{
	struct sonde_datum *n = NULL;

	if (b->cx->fail.code)
		return NULL;
	if (y->busy)
		fail(b, y->line, "the alias refers to a value it is part of",
			(struct sonde_str){0});
	else if (y->kind == YAML_SCALAR)
		n = build_scalar(b, y);
	else if (!has_core_tag(y, y->kind == YAML_MAPPING ? "map" : "seq"))
		fail(b, y->line, "tag not understood here:", y->tag);
	else
		n = y->kind == YAML_MAPPING ? build_map(b, y) : build_list(b, y);
	if (n)
		n->from = b->from, n->line = y->line;
	return n;
}

int sonde_yaml__load(struct sonde_datum **out, struct sonde_ctx *cx, const struct sonde_from *from,
	struct sonde_str data)
{
	struct builder b = {.cx = cx, .from = from};
	struct sonde_yaml *y;

	*out = NULL;
	if (data.n > SONDE_MAX_FILE_BYTES)
		return sonde_ctx__fail_at(cx, "LimitError", from->name, 1,
			"the file has more than %u MiB", SONDE_MAX_FILE_BYTES >> 20);
	if (sonde_yaml__parse(&y, cx, from->name, data))
		return cx->fail.code;
	*out = y ? build(&b, y) : sonde_datum__new(cx, SONDE_NULL);
	return cx->fail.code;
}

int sonde_yaml__load_config(struct sonde_datum **out, struct sonde_ctx *cx,
	const struct sonde_from *from, struct sonde_str data)
{
	struct sonde_datum *n, *map;

	if (sonde_yaml__load(&n, cx, from, data))
		return cx->fail.code;
	if (n->kind != SONDE_MAP && n->kind != SONDE_LIST) {
		if (n->kind != SONDE_NULL && n->kind != SONDE_STRING)
			return sonde_ctx__fail_at(cx, "OSError", from->name, n->line,
				"Invalid loaded object type: %s", sonde_datum__type_name(n));
		map = sonde_datum__new(cx, SONDE_MAP);
		if (map)
			map->from = from, map->line = n->line;
		if (n->kind == SONDE_STRING)
			sonde_datum__set(cx, map, n, sonde_datum__new(cx, SONDE_NULL));
		n = map;
	}
	*out = n;
	return cx->fail.code ? cx->fail.code : sonde_interp__check_tree(cx, n);
}
