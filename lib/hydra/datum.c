/*
 * Values, and the hash index that makes large maps fast: a file may have a hundred thousand keys.
 */
#include "hydra/datum.h"

#include "hydra/pynumber.h"

#include <string.h>

#define SMALL_MAP 12 /* up to so many keys a linear search is faster than an index */

struct hydra_datum *hydra_datum__new(struct hydra_ctx *cx, enum hydra_kind kind)
{
	struct hydra_datum *n = hydra_ctx__alloc(cx, 1, sizeof(*n));

	if (n)
		n->kind = (uint8_t)kind;
	return n;
}

struct hydra_datum *hydra_datum__bool(struct hydra_ctx *cx, bool b)
{
	struct hydra_datum *n = hydra_datum__new(cx, HYDRA_BOOL);

	if (n)
		n->b = b;
	return n;
}

struct hydra_datum *hydra_datum__int(struct hydra_ctx *cx, int64_t i)
{
	struct hydra_datum *n = hydra_datum__new(cx, HYDRA_INT);

	if (n)
		n->i = i;
	return n;
}

struct hydra_datum *hydra_datum__float(struct hydra_ctx *cx, double f)
{
	struct hydra_datum *n = hydra_datum__new(cx, HYDRA_FLOAT);

	if (n)
		n->f = f;
	return n;
}

struct hydra_datum *hydra_datum__string(struct hydra_ctx *cx, struct sonde_str s)
{
	struct hydra_datum *n = hydra_datum__new(cx, HYDRA_STRING);

	if (!n)
		return NULL;
	n->s = s;
	n->missing = sonde_str_is(s, "???");
	n->interp = s.n > 1 && memmem(s.p, s.n, "${", 2) != NULL;
	return n;
}

struct hydra_datum *hydra_datum__text(struct hydra_ctx *cx, const char *z)
{
	return hydra_datum__string(cx, hydra_ctx__dup(cx, sonde_str_from(z)));
}

bool hydra_datum__is_container(const struct hydra_datum *n)
{
	return n && (n->kind == HYDRA_LIST || n->kind == HYDRA_MAP);
}

bool hydra_datum__is_scalar(const struct hydra_datum *n)
{
	return n && n->kind <= HYDRA_STRING;
}

bool hydra_datum__is_sweep(const struct hydra_datum *n)
{
	return n && n->kind >= HYDRA_CHOICE;
}

bool hydra_datum__is_number(const struct hydra_datum *n)
{
	return n->kind == HYDRA_BOOL || n->kind == HYDRA_INT || n->kind == HYDRA_FLOAT;
}

double hydra_datum__to_double(const struct hydra_datum *n)
{
	if (n->kind == HYDRA_FLOAT)
		return n->f;
	if (n->kind == HYDRA_BOOL)
		return n->b;
	return n->s.n ? hydra_pynumber__double(n->s) : (double)n->i;
}

static bool numbers_equal(const struct hydra_datum *a, const struct hydra_datum *b)
{
	if (a->kind == HYDRA_INT && b->kind == HYDRA_INT)
		return a->i == b->i && sonde_str_eq(a->s, b->s);
	return hydra_datum__to_double(a) == hydra_datum__to_double(b);
}

static bool maps_equal(const struct hydra_datum *a, const struct hydra_datum *b)
{
	uint32_t i;

	if (a->seq.nr != b->seq.nr)
		return false;
	for (i = 0; i < a->seq.nr; i++) {
		const struct hydra_datum *other =
			hydra_datum__find((struct hydra_datum *)b, a->seq.at[i]->key);

		if (!other || !hydra_datum__equal(a->seq.at[i], other))
			return false;
	}
	return true;
}

bool hydra_datum__equal(const struct hydra_datum *a, const struct hydra_datum *b)
{
	uint32_t i;

	if (hydra_datum__is_number(a) && hydra_datum__is_number(b))
		return numbers_equal(a, b);
	if (a->kind != b->kind)
		return false;
	if (a->kind == HYDRA_STRING)
		return sonde_str_eq(a->s, b->s);
	if (a->kind == HYDRA_MAP)
		return maps_equal(a, b);
	if (a->kind != HYDRA_LIST)
		return a->kind == HYDRA_NULL;
	if (a->seq.nr != b->seq.nr)
		return false;
	for (i = 0; i < a->seq.nr; i++)
		if (!hydra_datum__equal(a->seq.at[i], b->seq.at[i]))
			return false;
	return true;
}

