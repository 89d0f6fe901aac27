/*
 * Makes values from tokens: a recursive descent with limited depth.
 *
 * An alias is a copy of the value that its anchor names, which must be complete by then. `<<: map` puts the
 * keys of that map in front of the map's own keys, whose values win.
 */
#include "hydra/yaml.h"

#include "base/map.h"
#include "hydra/yaml_token.h"

/* The place of a node, which decides what may begin it and how a scalar is read. */
enum { IN_FLOW, IN_BLOCK = 1, INDENTLESS = 2, AS_KEY = 4 };

struct parser {
	struct hydra_ctx *cx;
	const struct hydra_from *from;
	struct hydra_scanner scanner;
	struct sonde_map anchors;		 /* names; the number of a name is its index in `targets` */
	SONDE_VEC(struct hydra_datum *) targets; /* the value of each anchor; NULL while it is being read */
	struct hydra_datum merge_key;		 /* the node that is used as the key for `<<` */
	unsigned depth;
};

static struct hydra_datum *parse_node(struct parser *p, unsigned where);

static int fail(struct parser *p, const char *type, uint32_t line, const char *what)
{
	return hydra_ctx__fail_at(p->cx, type, p->from->name, line, "%s", what);
}

/* The kind of the next token; TOKEN_STREAM_END after a failure. */
static enum hydra_token_kind peek(struct parser *p)
{
	const struct hydra_token *t = hydra_scanner__peek(&p->scanner);

	return t ? t->kind : TOKEN_STREAM_END;
}

static uint32_t line_of(struct parser *p)
{
	const struct hydra_token *t = hydra_scanner__peek(&p->scanner);

	return t ? t->line : p->scanner.line + 1;
}

static void skip(struct parser *p)
{
	struct hydra_token t;

	hydra_scanner__next(&p->scanner, &t);
}

static struct hydra_datum *new_node(struct parser *p, enum hydra_kind kind, uint32_t line)
{
	struct hydra_datum *n = hydra_datum__new(p->cx, kind);

	if (n)
		n->from = p->from, n->line = line;
	return n;
}

static bool is_one_of(enum hydra_token_kind kind, const enum hydra_token_kind *set, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (set[i] == kind)
			return true;
	return false;
}

#define IS(p, ...)                                                                                 \
	is_one_of(peek(p), (const enum hydra_token_kind[]){__VA_ARGS__},                           \
		sizeof((const enum hydra_token_kind[]){__VA_ARGS__}) /                             \
			sizeof(enum hydra_token_kind))

/* Reads a sequence of `- item`. As the value of a key it may be `indentless`: then no token marks its end. */
static int block_sequence(struct parser *p, struct hydra_datum *list, bool indentless)
{
	while (peek(p) == TOKEN_BLOCK_ENTRY) {
		uint32_t line = line_of(p);
		bool empty;

		skip(p);
		empty = IS(p, TOKEN_BLOCK_ENTRY, TOKEN_BLOCK_END) ||
			(indentless && IS(p, TOKEN_KEY, TOKEN_VALUE));
		if (hydra_datum__push(p->cx, list,
			    empty ? new_node(p, HYDRA_NULL, line) : parse_node(p, IN_BLOCK)))
			return p->cx->fail.code;
	}
	if (indentless)
		return p->cx->fail.code;
	if (peek(p) != TOKEN_BLOCK_END)
		return fail(p, "ParserError", line_of(p),
			"expected another '- ' entry or less indentation");
	skip(p);
	return p->cx->fail.code;
}

/* Reads one side of a pair: the node behind the token `first` (KEY or VALUE); null when there is no node. */
static struct hydra_datum *pair_side(
	struct parser *p, enum hydra_token_kind first, enum hydra_token_kind end)
{
	unsigned where = end == TOKEN_BLOCK_END ? IN_BLOCK | INDENTLESS : IN_FLOW;
	bool empty = peek(p) != first;
	uint32_t line = line_of(p);

	if (!empty) {
		skip(p);
		empty = IS(p, TOKEN_VALUE, end) || IS(p, where ? TOKEN_KEY : TOKEN_FLOW_ENTRY);
	}
	if (empty)
		return new_node(p, HYDRA_NULL, line);
	return parse_node(p, first == TOKEN_KEY ? where | AS_KEY : where);
}

/* Reads KEY node? (VALUE node?)? in a map that the token `end` closes. */
static int pair(struct parser *p, struct hydra_yaml_pairs *m, enum hydra_token_kind end)
{
	struct hydra_datum *key = pair_side(p, TOKEN_KEY, end);

	return key ? hydra_yaml__add_pair(p->cx, m, key, pair_side(p, TOKEN_VALUE, end))
		   : p->cx->fail.code;
}

static int block_mapping(struct parser *p, struct hydra_yaml_pairs *m)
{
	while (peek(p) == TOKEN_KEY)
		if (pair(p, m, TOKEN_BLOCK_END))
			return p->cx->fail.code;
	if (peek(p) != TOKEN_BLOCK_END)
		return fail(
			p, "ParserError", line_of(p), "expected 'key: value' or less indentation");
	skip(p);
	return p->cx->fail.code;
}

