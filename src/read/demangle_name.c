/* Names: of namespaces, classes, functions, operators, lambdas; with their template arguments. */
#include "read/demangle_int.h"

static struct sonde_str read_source(struct sonde_dem *d)
{
	size_t n = sonde_dem__number(d);
	struct sonde_str s = {d->p, n};

	if (d->bad || n > (size_t)(d->end - d->p) || !n) {
		sonde_dem__fail(d);
		return s;
	}
	d->p += n;
	return sonde_str_starts(s, "_GLOBAL__N_") ? SONDE_STR("<unnamed>") : s;
}

struct sonde_str sonde_dem__list(struct sonde_dem *d, const char *stops)
{
	struct sonde_str list = {"", 0}, one;
	bool first = true;

	if (sonde_dem__peek(d) == 'v' && d->p + 1 <= d->end &&
		(d->p + 1 == d->end || strchr(stops, d->p[1]))) {
		d->p++;
		return list;
	}
	while (!d->bad && d->p < d->end && !strchr(stops, sonde_dem__peek(d))) {
		one = sonde_dem__whole(d, sonde_dem__type(d));
		list = first ? one : sonde_dem__join(d, sonde_dem__joinz(d, list, ", "), one);
		first = false;
	}
	return list;
}

static struct sonde_str read_operator(struct sonde_dem *d)
{
	static const char *const names[][2] = {{"cl", "operator()"}, {"ix", "operator[]"},
		{"eq", "operator=="}, {"ne", "operator!="}, {"lt", "operator<"},
		{"gt", "operator>"}, {"pl", "operator+"}, {"mi", "operator-"}, {"ml", "operator*"},
		{"dv", "operator/"}, {"aS", "operator="}, {"ls", "operator<<"},
		{"rs", "operator>>"}, {"pL", "operator+="}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (sonde_dem__eat(d, names[i][0]))
			return sonde_str_from(names[i][1]);
	}
	sonde_dem__fail(d);
	return SONDE_STR("");
}

static struct sonde_str read_lambda(struct sonde_dem *d)
{
	struct sonde_str args = sonde_dem__list(d, "E"), s;
	size_t number;

	if (!sonde_dem__eat(d, "E"))
		sonde_dem__fail(d);
	number = sonde_dem__index(d, 10);
	s = sonde_arena_printf(
		d->arena, "[lambda(%.*s) (instance %zu)]", (int)args.n, args.p, number + 1);
	if (!s.p)
		sonde_dem__fail(d);
	return s;
}

static struct sonde_str read_unqualified(struct sonde_dem *d, struct sonde_str scope)
{
	struct sonde_str s;
	size_t i;

	sonde_dem__eat(d, "L");
	if (sonde_dem__peek(d) >= '0' && sonde_dem__peek(d) <= '9') {
		s = read_source(d);
	} else if (sonde_dem__eat(d, "Ul")) {
		s = read_lambda(d);
	} else if (sonde_dem__eat(d, "Ut")) {
		sonde_dem__index(d, 10);
		s = SONDE_STR("<unnamed>");
	} else if (sonde_dem__eat(d, "C1") || sonde_dem__eat(d, "C2") || sonde_dem__eat(d, "D1") ||
		   sonde_dem__eat(d, "D2")) {
		for (i = scope.n; i && scope.p[i - 1] != ':'; i--)
			;
		s = (struct sonde_str){scope.p + i, scope.n - i};
		if (d->p[-2] == 'D')
			s = sonde_dem__join(d, SONDE_STR("~"), s);
	} else {
		s = read_operator(d);
	}
	while (!d->bad && sonde_dem__eat(d, "B"))
		read_source(d);
	return s;
}

static struct sonde_str read_literal(struct sonde_dem *d)
{
	struct sonde_str type = sonde_dem__whole(d, sonde_dem__type(d)), value;
	const char *start;

	if (sonde_dem__eat(d, "E"))
		return sonde_dem__joinz(d, type, "()"); /* nullptr and the like */
	start = d->p;
	while (d->p < d->end && *d->p != 'E')
		d->p++;
	value = (struct sonde_str){start, (size_t)(d->p - start)};
	if (!sonde_dem__eat(d, "E"))
		sonde_dem__fail(d);
	if (value.n && value.p[0] == 'n')
		value = sonde_dem__join(
			d, SONDE_STR("-"), (struct sonde_str){value.p + 1, value.n - 1});
	return sonde_dem__join(
		d, sonde_dem__joinz(d, sonde_dem__join(d, SONDE_STR("("), type), ")"), value);
}

static struct sonde_str read_argument(struct sonde_dem *d)
{
	struct sonde_str list = {"", 0}, one;
	bool first = true;

