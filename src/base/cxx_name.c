/*
 * Names are split into the function and its template arguments, and grouped by function.
 * The names of a group show the arguments that differ, with more detail in each step: first the name of each
 * argument, then also the names of the argument's own template arguments, then the whole text. The steps end as
 * soon as no two names are the same.
 */
#include "base/cxx_name.h"

#include "base/alloc.h"

#include <stdlib.h>

#define MAX_ARGUMENTS 32   /* template arguments that are compared; real names have fewer */
#define MAX_SHOWN     96   /* about how many bytes the shown arguments may take */
#define MAX_GROUP     1000 /* a larger group of names keeps its full names: comparing them takes quadratic time */

/* A name, split into its parts. */
struct parts {
	struct sonde_str full;
	struct sonde_str base; /* the function's own name; with its namespace or class when it is generic, such as `Kernel` */
	struct sonde_str list; /* its template arguments, without the brackets */
	size_t index;	       /* index in the caller's list */
	bool is_generic;       /* the name says nothing by itself, so its first argument is always shown */
};

/* The outermost template arguments of a name. */
struct arguments {
	struct sonde_str at[MAX_ARGUMENTS];
	size_t nr;
};

/* The nesting depth of <>, () and [] after byte `c`. Names may be hostile, so it never goes below zero. */
static unsigned nest(unsigned depth, char c)
{
	if (c == '<' || c == '(' || c == '[')
		return depth + 1;
	if ((c == '>' || c == ')' || c == ']') && depth)
		return depth - 1;
	return depth;
}

static struct sonde_str piece(struct sonde_str s, size_t from, size_t to)
{
	return (struct sonde_str){s.p + from, to - from};
}

/* Returns where the parameter list begins: the first outermost '(' that does not open `(anonymous namespace)`. */
static size_t find_parameters(struct sonde_str s)
{
	unsigned depth = 0;
	size_t i;

	for (i = 0; i < s.n; i++) {
		if (s.p[i] == '(' && depth == 0 && i > 0 && s.p[i - 1] != ':' && s.p[i - 1] != ' ')
			return i;
		depth = nest(depth, s.p[i]);
	}
	return s.n;
}

/* Returns the last piece behind an outermost `::` or blank: `name<…>`. `*before` is the piece before it. */
static struct sonde_str last_component(struct sonde_str s, struct sonde_str *before)
{
	unsigned depth = 0;
	size_t i, begin = 0, end_before = 0, begin_before = 0;

	for (i = 0; i < s.n; i++) {
		bool is_scope = s.p[i] == ':' && i + 1 < s.n && s.p[i + 1] == ':';

		if (depth == 0 && (is_scope || s.p[i] == ' ')) {
			begin_before = begin;
			end_before = is_scope ? i : begin;
			begin = i + (is_scope ? 2 : 1);
			i += is_scope;
			continue;
		}
		depth = nest(depth, s.p[i]);
	}
	*before = piece(s, begin_before, end_before);
	return piece(s, begin, s.n);
}

/* Whether a name says nothing by itself: it is then shown with its class or namespace. */
static bool is_generic(struct sonde_str name)
{
	static const char *const words[] = {
		"kernel", "Kernel", "Kernel2", "device_kernel", "operator()", "run", "invoke"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sonde_str_is(name, words[i]))
			return true;
	return false;
}

static struct arguments split(struct sonde_str list)
{
	struct arguments out = {.nr = 0};
	unsigned depth = 0;
	size_t i, begin = 0;

	for (i = 0; i <= list.n && list.n && out.nr < MAX_ARGUMENTS; i++) {
		if (i < list.n && (list.p[i] != ',' || depth)) {
			depth = nest(depth, list.p[i]);
			continue;
		}
		out.at[out.nr++] = sonde_str_trim(piece(list, begin, i));
		begin = i + 1;
	}
	return out;
}

static struct parts take_apart(struct sonde_str full, size_t index)
{
	struct parts p = {.full = full, .index = index};
	struct sonde_str head = piece(full, 0, find_parameters(full)), before;
	struct sonde_str last = last_component(head, &before);
	size_t open = sonde_str_find(last, '<');

	p.base = piece(last, 0, open);
	if (!p.base.n) /* nothing is left: this is no C++ name */
		p.base = full;
	else if (open < last.n && last.p[last.n - 1] == '>')
		p.list = piece(last, open + 1, last.n - 1);
	p.is_generic = is_generic(p.base);
	if (p.is_generic && before.n)
		p.base = piece(
			full, (size_t)(before.p - full.p), (size_t)(last.p - full.p) + p.base.n);
	return p;
}

/*
 * Returns an argument as people would say it: for a lambda the function that contains it, for a type its
 * last name, for a number the number without its cast. `*list` receives the argument's own template arguments.
 */
static struct sonde_str fold(struct sonde_str argument, struct sonde_str *list)
{
	struct sonde_str head = piece(argument, 0, find_parameters(argument)), before, last;
	size_t open, cast = sonde_str_find(argument, ')') + 1;

	*list = piece(argument, argument.n, argument.n);
	if (argument.n && argument.p[0] == '(' && cast < argument.n)
		return piece(argument, cast, argument.n);
	last = last_component(head, &before);
	open = sonde_str_find(last, '<');
	if (open && open < last.n && last.p[last.n - 1] == '>')
		*list = piece(last, open + 1, last.n - 1);
	return open ? piece(last, 0, open) : last;
}

static int by_base(const void *a, const void *b)
{
	const struct parts *x = a, *y = b;
	int order = sonde_str_cmp(x->base, y->base);

	return order ? order : sonde_str_cmp(x->full, y->full);
}

