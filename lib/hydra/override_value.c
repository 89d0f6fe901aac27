/* Parses the right side of an override: elements, lists, dicts, calls, and sweeps of these. */
#include "hydra/override_int.h"

#define SEE "\nSee https://hydra.cc/docs/1.2/advanced/override_grammar/basic for details"

static struct hydra_datum *element(struct hydra_override_parser *p);

int hydra_override__refuse_character(struct hydra_override_parser *p, size_t at)
{
	size_t i, column = 27;

	for (i = 0; i < at; i++)
		column += ((unsigned char)p->line.p[i] & 0xc0) != 0x80;
	return hydra_ctx__fail(p->cx, "OverrideParseException",
		"LexerNoViableAltException: %.*s\n%*s^" SEE, SONDE_STR_ARG(p->line), (int)column,
		"");
}

int hydra_override__refuse(struct hydra_override_parser *p, const char *what)
{
	return hydra_ctx__fail(p->cx, "OverrideParseException",
		"Error parsing override '%.*s'\n%s" SEE, SONDE_STR_ARG(p->line), what);
}

/*
 * Whether the rest of the line has a character that no token starts with; if so, that is the failure. It helps the user
 * more than the syntax error at the current place.
 */
static bool has_lexer_error(struct hydra_override_parser *p)
{
	struct hydra_lex t;
	size_t at = p->at;

	do {
		t = hydra_lex__at(p->line, at, false);
		at += t.text.n;
	} while (t.kind != LEX_END && t.kind != LEX_ERROR);
	if (t.kind == LEX_ERROR)
		hydra_override__refuse_character(p, at);
	return t.kind == LEX_ERROR;
}

int hydra_override__refuse_token(struct hydra_override_parser *p, struct sonde_str text)
{
	if (p->open && has_lexer_error(p))
		return p->cx->fail.code;
	if (!text.n)
		return hydra_override__refuse(p, "it ends too early");
	return hydra_ctx__fail(p->cx, "OverrideParseException",
		"Error parsing override '%.*s'\nunexpected '%.*s'" SEE, SONDE_STR_ARG(p->line),
		SONDE_STR_ARG(text));
}

struct hydra_lex hydra_override__peek(struct hydra_override_parser *p)
{
	struct hydra_lex t = hydra_lex__at(p->line, p->at, false);

	if (t.kind == LEX_ERROR)
		hydra_override__refuse_character(p, p->at);
	return t;
}

static struct hydra_lex take(struct hydra_override_parser *p)
{
	struct hydra_lex t = hydra_override__peek(p);

	p->at += t.text.n;
	return t;
}

static bool accept(struct hydra_override_parser *p, enum hydra_lex_kind kind)
{
	struct hydra_lex t;

	if (p->cx->fail.code)
		return false;
	t = hydra_override__peek(p);
	if (t.kind != kind)
		return false;
	p->at += t.text.n;
	return true;
}

static int expect(struct hydra_override_parser *p, enum hydra_lex_kind kind)
{
	struct hydra_lex t;

	if (accept(p, kind))
		return 0;
	t = hydra_override__peek(p);
	return p->cx->fail.code ? p->cx->fail.code : hydra_override__refuse_token(p, t.text);
}

/* Reads unquoted text, or the key of a dict. */
static struct hydra_datum *primitive(struct hydra_override_parser *p, bool is_key)
{
	const struct hydra_lex *first;
	size_t nr;

	p->tokens.nr = 0;
	while (hydra_lex__is_primitive(hydra_override__peek(p).kind, is_key)) {
		struct hydra_lex *slot = sonde_vec_push(&p->tokens);

		if (!slot) {
			hydra_ctx__nomem(p->cx);
			return NULL;
		}
		*slot = take(p);
	}
	if (p->cx->fail.code)
		return NULL;
	first = p->tokens.at;
	nr = p->tokens.nr;
	if (nr && first[0].kind == LEX_WS)
		first++, nr--;
	if (nr && first[nr - 1].kind == LEX_WS)
		nr--;
	if (!nr) {
		hydra_override__refuse_token(p, hydra_override__peek(p).text);
		return NULL;
	}
	return hydra_lex__primitive(p->cx, first, nr);
}

/* Reads a quoted string: backslashes are halved before the quote character and at the end. */
static struct hydra_datum *quoted(struct hydra_override_parser *p)
{
	struct sonde_str text = take(p).text;
	struct sonde_buf b = {0};
	struct hydra_datum *n;
	char quote = text.p[0];
	size_t i = 1, end = text.n - 1;

	while (i < end) {
		size_t run = 0, keep;

		while (i + run < end && text.p[i + run] == '\\')
			run++;
		keep = run && (i + run == end || text.p[i + run] == quote) ? run / 2 : run;
		sonde_buf_add(&b, text.p + i, keep);
		i += run;
		if (i < end)
			sonde_buf_putc(&b, text.p[i++]);
	}
	n = hydra_datum__string(p->cx, hydra_ctx__take(p->cx, &b));
	if (n)
		n->quote = quote;
	return n;
}

