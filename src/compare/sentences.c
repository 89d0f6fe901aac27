/*
 * What happened, in sentences for somebody who does not know the program.
 *
 * A region whose change is that of regions inside it is not news: each region is weighed by
 * what is left of its change without theirs, and the heaviest come first.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SENTENCES 5
#define OWN_SHARE      0.2 /* of its change must be a region's own for a sentence of its own */
#define MOST_NAMED     3   /* kernels, ancestors */

struct news {
	uint32_t region;
	bool is_entries; /* it is about how often, not how long */
	double weight;	 /* ns of a run */
};

static bool is_moved(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_SLOWER || r->verdict == SONDE_VERDICT_FASTER;
}

static bool is_lone(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_ADDED || r->verdict == SONDE_VERDICT_REMOVED;
}

/* The change over all entries of a run. */
static double total_change(const struct sonde_diff_region *r)
{
	double entries =
		r->verdict == SONDE_VERDICT_REMOVED ? r->base.entries : r->new_half.entries;
	double change = sonde_diff_region_delta(r) * (entries > 0 ? entries : 1);

	return isnan(change) ? 0 : change;
}

static void ms(struct sonde_buf *b, double ns)
{
	sonde_number_human(b, ns, "ns");
}

static void signed_ms(struct sonde_buf *b, double ns)
{
	sonde_buf_puts(b, ns < 0 ? "\u2212" : "+");
	ms(b, fabs(ns));
}

/* --- which ------------------------------------------------------------------------------------ */

/* By region: its change without that of changed regions inside it. `near` is scratch. */
static void find_own(const struct sonde_diff *d, double *own, uint32_t *near)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];
		uint32_t up = r->parent == SONDE_NONE ? SONDE_NONE : near[r->parent];

		/* The innermost changed region from here outwards, for those inside. */
		near[i] = is_moved(r) || is_lone(r) ? (uint32_t)i : up;
		own[i] = near[i] == i ? total_change(r) : 0;
		if (own[i] != 0 && up != SONDE_NONE && d->regions.at[up].is_gpu == r->is_gpu)
			own[up] -= total_change(r);
	}
}

static double entry_ratio(const struct sonde_diff_region *r)
{
	return r->base.entries > 0 ? r->new_half.entries / r->base.entries : 1;
}

/* Entered more or less often than the region around it explains. */
static double entry_weight(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	double around = 1, ratio = entry_ratio(r);

	if (!(r->causes & SONDE_CAUSE_ENTRIES))
		return 0;
	if (r->parent != SONDE_NONE && !is_lone(&d->regions.at[r->parent]))
		around = entry_ratio(&d->regions.at[r->parent]);
	if (!(fabs(ratio - around) > 0.005 * around) || isnan(r->base.median_ns))
		return 0;
	return fabs(ratio - around) * r->base.entries * r->base.median_ns;
}

static bool has_own_news(const struct sonde_diff *d, size_t i, double own)
{
	const struct sonde_diff_region *r = &d->regions.at[i];

	if (is_lone(r)) /* only the outermost, and a pair once */
		return (r->parent == SONDE_NONE ||
			       d->regions.at[r->parent].verdict != r->verdict) &&
		       (r->twin == SONDE_NONE || r->verdict == SONDE_VERDICT_REMOVED);
	return is_moved(r) && fabs(own) >= OWN_SHARE * fabs(total_change(r));
}

static int by_weight(const void *a, const void *b)
{
	const struct news *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->region < y->region ? -1 : x->region > y->region;
}

static size_t find_news(const struct sonde_diff *d, const double *own, struct news *news)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];
		double entries = entry_weight(d, r);

		if (has_own_news(d, i, own[i]))
			news[nr++] = (struct news){(uint32_t)i, false,
				is_lone(r) ? fabs(total_change(r)) : fabs(own[i])};
		if (entries > 0)
			news[nr++] = (struct news){(uint32_t)i, true, entries};
	}
	qsort(news, nr, sizeof(*news), by_weight);
	return nr;
}

