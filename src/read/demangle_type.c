/* Types: builtin ones, pointers and references, arrays, functions, classes. */
#include "read/demangle_int.h"

static const char *builtin(char c)
{
	static const char *const names['z' - 'a' + 1] = {['a' - 'a'] = "signed char",
		['b' - 'a'] = "bool",
		['c' - 'a'] = "char",
		['d' - 'a'] = "double",
		['e' - 'a'] = "long double",
		['f' - 'a'] = "float",
		['g' - 'a'] = "__float128",
		['h' - 'a'] = "unsigned char",
		['i' - 'a'] = "int",
		['j' - 'a'] = "unsigned int",
		['l' - 'a'] = "long",
		['m' - 'a'] = "unsigned long",
		['n' - 'a'] = "__int128",
		['o' - 'a'] = "unsigned __int128",
		['s' - 'a'] = "short",
		['t' - 'a'] = "unsigned short",
		['v' - 'a'] = "void",
		['w' - 'a'] = "wchar_t",
		['x' - 'a'] = "long long",
		['y' - 'a'] = "unsigned long long",
		['z' - 'a'] = "..."};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static struct sonde_dem_type pointer_to(
	struct sonde_dem *d, struct sonde_dem_type t, const char *mark)
{
	char last = t.pre.n ? t.pre.p[t.pre.n - 1] : '\0';

	if (last != '*' && last != '&' && last != '(')
		t.pre = sonde_dem__joinz(d, t.pre, " ");
	t.pre = sonde_dem__joinz(d, t.pre, mark);
	return t;
}

static struct sonde_dem_type read_qualified(struct sonde_dem *d)
{
	bool is_const = false, is_volatile = false;
	struct sonde_dem_type t;
	char last;

	for (;; d->p++) {
		if (sonde_dem__peek(d) == 'K')
			is_const = true;
		else if (sonde_dem__peek(d) == 'V')
			is_volatile = true;
		else if (sonde_dem__peek(d) != 'r')
			break;
	}
	t = sonde_dem__type(d);
	last = t.pre.n ? t.pre.p[t.pre.n - 1] : '\0';
	if (last == '*') {
		t.pre = sonde_dem__joinz(d, t.pre, is_const ? "const" : "volatile");
		return t;
	}
	if (is_volatile)
		t.pre = sonde_dem__join(d, SONDE_STR("volatile "), t.pre);
	if (is_const)
		t.pre = sonde_dem__join(d, SONDE_STR("const "), t.pre);
	return t;
}

static struct sonde_dem_type read_function_type(struct sonde_dem *d)
{
	struct sonde_dem_type result;
	struct sonde_str args;

	sonde_dem__eat(d, "Y");
	result = sonde_dem__type(d);
	args = sonde_dem__list(d, "E");
	if (!sonde_dem__eat(d, "E"))
		sonde_dem__fail(d);
	result.pre = sonde_dem__joinz(d, result.pre, " (");
	result.post = sonde_dem__join(d,
		sonde_dem__joinz(d, sonde_dem__join(d, SONDE_STR(")("), args), ")"), result.post);
	return result;
}

static struct sonde_dem_type read_array_type(struct sonde_dem *d)
{
	const char *start = d->p;
	struct sonde_str size;
	struct sonde_dem_type t;

	while (sonde_dem__peek(d) >= '0' && sonde_dem__peek(d) <= '9')
		d->p++;
	size = (struct sonde_str){start, (size_t)(d->p - start)};
	if (!sonde_dem__eat(d, "_"))
		return sonde_dem__fail(d);
	t = sonde_dem__type(d);
	t.pre = sonde_dem__joinz(d, t.pre, " (");
	t.post = sonde_dem__join(
		d, sonde_dem__joinz(d, sonde_dem__join(d, SONDE_STR(")["), size), "]"), t.post);
	return t;
}

static struct sonde_dem_type read_parameter(struct sonde_dem *d)
{
	struct sonde_str s = sonde_arena_printf(d->arena, "T%zu", sonde_dem__index(d, 10) + 1);
	struct sonde_dem_type t = sonde_dem__plain(s);

	if (!s.p)
		return sonde_dem__fail(d);
	sonde_dem__remember(d, t);
	if (sonde_dem__eat(d, "I")) {
		t = sonde_dem__plain(sonde_dem__join(d, s, sonde_dem__arguments(d)));
		sonde_dem__remember(d, t);
	}
	return t;
}

static struct sonde_dem_type read_d_type(struct sonde_dem *d)
{
	if (sonde_dem__eat(d, "Dp"))
		return sonde_dem__plain(
			sonde_dem__joinz(d, sonde_dem__whole(d, sonde_dem__type(d)), "..."));
	if (sonde_dem__eat(d, "Dn"))
		return sonde_dem__plain(SONDE_STR("nullptr_t"));
	if (sonde_dem__eat(d, "Dh") || sonde_dem__eat(d, "DF16_"))
		return sonde_dem__plain(SONDE_STR("__half"));
	if (sonde_dem__eat(d, "DF16b"))
		return sonde_dem__plain(SONDE_STR("__bf16"));
	if (sonde_dem__eat(d, "Di"))
		return sonde_dem__plain(SONDE_STR("char32_t"));
	if (sonde_dem__eat(d, "Ds"))
		return sonde_dem__plain(SONDE_STR("char16_t"));
	return sonde_dem__fail(d);
}

/* A class or enumeration, or a substitution with or without arguments. */
static struct sonde_dem_type read_class(struct sonde_dem *d)
{
	bool is_sub = sonde_dem__peek(d) == 'S' && d->p + 1 < d->end && d->p[1] != 't';
	struct sonde_dem_type t;

	if (is_sub && strchr("absiod", d->p[1]) == NULL) {
		t = sonde_dem__substitution(d);
		if (!sonde_dem__eat(d, "I"))
			return t;
		t = sonde_dem__plain(
			sonde_dem__join(d, sonde_dem__whole(d, t), sonde_dem__arguments(d)));
		sonde_dem__remember(d, t);
		return t;
	}
	t = sonde_dem__plain(sonde_dem__name(d));
	if (!is_sub || d->is_template)
		sonde_dem__remember(d, t);
	return t;
}

static struct sonde_dem_type read_type_inner(struct sonde_dem *d)
{
	const char *name = builtin(sonde_dem__peek(d));
	struct sonde_dem_type t;

	if (name) {
		d->p++;
		return sonde_dem__plain(sonde_str_from(name));
	}
	switch (sonde_dem__peek(d)) {
	case 'K':
	case 'V':
		t = read_qualified(d);
		break;
	case 'P':
		d->p++;
		t = pointer_to(d, sonde_dem__type(d), "*");
		break;
	case 'R':
		d->p++;
		t = pointer_to(d, sonde_dem__type(d), "&");
		break;
	case 'O':
		d->p++;
		t = pointer_to(d, sonde_dem__type(d), "&&");
		break;
	case 'F':
		d->p++;
		t = read_function_type(d);
		break;
	case 'A':
		d->p++;
		t = read_array_type(d);
		break;
	case 'T':
		d->p++;
		return read_parameter(d);
	case 'D':
		t = read_d_type(d);
		break;
	default:
		return read_class(d);
	}
	sonde_dem__remember(d, t);
	return t;
}

struct sonde_dem_type sonde_dem__type(struct sonde_dem *d)
{
	struct sonde_dem_type t;

	if (d->bad || ++d->depth > SONDE_DEM_DEPTH)
		return sonde_dem__fail(d);
	t = read_type_inner(d);
	d->depth--;
	return t;
}