/* Reads an item inside {}: `a: b`, or `a` alone, whose value is null. */
static int flow_pair(struct parser *p, struct hydra_yaml_pairs *m)
{
	struct hydra_datum *key;

	if (peek(p) == TOKEN_KEY)
		return pair(p, m, TOKEN_FLOW_MAPPING_END);
	key = parse_node(p, IN_FLOW | AS_KEY);
	return key ? hydra_yaml__add_pair(p->cx, m, key, new_node(p, HYDRA_NULL, line_of(p)))
		   : p->cx->fail.code;
}

/* Reads an item inside []: a value, or `a: b`, which is a map with one key. */
static int flow_item(struct parser *p, struct hydra_datum *list)
{
	struct hydra_yaml_pairs m = {.merge_key = &p->merge_key};

	if (peek(p) != TOKEN_KEY)
		return hydra_datum__push(p->cx, list, parse_node(p, IN_FLOW));
	m.own = new_node(p, HYDRA_MAP, line_of(p));
	if (!m.own || pair(p, &m, TOKEN_FLOW_SEQUENCE_END))
		return p->cx->fail.code;
	return hydra_datum__push(p->cx, list, hydra_yaml__close_map(p->cx, &m));
}

/* Reads the items of a list (`m` is NULL) or the pairs of a map (`list` is NULL). */
static int flow_items(struct parser *p, struct hydra_datum *list, struct hydra_yaml_pairs *m)
{
	enum hydra_token_kind end = list ? TOKEN_FLOW_SEQUENCE_END : TOKEN_FLOW_MAPPING_END;

	while (peek(p) != end) {
		if (list ? flow_item(p, list) : flow_pair(p, m))
			return p->cx->fail.code;
		if (peek(p) == TOKEN_FLOW_ENTRY)
			skip(p);
		else if (peek(p) != end)
			return fail(p, "ParserError", line_of(p),
				list ? "expected ',' or ']'" : "expected ',' or '}'");
	}
	skip(p);
	return p->cx->fail.code;
}

static struct hydra_datum *alias(struct parser *p)
{
	struct hydra_token t;
	uint32_t i;

	if (hydra_scanner__next(&p->scanner, &t))
		return NULL;
	i = sonde_map_find(&p->anchors, t.value);
	if (i != SONDE_NONE && p->targets.at[i])
		return hydra_datum__copy_below(p->cx, p->targets.at[i], p->depth);
	if (i != SONDE_NONE)
		fail(p, "ConstructorError", t.line, "the alias refers to a value it is part of");
	else
		hydra_ctx__fail_at(p->cx, "ComposerError", p->from->name, t.line,
			"found undefined alias '%.*s'", SONDE_STR_ARG(t.value));
	return NULL;
}

/* TAG ANCHOR? | ANCHOR TAG? */
static int parse_properties(struct parser *p, struct sonde_str *anchor, struct sonde_str *tag)
{
	struct hydra_token t;
	int i;

	for (i = 0; i < 2; i++) {
		enum hydra_token_kind kind = peek(p);

		if (!((kind == TOKEN_ANCHOR && !anchor->n) || (kind == TOKEN_TAG && !tag->n)))
			break;
		if (hydra_scanner__next(&p->scanner, &t))
			return p->cx->fail.code;
		*(kind == TOKEN_ANCHOR ? anchor : tag) = t.value;
	}
	return p->cx->fail.code;
}

/* Sets the value that an anchor names. `n` is NULL while the value is still being read. */
static int set_anchor(struct parser *p, struct sonde_str anchor, struct hydra_datum *n)
{
	bool is_new;
	uint32_t i;

	if (!anchor.n)
		return 0;
	i = sonde_map_add(&p->anchors, anchor, &is_new);
	if (i == SONDE_NONE || (is_new && !sonde_vec_push(&p->targets)))
		return hydra_ctx__nomem(p->cx);
	p->targets.at[i] = n;
	return 0;
}

/* Reads the next scalar. Behind a tag or an anchor there may be none: then it is an empty scalar. */
static struct hydra_datum *scalar(
	struct parser *p, uint32_t line, struct sonde_str tag, unsigned where)
{
	struct hydra_token t = {.plain = true, .line = line_of(p)};
	enum hydra_yaml_tag type;

	if (peek(p) == TOKEN_SCALAR && hydra_scanner__next(&p->scanner, &t))
		return NULL;
	type = hydra_yaml__type_of(t.value, t.plain, tag);
	if ((where & AS_KEY) && type == YAML_TAG_MERGE)
		return &p->merge_key;
	if ((where & AS_KEY) && type == YAML_TAG_VALUE)
		type = YAML_TAG_STR;
	if (type == YAML_TAG_UNKNOWN)
		hydra_yaml__refuse_tag(p->cx, p->from, line, tag);
	return hydra_yaml__scalar(p->cx, p->from, t.line, t.value, type);
}

