/* Checks values against a table of keys, fills in its defaults, and prints its help. */
#include "hydra/keys_int.h"

#include "base/nearest.h"

#include "hydra/pytext.h"
#include "hydra/yaml.h"

#include <stdio.h>
#include <string.h>

struct checker {
	struct hydra_ctx *cx;
	const struct hydra_key *keys;
	const char *hint;
	struct sonde_buf key; /* dotted path of the value that is being checked */
};

/* The row of a key, or of the HYDRA_KEY_FREE map that contains it; NULL when the key is unknown. */
static const struct hydra_key *find(const struct hydra_key *k, struct sonde_str key)
{
	for (; k->key; k++) {
		size_t n = strlen(k->key);

		if (sonde_str_is(key, k->key))
			return k;
		if (k->type == HYDRA_KEY_FREE && sonde_str_starts(key, k->key) && key.n > n &&
			key.p[n] == '.')
			return k;
	}
	return NULL;
}

/* Whether some key starts with `prefix.`. */
static bool has_prefix(const struct hydra_key *k, struct sonde_str prefix)
{
	for (; k->key; k++)
		if (strlen(k->key) > prefix.n && memcmp(k->key, prefix.p, prefix.n) == 0 &&
			k->key[prefix.n] == '.')
			return true;
	return false;
}

static struct sonde_str last_part(struct sonde_str key)
{
	size_t n = key.n;

	while (n > 0 && key.p[n - 1] != '.')
		n--;
	return (struct sonde_str){key.p + n, key.n - n};
}

static struct sonde_str parent_of(struct sonde_str key)
{
	size_t n = key.n - last_part(key).n;

	return (struct sonde_str){key.p, n ? n - 1 : 0};
}

/* The first name of `key` below `parent`; empty when `key` is not below `parent`. */
static struct sonde_str name_below(const char *key, struct sonde_str parent)
{
	struct sonde_str rest = sonde_str_from(key);

	if (parent.n && (!(rest.n > parent.n) || memcmp(rest.p, parent.p, parent.n) != 0 || rest.p[parent.n] != '.'))
		return (struct sonde_str){NULL, 0};
	if (parent.n)
		rest = (struct sonde_str){rest.p + parent.n + 1, rest.n - parent.n - 1};
	return sonde_str_cut(rest, '.', &rest);
}

/* Whether the table has a name at the same level that is so similar that `key` is probably a typing error. */
static bool has_near_sibling(const struct hydra_key *k, struct sonde_str key)
{
	struct sonde_str name = last_part(key), other;
	unsigned most = name.n > 5 ? 2 : name.n > 4;

	for (; k->key && most; k++) {
		other = name_below(k->key, parent_of(key));
		if (other.n && k->type != HYDRA_KEY_KEPT && sonde_str_distance(name, other, most) <= most)
			return true;
	}
	return false;
}

bool hydra_keys__keeps(const struct hydra_key *keys, struct sonde_str key)
{
	const struct hydra_key *k;

	for (k = keys; k->key; k++) {
		struct sonde_str pattern = sonde_str_from(k->key);

		if (k->type != HYDRA_KEY_KEPT)
			continue;
		if (sonde_str_starts(pattern, "**.") && sonde_str_eq(last_part(pattern), last_part(key)))
			return true;
		if (sonde_str_is(last_part(pattern), "*") && sonde_str_eq(parent_of(pattern), parent_of(key)))
			return !has_near_sibling(keys, key);
	}
	return false;
}

/* The first parts of `name`, as many as `key` has; empty when it has fewer. */
static struct sonde_str as_deep(struct sonde_str name, struct sonde_str key)
{
	struct sonde_str rest = name, gone = key;

	for (; gone.n && rest.n; sonde_str_cut(gone, '.', &gone))
		sonde_str_cut(rest, '.', &rest);
	if (gone.n)
		return (struct sonde_str){0};
	return (struct sonde_str){name.p, name.n - rest.n - (rest.n > 0)};
}

struct sonde_str hydra_keys__nearest(const struct hydra_key *k, struct sonde_str key)
{
	struct sonde_nearest near = {.word = key, .below = 4};

