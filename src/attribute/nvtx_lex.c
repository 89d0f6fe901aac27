/* NVTX expressions as text: lists, escapes, and which characters are operators. */
#include "attribute/nvtx_expr_int.h"

#include <string.h>

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* Blanks off both sides, but not one that a backslash protects. */
static struct sonde_str trim(struct sonde_str s)
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
	*item = trim((struct sonde_str){rest->p, i});
	*rest = i < rest->n ? (struct sonde_str){rest->p + i + 1, rest->n - i - 1}
			    : (struct sonde_str){NULL, 0};
	return true;
}

int nvtx_bad(const struct nvtx_text *t, size_t index, struct sonde_err *err, const char *reason)
{
	size_t end = t->source.n;
	size_t pos = index < t->nr ? t->at[index].pos : end;

	sonde_err_set(err, SONDE_ERR_USAGE, "NVTX expression '%.*s', character %zu: %s",
		SONDE_STR_ARG(t->source), pos + 1, reason);
	if (err)
		err->pos = pos;
	return SONDE_ERR_USAGE;
}

size_t nvtx_find_role(const struct nvtx_text *t, size_t from, const char *roles)
{
	while (from < t->nr && !is_one_of(t->at[from].role, roles))
		from++;
	return from;
}

static void put(struct nvtx_text *t, char c, char role, size_t pos)
{
	t->at[t->nr++] = (struct nvtx_char){.c = c, .role = role, .pos = (uint32_t)pos};
}

/* Plain expressions: a backslash before an operator takes itself and the operator's meaning away. */
static void lex_plain(struct nvtx_text *t, struct sonde_str s)
{
	size_t i;

	for (i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '\\' && i + 1 < s.n && is_one_of(s.p[i + 1], "@,[]/*+?;\\ ")) {
			put(t, s.p[i + 1], 0, i);
			i++;
		} else {
			put(t, c, is_one_of(c, "@,[]/*+?") ? c : 0, i);
		}
	}
}

/* Where the character class that begins at `i` ends, within its element; 0 when it does not. */
static size_t class_end(const struct nvtx_text *t, size_t i)
{
	size_t k = i + 1;

	if (k < t->nr && t->at[k].c == '^')
		k++;
	if (k < t->nr && t->at[k].c == ']')
		k++;
	k = nvtx_find_role(t, k, "[]/");
	while (k + 1 < t->nr && t->at[k].role == '[') {
		if (t->at[k + 1].c == ':') /* [:alpha:] has a bracket of its own */
			k = nvtx_find_role(t, k, "]/");
		k = k < t->nr ? nvtx_find_role(t, k + 1, "[]/") : k;
	}
	return k < t->nr && t->at[k].role == ']' ? k : 0;
}

/*
 * Whether the `[` at `from`, a class up to `to` by its looks, is the stack's end all the same: in
 * `[A]`, which is Nsight's "outermost and innermost", and in `[A[0-9]`, where a class follows.
 */
static bool is_stack_end(const struct nvtx_text *t, size_t from, size_t to)
{
	size_t inner = nvtx_find_role(t, from + 1, "[]");

	if (from > 0 && t->at[from - 1].role != '@')
		return false;
	if (inner < to && t->at[inner].role == '[' && t->at[inner + 1].c != ':')
		return true;
	return to + 1 == t->nr && nvtx_find_role(t, 0, "/") == t->nr;
}

/* Regular expressions: what is inside a character class is nobody's operator. */
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
			put(t, c, is_one_of(c, "@,[]/*+") ? c : 0, i);
			continue;
		}
		if (!is_one_of(s.p[i + 1], "@,/;"))
			put(t, c, 0, i);
		put(t, s.p[i + 1], 0, i + 1);
		i++;
	}
	hide_classes(t);
}

int nvtx_lex(struct nvtx_text *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err)
{
	*out = (struct nvtx_text){.source = item, .is_regex = sonde_str_starts(item, "regex:")};
	if (item.n > SONDE_PATTERN_MAX)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"NVTX expression '%.40s…' is longer than %d bytes", item.p,
			SONDE_PATTERN_MAX);
	out->at = sonde_arena_calloc(&pool->arena, item.n, sizeof(*out->at));
	if (!out->at)
		return sonde_err_nomem(err);
	if (out->is_regex)
		lex_regex(out, item);
	else
		lex_plain(out, item);
	if (!out->nr)
		return nvtx_bad(out, 0, err, "nothing follows regex:");
	return 0;
}

bool nvtx_is_label(const struct nvtx_text *t)
{
	return !t->is_regex && nvtx_find_role(t, 0, "/[],") == t->nr;
}
