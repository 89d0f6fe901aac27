#include "hydra/override.h"

#include "base/vec.h"
#include "hydra/value_lex.h"

#include <string.h>

#define SEE "\nSee https://hydra.cc/docs/1.2/advanced/override_grammar/basic for details"

struct parser {
	struct hydra_ctx *cx;
	struct sonde_str line;
	size_t at;
	unsigned depth;
	unsigned open;			    /* brackets, braces and calls not yet closed */
	SONDE_VEC(struct hydra_lex) tokens; /* of the primitive being read */
};

static struct hydra_datum *element(struct parser *p);

/* Column in characters, not bytes. */
static int lexer_error(struct parser *p, size_t at)
{
	size_t i, column = 27;

	for (i = 0; i < at; i++)
		column += ((unsigned char)p->line.p[i] & 0xc0) != 0x80;
	return hydra_ctx__fail(p->cx, "OverrideParseException",
		"LexerNoViableAltException: %.*s\n%*s^" SEE, SONDE_STR_ARG(p->line), (int)column,
		"");
}

static int syntax_error(struct parser *p, const char *what)
{
	return hydra_ctx__fail(p->cx, "OverrideParseException",
		"Error parsing override '%.*s'\n%s" SEE, SONDE_STR_ARG(p->line), what);
}

/* A character that starts no token, further on in the line: worth more than what is wrong here. */
static bool has_lexer_error(struct parser *p)
{
	struct hydra_lex t;
	size_t at = p->at;

	do {
		t = hydra_lex__at(p->line, at, false);
		at += t.text.n;
	} while (t.kind != LEX_END && t.kind != LEX_ERROR);
	if (t.kind == LEX_ERROR)
		lexer_error(p, at);
	return t.kind == LEX_ERROR;
}

static int refuse_token(struct parser *p, struct sonde_str text)
{
	if (p->open && has_lexer_error(p))
		return p->cx->fail.code;
	if (!text.n)
		return syntax_error(p, "it ends too early");
	return hydra_ctx__fail(p->cx, "OverrideParseException",
		"Error parsing override '%.*s'\nunexpected '%.*s'" SEE, SONDE_STR_ARG(p->line),
		SONDE_STR_ARG(text));
}

/* The token at the parser's place; a character no token starts with is a failure. */
static struct hydra_lex peek(struct parser *p)
{
	struct hydra_lex t = hydra_lex__at(p->line, p->at, false);

	if (t.kind == LEX_ERROR)
		lexer_error(p, p->at);
	return t;
}

static struct hydra_lex take(struct parser *p)
{
	struct hydra_lex t = peek(p);

	p->at += t.text.n;
	return t;
}

static bool accept(struct parser *p, enum hydra_lex_kind kind)
{
	struct hydra_lex t;

	if (p->cx->fail.code)
		return false;
	t = peek(p);
	if (t.kind != kind)
		return false;
	p->at += t.text.n;
	return true;
}

static int expect(struct parser *p, enum hydra_lex_kind kind)
{
	struct hydra_lex t;

	if (accept(p, kind))
		return 0;
	t = peek(p);
	return p->cx->fail.code ? p->cx->fail.code : refuse_token(p, t.text);
}

static bool is_primitive(enum hydra_lex_kind kind, bool is_key)
{
	switch (kind) {
	case LEX_ID:
	case LEX_NULL:
	case LEX_INT:
	case LEX_FLOAT:
	case LEX_BOOL:
	case LEX_CHAR:
	case LEX_ESC:
	case LEX_WS:
		return true;
	case LEX_INTERP:
	case LEX_COLON:
		return !is_key;
	default:
		return false;
	}
}

/* Unquoted text, or the key of a dict. */
static struct hydra_datum *primitive(struct parser *p, bool is_key)
{
	const struct hydra_lex *first;
	size_t nr;

	p->tokens.nr = 0;
	while (is_primitive(peek(p).kind, is_key)) {
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
		refuse_token(p, peek(p).text);
		return NULL;
	}
	return hydra_lex__primitive(p->cx, first, nr);
}

