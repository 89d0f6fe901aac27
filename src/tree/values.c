/* The figures of a region, a kernel or all of a report: its cells, merged. */
#include "tree/tree_int.h"

#include "base/alloc.h"
#include "fold/sampled.h"

#include <math.h>
#include <string.h>

int sonde_figures_init(struct sonde_figures *f, const struct sonde_tree *t, struct sonde_err *err)
{
	*f = (struct sonde_figures){.nr = t->columns.nr};
	f->at = sonde_calloc(f->nr, sizeof(*f->at));
	f->scratch = t->plans ? sonde_cell__scratch(t) : NULL;
	if (f->at && (f->scratch || !t->plans))
		return 0;
	sonde_figures_release(f);
	return sonde_err_nomem(err);
}

void sonde_figures_release(struct sonde_figures *f)
{
	sonde_free(f->at);
	sonde_free(f->scratch);
	*f = (struct sonde_figures){0};
}

/* The slice of cells a part stands for. */
static void find_slice(const struct sonde_report *r, enum sonde_part part, uint32_t index,
	uint32_t *first, uint32_t *nr)
{
	switch (part) {
	case SONDE_PART_INCLUSIVE:
		*first = r->nodes.at[index].first_cell;
		*nr = r->nodes.at[index].nr_cells;
		break;
	case SONDE_PART_EXCLUSIVE:
		*first = r->nodes.at[index].own_first_cell;
		*nr = r->nodes.at[index].own_nr_cells;
		break;
	case SONDE_PART_KERNEL:
		*first = r->kernels.at[index].first_cell;
		*nr = r->kernels.at[index].nr_cells;
		break;
	case SONDE_PART_TOTAL:
		*first = r->total_first_cell;
		*nr = r->total_nr_cells;
		break;
	case SONDE_PART_OUTSIDE:
		*first = r->outside_first_cell;
		*nr = r->outside_nr_cells;
		break;
	}
}

static void set_sampled(struct sonde_figure *f, const struct sonde_tree *t,
	const struct sonde_column *column, const uint32_t *cells, size_t nr)
{
	struct sonde_sampled_figure s =
		sonde_sampled_figure_of(t->cells, cells, nr, column->sampled);

	/* An interval as wide as all there can be says nothing. */
	if (!isfinite(s.v) || !isfinite(s.error) ||
		(strcmp(column->unit, "%") == 0 && SONDE_WITHIN_95 * s.error > 50))
		return;
	f->v = s.v;
	f->error = SONDE_WITHIN_95 * s.error;
	f->low = fmax(0, s.v - f->error);
	f->high = s.v + f->error;
	f->quality = SONDE_QUALITY_SAMPLED;
	f->method = column->sampled_method;
}

/* The figures that were written, of a report that was read back. */
static void take_given(const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index, struct sonde_figures *out)
{
	size_t at = index * t->columns.nr, c;

	for (c = 0; c < t->columns.nr; c++)
		out->at[c] = part == SONDE_PART_INCLUSIVE && at + c < r->given.nr
				     ? r->given.at[at + c]
				     : (struct sonde_figure){.v = NAN};
}

/* One column of merged cells; `cells` are their numbers. */
static void set_figure(struct sonde_figure *f, const struct sonde_tree *t,
	const struct sonde_column *column, const struct sonde_cell *merged, const uint32_t *cells,
	size_t nr)
{
	if (column->metric == SONDE_NONE)
		*f = (struct sonde_figure){.v = NAN,
			.low = NAN,
			.high = NAN,
			.error = NAN,
			.quality = SONDE_QUALITY_SAMPLED};
	else
		sonde_cell__figure(t, merged, column->metric, f);
	if (column->sampled != SONDE_NONE && isnan(f->v))
		set_sampled(f, t, column, cells, nr);
}

void sonde_tree_values(const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index, struct sonde_figures *out)
{
	bool is_mixed = t->is_mixed && r->is_aggregate && r->nr_scopes > 1;
	uint32_t first = 0, nr = 0, i;
	size_t c;

	if (!t->plans) {
		take_given(t, r, part, index, out);
		return;
	}
	find_slice(r, part, index, &first, &nr);
	sonde_cell__clear(t, out->scratch);
	for (i = 0; i < nr; i++) {
		const struct sonde_cell *from = &t->cells->cells.at[r->cells.at[first + i]];

		sonde_cell__merge(t, out->scratch, from, nr > 1 ? t->capacity[from->scope] : 1);
	}
	out->has_tensor = sonde_tree__has_tensor(t, out->scratch);
	for (c = 0; c < t->columns.nr; c++) {
		struct sonde_figure *f = &out->at[c];

		set_figure(f, t, &t->columns.at[c], out->scratch, nr ? &r->cells.at[first] : NULL, nr);
		/* Percentages of different devices are weighed by their sizes: a guess. */
		if (is_mixed && f->quality == SONDE_QUALITY_EXACT && f->method != 1 &&
			strcmp(t->columns.at[c].unit, "%") == 0)
			f->quality = SONDE_QUALITY_APPROX;
	}
}
