#include "tree/hot_lines.h"

#include "catalogue/stall_reasons.h"

static int by_line_and_reason(const void *pa, const void *pb)
{
	const struct sonde_hot_line *a = pa, *b = pb;

	return a->line != b->line ? sonde_cmp(a->line, b->line) : sonde_cmp(a->reason, b->reason);
}

static int by_samples(const void *pa, const void *pb)
{
	const struct sonde_hot_line *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return sonde_cmp(a->line, b->line);
}

/* A row for each sample that has a line. */
static bool list_samples(struct sonde_hot_lines *out, const struct sonde_cells *c, const uint32_t *cells, uint32_t nr)
{
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[cells[i]];

		for (k = 0; k < cell->nr_stalls; k++) {
			const struct sonde_stall *s = &c->stalls.at[cell->first_stall + k];

			out->samples += s->samples;
			if (s->line != SONDE_NONE && s->samples > 0 &&
				!sonde_vec_put(&out->at, (struct sonde_hot_line){s->line, s->reason, s->samples, 0}))
				return false;
		}
	}
	return true;
}

/* One row for each line and reason, in their order. Cells are in the same order each time, and so is the sum. */
static void add_reasons(struct sonde_hot_lines *l)
{
	size_t i, nr = 0;

	for (i = 0; i < l->at.nr; i++)
		if (nr && by_line_and_reason(&l->at.at[nr - 1], &l->at.at[i]) == 0)
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

/* One row for each line. */
static void add_lines(struct sonde_hot_lines *l, const struct sonde_cells *c)
{
	size_t i, nr = 0;

	for (i = 0; i < l->at.nr; i++) {
		struct sonde_hot_line of = l->at.at[i], *to;

		if (!nr || l->at.at[nr - 1].line != of.line)
			l->at.at[nr++] = (struct sonde_hot_line){of.line, SONDE_NONE, 0, 0};
		to = &l->at.at[nr - 1];
		to->samples += of.samples;
		if (of.samples > to->reason_samples && !is_issue(c, of.reason)) {
			to->reason = of.reason;
			to->reason_samples = of.samples;
		}
	}
	l->at.nr = nr;
}

bool sonde_hot_lines_make(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index)
{
	const struct sonde_cells *c = t->cells;
	uint32_t nr = 0;
	const uint32_t *cells = sonde_tree_cells(r, part, index, &nr);

	out->at.nr = 0;
	out->samples = 0;
	if (!c || !c->stalls.nr)
		return true;
	if (!list_samples(out, c, cells, nr))
		return false;
	sonde_vec_sort(&out->at, by_line_and_reason);
	add_reasons(out);
	add_lines(out, c);
	sonde_vec_sort(&out->at, by_samples);
	return true;
}

void sonde_hot_lines_release(struct sonde_hot_lines *l)
{
	sonde_vec_release(&l->at);
}
