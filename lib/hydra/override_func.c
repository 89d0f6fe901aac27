/* The functions of the override grammar: casts, sweeps, sort, shuffle, tag. */
#include "hydra/override.h"

#include "hydra/pynumber.h"
#include "hydra/pytext.h"

#include <math.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct call {
	struct hydra_ctx *cx;
	struct sonde_str name, source;
	struct hydra_datum *args, *kwargs;
};

typedef struct hydra_datum *cast_fn(struct call *c, struct hydra_datum *n);

static struct hydra_datum *raise(struct call *c, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* `TYPE while evaluating 'SOURCE': MESSAGE` */
static struct hydra_datum *raise(struct call *c, const char *type, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (b.failed)
		hydra_ctx__nomem(c->cx);
	else
		hydra_ctx__fail(c->cx, type, "%s while evaluating '%.*s': %s", type,
			SONDE_STR_ARG(c->source), b.p ? b.p : "");
	sonde_buf_release(&b);
	return NULL;
}

static struct hydra_datum *mismatch(
	struct call *c, const char *what, const struct hydra_datum *n, const char *expected)
{
	return raise(c, "TypeError", "mismatch type argument %s: %s is incompatible with %s", what,
		hydra_datum__type_name(n), expected);
}

static struct hydra_datum *kwarg(struct call *c, const char *name)
{
	return hydra_datum__getz(c->kwargs, name);
}

/* Refuses keywords that are not in the NULL-terminated list. */
static bool keywords_ok(struct call *c, const char *const *names)
{
	uint32_t i;
	const char *const *n;

	for (i = 0; i < c->kwargs->seq.nr; i++) {
		struct sonde_str key = c->kwargs->seq.at[i]->key->s;

		for (n = names; *n && !sonde_str_is(key, *n); n++)
			;
		if (!*n) {
			raise(c, "TypeError", "got an unexpected keyword argument '%.*s'",
				SONDE_STR_ARG(key));
			return false;
		}
	}
	return true;
}

/* Binds positional and named arguments to `nr` parameters, as Python does. */
static bool bind(struct call *c, const char *const *names, size_t nr, size_t nr_required,
	struct hydra_datum **out)
{
	size_t i;

	if (c->args->seq.nr > nr) {
		raise(c, "TypeError", "too many positional arguments");
		return false;
	}
	for (i = 0; i < nr; i++) {
		struct hydra_datum *named = kwarg(c, names[i]);

		out[i] = i < c->args->seq.nr ? c->args->seq.at[i] : named;
		if (i < c->args->seq.nr && named) {
			raise(c, "TypeError", "multiple values for argument '%s'", names[i]);
			return false;
		}
		if (!out[i] && i < nr_required) {
			raise(c, "TypeError", "missing a required argument: '%s'", names[i]);
			return false;
		}
	}
	return keywords_ok(c, names);
}

static bool is_number(const struct hydra_datum *n)
{
	return n->kind == HYDRA_INT || n->kind == HYDRA_FLOAT || n->kind == HYDRA_BOOL;
}

static double to_double(const struct hydra_datum *n)
{
	if (n->kind == HYDRA_FLOAT)
		return n->f;
	if (n->kind == HYDRA_BOOL)
		return n->b;
	return n->s.n ? hydra_pynumber__double(n->s) : (double)n->i;
}

/* Casts of scalars. */

static struct hydra_datum *bad_literal(struct call *c, const char *what, struct sonde_str s)
{
	struct sonde_buf b = {0};

	hydra_pytext__repr_str(&b, s);
	raise(c, "ValueError", "%s%s", what, b.p ? b.p : "");
	sonde_buf_release(&b);
	return NULL;
}

static struct sonde_str squeeze(struct call *c, struct sonde_str s)
{
	struct sonde_buf b = {0};
	size_t i;

	s = sonde_str_trim(s);
	for (i = 0; i < s.n; i++)
		if (s.p[i] != '_')
			sonde_buf_putc(&b, s.p[i]);
	return hydra_ctx__take(c->cx, &b);
}

static struct hydra_datum *int_of(struct call *c, struct hydra_datum *n)
{
	if (n->kind == HYDRA_STRING && !hydra_pynumber__is_py_int(n->s))
		return bad_literal(c, "invalid literal for int() with base 10: ", n->s);
	if (n->kind == HYDRA_STRING)
		return hydra_pynumber__int(c->cx, squeeze(c, n->s), 10);
	if (n->kind == HYDRA_BOOL)
		return hydra_datum__int(c->cx, n->b);
	if (n->kind == HYDRA_INT)
		return hydra_datum__copy(c->cx, n);
	if (isnan(n->f))
		return raise(c, "ValueError", "cannot convert float NaN to integer");
	if (isinf(n->f))
		return raise(c, "OverflowError", "cannot convert float infinity to integer");
	return hydra_pynumber__trunc(c->cx, n->f);
}

static struct hydra_datum *float_of(struct call *c, struct hydra_datum *n)
{
	if (n->kind == HYDRA_STRING && !hydra_pynumber__is_py_float(n->s))
		return bad_literal(c, "could not convert string to float: ", n->s);
	if (n->kind == HYDRA_STRING)
		return hydra_datum__float(c->cx, hydra_pynumber__py_float(n->s));
	if (n->kind == HYDRA_INT && isinf(to_double(n)))
		return raise(c, "OverflowError", "int too large to convert to float");
	return hydra_datum__float(c->cx, to_double(n));
}

static struct hydra_datum *str_of(struct call *c, struct hydra_datum *n)
{
	struct sonde_buf b = {0};

	if (n->kind == HYDRA_BOOL)
		sonde_buf_puts(&b, n->b ? "true" : "false");
	else
		hydra_pytext__str(&b, n);
	return hydra_datum__string(c->cx, hydra_ctx__take(c->cx, &b));
}

static struct hydra_datum *bool_of(struct call *c, struct hydra_datum *n)
{
	if (n->kind != HYDRA_STRING)
		return hydra_datum__bool(c->cx, n->kind != HYDRA_NULL && to_double(n) != 0);
	if (n->s.n == 4 && !strncasecmp(n->s.p, "true", 4))
		return hydra_datum__bool(c->cx, true);
	if (n->s.n == 5 && !strncasecmp(n->s.p, "false", 5))
		return hydra_datum__bool(c->cx, false);
	return raise(c, "ValueError", "Cannot cast '%.*s' to bool", SONDE_STR_ARG(n->s));
}

static struct hydra_datum *cast(struct call *c, struct hydra_datum *n, cast_fn *fn);

static struct hydra_datum *cast_items(struct call *c, struct hydra_datum *n, cast_fn *fn)
{
	struct hydra_datum *out = hydra_datum__new(c->cx, n->kind);
	uint32_t i;

	if (!out)
		return NULL;
	out->simple = n->simple;
	for (i = 0; i < n->seq.nr; i++) {
		struct hydra_datum *item = cast(c, n->seq.at[i], fn);

		if (!item || (n->kind == HYDRA_MAP
					     ? hydra_datum__set(c->cx, out, n->seq.at[i]->key, item)
					     : hydra_datum__push(c->cx, out, item)))
			return NULL;
	}
	return out;
}

static struct hydra_datum *cast(struct call *c, struct hydra_datum *n, cast_fn *fn)
{
	bool to_number = fn == int_of || fn == float_of;

	if (n->kind == HYDRA_RANGE && !to_number)
		return raise(c, "ValueError", "Range can only be cast to int or float");
	if (n->kind == HYDRA_INTERVAL && !to_number)
		return raise(c, "ValueError", "Intervals cannot be cast to %s",
			fn == str_of ? "str" : "bool");
	if (n->kind == HYDRA_GLOB || (n->kind == HYDRA_NULL && fn != bool_of))
		return raise(c, "AssertionError", "%s", "");
	if (!hydra_datum__is_scalar(n))
		return cast_items(c, n, fn);
	return fn(c, n);
}

static struct hydra_datum *call_cast(struct call *c, cast_fn *fn)
{
	static const char *const names[] = {"value", NULL};
	struct hydra_datum *value = kwarg(c, "value"), *choice;

	if (!keywords_ok(c, names))
		return NULL;
	if (value && value->kind == HYDRA_NULL)
		value = NULL;
	if (c->args->seq.nr && value)
		return raise(c, "TypeError", "cannot use both position and named arguments");
	if (value)
		return cast(c, value, fn);
	if (c->args->seq.nr == 0)
		return raise(c, "TypeError", "No positional args or value specified");
	if (c->args->seq.nr == 1)
		return cast(c, c->args->seq.at[0], fn);
	choice = c->args;
	choice->kind = HYDRA_CHOICE;
	choice->simple = true;
	return cast(c, choice, fn);
}

/* Sweeps. */

static struct hydra_datum *call_choice(struct call *c)
{
	static const char *const none[] = {NULL};
	struct hydra_datum *first;
	char what[32];
	uint32_t i;

	if (!keywords_ok(c, none))
		return NULL;
	for (i = 0; i < c->args->seq.nr; i++) {
		if (c->args->seq.at[i]->kind != HYDRA_NULL &&
			c->args->seq.at[i]->kind <= HYDRA_CHOICE)
			continue;
		snprintf(what, sizeof(what), "args[%u]", i);
		return mismatch(c, what, c->args->seq.at[i],
			"Union[str, int, float, bool, Dict[Any, Any], List[Any], ChoiceSweep]");
	}
	if (c->args->seq.nr == 0)
		return raise(c, "ValueError", "empty choice is not legal");
	first = c->args->seq.at[0];
	if (c->args->seq.nr == 1 && first->kind == HYDRA_CHOICE) {
		if (!first->simple)
			return raise(c, "ValueError", "nesting choices is not supported");
		first->simple = false;
		return first;
	}
	c->args->kind = HYDRA_CHOICE;
	return c->args;
}

static struct hydra_datum *make_seq(
	struct call *c, enum hydra_kind kind, struct hydra_datum **items, size_t nr)
{
	struct hydra_datum *n = hydra_datum__new(c->cx, kind);
	size_t i;

	for (i = 0; n && i < nr; i++)
		if (hydra_datum__push(c->cx, n, items[i]) || c->cx->fail.code)
			return NULL;
	return n;
}

static struct hydra_datum *call_range(struct call *c)
{
	static const char *const names[] = {"start", "stop", "step", NULL};
	struct hydra_datum *v[3];
	size_t i;

	if (!bind(c, names, 3, 1, v))
		return NULL;
	for (i = 0; i < 3; i++)
		if (v[i] && !is_number(v[i]) && !(i == 1 && v[i]->kind == HYDRA_NULL))
			return mismatch(c, names[i], v[i],
				i == 1 ? "Optional[Union[int, float]]" : "Union[int, float]");
	if (!v[1] || v[1]->kind == HYDRA_NULL) {
		v[1] = v[0];
		v[0] = hydra_datum__int(c->cx, 0);
	}
	if (!v[2])
		v[2] = hydra_datum__int(c->cx, 1);
	return make_seq(c, HYDRA_RANGE, v, 3);
}

static struct hydra_datum *call_interval(struct call *c)
{
	static const char *const names[] = {"start", "end", NULL};
	struct hydra_datum *v[2];
	size_t i;

	if (!bind(c, names, 2, 2, v))
		return NULL;
	for (i = 0; i < 2; i++) {
		if (!is_number(v[i]))
			return mismatch(c, names[i], v[i], "Union[int, float]");
		v[i] = float_of(c, v[i]);
	}
	return make_seq(c, HYDRA_INTERVAL, v, 2);
}

static struct hydra_datum *pattern_list(struct call *c, const char *name, struct hydra_datum *n)
{
	struct hydra_datum *list = n;
	uint32_t i;

	if (!n || n->kind == HYDRA_NULL)
		return hydra_datum__new(c->cx, HYDRA_LIST);
	if (n->kind == HYDRA_STRING)
		list = make_seq(c, HYDRA_LIST, &n, 1);
	for (i = 0; list && list->kind == HYDRA_LIST && i < list->seq.nr; i++)
		if (list->seq.at[i]->kind != HYDRA_STRING)
			break;
	if (list && (list->kind != HYDRA_LIST || i < list->seq.nr))
		return mismatch(c, name, n,
			name[0] == 'i' ? "Union[List[str], str]"
				       : "Optional[Union[List[str], str]]");
	return list;
}

static struct hydra_datum *call_glob(struct call *c)
{
	static const char *const names[] = {"include", "exclude", NULL};
	struct hydra_datum *v[2];

	if (!bind(c, names, 2, 1, v))
		return NULL;
	v[0] = pattern_list(c, "include", v[0]);
	v[1] = v[0] ? pattern_list(c, "exclude", v[1]) : NULL;
	return v[1] ? make_seq(c, HYDRA_GLOB, v, 2) : NULL;
}

/* sort(): Python's order, with its complaint about mixed types. */

static bool less(
	struct call *c, const struct hydra_datum *a, const struct hydra_datum *b, bool *out)
{
	if (is_number(a) && is_number(b)) {
		*out = to_double(a) < to_double(b);
		return true;
	}
	if (a->kind == HYDRA_STRING && b->kind == HYDRA_STRING) {
		*out = sonde_str_cmp(a->s, b->s) < 0;
		return true;
	}
	raise(c, "TypeError", "'<' not supported between instances of '%s' and '%s'",
		hydra_datum__type_name(a), hydra_datum__type_name(b));
	return false;
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

/* The length of the sorted run at the start, made ascending; 0 after a failure. */
static uint32_t first_run(struct call *c, struct hydra_datum **at, uint32_t nr)
{
	bool down, lt;
	uint32_t run = 2;

	if (nr < 2)
		return nr;
	if (!less(c, at[1], at[0], &down))
		return 0;
	for (; run < nr; run++) {
		if (!less(c, at[run], at[run - 1], &lt))
			return 0;
		if (lt != down)
			break;
	}
	if (down)
		reverse(at, run);
	return run;
}

/* Binary insertion, stable: compares in the order Python does, which decides the message. */
static bool sort_items(struct call *c, struct hydra_datum **at, uint32_t nr)
{
	uint32_t i = first_run(c, at, nr);

	if (nr && !i)
		return false;
	for (; i < nr; i++) {
		struct hydra_datum *pivot = at[i];
		uint32_t lo = 0, hi = i;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;
			bool lt;

			if (!less(c, pivot, at[mid], &lt))
				return false;
			if (lt)
				hi = mid;
			else
				lo = mid + 1;
		}
		memmove(at + lo + 1, at + lo, (i - lo) * sizeof(struct hydra_datum *));
		at[lo] = pivot;
	}
	return true;
}

static struct hydra_datum *sort_seq(struct call *c, struct hydra_datum *n, bool backwards)
{
	if (backwards)
		reverse(n->seq.at, n->seq.nr);
	if (!sort_items(c, n->seq.at, n->seq.nr))
		return NULL;
	if (backwards)
		reverse(n->seq.at, n->seq.nr);
	return n;
}

/* a + sign * |b|, an int while both are. */
static struct hydra_datum *plus(
	struct call *c, const struct hydra_datum *a, const struct hydra_datum *b, int sign)
{
	if (a->kind == HYDRA_FLOAT || b->kind == HYDRA_FLOAT || a->s.n || b->s.n)
		return hydra_datum__float(c->cx, to_double(a) + sign * fabs(to_double(b)));
	return hydra_datum__int(
		c->cx, (int64_t)((a->kind == HYDRA_BOOL ? a->b : a->i) +
				 sign * llabs(b->kind == HYDRA_BOOL ? b->b : b->i)));
}

static struct hydra_datum *sort_range(struct call *c, struct hydra_datum *r, bool backwards)
{
	struct hydra_datum **v = r->seq.at, *start, *stop;
	double first = to_double(v[0]), last = to_double(v[1]);

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

static struct hydra_datum *sort_one(struct call *c, struct hydra_datum *n, bool backwards)
{
	if (n->kind == HYDRA_RANGE)
		return sort_range(c, n, backwards);
	if (n->kind == HYDRA_CHOICE || n->kind == HYDRA_LIST)
		return sort_seq(c, n, backwards);
	if (hydra_datum__is_scalar(n))
		return n;
	return raise(c, "TypeError", "Invalid arguments");
}

/* The arguments sort() and shuffle() accept. */
static bool elements_ok(struct call *c)
{
	char what[32];
	uint32_t i;

	for (i = 0; i < c->args->seq.nr; i++) {
		const struct hydra_datum *n = c->args->seq.at[i];

		if (n->kind != HYDRA_NULL && n->kind <= HYDRA_RANGE)
			continue;
		snprintf(what, sizeof(what), "args[%u]", i);
		mismatch(c, what, n,
			"Union[str, int, bool, float, list, dict, ChoiceSweep, RangeSweep]");
		return false;
	}
	return true;
}

static struct hydra_datum *call_sort(struct call *c)
{
	static const char *const names[] = {"sweep", "list", "reverse", NULL};
	struct hydra_datum *back = kwarg(c, "reverse");
	struct hydra_datum *one = kwarg(c, "list") ? kwarg(c, "list") : kwarg(c, "sweep");
	bool backwards = back && back->kind == HYDRA_BOOL && back->b;
	uint32_t i;

	if (!keywords_ok(c, names) || !elements_ok(c))
		return NULL;
	if (back && back->kind != HYDRA_BOOL)
		return mismatch(c, "reverse", back, "bool");
	if (!one && c->args->seq.nr == 1)
		one = c->args->seq.at[0];
	if (one)
		return sort_one(c, one, backwards);
	if (c->args->seq.nr == 0)
		return raise(c, "ValueError", "empty sort input");
	for (i = 0; i < c->args->seq.nr; i++)
		if (!hydra_datum__is_scalar(c->args->seq.at[i]))
			return raise(c, "TypeError", "Invalid arguments");
	c->args->kind = HYDRA_CHOICE;
	c->args->simple = true;
	return sort_seq(c, c->args, backwards);
}

static struct hydra_datum *call_shuffle(struct call *c)
{
	static const char *const names[] = {"sweep", "list", NULL};
	struct hydra_datum *one = kwarg(c, "list") ? kwarg(c, "list") : kwarg(c, "sweep");

	if (!keywords_ok(c, names) || !elements_ok(c))
		return NULL;
	if (!one && c->args->seq.nr == 1)
		one = hydra_datum__is_scalar(c->args->seq.at[0]) ? c->args : c->args->seq.at[0];
	if (!one && c->args->seq.nr == 0)
		return raise(c, "ValueError", "empty shuffle input");
	if (!one) {
		one = c->args;
		one->kind = HYDRA_CHOICE;
		one->simple = true;
	}
	one->shuffle = hydra_datum__is_sweep(one);
	return one;
}

static void insert_tag(struct call *c, struct hydra_datum *tags, struct hydra_datum *tag)
{
	uint32_t i, at;

	for (at = 0; at < tags->seq.nr; at++) {
		int order = sonde_str_cmp(tags->seq.at[at]->s, tag->s);

		if (order == 0)
			return;
		if (order > 0)
			break;
	}
	if (hydra_datum__push(c->cx, tags, tag))
		return;
	for (i = tags->seq.nr - 1; i > at; i--)
		tags->seq.at[i] = tags->seq.at[i - 1];
	tags->seq.at[at] = tag;
}

static struct hydra_datum *call_tag(struct call *c)
{
	static const char *const names[] = {"sweep", NULL};
	struct hydra_datum *sweep = kwarg(c, "sweep");
	uint32_t i, nr = c->args->seq.nr;
	char what[32];

	if (!keywords_ok(c, names))
		return NULL;
	for (i = 0; i < nr; i++) {
		const struct hydra_datum *n = c->args->seq.at[i];

		if (n->kind == HYDRA_STRING || hydra_datum__is_sweep(n))
			continue;
		snprintf(what, sizeof(what), "args[%u]", i);
		return mismatch(c, what, n, "Union[str, Sweep]");
	}
	if (nr < 1)
		return raise(
			c, "ValueError", "Not enough arguments to tag, must take at least a sweep");
	if (!sweep && hydra_datum__is_sweep(c->args->seq.at[nr - 1]))
		sweep = c->args->seq.at[--nr];
	if (!sweep)
		return raise(c, "ValueError",
			"Last argument to tag() must be a choice(), range() or interval(), got "
			"NoneType");
	if (!sweep->tags)
		sweep->tags = hydra_datum__new(c->cx, HYDRA_LIST);
	for (i = 0; sweep->tags && i < nr; i++)
		insert_tag(c, sweep->tags, c->args->seq.at[i]);
	return c->cx->fail.code ? NULL : sweep;
}

static struct hydra_datum *call_int(struct call *c)
{
	return call_cast(c, int_of);
}

static struct hydra_datum *call_float(struct call *c)
{
	return call_cast(c, float_of);
}

static struct hydra_datum *call_str(struct call *c)
{
	return call_cast(c, str_of);
}

static struct hydra_datum *call_bool(struct call *c)
{
	return call_cast(c, bool_of);
}

static const struct {
	const char *name;
	struct hydra_datum *(*fn)(struct call *c);
} functions[] = {
	{"bool", call_bool},
	{"choice", call_choice},
	{"float", call_float},
	{"glob", call_glob},
	{"int", call_int},
	{"interval", call_interval},
	{"range", call_range},
	{"shuffle", call_shuffle},
	{"sort", call_sort},
	{"str", call_str},
	{"tag", call_tag},
};

static struct hydra_datum *dispatch(struct call *c)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (sonde_str_is(c->name, functions[i].name))
			return functions[i].fn(c);
	return raise(c, "HydraException",
		"Unknown function '%.*s'\nAvailable: "
		"bool,choice,float,glob,int,interval,range,shuffle,sort,str,tag\n",
		SONDE_STR_ARG(c->name));
}

struct hydra_datum *hydra_override__call(struct hydra_ctx *cx, struct sonde_str name,
	struct hydra_datum *args, struct hydra_datum *kwargs, struct sonde_str source)
{
	struct call c = {cx, name, source, args, kwargs};
	size_t i;

	/* Quotes around an argument itself (not inside a list or dict) are gone before the call. */
	for (i = 0; i < args->seq.nr; i++)
		args->seq.at[i]->quote = 0;
	for (i = 0; i < kwargs->seq.nr; i++)
		kwargs->seq.at[i]->quote = 0;
	return dispatch(&c);
}
