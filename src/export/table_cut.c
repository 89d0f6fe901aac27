/* Names that are too long for their column: which part of them is left out. */
#include "export/table_int.h"

#include "base/escape.h"

#include <ctype.h>

/* Names that begin alike often end differently: a third of the room is for the end. */
static struct sonde_cut_name cut_in_the_middle(const struct sonde_cell_text *cell, size_t room)
{
	size_t lines = sonde_width((struct sonde_str){cell->text.p, cell->nr_dim});
	struct sonde_cut_name c = {
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

/* Where two names begin to differ, back to the begin of a word; of a number, to the word before. */
static size_t first_difference(struct sonde_str a, struct sonde_str b)
{
	size_t i;

	for (i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
		;
	i = word_begin(a, i);
	return i && i < a.n && isdigit((unsigned char)a.p[i]) ? word_begin(a, i - 1) : i;
}

#define NEIGHBOURS 64 /* rows up and down that are looked at for the same name */

/* The first difference from a name nearby that would be cut to the same; 0 = there is none. */
static size_t differs_at(const struct sonde_table *t, size_t cell, size_t room)
{
	const struct sonde_cell_text *own = &t->cells.at[cell];
	struct sonde_cut_name c = cut_in_the_middle(own, room);
	size_t reach = NEIGHBOURS * t->columns.nr,
	       i = cell > reach ? cell - reach : cell % t->columns.nr;

	for (; i < t->cells.nr && i <= cell + reach; i += t->columns.nr) {
		const struct sonde_cell_text *other = &t->cells.at[i];
		struct sonde_cut_name o = cut_in_the_middle(other, room);

		if (i != cell && !sonde_str_eq(own->text, other->text) &&
			sonde_str_eq(c.begin, o.begin) && sonde_str_eq(c.rest, o.rest))
			return first_difference(own->text, other->text);
	}
	return 0;
}

struct sonde_cut_name sonde_table__cut_name(
	const struct sonde_table *t, size_t cell, size_t room, size_t nr_dots)
{
	const struct sonde_cell_text *own = &t->cells.at[cell];
	struct sonde_cut_name c = cut_in_the_middle(own, room);
	size_t at = differs_at(t, cell, room),
	       lines = sonde_width((struct sonde_str){own->text.p, own->nr_dim});
	struct sonde_str tail = {own->text.p + at, own->text.n - at}, begin;

	if (!at || room < lines + 3 * nr_dots)
		return c;
	begin = sonde_width_cut(own->text, lines + (room - lines) / 3);
	if (at <= begin.n) /* one long word */
		return c;
	c.begin = begin;
	room -= sonde_width(c.begin);
	c.is_rest_cut = sonde_width(tail) > room;
	c.rest = c.is_rest_cut ? sonde_width_cut(tail, room - nr_dots) : tail;
	return c;
}
