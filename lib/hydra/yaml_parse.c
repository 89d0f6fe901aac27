/* Tokens to a document: a recursive descent with bounded depth. */
#include "hydra/yaml.h"

#include "base/map.h"
#include "hydra/yaml_token.h"

#include <string.h>

struct parser {
	struct hydra_ctx *cx;
	struct hydra_scanner scanner;
	struct sonde_map anchors; /* number = index into targets */
	SONDE_VEC(struct hydra_yaml *) targets;
	unsigned depth;
};

static struct hydra_yaml *parse_node(struct parser *p, bool block, bool indentless);

static int fail(struct parser *p, const char *type, uint32_t line, const char *what)
{
	return hydra_ctx__fail_at(p->cx, type, p->scanner.file, line, "%s", what);
}

/* The kind of the next token; STREAM_END stands in after a failure. */
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

static struct hydra_yaml *new_node(struct parser *p, enum hydra_yaml_kind kind, uint32_t line)
{
	struct hydra_yaml *y = hydra_ctx__alloc(p->cx, 1, sizeof(*y));

	if (y) {
		y->kind = kind;
		y->line = line;
	}
	return y;
}

static struct hydra_yaml *empty_scalar(struct parser *p, uint32_t line)
{
	struct hydra_yaml *y = new_node(p, YAML_SCALAR, line);

	if (y)
		y->plain = true;
	return y;
}

