#include "config/datum.h"

#include "base/map.h"
#include "config/pytext.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_MAP 12 /* below this a linear search beats an index */

struct sonde_datum *sonde_datum__new(struct sonde_ctx *cx, enum sonde_kind kind)
{
	struct sonde_datum *n = sonde_ctx__alloc(cx, 1, sizeof(*n));

	if (n)
		n->kind = (uint8_t)kind;
	return n;
}

struct sonde_datum *sonde_datum__bool(struct sonde_ctx *cx, bool b)
{
	struct sonde_datum *n = sonde_datum__new(cx, SONDE_BOOL);

	if (n)
		n->b = b;
	return n;
}

struct sonde_datum *sonde_datum__int(struct sonde_ctx *cx, int64_t i)
{
	struct sonde_datum *n = sonde_datum__new(cx, SONDE_INT);

	if (n)
		n->i = i;
	return n;
}

struct sonde_datum *sonde_datum__float(struct sonde_ctx *cx, double f)
{
	struct sonde_datum *n = sonde_datum__new(cx, SONDE_FLOAT);

	if (n)
		n->f = f;
	return n;
}

struct sonde_datum *sonde_datum__string(struct sonde_ctx *cx, struct sonde_str s)
{
	struct sonde_datum *n = sonde_datum__new(cx, SONDE_STRING);

	if (!n)
		return NULL;
	n->s = s;
	n->missing = sonde_str_is(s, "???");
	n->interp = s.n > 1 && memmem(s.p, s.n, "${", 2) != NULL;
	return n;
}

struct sonde_datum *sonde_datum__text(struct sonde_ctx *cx, const char *z)
{
	return sonde_datum__string(cx, sonde_ctx__dup(cx, sonde_str_from(z)));
}

bool sonde_datum__is_container(const struct sonde_datum *n)
{
	return n && (n->kind == SONDE_LIST || n->kind == SONDE_MAP);
}

bool sonde_datum__is_scalar(const struct sonde_datum *n)
{
	return n && n->kind <= SONDE_STRING;
}

bool sonde_datum__is_sweep(const struct sonde_datum *n)
{
	return n && n->kind >= SONDE_CHOICE;
}

static bool is_number(const struct sonde_datum *n)
{
	return n->kind == SONDE_BOOL || n->kind == SONDE_INT || n->kind == SONDE_FLOAT;
}

static double as_double(const struct sonde_datum *n)
{
	if (n->kind == SONDE_FLOAT)
		return n->f;
	if (n->kind == SONDE_BOOL)
		return n->b;
	if (n->s.n)
		return strtod(n->s.p, NULL);
	return (double)n->i;
}

static bool numbers_equal(const struct sonde_datum *a, const struct sonde_datum *b)
{
	if (a->kind == SONDE_INT && b->kind == SONDE_INT)
		return a->i == b->i && sonde_str_eq(a->s, b->s);
	return as_double(a) == as_double(b);
}

static bool maps_equal(const struct sonde_datum *a, const struct sonde_datum *b)
{
	uint32_t i;

	if (a->seq.nr != b->seq.nr)
		return false;
	for (i = 0; i < a->seq.nr; i++) {
		const struct sonde_datum *other =
			sonde_datum__find((struct sonde_datum *)b, a->seq.at[i]->key);

		if (!other || !sonde_datum__equal(a->seq.at[i], other))
			return false;
	}
	return true;
}

bool sonde_datum__equal(const struct sonde_datum *a, const struct sonde_datum *b)
{
	uint32_t i;

	if (is_number(a) && is_number(b))
		return numbers_equal(a, b);
	if (a->kind != b->kind)
		return false;
	if (a->kind == SONDE_STRING)
		return sonde_str_eq(a->s, b->s);
	if (a->kind == SONDE_MAP)
		return maps_equal(a, b);
	if (a->kind != SONDE_LIST)
		return a->kind == SONDE_NULL;
	if (a->seq.nr != b->seq.nr)
		return false;
	for (i = 0; i < a->seq.nr; i++)
		if (!sonde_datum__equal(a->seq.at[i], b->seq.at[i]))
			return false;
	return true;
}

static uint64_t key_hash(const struct sonde_datum *key)
{
	double d;

	if (key->kind == SONDE_STRING)
		return sonde_hash(key->s.p, key->s.n);
	if (!is_number(key))
		return 1;
	d = as_double(key);
	if (d == 0)
		d = 0; /* -0.0 is the same key */
	return sonde_hash(&d, sizeof(d));
}

static void index_add(struct sonde_datum *map, uint32_t i)
{
	uint32_t mask = map->seq.nr_slots - 1;
	uint32_t at = (uint32_t)key_hash(map->seq.at[i]->key) & mask;

	while (map->seq.slots[at] != SONDE_NONE)
		at = (at + 1) & mask;
	map->seq.slots[at] = i;
}