/* --- in words --------------------------------------------------------------------------------- */

static void add_kernels(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	double all = fabs(sonde_diff_region_delta(r));
	uint32_t i, nr = 0;

	for (i = 0; i < r->nr_kernels && nr < MOST_NAMED; i++) {
		const struct sonde_diff_kernel *k = &d->kernels.at[r->first_kernel + i];

		if (fabs(k->new_ns - k->base_ns) < 0.1 * all)
			break;
		sonde_buf_puts(b, nr++ ? ", " : ": ");
		sonde_buf_str(b, k->name);
		sonde_buf_putc(b, ' ');
		signed_ms(b, k->new_ns - k->base_ns);
		sonde_buf_puts(b, k->base_calls == 0  ? " (new)"
				  : k->new_calls == 0 ? " (gone)"
						      : "");
	}
}

static void add_ancestors(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t up, nr = 0;

	for (up = r->parent; up != SONDE_NONE && nr < MOST_NAMED; up = d->regions.at[up].parent) {
		const struct sonde_diff_region *a = &d->regions.at[up];

		if (a->verdict != r->verdict)
			continue;
		sonde_buf_puts(b, nr++ ? ", " : "; with it ");
		sonde_buf_str(b, a->id);
		sonde_buf_printf(b, " %+.1f %%", 100 * (a->ratio - 1));
	}
}

/* What the hardware does otherwise: part of why. */
static void add_metrics(struct sonde_buf *b, const struct sonde_diff *d, size_t region)
{
	size_t i, nr = 0;

	for (i = 0; i < d->columns.nr && nr < MOST_NAMED; i++) {
		const struct sonde_diff_metric *m = &d->metrics.at[region * d->columns.nr + i];

		if (m->change != SONDE_METRIC_HIGHER && m->change != SONDE_METRIC_LOWER)
			continue;
		sonde_buf_puts(b, nr++ ? ", " : "; ");
		sonde_buf_str(b, d->columns.at[i].head);
		sonde_buf_putc(b, ' ');
		sonde_number_human(b, m->base.v, d->columns.at[i].unit);
		sonde_buf_puts(b, " \u2192 ");
		sonde_number_human(b, m->new_figure.v, d->columns.at[i].unit);
	}
}

static void say_moved(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const char *cause = sonde_diff_cause_words(r);

	sonde_buf_str(b, r->id);
	sonde_buf_printf(
		b, " is %.1f %% %s: ", 100 * fabs(r->ratio - 1), sonde_verdict_name(r->verdict));
	ms(b, r->base.median_ns);
	sonde_buf_puts(b, " \u2192 ");
	ms(b, r->new_half.median_ns);
	sonde_buf_printf(b, " per entry on the %s (95 %%: %+.1f to %+.1f %%)",
		r->is_gpu ? "GPU" : "host", 100 * (r->low - 1), 100 * (r->high - 1));
	if (cause) {
		sonde_buf_printf(b, "; %s", cause);
		add_kernels(b, d, r);
	}
	add_metrics(b, d, (size_t)(r - d->regions.at));
	add_ancestors(b, d, r);
}

/* What happened to a region one side alone has; siblings with the same are one sentence. */
enum fate { FATE_NONE, FATE_NEW, FATE_GONE, FATE_INTO_GRAPH, FATE_OUT_OF_GRAPH, FATE_RENAMED };

static enum fate fate_of(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	if (!is_lone(r))
		return FATE_NONE;
	if (r->twin == SONDE_NONE)
		return r->verdict == SONDE_VERDICT_ADDED ? FATE_NEW : FATE_GONE;
	if (!sonde_str_eq(r->label, d->regions.at[r->twin].label))
		return FATE_RENAMED;
	return r->kind == SONDE_REGION_GRAPH			   ? FATE_OUT_OF_GRAPH
	       : d->regions.at[r->twin].kind == SONDE_REGION_GRAPH ? FATE_INTO_GRAPH
								   : FATE_RENAMED;
}