static int add(struct parser *p, struct hydra_yaml *y, struct hydra_yaml *item)
{
	if (!item)
		return p->cx->fail.code;
	if (y->nr == y->cap) {
		uint32_t cap = y->cap ? y->cap * 2 : 4;
		struct hydra_yaml **items = hydra_ctx__alloc(p->cx, cap, sizeof(*items));

		if (!items)
			return p->cx->fail.code;
		if (y->nr)
			memcpy(items, y->items, y->nr * sizeof(*items));
		y->items = items;
		y->cap = cap;
	}
	y->items[y->nr++] = item;
	return 0;
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

/* `- item` again and again. As the value of a key it need not be indented, and no token ends it. */
static int block_sequence(struct parser *p, struct hydra_yaml *y, bool indentless)
{
	while (peek(p) == TOKEN_BLOCK_ENTRY) {
		uint32_t line = line_of(p);
		bool empty;

		skip(p);
		empty = IS(p, TOKEN_BLOCK_ENTRY, TOKEN_BLOCK_END) ||
			(indentless && IS(p, TOKEN_KEY, TOKEN_VALUE));
		if (add(p, y, empty ? empty_scalar(p, line) : parse_node(p, true, false)))
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

/* What follows `first`, KEY or VALUE, as one side of a pair; nothing is an empty scalar. */
static int pair_side(struct parser *p, struct hydra_yaml *y, enum hydra_token_kind first,
	enum hydra_token_kind end)
{
	bool block = end == TOKEN_BLOCK_END, empty = peek(p) != first;
	uint32_t line = line_of(p);

	if (!empty) {
		skip(p);
		empty = IS(p, TOKEN_VALUE, end) || IS(p, block ? TOKEN_KEY : TOKEN_FLOW_ENTRY);
	}
	return add(p, y, empty ? empty_scalar(p, line) : parse_node(p, block, block));
}

/* KEY node? (VALUE node?)? inside what `end` closes. */
static int pair(struct parser *p, struct hydra_yaml *y, enum hydra_token_kind end)
{
	return pair_side(p, y, TOKEN_KEY, end) ? p->cx->fail.code
					       : pair_side(p, y, TOKEN_VALUE, end);
}

static int block_mapping(struct parser *p, struct hydra_yaml *y)
{
	while (peek(p) == TOKEN_KEY)
		if (pair(p, y, TOKEN_BLOCK_END))
			return p->cx->fail.code;
	if (peek(p) != TOKEN_BLOCK_END)
		return fail(
			p, "ParserError", line_of(p), "expected 'key: value' or less indentation");
	skip(p);
	return p->cx->fail.code;
}

/* One item inside brackets: in a list `a: b` is a map of its own, in a map `a` has an empty value.
 */
static int flow_item(struct parser *p, struct hydra_yaml *y, enum hydra_token_kind end)
{
	bool in_map = end == TOKEN_FLOW_MAPPING_END;
	struct hydra_yaml *map = y;

	if (peek(p) != TOKEN_KEY) {
		if (add(p, y, parse_node(p, false, false)) || !in_map)
			return p->cx->fail.code;
		return add(p, y, empty_scalar(p, line_of(p)));
	}
	if (!in_map)
		map = new_node(p, YAML_MAPPING, line_of(p));
	if (!map || pair(p, map, end))
		return p->cx->fail.code;
	return in_map ? 0 : add(p, y, map);
}

static int flow_items(struct parser *p, struct hydra_yaml *y, enum hydra_token_kind end)
{
	while (peek(p) != end) {
		if (flow_item(p, y, end))
			return p->cx->fail.code;
		if (peek(p) == TOKEN_FLOW_ENTRY)
			skip(p);
		else if (peek(p) != end)
			return fail(p, "ParserError", line_of(p),
				end == TOKEN_FLOW_MAPPING_END ? "expected ',' or '}'"
							      : "expected ',' or ']'");
	}
	skip(p);
	return p->cx->fail.code;
}

static struct hydra_yaml *alias(struct parser *p)
{
	struct hydra_token t;
	uint32_t i;

	if (hydra_scanner__next(&p->scanner, &t))
		return NULL;
	i = sonde_map_find(&p->anchors, t.value);
	if (i != SONDE_NONE)
		return p->targets.at[i];
	hydra_ctx__fail_at(p->cx, "ComposerError", p->scanner.file, t.line,
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

static int define_anchor(struct parser *p, struct sonde_str anchor, struct hydra_yaml *y)
{
	bool is_new;
	uint32_t i;
	struct hydra_yaml **slot;

	i = sonde_map_add(&p->anchors, anchor, &is_new);
	if (i == SONDE_NONE)
		return hydra_ctx__nomem(p->cx);
	slot = is_new ? sonde_vec_push(&p->targets) : &p->targets.at[i];
	if (!slot)
		return hydra_ctx__nomem(p->cx);
	*slot = y;
	return 0;
}

static int scalar(struct parser *p, struct hydra_yaml *y)
{
	struct hydra_token t;

	if (hydra_scanner__next(&p->scanner, &t))
		return p->cx->fail.code;
	y->value = t.value;
	y->plain = t.plain;
	return 0;
}

/* The node behind its tag and anchor; -1 when there is none. */
static int parse_content(struct parser *p, struct hydra_yaml *y, bool block, bool indentless)
{
	enum hydra_token_kind kind = peek(p);

	if (kind == TOKEN_SCALAR)
		return scalar(p, y);
	y->kind = YAML_SEQUENCE;
	if (indentless && kind == TOKEN_BLOCK_ENTRY)
		return block_sequence(p, y, true);
	if (kind == TOKEN_FLOW_SEQUENCE_START)
		return skip(p), flow_items(p, y, TOKEN_FLOW_SEQUENCE_END);
	if (block && kind == TOKEN_BLOCK_SEQUENCE_START)
		return skip(p), block_sequence(p, y, false);
	y->kind = YAML_MAPPING;
	if (kind == TOKEN_FLOW_MAPPING_START)
		return skip(p), flow_items(p, y, TOKEN_FLOW_MAPPING_END);
	if (block && kind == TOKEN_BLOCK_MAPPING_START)
		return skip(p), block_mapping(p, y);
	y->kind = YAML_SCALAR;
	y->plain = true;
	return -1;
}

static struct hydra_yaml *node_body(struct parser *p, bool block, bool indentless)
{
	struct sonde_str anchor = {0}, tag = {0};
	struct hydra_yaml *y;
	int rc;

	if (peek(p) == TOKEN_ALIAS)
		return alias(p);
	y = new_node(p, YAML_SCALAR, line_of(p));
	if (!y || parse_properties(p, &anchor, &tag))
		return NULL;
	y->tag = tag;
	if (anchor.n && define_anchor(p, anchor, y))
		return NULL;
	rc = parse_content(p, y, block, indentless);
	if (p->cx->fail.code)
		return NULL;
	if (rc && !anchor.n && !tag.n) {
		fail(p, "ParserError", line_of(p), "expected a value here");
		return NULL;
	}
	return y;
}

static struct hydra_yaml *parse_node(struct parser *p, bool block, bool indentless)
{
	struct hydra_yaml *y;

	if (p->cx->fail.code)
		return NULL;
	if (p->depth >= HYDRA_MAX_DEPTH) {
		hydra_ctx__fail_at(p->cx, "LimitError", p->scanner.file, line_of(p),
			"values are nested deeper than %d levels", HYDRA_MAX_DEPTH);
		return NULL;
	}
	p->depth++;
	y = node_body(p, block, indentless);
	p->depth--;
	return y;
}

static int parse_document(struct parser *p, struct hydra_yaml **out)
{
	bool explicit_start = false;

	for (; peek(p) == TOKEN_DIRECTIVE; skip(p))
		explicit_start = true;
	if (peek(p) == TOKEN_DOCUMENT_START) {
		explicit_start = true;
		skip(p);
	} else if (explicit_start) {
		return fail(p, "ParserError", line_of(p), "expected '---' after the directives");
	}
	if (peek(p) == TOKEN_STREAM_END && !explicit_start)
		return p->cx->fail.code;
	*out = explicit_start && IS(p, TOKEN_DIRECTIVE, TOKEN_DOCUMENT_START, TOKEN_DOCUMENT_END,
					 TOKEN_STREAM_END)
		       ? empty_scalar(p, line_of(p))
		       : parse_node(p, true, false);
	return p->cx->fail.code;
}

static int parse_stream(struct parser *p, struct hydra_yaml **out)
{
	if (parse_document(p, out))
		return p->cx->fail.code;
	if (*out &&
		!IS(p, TOKEN_DIRECTIVE, TOKEN_DOCUMENT_START, TOKEN_DOCUMENT_END, TOKEN_STREAM_END))
		return p->cx->fail.code ? p->cx->fail.code
					: fail(p, "ParserError", line_of(p),
						  "expected the end of the document");
	while (peek(p) == TOKEN_DOCUMENT_END)
		skip(p);
	if (!p->cx->fail.code && peek(p) != TOKEN_STREAM_END)
		return fail(p, "ComposerError", line_of(p),
			"a config file holds one document, here starts another");
	return p->cx->fail.code;
}

int hydra_yaml__parse(
	struct hydra_yaml **out, struct hydra_ctx *cx, struct sonde_str file, struct sonde_str data)
{
	struct parser p = {.cx = cx};
	int rc;

	*out = NULL;
	rc = hydra_scanner__init(&p.scanner, cx, file, data);
	if (!rc)
		rc = parse_stream(&p, out);
	hydra_scanner__release(&p.scanner);
	sonde_map_release(&p.anchors);
	sonde_vec_release(&p.targets);
	return rc;
}
