/*
 * Reads ${…}, which is a path through the tree or a call of a resolver; and the functions of interp.h that check
 * and evaluate. A text is read twice: the first time checks its syntax, so that nothing of a wrong text is evaluated.
 */
#include "hydra/interp_int.h"

#include "hydra/pytext.h"

#include <string.h>

/* Reads a nested interpolation that is (part of) a name: its value must be a string. */
static bool name_value(struct hydra_reader *r, struct sonde_buf *path, bool is_resolver)
{
	size_t start = r->at;
	struct hydra_datum *n = hydra_reader__interpolation(r);
	struct sonde_str source, shown;

	if (!n || !r->sc)
		return n != NULL;
	if (n->kind == HYDRA_STRING) {
		sonde_buf_str(path, n->s);
		return true;
	}
	if (!is_resolver && n->kind <= HYDRA_STRING && hydra_reader__lex(r).kind == LEX_COLON)
		is_resolver = true;
	source = (struct sonde_str){r->s.p + start, r->at - start};
	shown = hydra_pytext__show(r->cx, n);
	if (is_resolver)
		hydra_ctx__fail(r->cx, "InterpolationResolutionError",
			"The name of a resolver must be a string, but the interpolation %.*s "
			"resolved to `%.*s` which is of type <class '%s'>",
			SONDE_STR_ARG(source), SONDE_STR_ARG(shown), hydra_datum__type_name(n));
	else
		hydra_ctx__fail(r->cx, "InterpolationResolutionError",
			"The following interpolation is used to denote a config key and thus "
			"should return a string, but instead returned `%.*s` of type "
			"`<class '%s'>`: %.*s",
			SONDE_STR_ARG(shown), hydra_datum__type_name(n), SONDE_STR_ARG(source));
	return false;
}

static bool is_name_char(char c)
{
	return c && !strchr("\\{}()[]:. \t'\"", c);
}

/* Reads one name of a path; clears `*ident` when it cannot be the name of a resolver. */
static bool name(struct hydra_reader *r, struct sonde_buf *path, bool *ident)
{
	size_t n = 0;

	if (hydra_reader__at_interpolation(r, 0))
		return name_value(r, path, false);
	while (is_name_char(hydra_reader__peek(r, n)))
		n++;
	if (!n) {
		hydra_reader__fail(r, "expected a name");
		return false;
	}
	if (hydra_lex__ident(r->s, r->at) != n)
		*ident = false;
	sonde_buf_add(path, r->s.p + r->at, n);
	r->at += n;
	return true;
}

