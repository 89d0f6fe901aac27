#include "export/weight.h"

#include "base/alloc.h"
#include "export/field.h"

#include <string.h>

/* Quantities every report may have beside its metrics. */
static const struct {
	const char *word, *name, *unit;
	size_t at;     /* in a node: a double, … */
	bool is_count; /* … or an uint64_t */
	bool is_own;   /* does not include nested regions: their entries are no part of the entries around them */
} quantities[] = {
	{"time", "GPU time", "ns", offsetof(struct sonde_node, time_ns), false, false},
	{"host", "host time", "ns", offsetof(struct sonde_node, times.host_ns), false, false},
	{"launches", "launches", "", offsetof(struct sonde_node, launches), true, false},
	{"entries", "entries", "", offsetof(struct sonde_node, instances), true, true},
};
#define NR_QUANTITIES (sizeof(quantities) / sizeof(quantities[0]))

static double value_of(const struct sonde_node *n, size_t which)
{
	const void *at = (const char *)n + quantities[which].at;

	return quantities[which].is_count ? (double)*(const uint64_t *)at : *(const double *)at;
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

/* Whether some scope has the quantity. Without regions or selected launches a capture is empty and lacks nothing. */
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
	rc = sonde_err_set(err, SONDE_ERR_USAGE, "--by: '%s' %s; what there is: %s%s", by, why,
		names.p ? names.p : "", nr == 8 ? ", ..." : "");
	sonde_buf_release(&names);
	return rc;
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
			return refuse(t, by, "is in no region of this capture", err);
		fill_quantity(w, r, i);
		return 0;
	}
	column = sonde_tree_column(t, by);
	if (column == SONDE_NONE || !is_additive(&t->columns.at[column]))
		return refuse(t, by, "does not add up over regions, or is not in the capture", err);
	return fill_metric(w, t, r, column, err);
}

int sonde_weights_build(struct sonde_weights *out, const struct sonde_tree *t,
	const struct sonde_report *r, const char *by, struct sonde_err *err)
{
	size_t nr = r->nodes.nr, i;
	int rc;

	*out = (struct sonde_weights){.inclusive = sonde_calloc(nr + 1, sizeof(double)),
		.own = sonde_calloc(nr + 1, sizeof(double))};
	rc = out->inclusive && out->own ? fill_weights(out, t, r, by, err) : sonde_err_nomem(err);
	if (rc) {
		sonde_weights_release(out);
		return rc;
	}
	for (i = 0; i < nr; i++)
		out->own[i] = out->inclusive[i] =
			out->inclusive[i] > 0 ? out->inclusive[i] : 0; /* NaN too */
	for (i = 0; i < nr; i++) {
		uint32_t parent = r->nodes.at[i].parent;

		if (parent != SONDE_NONE)
			out->own[parent] -= out->inclusive[i];
		else if (sonde_node_region(t, &r->nodes.at[i])->kind == SONDE_PUSH_POP)
			out->total += out->inclusive[i];
	}
	for (i = 0; i < nr; i++)
		if (out->own[i] < out->inclusive[i] * 1e-12) /* what is left of the subtraction */
			out->own[i] = 0;
	return 0;
}

void sonde_weights_release(struct sonde_weights *w)
{
	sonde_free(w->inclusive);
	sonde_free(w->own);
	*w = (struct sonde_weights){0};
}