static bool share_fate(const struct sonde_diff *d, const struct news *a, const struct news *b)
{
	const struct sonde_diff_region *x = &d->regions.at[a->region],
				       *y = &d->regions.at[b->region];
	enum fate f = fate_of(d, x);

	if (a->is_entries != b->is_entries || x->parent != y->parent)
		return false;
	if (a->is_entries)
		return x->base.entries == y->base.entries &&
		       x->new_half.entries == y->new_half.entries;
	return f != FATE_NONE && f != FATE_RENAMED && f == fate_of(d, y);
}

/* "a/b is", "a/b and 3 regions beside it are". */
static void add_subject(struct sonde_buf *b, const struct sonde_diff_region *r, size_t nr_beside)
{
	sonde_buf_str(b, r->id);
	if (nr_beside)
		sonde_buf_printf(b, " and %zu %s beside it", nr_beside,
			nr_beside > 1 ? "regions" : "region");
	sonde_buf_puts(b, nr_beside ? " are" : " is");
}

static void add_times(struct sonde_buf *b, double from_ns, double to_ns)
{
	ms(b, from_ns);
	sonde_buf_puts(b, " \u2192 ");
	ms(b, to_ns);
	sonde_buf_puts(b, " per entry");
}

static void say_lone(struct sonde_buf *b, const struct sonde_diff *d,
	const struct sonde_diff_region *r, size_t nr_beside)
{
	static const char *const words[] = {[FATE_NEW] = "new",
		[FATE_GONE] = "gone",
		[FATE_INTO_GRAPH] = "inside a CUDA graph now",
		[FATE_OUT_OF_GRAPH] = "no longer inside a CUDA graph"};
	const struct sonde_diff_half *h =
		r->verdict == SONDE_VERDICT_ADDED ? &r->new_half : &r->base;
	const struct sonde_diff_region *now =
		r->twin == SONDE_NONE ? NULL : &d->regions.at[r->twin];
	enum fate f = fate_of(d, r);

	if (f == FATE_RENAMED) {
		sonde_buf_str(b, r->id);
		sonde_buf_puts(b, " is gone and ");
		sonde_buf_str(b, now->id);
		sonde_buf_puts(b, " is new, with the same kernels: renamed? ");
		add_times(b, r->base.median_ns, now->new_half.median_ns);
		return;
	}
	add_subject(b, r, nr_beside);
	sonde_buf_printf(b, " %s", words[f]);
	sonde_buf_puts(b, nr_beside ? ". The largest: " : ": ");
	if (now) {
		add_times(b, r->base.median_ns, now->new_half.median_ns);
		return;
	}
	sonde_buf_printf(b, h->entries == 1 ? "%.6g entry" : "%.6g entries", h->entries);
	if (!isnan(h->total_ns)) {
		sonde_buf_puts(b, ", ");
		ms(b, h->total_ns);
		sonde_buf_printf(b, " in all on the %s", r->is_gpu ? "GPU" : "host");
	}
}

static void say_entries(struct sonde_buf *b, const struct sonde_diff_region *r, size_t nr_beside)
{
	add_subject(b, r, nr_beside);
	sonde_buf_printf(b, " entered %.6g times a run instead of %.6g", r->new_half.entries,
		r->base.entries);
	if (isnan(r->base.total_ns) || isnan(r->new_half.total_ns))
		return;
	sonde_buf_puts(b, nr_beside ? ". The largest: " : ": ");
	ms(b, r->base.total_ns);
	sonde_buf_puts(b, " \u2192 ");
	ms(b, r->new_half.total_ns);
	sonde_buf_printf(b, " in all on the %s", r->is_gpu ? "GPU" : "host");
}