/* (Re)builds the index of a map that outgrew it. Without memory the map stays linear. */
static void index_build(struct sonde_ctx *cx, struct sonde_datum *map)
{
	uint32_t i, nr_slots = 64;

	while (nr_slots < map->seq.cap * 2)
		nr_slots *= 2;
	map->seq.slots = sonde_ctx__alloc(cx, nr_slots, sizeof(uint32_t));
	if (!map->seq.slots)
		return;
	map->seq.nr_slots = nr_slots;
	memset(map->seq.slots, 0xff, nr_slots * sizeof(uint32_t));
	for (i = 0; i < map->seq.nr; i++)
		index_add(map, i);
}

struct sonde_datum *sonde_datum__find(struct sonde_datum *map, const struct sonde_datum *key)
{
	uint32_t i, mask;

	if (!map || map->kind != SONDE_MAP)
		return NULL;
	if (!map->seq.slots) {
		for (i = 0; i < map->seq.nr; i++)
			if (sonde_datum__equal(map->seq.at[i]->key, key))
				return map->seq.at[i];
		return NULL;
	}
	mask = map->seq.nr_slots - 1;
	for (i = (uint32_t)key_hash(key) & mask; map->seq.slots[i] != SONDE_NONE;
		i = (i + 1) & mask) {
		struct sonde_datum *child = map->seq.at[map->seq.slots[i]];

		if (sonde_datum__equal(child->key, key))
			return child;
	}
	return NULL;
}

struct sonde_datum *sonde_datum__get(struct sonde_datum *map, struct sonde_str key)
{
	struct sonde_datum k = {.kind = SONDE_STRING, .s = key};

	return sonde_datum__find(map, &k);
}

struct sonde_datum *sonde_datum__getz(struct sonde_datum *map, const char *key)
{
	return sonde_datum__get(map, sonde_str_from(key));
}

struct sonde_datum *sonde_datum__path_get(struct sonde_datum *map, const char *path)
{
	struct sonde_str rest = sonde_str_from(path);

	while (map && rest.n)
		map = sonde_datum__get(map, sonde_str_cut(rest, '.', &rest));
	return map;
}

static int grow(struct sonde_ctx *cx, struct sonde_datum *seq)
{
	uint32_t cap = seq->seq.cap ? seq->seq.cap * 2 : 4;
	struct sonde_datum **at;

	if (seq->seq.nr < seq->seq.cap)
		return 0;
	at = sonde_ctx__alloc(cx, cap, sizeof(struct sonde_datum *));
	if (!at)
		return cx->fail.code;
	if (seq->seq.nr)
		memcpy(at, seq->seq.at, seq->seq.nr * sizeof(struct sonde_datum *));
	seq->seq.at = at;
	seq->seq.cap = cap;
	if (seq->kind == SONDE_MAP && cap > SMALL_MAP)
		index_build(cx, seq);
	return cx->fail.code;
}

int sonde_datum__set(struct sonde_ctx *cx, struct sonde_datum *map, struct sonde_datum *key,
	struct sonde_datum *value)
{
	struct sonde_datum *old;

