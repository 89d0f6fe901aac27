/* Makes values for the parser: scalars by their type, maps from pairs, whole files. */
#include "hydra/yaml.h"

#include "hydra/interp.h"
#include "hydra/pynumber.h"

#include <string.h>

struct scalar {
	struct hydra_ctx *cx;
	const struct hydra_from *from;
	uint32_t line;
	struct sonde_str text;
};

/* Fails with the sentence `what` and the scalar's text in quotes behind it. */
static struct hydra_datum *refuse(const struct scalar *b, const char *what)
{
	hydra_ctx__fail_at(b->cx, "ConstructorError", b->from->name, b->line, "%s '%.*s'", what,
		SONDE_STR_ARG(b->text));
	return NULL;
}

void hydra_yaml__refuse_tag(
	struct hydra_ctx *cx, const struct hydra_from *from, uint32_t line, struct sonde_str tag)
{
	refuse(&(struct scalar){cx, from, line, tag},
		"tag not understood here, quote the value or write !!str:");
}

enum hydra_yaml_tag hydra_yaml__type_of(struct sonde_str text, bool plain, struct sonde_str tag)
{
	static const struct {
		const char *name;
		enum hydra_yaml_tag tag;
	} tags[] = {{"!!str", YAML_TAG_STR}, {"!!null", YAML_TAG_NULL}, {"!!bool", YAML_TAG_BOOL},
		{"!!int", YAML_TAG_INT}, {"!!float", YAML_TAG_FLOAT}, {"!!merge", YAML_TAG_MERGE}};
	size_t i;

	if (!tag.n && !plain)
		return YAML_TAG_STR;
	if (!tag.n || sonde_str_is(tag, "!"))
		return hydra_yaml__resolve_loose(text);
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (sonde_str_is(tag, tags[i].name))
			return tags[i].tag;
	return YAML_TAG_UNKNOWN;
}

static struct hydra_datum *build_bool(const struct scalar *b)
{
	bool yes = hydra_pynumber__is_word(b->text, "yes|true|on");

	if (!yes && !hydra_pynumber__is_word(b->text, "no|false|off"))
		return refuse(b, "not a boolean:");
	return hydra_datum__bool(b->cx, yes);
}

static struct sonde_str without_sign(struct sonde_str s)
{
	size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');

	return (struct sonde_str){s.p + sign, s.n - sign};
}

static struct hydra_datum *build_int(const struct scalar *b)
{
	struct sonde_str s = b->text, rest = without_sign(s);
	unsigned base = 10;

	if (hydra_yaml__resolve(s) != YAML_TAG_INT && !hydra_pynumber__is_py_int(s))
		return refuse(b, "not an integer:");
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

static struct hydra_datum *build_float(const struct scalar *b)
{
	struct sonde_str s = b->text, rest = without_sign(s);
	double f;

	if (hydra_yaml__resolve_loose(s) != YAML_TAG_FLOAT && !hydra_pynumber__is_py_float(s))
		return refuse(b, "not a number:");
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

struct hydra_datum *hydra_yaml__scalar(struct hydra_ctx *cx, const struct hydra_from *from,
	uint32_t line, struct sonde_str text, enum hydra_yaml_tag type)
{
	const struct scalar b = {cx, from, line, text};

	switch (type) {
	case YAML_TAG_NULL:
		return hydra_datum__new(cx, HYDRA_NULL);
	case YAML_TAG_BOOL:
		return build_bool(&b);
	case YAML_TAG_INT:
		return build_int(&b);
	case YAML_TAG_FLOAT:
		return build_float(&b);
	case YAML_TAG_MERGE:
	case YAML_TAG_VALUE:
		return refuse(&b, "this has a meaning of its own in YAML, quote it:");
	default:
		return hydra_datum__string(cx, text);
	}
}

static int fail_at(struct hydra_ctx *cx, const struct hydra_datum *n, const char *what)
{
	return hydra_ctx__fail_at(cx, "ConstructorError", n->from->name, n->line, "%s", what);
}

/* Merges the map, or the list of maps, under `<<`. For a key that several maps have, the earlier map wins. */
static int merge(struct hydra_ctx *cx, struct hydra_yaml_pairs *m, struct hydra_datum *from)
{
	struct hydra_datum **maps = from->kind == HYDRA_LIST ? from->seq.at : &from;
	uint32_t i, k, nr = from->kind == HYDRA_LIST ? from->seq.nr : 1;

	if (!m->merged)
		m->merged = hydra_datum__new(cx, HYDRA_MAP);
	for (i = nr; i-- > 0;) {
		if (maps[i]->kind != HYDRA_MAP)
			return fail_at(cx, from, "'<<' needs a mapping or a list of mappings");
		for (k = 0; k < maps[i]->seq.nr; k++)
			hydra_datum__set(
				cx, m->merged, maps[i]->seq.at[k]->key, maps[i]->seq.at[k]);
	}
	return cx->fail.code;
}

int hydra_yaml__add_pair(struct hydra_ctx *cx, struct hydra_yaml_pairs *m, struct hydra_datum *key,
	struct hydra_datum *value)
{
	if (!key || !value)
		return cx->fail.code;
	if (key == m->merge_key)
		return merge(cx, m, value);
	if (hydra_datum__is_container(key))
		return fail_at(cx, key, "a key must be a scalar, found unhashable key");
	if (key->kind == HYDRA_STRING && hydra_datum__find(m->own, key))
		return hydra_ctx__fail_at(cx, "ConstructorError", key->from->name, key->line,
			"found duplicate key '%.*s'", SONDE_STR_ARG(key->s));
	return hydra_datum__set(cx, m->own, key, value);
}

struct hydra_datum *hydra_yaml__close_map(struct hydra_ctx *cx, struct hydra_yaml_pairs *m)
{
	struct hydra_datum *own = m->own;
	uint32_t i;

	for (i = 0; m->merged && i < own->seq.nr; i++)
		hydra_datum__set(cx, m->merged, own->seq.at[i]->key, own->seq.at[i]);
	if (cx->fail.code || !m->merged)
		return cx->fail.code ? NULL : own;
	m->merged->from = own->from;
	m->merged->line = own->line;
	return m->merged;
}

int hydra_yaml__load(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data)
{
	*out = NULL;
	if (data.n > HYDRA_MAX_FILE_BYTES)
		return hydra_ctx__fail_at(cx, "LimitError", from->name, 1,
			"a config file of more than %u MiB, divide it", HYDRA_MAX_FILE_BYTES >> 20);
	if (hydra_yaml__parse(out, cx, from, data) == 0 && !*out)
		*out = hydra_datum__new(cx, HYDRA_NULL);
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
