/* The casts int(), float(), str() and bool(), for scalars, lists and sweeps. */
#include "hydra/override_call.h"

#include "hydra/pynumber.h"
#include "hydra/pytext.h"

#include <math.h>

static struct hydra_datum *bad_literal(
	struct hydra_call *c, const char *what, const struct hydra_datum *n)
{
	struct sonde_buf b = {0};

	hydra_pytext__repr(&b, n);
	hydra_call__raise(c, "ValueError", "%s%s", what, b.p ? b.p : "");
	sonde_buf_release(&b);
	return NULL;
}

struct hydra_datum *hydra_cast__int(struct hydra_call *c, struct hydra_datum *n)
{
	if (n->kind == HYDRA_STRING && !hydra_pynumber__is_py_int(n->s))
		return bad_literal(c, "invalid literal for int() with base 10: ", n);
	if (n->kind == HYDRA_STRING)
		return hydra_pynumber__int(c->cx, n->s, 10);
	if (n->kind == HYDRA_BOOL)
		return hydra_datum__int(c->cx, n->b);
	if (n->kind == HYDRA_INT)
		return hydra_datum__copy(c->cx, n);
	if (isnan(n->f))
		return hydra_call__raise(c, "ValueError", "cannot convert float NaN to integer");
	if (isinf(n->f))
		return hydra_call__raise(
			c, "OverflowError", "cannot convert float infinity to integer");
	return hydra_pynumber__trunc(c->cx, n->f);
}

struct hydra_datum *hydra_cast__float(struct hydra_call *c, struct hydra_datum *n)
{
	if (n->kind == HYDRA_STRING && !hydra_pynumber__is_py_float(n->s))
		return bad_literal(c, "could not convert string to float: ", n);
	if (n->kind == HYDRA_STRING)
		return hydra_datum__float(c->cx, hydra_pynumber__py_float(n->s));
	if (n->kind == HYDRA_INT && isinf(hydra_datum__to_double(n)))
		return hydra_call__raise(c, "OverflowError", "int too large to convert to float");
	return hydra_datum__float(c->cx, hydra_datum__to_double(n));
}

struct hydra_datum *hydra_cast__str(struct hydra_call *c, struct hydra_datum *n)
{
	if (n->kind == HYDRA_BOOL)
		return hydra_datum__text(c->cx, n->b ? "true" : "false");
	return hydra_datum__string(c->cx, hydra_pytext__show(c->cx, n));
}

struct hydra_datum *hydra_cast__bool(struct hydra_call *c, struct hydra_datum *n)
{
	if (n->kind != HYDRA_STRING)
		return hydra_datum__bool(
			c->cx, n->kind != HYDRA_NULL && hydra_datum__to_double(n) != 0);
	if (hydra_pynumber__is_word(n->s, "true|false"))
		return hydra_datum__bool(c->cx, n->s.n == 4);
	return hydra_call__raise(
		c, "ValueError", "Cannot cast '%.*s' to bool", SONDE_STR_ARG(n->s));
}

static struct hydra_datum *cast(struct hydra_call *c, struct hydra_datum *n, hydra_cast_fn *fn);

static struct hydra_datum *cast_items(
	struct hydra_call *c, struct hydra_datum *n, hydra_cast_fn *fn)
{
	struct hydra_datum *out = hydra_datum__new(c->cx, n->kind);
	uint32_t i;

	if (!out)
		return NULL;
	out->simple = n->simple;
	for (i = 0; i < n->seq.nr; i++) {
		struct hydra_datum *item = cast(c, n->seq.at[i], fn);

		if (!item || hydra_datum__put(c->cx, out, n->seq.at[i]->key, item))
			return NULL;
	}
	return out;
}

static struct hydra_datum *cast(struct hydra_call *c, struct hydra_datum *n, hydra_cast_fn *fn)
{
	bool to_number = fn == hydra_cast__int || fn == hydra_cast__float;

	if (n->kind == HYDRA_RANGE && !to_number)
		return hydra_call__raise(c, "ValueError", "Range can only be cast to int or float");
	if (n->kind == HYDRA_INTERVAL && !to_number)
		return hydra_call__raise(c, "ValueError", "Intervals cannot be cast to %s",
			fn == hydra_cast__str ? "str" : "bool");
	if (n->kind == HYDRA_GLOB || (n->kind == HYDRA_NULL && fn != hydra_cast__bool))
		return hydra_call__raise(c, "AssertionError", "%s", "");
	if (!hydra_datum__is_scalar(n))
		return cast_items(c, n, fn);
	return fn(c, n);
}

struct hydra_datum *hydra_call__cast(struct hydra_call *c, hydra_cast_fn *fn)
{
	static const char *const names[] = {"value", NULL};
	struct hydra_datum *value = hydra_call__kwarg(c, "value"), *choice;

	if (!hydra_call__check_keywords(c, names))
		return NULL;
	if (value && value->kind == HYDRA_NULL)
		value = NULL;
	if (c->args->seq.nr && value)
		return hydra_call__raise(
			c, "TypeError", "cannot use both position and named arguments");
	if (value)
		return cast(c, value, fn);
	if (c->args->seq.nr == 0)
		return hydra_call__raise(c, "TypeError", "No positional args or value specified");
	if (c->args->seq.nr == 1)
		return cast(c, c->args->seq.at[0], fn);
	choice = c->args;
	choice->kind = HYDRA_CHOICE;
	choice->simple = true;
	return cast(c, choice, fn);
}
