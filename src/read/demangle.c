/*
 * Demangles names of C++ functions (the Itanium ABI) in the style of Nsight's
 * reports: qualifiers first, a blank before `*`, constants with their type,
 * template parameters of the signature as T1, T2 …
 *
 * The grammar is not complete: expressions in template arguments, member pointers
 * and vector types are not supported, and a name with one of them is returned
 * unchanged. The names that kernels have in practice are covered.
 *
 * Each function reads from the cursor and moves it. Text that cannot be read sets `bad`; from then on
 * the results of all functions are meaningless and are dropped at the end, so callers need not check.
 */
#include "read/demangle.h"

#include <string.h>

/*
 * Names come from a file, which may be hostile, and substitutions turn few bytes into long names. Therefore a printed
 * name is at most MAX_GROWTH times as long as the mangled one (real ones: 2 to 5 times), and all the pieces that it
 * is built from take at most MAX_WORK bytes. A name beyond these limits stays mangled.
 */
#define MAX_GROWTH 16u
#define MAX_WORK   (4096u * 1024u)

#define MAX_SUBS   512 /* types that can be substituted */
#define MAX_DEPTH  100
#define MAX_TEXT   65536 /* bytes of a name */

/* A type: the text before a declared name, and the text after it. */
struct dem_type {
	struct sonde_str pre, post;
};

struct dem {
	const char *p, *end;
	struct sonde_arena *arena; /* memory of the pieces */
	size_t max_text;
	struct dem_type subs[MAX_SUBS];
	unsigned nr_subs, depth;
	bool is_template; /* the last name read ends in template arguments */
	bool bad;
};

static char dem_peek(const struct dem *d)
{
	return d->p < d->end ? *d->p : '\0';
}

static bool dem_eat(struct dem *d, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(d->end - d->p) < n || memcmp(d->p, text, n) != 0)
		return false;
	d->p += n;
	return true;
}

static struct dem_type dem_type(struct dem *d);
static struct sonde_str dem_name(struct dem *d);
/* A function with its signature, or only a name. */
static struct sonde_str dem_encoding(struct dem *d);

/* --- the pieces that names are put together from -------------------------------------------------- */

static struct dem_type dem_fail(struct dem *d)
{
	d->bad = true;
	return (struct dem_type){{"", 0}, {"", 0}};
}

static struct sonde_str dem_join(struct dem *d, struct sonde_str a, struct sonde_str b)
{
	char *p;

	if (a.n + b.n > d->max_text || d->arena->nr_bytes > MAX_WORK)
		dem_fail(d);
	p = d->bad ? NULL : sonde_arena_alloc(d->arena, a.n + b.n + 1);
	if (!p) {
		dem_fail(d);
		return a;
	}
	if (a.n)
		memcpy(p, a.p, a.n);
	if (b.n)
		memcpy(p + a.n, b.p, b.n);
	p[a.n + b.n] = '\0';
	return (struct sonde_str){p, a.n + b.n};
}

static struct sonde_str dem_append_text(struct dem *d, struct sonde_str a, const char *b)
{
	return dem_join(d, a, sonde_str_from(b));
}

static struct sonde_str dem_whole(struct dem *d, struct dem_type t)
{
	return t.post.n ? dem_join(d, t.pre, t.post) : t.pre;
}

/* Remembers a type, so that a substitution can refer to it. */
static void dem_remember(struct dem *d, struct dem_type t)
{
	if (d->nr_subs < MAX_SUBS)
		d->subs[d->nr_subs++] = t;
	else
		dem_fail(d);
}

static size_t dem_number(struct dem *d)
{
	size_t v = 0;

	if (dem_peek(d) < '0' || dem_peek(d) > '9')
		dem_fail(d);
	for (; dem_peek(d) >= '0' && dem_peek(d) <= '9' && v < MAX_TEXT; d->p++)
		v = v * 10 + (size_t)(*d->p - '0');
	return v;
}

