/* Tables for people: columns that give way on a narrow terminal, names that are cut so that they stay different. */
#include "export/table.h"

#include "base/escape.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A name that was cut: its beginning, dots, and another part of it, which may end in dots too. */
struct cut_name {
	struct sonde_str begin, rest;
	bool is_rest_cut;
};

/* Names that begin alike often end differently, so a third of the room is for the end. */
static struct cut_name cut_in_the_middle(const struct sonde_cell_text *cell, size_t room)
{
	size_t lines = sonde_width((struct sonde_str){cell->text.p, cell->nr_dim});
	struct cut_name c = {
		.rest = sonde_width_end(cell->text, lines < room ? (room - lines) / 3 : 0)};

	c.begin = sonde_width_cut(cell->text, room - sonde_width(c.rest));
	return c;
}

static size_t word_begin(struct sonde_str s, size_t i)
{
	while (i && (isalnum((unsigned char)s.p[i - 1]) || (s.p[i - 1] & 0x80)))
		i--;
	return i;
}

/* Where the word begins in which two names first differ; 0 if `a` is a beginning of `b`, so that no word is its own. */
static size_t first_difference(struct sonde_str a, struct sonde_str b)
{
	size_t i;

	for (i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
		;
	return i < a.n ? word_begin(a, i) : 0;
}

/* The same for a reader: a number comes with the word before it. */
static size_t with_its_word(struct sonde_str a, size_t i)
{
	return i && i < a.n && isdigit((unsigned char)a.p[i]) ? word_begin(a, i - 1) : i;
}

#define LEAST_BEGIN 4 /* shortest beginning of a cut name: less says nothing */
#define NEIGHBOURS 64 /* rows above and below that are searched for the same name */

/* The first difference from a name nearby that would be cut to the same text; 0 = there is none. */
static size_t differs_at(const struct sonde_table *t, size_t cell, size_t room)
{
	const struct sonde_cell_text *own = &t->cells.at[cell];
	struct cut_name c = cut_in_the_middle(own, room);
	size_t reach = NEIGHBOURS * t->columns.nr,
	       i = cell > reach ? cell - reach : cell % t->columns.nr;

	for (; i < t->cells.nr && i <= cell + reach; i += t->columns.nr) {
		const struct sonde_cell_text *other = &t->cells.at[i];
		struct cut_name o = cut_in_the_middle(other, room);

		if (i != cell && !sonde_str_eq(own->text, other->text) &&
			sonde_str_eq(c.begin, o.begin) && sonde_str_eq(c.rest, o.rest))
			return first_difference(own->text, other->text);
	}
	return 0;
}

/* Cuts the name in a cell to `room`, dots not included, so that names nearby stay different. */
static struct cut_name cut_name_to(
	const struct sonde_table *t, size_t cell, size_t room, size_t nr_dots)
{
	const struct sonde_cell_text *own = &t->cells.at[cell];
	struct cut_name c = cut_in_the_middle(own, room);
	const size_t word = differs_at(t, cell, room), lines = sonde_width((struct sonde_str){own->text.p, own->nr_dim}),
		     third = (room > lines ? room - lines : 0) / 3;
	size_t at = with_its_word(own->text, word), spare;
	struct sonde_str tail, begin;

	if (!word || room < lines + 3 * nr_dots)
		return c;
	if (at <= sonde_width_cut(own->text, lines + third).n) /* a number inside one long word */
		at = word;
	tail = (struct sonde_str){own->text.p + at, own->text.n - at};
	spare = room - lines > sonde_width(tail) ? room - lines - sonde_width(tail) : 0;
	begin = sonde_width_cut(own->text, lines + (spare >= LEAST_BEGIN && spare < third ? spare : third));
	if (at <= begin.n) /* one long word */
		return c;
	c.begin = begin;
	room -= sonde_width(c.begin);
	c.is_rest_cut = sonde_width(tail) > room;
	c.rest = c.is_rest_cut ? sonde_width_cut(tail, room - nr_dots) : tail;
	return c;
}

/* A name of the first column as it is printed. */
struct shown_name {
	struct sonde_str text;
	size_t nr_begin; /* bytes before the first dots */
};

struct shown_names {
	struct sonde_table *t;
	struct sonde_map taken;	      /* the texts that are shown … */
	SONDE_VEC(struct sonde_str) owners; /* … and the name that each of them is for */
	SONDE_VEC(struct shown_name) at;    /* by row */
	size_t room, number; /* room for a name without its dots; the last number that distinguished names */
	const char *dots;
};

/* Takes this text for the name. False if it is taken by another name. */
static bool take_text(struct shown_names *s, const struct sonde_cell_text *own, struct sonde_str text)
{
	uint32_t n = sonde_map_find(&s->taken, text);

	if (n != SONDE_NONE)
		return sonde_str_eq(s->owners.at[n], own->text);
	if (sonde_map_add(&s->taken, text, NULL) == SONDE_NONE || !sonde_vec_put(&s->owners, own->text))
		s->t->failed = true;
	return true;
}

static bool take_cut(struct shown_names *s, const struct sonde_cell_text *own, struct cut_name c, const char *mark)
{
	struct sonde_buf b = {0};
	struct sonde_str text;

	sonde_buf_str(&b, c.begin);
	sonde_buf_puts(&b, s->dots);
	sonde_buf_str(&b, c.rest);
	sonde_buf_puts(&b, c.is_rest_cut ? s->dots : mark);
	text = sonde_arena_dup(&s->t->arena, sonde_buf_view(&b));
	s->t->failed |= b.failed || !text.p;
	sonde_buf_release(&b);
	if (s->t->failed)
		return true;
	s->at.at[s->at.nr - 1] = (struct shown_name){text, c.begin.n};
	return take_text(s, own, text);
}

/*
 * Cuts a name differently if it would look like another one: with more of its end, or another part of its middle. Names
 * whose difference does not fit get a number.
 */
static void cut_otherwise(struct shown_names *s, const struct sonde_cell_text *own, size_t nr_dots)
{
	const size_t lines = sonde_width((struct sonde_str){own->text.p, own->nr_dim}),
		     free = s->room > lines ? s->room - lines : 0, part = free > free / 3 + nr_dots ? free - free / 3 - nr_dots : 0;
	struct cut_name c = {.begin = sonde_width_cut(own->text, lines + free / 3)};
	char mark[24];
	size_t at;

	c.rest = sonde_width_end(own->text, free - free / 3);
	if (part && take_cut(s, own, c, ""))
		return;
	c.is_rest_cut = true;
	for (at = c.rest.n ? (size_t)(c.rest.p - own->text.p) : 0; part && at > c.begin.n;) {
		size_t before = at;

		at = word_begin(own->text, at - 1);
		if (at <= c.begin.n || at == before)
			break;
		c.rest = sonde_width_cut((struct sonde_str){own->text.p + at, own->text.n - at}, part);
		if (take_cut(s, own, c, ""))
			return;
	}
	do {
		size_t n = (size_t)snprintf(mark, sizeof(mark), "(%zu)", ++s->number);

		c = (struct cut_name){.begin = sonde_width_cut(own->text, s->room > n ? s->room - n : 0)};
	} while (!take_cut(s, own, c, mark));
}

/* Chooses the text that is shown for each name, so that no two different ones look the same. */
static bool choose_names(struct shown_names *s)
{
	struct sonde_table *t = s->t;
	const size_t width = t->columns.at[0].width, nr_dots = t->is_utf8 ? 1 : 3;
	size_t i;

	s->dots = t->is_utf8 ? "\u2026" : "...";
	s->room = width > nr_dots ? width - nr_dots : 0;
	for (i = 0; i + t->columns.nr <= t->cells.nr; i += t->columns.nr)
		if (sonde_width(t->cells.at[i].text) <= width)
			take_text(s, &t->cells.at[i], t->cells.at[i].text);
	for (i = 0; i + t->columns.nr <= t->cells.nr && !t->failed; i += t->columns.nr) {
		const struct sonde_cell_text *own = &t->cells.at[i];

		if (!sonde_vec_put(&s->at, (struct shown_name){own->text, own->text.n}))
			t->failed = true;
		else if (sonde_width(own->text) > width && !take_cut(s, own, cut_name_to(t, i, s->room, nr_dots), ""))
			cut_otherwise(s, own, nr_dots);
	}
	return !t->failed;
}

static void release_names(struct shown_names *s)
{
	sonde_map_release(&s->taken);
	sonde_vec_release(&s->owners);
	sonde_vec_release(&s->at);
}

#define GAP 2

void sonde_style_on(struct sonde_sink *to, uint8_t style, bool is_coloured)
{
	static const char *const codes[] = {[SONDE_STYLE_BOLD] = "\033[1m",
		[SONDE_STYLE_DIM] = "\033[2m",
		[SONDE_STYLE_BAR] = "\033[36m",
		[SONDE_STYLE_COMPUTE] = "\033[32m",
		[SONDE_STYLE_MEMORY] = "\033[35m",
		[SONDE_STYLE_LATENCY] = "\033[33m"};

	if (is_coloured && style != SONDE_STYLE_PLAIN)
		sonde_sink_puts(to, codes[style]);
}

void sonde_style_off(struct sonde_sink *to, uint8_t style, bool is_coloured)
{
	if (is_coloured && style != SONDE_STYLE_PLAIN)
		sonde_sink_puts(to, "\033[0m");
}

void sonde_table_column(struct sonde_table *t, struct sonde_str head, bool is_right, unsigned drop)
{
	struct sonde_table_column c = {sonde_arena_dup(&t->arena, head), .is_right = is_right, .drop = drop};

	if (!c.head.p || !sonde_vec_put(&t->columns, c))
		t->failed = true;
}

void sonde_table_least_head(struct sonde_table *t, size_t width)
{
	if (t->columns.nr)
		t->columns.at[t->columns.nr - 1].least_head = width;
}

void sonde_table_heads(struct sonde_table *t, const char *const *heads)
{
	for (; *heads; heads++) {
		bool is_right = **heads == '>';
		unsigned drop = (unsigned)(*heads)[is_right] - '0';

		sonde_table_column(t, sonde_str_from(*heads + is_right + 1), is_right, drop);
	}
}

void sonde_table_name(struct sonde_table *t, struct sonde_str name)
{
	if (t->escape)
		t->escape(&t->cell, name);
	else
		sonde_escape_terminal(&t->cell, name, t->is_utf8);
}

size_t sonde_table_label(struct sonde_table *t, struct sonde_str domain, struct sonde_str label)
{
	size_t before;

	if (domain.p) {
		sonde_table_name(t, domain);
		sonde_buf_putc(&t->cell, '@');
	}
	before = t->cell.n;
	sonde_table_name(t, label.n ? label : SONDE_STR("\"\""));
	return before;
}

void sonde_table_region(struct sonde_table *t, struct sonde_str id, enum sonde_region_kind kind)
{
	sonde_table_name(t, sonde_region_path(id, kind));
	sonde_buf_puts(&t->cell, sonde_region_kind_mark(kind));
}

void sonde_table_put_dim(struct sonde_table *t, uint8_t style, size_t nr_dim)
{
	struct sonde_str copy = sonde_arena_dup(&t->arena, sonde_buf_view(&t->cell));

	if (!copy.p || t->cell.failed ||
		!sonde_vec_put(&t->cells, (struct sonde_cell_text){copy, nr_dim, style, false}))
		t->failed = true;
	sonde_buf_clear(&t->cell);
}

void sonde_table_put(struct sonde_table *t, uint8_t style)
{
	sonde_table_put_dim(t, style, 0);
}

void sonde_table_text(struct sonde_table *t, struct sonde_str name, uint8_t style)
{
	sonde_table_name(t, name);
	sonde_table_put(t, style);
}

void sonde_table_words(struct sonde_table *t, const char *words)
{
	sonde_buf_puts(&t->cell, words);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

void sonde_table_number(struct sonde_table *t, double v, int decimals, const char *unit)
{
	if (isnan(v))
		sonde_buf_putc(&t->cell, '-');
	else
		sonde_buf_printf(&t->cell, "%.*f%s", decimals, v, unit);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

/* --- times ------------------------------------------------------------------------------------ */

void sonde_scale_add(struct sonde_scale *s, double ms)
{
	if (ms >= 1e-6 && (s->least == 0 || ms < s->least))
		s->least = ms;
	if (ms > s->most)
		s->most = ms;
}

/*
 * Chooses decimals for three digits of the smallest time, as long as the largest stays readable: more decimals than
 * usual only up to six digits, so that wide columns leave room for the metrics.
 */
static uint8_t choose_decimals(const struct sonde_scale *s)
{
	double least = s->least * s->per_ms, most = s->most * s->per_ms;
	uint8_t n = s->per_ms > 1 ? 1 : 3;

	while (n < 6 && least > 0 && least < pow(10, 2 - n) && most < pow(10, 5 - n))
		n++;
	while (n > 1 && most >= pow(10, 8 - n))
		n--;
	return n;
}

void sonde_scale_choose(struct sonde_scale *s, double most_ms, bool is_utf8)
{
	s->per_ms = most_ms >= 10000 ? 1e-3 : most_ms > 0 && most_ms < 1 ? 1e3 : 1;
	s->unit = s->per_ms < 1 ? "s" : s->per_ms == 1 ? "ms" : is_utf8 ? "\u00b5s" : "us";
	s->decimals = choose_decimals(s);
}

void sonde_scale_print(struct sonde_buf *to, const struct sonde_scale *s, double ms)
{
	if (isnan(ms))
		sonde_buf_putc(to, '-');
	else
		sonde_buf_printf(to, "%.*f", s->decimals, ms * s->per_ms);
}

void sonde_scale_put(struct sonde_table *t, const struct sonde_scale *s, double ms)
{
	sonde_scale_print(&t->cell, s, ms);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

void sonde_scale_column(
	struct sonde_table *t, const struct sonde_scale *s, struct sonde_str head, unsigned drop)
{
	struct sonde_buf name = {0};

	sonde_buf_add(&name, head.p, sonde_str_ends(head, "ms") ? head.n - 2 : head.n);
	sonde_buf_puts(&name, sonde_str_ends(head, "ms") ? s->unit : "");
	sonde_table_column(t, sonde_buf_view(&name), true, drop);
	t->failed |= name.failed;
	sonde_buf_release(&name);
}

/* --- printing --------------------------------------------------------------------------------- */

static void measure(struct sonde_table *t)
{
	size_t i, k, nr = t->columns.nr;

	for (i = 0; i < t->cells.nr; i++) {
		size_t w = sonde_width(t->cells.at[i].text);

		if (w > t->columns.at[i % nr].cells_width)
			t->columns.at[i % nr].cells_width = w;
	}
	for (k = 0; k < nr; k++) {
		struct sonde_table_column *c = &t->columns.at[k];
		size_t head = sonde_width(c->head);

		c->width = head > c->cells_width ? head : c->cells_width;
		c->is_gone = false;
	}
}

static size_t total_width(const struct sonde_table *t)
{
	size_t k, width = t->columns.at[0].width;

	for (k = 1; k < t->columns.nr; k++)
		if (!t->columns.at[k].is_gone)
			width += GAP + t->columns.at[k].width;
	return width;
}

/* Cuts heads that are wider than anything below them, from the right, until the table fits. */
static void cut_heads(struct sonde_table *t, size_t width)
{
	size_t k;

	for (k = t->columns.nr; k-- > 1 && total_width(t) > width;) {
		struct sonde_table_column *c = &t->columns.at[k];
		size_t least = c->cells_width > c->least_head ? c->cells_width : c->least_head;

		if (c->least_head && c->width > least)
			c->width = least;
	}
}

static struct sonde_table_column *next_to_drop(struct sonde_table *t)
{
	struct sonde_table_column *found = NULL;
	size_t k;

	for (k = 1; k < t->columns.nr; k++) {
		struct sonde_table_column *c = &t->columns.at[k];

		if (!c->is_gone && c->drop && (!found || c->drop > found->drop))
			found = c;
	}
	return found;
}

/* Whether the last column is too wide even beside only those columns that must stay. */
static bool is_last_too_long(const struct sonde_table *t, size_t width)
{
	size_t k, nr = t->columns.nr, used = t->columns.at[0].width;

	for (k = 1; k < nr; k++)
		if (!t->columns.at[k].drop || k + 1 == nr)
			used += GAP + t->columns.at[k].width;
	return used > width;
}

/* Widens a column to `natural` as far as there is room. */
static void widen(struct sonde_table *t, struct sonde_table_column *c, size_t natural, size_t width)
{
	size_t used = total_width(t), room = used < width ? width - used : 0;

	if (!c->is_gone)
		c->width = natural - c->width < room ? natural : c->width + room;
}

/* Drops bars, which have no head, before a name is cut. */
static void drop_bars(struct sonde_table *t, size_t natural_name, size_t width)
{
	size_t k;

	for (k = 1; k < t->columns.nr; k++) {
		struct sonde_table_column *c = &t->columns.at[k];

		if (!c->head.n && c->drop &&
			total_width(t) - t->columns.at[0].width + natural_name > width)
			c->is_gone = true;
	}
}

/* Gives the last column, then the first, what the others leave of `width`. */
static void fit_columns(struct sonde_table *t, size_t width, struct sonde_buf *dropped)
{
	struct sonde_table_column *last = &t->columns.at[t->columns.nr - 1], *c;
	size_t natural = t->columns.at[0].width, natural_last = last->width;

	cut_heads(t, width);
	t->columns.at[0].width = natural < t->least_name ? natural : t->least_name;
	if (t->least_last && t->least_last < last->width && is_last_too_long(t, width))
		last->width = t->least_last;
	while (total_width(t) > width && (c = next_to_drop(t))) {
		c->is_gone = true;
		if (!c->head.n ||
			(dropped->n && memmem(dropped->p, dropped->n, c->head.p, c->head.n)))
			continue;
		sonde_buf_puts(dropped, dropped->n ? ", " : "");
		sonde_buf_str(dropped, c->head);
	}
	drop_bars(t, natural, width);
	if (t->columns.nr > 1)
		widen(t, last, natural_last, width);
	widen(t, &t->columns.at[0], natural, width);
	t->is_last_cut = !last->is_gone && last->width < natural_last;
}

static void print_cell(struct sonde_table *t, struct sonde_sink *to, size_t column,
	const struct sonde_cell_text *cell, bool is_last)
{
	const struct sonde_table_column *c = &t->columns.at[column];
	size_t used = sonde_width(cell->text), nr_dim = cell->nr_dim;
	struct sonde_str text = cell->text;
	bool is_cut = used > c->width;

	if (is_cut) {
		size_t nr_dots = t->is_utf8 ? 1 : 3;

		text = sonde_width_cut(text, c->width > nr_dots ? c->width - nr_dots : 0);
		used = sonde_width(text) + nr_dots;
		nr_dim = nr_dim < text.n ? nr_dim : text.n;
	}
	if (c->is_right && used < c->width)
		sonde_sink_printf(to, "%*s", (int)(c->width - used), "");
	if (nr_dim && cell->style != SONDE_STYLE_DIM) {
		sonde_style_on(to, SONDE_STYLE_DIM, t->is_coloured);
		sonde_sink_write(to, text.p, nr_dim);
		sonde_style_off(to, SONDE_STYLE_DIM, t->is_coloured);
		text = (struct sonde_str){text.p + nr_dim, text.n - nr_dim};
	}
	sonde_style_on(to, cell->style, t->is_coloured && text.n);
	sonde_sink_str(to, text);
	sonde_sink_puts(to, !is_cut ? "" : t->is_utf8 ? "\u2026" : "...");
	sonde_style_off(to, cell->style, t->is_coloured && text.n);
	if (!c->is_right && used < c->width && !is_last)
		sonde_sink_printf(to, "%*s", (int)(c->width - used), "");
}

/* Whether a row has nothing to show beside its name. */
static bool is_bare(const struct sonde_table *t, const struct sonde_cell_text *row)
{
	size_t k;

	for (k = 1; k < t->columns.nr; k++)
		if (!t->columns.at[k].is_gone && row[k].text.n)
			return false;
	return true;
}

/* `name` is shown in the first column; NULL = the cell itself. */
static void print_row(struct sonde_table *t, struct sonde_sink *to, const struct sonde_cell_text *row,
	const struct shown_name *name)
{
	struct sonde_cell_text first = row[0];
	size_t k, last = 0;

	if (name) {
		first.text = name->text;
		first.nr_dim = first.nr_dim < name->nr_begin ? first.nr_dim : name->nr_begin;
	}
	/* No blanks at the end of a line. */
	for (k = 0; k < t->columns.nr; k++)
		if (!t->columns.at[k].is_gone && row[k].text.n)
			last = k;
	for (k = 0; k <= last; k++) {
		if (t->columns.at[k].is_gone)
			continue;
		if (k)
			sonde_sink_printf(to, "%*s", GAP, "");
		print_cell(t, to, k, k ? &row[k] : &first, k == last);
	}
	sonde_sink_putc(to, '\n');
}

int sonde_table_print(struct sonde_table *t, struct sonde_sink *to, size_t width,
	struct sonde_buf *dropped, struct sonde_err *err)
{
	SONDE_VEC(struct sonde_cell_text) heads = {0};
	struct shown_names names = {.t = t, .number = 1};
	size_t i;

	for (i = 0; i < t->columns.nr; i++)
		t->failed |= !sonde_vec_put(&heads,
			(struct sonde_cell_text){t->columns.at[i].head, 0, SONDE_STYLE_DIM, false});
	if (!t->failed) {
		measure(t);
		fit_columns(t, width, dropped);
	}
	if (!t->failed && choose_names(&names)) {
		print_row(t, to, heads.at, NULL);
		for (i = 0; i + t->columns.nr <= t->cells.nr; i += t->columns.nr)
			if (!t->cells.at[i].needs_figures || !is_bare(t, &t->cells.at[i]))
				print_row(t, to, &t->cells.at[i], &names.at.at[i / t->columns.nr]);
	}
	release_names(&names);
	sonde_vec_release(&heads);
	return t->failed ? sonde_err_nomem(err) : 0;
}

static void put_markdown_cell(struct sonde_sink *to, struct sonde_str text)
{
	sonde_sink_putc(to, ' ');
	sonde_sink_str(to, text);
	sonde_sink_puts(to, " |");
}

void sonde_table_print_markdown(const struct sonde_table *t, struct sonde_sink *to)
{
	size_t i;

	to->buf.failed |= t->failed;
	if (t->failed) /* columns may be missing */
		return;
	sonde_sink_puts(to, "\n|");
	for (i = 0; i < t->columns.nr; i++)
		put_markdown_cell(to, t->columns.at[i].head);
	sonde_sink_puts(to, "\n|");
	for (i = 0; i < t->columns.nr; i++)
		sonde_sink_puts(to, t->columns.at[i].is_right ? "---:|" : "---|");
	for (i = 0; i < t->cells.nr; i++) {
		sonde_sink_puts(to, i % t->columns.nr ? "" : "\n|");
		put_markdown_cell(to, t->cells.at[i].text);
	}
	sonde_sink_putc(to, '\n');
}

void sonde_table_release(struct sonde_table *t)
{
	sonde_vec_release(&t->columns);
	sonde_vec_release(&t->cells);
	sonde_buf_release(&t->cell);
	sonde_arena_release(&t->arena);
}