	if (sonde_dem__eat(d, "L"))
		return read_literal(d);
	if (!sonde_dem__eat(d, "J"))
		return sonde_dem__whole(d, sonde_dem__type(d));
	while (!d->bad && !sonde_dem__eat(d, "E")) {
		one = read_argument(d);
		list = first ? one : sonde_dem__join(d, sonde_dem__joinz(d, list, ", "), one);
		first = false;
	}
	return list;
}

/* After the `I`. */
struct sonde_str sonde_dem__arguments(struct sonde_dem *d)
{
	struct sonde_str list = {"<", 1}, one;

	if (++d->depth > SONDE_DEM_DEPTH)
		sonde_dem__fail(d);
	while (!d->bad && !sonde_dem__eat(d, "E")) {
		one = read_argument(d);
		if (list.n > 1 && one.n)
			list = sonde_dem__joinz(d, list, ", ");
		list = sonde_dem__join(d, list, one);
	}
	d->depth--;
	return sonde_dem__joinz(d, list, ">");
}

static bool read_abbreviation(struct sonde_dem *d, struct sonde_str *out)
{
	static const char *const names[][2] = {{"St", "std"}, {"Sa", "std::allocator"},
		{"Ss", "std::string"}, {"Sb", "std::basic_string"}, {"Si", "std::istream"},
		{"So", "std::ostream"}, {"Sd", "std::iostream"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (sonde_dem__eat(d, names[i][0])) {
			*out = sonde_str_from(names[i][1]);
			return true;
		}
	}
	return false;
}

struct sonde_dem_type sonde_dem__substitution(struct sonde_dem *d)
{
	size_t i;

	if (!sonde_dem__eat(d, "S"))
		return sonde_dem__fail(d);
	i = sonde_dem__index(d, 36);
	return i < d->nr_subs ? d->subs[i] : sonde_dem__fail(d);
}

/* After the `N`, up to and with its `E`. */
static struct sonde_str read_nested(struct sonde_dem *d)
{
	struct sonde_str s = {"", 0}, part;
	bool known;

	while (sonde_dem__eat(d, "r") || sonde_dem__eat(d, "V") || sonde_dem__eat(d, "K"))
		;
	while (!d->bad && !sonde_dem__eat(d, "E")) {
		known = false;
		d->is_template = false;
		if (sonde_dem__eat(d, "I")) {
			s = sonde_dem__join(d, s, sonde_dem__arguments(d));
			d->is_template = true;
		} else if (!s.n && sonde_dem__peek(d) == 'S') {
			known = true;
			if (!read_abbreviation(d, &s))
				s = sonde_dem__whole(d, sonde_dem__substitution(d));
		} else if (!s.n && sonde_dem__peek(d) == 'T') {
			s = sonde_dem__whole(d, sonde_dem__type(d));
			known = true;
		} else {
			part = read_unqualified(d, s);
			s = s.n ? sonde_dem__join(d, sonde_dem__joinz(d, s, "::"), part) : part;
		}
		if (!known && sonde_dem__peek(d) != 'E')
			sonde_dem__remember(d, sonde_dem__plain(s));
	}
	return s;
}

static struct sonde_str read_local(struct sonde_dem *d)
{
	struct sonde_str scope = sonde_dem__encoding(d), name;

	if (!sonde_dem__eat(d, "E"))
		sonde_dem__fail(d);
	if (sonde_dem__eat(d, "s"))
		name = SONDE_STR("string literal");
	else
		name = sonde_dem__name(d);
	if (sonde_dem__eat(d, "_")) {
		if (!sonde_dem__eat(d, "_"))
			d->p += d->p < d->end;
		else
			sonde_dem__number(d);
	}
	return sonde_dem__join(d, sonde_dem__joinz(d, scope, "::"), name);
}

struct sonde_str sonde_dem__name(struct sonde_dem *d)
{
	struct sonde_str s = {"", 0};
	bool known = false;

	if (++d->depth > SONDE_DEM_DEPTH)
		sonde_dem__fail(d);
	d->is_template = false;
	if (d->bad)
		return s;
	if (sonde_dem__eat(d, "N")) {
		s = read_nested(d);
		d->depth--;
		return s;
	}
	if (sonde_dem__eat(d, "Z")) {
		s = read_local(d);
	} else if (sonde_dem__eat(d, "St")) {
		s = sonde_dem__join(d, SONDE_STR("std::"), read_unqualified(d, s));
	} else if (sonde_dem__peek(d) == 'S') {
		known = true;
		if (!read_abbreviation(d, &s))
			s = sonde_dem__whole(d, sonde_dem__substitution(d));
	} else {
		s = read_unqualified(d, s);
	}
	if (sonde_dem__peek(d) == 'I') {
		if (!known)
			sonde_dem__remember(d, sonde_dem__plain(s));
		d->p++;
		s = sonde_dem__join(d, s, sonde_dem__arguments(d));
		d->is_template = true;
	}
	d->depth--;
	return s;
}
