#include "read/csv_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void end_row(struct csv_cursor *c)
{
	c->at_row_end = true;
	if (c->p < c->end && *c->p == '\r')
		c->p++;
	if (c->p < c->end && *c->p == '\n')
		c->p++;
}

/* Moves past what follows a cell: a comma, or the end of the row. */
static void end_cell(struct csv_cursor *c)
{
	if (c->p < c->end && *c->p == ',')
		c->p++;
	else
		end_row(c);
}

/*
 * ncu does not double the quotes inside NVTX labels, so a quote ends the cell only before a comma, a line end or the
 * end of the data.
 */
static bool ends_cell(const struct csv_cursor *c, const char *quote)
{
	return quote + 1 == c->end || memchr(",\r\n", quote[1], 3);
}

bool csv_next(struct csv_cursor *c, struct csv_cell *cell)
{
	const char *start = c->p, *q;

	*cell = (struct csv_cell){{start, 0}, false};
	if (c->p >= c->end || c->is_cut)
		return false;
	c->at_row_end = false;
	if (*start != '"') {
		while (c->p < c->end && *c->p != ',' && *c->p != '\n' && *c->p != '\r')
			c->p++;
		cell->raw.n = (size_t)(c->p - start);
		end_cell(c);
		return true;
	}
	for (q = start + 1; q < c->end; q++) {
		q = memchr(q, '"', (size_t)(c->end - q));
		if (!q)
			break;
		if (q + 1 < c->end && q[1] == '"') {
			cell->has_quotes = true;
			q++;
		} else if (ends_cell(c, q)) {
			cell->raw = (struct sonde_str){start + 1, (size_t)(q - start - 1)};
			c->p = q + 1;
			end_cell(c);
			return true;
		}
	}
	c->is_cut = true;
	return false;
}

/*
 * Copies the cell's text to `p`, with single quotes for doubled ones. `p` has room for cell->raw.n bytes; NULL = out
 * of memory.
 */
static struct sonde_str unquote(char *p, const struct csv_cell *cell)
{
	size_t i, nr = 0;

	if (!p)
		return (struct sonde_str){NULL, 0};
	for (i = 0; i < cell->raw.n; i++) {
		p[nr++] = cell->raw.p[i];
		if (cell->raw.p[i] == '"' && i + 1 < cell->raw.n && cell->raw.p[i + 1] == '"')
			i++;
	}
	return (struct sonde_str){p, nr};
}

struct sonde_str csv_text(struct sonde_arena *a, const struct csv_cell *cell)
{
	return cell->has_quotes ? unquote(sonde_arena_alloc(a, cell->raw.n), cell) : cell->raw;
}

struct sonde_str csv_text_in(struct sonde_buf *scratch, const struct csv_cell *cell)
{
	if (!cell->has_quotes)
		return cell->raw;
	sonde_buf_clear(scratch);
	return unquote(sonde_buf_reserve(scratch, cell->raw.n) ? scratch->p : NULL, cell);
}

double csv_number(struct sonde_str text)
{
	char buf[64], *end;
	size_t i, nr = 0;
	double v;

	if (text.n == 0 || text.n >= sizeof(buf))
		return NAN;
	for (i = 0; i < text.n; i++) {
		if (!text.p[i] || !strchr("0123456789+-.eE,", text.p[i]))
			return NAN;
		if (text.p[i] != ',')
			buf[nr++] = text.p[i];
	}
	buf[nr] = '\0';
	v = strtod(buf, &end);
	return nr && *end == '\0' && isfinite(v) ? v : NAN;
}

bool csv_is_missing(struct sonde_str text)
{
	static const char *const words[] = {"", "n/a", "N/A", "no data", "nan", "-nan", "inf"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (sonde_str_is(text, words[i]))
			return true;
	return false;
}

/* Units of time, in the spellings of all versions of ncu. */
static const struct {
	const char *name;
	double ns;
} times[] = {
	{"ns", 1},
	{"nsecond", 1},
	{"us", 1e3},
	{"usecond", 1e3},
	{"ms", 1e6},
	{"msecond", 1e6},
	{"s", 1e9},
	{"sec", 1e9},
	{"second", 1e9},
};

static double time_ns(struct sonde_str unit)
{
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (sonde_str_is(unit, times[i].name))
			return times[i].ns;
	return 0;
}

/* Kbyte, Mhz, Ginst … are decimal multiples; GPC and SM are not multiples of anything. */
static double cut_prefix(struct sonde_str *unit)
{
	static const char letters[] = "KMGTP";
	const char *at = unit->n > 2 && unit->p[0] ? strchr(letters, unit->p[0]) : NULL;
	size_t i;

	for (i = 1; at && i < unit->n; i++)
		if (unit->p[i] < 'a' || unit->p[i] > 'z')
			return 1;
	if (!at)
		return 1;
	unit->p++;
	unit->n--;
	return pow(1000, (double)(at - letters + 1));
}

double csv_unit(struct sonde_arena *a, struct sonde_str unit, struct sonde_str *base)
{
	struct sonde_str below, above = sonde_str_cut(unit, '/', &below);
	double factor = cut_prefix(&above), ns = time_ns(above);

	if (ns > 0) {
		factor *= ns;
		above = SONDE_STR("ns");
	}
	ns = time_ns(below);
	if (ns > 0) { /* rates are per second */
		factor *= 1e9 / ns;
		below = SONDE_STR("s");
	}
	*base = below.n ? sonde_arena_printf(
				  a, "%.*s/%.*s", SONDE_STR_ARG(above), SONDE_STR_ARG(below))
			: above;
	return factor;
}