/* Reads an index: `_` is 0, `0_` is 1; in base 36 `Z_` is 36. */
static size_t dem_index(struct dem *d, unsigned base)
{
	size_t v = 0;

	if (dem_eat(d, "_"))
		return 0;
	for (; dem_peek(d) != '_' && !d->bad; d->p++) {
		char c = dem_peek(d);

		if (c >= '0' && c <= '9')
			v = v * base + (size_t)(c - '0');
		else if (base == 36 && c >= 'A' && c <= 'Z')
			v = v * base + (size_t)(c - 'A') + 10;
		else
			dem_fail(d);
		if (v > MAX_TEXT)
			dem_fail(d);
	}
	d->p += !d->bad;
	return v + 1;
}

static struct dem_type dem_plain(struct sonde_str s)
{
	return (struct dem_type){s, {"", 0}};
}

/* --- names of namespaces, classes, functions, operators, lambdas; with their template arguments ---- */

static struct sonde_str read_identifier(struct dem *d)
{
	size_t n = dem_number(d);
	struct sonde_str s = {d->p, n};

	if (d->bad || n > (size_t)(d->end - d->p) || !n) {
		dem_fail(d);
		return s;
	}
	d->p += n;
	return sonde_str_starts(s, "_GLOBAL__N_") ? SONDE_STR("<unnamed>") : s;
}

/* Reads types up to one of `stops`; returns them separated by commas. */
static struct sonde_str dem_list(struct dem *d, const char *stops)
{
	struct sonde_str list = {"", 0}, one;
	bool first = true;

	if (dem_peek(d) == 'v' && d->p + 1 <= d->end &&
		(d->p + 1 == d->end || strchr(stops, d->p[1]))) {
		d->p++;
		return list;
	}
	while (!d->bad && d->p < d->end && !strchr(stops, dem_peek(d))) {
		one = dem_whole(d, dem_type(d));
		list = first ? one : dem_join(d, dem_append_text(d, list, ", "), one);
		first = false;
	}
	return list;
}

static struct sonde_str read_operator(struct dem *d)
{
	static const char *const names[][2] = {{"cl", "operator()"}, {"ix", "operator[]"},
		{"eq", "operator=="}, {"ne", "operator!="}, {"lt", "operator<"},
		{"gt", "operator>"}, {"pl", "operator+"}, {"mi", "operator-"}, {"ml", "operator*"},
		{"dv", "operator/"}, {"aS", "operator="}, {"ls", "operator<<"},
		{"rs", "operator>>"}, {"pL", "operator+="}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (dem_eat(d, names[i][0]))
			return sonde_str_from(names[i][1]);
	}
	dem_fail(d);
	return SONDE_STR("");
}

static struct sonde_str read_lambda(struct dem *d)
{
	struct sonde_str args = dem_list(d, "E"), s;
	size_t number;

	if (!dem_eat(d, "E"))
		dem_fail(d);
	number = dem_index(d, 10);
	s = sonde_arena_printf(
		d->arena, "[lambda(%.*s) (instance %zu)]", (int)args.n, args.p, number + 1);
	if (!s.p)
		dem_fail(d);
	return s;
}

static struct sonde_str read_unqualified(struct dem *d, struct sonde_str scope)
{
	struct sonde_str s;
	size_t i;

	dem_eat(d, "L");
	if (dem_peek(d) >= '0' && dem_peek(d) <= '9') {
		s = read_identifier(d);
	} else if (dem_eat(d, "Ul")) {
		s = read_lambda(d);
	} else if (dem_eat(d, "Ut")) {
		dem_index(d, 10);
		s = SONDE_STR("<unnamed>");
	} else if (dem_eat(d, "C1") || dem_eat(d, "C2") || dem_eat(d, "D1") ||
		   dem_eat(d, "D2")) {
		for (i = scope.n; i && scope.p[i - 1] != ':'; i--)
			;
		s = (struct sonde_str){scope.p + i, scope.n - i};
		if (d->p[-2] == 'D')
			s = dem_join(d, SONDE_STR("~"), s);
	} else {
		s = read_operator(d);
	}
	while (!d->bad && dem_eat(d, "B"))
		read_identifier(d);
	return s;
}

static struct sonde_str read_literal(struct dem *d)
{
	struct sonde_str type = dem_whole(d, dem_type(d)), value;
	const char *start;

