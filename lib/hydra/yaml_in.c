/* A parsed document to values: types, merge keys, duplicate keys, aliases. */
#include "hydra/yaml.h"

#include "base/map.h"
#include "hydra/interp.h"
#include "hydra/pynumber.h"

#include <strings.h>
#include <string.h>

struct builder {
	struct hydra_ctx *cx;
	const struct hydra_from *from;
	unsigned depth;
};

static struct hydra_datum *build(struct builder *b, struct hydra_yaml *y);

/* `arg` is quoted behind the sentence when it is not empty. */
static int fail(struct builder *b, uint32_t line, const char *what, struct sonde_str arg)
{
	return hydra_ctx__fail_at(b->cx, "ConstructorError", b->from->name, line, "%s%s%.*s%s",
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

static enum hydra_yaml_tag tag_of(const struct hydra_yaml *y, bool *known)
{
	static const struct {
		const char *name;
		enum hydra_yaml_tag tag;
	} tags[] = {{"str", YAML_TAG_STR}, {"null", YAML_TAG_NULL}, {"bool", YAML_TAG_BOOL},
		{"int", YAML_TAG_INT}, {"float", YAML_TAG_FLOAT}, {"merge", YAML_TAG_MERGE}};
	struct sonde_str core = core_tag(y->tag);
	size_t i;

	*known = true;
	if (!y->tag.n)
		return y->plain ? hydra_yaml__resolve_loose(y->value) : YAML_TAG_STR;
	if (sonde_str_is(y->tag, "!"))
		return hydra_yaml__resolve_loose(y->value);
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (sonde_str_is(core, tags[i].name))
			return tags[i].tag;
	*known = false;
	return YAML_TAG_STR;
}

static struct hydra_datum *build_bool(struct builder *b, const struct hydra_yaml *y)
{
	static const char *const yes[] = {"yes", "true", "on"};
	static const char *const no[] = {"no", "false", "off"};
	size_t i;

	for (i = 0; i < 3; i++) {
		if (y->value.n == strlen(yes[i]) && !strncasecmp(y->value.p, yes[i], y->value.n))
			return hydra_datum__bool(b->cx, true);
		if (y->value.n == strlen(no[i]) && !strncasecmp(y->value.p, no[i], y->value.n))
			return hydra_datum__bool(b->cx, false);
	}
	fail(b, y->line, "not a boolean:", y->value);
	return NULL;
}

static struct hydra_datum *build_int(struct builder *b, const struct hydra_yaml *y)
{
	struct sonde_str s = y->value;
	size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');
	struct sonde_str rest = {s.p + sign, s.n - sign};
	struct hydra_datum *n;
	unsigned base = 10;

	if (hydra_yaml__resolve(s) != YAML_TAG_INT && !hydra_pynumber__is_py_int(s)) {
		fail(b, y->line, "not an integer:", s);
		return NULL;
	}
	if (memchr(rest.p, ':', rest.n))
		return hydra_pynumber__int60(b->cx, s);
	if (sonde_str_starts(rest, "0b"))
		base = 2;
	else if (sonde_str_starts(rest, "0x"))
		base = 16;
	else if (rest.n > 1 && rest.p[0] == '0')
		base = 8;
	if (base == 2 || base == 16)
		rest.p += 2, rest.n -= 2;
	n = hydra_pynumber__int(b->cx, rest, base);
	return n && sign && s.p[0] == '-' ? hydra_pynumber__negate(b->cx, n) : n;
}

static struct hydra_datum *build_float(struct builder *b, const struct hydra_yaml *y)
{
	struct sonde_str s = y->value;
	size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');
	struct sonde_str rest = {s.p + sign, s.n - sign};
	double f;

	if (hydra_yaml__resolve_loose(s) != YAML_TAG_FLOAT && !hydra_pynumber__is_py_float(s)) {
		fail(b, y->line, "not a number:", s);
		return NULL;
	}
	if (memchr(rest.p, ':', rest.n))
		f = hydra_pynumber__double60(s);
	else if (rest.n == 4 && rest.p[0] == '.' && (rest.p[1] == 'i' || rest.p[1] == 'I'))
		f = s.p[0] == '-' ? -__builtin_inf() : __builtin_inf();
	else if (rest.n == 4 && rest.p[0] == '.' && (rest.p[1] == 'n' || rest.p[1] == 'N'))
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
		fail(b, y->line, "this has a meaning of its own in YAML, quote it:", y->value);
		return NULL;
	default:
		break;
	}
	if (!known) {
		fail(b, y->line, "tag not understood here:", y->tag);
		return NULL;
	}
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
		fail(b, key->line, "a key must be a scalar, found unhashable key",
			(struct sonde_str){0});
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
			rc = fail(b, key->line, "found duplicate key", key->value);
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

static int add_pairs(struct builder *b, struct hydra_datum *map, struct hydra_yaml *y)
{
	uint32_t i;

	if (++b->depth > HYDRA_MAX_DEPTH)
		return hydra_ctx__limit(
			b->cx, "values are nested deeper than %d levels", HYDRA_MAX_DEPTH);
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

static bool has_core_tag(const struct hydra_yaml *y, const char *name)
{
	return !y->tag.n || sonde_str_is(y->tag, "!") || sonde_str_is(core_tag(y->tag), name);
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

	if (!list)
		return NULL;
	if (++b->depth > HYDRA_MAX_DEPTH) {
		hydra_ctx__limit(b->cx, "values are nested deeper than %d levels", HYDRA_MAX_DEPTH);
		return NULL;
	}
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
