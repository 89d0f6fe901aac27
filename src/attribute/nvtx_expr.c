/*
 * One NVTX expression: text → characters with their roles → patterns (pattern.c), and matching them against
 * open ranges. filter.c has include and exclude lists of expressions; levels.c writes the expression of a region.
 *
 *   EXPR    := ["regex:"] [DOMAIN "@"] (LIST | STACK)    Nsight Compute's grammar
 *   LIST    := NAME ("," NAME)*                          start/end: inside all of them
 *   STACK   := ["["] ELEM ("/" ELEM)* ["/" | "]"]        push/pop; has a "/", "[" or "]"
 *   ELEM    := NAME | "+" | "*"                          +: one range between, *: any number of ranges
 *
 * No domain means the default domain. Empty elements are skipped (`/A`, `A//`).
 * The first element is a NAME. `\` makes one of `@ , [ ] / * + ? ; \` or a
 * blank plain; before any other character it is a plain backslash. After
 * `regex:` domain and names are regular expressions, searched anywhere in the
 * text. There a `\` before anything but `@ , / ;` is part of the regular
 * expression. A `[…]` closed within its element is a character class; any other
 * leading `[` or trailing `]` anchors the stack at its outermost or innermost range.
 *
 * A word with none of `/ [ ] ,` and no `regex:` is a *label glob*, sonde's own:
 * `decode*` takes every launch inside a push/pop or start/end range with such a
 * label, in any domain. `LLM@*` takes labels that begin with `LLM@`, and also any
 * range of a domain `LLM`. So `D@x` and `x` take what they take in Nsight (start/end
 * ranges), and push/pop ranges as well.
 */
#include "attribute/filter_int.h"

#include <string.h>

#define MAX_ELEMS 256

/* One name of a list, or one level of a stack. */
struct nvtx_elem {
	uint8_t kind; /* 0 = name, '+' or '*' */
	struct sonde_pattern name;
};

/* One character of an expression, after escapes are removed. */
struct nvtx_char {
	char c;
	char role; /* 0 = a plain character, else the operator: one of @ , [ ] / * + ? */
	uint32_t pos; /* in the source, in bytes */
};

/* An expression as text: the characters after `regex:`. */
struct nvtx_text {
	struct sonde_str source; /* with `regex:`, for messages */
	bool is_regex;
	struct nvtx_char *at;
	size_t nr;
};

/* A slice of an expression's characters. */
struct span {
	size_t from, to;
};

/* --- characters and their roles ----------------------------------------------------------------- */

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* Removes blanks on both sides, but not a trailing blank that a backslash protects. */
static struct sonde_str trim_blanks(struct sonde_str s)
{
	struct sonde_str t = sonde_str_trim(s);
	size_t slashes = 0;

	while (slashes < t.n && t.p[t.n - 1 - slashes] == '\\')
		slashes++;
	if (slashes % 2 && t.p + t.n < s.p + s.n)
		t.n++;
	return t;
}

bool sonde_nvtx_next_item(struct sonde_str *rest, struct sonde_str *item)
{
	size_t i = 0;

	if (!rest->p)
		return false;
	while (i < rest->n && rest->p[i] != ';')
		i += rest->p[i] == '\\' && i + 1 < rest->n ? 2 : 1;
	*item = trim_blanks((struct sonde_str){rest->p, i});
	*rest = i < rest->n ? (struct sonde_str){rest->p + i + 1, rest->n - i - 1}
			    : (struct sonde_str){NULL, 0};
	return true;
}

/* "NVTX expression 'E', character N: reason" */
static int refuse_expression(const struct nvtx_text *t, size_t index, struct sonde_err *err, const char *reason)
{
	size_t end = t->source.n;
	size_t pos = index < t->nr ? t->at[index].pos : end;

	sonde_err_set(err, SONDE_ERR_USAGE, "NVTX expression '%.*s', character %zu: %s",
		SONDE_STR_ARG(t->source), pos + 1, reason);
	if (err)
		err->pos = pos;
	return SONDE_ERR_USAGE;
}

/* The first character with one of these roles, or t->nr. */
static size_t find_role(const struct nvtx_text *t, size_t from, const char *roles)
{
	while (from < t->nr && !is_one_of(t->at[from].role, roles))
		from++;
	return from;
}

static void put_char(struct nvtx_text *t, char c, char role, size_t pos)
{
	t->at[t->nr++] = (struct nvtx_char){.c = c, .role = role, .pos = (uint32_t)pos};
}