	if (dem_eat(d, "E"))
		return dem_append_text(d, type, "()"); /* nullptr and the like */
	start = d->p;
	while (d->p < d->end && *d->p != 'E')
		d->p++;
	value = (struct sonde_str){start, (size_t)(d->p - start)};
	if (!dem_eat(d, "E"))
		dem_fail(d);
	if (value.n && value.p[0] == 'n')
		value = dem_join(
			d, SONDE_STR("-"), (struct sonde_str){value.p + 1, value.n - 1});
	return dem_join(
		d, dem_append_text(d, dem_join(d, SONDE_STR("("), type), ")"), value);
}

static struct sonde_str read_argument(struct dem *d)
{
	struct sonde_str list = {"", 0}, one;
	bool first = true;

	if (dem_eat(d, "L"))
		return read_literal(d);
	if (!dem_eat(d, "J"))
		return dem_whole(d, dem_type(d));
	while (!d->bad && !dem_eat(d, "E")) {
		one = read_argument(d);
		list = first ? one : dem_join(d, dem_append_text(d, list, ", "), one);
		first = false;
	}
	return list;
}

/* Reads the arguments of a template, after the `I`. */
static struct sonde_str dem_arguments(struct dem *d)
{
	struct sonde_str list = {"<", 1}, one;

	if (++d->depth > MAX_DEPTH)
		dem_fail(d);
	while (!d->bad && !dem_eat(d, "E")) {
		one = read_argument(d);
		if (list.n > 1 && one.n)
			list = dem_append_text(d, list, ", ");
		list = dem_join(d, list, one);
	}
	d->depth--;
	return dem_append_text(d, list, ">");
}