	for (; k->key; k++) {
		struct sonde_str other = sonde_str_from(k->key), part = as_deep(other, key);

		if (k->type == HYDRA_KEY_KEPT)
			continue;
		sonde_nearest_offer(&near, other);
		if (part.n) /* a map that has keys, such as `report`, is a name of its own: of a group, too */
			sonde_nearest_offer(&near, part);
		/* A key with the right name in the wrong place counts as two typing errors. */
		if (sonde_str_eq(last_part(key), last_part(other)))
			sonde_nearest_take(&near, other, 2);
	}
	return near.best;
}

static bool is_added(const struct hydra_datum *n)
{
	return n->from && n->from->is_override && n->from->adds;
}

/* Fails with `text`; "FILE:LINE" or "override 'TEXT'" goes in front of it. */
static int complain(struct checker *c, const struct hydra_datum *n, const char *text)
{
	struct sonde_str where = n->from ? n->from->name : (struct sonde_str){0};

	if (n->from && !n->from->is_override)
		return hydra_ctx__fail_at(c->cx, "SchemaError", where, n->line, "%s", text);
	if (n->from)
		return hydra_ctx__fail(
			c->cx, "SchemaError", "override '%.*s': %s", SONDE_STR_ARG(where), text);
	return hydra_ctx__fail(c->cx, "SchemaError", "%s", text);
}

static int refuse_unknown(struct checker *c, const struct hydra_datum *n)
{
	struct sonde_str nearest = hydra_keys__nearest(c->keys, sonde_buf_view(&c->key)), text;

	if (nearest.n)
		text = hydra_ctx__printf(
			c->cx, "unknown key '%s', did you mean '%.*s'?", c->key.p, SONDE_STR_ARG(nearest));
	else
		text = hydra_ctx__printf(c->cx,
			"unknown key '%s'; %s%s+%s=VALUE adds one on purpose", c->key.p,
			c->hint ? c->hint : "", c->hint ? ", " : "", c->key.p);
	return c->cx->fail.code ? c->cx->fail.code : complain(c, n->key ? n->key : n, text.p);
}

static int refuse_value(struct checker *c, const struct hydra_datum *n, const char *expected)
{
	struct sonde_buf shown = {0};
	struct sonde_str text;

	hydra_pytext__repr(&shown, n);
	text = hydra_ctx__printf(
		c->cx, "%s must be %s, not %.200s", c->key.p, expected, shown.p ? shown.p : "");
	sonde_buf_release(&shown);
	return c->cx->fail.code ? c->cx->fail.code : complain(c, n, text.p);
}

static bool is_word(const char *words, struct sonde_str s)
{
	struct sonde_str rest = sonde_str_from(words);

	while (rest.n)
		if (sonde_str_eq(sonde_str_cut(rest, '|', &rest), s))
			return true;
	return false;
}

/* Whether `n` is a list of texts, or of `words` only if that is not NULL. A single text counts as a list, and so does null. */
static bool is_list_of(const char *words, const struct hydra_datum *n)
{
	uint32_t i;

	if (n->kind == HYDRA_NULL)
		return true;
	if (n->kind != HYDRA_LIST)
		return words ? n->kind == HYDRA_STRING && is_word(words, n->s)
			     : n->kind == HYDRA_STRING || n->kind == HYDRA_INT;
	for (i = 0; i < n->seq.nr; i++) {
		const struct hydra_datum *item = n->seq.at[i];

		if (words ? item->kind != HYDRA_STRING || !is_word(words, item->s)
			  : !hydra_datum__is_scalar(item) || item->kind == HYDRA_NULL)
			return false;
	}
	return true;
}

static int check_int(struct checker *c, const struct hydra_key *k, const struct hydra_datum *n)
{
	char expected[96];

	if (n->kind == HYDRA_INT && !n->s.n && n->i >= k->min && n->i <= k->max)
		return 0;
	if (k->max == INT64_MAX)
		snprintf(expected, sizeof(expected), "an integer of at least %lld",
			(long long)k->min);
	else
		snprintf(expected, sizeof(expected), "an integer from %lld to %lld",
			(long long)k->min, (long long)k->max);
	return refuse_value(c, n, expected);
}