/* Expressions without `regex:`. A backslash before an operator is removed and makes the operator a plain character. */
static void lex_plain(struct nvtx_text *t, struct sonde_str s)
{
	size_t i;

	for (i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '\\' && i + 1 < s.n && is_one_of(s.p[i + 1], "@,[]/*+?;\\ ")) {
			put_char(t, s.p[i + 1], 0, i);
			i++;
		} else {
			put_char(t, c, is_one_of(c, "@,[]/*+?") ? c : 0, i);
		}
	}
}

/* The index of the `]` that ends the character class beginning at `i`; 0 if the class does not end within its element. */
static size_t class_end(const struct nvtx_text *t, size_t i)
{
	size_t k = i + 1;

	if (k < t->nr && t->at[k].c == '^')
		k++;
	if (k < t->nr && t->at[k].c == ']')
		k++;
	k = find_role(t, k, "[]/");
	while (k + 1 < t->nr && t->at[k].role == '[') {
		if (t->at[k + 1].c == ':') /* [:alpha:] has a bracket of its own */
			k = find_role(t, k, "]/");
		k = k < t->nr ? find_role(t, k + 1, "[]/") : k;
	}
	return k < t->nr && t->at[k].role == ']' ? k : 0;
}

/*
 * Whether the `[` at `from`, which looks like a character class up to `to`, anchors the stack nevertheless:
 * in `[A]`, which is Nsight's "outermost and innermost", and in `[A[0-9]`, where a class follows.
 */
static bool is_stack_end(const struct nvtx_text *t, size_t from, size_t to)
{
	size_t inner = find_role(t, from + 1, "[]");

	if (from > 0 && t->at[from - 1].role != '@')
		return false;
	if (inner < to && t->at[inner].role == '[' && t->at[inner + 1].c != ':')
		return true;
	return to + 1 == t->nr && find_role(t, 0, "/") == t->nr;
}

/* Regular expressions: characters inside a character class are not operators. */
static void hide_classes(struct nvtx_text *t)
{
	size_t i, end;

	for (i = 0; i < t->nr; i++) {
		if (t->at[i].role != '[')
			continue;
		end = class_end(t, i);
		if (!end || is_stack_end(t, i, end))
			continue;
		for (; i <= end; i++)
			t->at[i].role = 0;
		i = end;
	}
}

static void lex_regex(struct nvtx_text *t, struct sonde_str s)
{
	size_t i;

	for (i = 6; i < s.n; i++) {
		char c = s.p[i];

		if (c != '\\' || i + 1 == s.n) {
			put_char(t, c, is_one_of(c, "@,[]/*+") ? c : 0, i);
			continue;
		}
		if (!is_one_of(s.p[i + 1], "@,/;"))
			put_char(t, c, 0, i);
		put_char(t, s.p[i + 1], 0, i + 1);
		i++;
	}
	hide_classes(t);
}

/* Removes escapes and finds the operators. `out->at` is allocated in the pool's arena. */
static int lex(struct nvtx_text *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err)
{
	*out = (struct nvtx_text){.source = item, .is_regex = sonde_str_starts(item, "regex:")};
	if (item.n > SONDE_PATTERN_MAX)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"NVTX expression '%.40s…' is longer than %d bytes", item.p,
			SONDE_PATTERN_MAX);
	out->at = sonde_arena_calloc(&pool->arena, item.n, sizeof(*out->at));
	if (sonde_arena_status(&pool->arena, err))
		return SONDE_ERR_NOMEM;
	if (out->is_regex)
		lex_regex(out, item);
	else
		lex_plain(out, item);
	if (!out->nr)
		return refuse_expression(out, 0, err, "nothing follows regex:");
	return 0;
}

/* Whether an expression is a label glob. */
static bool is_label(const struct nvtx_text *t)
{
	return !t->is_regex && find_role(t, 0, "/[],") == t->nr;
}

/* --- patterns ----------------------------------------------------------------------------------- */

static bool is_default(struct sonde_str domain)
{
	return !domain.p || sonde_str_is(domain, "<default domain>");
}

/* Compiles the regular expression in `s`. Errors give the position in the user's text. */
static int build_regex(struct sonde_pattern *out, struct sonde_pool *pool,
	const struct nvtx_text *t, struct span s, struct sonde_err *err)
{
	struct sonde_err why = {0};
	struct sonde_buf text = {0};
	size_t i;
	int rc;

	for (i = s.from; i < s.to; i++)
		sonde_buf_putc(&text, t->at[i].c);
	pool->arena.failed |= text.failed;
	rc = text.failed ? 0 : sonde_pattern__regex(out, pool, sonde_buf_view(&text), &why);
	sonde_buf_release(&text);
	return rc ? refuse_expression(t, s.from + (size_t)why.pos, err, why.msg) : 0;
}