static uint64_t key_hash(const struct hydra_datum *key)
{
	double d;

	if (key->kind == HYDRA_STRING)
		return sonde_hash(key->s.p, key->s.n);
	if (!hydra_datum__is_number(key))
		return 1;
	d = hydra_datum__to_double(key);
	if (d == 0)
		d = 0; /* -0.0 and 0.0 are the same key */
	return sonde_hash(&d, sizeof(d));
}

static void index_add(struct hydra_datum *map, uint32_t i)
{
	uint32_t mask = map->seq.nr_slots - 1;
	uint32_t at = (uint32_t)key_hash(map->seq.at[i]->key) & mask;

	while (map->seq.slots[at] != SONDE_NONE)
		at = (at + 1) & mask;
	map->seq.slots[at] = i;
}

/* (Re)builds the index of a map that has become too large for the old one. When memory is short the map has no index. */
static void index_build(struct hydra_ctx *cx, struct hydra_datum *map)
{
	uint32_t i, nr_slots = 64;

	while (nr_slots < map->seq.cap * 2)
		nr_slots *= 2;
	map->seq.slots = hydra_ctx__alloc(cx, nr_slots, sizeof(uint32_t));
	if (!map->seq.slots)
		return;
	map->seq.nr_slots = nr_slots;
	memset(map->seq.slots, 0xff, nr_slots * sizeof(uint32_t));
	for (i = 0; i < map->seq.nr; i++)
		index_add(map, i);
}

/* The number of the child with this key, or SONDE_NONE. */
static uint32_t find_number(const struct hydra_datum *map, const struct hydra_datum *key)
{
	uint32_t i, mask = map->seq.nr_slots - 1;

	if (!map->seq.slots) {
		for (i = 0; i < map->seq.nr; i++)
			if (hydra_datum__equal(map->seq.at[i]->key, key))
				return i;
		return SONDE_NONE;
	}
	i = (uint32_t)key_hash(key) & mask;
	while (map->seq.slots[i] != SONDE_NONE &&
		!hydra_datum__equal(map->seq.at[map->seq.slots[i]]->key, key))
		i = (i + 1) & mask;
	return map->seq.slots[i];
}

struct hydra_datum *hydra_datum__find(struct hydra_datum *map, const struct hydra_datum *key)
{
	uint32_t i = map && map->kind == HYDRA_MAP ? find_number(map, key) : SONDE_NONE;

	return i == SONDE_NONE ? NULL : map->seq.at[i];
}

struct hydra_datum *hydra_datum__get(struct hydra_datum *map, struct sonde_str key)
{
	struct hydra_datum k = {.kind = HYDRA_STRING, .s = key};

	return hydra_datum__find(map, &k);
}

struct hydra_datum *hydra_datum__getz(struct hydra_datum *map, const char *key)
{
	return hydra_datum__get(map, sonde_str_from(key));
}

struct hydra_datum *hydra_datum__path_get(struct hydra_datum *map, const char *path)
{
	struct sonde_str rest = sonde_str_from(path);

	while (map && rest.n)
		map = hydra_datum__get(map, sonde_str_cut(rest, '.', &rest));
	return map;
}

static int grow(struct hydra_ctx *cx, struct hydra_datum *seq)
{
	uint32_t cap = seq->seq.cap ? seq->seq.cap * 2 : 4;
	struct hydra_datum **at;

	if (seq->seq.nr < seq->seq.cap)
		return 0;
	at = hydra_ctx__alloc(cx, cap, sizeof(struct hydra_datum *));
	if (!at)
		return cx->fail.code;
	if (seq->seq.nr)
		memcpy(at, seq->seq.at, seq->seq.nr * sizeof(struct hydra_datum *));
	seq->seq.at = at;
	seq->seq.cap = cap;
	if (seq->kind == HYDRA_MAP && cap > SMALL_MAP)
		index_build(cx, seq);
	return cx->fail.code;
}

int hydra_datum__set(struct hydra_ctx *cx, struct hydra_datum *map, struct hydra_datum *key,
	struct hydra_datum *value)
{
	struct hydra_datum *old;

	if (!map || !key || !value)
		return cx->fail.code;
	old = hydra_datum__find(map, key);
	if (old) {
		hydra_datum__replace(old, value);
		return 0;
	}
	if (grow(cx, map))
		return cx->fail.code;
	value->parent = map;
	value->key = key;
	map->seq.at[map->seq.nr++] = value;
	if (map->seq.slots)
		index_add(map, map->seq.nr - 1);
	else if (map->seq.nr > SMALL_MAP)
		index_build(cx, map);
	return cx->fail.code;
}

