/* The grammar of interpolations: one descent that checks, or checks and evaluates. */
#include "hydra/interp.h"

#include "base/vec.h"
#include "hydra/pytext.h"
#include "hydra/value_lex.h"

#include <string.h>

struct reader {
	struct hydra_ctx *cx;
	struct hydra_lookup *sc; /* NULL: syntax only */
	struct sonde_str s;
	size_t at;
	unsigned depth;
	struct hydra_datum *container, *self;
};

/*
 * Pieces of text and values that make one string, unless there is only one
 * value, which then keeps its type.
 */
struct pieces {
	struct sonde_buf text;
	struct hydra_datum *only;
	unsigned nr;
};

static struct hydra_datum *interpolation(struct reader *r);
static struct hydra_datum *element(struct reader *r);

static struct hydra_datum *fail(struct reader *r, const char *what)
{
	struct sonde_str rest = {r->s.p + r->at, r->s.n - r->at};

	if (rest.n > 20)
		rest.n = 20;
	if (rest.n)
		hydra_ctx__fail(r->cx, "GrammarParseError", "bad interpolation, %s at '%.*s'", what,
			SONDE_STR_ARG(rest));
	else
		hydra_ctx__fail(
			r->cx, "GrammarParseError", "bad interpolation, %s at the end", what);
	return NULL;
}

/* In a check every value is this. */
static struct hydra_datum *nothing(void)
{
	static struct hydra_datum none = {.kind = HYDRA_NULL};

	return &none;
}

static char peek(const struct reader *r, size_t ahead)
{
	return r->at + ahead < r->s.n ? r->s.p[r->at + ahead] : '\0';
}

static void skip_blanks(struct reader *r)
{
	while (peek(r, 0) == ' ' || peek(r, 0) == '\t')
		r->at++;
}

static bool at_interpolation(const struct reader *r, size_t ahead)
{
	return peek(r, ahead) == '$' && peek(r, ahead + 1) == '{';
}

static void add_value(struct reader *r, struct pieces *p, struct hydra_datum *value)
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

/* A single value, unless text surrounds it; the pieces are released. */
static struct hydra_datum *join(struct reader *r, struct pieces *p, bool keep_type)
{
	struct hydra_datum *n = p->only;

	if (r->cx->fail.code) {
		sonde_buf_release(&p->text);
		return NULL;
	}
	if (!r->sc)
		n = nothing();
	else if (!(keep_type && p->nr == 1 && p->only))
		return hydra_datum__string(r->cx, hydra_ctx__take(r->cx, &p->text));
	sonde_buf_release(&p->text);
	return n;
}

static void add_text(struct pieces *p, const char *text, size_t n)
{
	if (!n)
		return;
	p->nr += 2; /* never a single value */
	sonde_buf_add(&p->text, text, n);
}

/* `n` backslashes, halved. */
static void add_slashes(struct pieces *p, const struct reader *r, size_t n)
{
	add_text(p, r->s.p + r->at, n / 2);
}

