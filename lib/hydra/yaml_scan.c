/*
 * Makes tokens from characters, in the same order of steps as PyYAML.
 *
 * Only the ':' behind a token shows that the token is the key of a map. So tokens wait
 * in a queue, and KEY (and the start of the map) is inserted in front of such a token.
 * The scanner remembers one possible key per level of brackets, until the line ends.
 */
#include "hydra/yaml_token.h"

#include <string.h>

#define MAX_FLOW_LEVEL 2000

/* Inserts a token into the queue, `ahead` places behind the token that will be taken next. */
static int insert(struct hydra_scanner *s, size_t ahead, struct hydra_token token)
{
	struct hydra_token *t;
	size_t i;

	if (s->head > 1024 && s->head * 2 > s->queue.nr) {
		s->queue.nr -= s->head;
		memmove(s->queue.at, s->queue.at + s->head, s->queue.nr * sizeof(*t));
		s->head = 0;
	}
	if (!sonde_vec_push(&s->queue))
		return hydra_ctx__nomem(s->cx);
	for (i = s->queue.nr - 1; i > s->head + ahead; i--)
		s->queue.at[i] = s->queue.at[i - 1];
	s->queue.at[i] = token;
	return 0;
}

static struct hydra_token token_here(const struct hydra_scanner *s, enum hydra_token_kind kind)
{
	return (struct hydra_token){.kind = kind, .line = s->line + 1};
}

static int append(struct hydra_scanner *s, struct hydra_token token)
{
	return insert(s, s->queue.nr - s->head, token);
}

/* Appends a token without a value, and skips its `n` characters. */
static int append_mark(struct hydra_scanner *s, enum hydra_token_kind kind, size_t n)
{
	if (append(s, token_here(s, kind)))
		return s->cx->fail.code;
	hydra_scanner__forward(s, n);
	return 0;
}

/* Simple keys: tokens that may turn out to be keys when their ':' comes. */

static int drop_key(struct hydra_scanner *s, struct hydra_simple_key *k)
{
	if (k->possible && k->required)
		return hydra_scanner__fail(s, "could not find expected ':'");
	k->possible = false;
	return 0;
}

static int drop_current_key(struct hydra_scanner *s)
{
	return drop_key(s, &s->keys.at[s->flow_level]);
}

static int drop_stale_keys(struct hydra_scanner *s)
{
	size_t i;

	for (i = 0; i <= (size_t)s->flow_level; i++) {
		struct hydra_simple_key *k = &s->keys.at[i];

		if (k->possible && (k->line != s->line || s->at - k->index > 1024) &&
			drop_key(s, k))
			return s->cx->fail.code;
	}
	return 0;
}

static int save_key(struct hydra_scanner *s)
{
	bool required = !s->flow_level && s->indent == (int)s->column;

	if (!s->allow_simple_key)
		return 0;
	if (drop_current_key(s))
		return s->cx->fail.code;
	s->keys.at[s->flow_level] = (struct hydra_simple_key){.possible = true,
		.required = required,
		.number = s->taken + s->queue.nr - s->head,
		.index = s->at,
		.line = s->line,
		.column = s->column};
	return 0;
}

static bool needs_more(struct hydra_scanner *s)
{
	size_t i;

	if (s->done)
		return false;
	if (s->head == s->queue.nr)
		return true;
	if (drop_stale_keys(s))
		return false;
	for (i = 0; i <= (size_t)s->flow_level; i++)
		if (s->keys.at[i].possible && s->keys.at[i].number == s->taken)
			return true;
	return false;
}

/* Indentation of block collections. */

static int unwind(struct hydra_scanner *s, int column)
{
	if (s->flow_level)
		return 0;
	while (s->indent > column) {
		s->indent = s->indents.at[--s->indents.nr];
		if (append(s, token_here(s, TOKEN_BLOCK_END)))
			return s->cx->fail.code;
	}
	return 0;
}

static bool indent_to(struct hydra_scanner *s, int column)
{
	int *slot;

	if (s->indent >= column)
		return false;
	slot = sonde_vec_push(&s->indents);
	if (!slot) {
		hydra_ctx__nomem(s->cx);
		return false;
	}
	*slot = s->indent;
	s->indent = column;
	return true;
}

/* Outside brackets an indicator may begin a collection. It is a failure if `what` is not allowed at this place. */
static int begin_block(struct hydra_scanner *s, enum hydra_token_kind kind, const char *what)
{
	if (s->flow_level)
		return 0;
	if (!s->allow_simple_key)
		return hydra_scanner__fail(s, "%s are not allowed here", what);
	if (indent_to(s, (int)s->column))
		append(s, token_here(s, kind));
	return s->cx->fail.code;
}

