#include "export/weight.h"

#include "base/alloc.h"
#include "export/field.h"

#include <string.h>

/* Quantities that a report may have beside its metrics. */
static const struct {
	const char *word, *name, *unit;
	size_t at;     /* offset in a node of a double … */
	bool is_count; /* … or of an uint64_t */
	bool is_own;   /* does not include nested regions: their entries are no part of the entries around them */
	size_t in_cell; /* offset in a cell; 0 = kernels do not have the quantity */
} quantities[] = {
	{"time", "GPU time", "ns", offsetof(struct sonde_node, time_ns), false, false, offsetof(struct sonde_cell, time_ns)},
	{"host", "host time", "ns", offsetof(struct sonde_node, times.host_ns), false, false, 0},
	{"launches", "launches", "", offsetof(struct sonde_node, launches), true, false, offsetof(struct sonde_cell, launches)},
	{"entries", "entries", "", offsetof(struct sonde_node, instances), true, true, 0},
};
#define NR_QUANTITIES (sizeof(quantities) / sizeof(quantities[0]))

static double value_at(const void *of, size_t at, bool is_count)
{
	const void *v = (const char *)of + at;

	return is_count ? (double)*(const uint64_t *)v : *(const double *)v;
}

static double value_of(const struct sonde_node *n, size_t which)
{
	return value_at(n, quantities[which].at, quantities[which].is_count);
}

void sonde_frame_name(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_node *n)
{
	struct sonde_str domain = sonde_shown_domain(t, n), label = sonde_node_label(t, n);

	sonde_buf_str(out, domain);
	sonde_buf_puts(out, domain.p ? "@" : "");
	sonde_buf_str(out, label.n ? label : SONDE_STR("\"\""));
	sonde_buf_puts(out, sonde_region_kind_mark(sonde_node_region(t, n)->kind));
}

static bool is_additive(const struct sonde_column *c)
{
	return !c->is_text && strcmp(c->methods[0], "sum") == 0;
}

static bool has_any(const struct sonde_report *r, size_t which)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		if (value_of(&r->nodes.at[i], which) > 0)
			return true;
	return false;
}

/* Whether some report has the quantity. A capture without regions or selected launches is empty and lacks nothing. */
static bool is_in_capture(const struct sonde_tree *t, size_t which)
{
	const struct sonde_cells *l = t->cells;
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (has_any(&t->reports.at[i], which))
			return true;
	return l->regions.nr == 0 || (l->tally.nr_launches && !l->tally.nr_taken);
}

static int refuse(
	const struct sonde_tree *t, const char *by, const char *why, struct sonde_err *err)
{
	struct sonde_buf names = {0};
	size_t i, nr = 0;
	int rc;

	for (i = 0; i < NR_QUANTITIES; i++)
		if (is_in_capture(t, i))
			sonde_buf_printf(&names, "%s%s", names.n ? ", " : "", quantities[i].word);
	for (i = 0; i < t->columns.nr && nr < 8; i++)
		if (is_additive(&t->columns.at[i]) && ++nr)
			sonde_buf_printf(&names, ", %.*s", SONDE_STR_ARG(t->columns.at[i].name));
	rc = sonde_err_set(err, SONDE_ERR_USAGE, "--by: '%s' %s; possible are: %s%s", by, why,
		names.p ? names.p : "", nr == 8 ? ", ..." : "");
	sonde_buf_release(&names);
	return rc;
}

static int by_kernel(const void *a, const void *b)
{
	const struct sonde_leaf *x = a, *y = b;

	return x->kernel != y->kernel ? sonde_cmp(x->kernel, y->kernel) : sonde_cmp(x->line, y->line);
}

static int by_size(const void *a, const void *b)
{
	const struct sonde_leaf *x = a, *y = b;

	return x->v != y->v ? sonde_cmp(y->v, x->v) : by_kernel(a, b);
}

/* Adds a cell. Its time is split over the lines at which its warps were found; other quantities are not split. */
static bool add_cell(struct sonde_weights *w, const struct sonde_cells *cells, uint32_t node, const struct sonde_cell *c)
{
	double v = value_at(c, quantities[w->which].in_cell, quantities[w->which].is_count), all = 0;
	const struct sonde_stall *s = c->nr_stalls ? cells->stalls.at + c->first_stall : NULL;
	bool is_split = !strcmp(quantities[w->which].word, "time") && cells->lines.nr;
	uint32_t i;

	if (!(v > 0))
		return true;
	for (i = 0; is_split && i < c->nr_stalls; i++)
		all += s[i].samples;
	if (!(all > 0))
		return sonde_vec_put(&w->leaves, (struct sonde_leaf){node, c->kernel, SONDE_NONE, v});
	for (i = 0; i < c->nr_stalls; i++)
		if (s[i].samples > 0 && !sonde_vec_put(&w->leaves, (struct sonde_leaf){node, c->kernel, s[i].line, v * s[i].samples / all}))
			return false;
	return true;
}

/* Adds the kernels of a node itself, the largest first; those of several scopes are added up. */
static bool add_kernels(struct sonde_weights *w, const struct sonde_tree *t, const struct sonde_report *r, uint32_t node)
{
	const size_t first = w->leaves.nr;
	uint32_t nr, i;
	const uint32_t *cells = sonde_tree_cells(r, SONDE_PART_EXCLUSIVE, node, &nr);
	size_t to = first;

	for (i = 0; cells && i < nr; i++)
		if (!add_cell(w, t->cells, node, &t->cells->cells.at[cells[i]]))
			return false;
	if (w->leaves.nr == first)
		return true;
	qsort(w->leaves.at + first, w->leaves.nr - first, sizeof(*w->leaves.at), by_kernel);
	for (i = (uint32_t)first; i < w->leaves.nr; i++)
		if (to > first && by_kernel(&w->leaves.at[to - 1], &w->leaves.at[i]) == 0)
			w->leaves.at[to - 1].v += w->leaves.at[i].v;
		else
			w->leaves.at[to++] = w->leaves.at[i];
	w->leaves.nr = to;
	qsort(w->leaves.at + first, to - first, sizeof(*w->leaves.at), by_size);
	return true;
}