/* Between the quotes: a run of backslashes is halved before the quote character and the end. */
static struct hydra_datum *quoted(struct parser *p)
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

static struct hydra_datum *list(struct parser *p)
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

static struct hydra_datum *dict(struct parser *p)
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

/* `name=` in front of an argument; 0 when there is none. */
static size_t keyword_length(struct parser *p)
{
	struct hydra_lex t = hydra_lex__at(p->line, p->at, false);
	size_t n = t.text.n;

	if (t.kind != LEX_ID)
		return 0;
	t = hydra_lex__at(p->line, p->at + n, false);
	return t.kind == LEX_EQUAL ? n : 0;
}

static int parse_argument(struct parser *p, struct hydra_datum *args, struct hydra_datum *kwargs)
{
	size_t n = keyword_length(p);
	struct sonde_str name = {p->line.p + p->at, n};

	if (!n && kwargs->seq.nr)
		return syntax_error(p, "positional argument follows keyword argument");
	if (!n)
		return hydra_datum__push(p->cx, args, element(p));
	p->at += n;
	take(p);
	return hydra_datum__set(p->cx, kwargs, hydra_datum__string(p->cx, name), element(p));
}

static struct hydra_datum *function(struct parser *p, struct sonde_str name)
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

static struct hydra_datum *element_body(struct parser *p)
{
	struct hydra_lex t = peek(p);

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

static struct hydra_datum *element(struct parser *p)
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
static struct hydra_datum *value(struct parser *p)
{
	struct hydra_datum *first = element(p), *choice;

	if (!first || peek(p).kind != LEX_COMMA)
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

/* Key mode: everything before the first '='. */

enum key_kind { KEY_END, KEY_ERROR, KEY_PUNCT, KEY_ID, KEY_SPECIAL, KEY_DOTPATH };

static bool is_special(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$')
		return true;
	return !first && ((c >= '0' && c <= '9') || c == '-');
}

static size_t special_length(struct sonde_str s, size_t i)
{
	size_t start = i;

	while (i < s.n && is_special(s.p[i], i == start))
		i++;
	return i - start;
}

static size_t dotpath_length(struct sonde_str s, size_t i)
{
	size_t start = i, n, dots = 0;

	n = special_length(s, i);
	n = n ? n : hydra_lex__int(s, i);
	if (!n)
		return 0;
	i += n;
	while (i < s.n && s.p[i] == '.') {
		n = special_length(s, i + 1);
		n = n ? n : hydra_lex__int(s, i + 1);
		if (!n)
			break;
		i += 1 + n;
		dots++;
	}
	return dots ? i - start : 0;
}

static enum key_kind key_token(struct parser *p, struct sonde_str *text)
{
	size_t special = special_length(p->line, p->at), dotpath = dotpath_length(p->line, p->at);
	enum key_kind kind = KEY_SPECIAL;
	size_t n = special;

	*text = (struct sonde_str){p->line.p + p->at, 0};
	if (p->at >= p->line.n)
		return KEY_END;
	if (special && special == hydra_lex__ident(p->line, p->at))
		kind = KEY_ID;
	if (dotpath > special)
		kind = KEY_DOTPATH, n = dotpath;
	if (!n && strchr("=~+@:/", p->line.p[p->at]) && p->line.p[p->at])
		kind = KEY_PUNCT, n = 1;
	text->n = n;
	if (n)
		return kind;
	lexer_error(p, p->at);
	return KEY_ERROR;
}

static bool accept_char(struct parser *p, char c)
{
	struct sonde_str text;

	if (p->cx->fail.code || key_token(p, &text) != KEY_PUNCT || text.p[0] != c)
		return false;
	p->at++;
	return true;
}

/* [ ID | SPECIAL | DOTPATH ] */
static struct sonde_str package(struct parser *p, enum key_kind *kind)
{
	struct sonde_str text;