/* One function per kind of token. */

static int fetch_end(struct hydra_scanner *s)
{
	if (unwind(s, -1) || drop_current_key(s))
		return s->cx->fail.code;
	s->done = true;
	return append(s, token_here(s, TOKEN_STREAM_END));
}

static int fetch_document(struct hydra_scanner *s, enum hydra_token_kind kind)
{
	if (unwind(s, -1) || drop_current_key(s))
		return s->cx->fail.code;
	s->allow_simple_key = false;
	return append_mark(s, kind, 3);
}

static int fetch_flow_start(struct hydra_scanner *s, enum hydra_token_kind kind)
{
	if (save_key(s) || append_mark(s, kind, 1))
		return s->cx->fail.code;
	if (++s->flow_level > MAX_FLOW_LEVEL)
		return hydra_ctx__fail_at(s->cx, "LimitError", s->file, s->line + 1,
			"more than %d open brackets", MAX_FLOW_LEVEL);
	while (s->keys.nr <= (size_t)s->flow_level)
		if (!sonde_vec_push(&s->keys))
			return hydra_ctx__nomem(s->cx);
	s->keys.at[s->flow_level].possible = false;
	s->allow_simple_key = true;
	return 0;
}

static int fetch_flow_end(struct hydra_scanner *s, enum hydra_token_kind kind)
{
	if (drop_current_key(s))
		return s->cx->fail.code;
	/* A closing bracket without an opening one: the parser refuses the token, so the level does not matter. */
	if (s->flow_level > 0)
		s->flow_level--;
	s->allow_simple_key = false;
	return append_mark(s, kind, 1);
}

static int fetch_flow_entry(struct hydra_scanner *s)
{
	s->allow_simple_key = true;
	return drop_current_key(s) ? s->cx->fail.code : append_mark(s, TOKEN_FLOW_ENTRY, 1);
}

static int fetch_block_entry(struct hydra_scanner *s)
{
	if (begin_block(s, TOKEN_BLOCK_SEQUENCE_START, "sequence entries"))
		return s->cx->fail.code;
	s->allow_simple_key = true;
	return drop_current_key(s) ? s->cx->fail.code : append_mark(s, TOKEN_BLOCK_ENTRY, 1);
}

static int fetch_key(struct hydra_scanner *s)
{
	if (begin_block(s, TOKEN_BLOCK_MAPPING_START, "mapping keys"))
		return s->cx->fail.code;
	s->allow_simple_key = !s->flow_level;
	return drop_current_key(s) ? s->cx->fail.code : append_mark(s, TOKEN_KEY, 1);
}

/* Inserts KEY in front of the saved token, because its ':' has come. */
static int put_key_before(struct hydra_scanner *s, struct hydra_simple_key *k)
{
	struct hydra_token t = {.kind = TOKEN_KEY, .line = k->line + 1};
	size_t ahead = k->number - s->taken;

	k->possible = false;
	if (insert(s, ahead, t))
		return s->cx->fail.code;
	t.kind = TOKEN_BLOCK_MAPPING_START;
	if (!s->flow_level && indent_to(s, (int)k->column))
		insert(s, ahead, t);
	s->allow_simple_key = false;
	return s->cx->fail.code;
}

static int fetch_value(struct hydra_scanner *s)
{
	struct hydra_simple_key *k = &s->keys.at[s->flow_level];

	if (k->possible) {
		if (put_key_before(s, k))
			return s->cx->fail.code;
	} else {
		if (begin_block(s, TOKEN_BLOCK_MAPPING_START, "mapping values"))
			return s->cx->fail.code;
		s->allow_simple_key = !s->flow_level;
		drop_current_key(s);
	}
	return s->cx->fail.code ? s->cx->fail.code : append_mark(s, TOKEN_VALUE, 1);
}

/* Reads `&name`, `*name` or `!tag`. A key may begin with any of them. */
static int fetch_property(struct hydra_scanner *s, enum hydra_token_kind kind)
{
	struct hydra_token t = token_here(s, kind);

	if (save_key(s))
		return s->cx->fail.code;
	s->allow_simple_key = false;
	if (kind == TOKEN_TAG ? hydra_scanner__tag(s, &t) : hydra_scanner__anchor(s, &t))
		return s->cx->fail.code;
	return append(s, t);
}

static int fetch_directive(struct hydra_scanner *s)
{
	struct hydra_token t = token_here(s, TOKEN_DIRECTIVE);

	if (unwind(s, -1) || drop_current_key(s))
		return s->cx->fail.code;
	s->allow_simple_key = false;
	return hydra_scanner__directive(s) ? s->cx->fail.code : append(s, t);
}

