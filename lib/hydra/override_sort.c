/* sort(), in Python's order and with its error about mixed types, and shuffle(). */
#include "hydra/override_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool less(const struct hydra_datum *a, const struct hydra_datum *b)
{
	if (a->kind == HYDRA_STRING)
		return sonde_str_cmp(a->s, b->s) < 0;
	return hydra_datum__to_double(a) < hydra_datum__to_double(b);
}

/* Whether all are numbers or all are strings. Compares neighbours, as Python does first, since the pair that differs
 * decides the message. */
static bool are_alike(struct hydra_call *c, struct hydra_datum *const *at, uint32_t nr)
{
	uint32_t i;

	for (i = 1; i < nr; i++) {
		const struct hydra_datum *a = at[i], *b = at[i - 1];

		if ((hydra_datum__is_number(a) && hydra_datum__is_number(b)) ||
			(a->kind == HYDRA_STRING && b->kind == HYDRA_STRING))
			continue;
		hydra_call__raise(c, "TypeError",
			"'<' not supported between instances of '%s' and '%s'",
			hydra_datum__type_name(a), hydra_datum__type_name(b));
		return false;
	}
	return true;
}

static void reverse(struct hydra_datum **at, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr / 2; i++) {
		struct hydra_datum *t = at[i];

		at[i] = at[nr - 1 - i];
		at[nr - 1 - i] = t;
	}
}

/* Insertion sort, which keeps the order of equal items; sweeps are short. */
static void sort_items(struct hydra_datum **at, uint32_t nr)
{
	uint32_t i, k;

	for (i = 1; i < nr; i++) {
		struct hydra_datum *pivot = at[i];

		for (k = i; k > 0 && less(pivot, at[k - 1]); k--)
			at[k] = at[k - 1];
		at[k] = pivot;
	}
}

static struct hydra_datum *sort_seq(struct hydra_call *c, struct hydra_datum *n, bool backwards)
{
	if (backwards)
		reverse(n->seq.at, n->seq.nr);
	if (!are_alike(c, n->seq.at, n->seq.nr))
		return NULL;
	sort_items(n->seq.at, n->seq.nr);
	if (backwards)
		reverse(n->seq.at, n->seq.nr);
	return n;
}

/* a + sign × |b|; an int if both are ints. */
static struct hydra_datum *plus(
	struct hydra_call *c, const struct hydra_datum *a, const struct hydra_datum *b, int sign)
{
	if (a->kind == HYDRA_FLOAT || b->kind == HYDRA_FLOAT || a->s.n || b->s.n)
		return hydra_datum__float(
			c->cx, hydra_datum__to_double(a) + sign * fabs(hydra_datum__to_double(b)));
	return hydra_datum__int(
		c->cx, (int64_t)((a->kind == HYDRA_BOOL ? a->b : a->i) +
				 sign * llabs(b->kind == HYDRA_BOOL ? b->b : b->i)));
}

static struct hydra_datum *sort_range(struct hydra_call *c, struct hydra_datum *r, bool backwards)
{
	struct hydra_datum **v = r->seq.at, *start, *stop;
	double first = hydra_datum__to_double(v[0]), last = hydra_datum__to_double(v[1]);

	if (backwards ? first >= last : first <= last)
		return r;
	start = plus(c, v[1], v[2], backwards ? -1 : 1);
	stop = plus(c, v[0], v[2], backwards ? -1 : 1);
	if (!start || !stop)
		return NULL;
	v[0] = start;
	v[1] = stop;
	if (v[2]->kind == HYDRA_FLOAT)
		v[2]->f = -v[2]->f;
	else
		v[2]->i = -v[2]->i;
	return r;
}

static struct hydra_datum *sort_one(struct hydra_call *c, struct hydra_datum *n, bool backwards)
{
	if (n->kind == HYDRA_RANGE)
		return sort_range(c, n, backwards);
	if (n->kind == HYDRA_CHOICE || n->kind == HYDRA_LIST)
		return sort_seq(c, n, backwards);
	if (hydra_datum__is_scalar(n))
		return n;
	return hydra_call__raise(c, "TypeError", "Invalid arguments");
}

/* Whether sort() and shuffle() accept the arguments. */
static bool elements_ok(struct hydra_call *c)
{
	char what[32];
	uint32_t i;

	for (i = 0; i < c->args->seq.nr; i++) {
		const struct hydra_datum *n = c->args->seq.at[i];

		if (n->kind != HYDRA_NULL && n->kind <= HYDRA_RANGE)
			continue;
		snprintf(what, sizeof(what), "args[%u]", i);
		hydra_call__mismatch(c, what, n,
			"Union[str, int, bool, float, list, dict, ChoiceSweep, RangeSweep]");
		return false;
	}
	return true;
}

struct hydra_datum *hydra_call__sort(struct hydra_call *c)
{
	static const char *const names[] = {"sweep", "list", "reverse", NULL};
	struct hydra_datum *back = hydra_call__kwarg(c, "reverse");
	struct hydra_datum *one = hydra_call__kwarg(c, "list") ? hydra_call__kwarg(c, "list")
							       : hydra_call__kwarg(c, "sweep");
	bool backwards = back && back->kind == HYDRA_BOOL && back->b;
	uint32_t i;

	if (!hydra_call__check_keywords(c, names) || !elements_ok(c))
		return NULL;
	if (back && back->kind != HYDRA_BOOL)
		return hydra_call__mismatch(c, "reverse", back, "bool");
	if (!one && c->args->seq.nr == 1)
		one = c->args->seq.at[0];
	if (one)
		return sort_one(c, one, backwards);
	if (c->args->seq.nr == 0)
		return hydra_call__raise(c, "ValueError", "empty sort input");
	for (i = 0; i < c->args->seq.nr; i++)
		if (!hydra_datum__is_scalar(c->args->seq.at[i]))
			return hydra_call__raise(c, "TypeError", "Invalid arguments");
	c->args->kind = HYDRA_CHOICE;
	c->args->simple = true;
	return sort_seq(c, c->args, backwards);
}

struct hydra_datum *hydra_call__shuffle(struct hydra_call *c)
{
	static const char *const names[] = {"sweep", "list", NULL};
	struct hydra_datum *one = hydra_call__kwarg(c, "list") ? hydra_call__kwarg(c, "list")
							       : hydra_call__kwarg(c, "sweep");

	if (!hydra_call__check_keywords(c, names) || !elements_ok(c))
		return NULL;
	if (!one && c->args->seq.nr == 1)
		one = hydra_datum__is_scalar(c->args->seq.at[0]) ? c->args : c->args->seq.at[0];
	if (!one && c->args->seq.nr == 0)
		return hydra_call__raise(c, "ValueError", "empty shuffle input");
	if (!one) {
		one = c->args;
		one->kind = HYDRA_CHOICE;
		one->simple = true;
	}
	one->shuffle = hydra_datum__is_sweep(one);
	return one;
}