static bool read_abbreviation(struct dem *d, struct sonde_str *out)
{
	static const char *const names[][2] = {{"St", "std"}, {"Sa", "std::allocator"},
		{"Ss", "std::string"}, {"Sb", "std::basic_string"}, {"Si", "std::istream"},
		{"So", "std::ostream"}, {"Sd", "std::iostream"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (dem_eat(d, names[i][0])) {
			*out = sonde_str_from(names[i][1]);
			return true;
		}
	}
	return false;
}

static struct dem_type dem_substitution(struct dem *d)
{
	size_t i;

	if (!dem_eat(d, "S"))
		return dem_fail(d);
	i = dem_index(d, 36);
	return i < d->nr_subs ? d->subs[i] : dem_fail(d);
}

/* Reads a nested name, after the `N`, through its `E`. */
static struct sonde_str read_nested(struct dem *d)
{
	struct sonde_str s = {"", 0}, part;
	bool known;

	while (dem_eat(d, "r") || dem_eat(d, "V") || dem_eat(d, "K"))
		;
	while (!d->bad && !dem_eat(d, "E")) {
		known = false;
		d->is_template = false;
		if (dem_eat(d, "I")) {
			s = dem_join(d, s, dem_arguments(d));
			d->is_template = true;
		} else if (!s.n && dem_peek(d) == 'S') {
			known = true;
			if (!read_abbreviation(d, &s))
				s = dem_whole(d, dem_substitution(d));
		} else if (!s.n && dem_peek(d) == 'T') {
			s = dem_whole(d, dem_type(d));
			known = true;
		} else {
			part = read_unqualified(d, s);
			s = s.n ? dem_join(d, dem_append_text(d, s, "::"), part) : part;
		}
		if (!known && dem_peek(d) != 'E')
			dem_remember(d, dem_plain(s));
	}
	return s;
}

static struct sonde_str read_local(struct dem *d)
{
	struct sonde_str scope = dem_encoding(d), name;

	if (!dem_eat(d, "E"))
		dem_fail(d);
	if (dem_eat(d, "s"))
		name = SONDE_STR("string literal");
	else
		name = dem_name(d);
	if (dem_eat(d, "_")) {
		if (!dem_eat(d, "_"))
			d->p += d->p < d->end;
		else
			dem_number(d);
	}
	return dem_join(d, dem_append_text(d, scope, "::"), name);
}

static struct sonde_str dem_name(struct dem *d)
{
	struct sonde_str s = {"", 0};
	bool known = false;

	if (++d->depth > MAX_DEPTH)
		dem_fail(d);
	d->is_template = false;
	if (d->bad)
		return s;
	if (dem_eat(d, "N")) {
		s = read_nested(d);
		d->depth--;
		return s;
	}
	if (dem_eat(d, "Z")) {
		s = read_local(d);
	} else if (dem_eat(d, "St")) {
		s = dem_join(d, SONDE_STR("std::"), read_unqualified(d, s));
	} else if (dem_peek(d) == 'S') {
		known = true;
		if (!read_abbreviation(d, &s))
			s = dem_whole(d, dem_substitution(d));
	} else {
		s = read_unqualified(d, s);
	}
	if (dem_peek(d) == 'I') {
		if (!known)
			dem_remember(d, dem_plain(s));
		d->p++;
		s = dem_join(d, s, dem_arguments(d));
		d->is_template = true;
	}
	d->depth--;
	return s;
}

/* --- types: builtin ones, pointers and references, arrays, functions, classes ---------------------- */

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

static struct dem_type pointer_to(
	struct dem *d, struct dem_type t, const char *mark)
{
	char last = t.pre.n ? t.pre.p[t.pre.n - 1] : '\0';

	if (last != '*' && last != '&' && last != '(')
		t.pre = dem_append_text(d, t.pre, " ");
	t.pre = dem_append_text(d, t.pre, mark);
	return t;
}

static struct dem_type read_qualified(struct dem *d)
{
	bool is_const = false, is_volatile = false;
	struct dem_type t;
	char last;

	for (;; d->p++) {
		if (dem_peek(d) == 'K')
			is_const = true;
		else if (dem_peek(d) == 'V')
			is_volatile = true;
		else if (dem_peek(d) != 'r')
			break;
	}
	t = dem_type(d);
	last = t.pre.n ? t.pre.p[t.pre.n - 1] : '\0';
	if (last == '*') {
		t.pre = dem_append_text(d, t.pre, is_const ? "const" : "volatile");
		return t;
	}
	if (is_volatile)
		t.pre = dem_join(d, SONDE_STR("volatile "), t.pre);
	if (is_const)
		t.pre = dem_join(d, SONDE_STR("const "), t.pre);
	return t;
}

static struct dem_type read_function_type(struct dem *d)
{
	struct dem_type result;
	struct sonde_str args;

	dem_eat(d, "Y");
	result = dem_type(d);
	args = dem_list(d, "E");
	if (!dem_eat(d, "E"))
		dem_fail(d);
	result.pre = dem_append_text(d, result.pre, " (");
	result.post = dem_join(d,
		dem_append_text(d, dem_join(d, SONDE_STR(")("), args), ")"), result.post);
	return result;
}

static struct dem_type read_array_type(struct dem *d)
{
	const char *start = d->p;
	struct sonde_str size;
	struct dem_type t;

	while (dem_peek(d) >= '0' && dem_peek(d) <= '9')
		d->p++;
	size = (struct sonde_str){start, (size_t)(d->p - start)};
	if (!dem_eat(d, "_"))
		return dem_fail(d);
	t = dem_type(d);
	t.pre = dem_append_text(d, t.pre, " (");
	t.post = dem_join(
		d, dem_append_text(d, dem_join(d, SONDE_STR(")["), size), "]"), t.post);
	return t;
}

static struct dem_type read_parameter(struct dem *d)
{
	struct sonde_str s = sonde_arena_printf(d->arena, "T%zu", dem_index(d, 10) + 1);
	struct dem_type t = dem_plain(s);

	if (!s.p)
		return dem_fail(d);
	dem_remember(d, t);
	if (dem_eat(d, "I")) {
		t = dem_plain(dem_join(d, s, dem_arguments(d)));
		dem_remember(d, t);
	}
	return t;
}

static struct dem_type read_d_type(struct dem *d)
{
	if (dem_eat(d, "Dp"))
		return dem_plain(
			dem_append_text(d, dem_whole(d, dem_type(d)), "..."));
	if (dem_eat(d, "Dn"))
		return dem_plain(SONDE_STR("nullptr_t"));
	if (dem_eat(d, "Dh") || dem_eat(d, "DF16_"))
		return dem_plain(SONDE_STR("__half"));
	if (dem_eat(d, "DF16b"))
		return dem_plain(SONDE_STR("__bf16"));
	if (dem_eat(d, "Di"))
		return dem_plain(SONDE_STR("char32_t"));
	if (dem_eat(d, "Ds"))
		return dem_plain(SONDE_STR("char16_t"));
	return dem_fail(d);
}

/* A class or enumeration, or a substitution with or without arguments. */
static struct dem_type read_class(struct dem *d)
{
	bool is_sub = dem_peek(d) == 'S' && d->p + 1 < d->end && d->p[1] != 't';
	struct dem_type t;

	if (is_sub && strchr("absiod", d->p[1]) == NULL) {
		t = dem_substitution(d);
		if (!dem_eat(d, "I"))
			return t;
		t = dem_plain(
			dem_join(d, dem_whole(d, t), dem_arguments(d)));
		dem_remember(d, t);
		return t;
	}
	t = dem_plain(dem_name(d));
	if (!is_sub || d->is_template)
		dem_remember(d, t);
	return t;
}

static struct dem_type read_type_inner(struct dem *d)
{
	const char *name = builtin(dem_peek(d));
	struct dem_type t;

	if (name) {
		d->p++;
		return dem_plain(sonde_str_from(name));
	}
	switch (dem_peek(d)) {
	case 'K':
	case 'V':
		t = read_qualified(d);
		break;
	case 'P':
		d->p++;
		t = pointer_to(d, dem_type(d), "*");
		break;
	case 'R':
		d->p++;
		t = pointer_to(d, dem_type(d), "&");
		break;
	case 'O':
		d->p++;
		t = pointer_to(d, dem_type(d), "&&");
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
	dem_remember(d, t);
	return t;
}

static struct dem_type dem_type(struct dem *d)
{
	struct dem_type t;

	if (d->bad || ++d->depth > MAX_DEPTH)
		return dem_fail(d);
	t = read_type_inner(d);
	d->depth--;
	return t;
}

/* --- functions with their signature --------------------------------------------------------------- */

static struct sonde_str dem_encoding(struct dem *d)
{
	struct sonde_str s = dem_name(d), args;
	struct dem_type result = {{"", 0}, {"", 0}};

	if (d->p >= d->end || dem_peek(d) == 'E' || dem_peek(d) == '.')
		return s;
	if (d->is_template) {
		result = dem_type(d);
		result.pre = dem_append_text(d, result.pre, " ");
	}
	args = dem_list(d, "E.");
	s = dem_join(d,
		dem_append_text(d, dem_join(d, dem_append_text(d, s, "("), args), ")"),
		result.post);
	return dem_join(d, result.pre, s);
}

struct sonde_str sonde_demangle(struct sonde_arena *arena, struct sonde_str mangled)
{
	struct sonde_arena pieces = {0};
	struct dem d = {.p = mangled.p, .end = mangled.p + mangled.n, .arena = &pieces};
	struct sonde_str s;

	if (!dem_eat(&d, "_Z"))
		return mangled;
	d.max_text =
		mangled.n < MAX_TEXT / MAX_GROWTH ? mangled.n * MAX_GROWTH : MAX_TEXT;
	s = dem_encoding(&d);
	s = d.bad || d.p != d.end ? mangled : sonde_arena_dup(arena, s);
	sonde_arena_release(&pieces);
	return s.p ? s : mangled;
}

struct sonde_str sonde_demangle_function(struct sonde_str full)
{
	size_t i, start = 0, end = full.n, depth = 0;

	for (i = 0; i < full.n; i++) {
		char c = full.p[i];

		if (c == '(' && depth == 0 && i > start)
			break;
		if (c == '<' || c == '(' || c == '[') {
			if (depth++ == 0)
				end = i;
		} else if ((c == '>' || c == ')' || c == ']') && depth) {
			depth--;
		} else if (depth == 0 && (c == ' ' || c == ':')) {
			start = i + 1;
			end = full.n;
		}
	}
	if (i < end)
		end = i;
	if (end <= start || i == full.n)
		return full;
	return (struct sonde_str){full.p + start, end - start};
}
