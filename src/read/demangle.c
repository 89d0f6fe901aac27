/*
 * Names of C++ functions (the Itanium ABI), printed the way Nsight's reports
 * hold them: qualifiers first, a blank before `*`, constants with their type,
 * template parameters of the signature as T1, T2 …
 *
 * Not all of the grammar: expressions in template arguments, member pointers
 * and vector types are left alone, and a name with one of them is returned as
 * it is. What a kernel is called in practice is covered.
 */
#include "read/demangle.h"

#include <string.h>

#define MAX_DEPTH 100
#define MAX_SUBS  512
#define MAX_TEXT  65536
/*
 * A file decides what its names are, and substitutions let few bytes stand for many: a printed
 * name is at most this many times as long as the mangled one (real ones: 2 to 5 times), and all
 * the pieces it was put together from take at most MAX_WORK bytes. A name beyond stays mangled.
 */
#define MAX_GROWTH 16u
#define MAX_WORK   (4096u * 1024u)

/* A type is what stands before and what stands after a declared name. */
struct type {
	struct sonde_str pre, post;
};

struct dem {
	const char *p, *end;
	struct sonde_arena *arena; /* of the pieces */
	size_t max_text;
	struct type subs[MAX_SUBS];
	unsigned nr_subs, depth;
	bool is_template; /* the last name read ends in template arguments */
	bool bad;
};

static struct type read_type(struct dem *d);
static struct sonde_str read_name(struct dem *d);
static struct sonde_str read_encoding(struct dem *d);

static struct type fail(struct dem *d)
{
	d->bad = true;
	return (struct type){{"", 0}, {"", 0}};
}

static char peek(const struct dem *d)
{
	return d->p < d->end ? *d->p : '\0';
}

static bool eat(struct dem *d, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(d->end - d->p) < n || memcmp(d->p, text, n) != 0)
		return false;
	d->p += n;
	return true;
}

static struct sonde_str join(struct dem *d, struct sonde_str a, struct sonde_str b)
{
	char *p;

	if (a.n + b.n > d->max_text || d->arena->nr_bytes > MAX_WORK)
		fail(d);
	p = d->bad ? NULL : sonde_arena_alloc(d->arena, a.n + b.n + 1);
	if (!p) {
		fail(d);
		return a;
	}
	if (a.n)
		memcpy(p, a.p, a.n);
	if (b.n)
		memcpy(p + a.n, b.p, b.n);
	p[a.n + b.n] = '\0';
	return (struct sonde_str){p, a.n + b.n};
}

static struct sonde_str joinz(struct dem *d, struct sonde_str a, const char *b)
{
	return join(d, a, sonde_str_from(b));
}

static struct sonde_str whole(struct dem *d, struct type t)
{
	return t.post.n ? join(d, t.pre, t.post) : t.pre;
}

static void remember(struct dem *d, struct type t)
{
	if (d->nr_subs < MAX_SUBS)
		d->subs[d->nr_subs++] = t;
	else
		fail(d);
}

static size_t read_number(struct dem *d)
{
	size_t v = 0;

	if (peek(d) < '0' || peek(d) > '9')
		fail(d);
	for (; peek(d) >= '0' && peek(d) <= '9' && v < MAX_TEXT; d->p++)
		v = v * 10 + (size_t)(*d->p - '0');
	return v;
}