/* Returns the arguments that are not the same in all names of a group: bit k for argument k. */
static uint32_t find_differing(const struct parts *group, size_t nr, bool is_folded)
{
	const struct arguments first = split(group[0].list);
	uint32_t mask = 0;
	size_t i, k;

	for (i = 1; i < nr; i++) {
		const struct arguments a = split(group[i].list);

		for (k = 0; k < a.nr || k < first.nr; k++) {
			struct sonde_str x = k < a.nr ? a.at[k] : SONDE_STR("");
			struct sonde_str y = k < first.nr ? first.at[k] : SONDE_STR("");

			struct sonde_str list;

			if (is_folded ? !sonde_str_eq(fold(x, &list), fold(y, &list))
				      : !sonde_str_eq(x, y))
				mask |= UINT32_C(1) << k;
		}
	}
	return mask;
}

/* How arguments are written. The next step is taken for names that are still the same after the one before. */
enum step {
	STEP_NAMES, /* the name of each argument */
	STEP_INNER, /* also the names of the argument's own template arguments */
	STEP_WHOLE,
	NR_STEPS, /* no step made them differ: the full names are used */
};

static void put_argument(struct sonde_buf *b, struct sonde_str argument, enum step step)
{
	struct sonde_str list, inner, name = fold(argument, &list);
	const struct arguments a = split(list);
	size_t k;

	sonde_buf_str(b, step == STEP_WHOLE ? argument : name);
	for (k = 0; k < a.nr && step == STEP_INNER; k++) {
		sonde_buf_puts(b, k ? ", " : "<");
		sonde_buf_str(b, fold(a.at[k], &inner));
	}
	sonde_buf_puts(b, a.nr && step == STEP_INNER ? ">" : "");
}

static void put_differing(
	struct sonde_buf *b, const struct parts *p, uint32_t differing, enum step step)
{
	const struct arguments a = split(p->list);
	size_t k, begin = b->n;

	for (k = 0; k < a.nr && b->n - begin <= MAX_SHOWN; k++) {
		if (!(differing >> k & 1))
			continue;
		sonde_buf_puts(b, b->n == begin ? "<" : ", ");
		put_argument(b, a.at[k], step);
	}
	if (b->n > begin)
		sonde_buf_putc(b, '>');
}

static bool is_repeated(const struct sonde_str *out, const struct parts *group, size_t nr)
{
	size_t i, k;

	for (i = 0; i < nr; i++)
		for (k = i + 1; k < nr; k++)
			if (sonde_str_eq(out[group[i].index], out[group[k].index]))
				return true;
	return false;
}

/* Writes all names of a group: names of one base, or those of them that were the same after the step before. */
static bool name_all(struct sonde_str *out, const struct parts *group, size_t nr, enum step step,
	struct sonde_arena *arena)
{
	uint32_t differing =
		step == NR_STEPS ? 0
				 : find_differing(group, nr, step == STEP_NAMES) | group->is_generic;
	struct sonde_buf b = {0};
	bool ok = true;
	size_t i;

	for (i = 0; i < nr && ok; i++) {
		sonde_buf_clear(&b);
		sonde_buf_str(&b, group[i].base);
		put_differing(&b, &group[i], differing, step);
		out[group[i].index] = step == NR_STEPS ? group[i].full
						       : sonde_arena_dup(arena, sonde_buf_view(&b));
		ok = !b.failed && (out[group[i].index].p || !b.n);
	}
	sonde_buf_release(&b);
	return ok;
}

/* Moves all names that are written like group[0] directly behind it, in order; returns their number, group[0] included. */
static size_t gather_same(const struct sonde_str *out, struct parts *group, size_t nr)
{
	struct sonde_str name = out[group[0].index];
	size_t i, k, same = 1;

	for (i = 1; i < nr; i++) {
		struct parts p = group[i];

		if (!sonde_str_eq(out[p.index], name))
			continue;
		for (k = i; k > same; k--)
			group[k] = group[k - 1];
		group[same++] = p;
	}
	return same;
}

static bool name_group(
	struct sonde_str *out, struct parts *group, size_t nr, struct sonde_arena *arena)
{
	bool ok = name_all(out, group, nr, nr > MAX_GROUP ? NR_STEPS : STEP_NAMES, arena);
	size_t i, same;
	int step;

	for (step = STEP_INNER; ok && step <= NR_STEPS && nr <= MAX_GROUP; step++)
		for (i = 0; ok && i < nr; i += same) {
			same = gather_same(out, &group[i], nr - i);
			if (same > 1)
				ok = name_all(out, &group[i], same, (enum step)step, arena);
		}
	/* A name that was written in more detail may equal one that was not. */
	if (ok && nr <= MAX_GROUP && is_repeated(out, group, nr))
		ok = name_all(out, group, nr, NR_STEPS, arena);
	return ok;
}

bool sonde_cxx_names_shorten(
	struct sonde_str *out, const struct sonde_str *names, size_t nr, struct sonde_arena *arena)
{
	struct parts *all = sonde_malloc((nr + 1) * sizeof(*all));
	size_t i, end;
	bool ok = all != NULL;

	for (i = 0; i < nr && ok; i++)
		all[i] = take_apart(names[i], i);
	if (ok && nr > 1)
		qsort(all, nr, sizeof(*all), by_base);
	for (i = 0; i < nr && ok; i = end) {
		for (end = i + 1; end < nr && sonde_str_eq(all[end].base, all[i].base); end++)
			;
		if (end == i + 1 && !all[i].is_generic)
			out[all[i].index] = all[i].base;
		else
			ok = name_group(out, &all[i], end - i, arena);
	}
	sonde_free(all);
	return ok;
}