	if (!map || !key || !value)
		return cx->fail.code;
	old = sonde_datum__find(map, key);
	if (old) {
		sonde_datum__replace(old, value);
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

int sonde_datum__setz(
	struct sonde_ctx *cx, struct sonde_datum *map, const char *key, struct sonde_datum *value)
{
	return sonde_datum__set(cx, map, sonde_datum__text(cx, key), value);
}

int sonde_datum__push(struct sonde_ctx *cx, struct sonde_datum *list, struct sonde_datum *value)
{
	if (!list || !value || grow(cx, list))
		return cx->fail.code;
	value->parent = list;
	value->key = NULL;
	list->seq.at[list->seq.nr++] = value;
	return 0;
}

void sonde_datum__remove(struct sonde_datum *seq, uint32_t i)
{
	memmove(seq->seq.at + i, seq->seq.at + i + 1,
		(seq->seq.nr - i - 1) * sizeof(struct sonde_datum *));
	seq->seq.nr--;
	seq->seq.slots = NULL;
}

uint32_t sonde_datum__index(const struct sonde_datum *child)
{
	const struct sonde_datum *p = child->parent;
	uint32_t i, mask;

	if (p && p->kind == SONDE_MAP && p->seq.slots) {
		mask = p->seq.nr_slots - 1;
		i = (uint32_t)key_hash(child->key) & mask;
		for (; p->seq.slots[i] != SONDE_NONE; i = (i + 1) & mask)
			if (p->seq.at[p->seq.slots[i]] == child)
				return p->seq.slots[i];
		return SONDE_NONE;
	}
	for (i = 0; p && i < p->seq.nr; i++)
		if (p->seq.at[i] == child)
			return i;
	return SONDE_NONE;
}

void sonde_datum__replace(struct sonde_datum *old, struct sonde_datum *now)
{
	uint32_t i = sonde_datum__index(old);

	now->parent = old->parent;
	now->key = old->key;
	now->slot = old->slot;
	if (i != SONDE_NONE)
		old->parent->seq.at[i] = now;
}

static struct sonde_datum *copy_deep(
	struct sonde_ctx *cx, const struct sonde_datum *n, unsigned depth)
{
	struct sonde_datum *c;
	uint32_t i;

	if (depth > SONDE_MAX_DEPTH) {
		sonde_ctx__limit(cx, "values are nested deeper than %d levels", SONDE_MAX_DEPTH);
		return NULL;
	}
	c = sonde_ctx__alloc(cx, 1, sizeof(*c));
	if (!c)
		return NULL;
	*c = *n;
	c->parent = c->key = NULL;
	if (sonde_datum__is_scalar(n))
		return c;
	c->seq.at = NULL;
	c->seq.slots = NULL;
	c->seq.nr = c->seq.cap = c->seq.nr_slots = 0;
	for (i = 0; i < n->seq.nr; i++) {
		struct sonde_datum *child = copy_deep(cx, n->seq.at[i], depth + 1);

		if (!child)
			return NULL;
		if (n->kind == SONDE_MAP ? sonde_datum__set(cx, c, n->seq.at[i]->key, child)
					 : sonde_datum__push(cx, c, child))
			return NULL;
	}
	return c;
}

struct sonde_datum *sonde_datum__copy(struct sonde_ctx *cx, const struct sonde_datum *n)
{
	return n ? copy_deep(cx, n, 0) : NULL;
}

static void path_step(struct sonde_buf *b, const struct sonde_datum *parent,
	const struct sonde_datum *key, uint32_t index)
{
	if (parent->kind != SONDE_MAP) {
		sonde_buf_printf(b, "[%u]", index);
		return;
	}
	if (b->n)
		sonde_buf_putc(b, '.');
	sonde_pytext__str(b, key);
}

static void path_of(struct sonde_buf *b, const struct sonde_datum *n)
{
	const struct sonde_datum *chain[SONDE_MAX_DEPTH * 2];
	unsigned nr = 0;

	for (; n->parent && nr < SONDE_MAX_DEPTH * 2; n = n->parent)
		chain[nr++] = n;
	while (nr-- > 0)
		path_step(b, chain[nr]->parent, chain[nr]->key, sonde_datum__index(chain[nr]));
}

struct sonde_str sonde_datum__path(struct sonde_ctx *cx, const struct sonde_datum *n)
{
	struct sonde_buf b = {0};

	path_of(&b, n);
	return sonde_ctx__take(cx, &b);
}

struct sonde_str sonde_datum__path_to(
	struct sonde_ctx *cx, const struct sonde_datum *parent, const struct sonde_datum *key)
{
	struct sonde_buf b = {0};

	path_of(&b, parent);
	path_step(&b, parent, key, parent->kind == SONDE_LIST && key ? (uint32_t)key->i : 0);
	return sonde_ctx__take(cx, &b);
}

int sonde_datum__fail(struct sonde_ctx *cx, const char *type, const struct sonde_datum *parent,
	struct sonde_str path, const char *msg)
{
	struct sonde_str file = {0};
	bool typed;

	if (parent->from && !parent->from->is_override)
		file = parent->from->name;
	/* A class inside another is also the declared type of its field. */
	typed = parent->klass && parent->parent && parent->parent->klass;
	return sonde_ctx__fail_at(cx, type, file, parent->line,
		"%s\n    full_key: %.*s%s%s\n    object_type=%s", msg, SONDE_STR_ARG(path),
		typed ? "\n    reference_type=" : "", typed ? parent->klass : "",
		sonde_datum__object_type(parent));
}

const char *sonde_datum__object_type(const struct sonde_datum *n)
{
	if (n->kind == SONDE_LIST)
		return "list";
	return n->klass ? n->klass : "dict";
}

const char *sonde_datum__type_name(const struct sonde_datum *n)
{
	static const char *const names[] = {
		[SONDE_NULL] = "NoneType",
		[SONDE_BOOL] = "bool",
		[SONDE_INT] = "int",
		[SONDE_FLOAT] = "float",
		[SONDE_STRING] = "str",
		[SONDE_LIST] = "list",
		[SONDE_MAP] = "dict",
		[SONDE_CHOICE] = "ChoiceSweep",
		[SONDE_RANGE] = "RangeSweep",
		[SONDE_INTERVAL] = "IntervalSweep",
		[SONDE_GLOB] = "Glob",
	};

	return n ? names[n->kind] : "NoneType";
}
