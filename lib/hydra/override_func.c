/* Calls the functions of the override grammar. The sweeps and tag are here, the others in override_cast.c and override_sort.c. */
#include "hydra/override_call.h"

#include <stdio.h>

struct hydra_datum *hydra_call__raise(struct hydra_call *c, const char *type, const char *fmt, ...)
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

struct hydra_datum *hydra_call__mismatch(
	struct hydra_call *c, const char *what, const struct hydra_datum *n, const char *expected)
{
	return hydra_call__raise(c, "TypeError",
		"mismatch type argument %s: %s is incompatible with %s", what,
		hydra_datum__type_name(n), expected);
}

struct hydra_datum *hydra_call__kwarg(struct hydra_call *c, const char *name)
{
	return hydra_datum__getz(c->kwargs, name);
}

bool hydra_call__check_keywords(struct hydra_call *c, const char *const *names)
{
	uint32_t i;
	const char *const *n;

	for (i = 0; i < c->kwargs->seq.nr; i++) {
		struct sonde_str key = c->kwargs->seq.at[i]->key->s;

		for (n = names; *n && !sonde_str_is(key, *n); n++)
			;
		if (!*n) {
			hydra_call__raise(c, "TypeError",
				"got an unexpected keyword argument '%.*s'", SONDE_STR_ARG(key));
			return false;
		}
	}
	return true;
}

/* Binds positional and named arguments to `nr` parameters, as Python does. */
static bool bind(struct hydra_call *c, const char *const *names, size_t nr, size_t nr_required,
	struct hydra_datum **out)
{
	size_t i;

	if (c->args->seq.nr > nr) {
		hydra_call__raise(c, "TypeError", "too many positional arguments");
		return false;
	}
	for (i = 0; i < nr; i++) {
		struct hydra_datum *named = hydra_call__kwarg(c, names[i]);

		out[i] = i < c->args->seq.nr ? c->args->seq.at[i] : named;
		if (i < c->args->seq.nr && named) {
			hydra_call__raise(
				c, "TypeError", "multiple values for argument '%s'", names[i]);
			return false;
		}
		if (!out[i] && i < nr_required) {
			hydra_call__raise(
				c, "TypeError", "missing a required argument: '%s'", names[i]);
			return false;
		}
	}
	return hydra_call__check_keywords(c, names);
}

static struct hydra_datum *call_choice(struct hydra_call *c)
{
	static const char *const none[] = {NULL};
	struct hydra_datum *first;
	char what[32];
	uint32_t i;

	if (!hydra_call__check_keywords(c, none))
		return NULL;
	for (i = 0; i < c->args->seq.nr; i++) {
		if (c->args->seq.at[i]->kind != HYDRA_NULL &&
			c->args->seq.at[i]->kind <= HYDRA_CHOICE)
			continue;
		snprintf(what, sizeof(what), "args[%u]", i);
		return hydra_call__mismatch(c, what, c->args->seq.at[i],
			"Union[str, int, float, bool, Dict[Any, Any], List[Any], ChoiceSweep]");
	}
	if (c->args->seq.nr == 0)
		return hydra_call__raise(c, "ValueError", "empty choice is not legal");
	first = c->args->seq.at[0];
	if (c->args->seq.nr == 1 && first->kind == HYDRA_CHOICE) {
		if (!first->simple)
			return hydra_call__raise(
				c, "ValueError", "nesting choices is not supported");
		first->simple = false;
		return first;
	}
	c->args->kind = HYDRA_CHOICE;
	return c->args;
}

static struct hydra_datum *make_seq(
	struct hydra_call *c, enum hydra_kind kind, struct hydra_datum **items, size_t nr)
{
	struct hydra_datum *n = hydra_datum__new(c->cx, kind);
	size_t i;

	for (i = 0; n && i < nr; i++)
		if (hydra_datum__push(c->cx, n, items[i]) || c->cx->fail.code)
			return NULL;
	return n;
}

static struct hydra_datum *call_range(struct hydra_call *c)
{
	static const char *const names[] = {"start", "stop", "step", NULL};
	struct hydra_datum *v[3];
	size_t i;

	if (!bind(c, names, 3, 1, v))
		return NULL;
	for (i = 0; i < 3; i++)
		if (v[i] && !hydra_datum__is_number(v[i]) && !(i == 1 && v[i]->kind == HYDRA_NULL))
			return hydra_call__mismatch(c, names[i], v[i],
				i == 1 ? "Optional[Union[int, float]]" : "Union[int, float]");
	if (!v[1] || v[1]->kind == HYDRA_NULL) {
		v[1] = v[0];
		v[0] = hydra_datum__int(c->cx, 0);
	}
	if (!v[2])
		v[2] = hydra_datum__int(c->cx, 1);
	return make_seq(c, HYDRA_RANGE, v, 3);
}