/* What stands at a run of backslashes (or none). False at a closing quote. */
static bool text_step(struct reader *r, struct pieces *p, char quote)
{
	size_t run = 0;

	while (peek(r, run) == '\\')
		run++;
	if (at_interpolation(r, run)) {
		add_slashes(p, r, run);
		r->at += run;
		if (run % 2 == 0) {
			add_value(r, p, interpolation(r));
			return true;
		}
		add_text(p, "${", 2);
		r->at += 2;
	} else if (quote && peek(r, run) == quote) {
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

/* Free text with interpolations in it. */
static struct hydra_datum *text(struct reader *r)
{
	struct pieces p = {0};

	while (r->at < r->s.n && !r->cx->fail.code)
		text_step(r, &p, 0);
	return join(r, &p, true);
}

static struct hydra_datum *quoted(struct reader *r)
{
	struct pieces p = {0};
	char quote = r->s.p[r->at++];

	p.nr = 2; /* always a string */
	while (!r->cx->fail.code) {
		if (r->at >= r->s.n) {
			fail(r, "the closing quote is missing");
			break;
		}
		if (!text_step(r, &p, quote))
			break;
	}
	return join(r, &p, false);
}

static struct hydra_lex lex(struct reader *r)
{
	return hydra_lex__at(r->s, r->at, true);
}

static bool accept(struct reader *r, enum hydra_lex_kind kind)
{
	struct hydra_lex t = lex(r);

	if (r->cx->fail.code || t.kind != kind)
		return false;
	r->at += t.text.n;
	return true;
}

static bool is_primitive(enum hydra_lex_kind kind, bool is_key)
{
	if (kind == LEX_INTERP || kind == LEX_COLON)
		return !is_key;
	return kind == LEX_ID || kind == LEX_NULL || kind == LEX_INT || kind == LEX_FLOAT ||
	       kind == LEX_BOOL || kind == LEX_CHAR || kind == LEX_ESC || kind == LEX_WS;
}

static struct hydra_datum *primitive(struct reader *r, bool is_key)
{
	struct pieces p = {0};
	struct hydra_lex t, first = lex(r);
	unsigned nr = 0;

	for (t = first; !r->cx->fail.code && is_primitive(t.kind, is_key); t = lex(r), nr++) {
		if (t.kind == LEX_INTERP) {
			add_value(r, &p, interpolation(r));
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
		fail(r, "expected a value");
	if (nr == 1 && first.kind != LEX_INTERP && r->sc && !r->cx->fail.code) {
		sonde_buf_release(&p.text);
		return hydra_lex__primitive(r->cx, &first, 1);
	}
	return join(r, &p, true);
}

/* [element] {"," [element]} up to `end`; an omitted element is the empty string. */
static int sequence(struct reader *r, struct hydra_datum *list, enum hydra_lex_kind end)
{
	struct hydra_datum *n;

	if (lex(r).kind == end)
		return 0;
	do {
		enum hydra_lex_kind kind = lex(r).kind;

		if (kind == LEX_COMMA || kind == end)
			n = hydra_datum__string(r->cx, SONDE_STR(""));
		else
			n = element(r);
		if (r->sc && n)
			hydra_datum__push(r->cx, list, hydra_datum__copy(r->cx, n));
	} while (accept(r, LEX_COMMA));
	return r->cx->fail.code;
}

static struct hydra_datum *list_element(struct reader *r)
{
	struct hydra_datum *n = hydra_datum__new(r->cx, HYDRA_LIST);

	r->at += lex(r).text.n;
	if (!n || sequence(r, n, LEX_RBRACKET))
		return NULL;
	n->raw = true;
	return accept(r, LEX_RBRACKET) ? n : fail(r, "expected ',' or ']'");
}

static struct hydra_datum *dict_element(struct reader *r)
{
	struct hydra_datum *n = hydra_datum__new(r->cx, HYDRA_MAP), *key, *value;

	r->at += lex(r).text.n;
	if (!n)
		return NULL;
	n->raw = true;
	if (accept(r, LEX_RBRACE))
		return n;
	do {
		key = primitive(r, true);
		if (!key)
			return NULL;
		if (!accept(r, LEX_COLON))
			return fail(r, "expected ':'");
		value = element(r);
		if (r->sc && value)
			hydra_datum__set(r->cx, n, key, hydra_datum__copy(r->cx, value));
	} while (accept(r, LEX_COMMA));
	return accept(r, LEX_RBRACE) ? n : fail(r, "expected ',' or '}'");
}

static struct hydra_datum *element(struct reader *r)
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
	kind = lex(r).kind;
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

/* A nested interpolation as (part of) a name: must give a string. */
static bool name_value(struct reader *r, struct sonde_buf *path, bool is_resolver)
{
	size_t start = r->at;
	struct hydra_datum *n = interpolation(r);
	struct sonde_buf shown = {0};
	struct sonde_str source;

	if (!n || !r->sc)
		return n != NULL;
	if (n->kind == HYDRA_STRING) {
		sonde_buf_str(path, n->s);
		return true;
	}
	if (!is_resolver && n->kind <= HYDRA_STRING && lex(r).kind == LEX_COLON)
		is_resolver = true;
	source = (struct sonde_str){r->s.p + start, r->at - start};
	hydra_pytext__str(&shown, n);
	if (is_resolver)
		hydra_ctx__fail(r->cx, "InterpolationResolutionError",
			"The name of a resolver must be a string, but the interpolation %.*s "
			"resolved to `%s` which is of type <class '%s'>",
			SONDE_STR_ARG(source), shown.p ? shown.p : "", hydra_datum__type_name(n));
	else
		hydra_ctx__fail(r->cx, "InterpolationResolutionError",
			"The following interpolation is used to denote a config key and thus "
			"should "
			"return a string, but instead returned `%s` of type `<class '%s'>`: %.*s",
			shown.p ? shown.p : "", hydra_datum__type_name(n), SONDE_STR_ARG(source));
	sonde_buf_release(&shown);
	return false;
}

static bool is_name_char(char c)
{
	return c && !strchr("\\{}()[]:. \t'\"", c);
}

/* One name of a path; `*ident` is cleared when a resolver could not be called that. */
static bool name(struct reader *r, struct sonde_buf *path, bool *ident)
{
	size_t n = 0;

	if (at_interpolation(r, 0))
		return name_value(r, path, false);
	while (is_name_char(peek(r, n)))
		n++;
	if (!n) {
		fail(r, "expected a name");
		return false;
	}
	if (hydra_lex__ident(r->s, r->at) != n)
		*ident = false;
	sonde_buf_add(path, r->s.p + r->at, n);
	r->at += n;
	return true;
}

/* {"."} step {"." name | "[" name "]"}: the text in `path`; `*ident` if it may name a resolver. */
static bool path_text(struct reader *r, struct sonde_buf *path, bool *ident)
{
	bool first = true;

	*ident = true;
	for (; peek(r, 0) == '.'; r->at++) {
		sonde_buf_putc(path, '.');
		*ident = false;
	}
	for (;;) {
		if (peek(r, 0) == '[') {
			*ident = false;
			r->at++;
			sonde_buf_putc(path, '[');
			if (!name(r, path, ident))
				return false;
			if (peek(r, 0) != ']')
				return fail(r, "expected ']'") != NULL;
			r->at++;
			sonde_buf_putc(path, ']');
		} else if (first) {
			if (!name(r, path, ident))
				return false;
		} else if (peek(r, 0) == '.') {
			r->at++;
			sonde_buf_putc(path, '.');
			if (!name(r, path, ident))
				return false;
		} else {
			return true;
		}
		first = false;
	}
}

static struct hydra_datum *wrap_failure(struct reader *r)
{
	struct sonde_str msg = r->cx->fail.msg;
	const char *type = r->cx->fail.type;

	if (!hydra_ctx__is_user_error(r->cx) || strncmp(type, "Interpolation", 13) == 0 ||
		strcmp(type, "UnsupportedInterpolationType") == 0)
		return NULL;
	hydra_ctx__clear(r->cx);
	hydra_ctx__fail(r->cx, "InterpolationResolutionError",
		"%s raised while resolving interpolation: %.*s", type, SONDE_STR_ARG(msg));
	return NULL;
}

static struct hydra_datum *lookup(struct reader *r, struct sonde_str path)
{
	unsigned saved = r->sc->depth;
	struct hydra_datum *n, *up;
	struct sonde_str shown = path;

	r->sc->depth = r->depth;
	n = hydra_interp__select(r->sc, r->container, path, true);
	r->sc->depth = saved;
	if (r->cx->fail.code) {
		if (hydra_ctx__is_type(r->cx, "MissingMandatoryValue")) {
			struct sonde_str msg = r->cx->fail.msg;

			hydra_ctx__clear(r->cx);
			hydra_ctx__fail(r->cx, "InterpolationToMissingValueError",
				"MissingMandatoryValue while resolving interpolation: %.*s",
				SONDE_STR_ARG(msg));
		}
		return wrap_failure(r);
	}
	while (shown.n && shown.p[0] == '.')
		shown.p++, shown.n--;
	if (!n) {
		hydra_ctx__fail(r->cx, "InterpolationKeyError",
			"Interpolation key '%.*s' not found", SONDE_STR_ARG(shown));
		return NULL;
	}
	for (up = r->self ? r->self : r->container; up; up = up->parent) {
		if (up != n)
			continue;
		hydra_ctx__fail(r->cx, "InterpolationResolutionError",
			"Interpolation to parent node detected");
		return NULL;
	}
	return n;
}

static struct hydra_datum *call(struct reader *r, struct sonde_str resolver)
{
	struct hydra_datum *args = hydra_datum__new(r->cx, HYDRA_LIST), *n;
	unsigned saved;

	r->at += lex(r).text.n; /* the colon and its blanks */
	if (!args || sequence(r, args, LEX_RBRACE))
		return NULL;
	if (!accept(r, LEX_RBRACE))
		return fail(r, "expected ',' or '}'");
	if (!r->sc)
		return nothing();
	saved = r->sc->depth;
	r->sc->depth = r->depth;
	n = hydra_interp__resolver(r->sc, resolver, args, r->container, r->self);
	r->sc->depth = saved;
	return n ? n : wrap_failure(r);
}

static struct hydra_datum *interpolation_body(struct reader *r, struct sonde_buf *path)
{
	bool ident;
	size_t blanks = 0;

	r->at += 2;
	skip_blanks(r);
	if (!path_text(r, path, &ident))
		return NULL;
	while (peek(r, blanks) == ' ' || peek(r, blanks) == '\t')
		blanks++;
	if (ident && peek(r, blanks) == ':')
		return call(r, sonde_buf_view(path));
	if (peek(r, blanks) != '}')
		return fail(r, "expected '}'");
	r->at += blanks + 1;
	return r->sc ? lookup(r, sonde_buf_view(path)) : nothing();
}

static struct hydra_datum *interpolation(struct reader *r)
{
	struct sonde_buf path = {0};
	struct hydra_datum *n = NULL;

	if (r->cx->fail.code)
		return NULL;
	if (++r->depth > HYDRA_MAX_DEPTH || r->cx->steps++ > HYDRA_MAX_STEPS)
		hydra_ctx__limit(r->cx, "interpolations nest deeper than %d levels or are too many",
			HYDRA_MAX_DEPTH);
	else
		n = interpolation_body(r, &path);
	if (path.failed)
		hydra_ctx__nomem(r->cx);
	sonde_buf_release(&path);
	r->depth--;
	return r->cx->fail.code ? NULL : n;
}

int hydra_interp__check(struct hydra_ctx *cx, struct sonde_str s)
{
	struct reader r = {.cx = cx, .s = s};

	text(&r);
	return cx->fail.code;
}

static int check_deep(struct hydra_ctx *cx, struct hydra_datum *n, unsigned depth)
{
	uint32_t i;

	if (n->kind == HYDRA_STRING && n->interp && hydra_interp__check(cx, n->s) &&
		hydra_ctx__is_user_error(cx)) {
		struct sonde_str msg = cx->fail.msg;
		struct hydra_datum *parent = n->parent ? n->parent : n;
		uint32_t line = parent->line;

		hydra_ctx__clear(cx);
		parent->line = n->line;
		hydra_datum__fail(cx, "GrammarParseError", parent, hydra_datum__path(cx, n), msg.p);
		parent->line = line;
	}
	if (cx->fail.code || !hydra_datum__is_container(n))
		return cx->fail.code;
	for (i = 0; i < n->seq.nr; i++) {
		struct hydra_datum *child = n->seq.at[i];

		if (child->key && child->key->kind == HYDRA_NULL)
			return hydra_datum__fail(cx, "KeyValidationError", n,
				hydra_datum__path(cx, n), "Incompatible key type 'NoneType'");
		if (check_deep(cx, child, depth + 1))
			return cx->fail.code;
	}
	return 0;
}

int hydra_interp__check_tree(struct hydra_ctx *cx, struct hydra_datum *n)
{
	return check_deep(cx, n, 0);
}

static struct hydra_datum *run(struct hydra_lookup *sc, struct reader *r, bool is_element)
{
	struct hydra_datum *n;

	/* Syntax first: nothing is evaluated of a text that turns out to be wrong. */
	r->sc = NULL;
	n = is_element ? element(r) : text(r);
	if (n && r->at < r->s.n)
		n = fail(r, "expected the end");
	if (!n)
		return NULL;
	r->sc = sc;
	r->at = 0;
	r->depth = sc->depth; /* one bound for all that is nested, however it comes about */
	return is_element ? element(r) : text(r);
}

struct hydra_datum *hydra_interp__eval(struct hydra_lookup *sc, struct sonde_str s,
	struct hydra_datum *container, struct hydra_datum *self)
{
	struct reader r = {.cx = sc->cx, .s = s, .container = container, .self = self};

	return run(sc, &r, false);
}

struct hydra_datum *hydra_interp__eval_element(struct hydra_lookup *sc, struct sonde_str s,
	struct hydra_datum *container, struct hydra_datum *self)
{
	struct reader r = {.cx = sc->cx, .s = s, .container = container, .self = self};

	return run(sc, &r, true);
}
