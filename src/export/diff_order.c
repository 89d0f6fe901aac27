#include "export/diff_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* --- order ------------------------------------------------------------------------------------ */

struct place {
	uint32_t region, parent, scope;
	double weight; /* the largest change in it, ns of a run; below 0 = none */
};

static double weight_of(const struct sonde_diff_region *r)
{
	double entries = fmax(fmax(r->base.entries, r->new_half.entries), 1);
	double change = fabs(sonde_diff_region_delta(r)) * entries;

	if (r->verdict == SONDE_VERDICT_SAME || isnan(change))
		return -1;
	/* What is not shown to be a change comes behind what is, whatever its size. */
	return r->verdict == SONDE_VERDICT_INSUFFICIENT ? change * 1e-9 : change;
}

static int by_parent_and_weight(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->region < y->region ? -1 : x->region > y->region;
}

/* Every region with the weight of what is in it; roots, whose parent is SONDE_NONE, last. */
static void weigh(const struct sonde_diff *d, struct place *at)
{
	size_t nr = d->regions.nr, i;

	for (i = 0; i < nr; i++)
		at[i] = (struct place){(uint32_t)i, d->regions.at[i].parent,
			d->regions.at[i].scope_nr, weight_of(&d->regions.at[i])};
	for (i = nr; i-- > 0;)
		if (at[i].parent != SONDE_NONE)
			at[at[i].parent].weight = fmax(at[at[i].parent].weight, at[i].weight);
	qsort(at, nr, sizeof(*at), by_parent_and_weight);
}

/* Depth-first from places sorted by parent. `first` has room for nr + 1 and a stack behind it. */
static void walk(const struct place *at, size_t nr, size_t *first, uint32_t *out)
{
	size_t *stack = first + nr + 1, depth = 0, i, placed = 0;

	for (i = 0; i <= nr; i++)
		first[i] = nr;
	for (i = nr; i-- > 0;)
		first[at[i].parent == SONDE_NONE ? nr : at[i].parent] = i;
	stack[depth++] = first[nr];
	while (depth) {
		size_t k = stack[depth - 1];

		if (k >= nr) { /* the last sibling is done */
			depth--;
			continue;
		}
		out[placed++] = at[k].region;
		stack[depth - 1] = k + 1 < nr && at[k + 1].parent == at[k].parent ? k + 1 : nr;
		if (first[at[k].region] < nr)
			stack[depth++] = first[at[k].region];
	}
}

uint32_t *sonde_diff_out__order(const struct sonde_diff *d)
{
	size_t nr = d->regions.nr;
	struct place *at = sonde_malloc((nr + 1) * sizeof(*at));
	size_t *first = sonde_malloc((2 * nr + 3) * sizeof(*first));
	uint32_t *out = sonde_malloc((nr + 1) * sizeof(*out));

	if (at && first && out) {
		weigh(d, at);
		walk(at, nr, first, out);
	} else {
		sonde_free(out);
		out = NULL;
	}
	sonde_free(at);
	sonde_free(first);
	return out;
}

/* --- cells ------------------------------------------------------------------------------------ */

void sonde_diff_out__ms(struct sonde_buf *b, double ns)
{
	double v = ns / 1e6, size = fabs(v);

	if (isnan(v))
		sonde_buf_putc(b, '-');
	else
		sonde_buf_printf(b, "%.*f", size >= 1000 ? 0 : size >= 10 ? 2 : 4, v);
}

void sonde_diff_out__percent(struct sonde_buf *b, double ratio)
{
	if (isnan(ratio))
		sonde_buf_putc(b, '-');
	else
		sonde_buf_printf(b, "%+.1f %%", 100 * (ratio - 1));
}

void sonde_diff_out__interval(struct sonde_buf *b, const struct sonde_diff_region *r, bool is_utf8)
{
	if (!(r->low > 0) || isinf(r->high))
		sonde_buf_putc(b, '-');
	else
		sonde_buf_printf(b, "%+.1f %s %+.1f", 100 * (r->low - 1),
			is_utf8 ? "\u2026" : "...", 100 * (r->high - 1));
}

/* What it may be on the other side. A region of a graph has its old name, and a mark. */
static void put_twin(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_region *t = &d->regions.at[r->twin];
	bool is_whole = r->nr_parts > 0;

	sonde_buf_printf(b, ", %s? ",
		r->likeness == SONDE_LIKE_GRAPH ? "renamed" : sonde_likeness_name(r->likeness));
	sonde_buf_str(b, r->likeness == SONDE_LIKE_MOVED ? t->id : t->label);
	sonde_buf_puts(b, sonde_region_kind_mark(t->kind));
	if (is_whole)
		sonde_buf_printf(b, " and %u more", r->nr_parts - 1);
}

void sonde_diff_out__verdict(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const char *cause = sonde_diff_cause_words(r);

	sonde_buf_puts(b, sonde_verdict_name(r->verdict));
	if (r->twin != SONDE_NONE) {
		put_twin(b, d, r);
	} else if (r->verdict == SONDE_VERDICT_INSUFFICIENT && r->needed < 1e9) {
		sonde_buf_printf(
			b, ", needs %.0f %s", r->needed, r->needs_runs ? "runs" : "entries");
	} else if (cause && r->ratio > 0 && r->verdict != SONDE_VERDICT_SAME) {
		sonde_buf_printf(b, ", %s", cause);
	}
}
