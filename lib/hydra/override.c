/* Parses the key of an override line; override_value.c parses its value. */
#include "hydra/override_int.h"

#include <string.h>

/* Tokens of the key, which is everything before the first '='. */

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

static enum key_kind key_token(struct hydra_override_parser *p, struct sonde_str *text)
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
	hydra_override__refuse_character(p, p->at);
	return KEY_ERROR;
}

static bool accept_char(struct hydra_override_parser *p, char c)
{
	struct sonde_str text;

	if (p->cx->fail.code || key_token(p, &text) != KEY_PUNCT || text.p[0] != c)
		return false;
	p->at++;
	return true;
}

/* [ ID | SPECIAL | DOTPATH ] */
static struct sonde_str package(struct hydra_override_parser *p, enum key_kind *kind)
{
	struct sonde_str text;

	*kind = key_token(p, &text);
	if (*kind != KEY_ID && *kind != KEY_SPECIAL && *kind != KEY_DOTPATH)
		text.n = 0;
	p->at += text.n;
	return text;
}

static int parse_key(struct hydra_override_parser *p, struct hydra_override *o)
{
	enum key_kind kind;
	struct sonde_str text;
	size_t start = p->at;

	o->key = package(p, &kind);
	while (kind == KEY_ID && accept_char(p, '/')) {
		if (key_token(p, &text) != KEY_ID)
			return p->cx->fail.code ? p->cx->fail.code
						: hydra_override__refuse_token(p, text);
		p->at += text.n;
		o->key.n = p->at - start;
	}
	if (accept_char(p, '@')) {
		o->has_package = true;
		o->package = package(p, &kind);
	}
	return p->cx->fail.code;
}

static int right_side(struct hydra_override_parser *p, struct hydra_override *o)
{
	struct hydra_lex t;

	while (p->at < p->line.n && (p->line.p[p->at] == ' ' || p->line.p[p->at] == '\t'))
		p->at++;
	if (p->at == p->line.n) {
		o->value = hydra_datum__string(p->cx, SONDE_STR(""));
		return p->cx->fail.code;
	}
	o->value = hydra_override__value(p);
	if (!o->value)
		return p->cx->fail.code;
	t = hydra_override__peek(p);
	if (!p->cx->fail.code && t.kind != LEX_END)
		return hydra_override__refuse_token(p, t.text);
	return p->cx->fail.code;
}

static int parse(struct hydra_override_parser *p, struct hydra_override *o)
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
		return p->cx->fail.code ? p->cx->fail.code : hydra_override__refuse_token(p, text);
	}
	if (o->kind != HYDRA_OVERRIDE_DEL || (!o->key.n && !o->has_package && p->line.n == 0))
		return hydra_override__refuse(p, "there is no '=' in it");
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
	struct hydra_override_parser p = {.cx = cx, .line = hydra_ctx__dup(cx, line)};
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

	return HYDRA_JOIN(cx, sonde_str_from(prefix[o->kind]), o->key,
		o->has_package ? SONDE_STR("@") : SONDE_STR(""), o->package);
}

bool hydra_override__is_hydra(const struct hydra_override *o)
{
	return sonde_str_starts(o->key, "hydra.") || sonde_str_starts(o->key, "hydra/");
}