static int fetch_scalar(struct hydra_scanner *s, uint32_t c)
{
	struct hydra_token t = token_here(s, TOKEN_SCALAR);
	int rc;

	sonde_buf_clear(&s->text);
	if (c == '|' || c == '>') {
		s->allow_simple_key = true;
		rc = drop_current_key(s);
		rc = rc ? rc : hydra_scanner__block(s, c == '>');
	} else {
		rc = save_key(s);
		s->allow_simple_key = false;
		t.plain = c != '\'' && c != '"';
		if (!rc)
			rc = t.plain ? hydra_scanner__plain(s) : hydra_scanner__quoted(s, c == '"');
	}
	if (rc)
		return rc;
	if (s->text.failed)
		return hydra_ctx__nomem(s->cx);
	t.value = hydra_ctx__dup(s->cx, sonde_buf_view(&s->text));
	return s->cx->fail.code ? s->cx->fail.code : append(s, t);
}

static bool can_start_plain(const struct hydra_scanner *s, uint32_t c)
{
	if (!hydra_scanner__is_blankz(c) && !(c < 0x80 && strchr("-?:,[]{}#&*!|>'\"%@`", (int)c)))
		return true;
	return !hydra_scanner__is_blankz(hydra_scanner__ch(s, 1)) &&
	       (c == '-' || (!s->flow_level && (c == '?' || c == ':')));
}

static int fetch_flow_or_block(struct hydra_scanner *s, uint32_t c)
{
	bool blank_next = hydra_scanner__is_blankz(hydra_scanner__ch(s, 1));

	if (c == '[')
		return fetch_flow_start(s, TOKEN_FLOW_SEQUENCE_START);
	if (c == '{')
		return fetch_flow_start(s, TOKEN_FLOW_MAPPING_START);
	if (c == ']')
		return fetch_flow_end(s, TOKEN_FLOW_SEQUENCE_END);
	if (c == '}')
		return fetch_flow_end(s, TOKEN_FLOW_MAPPING_END);
	if (c == ',')
		return fetch_flow_entry(s);
	if (c == '-' && blank_next)
		return fetch_block_entry(s);
	if (c == '?' && (s->flow_level || blank_next))
		return fetch_key(s);
	if (c == ':' && (s->flow_level || blank_next))
		return fetch_value(s);
	if (c == '*')
		return fetch_property(s, TOKEN_ALIAS);
	if (c == '&')
		return fetch_property(s, TOKEN_ANCHOR);
	if (c == '!')
		return fetch_property(s, TOKEN_TAG);
	if (c == '\'' || c == '"' || ((c == '|' || c == '>') && !s->flow_level) ||
		can_start_plain(s, c))
		return fetch_scalar(s, c);
	if (c == '\t')
		return hydra_scanner__fail(s, "a tab cannot indent YAML, use blanks");
	return hydra_scanner__fail(s, "the character '%c' cannot start a value, quote it", (int)c);
}

static int fetch(struct hydra_scanner *s)
{
	uint32_t c;

	hydra_scanner__skip_to_token(s);
	if (drop_stale_keys(s) || unwind(s, (int)s->column))
		return s->cx->fail.code;
	c = hydra_scanner__ch(s, 0);
	if (s->at >= s->nr_ch)
		return fetch_end(s);
	if (c == '%' && s->column == 0)
		return fetch_directive(s);
	if (s->column == 0 && hydra_scanner__starts_with(s, '-'))
		return fetch_document(s, TOKEN_DOCUMENT_START);
	if (s->column == 0 && hydra_scanner__starts_with(s, '.'))
		return fetch_document(s, TOKEN_DOCUMENT_END);
	return fetch_flow_or_block(s, c);
}

const struct hydra_token *hydra_scanner__peek(struct hydra_scanner *s)
{
	while (!s->cx->fail.code && needs_more(s))
		if (fetch(s))
			return NULL;
	if (s->cx->fail.code || s->head == s->queue.nr)
		return NULL;
	return &s->queue.at[s->head];
}

int hydra_scanner__next(struct hydra_scanner *s, struct hydra_token *out)
{
	const struct hydra_token *t = hydra_scanner__peek(s);

	if (!t)
		return s->cx->fail.code ? s->cx->fail.code
					: hydra_scanner__fail(s, "unexpected end of file");
	*out = *t;
	if (t->kind != TOKEN_STREAM_END) {
		s->head++;
		s->taken++;
	}
	return 0;
}