static struct hydra_datum *list(struct hydra_override_parser *p)
{
	struct hydra_datum *n = hydra_datum__new(p->cx, HYDRA_LIST);

	take(p);
	if (!n || accept(p, LEX_RBRACKET))
		return n;
	p->open++;
	do {
		if (hydra_datum__push(p->cx, n, element(p)) || p->cx->fail.code)
			return NULL;
	} while (accept(p, LEX_COMMA));
	if (expect(p, LEX_RBRACKET))
		return NULL;
	p->open--;
	return n;
}

static struct hydra_datum *dict(struct hydra_override_parser *p)
{
	struct hydra_datum *n = hydra_datum__new(p->cx, HYDRA_MAP);

	take(p);
	if (!n || accept(p, LEX_RBRACE))
		return n;
	p->open++;
	do {
		struct hydra_datum *key = primitive(p, true);

		if (!key || expect(p, LEX_COLON))
			return NULL;
		if (hydra_datum__set(p->cx, n, key, element(p)) || p->cx->fail.code)
			return NULL;
	} while (accept(p, LEX_COMMA));
	if (expect(p, LEX_RBRACE))
		return NULL;
	p->open--;
	return n;
}

/* The length of `name=` in front of an argument; 0 when there is none. */
static size_t keyword_length(struct hydra_override_parser *p)
{
	struct hydra_lex t = hydra_lex__at(p->line, p->at, false);
	size_t n = t.text.n;

	if (t.kind != LEX_ID)
		return 0;
	t = hydra_lex__at(p->line, p->at + n, false);
	return t.kind == LEX_EQUAL ? n : 0;
}

static int parse_argument(
	struct hydra_override_parser *p, struct hydra_datum *args, struct hydra_datum *kwargs)
{
	size_t n = keyword_length(p);
	struct sonde_str name = {p->line.p + p->at, n};

	if (!n && kwargs->seq.nr)
		return hydra_override__refuse(p, "positional argument follows keyword argument");
	if (!n)
		return hydra_datum__push(p->cx, args, element(p));
	p->at += n;
	take(p);
	return hydra_datum__set(p->cx, kwargs, hydra_datum__string(p->cx, name), element(p));
}

static struct hydra_datum *function(struct hydra_override_parser *p, struct sonde_str name)
{
	struct hydra_datum *args = hydra_datum__new(p->cx, HYDRA_LIST);
	struct hydra_datum *kwargs = hydra_datum__new(p->cx, HYDRA_MAP), *n;
	size_t start = p->at;

	p->at += name.n;
	take(p);
	if (!args || !kwargs)
		return NULL;
	if (!accept(p, LEX_PCLOSE)) {
		p->open++;
		do {
			if (parse_argument(p, args, kwargs) || p->cx->fail.code)
				return NULL;
		} while (accept(p, LEX_COMMA));
		if (expect(p, LEX_PCLOSE))
			return NULL;
		p->open--;
	}
	n = hydra_override__call(
		p->cx, name, args, kwargs, (struct sonde_str){p->line.p + start, p->at - start});
	if (!n && hydra_ctx__is_user_error(p->cx)) {
		struct sonde_str msg = p->cx->fail.msg;

		hydra_ctx__clear(p->cx);
		hydra_ctx__fail(p->cx, "OverrideParseException",
			"Error parsing override '%.*s'\n%.*s" SEE, SONDE_STR_ARG(p->line),
			SONDE_STR_ARG(msg));
	}
	return n;
}

static struct hydra_datum *element_body(struct hydra_override_parser *p)
{
	struct hydra_lex t = hydra_override__peek(p);

	if (p->cx->fail.code)
		return NULL;
	if (t.kind == LEX_LBRACKET)
		return list(p);
	if (t.kind == LEX_LBRACE)
		return dict(p);
	if (t.kind == LEX_QUOTED)
		return quoted(p);
	if (t.kind == LEX_ID && hydra_lex__at(p->line, p->at + t.text.n, false).kind == LEX_POPEN)
		return function(p, t.text);
	return primitive(p, false);
}

static struct hydra_datum *element(struct hydra_override_parser *p)
{
	struct hydra_datum *n;

	if (p->cx->fail.code)
		return NULL;
	if (++p->depth > HYDRA_MAX_DEPTH) {
		hydra_ctx__limit(
			p->cx, "the override nests values deeper than %d levels", HYDRA_MAX_DEPTH);
		return NULL;
	}
	n = element_body(p);
	p->depth--;
	return n;
}

/* element {COMMA element}: two or more are a simple choice sweep. */
struct hydra_datum *hydra_override__value(struct hydra_override_parser *p)
{
	struct hydra_datum *first = element(p), *choice;

	if (!first || hydra_override__peek(p).kind != LEX_COMMA)
		return first;
	choice = hydra_datum__new(p->cx, HYDRA_CHOICE);
	if (!choice || hydra_datum__push(p->cx, choice, first))
		return NULL;
	choice->simple = true;
	while (accept(p, LEX_COMMA))
		if (hydra_datum__push(p->cx, choice, element(p)) || p->cx->fail.code)
			return NULL;
	return choice;
}