static void say_counts(struct sonde_diff *d)
{
	const uint32_t *nr = d->nr_by_verdict;

	if (!nr[SONDE_VERDICT_SLOWER] && !nr[SONDE_VERDICT_FASTER] && !nr[SONDE_VERDICT_ADDED] &&
		!nr[SONDE_VERDICT_REMOVED])
		sonde_note(&d->sentences,
			"No difference is shown: %u regions are the same within %g %%, %u have too "
			"few or too noisy entries",
			nr[SONDE_VERDICT_SAME], 100 * d->options.min_effect,
			nr[SONDE_VERDICT_INSUFFICIENT]);
	else
		sonde_note(&d->sentences,
			"%zu regions: %u slower, %u faster, %u the same within %g %%, %u "
			"insufficient, %u added, %u removed",
			d->regions.nr, nr[SONDE_VERDICT_SLOWER], nr[SONDE_VERDICT_FASTER],
			nr[SONDE_VERDICT_SAME], 100 * d->options.min_effect,
			nr[SONDE_VERDICT_INSUFFICIENT], nr[SONDE_VERDICT_ADDED],
			nr[SONDE_VERDICT_REMOVED]);
}

/* The dearest region nothing can be said about, and what would help. */
static void say_insufficient(struct sonde_diff *d)
{
	const struct sonde_diff_region *most = NULL;
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		if (r->verdict == SONDE_VERDICT_INSUFFICIENT && r->needed < 1e9 &&
			(!most || r->new_half.total_ns > most->new_half.total_ns))
			most = r;
	}
	if (!most)
		return;
	sonde_note(&d->sentences,
		"%.*s is undecided (95 %%: %+.1f to %+.1f %%): about %.0f %s a side would do, "
		"there are %u and %u",
		SONDE_STR_ARG(most->id), 100 * (most->low - 1), 100 * (most->high - 1),
		most->needed, most->needs_runs ? "runs" : "entries",
		most->needs_runs ? most->base.nr_runs : most->base.nr_values,
		most->needs_runs ? most->new_half.nr_runs : most->new_half.nr_values);
}

/* How many news further down go with this one; they are taken out. */
static size_t take_companions(const struct sonde_diff *d, struct news *news, size_t nr, size_t i)
{
	size_t k, beside = 0;

	for (k = i + 1; k < nr; k++)
		if (news[k].region != SONDE_NONE && share_fate(d, &news[i], &news[k])) {
			news[k].region = SONDE_NONE;
			beside++;
		}
	return beside;
}

static void say_news(struct sonde_diff *d, struct news *news, size_t nr)
{
	size_t i, beside, said = 0;

	for (i = 0; i < nr && said < MOST_SENTENCES; i++) {
		const struct sonde_diff_region *r;
		struct sonde_buf b = {0};

		if (news[i].region == SONDE_NONE)
			continue;
		r = &d->regions.at[news[i].region];
		beside = take_companions(d, news, nr, i);
		if (news[i].is_entries)
			say_entries(&b, r, beside);
		else if (is_lone(r))
			say_lone(&b, d, r, beside);
		else
			say_moved(&b, d, r);
		if (!b.failed)
			sonde_note(&d->sentences, "%s", b.p);
		sonde_buf_release(&b);
		said++;
	}
	if (said < MOST_SENTENCES)
		say_insufficient(d);
}

void sonde_diff__say(struct sonde_diff *d)
{
	double *own = sonde_calloc(d->regions.nr + 1, sizeof(*own));
	uint32_t *near = sonde_calloc(d->regions.nr + 1, sizeof(*near));
	struct news *news = sonde_calloc(2 * d->regions.nr + 1, sizeof(*news));

	say_counts(d);
	if (own && near &&
		news) { /* like notes: short memory costs sentences, not the comparison */
		find_own(d, own, near);
		say_news(d, news, find_news(d, own, news));
	}
	sonde_free(own);
	sonde_free(near);
	sonde_free(news);
}