/* `_` is 0, `0_` is 1, `Z_` is 36 (base 36 where `wide`). */
static size_t read_index(struct dem *d, unsigned base)
{
	size_t v = 0;

	if (eat(d, "_"))
		return 0;
	for (; peek(d) != '_' && !d->bad; d->p++) {
		char c = peek(d);

		if (c >= '0' && c <= '9')
			v = v * base + (size_t)(c - '0');
		else if (base == 36 && c >= 'A' && c <= 'Z')
			v = v * base + (size_t)(c - 'A') + 10;
		else
			fail(d);
		if (v > MAX_TEXT)
			fail(d);
	}
	d->p += !d->bad;
	return v + 1;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct sonde_str read_source(struct dem *d)
{
	size_t n = read_number(d);
	struct sonde_str s = {d->p, n};

	if (d->bad || n > (size_t)(d->end - d->p) || !n) {
		fail(d);
		return s;
	}
	d->p += n;
	return sonde_str_starts(s, "_GLOBAL__N_") ? SONDE_STR("<unnamed>") : s;
}

static struct sonde_str read_list(struct dem *d, const char *stops)
{
	struct sonde_str list = {"", 0}, one;
	bool first = true;

	if (peek(d) == 'v' && d->p + 1 <= d->end &&
		(d->p + 1 == d->end || strchr(stops, d->p[1]))) {
		d->p++;
		return list;
	}
	while (!d->bad && d->p < d->end && !strchr(stops, peek(d))) {
		one = whole(d, read_type(d));
		list = first ? one : join(d, joinz(d, list, ", "), one);
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
		if (eat(d, names[i][0]))
			return sonde_str_from(names[i][1]);
	}
	fail(d);
	return SONDE_STR("");
}

static struct sonde_str read_lambda(struct dem *d)
{
	struct sonde_str args = read_list(d, "E"), s;
	size_t number;

	if (!eat(d, "E"))
		fail(d);
	number = read_index(d, 10);
	s = sonde_arena_printf(
		d->arena, "[lambda(%.*s) (instance %zu)]", (int)args.n, args.p, number + 1);
	if (!s.p)
		fail(d);
	return s;
}

static struct sonde_str read_unqualified(struct dem *d, struct sonde_str scope)
{
	struct sonde_str s;
	size_t i;

	eat(d, "L");
	if (peek(d) >= '0' && peek(d) <= '9') {
		s = read_source(d);
	} else if (eat(d, "Ul")) {
		s = read_lambda(d);
	} else if (eat(d, "Ut")) {
		read_index(d, 10);
		s = SONDE_STR("<unnamed>");
	} else if (eat(d, "C1") || eat(d, "C2") || eat(d, "D1") || eat(d, "D2")) {
		for (i = scope.n; i && scope.p[i - 1] != ':'; i--)
			;
		s = (struct sonde_str){scope.p + i, scope.n - i};
		if (d->p[-2] == 'D')
			s = join(d, SONDE_STR("~"), s);
	} else {
		s = read_operator(d);
	}
	while (!d->bad && eat(d, "B"))
		read_source(d);
	return s;
}

static struct sonde_str read_literal(struct dem *d)
{
	struct sonde_str type = whole(d, read_type(d)), value;
	const char *start;

	if (eat(d, "E"))
		return joinz(d, type, "()"); /* nullptr and the like */
	start = d->p;
	while (d->p < d->end && *d->p != 'E')
		d->p++;
	value = (struct sonde_str){start, (size_t)(d->p - start)};
	if (!eat(d, "E"))
		fail(d);
	if (value.n && value.p[0] == 'n')
		value = join(d, SONDE_STR("-"), (struct sonde_str){value.p + 1, value.n - 1});
	return join(d, joinz(d, join(d, SONDE_STR("("), type), ")"), value);
}

static struct sonde_str read_argument(struct dem *d)
{
	struct sonde_str list = {"", 0}, one;
	bool first = true;

	if (eat(d, "L"))
		return read_literal(d);
	if (!eat(d, "J"))
		return whole(d, read_type(d));
	while (!d->bad && !eat(d, "E")) {
		one = read_argument(d);
		list = first ? one : join(d, joinz(d, list, ", "), one);
		first = false;
	}
	return list;
}

/* After the `I`. */
static struct sonde_str read_arguments(struct dem *d)
{
	struct sonde_str list = {"<", 1}, one;

	if (++d->depth > MAX_DEPTH)
		fail(d);
	while (!d->bad && !eat(d, "E")) {
		one = read_argument(d);
		if (list.n > 1 && one.n)
			list = joinz(d, list, ", ");
		list = join(d, list, one);
	}
	d->depth--;
	return joinz(d, list, ">");
}

static bool read_abbreviation(struct dem *d, struct sonde_str *out)
{
	static const char *const names[][2] = {{"St", "std"}, {"Sa", "std::allocator"},
		{"Ss", "std::string"}, {"Sb", "std::basic_string"}, {"Si", "std::istream"},
		{"So", "std::ostream"}, {"Sd", "std::iostream"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (eat(d, names[i][0])) {
			*out = sonde_str_from(names[i][1]);
			return true;
		}
	}
	return false;
}

static struct type read_substitution(struct dem *d)
{
	size_t i;

	if (!eat(d, "S"))
		return fail(d);
	i = read_index(d, 36);
	return i < d->nr_subs ? d->subs[i] : fail(d);
}

static struct type plain(struct sonde_str s)
{
	return (struct type){s, {"", 0}};
}

/* After the `N`, up to and with its `E`. */
static struct sonde_str read_nested(struct dem *d)
{
	struct sonde_str s = {"", 0}, part;
	bool known;

	while (eat(d, "r") || eat(d, "V") || eat(d, "K"))
		;
	while (!d->bad && !eat(d, "E")) {
		known = false;
		d->is_template = false;
		if (eat(d, "I")) {
			s = join(d, s, read_arguments(d));
			d->is_template = true;
		} else if (!s.n && peek(d) == 'S') {
			known = true;
			if (!read_abbreviation(d, &s))
				s = whole(d, read_substitution(d));
		} else if (!s.n && peek(d) == 'T') {
			s = whole(d, read_type(d));
			known = true;
		} else {
			part = read_unqualified(d, s);
			s = s.n ? join(d, joinz(d, s, "::"), part) : part;
		}
		if (!known && peek(d) != 'E')
			remember(d, plain(s));
	}
	return s;
}

static struct sonde_str read_local(struct dem *d)
{
	struct sonde_str scope = read_encoding(d), name;

	if (!eat(d, "E"))
		fail(d);
	if (eat(d, "s"))
		name = SONDE_STR("string literal");
	else
		name = read_name(d);
	if (eat(d, "_")) {
		if (!eat(d, "_"))
			d->p += d->p < d->end;
		else
			read_number(d);
	}
	return join(d, joinz(d, scope, "::"), name);
}

static struct sonde_str read_name(struct dem *d)
{
	struct sonde_str s = {"", 0};
	bool known = false;

	if (++d->depth > MAX_DEPTH)
		fail(d);
	d->is_template = false;
	if (d->bad)
		return s;
	if (eat(d, "N")) {
		s = read_nested(d);
		d->depth--;
		return s;
	}
	if (eat(d, "Z")) {
		s = read_local(d);
	} else if (eat(d, "St")) {
		s = join(d, SONDE_STR("std::"), read_unqualified(d, s));
	} else if (peek(d) == 'S') {
		known = true;
		if (!read_abbreviation(d, &s))
			s = whole(d, read_substitution(d));
	} else {
		s = read_unqualified(d, s);
	}
	if (peek(d) == 'I') {
		if (!known)
			remember(d, plain(s));
		d->p++;
		s = join(d, s, read_arguments(d));
		d->is_template = true;
	}
	d->depth--;
	return s;
}

/* --- types ------------------------------------------------------------------------------------ */

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

static struct type pointer_to(struct dem *d, struct type t, const char *mark)
{
	char last = t.pre.n ? t.pre.p[t.pre.n - 1] : '\0';

	if (last != '*' && last != '&' && last != '(')
		t.pre = joinz(d, t.pre, " ");
	t.pre = joinz(d, t.pre, mark);
	return t;
}

static struct type read_qualified(struct dem *d)
{
	bool is_const = false, is_volatile = false;
	struct type t;
	char last;

	for (;; d->p++) {
		if (peek(d) == 'K')
			is_const = true;
		else if (peek(d) == 'V')
			is_volatile = true;
		else if (peek(d) != 'r')
			break;
	}
	t = read_type(d);
	last = t.pre.n ? t.pre.p[t.pre.n - 1] : '\0';
	if (last == '*') {
		t.pre = joinz(d, t.pre, is_const ? "const" : "volatile");
		return t;
	}
	if (is_volatile)
		t.pre = join(d, SONDE_STR("volatile "), t.pre);
	if (is_const)
		t.pre = join(d, SONDE_STR("const "), t.pre);
	return t;
}

static struct type read_function_type(struct dem *d)
{
	struct type result;
	struct sonde_str args;

	eat(d, "Y");
	result = read_type(d);
	args = read_list(d, "E");
	if (!eat(d, "E"))
		fail(d);
	result.pre = joinz(d, result.pre, " (");
	result.post = join(d, joinz(d, join(d, SONDE_STR(")("), args), ")"), result.post);
	return result;
}

static struct type read_array_type(struct dem *d)
{
	const char *start = d->p;
	struct sonde_str size;
	struct type t;

	while (peek(d) >= '0' && peek(d) <= '9')
		d->p++;
	size = (struct sonde_str){start, (size_t)(d->p - start)};
	if (!eat(d, "_"))
		return fail(d);
	t = read_type(d);
	t.pre = joinz(d, t.pre, " (");
	t.post = join(d, joinz(d, join(d, SONDE_STR(")["), size), "]"), t.post);
	return t;
}

static struct type read_parameter(struct dem *d)
{
	struct sonde_str s = sonde_arena_printf(d->arena, "T%zu", read_index(d, 10) + 1);
	struct type t = plain(s);

	if (!s.p)
		return fail(d);
	remember(d, t);
	if (eat(d, "I")) {
		t = plain(join(d, s, read_arguments(d)));
		remember(d, t);
	}
	return t;
}

static struct type read_d_type(struct dem *d)
{
	if (eat(d, "Dp"))
		return plain(joinz(d, whole(d, read_type(d)), "..."));
	if (eat(d, "Dn"))
		return plain(SONDE_STR("nullptr_t"));
	if (eat(d, "Dh") || eat(d, "DF16_"))
		return plain(SONDE_STR("__half"));
	if (eat(d, "DF16b"))
		return plain(SONDE_STR("__bf16"));
	if (eat(d, "Di"))
		return plain(SONDE_STR("char32_t"));
	if (eat(d, "Ds"))
		return plain(SONDE_STR("char16_t"));
	return fail(d);
}

/* A class or enumeration, or a substitution with or without arguments. */
static struct type read_class(struct dem *d)
{
	bool is_sub = peek(d) == 'S' && d->p + 1 < d->end && d->p[1] != 't';
	struct type t;

	if (is_sub && strchr("absiod", d->p[1]) == NULL) {
		t = read_substitution(d);
		if (!eat(d, "I"))
			return t;
		t = plain(join(d, whole(d, t), read_arguments(d)));
		remember(d, t);
		return t;
	}
	t = plain(read_name(d));
	if (!is_sub || d->is_template)
		remember(d, t);
	return t;
}

static struct type read_type_inner(struct dem *d)
{
	const char *name = builtin(peek(d));
	struct type t;

	if (name) {
		d->p++;
		return plain(sonde_str_from(name));
	}
	switch (peek(d)) {
	case 'K':
	case 'V':
		t = read_qualified(d);
		break;
	case 'P':
		d->p++;
		t = pointer_to(d, read_type(d), "*");
		break;
	case 'R':
		d->p++;
		t = pointer_to(d, read_type(d), "&");
		break;
	case 'O':
		d->p++;
		t = pointer_to(d, read_type(d), "&&");
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
	remember(d, t);
	return t;
}

static struct type read_type(struct dem *d)
{
	struct type t;

	if (d->bad || ++d->depth > MAX_DEPTH)
		return fail(d);
	t = read_type_inner(d);
	d->depth--;
	return t;
}

/* A function with its signature, or only a name. */
static struct sonde_str read_encoding(struct dem *d)
{
	struct sonde_str s = read_name(d), args;
	struct type result = {{"", 0}, {"", 0}};

	if (d->p >= d->end || peek(d) == 'E' || peek(d) == '.')
		return s;
	if (d->is_template) {
		result = read_type(d);
		result.pre = joinz(d, result.pre, " ");
	}
	args = read_list(d, "E.");
	s = join(d, joinz(d, join(d, joinz(d, s, "("), args), ")"), result.post);
	return join(d, result.pre, s);
}

struct sonde_str sonde_demangle(struct sonde_arena *arena, struct sonde_str mangled)
{
	struct sonde_arena pieces = {0};
	struct dem d = {.p = mangled.p, .end = mangled.p + mangled.n, .arena = &pieces};
	struct sonde_str s;

	if (!eat(&d, "_Z"))
		return mangled;
	d.max_text = mangled.n < MAX_TEXT / MAX_GROWTH ? mangled.n * MAX_GROWTH : MAX_TEXT;
	s = read_encoding(&d);
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
	if (end <= start)
		return full;
	return (struct sonde_str){full.p + start, end - start};
}