int hydra_datum__setz(
	struct hydra_ctx *cx, struct hydra_datum *map, const char *key, struct hydra_datum *value)
{
	return hydra_datum__set(cx, map, hydra_datum__text(cx, key), value);
}

int hydra_datum__push(struct hydra_ctx *cx, struct hydra_datum *list, struct hydra_datum *value)
{
	if (!list || !value || grow(cx, list))
		return cx->fail.code;
	value->parent = list;
	value->key = NULL;
	list->seq.at[list->seq.nr++] = value;
	return 0;
}

int hydra_datum__put(struct hydra_ctx *cx, struct hydra_datum *seq, struct hydra_datum *key,
	struct hydra_datum *value)
{
	if (seq && seq->kind == HYDRA_MAP)
		return hydra_datum__set(cx, seq, key, value);
	return hydra_datum__push(cx, seq, value);
}

int hydra_datum__push_sorted(
	struct hydra_ctx *cx, struct hydra_datum *list, struct hydra_datum *text)
{
	uint32_t at = 0;

	while (text && at < list->seq.nr && sonde_str_cmp(list->seq.at[at]->s, text->s) < 0)
		at++;
	if (text && at < list->seq.nr && sonde_str_eq(list->seq.at[at]->s, text->s))
		return 0;
	if (hydra_datum__push(cx, list, text))
		return cx->fail.code;
	memmove(list->seq.at + at + 1, list->seq.at + at,
		(list->seq.nr - 1 - at) * sizeof(struct hydra_datum *));
	list->seq.at[at] = text;
	return 0;
}

uint32_t hydra_datum__index(const struct hydra_datum *child)
{
	const struct hydra_datum *p = child->parent;
	uint32_t i;

	if (p && p->kind == HYDRA_MAP && p->seq.slots) {
		i = find_number(p, child->key);
		if (i != SONDE_NONE && p->seq.at[i] == child)
			return i;
	}
	for (i = 0; p && i < p->seq.nr; i++) /* also finds a child whose key is nan, which does not equal itself */
		if (p->seq.at[i] == child)
			return i;
	return SONDE_NONE;
}

void hydra_datum__drop(struct hydra_datum *child)
{
	struct hydra_datum *p = child ? child->parent : NULL;
	uint32_t i = p ? hydra_datum__index(child) : SONDE_NONE;

	if (i == SONDE_NONE)
		return;
	memmove(p->seq.at + i, p->seq.at + i + 1,
		(p->seq.nr - i - 1) * sizeof(struct hydra_datum *));
	p->seq.nr--;
	p->seq.slots = NULL;
}

bool hydra_datum__item(struct hydra_ctx *cx, const struct hydra_datum *list, struct sonde_str step,
	struct hydra_datum **out)
{
	struct hydra_datum *n;

	*out = NULL;
	if (!hydra_pynumber__is_py_int(step))
		return false;
	n = hydra_pynumber__int(cx, step, 10);
	if (n && !n->s.n && n->i >= 0 && n->i < list->seq.nr)
		*out = list->seq.at[n->i];
	return true;
}

void hydra_datum__replace(struct hydra_datum *old, struct hydra_datum *now)
{
	uint32_t i = hydra_datum__index(old);

	now->parent = old->parent;
	now->key = old->key;
	now->slot = old->slot;
	if (i != SONDE_NONE)
		old->parent->seq.at[i] = now;
}

struct hydra_datum *hydra_datum__copy_below(
	struct hydra_ctx *cx, const struct hydra_datum *n, unsigned depth)
{
	struct hydra_datum *c;
	uint32_t i;

	if (hydra_ctx__is_deep(cx, depth))
		return NULL;
	c = hydra_ctx__alloc(cx, 1, sizeof(*c));
	if (!c)
		return NULL;
	*c = *n;
	c->parent = c->key = NULL;
	if (hydra_datum__is_scalar(n))
		return c;
	memset(&c->seq, 0, sizeof(c->seq));
	for (i = 0; i < n->seq.nr; i++) {
		struct hydra_datum *child = hydra_datum__copy_below(cx, n->seq.at[i], depth + 1);

		if (!child || hydra_datum__put(cx, c, n->seq.at[i]->key, child))
			return NULL;
	}
	return c;
}

struct hydra_datum *hydra_datum__copy(struct hydra_ctx *cx, const struct hydra_datum *n)
{
	return n ? hydra_datum__copy_below(cx, n, 0) : NULL;
}