static int check_leaf(struct checker *c, const struct hydra_key *k, const struct hydra_datum *n)
{
	char expected[128];

	if (n->missing)
		return 0;
	switch (k->type) {
	case HYDRA_KEY_BOOL:
		return n->kind == HYDRA_BOOL ? 0 : refuse_value(c, n, "true or false");
	case HYDRA_KEY_AUTO:
		return n->kind == HYDRA_BOOL || n->kind == HYDRA_NULL
			       ? 0
			       : refuse_value(c, n, "true, false or null");
	case HYDRA_KEY_INT:
		return check_int(c, k, n);
	case HYDRA_KEY_TEXT:
		return hydra_datum__is_scalar(n) ? 0 : refuse_value(c, n, "a string");
	case HYDRA_KEY_WORD:
		snprintf(expected, sizeof(expected), "one of %s", k->words);
		return n->kind == HYDRA_STRING && is_word(k->words, n->s)
			       ? 0
			       : refuse_value(c, n, expected);
	case HYDRA_KEY_LIST:
		snprintf(expected, sizeof(expected), "a list of %s",
			k->words ? k->words : "strings");
		return is_list_of(k->words, n) ? 0 : refuse_value(c, n, expected);
	default:
		return 0;
	}
}

static int check_map(struct checker *c, const struct hydra_datum *map);

static int check_child(struct checker *c, const struct hydra_datum *n)
{
	const struct hydra_key *k = find(c->keys, sonde_buf_view(&c->key));

	if (k)
		return k->type == HYDRA_KEY_FREE ? 0 : check_leaf(c, k, n);
	if (is_added(n) || is_added(n->key))
		return 0;
	if (!has_prefix(c->keys, sonde_buf_view(&c->key)))
		return hydra_keys__keeps(c->keys, sonde_buf_view(&c->key)) ? 0 : refuse_unknown(c, n);
	if (n->kind == HYDRA_MAP)
		return check_map(c, n);
	return n->kind == HYDRA_NULL || n->missing ? 0 : refuse_value(c, n, "a group of keys");
}

static int check_map(struct checker *c, const struct hydra_datum *map)
{
	size_t before = c->key.n;
	uint32_t i;

	for (i = 0; i < map->seq.nr && !c->cx->fail.code; i++) {
		if (before)
			sonde_buf_putc(&c->key, '.');
		hydra_pytext__str(&c->key, map->seq.at[i]->key);
		if (c->key.failed)
			return hydra_ctx__nomem(c->cx);
		check_child(c, map->seq.at[i]);
		c->key.n = before;
		if (c->key.p)
			c->key.p[before] = '\0';
	}
	return c->cx->fail.code;
}

int hydra_keys__check(struct hydra_ctx *cx, const struct hydra_key *keys, const char *hint,
	const struct hydra_datum *job)
{
	struct checker c = {.cx = cx, .keys = keys, .hint = hint};

	check_map(&c, job);
	sonde_buf_release(&c.key);
	return cx->fail.code;
}

static void list_kept(const struct hydra_key *keys, const struct hydra_datum *map, struct sonde_buf *key,
	struct sonde_buf *out)
{
	size_t before = key->n;
	uint32_t i;

	for (i = 0; i < map->seq.nr; i++) {
		const struct hydra_datum *n = map->seq.at[i];
		struct sonde_str name;

		if (before)
			sonde_buf_putc(key, '.');
		hydra_pytext__str(key, n->key);
		name = sonde_buf_view(key);
		if (find(keys, name) || sonde_str_is(name, "hydra"))
			; /* the key is in the table (then so is everything below it), or it is the hydra node */
		else if (has_prefix(keys, name) && n->kind == HYDRA_MAP)
			list_kept(keys, n, key, out);
		else
			sonde_buf_printf(out, "%s%.*s", out->n ? ", " : "", SONDE_STR_ARG(name));
		key->n = before;
	}
}

