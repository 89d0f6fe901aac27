/*
 * Reads text that contains interpolations, and the arguments of resolvers: quoted and
 * unquoted text, lists, dicts.
 */
#include "hydra/interp_int.h"

#include "hydra/pytext.h"

/*
 * Pieces of text and values, which together make one string. If there is only one
 * piece and it is a value, the result is that value with its type.
 */
struct pieces {
	struct sonde_buf text;
	struct hydra_datum *only;
	unsigned nr; /* 1 = the only piece is a value */
};

struct hydra_datum *hydra_reader__fail(struct hydra_reader *r, const char *what)
{
	struct sonde_str rest = {r->s.p + r->at, r->s.n - r->at};

	if (rest.n > 20)
		rest.n = 20;
	if (!rest.n)
		return hydra_ctx__refuse(
			r->cx, "GrammarParseError", "bad interpolation, %s at the end", what);
	return hydra_ctx__refuse(r->cx, "GrammarParseError", "bad interpolation, %s at '%.*s'",
		what, SONDE_STR_ARG(rest));
}

struct hydra_datum *hydra_reader__nothing(void)
{
	static struct hydra_datum none = {.kind = HYDRA_NULL};

	return &none;
}

char hydra_reader__peek(const struct hydra_reader *r, size_t ahead)
{
	return r->at + ahead < r->s.n ? r->s.p[r->at + ahead] : '\0';
}

bool hydra_reader__at_interpolation(const struct hydra_reader *r, size_t ahead)
{
	return hydra_reader__peek(r, ahead) == '$' && hydra_reader__peek(r, ahead + 1) == '{';
}

static void add_value(struct hydra_reader *r, struct pieces *p, struct hydra_datum *value)
{
	if (!value)
		return;
	p->nr++;
	p->only = value;
	if (r->sc)
		hydra_pytext__str(&p->text, value);
	if (p->text.n > HYDRA_MAX_FILE_BYTES)
		hydra_ctx__limit(r->cx, "an interpolation makes a string of more than %u MiB",
			HYDRA_MAX_FILE_BYTES >> 20);
}

/* Returns the single value (with `keep_type`) or the string of all pieces, and releases the pieces. */
static struct hydra_datum *join(struct hydra_reader *r, struct pieces *p, bool keep_type)
{
	struct hydra_datum *n = p->only;

	if (r->cx->fail.code) {
		sonde_buf_release(&p->text);
		return NULL;
	}
	if (!r->sc)
		n = hydra_reader__nothing();
	else if (!(keep_type && p->nr == 1 && p->only))
		return hydra_datum__string(r->cx, hydra_ctx__take(r->cx, &p->text));
	sonde_buf_release(&p->text);
	return n;
}

static void add_text(struct pieces *p, const char *text, size_t n)
{
	if (!n)
		return;
	p->nr += 2; /* so that `nr` is never 1 */
	sonde_buf_add(&p->text, text, n);
}

/* Adds half of `n` backslashes: each pair stands for one. */
static void add_slashes(struct pieces *p, const struct hydra_reader *r, size_t n)
{
	add_text(p, r->s.p + r->at, n / 2);
}

/* Reads the backslashes at the current place, if any, and the quote, interpolation or text behind. False at a closing quote. */
static bool text_step(struct hydra_reader *r, struct pieces *p, char quote)
{
	size_t run = 0;

	while (hydra_reader__peek(r, run) == '\\')
		run++;
	if (hydra_reader__at_interpolation(r, run)) {
		add_slashes(p, r, run);
		r->at += run;
		if (run % 2 == 0) {
			add_value(r, p, hydra_reader__interpolation(r));
			return true;
		}
		add_text(p, "${", 2);
		r->at += 2;
	} else if (quote && hydra_reader__peek(r, run) == quote) {
		add_slashes(p, r, run);
		r->at += run + 1;
		if (run % 2 == 0)
			return false;
		add_text(p, &quote, 1);
	} else {
		add_text(p, r->s.p + r->at, run ? run : 1);
		r->at += run ? run : 1;
	}
	return true;
}

struct hydra_datum *hydra_reader__text(struct hydra_reader *r)
{
	struct pieces p = {0};

	while (r->at < r->s.n && !r->cx->fail.code)
		text_step(r, &p, 0);
	return join(r, &p, true);
}

static struct hydra_datum *quoted(struct hydra_reader *r)
{
	struct pieces p = {0};
	char quote = r->s.p[r->at++];