	*kind = key_token(p, &text);
	if (*kind != KEY_ID && *kind != KEY_SPECIAL && *kind != KEY_DOTPATH)
		text.n = 0;
	p->at += text.n;
	return text;
}

static int parse_key(struct parser *p, struct hydra_override *o)
{
	enum key_kind kind;
	struct sonde_str text;
	size_t start = p->at;

	o->key = package(p, &kind);
	while (kind == KEY_ID && accept_char(p, '/')) {
		if (key_token(p, &text) != KEY_ID)
			return p->cx->fail.code ? p->cx->fail.code : refuse_token(p, text);
		p->at += text.n;
		o->key.n = p->at - start;
	}
	if (accept_char(p, '@')) {
		o->has_package = true;
		o->package = package(p, &kind);
	}
	return p->cx->fail.code;
}

static int right_side(struct parser *p, struct hydra_override *o)
{
	struct hydra_lex t;

	while (p->at < p->line.n && (p->line.p[p->at] == ' ' || p->line.p[p->at] == '\t'))
		p->at++;
	if (p->at == p->line.n) {
		o->value = hydra_datum__string(p->cx, SONDE_STR(""));
		return p->cx->fail.code;
	}
	o->value = value(p);
	if (!o->value)
		return p->cx->fail.code;
	t = peek(p);
	if (!p->cx->fail.code && t.kind != LEX_END)
		return refuse_token(p, t.text);
	return p->cx->fail.code;
}

static int parse(struct parser *p, struct hydra_override *o)
{
	struct sonde_str text;

	if (accept_char(p, '~'))
		o->kind = HYDRA_OVERRIDE_DEL;
	else if (accept_char(p, '+'))
		o->kind = accept_char(p, '+') ? HYDRA_OVERRIDE_FORCE_ADD : HYDRA_OVERRIDE_ADD;
	if (p->cx->fail.code || parse_key(p, o))
		return p->cx->fail.code;
	if (accept_char(p, '='))
		return right_side(p, o);
	if (p->cx->fail.code)
		return p->cx->fail.code;
	if (p->at < p->line.n) {
		key_token(p, &text);
		return p->cx->fail.code ? p->cx->fail.code : refuse_token(p, text);
	}
	if (o->kind != HYDRA_OVERRIDE_DEL || (!o->key.n && !o->has_package && p->line.n == 0))
		return syntax_error(p, "there is no '=' in it");
	return 0;
}

static void mark(struct hydra_datum *n, const struct hydra_from *from)
{
	uint32_t i;

	n->from = from;
	if (hydra_datum__is_scalar(n))
		return;
	for (i = 0; i < n->seq.nr; i++)
		mark(n->seq.at[i], from);
}

int hydra_override__parse(struct hydra_override *out, struct hydra_ctx *cx, struct sonde_str line)
{
	struct parser p = {.cx = cx, .line = hydra_ctx__dup(cx, line)};
	struct hydra_from *from = hydra_ctx__alloc(cx, 1, sizeof(*from));

	*out = (struct hydra_override){.line = p.line, .from = from};
	if (!from || cx->fail.code)
		return cx->fail.code;
	parse(&p, out);
	sonde_vec_release(&p.tokens);
	*from = (struct hydra_from){.name = p.line,
		.is_override = true,
		.adds = out->kind == HYDRA_OVERRIDE_ADD || out->kind == HYDRA_OVERRIDE_FORCE_ADD};
	if (out->value && !cx->fail.code)
		mark(out->value, from);
	return cx->fail.code;
}

struct sonde_str hydra_override__key_element(struct hydra_ctx *cx, const struct hydra_override *o)
{
	static const char *const prefix[] = {"", "+", "++", "~"};

	struct sonde_buf b = {0};

	sonde_buf_puts(&b, prefix[o->kind]);
	sonde_buf_str(&b, o->key);
	if (o->has_package)
		sonde_buf_putc(&b, '@');
	sonde_buf_str(&b, o->package);
	return hydra_ctx__take(cx, &b);
}

bool hydra_override__is_hydra(const struct hydra_override *o)
{
	return sonde_str_starts(o->key, "hydra.") || sonde_str_starts(o->key, "hydra/");
}