void hydra_keys__list_kept(
	const struct hydra_key *keys, const struct hydra_datum *job, struct sonde_buf *out)
{
	struct sonde_buf key = {0};

	list_kept(keys, job, &key, out);
	out->failed |= key.failed;
	sonde_buf_release(&key);
}

static const struct hydra_from the_default = {.name = {HYDRA_DEFAULT, sizeof(HYDRA_DEFAULT) - 1}};

bool hydra_keys__is_default(const struct hydra_datum *n)
{
	return n->from == &the_default;
}

/* The map that contains the last part of `*key`; makes maps on the way. `*key` is that last part afterwards. */
static struct hydra_datum *walk_to(
	struct hydra_ctx *cx, struct hydra_datum *at, struct sonde_str *key)
{
	while (at && sonde_str_find(*key, '.') < key->n) {
		struct sonde_str step = sonde_str_cut(*key, '.', key);
		struct hydra_datum *next = hydra_datum__get(at, step);

		if (!next || next->kind != HYDRA_MAP) {
			next = hydra_datum__new(cx, HYDRA_MAP);
			hydra_datum__set(cx, at, hydra_datum__string(cx, step), next);
		}
		at = next;
	}
	return at;
}

int hydra_keys__fill(struct hydra_ctx *cx, const struct hydra_key *k, struct hydra_datum *tree)
{
	for (; k->key; k++) {
		struct sonde_str last = sonde_str_from(k->key);
		struct hydra_datum *map, *value;

		if (k->type == HYDRA_KEY_KEPT)
			continue;
		map = walk_to(cx, tree, &last);
		if (!map)
			return cx->fail.code;
		if (hydra_datum__get(map, last))
			continue;
		if (hydra_yaml__load(&value, cx, &the_default, sonde_str_from(k->fallback)) ||
			hydra_datum__set(cx, map, hydra_datum__string(cx, last), value))
			return cx->fail.code;
	}
	return 0;
}

static const char *type_text(const struct hydra_key *k, char *scratch, size_t cap)
{
	static const char *const names[] = {
		"bool", "bool or null", "int", "string", NULL, "list of strings", "map", "anything"};

	if (k->type == HYDRA_KEY_WORD)
		return k->words;
	if (k->type == HYDRA_KEY_LIST && k->words) {
		snprintf(scratch, cap, "list of %s", k->words);
		return scratch;
	}
	if (k->type == HYDRA_KEY_INT && k->max != INT64_MAX) {
		snprintf(scratch, cap, "int %lld to %lld", (long long)k->min, (long long)k->max);
		return scratch;
	}
	return names[k->type];
}

void hydra_keys_print_help(const struct hydra_key *k, struct sonde_sink *out)
{
	char scratch[64];

	for (; k->key; k++)
		sonde_sink_printf(out, "  %s%s%s\n        %s (%s)\n", k->key, *k->fallback ? "=" : "",
			k->fallback, k->doc, type_text(k, scratch, sizeof(scratch)));
}

/* Prints a cell of a Markdown table; a '|' in the text would end it, and is escaped. */
static void print_cell(struct sonde_sink *out, const char *text, bool code)
{
	sonde_sink_puts(out, code ? " `" : " ");
	for (; *text; text++) {
		if (*text == '|')
			sonde_sink_putc(out, '\\');
		sonde_sink_putc(out, *text);
	}
	sonde_sink_puts(out, code ? "` |" : " |");
}

void hydra_keys_print_markdown(const struct hydra_key *k, struct sonde_sink *out)
{
	char scratch[64];

	sonde_sink_puts(out, "| key | type | default | meaning |\n|---|---|---|---|\n");
	for (; k->key; k++) {
		sonde_sink_putc(out, '|');
		print_cell(out, k->key, true);
		print_cell(out, type_text(k, scratch, sizeof(scratch)), k->type == HYDRA_KEY_WORD);
		print_cell(out, *k->fallback ? k->fallback : "–", *k->fallback);
		print_cell(out, k->doc, false);
		sonde_sink_putc(out, '\n');
	}
}