/* Builds the pattern of a name. `*` and `?` are wildcards in a label glob only. */
static int build_name(struct sonde_pattern *out, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	bool globs = is_label(t);
	uint16_t *glob;
	size_t i;

	if (t->is_regex)
		return build_regex(out, pool, t, s, err);
	glob = sonde_arena_calloc(&pool->arena, s.to - s.from, sizeof(*glob));
	for (i = s.from; glob && i < s.to; i++) {
		const struct nvtx_char *ch = &t->at[i];

		glob[i - s.from] = globs && ch->role == '*'   ? SONDE_GLOB_ANY
				   : globs && ch->role == '?' ? SONDE_GLOB_ONE
							      : (unsigned char)ch->c;
	}
	*out = (struct sonde_pattern){.glob = glob, .nr = s.to - s.from};
	return 0;
}

static int add_elem(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	struct nvtx_elem *elem = &e->elems[e->nr];
	char role = s.to - s.from == 1 ? t->at[s.from].role : 0;

	if (e->nr == MAX_ELEMS)
		return refuse_expression(t, s.from, err, "more ranges than any stack has");
	if (e->kind == NVTX_STACK && (role == '*' || role == '+')) {
		elem->kind = (uint8_t)role;
		e->nr++;
		return 0;
	}
	if (e->kind != NVTX_LABEL && !t->is_regex) {
		size_t star = find_role(t, s.from, "*");

		if (star < s.to)
			return refuse_expression(t, star, err,
				"'*' in a name is not a wildcard in Nsight's grammar: write \\* for "
				"the character, a plain glob without '/', or regex:");
	}
	e->nr++;
	return build_name(&elem->name, pool, t, s, err);
}

/* A stack that is not anchored at an end gets an implied "anything" there. */
static int build_stack(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	bool outermost = s.from < s.to && t->at[s.from].role == '[';
	bool innermost = s.from < s.to && t->at[s.to - 1].role == ']';
	size_t i, end, wrong;
	int rc = 0;

	s.from += outermost;
	s.to -= innermost && s.to > s.from;
	wrong = find_role(t, s.from, "[],");
	if (wrong < s.to)
		return refuse_expression(t, wrong, err,
			t->at[wrong].role == ','
				? "',' (start/end ranges) and '/' (push/pop ranges) do not mix"
				: "'[' belongs at the beginning, ']' at the end; \\ makes them "
				  "plain");
	if (!outermost)
		e->elems[e->nr++].kind = '*';
	for (i = s.from; i < s.to && rc == 0; i = end + 1) {
		end = find_role(t, i, "/");
		end = end < s.to ? end : s.to;
		if (end == i)
			continue;
		rc = add_elem(e, pool, t, (struct span){i, end}, err);
		if (rc == 0 && e->nr == 1u + !outermost && e->elems[e->nr - 1].kind)
			return refuse_expression(t, i, err,
				"'*' and '+' go between ranges: a range name must come first");
	}
	if (rc == 0 && e->nr == !outermost)
		return refuse_expression(t, s.from, err, "a range name is missing");
	if (rc == 0 && !innermost)
		e->elems[e->nr++].kind = '*';
	return rc;
}

static int build_list(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	struct span s, struct sonde_err *err)
{
	size_t i, end;
	int rc = 0;

	for (i = s.from; i <= s.to && rc == 0; i = end + 1) {
		end = find_role(t, i, ",");
		end = end < s.to ? end : s.to;
		if (end == i)
			return refuse_expression(t, i, err, "a range name is missing");
		rc = add_elem(e, pool, t, (struct span){i, end}, err);
	}
	return rc;
}

static int build_label(struct nvtx_expr *e, struct sonde_pool *pool, const struct nvtx_text *t,
	size_t at, struct sonde_err *err)
{
	int rc = build_name(&e->label, pool, t, (struct span){0, t->nr}, err);

	e->kind = NVTX_LABEL;
	e->has_domain = at > 0 && at + 1 < t->nr; /* `@x` and `x@` are labels only */
	if (rc || !e->has_domain)
		return rc;
	rc = build_name(&e->domain, pool, t, (struct span){0, at}, err);
	return rc ? rc : add_elem(e, pool, t, (struct span){at + 1, t->nr}, err);
}