/* Adds the kernels of each node, then what they leave of the node's own part. */
static bool fill_leaves(struct sonde_weights *w, const struct sonde_tree *t, const struct sonde_report *r)
{
	const bool has_kernels = w->which < NR_QUANTITIES && quantities[w->which].in_cell && !r->is_ranges;
	size_t first, k;
	uint32_t i;

	for (i = 0; i < r->nodes.nr; i++) {
		double rest = w->own[i];

		first = w->leaves.nr;
		if (has_kernels && !add_kernels(w, t, r, i))
			return false;
		for (k = first; k < w->leaves.nr; k++)
			rest -= w->leaves.at[k].v;
		/* Beside kernels, a tiny rest is only the rounding error of the subtraction. */
		if (rest > (w->leaves.nr > first ? w->own[i] * 1e-9 : 0) &&
			!sonde_vec_put(&w->leaves, (struct sonde_leaf){i, SONDE_NONE, SONDE_NONE, rest}))
			return false;
	}
	return true;
}

static void fill_quantity(struct sonde_weights *w, const struct sonde_report *r, size_t which)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		w->inclusive[i] = value_of(&r->nodes.at[i], which);
	for (i = r->nodes.nr; quantities[which].is_own && i-- > 0;) /* children come after parents */
		if (r->nodes.at[i].parent != SONDE_NONE)
			w->inclusive[r->nodes.at[i].parent] += w->inclusive[i];
	w->unit = quantities[which].unit;
	w->name = sonde_str_from(quantities[which].name);
}

static int fill_metric(struct sonde_weights *w, const struct sonde_tree *t,
	const struct sonde_report *r, uint32_t column, struct sonde_err *err)
{
	struct sonde_figures f = {0};
	int rc = sonde_figures_init(&f, t, err);
	size_t i;

	for (i = 0; i < r->nodes.nr && rc == 0; i++) {
		sonde_tree_values(t, r, SONDE_PART_INCLUSIVE, (uint32_t)i, &f);
		w->inclusive[i] = f.at[column].v;
	}
	w->unit = t->columns.at[column].unit;
	w->name = t->columns.at[column].name;
	sonde_figures_release(&f);
	return rc;
}

static int fill_weights(struct sonde_weights *w, const struct sonde_tree *t, const struct sonde_report *r,
	const char *by, struct sonde_err *err)
{
	uint32_t column;
	size_t i;

	if (!by && sonde_report_is_figures(r) && t->nr_headline && is_additive(&t->columns.at[t->headline[0]]))
		return fill_metric(w, t, r, t->headline[0], err);
	for (i = 0; i < NR_QUANTITIES; i++) {
		bool is_last = i + 1 == NR_QUANTITIES;

		if (by ? strcmp(by, quantities[i].word) != 0 : !has_any(r, i) && !is_last)
			continue;
		if (by && !is_in_capture(t, i))
			return refuse(t, by, "is not in any region of this capture", err);
		w->which = i;
		fill_quantity(w, r, i);
		return 0;
	}
	column = sonde_tree_column(t, sonde_str_from(by));
	if (column == SONDE_NONE || !is_additive(&t->columns.at[column]))
		return refuse(t, by, "does not add up over regions, or is not in the capture", err);
	return fill_metric(w, t, r, column, err);
}

int sonde_weights_build(struct sonde_weights *out, const struct sonde_tree *t,
	const struct sonde_report *r, const char *by, struct sonde_err *err)
{
	size_t nr = r->nodes.nr, i;
	int rc;

	*out = (struct sonde_weights){.which = NR_QUANTITIES,
		.inclusive = sonde_calloc(nr + 1, sizeof(double)),
		.own = sonde_calloc(nr + 1, sizeof(double))};
	rc = out->inclusive && out->own ? fill_weights(out, t, r, by, err) : sonde_err_nomem(err);
	if (rc) {
		sonde_weights_release(out);
		return rc;
	}
	for (i = 0; i < nr; i++)
		out->own[i] = out->inclusive[i] =
			out->inclusive[i] > 0 ? out->inclusive[i] : 0; /* also if it is NaN */
	for (i = 0; i < nr; i++) {
		uint32_t parent = r->nodes.at[i].parent;

		if (parent != SONDE_NONE)
			out->own[parent] -= out->inclusive[i];
		else if (sonde_node_region(t, &r->nodes.at[i])->kind == SONDE_PUSH_POP)
			out->total += out->inclusive[i];
	}
	for (i = 0; i < nr; i++)
		if (out->own[i] < out->inclusive[i] * 1e-12) /* the rounding error of the subtraction */
			out->own[i] = 0;
	if (fill_leaves(out, t, r))
		return 0;
	sonde_weights_release(out);
	return sonde_err_nomem(err);
}

void sonde_weights_release(struct sonde_weights *w)
{
	sonde_free(w->inclusive);
	sonde_free(w->own);
	sonde_vec_release(&w->leaves);
	*w = (struct sonde_weights){0};
}

void sonde_line_name(struct sonde_buf *out, const struct sonde_tree *t, uint32_t line)
{
	const struct sonde_line *l = &t->cells->lines.at[line];

	sonde_buf_str(out, sonde_cells_str(t->cells, l->file));
	sonde_buf_printf(out, ":%u", l->line);
}
