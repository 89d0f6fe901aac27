/* Adds up the PC samples of parts, and takes them out again, in the same way as cells. */
#include "merge/parts_sum.h"

#include <stdlib.h>

bool sonde_sum__enter_stalls(struct sonde_sum_part *p)
{
	struct sonde_sum *s = p->sum;
	size_t i;

	if (!p->c->stall_sources.nr)
		return true;
	for (i = 0; i < p->c->stall_sources.nr; i++) {
		const struct sonde_stall_source *from = &p->c->stall_sources.at[i];
		struct sonde_stall_source *to = &s->stall_source;

		to->period = !s->nr_stall_sources || to->period == from->period ? from->period : 0;
		sonde_sum__count(p, &s->nr_stall_sources, 1);
		sonde_sum__count(p, &to->samples, from->samples);
		sonde_sum__count(p, &to->unplaced, from->unplaced);
		sonde_sum__count(p, &to->dropped, from->dropped);
		sonde_sum__count(p, &to->full_drains, from->full_drains);
	}
	p->stalls.in = &p->arena;
	return sonde_stall_tables_enter(&p->stalls, s->c, &s->stall_keys, p->c, p->of.string);
}

/* Adds an exact number to another. False: no memory. */
static bool add_exact(struct sonde_sum *s, struct sonde_exact *to, const struct sonde_exact *from)
{
	uint32_t i;

	for (i = 0; i < from->nr; i++)
		if (!sonde_exact_add(to, &s->arena, from->at[i]))
			return false;
	return true;
}

/* Finds or adds the row of a stall and returns its number; SONDE_NONE: no memory. */
static uint32_t row_of(struct sonde_sum *s, uint32_t cell, struct sonde_stall stall, bool *is_new)
{
	const uint32_t key[4] = {cell, stall.symbol, stall.pc, stall.reason};

	return sonde_map_keep(&s->stall_rows, &s->arena, SONDE_BYTES(key), is_new);
}

/*
 * There are too many rows: from now on they are kept without instructions, as in a fold. Stalls that are added or taken
 * out later find the merged row.
 */
static bool forget_pcs(struct sonde_sum *s)
{
	const size_t nr = s->stalls.nr;
	size_t i;

	s->forgets_pcs = true;
	sonde_map_release(&s->stall_rows);
	s->stall_rows = (struct sonde_map){0};
	s->stalls.nr = 0;
	for (i = 0; i < nr; i++) {
		struct sonde_sum_stall row = s->stalls.at[i];
		bool is_new = false;
		uint32_t at;

		row.stall = sonde_stall_rest(row.stall);
		at = row_of(s, row.cell, row.stall, &is_new);
		if (is_new && at != SONDE_NONE)
			s->stalls.at[s->stalls.nr++] = row;
		else if (at == SONDE_NONE || !add_exact(s, &s->stalls.at[at].samples, &row.samples) ||
			 !add_exact(s, &s->stalls.at[at].not_issued, &row.not_issued))
			return false;
	}
	return true;
}

/* Adds a stall of a part to its row. All parts that know the line of an instruction have the same line. */
static bool add_stall(const struct sonde_sum_part *p, uint32_t cell, const struct sonde_stall *from)
{
	struct sonde_sum *s = p->sum;
	struct sonde_stall stall = {p->stalls.symbol[from->symbol], from->pc, p->stalls.reason[from->reason],
		sonde_number_in(p->stalls.line, from->line), 0, 0};
	struct sonde_sum_stall *to;
	bool is_new = false;
	uint32_t at;

	if (s->stalls.nr >= s->max_stalls && !s->forgets_pcs && !forget_pcs(s))
		return false;
	if (s->forgets_pcs)
		stall = sonde_stall_rest(stall);
	at = row_of(s, cell, stall, &is_new);
	if (at == SONDE_NONE ||
		(is_new && !sonde_vec_put(&s->stalls, (struct sonde_sum_stall){.cell = cell, .stall = stall})))
		return false;
	to = &s->stalls.at[at];
	if (to->stall.line == SONDE_NONE)
		to->stall.line = stall.line;
	return sonde_sum__add(p, &to->samples, from->samples) && sonde_sum__add(p, &to->not_issued, from->not_issued);
}

bool sonde_sum__add_stalls(const struct sonde_sum_part *p, const struct sonde_cell *from, struct sonde_sum_cell *to)
{
	uint32_t i;

	for (i = 0; i < from->nr_stalls; i++)
		if (!add_stall(p, (uint32_t)(to - p->sum->cells.at), &p->c->stalls.at[from->first_stall + i]))
			return false;
	return !from->nr_stalls || sonde_sum__add(p, &to->exact_stalls, from->exact_stalls);
}

static int by_row(const void *a, const void *b)
{
	const struct sonde_sum_stall *x = a, *y = b;

	if (x->cell != y->cell)
		return sonde_cmp(x->cell, y->cell);
	if (x->stall.symbol != y->stall.symbol)
		return sonde_cmp(x->stall.symbol, y->stall.symbol);
	if (x->stall.pc != y->stall.pc)
		return sonde_cmp(x->stall.pc, y->stall.pc);
	return sonde_cmp(x->stall.reason, y->stall.reason);
}

static void name_tables(struct sonde_cells *c, const uint32_t *string_of)
{
	size_t i;

	for (i = 0; i < c->symbols.nr; i++)
		c->symbols.at[i].name = string_of[c->symbols.at[i].name];
	for (i = 0; i < c->stall_reasons.nr; i++)
		c->stall_reasons.at[i] = string_of[c->stall_reasons.at[i]];
	for (i = 0; i < c->lines.nr; i++)
		c->lines.at[i].file = string_of[c->lines.at[i].file];
}

bool sonde_sum__finish_stalls(struct sonde_sum *s, const uint32_t *string_of, const uint32_t *cell_of)
{
	struct sonde_cells *c = s->c;
	size_t i;

	if (!s->nr_stall_sources)
		return true;
	name_tables(c, string_of);
	if (s->forgets_pcs)
		sonde_stalls_note_rest(&c->notes);
	if (!sonde_vec_put(&c->stall_sources, s->stall_source) || !sonde_vec_reserve(&c->stalls, s->stalls.nr + 1))
		return false;
	for (i = 0; i < s->stalls.nr; i++)
		s->stalls.at[i].cell = cell_of[s->stalls.at[i].cell];
	sonde_vec_sort(&s->stalls, by_row);
	for (i = 0; i < s->stalls.nr; i++) {
		const struct sonde_sum_stall *from = &s->stalls.at[i];
		struct sonde_stall to = from->stall;
		struct sonde_cell *cell = from->cell == SONDE_NONE ? NULL : &c->cells.at[from->cell];

		to.samples = sonde_exact_value(&from->samples);
		to.not_issued = sonde_exact_value(&from->not_issued);
		if (!cell || (to.samples == 0 && to.not_issued == 0))
			continue; /* the part it came from was taken out */
		if (!cell->nr_stalls++)
			cell->first_stall = (uint32_t)c->stalls.nr;
		c->stalls.at[c->stalls.nr++] = to;
	}
	return true;
}