static struct hydra_datum *collection(struct parser *p, uint32_t line, struct sonde_str tag)
{
	enum hydra_token_kind kind = peek(p);
	bool is_map = kind == TOKEN_FLOW_MAPPING_START || kind == TOKEN_BLOCK_MAPPING_START;
	bool indentless = kind == TOKEN_BLOCK_ENTRY;
	struct hydra_datum *n = new_node(p, is_map ? HYDRA_MAP : HYDRA_LIST, line);
	struct hydra_yaml_pairs m = {.own = n, .merge_key = &p->merge_key};

	if (tag.n > 1 && !sonde_str_is(tag, is_map ? "!!map" : "!!seq"))
		hydra_yaml__refuse_tag(p->cx, p->from, line, tag);
	if (p->cx->fail.code)
		return NULL;
	if (!indentless)
		skip(p);
	if (kind == TOKEN_FLOW_SEQUENCE_START || kind == TOKEN_FLOW_MAPPING_START)
		flow_items(p, is_map ? NULL : n, &m);
	else if (is_map)
		block_mapping(p, &m);
	else
		block_sequence(p, n, indentless);
	if (p->cx->fail.code)
		return NULL;
	return is_map ? hydra_yaml__close_map(p->cx, &m) : n;
}

static bool is_collection(struct parser *p, unsigned where)
{
	if (IS(p, TOKEN_FLOW_SEQUENCE_START, TOKEN_FLOW_MAPPING_START))
		return true;
	if ((where & IN_BLOCK) && IS(p, TOKEN_BLOCK_SEQUENCE_START, TOKEN_BLOCK_MAPPING_START))
		return true;
	return (where & INDENTLESS) && peek(p) == TOKEN_BLOCK_ENTRY;
}

static struct hydra_datum *node_body(struct parser *p, unsigned where)
{
	struct sonde_str anchor = {0}, tag = {0};
	uint32_t line = line_of(p);
	struct hydra_datum *n;

	if (peek(p) == TOKEN_ALIAS)
		return alias(p);
	if (parse_properties(p, &anchor, &tag) || set_anchor(p, anchor, NULL))
		return NULL;
	if (is_collection(p, where))
		n = collection(p, line, tag);
	else if (peek(p) == TOKEN_SCALAR || anchor.n || tag.n)
		n = scalar(p, line, tag, where);
	else
		n = (fail(p, "ParserError", line_of(p), "expected a value here"), NULL);
	if (!n || set_anchor(p, anchor, n))
		return NULL;
	n->from = p->from;
	n->line = line;
	return n;
}

static struct hydra_datum *parse_node(struct parser *p, unsigned where)
{
	struct hydra_datum *n;

	if (p->cx->fail.code)
		return NULL;
	if (p->depth >= HYDRA_MAX_DEPTH) {
		hydra_ctx__fail_at(p->cx, "LimitError", p->from->name, line_of(p),
			"values are nested deeper than %d levels", HYDRA_MAX_DEPTH);
		return NULL;
	}
	p->depth++;
	n = node_body(p, where);
	p->depth--;
	return p->cx->fail.code ? NULL : n;
}

static bool at_document_edge(struct parser *p)
{
	return IS(p, TOKEN_DIRECTIVE, TOKEN_DOCUMENT_START, TOKEN_DOCUMENT_END, TOKEN_STREAM_END);
}

static int parse_document(struct parser *p, struct hydra_datum **out)
{
	bool is_explicit = IS(p, TOKEN_DIRECTIVE, TOKEN_DOCUMENT_START);

	while (peek(p) == TOKEN_DIRECTIVE)
		skip(p);
	if (is_explicit && peek(p) != TOKEN_DOCUMENT_START)
		return fail(p, "ParserError", line_of(p), "expected '---' after the directives");
	if (is_explicit)
		skip(p);
	if (peek(p) == TOKEN_STREAM_END && !is_explicit)
		return p->cx->fail.code;
	*out = is_explicit && at_document_edge(p) ? new_node(p, HYDRA_NULL, line_of(p))
						  : parse_node(p, IN_BLOCK);
	if (*out && !at_document_edge(p))
		return fail(p, "ParserError", line_of(p), "expected the end of the document");
	while (peek(p) == TOKEN_DOCUMENT_END)
		skip(p);
	if (peek(p) != TOKEN_STREAM_END)
		return fail(p, "ComposerError", line_of(p),
			"a config file holds one document, here starts another");
	return p->cx->fail.code;
}

int hydra_yaml__parse(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data)
{
	struct parser p = {.cx = cx, .from = from};
	int rc;

	*out = NULL;
	rc = hydra_scanner__init(&p.scanner, cx, from->name, data);
	if (!rc)
		rc = parse_document(&p, out);
	hydra_scanner__release(&p.scanner);
	sonde_map_release(&p.anchors);
	sonde_vec_release(&p.targets);
	return rc;
}