	p.nr = 2; /* always a string */
	while (!r->cx->fail.code) {
		if (r->at >= r->s.n) {
			hydra_reader__fail(r, "the closing quote is missing");
			break;
		}
		if (!text_step(r, &p, quote))
			break;
	}
	return join(r, &p, false);
}

struct hydra_lex hydra_reader__lex(const struct hydra_reader *r)
{
	return hydra_lex__at(r->s, r->at, true);
}

bool hydra_reader__accept(struct hydra_reader *r, enum hydra_lex_kind kind)
{
	struct hydra_lex t = hydra_reader__lex(r);

	if (r->cx->fail.code || t.kind != kind)
		return false;
	r->at += t.text.n;
	return true;
}

static struct hydra_datum *primitive(struct hydra_reader *r, bool is_key)
{
	struct pieces p = {0};
	struct hydra_lex t, first = hydra_reader__lex(r);
	unsigned nr = 0;

	for (t = first; !r->cx->fail.code && hydra_lex__is_primitive(t.kind, is_key);
		t = hydra_reader__lex(r), nr++) {
		if (t.kind == LEX_INTERP) {
			add_value(r, &p, hydra_reader__interpolation(r));
			continue;
		}
		p.nr += 2;
		if (t.kind == LEX_ESC)
			hydra_lex__unescape(&p.text, t.text);
		else
			sonde_buf_str(&p.text, t.text);
		r->at += t.text.n;
	}
	if (!nr && !r->cx->fail.code)
		hydra_reader__fail(r, "expected a value");
	if (nr == 1 && first.kind != LEX_INTERP && r->sc && !r->cx->fail.code) {
		sonde_buf_release(&p.text);
		return hydra_lex__primitive(r->cx, &first, 1);
	}
	return join(r, &p, true);
}

int hydra_reader__sequence(
	struct hydra_reader *r, struct hydra_datum *list, enum hydra_lex_kind end)
{
	struct hydra_datum *n;

	if (hydra_reader__lex(r).kind == end)
		return 0;
	do {
		enum hydra_lex_kind kind = hydra_reader__lex(r).kind;

		if (kind == LEX_COMMA || kind == end)
			n = hydra_datum__string(r->cx, SONDE_STR(""));
		else
			n = hydra_reader__element(r);
		if (r->sc && n)
			hydra_datum__push(r->cx, list, hydra_datum__copy(r->cx, n));
	} while (hydra_reader__accept(r, LEX_COMMA));
	return r->cx->fail.code;
}

static struct hydra_datum *list_element(struct hydra_reader *r)
{
	struct hydra_datum *n = hydra_datum__new(r->cx, HYDRA_LIST);

	r->at += hydra_reader__lex(r).text.n;
	if (!n || hydra_reader__sequence(r, n, LEX_RBRACKET))
		return NULL;
	n->raw = true;
	return hydra_reader__accept(r, LEX_RBRACKET) ? n
						     : hydra_reader__fail(r, "expected ',' or ']'");
}

static struct hydra_datum *dict_element(struct hydra_reader *r)
{
	struct hydra_datum *n = hydra_datum__new(r->cx, HYDRA_MAP), *key, *value;

	r->at += hydra_reader__lex(r).text.n;
	if (!n)
		return NULL;
	n->raw = true;
	if (hydra_reader__accept(r, LEX_RBRACE))
		return n;
	do {
		key = primitive(r, true);
		if (!key)
			return NULL;
		if (!hydra_reader__accept(r, LEX_COLON))
			return hydra_reader__fail(r, "expected ':'");
		value = hydra_reader__element(r);
		if (r->sc && value)
			hydra_datum__set(r->cx, n, key, hydra_datum__copy(r->cx, value));
	} while (hydra_reader__accept(r, LEX_COMMA));
	return hydra_reader__accept(r, LEX_RBRACE) ? n
						   : hydra_reader__fail(r, "expected ',' or '}'");
}

struct hydra_datum *hydra_reader__element(struct hydra_reader *r)
{
	struct hydra_datum *n;
	enum hydra_lex_kind kind;

	if (r->cx->fail.code)
		return NULL;
	if (++r->depth > HYDRA_MAX_DEPTH) {
		hydra_ctx__limit(
			r->cx, "an interpolation nests deeper than %d levels", HYDRA_MAX_DEPTH);
		return NULL;
	}
	kind = hydra_reader__lex(r).kind;
	if (kind == LEX_LBRACKET)
		n = list_element(r);
	else if (kind == LEX_LBRACE)
		n = dict_element(r);
	else if (kind == LEX_QUOTED)
		n = quoted(r);
	else
		n = primitive(r, false);
	r->depth--;
	return n;
}