/* Reads {"."} step {"." name | "[" name "]"} into `path`; sets `*ident` when it can be the name of a resolver. */
static bool path_text(struct hydra_reader *r, struct sonde_buf *path, bool *ident)
{
	bool first = true;

	*ident = true;
	for (; hydra_reader__peek(r, 0) == '.'; r->at++) {
		sonde_buf_putc(path, '.');
		*ident = false;
	}
	for (;;) {
		if (hydra_reader__peek(r, 0) == '[') {
			*ident = false;
			r->at++;
			sonde_buf_putc(path, '[');
			if (!name(r, path, ident))
				return false;
			if (hydra_reader__peek(r, 0) != ']')
				return hydra_reader__fail(r, "expected ']'") != NULL;
			r->at++;
			sonde_buf_putc(path, ']');
		} else if (first) {
			if (!name(r, path, ident))
				return false;
		} else if (hydra_reader__peek(r, 0) == '.') {
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

static struct hydra_datum *wrap_failure(struct hydra_reader *r)
{
	struct sonde_str msg = r->cx->fail.msg;
	const char *type = r->cx->fail.type;

	if (!hydra_ctx__is_user_error(r->cx) || strncmp(type, "Interpolation", 13) == 0 ||
		strcmp(type, "UnsupportedInterpolationType") == 0)
		return NULL;
	hydra_ctx__clear(r->cx);
	return hydra_ctx__refuse(r->cx, "InterpolationResolutionError",
		"%s raised while resolving interpolation: %.*s", type, SONDE_STR_ARG(msg));
}

static struct hydra_datum *lookup(struct hydra_reader *r, struct sonde_str path)
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
	if (!n)
		return hydra_ctx__refuse(r->cx, "InterpolationKeyError",
			"Interpolation key '%.*s' not found", SONDE_STR_ARG(shown));
	for (up = r->self ? r->self : r->container; up; up = up->parent)
		if (up == n)
			return hydra_ctx__refuse(r->cx, "InterpolationResolutionError",
				"Interpolation to parent node detected");
	return n;
}

static struct hydra_datum *call(struct hydra_reader *r, struct sonde_str resolver)
{
	struct hydra_datum *args = hydra_datum__new(r->cx, HYDRA_LIST), *n;
	unsigned saved;

	r->at += hydra_reader__lex(r).text.n; /* the colon and its blanks */
	if (!args || hydra_reader__sequence(r, args, LEX_RBRACE))
		return NULL;
	if (!hydra_reader__accept(r, LEX_RBRACE))
		return hydra_reader__fail(r, "expected ',' or '}'");
	if (!r->sc)
		return hydra_reader__nothing();
	saved = r->sc->depth;
	r->sc->depth = r->depth;
	n = hydra_interp__resolver(r->sc, resolver, args, r->container, r->self);
	r->sc->depth = saved;
	return n ? n : wrap_failure(r);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct hydra_datum *interpolation_body(struct hydra_reader *r, struct sonde_buf *path)
{
	bool ident;
	size_t blanks = 0;

	r->at += 2;
	while (is_blank(hydra_reader__peek(r, 0)))
		r->at++;
	if (!path_text(r, path, &ident))
		return NULL;
	while (is_blank(hydra_reader__peek(r, blanks)))
		blanks++;
	if (ident && hydra_reader__peek(r, blanks) == ':')
		return call(r, sonde_buf_view(path));
	if (hydra_reader__peek(r, blanks) != '}')
		return hydra_reader__fail(r, "expected '}'");
	r->at += blanks + 1;
	return r->sc ? lookup(r, sonde_buf_view(path)) : hydra_reader__nothing();
}

struct hydra_datum *hydra_reader__interpolation(struct hydra_reader *r)
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
	struct hydra_reader r = {.cx = cx, .s = s};

	hydra_reader__text(&r);
	return cx->fail.code;
}

int hydra_interp__check_tree(struct hydra_ctx *cx, struct hydra_datum *n)
{
	uint32_t i;

	if (n->kind == HYDRA_STRING && n->interp && hydra_interp__check(cx, n->s) &&
		hydra_ctx__is_user_error(cx)) {
		struct sonde_str msg = cx->fail.msg;
		struct hydra_datum *parent = n->parent ? n->parent : n;
		uint32_t line = parent->line;

		hydra_ctx__clear(cx);
		parent->line = n->line;
		hydra_datum__fail(cx, "GrammarParseError", parent, hydra_datum__path(cx, n), msg);
		parent->line = line;
	}
	if (hydra_datum__is_sweep(n))
		return hydra_datum__fail(cx, "UnsupportedValueType", n->parent ? n->parent : n,
			hydra_datum__path(cx, n),
			hydra_ctx__printf(cx, "Value '%s' is not a supported primitive type",
				hydra_datum__type_name(n)));
	if (cx->fail.code || !hydra_datum__is_container(n))
		return cx->fail.code;
	for (i = 0; i < n->seq.nr; i++) {
		struct hydra_datum *child = n->seq.at[i];

		if (child->key && child->key->kind == HYDRA_NULL)
			return hydra_datum__fail(cx, "KeyValidationError", n,
				hydra_datum__path(cx, n),
				SONDE_STR("Incompatible key type 'NoneType'"));
		if (hydra_interp__check_tree(cx, child))
			return cx->fail.code;
	}
	return 0;
}

static struct hydra_datum *run(struct hydra_reader r, struct hydra_lookup *sc,
	struct hydra_datum *(*read)(struct hydra_reader *r))
{
	struct hydra_datum *n = read(&r);

	if (n && r.at < r.s.n)
		n = hydra_reader__fail(&r, "expected the end");
	if (!n)
		return NULL;
	r.sc = sc;
	r.at = 0;
	r.depth = sc->depth; /* one limit for all nesting: in the text, and through references */
	return read(&r);
}

struct hydra_datum *hydra_interp__eval(struct hydra_lookup *sc, struct sonde_str s,
	struct hydra_datum *container, struct hydra_datum *self)
{
	return run(
		(struct hydra_reader){.cx = sc->cx, .s = s, .container = container, .self = self},
		sc, hydra_reader__text);
}

struct hydra_datum *hydra_interp__eval_element(struct hydra_lookup *sc, struct sonde_str s,
	struct hydra_datum *container, struct hydra_datum *self)
{
	return run(
		(struct hydra_reader){.cx = sc->cx, .s = s, .container = container, .self = self},
		sc, hydra_reader__element);
}
