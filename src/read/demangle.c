/*
 * Names of C++ functions (the Itanium ABI), printed the way Nsight's reports
 * hold them: qualifiers first, a blank before `*`, constants with their type,
 * template parameters of the signature as T1, T2 …
 *
 * Not all of the grammar: expressions in template arguments, member pointers
 * and vector types are left alone, and a name with one of them is returned as
 * it is. What a kernel is called in practice is covered.
 */
#include "read/demangle_int.h"

/*
 * A file decides what its names are, and substitutions let few bytes stand for many: a printed
 * name is at most this many times as long as the mangled one (real ones: 2 to 5 times), and all
 * the pieces it was put together from take at most MAX_WORK bytes. A name beyond stays mangled.
 */
#define MAX_GROWTH 16u
#define MAX_WORK   (4096u * 1024u)

struct sonde_dem_type sonde_dem__fail(struct sonde_dem *d)
{
	d->bad = true;
	return (struct sonde_dem_type){{"", 0}, {"", 0}};
}

struct sonde_str sonde_dem__join(struct sonde_dem *d, struct sonde_str a, struct sonde_str b)
{
	char *p;

	if (a.n + b.n > d->max_text || d->arena->nr_bytes > MAX_WORK)
		sonde_dem__fail(d);
	p = d->bad ? NULL : sonde_arena_alloc(d->arena, a.n + b.n + 1);
	if (!p) {
		sonde_dem__fail(d);
		return a;
	}
	if (a.n)
		memcpy(p, a.p, a.n);
	if (b.n)
		memcpy(p + a.n, b.p, b.n);
	p[a.n + b.n] = '\0';
	return (struct sonde_str){p, a.n + b.n};
}

struct sonde_str sonde_dem__joinz(struct sonde_dem *d, struct sonde_str a, const char *b)
{
	return sonde_dem__join(d, a, sonde_str_from(b));
}

struct sonde_str sonde_dem__whole(struct sonde_dem *d, struct sonde_dem_type t)
{
	return t.post.n ? sonde_dem__join(d, t.pre, t.post) : t.pre;
}

void sonde_dem__remember(struct sonde_dem *d, struct sonde_dem_type t)
{
	if (d->nr_subs < SONDE_DEM_SUBS)
		d->subs[d->nr_subs++] = t;
	else
		sonde_dem__fail(d);
}

size_t sonde_dem__number(struct sonde_dem *d)
{
	size_t v = 0;

	if (sonde_dem__peek(d) < '0' || sonde_dem__peek(d) > '9')
		sonde_dem__fail(d);
	for (; sonde_dem__peek(d) >= '0' && sonde_dem__peek(d) <= '9' && v < SONDE_DEM_TEXT; d->p++)
		v = v * 10 + (size_t)(*d->p - '0');
	return v;
}

size_t sonde_dem__index(struct sonde_dem *d, unsigned base)
{
	size_t v = 0;

	if (sonde_dem__eat(d, "_"))
		return 0;
	for (; sonde_dem__peek(d) != '_' && !d->bad; d->p++) {
		char c = sonde_dem__peek(d);

		if (c >= '0' && c <= '9')
			v = v * base + (size_t)(c - '0');
		else if (base == 36 && c >= 'A' && c <= 'Z')
			v = v * base + (size_t)(c - 'A') + 10;
		else
			sonde_dem__fail(d);
		if (v > SONDE_DEM_TEXT)
			sonde_dem__fail(d);
	}
	d->p += !d->bad;
	return v + 1;
}

struct sonde_dem_type sonde_dem__plain(struct sonde_str s)
{
	return (struct sonde_dem_type){s, {"", 0}};
}

struct sonde_str sonde_dem__encoding(struct sonde_dem *d)
{
	struct sonde_str s = sonde_dem__name(d), args;
	struct sonde_dem_type result = {{"", 0}, {"", 0}};

	if (d->p >= d->end || sonde_dem__peek(d) == 'E' || sonde_dem__peek(d) == '.')
		return s;
	if (d->is_template) {
		result = sonde_dem__type(d);
		result.pre = sonde_dem__joinz(d, result.pre, " ");
	}
	args = sonde_dem__list(d, "E.");
	s = sonde_dem__join(d,
		sonde_dem__joinz(d, sonde_dem__join(d, sonde_dem__joinz(d, s, "("), args), ")"),
		result.post);
	return sonde_dem__join(d, result.pre, s);
}

struct sonde_str sonde_demangle(struct sonde_arena *arena, struct sonde_str mangled)
{
	struct sonde_arena pieces = {0};
	struct sonde_dem d = {.p = mangled.p, .end = mangled.p + mangled.n, .arena = &pieces};
	struct sonde_str s;

	if (!sonde_dem__eat(&d, "_Z"))
		return mangled;
	d.max_text =
		mangled.n < SONDE_DEM_TEXT / MAX_GROWTH ? mangled.n * MAX_GROWTH : SONDE_DEM_TEXT;
	s = sonde_dem__encoding(&d);
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
