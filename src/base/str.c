/* Slices borrow their bytes, buffers own them. A buffer that could not grow keeps what it has and sets `failed`. */
#include "base/str.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sonde_str sonde_str_from(const char *z)
{
	return (struct sonde_str){z, z ? strlen(z) : 0};
}

bool sonde_str_eq(struct sonde_str a, struct sonde_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool sonde_str_is(struct sonde_str a, const char *z)
{
	return sonde_str_eq(a, sonde_str_from(z));
}

int sonde_str_cmp(struct sonde_str a, struct sonde_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c)
		return c;
	return a.n < b.n ? -1 : a.n > b.n;
}

bool sonde_str_starts(struct sonde_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

struct sonde_str sonde_str_base(struct sonde_str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n - 1) : NULL;

	return slash ? (struct sonde_str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

bool sonde_str_ends(struct sonde_str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

bool sonde_str_ends_path(struct sonde_str path, struct sonde_str names)
{
	return names.n && path.n > names.n && path.p[path.n - names.n - 1] == '/' &&
	       memcmp(path.p + path.n - names.n, names.p, names.n) == 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct sonde_str sonde_str_trim(struct sonde_str s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

size_t sonde_str_find(struct sonde_str s, char c)
{
	const char *at = s.n ? memchr(s.p, c, s.n) : NULL;

	return at ? (size_t)(at - s.p) : s.n;
}

struct sonde_str sonde_str_cut(struct sonde_str s, char sep, struct sonde_str *rest)
{
	size_t at = sonde_str_find(s, sep);

	if (at == s.n)
		*rest = (struct sonde_str){NULL, 0};
	else
		*rest = (struct sonde_str){s.p + at + 1, s.n - at - 1};
	return (struct sonde_str){s.p, at};
}

bool sonde_str_has(struct sonde_str s, const char *needle, struct sonde_str *after)
{
	size_t n = strlen(needle);
	const char *at = s.n ? memmem(s.p, s.n, needle, n) : NULL;

	if (at && after)
		*after = (struct sonde_str){at + n, s.n - (size_t)(at - s.p) - n};
	return at != NULL;
}

unsigned sonde_str_distance(struct sonde_str a, struct sonde_str b, unsigned max)
{
	unsigned row[257];
	size_t i, j;

	if (a.n > 256 || b.n > 256)
		return sonde_str_eq(a, b) ? 0 : max + 1;
	for (j = 0; j <= b.n; j++)
		row[j] = (unsigned)j;
	for (i = 1; i <= a.n; i++) {
		unsigned diagonal = row[0], best = row[0] = (unsigned)i;

		for (j = 1; j <= b.n; j++) {
			unsigned above = row[j];
			unsigned cost = diagonal + (a.p[i - 1] != b.p[j - 1]);

			if (above + 1 < cost)
				cost = above + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
			diagonal = above;
			if (cost < best)
				best = cost;
		}
		if (best > max)
			return max + 1;
	}
	return row[b.n] > max ? max + 1 : row[b.n];
}

bool sonde_buf_reserve(struct sonde_buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed)
		return false;
	if (more < b->cap - b->n && b->cap)
		return true;
	if (more > SIZE_MAX / 2 - b->n) {
		b->failed = true;
		return false;
	}
	while (cap <= b->n + more)
		cap *= 2;
	p = sonde_realloc(b->p, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->p = p;
	b->cap = cap;
	return true;
}

void sonde_buf_add(struct sonde_buf *b, const void *p, size_t n)
{
	if (!sonde_buf_reserve(b, n))
		return;
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void sonde_buf_str(struct sonde_buf *b, struct sonde_str s)
{
	sonde_buf_add(b, s.p, s.n);
}

void sonde_buf_puts(struct sonde_buf *b, const char *z)
{
	sonde_buf_add(b, z, strlen(z));
}

void sonde_buf_putc(struct sonde_buf *b, char c)
{
	sonde_buf_add(b, &c, 1);
}

void sonde_buf_vprintf(struct sonde_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || !sonde_buf_reserve(b, (size_t)n)) {
		b->failed = true;
		return;
	}
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

void sonde_buf_printf(struct sonde_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void sonde_buf_clear(struct sonde_buf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = '\0';
}

void sonde_buf_release(struct sonde_buf *b)
{
	sonde_free(b->p);
	*b = (struct sonde_buf){0};
}

struct sonde_str sonde_buf_view(const struct sonde_buf *b)
{
	return (struct sonde_str){b->p, b->n};
}

struct unit {
	const char *name;
	double times;
};

/* Reads a number with one of the units behind it. */
static bool read_amount(struct sonde_str s, const struct unit *units, size_t nr, uint64_t *out)
{
	char text[32], *end;
	double value;
	size_t i;

	if (s.n == 0 || s.n >= sizeof(text) || s.p[0] < '0' || s.p[0] > '9')
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	value = strtod(text, &end);
	for (i = 0; i < nr; i++)
		if (strcmp(end, units[i].name) == 0 && value * units[i].times < 1e18) {
			*out = (uint64_t)(value * units[i].times);
			return *out > 0;
		}
	return false;
}

bool sonde_str_u64(struct sonde_str s, uint64_t *out)
{
	uint64_t v = 0;
	size_t i;

	*out = 0;
	for (i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v, 10u, &v) ||
			__builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return false;
	*out = v;
	return s.n > 0;
}

bool sonde_str_ns(struct sonde_str s, uint64_t *ns)
{
	static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6},
		{"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};

	return read_amount(s, units, sizeof(units) / sizeof(*units), ns);
}

bool sonde_str_bytes(struct sonde_str s, uint64_t *nr_bytes)
{
	static const struct unit units[] = {{"B", 1}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},
		{"GB", 1e9}, {"TB", 1e12}, {"KiB", 1024.0}, {"MiB", 1048576.0},
		{"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};

	return read_amount(s, units, sizeof(units) / sizeof(*units), nr_bytes);
}