static struct hydra_datum *call_interval(struct hydra_call *c)
{
	static const char *const names[] = {"start", "end", NULL};
	struct hydra_datum *v[2];
	size_t i;

	if (!bind(c, names, 2, 2, v))
		return NULL;
	for (i = 0; i < 2; i++) {
		if (!hydra_datum__is_number(v[i]))
			return hydra_call__mismatch(c, names[i], v[i], "Union[int, float]");
		v[i] = hydra_cast__float(c, v[i]);
	}
	return make_seq(c, HYDRA_INTERVAL, v, 2);
}

static struct hydra_datum *pattern_list(
	struct hydra_call *c, const char *name, struct hydra_datum *n)
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
		return hydra_call__mismatch(c, name, n,
			name[0] == 'i' ? "Union[List[str], str]"
				       : "Optional[Union[List[str], str]]");
	return list;
}

static struct hydra_datum *call_glob(struct hydra_call *c)
{
	static const char *const names[] = {"include", "exclude", NULL};
	struct hydra_datum *v[2];

	if (!bind(c, names, 2, 1, v))
		return NULL;
	v[0] = pattern_list(c, "include", v[0]);
	v[1] = v[0] ? pattern_list(c, "exclude", v[1]) : NULL;
	return v[1] ? make_seq(c, HYDRA_GLOB, v, 2) : NULL;
}

static struct hydra_datum *call_tag(struct hydra_call *c)
{
	static const char *const names[] = {"sweep", NULL};
	struct hydra_datum *sweep = hydra_call__kwarg(c, "sweep");
	uint32_t i, nr = c->args->seq.nr;
	char what[32];

	if (!hydra_call__check_keywords(c, names))
		return NULL;
	for (i = 0; i < nr; i++) {
		const struct hydra_datum *n = c->args->seq.at[i];

		if (n->kind == HYDRA_STRING || hydra_datum__is_sweep(n))
			continue;
		snprintf(what, sizeof(what), "args[%u]", i);
		return hydra_call__mismatch(c, what, n, "Union[str, Sweep]");
	}
	if (nr < 1)
		return hydra_call__raise(
			c, "ValueError", "Not enough arguments to tag, must take at least a sweep");
	if (!sweep && hydra_datum__is_sweep(c->args->seq.at[nr - 1]))
		sweep = c->args->seq.at[--nr];
	if (!sweep)
		return hydra_call__raise(c, "ValueError",
			"Last argument to tag() must be a choice(), range() or interval(), got "
			"NoneType");
	if (!sweep->tags)
		sweep->tags = hydra_datum__new(c->cx, HYDRA_LIST);
	for (i = 0; sweep->tags && i < nr; i++)
		hydra_datum__push_sorted(c->cx, sweep->tags, c->args->seq.at[i]);
	return c->cx->fail.code ? NULL : sweep;
}

/* The functions by name: each has a function of its own, or is a cast. */
static const struct {
	const char *name;
	struct hydra_datum *(*fn)(struct hydra_call *c);
	hydra_cast_fn *cast;
} functions[] = {
	{"bool", NULL, hydra_cast__bool},
	{"choice", call_choice, NULL},
	{"float", NULL, hydra_cast__float},
	{"glob", call_glob, NULL},
	{"int", NULL, hydra_cast__int},
	{"interval", call_interval, NULL},
	{"range", call_range, NULL},
	{"shuffle", hydra_call__shuffle, NULL},
	{"sort", hydra_call__sort, NULL},
	{"str", NULL, hydra_cast__str},
	{"tag", call_tag, NULL},
};

static struct hydra_datum *dispatch(struct hydra_call *c)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (sonde_str_is(c->name, functions[i].name))
			return functions[i].fn ? functions[i].fn(c)
					       : hydra_call__cast(c, functions[i].cast);
	return hydra_call__raise(c, "HydraException",
		"Unknown function '%.*s'\nAvailable: "
		"bool,choice,float,glob,int,interval,range,shuffle,sort,str,tag\n",
		SONDE_STR_ARG(c->name));
}

struct hydra_datum *hydra_override__call(struct hydra_ctx *cx, struct sonde_str name,
	struct hydra_datum *args, struct hydra_datum *kwargs, struct sonde_str source)
{
	struct hydra_call c = {cx, name, source, args, kwargs};
	size_t i;

	/* A call does not see the quotes around its arguments (only those inside a list or dict). */
	for (i = 0; i < args->seq.nr; i++)
		args->seq.at[i]->quote = 0;
	for (i = 0; i < kwargs->seq.nr; i++)
		kwargs->seq.at[i]->quote = 0;
	return dispatch(&c);
}
