#include "tree/hot_lines.h"

#include "catalogue/stall_reasons.h"

static int by_place(const struct sonde_hot_line *a, const struct sonde_hot_line *b)
{
	if (a->line != b->line)
		return sonde_cmp(a->line, b->line);
	return a->symbol != b->symbol ? sonde_cmp(a->symbol, b->symbol) : sonde_cmp(a->pc, b->pc);
}

static int by_place_and_reason(const void *pa, const void *pb)
{
	const struct sonde_hot_line *a = pa, *b = pb;
	int order = by_place(a, b);

	return order ? order : sonde_cmp(a->reason, b->reason);
}

static int by_samples(const void *pa, const void *pb)
{
	const struct sonde_hot_line *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return by_place(a, b);
}

/* Adds a row for each stall that has a line, or for instructions, whose instruction is known. */
static bool list_samples(
	struct sonde_hot_lines *out, const struct sonde_cells *c, const uint32_t *cells, uint32_t nr, bool is_of_pcs)
{
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[cells[i]];

		for (k = 0; k < cell->nr_stalls; k++) {
			const struct sonde_stall *s = &c->stalls.at[cell->first_stall + k];

			struct sonde_hot_line of = {.line = s->line, .reason = s->reason, .samples = s->samples};

			out->samples += s->samples;
			if (is_of_pcs) {
				of.symbol = s->symbol;
				of.pc = s->pc;
			}
			if ((is_of_pcs ? s->pc != SONDE_PC_REST : s->line != SONDE_NONE) && s->samples > 0 &&
				!sonde_vec_put(&out->at, of))
				return false;
		}
	}
	return true;
}

/* Adds up the rows of each place and reason. Cells always come in the same order, so the sums are always the same bits. */
static void add_reasons(struct sonde_hot_lines *l)
{
	size_t i, nr = 0;

	for (i = 0; i < l->at.nr; i++)
		if (nr && by_place_and_reason(&l->at.at[nr - 1], &l->at.at[i]) == 0)
			l->at.at[nr - 1].samples += l->at.at[i].samples;
		else
			l->at.at[nr++] = l->at.at[i];
	l->at.nr = nr;
}

static bool is_issue(const struct sonde_cells *c, uint32_t reason)
{
	const struct sonde_stall_reason *r = sonde_stall_reason_find(sonde_cells_str(c, c->stall_reasons.at[reason]));

	return r && r->is_issue;
}

/* Adds up the rows of each place. */
static void add_places(struct sonde_hot_lines *l, const struct sonde_cells *c)
{
	size_t i, nr = 0;

	for (i = 0; i < l->at.nr; i++) {
		struct sonde_hot_line of = l->at.at[i], *to;

		if (!nr || by_place(&l->at.at[nr - 1], &of) != 0)
			l->at.at[nr++] = (struct sonde_hot_line){of.line, of.symbol, of.pc, SONDE_NONE, 0, 0};
		to = &l->at.at[nr - 1];
		to->samples += of.samples;
		if (of.samples > to->reason_samples && !is_issue(c, of.reason)) {
			to->reason = of.reason;
			to->reason_samples = of.samples;
		}
	}
	l->at.nr = nr;
}

static bool make_lines(struct sonde_hot_lines *out, const struct sonde_tree *t, bool is_of_pcs, const uint32_t *cells, uint32_t nr)
{
	const struct sonde_cells *c = t->cells;

	out->at.nr = 0;
	out->samples = 0;
	if (!c || !c->stalls.nr)
		return true;
	if (!list_samples(out, c, cells, nr, is_of_pcs))
		return false;
	sonde_vec_sort(&out->at, by_place_and_reason);
	add_reasons(out);
	add_places(out, c);
	sonde_vec_sort(&out->at, by_samples);
	return true;
}

bool sonde_hot_lines_make(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index)
{
	uint32_t nr = 0;
	const uint32_t *cells = sonde_tree_cells(r, part, index, &nr);

	return make_lines(out, t, false, cells, nr);
}

bool sonde_hot_lines_make_pcs(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index)
{
	uint32_t nr = 0;
	const uint32_t *cells = sonde_tree_cells(r, part, index, &nr);

	return make_lines(out, t, true, cells, nr);
}

void sonde_hot_lines_release(struct sonde_hot_lines *l)
{
	sonde_vec_release(&l->at);
}