/* An upper bound of the number of elements: one more than there are separators, and an implied '*' on either side. */
static size_t count_elems(const struct nvtx_text *t)
{
	size_t nr = 3, i;

	for (i = find_role(t, 0, "/,"); i < t->nr; i = find_role(t, i + 1, "/,"))
		nr++;
	return nr;
}

int nvtx_expr_build(struct nvtx_expr *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err)
{
	struct nvtx_text t;
	struct span s = {0, 0};
	size_t at;
	int rc = lex(&t, pool, item, err);

	*out = (struct nvtx_expr){0};
	if (rc)
		return rc;
	out->elems = sonde_arena_calloc(&pool->arena, count_elems(&t), sizeof(*out->elems));
	if (sonde_arena_status(&pool->arena, err))
		return SONDE_ERR_NOMEM;
	at = find_role(&t, 0, "@");
	if (is_label(&t))
		return build_label(out, pool, &t, at, err);
	s.to = t.nr;
	if (at < t.nr) {
		if (at == 0)
			return refuse_expression(&t, 0, err, "the domain before '@' is missing");
		rc = build_name(&out->domain, pool, &t, (struct span){0, at}, err);
		out->has_domain = true;
		s.from = at + 1;
	}
	if (rc)
		return rc;
	out->kind = find_role(&t, s.from, "/[]") < t.nr ? NVTX_STACK : NVTX_LIST;
	return out->kind == NVTX_STACK ? build_stack(out, pool, &t, s, err)
				       : build_list(out, pool, &t, s, err);
}

/* --- matching ----------------------------------------------------------------------------------- */

static bool domain_fits(const struct nvtx_expr *e, struct sonde_str domain)
{
	if (!e->has_domain)
		return is_default(domain);
	return sonde_pattern__takes(
		&e->domain, is_default(domain) ? SONDE_STR("<default domain>") : domain);
}

/* As in a glob, backtracking to the last '*' is enough. */
static bool stack_fits(const struct nvtx_expr *e, const struct sonde_open_stack *stack)
{
	size_t k = 0, i = 0, star = SIZE_MAX, star_i = 0;

	while (i < stack->nr || k < e->nr) {
		const struct nvtx_elem *elem = k < e->nr ? &e->elems[k] : NULL;

		if (elem && elem->kind == '*') {
			star = k++;
			star_i = i;
		} else if (elem && i < stack->nr &&
			   (elem->kind == '+' ||
				   sonde_pattern__takes(&elem->name, stack->labels[i]))) {
			k++;
			i++;
		} else if (star != SIZE_MAX && star_i < stack->nr) {
			k = star + 1;
			i = ++star_i;
		} else {
			return false;
		}
	}
	return true;
}

static bool list_fits(const struct nvtx_expr *e, const struct sonde_open_ranges *open)
{
	size_t k, i;

	for (k = 0; k < e->nr; k++) {
		for (i = 0; i < open->nr_starts; i++)
			if (domain_fits(e, open->starts[i].domain) &&
				sonde_pattern__takes(&e->elems[k].name, open->starts[i].label))
				break;
		if (i == open->nr_starts)
			return false;
	}
	return true;
}

static bool label_fits(const struct nvtx_expr *e, struct sonde_str domain, struct sonde_str label)
{
	return sonde_pattern__takes(&e->label, label) ||
	       (e->has_domain && sonde_pattern__takes(&e->elems[0].name, label) &&
		       domain_fits(e, domain));
}

static bool any_label_fits(const struct nvtx_expr *e, const struct sonde_open_ranges *open)
{
	size_t i, k;

	for (i = 0; i < open->nr_stacks; i++)
		for (k = 0; k < open->stacks[i].nr; k++)
			if (label_fits(e, open->stacks[i].domain, open->stacks[i].labels[k]))
				return true;
	for (i = 0; i < open->nr_starts; i++)
		if (label_fits(e, open->starts[i].domain, open->starts[i].label))
			return true;
	return false;
}

bool nvtx_expr_takes(const struct nvtx_expr *e, const struct sonde_open_ranges *open)
{
	size_t i;

	if (e->kind == NVTX_LABEL)
		return any_label_fits(e, open);
	if (e->kind == NVTX_LIST)
		return list_fits(e, open);
	for (i = 0; i < open->nr_stacks; i++)
		if (domain_fits(e, open->stacks[i].domain) && stack_fits(e, &open->stacks[i]))
			return true;
	return false;
}

bool nvtx_expr_names(const struct nvtx_expr *e, struct sonde_str label)
{
	size_t k;

	if (e->kind == NVTX_LABEL && sonde_pattern__takes(&e->label, label))
		return true;
	for (k = 0; k < e->nr; k++)
		if (!e->elems[k].kind && sonde_pattern__takes(&e->elems[k].name, label))
			return true;
	return false;
}

/*
 * --- translating -------------------------------------------------------------------------------
 *
 * Nsight has no label globs, so each becomes several regular expressions: for push/pop
 * (with the `/`) and for start/end (without), in the default domain and in any
 * other. A character with a meaning in either grammar becomes `.`, so the result
 * takes at least what the glob takes; reading the capture then filters exactly. (The
 * one exception: a label with a line end in the place of such a character is missed.)
 */

bool nvtx_is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != 0x7f && !strchr("@,;[]/*+?\\^$.|(){}", c);
}

static void put_regex(struct sonde_buf *out, const struct nvtx_text *t, size_t from, size_t to)
{
	size_t i;

	sonde_buf_putc(out, '^');
	for (i = from; i < to; i++) {
		const struct nvtx_char *ch = &t->at[i];

		if (ch->role == '*')
			sonde_buf_puts(out, ".*");
		else if (ch->role == '?')
			sonde_buf_puts(out, ".+"); /* Nsight may count bytes, we count characters */
		else
			sonde_buf_putc(out, nvtx_is_plain(ch->c) ? ch->c : '.');
	}
	sonde_buf_putc(out, '$');
}

/* Writes one expression for each kind of range: `DOMAIN@regex/` (push/pop) and `DOMAIN@regex` (start/end). */
static void put_twins(struct sonde_buf *out, struct sonde_str domain, struct sonde_str label)
{
	static const char *const end[] = {"/\n", "\n"};
	size_t i;

	for (i = 0; i < 2; i++) {
		sonde_buf_puts(out, "regex:");
		sonde_buf_str(out, domain);
		if (domain.n)
			sonde_buf_putc(out, '@');
		sonde_buf_str(out, label);
		sonde_buf_puts(out, end[i]);
	}
}

static void put_label(struct sonde_buf *out, const struct nvtx_text *t)
{
	struct sonde_buf label = {0}, domain = {0};
	size_t at = find_role(t, 0, "@");

	put_regex(&label, t, 0, t->nr);
	put_twins(out, (struct sonde_str){NULL, 0}, sonde_buf_view(&label));
	put_twins(out, SONDE_STR(".*"), sonde_buf_view(&label));
	if (at > 0 && at + 1 < t->nr) {
		sonde_buf_clear(&label);
		put_regex(&domain, t, 0, at);
		put_regex(&label, t, at + 1, t->nr);
		put_twins(out, sonde_buf_view(&domain), sonde_buf_view(&label));
	}
	out->failed = out->failed || label.failed || domain.failed;
	sonde_buf_release(&label);
	sonde_buf_release(&domain);
}

/* Writes an expression unchanged, but without each `\` that only protects a `;` in our lists. */
static void put_untouched(struct sonde_buf *out, struct sonde_str item)
{
	size_t i;

	for (i = 0; i < item.n; i++) {
		if (item.p[i] == '\\' && i + 1 < item.n) {
			if (item.p[i + 1] != ';')
				sonde_buf_putc(out, '\\');
			i++;
		}
		sonde_buf_putc(out, item.p[i]);
	}
	sonde_buf_putc(out, '\n');
}

int sonde_nvtx_filter_translate(struct sonde_buf *out, const char *word, struct sonde_err *err)
{
	struct sonde_str rest = sonde_str_from(word), item;
	struct sonde_pool pool = {0};
	struct nvtx_text text;
	struct nvtx_expr e;
	int rc = 0;

	while (rc == 0 && sonde_nvtx_next_item(&rest, &item)) {
		if (!item.n)
			continue;
		rc = nvtx_expr_build(&e, &pool, item, err); /* refuses what Nsight would refuse */
		if (rc == 0)
			rc = lex(&text, &pool, item, err);
		if (rc)
			break;
		if (is_label(&text))
			put_label(out, &text);
		else
			put_untouched(out, item);
	}
	pool.arena.failed |= out->failed;
	rc = rc ? rc : sonde_arena_status(&pool.arena, err);
	sonde_pool__release(&pool);
	return rc;
}
