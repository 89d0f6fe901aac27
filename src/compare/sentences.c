/*
 * Sentences about what happened, for somebody who does not know the program.
 *
 * The step comes first. A region whose change is just that of regions inside it is no news: each region is weighed by
 * the part of its change that is its own, and the heaviest come first.
 */
#include "base/alloc.h"
#include "compare/diff_int.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SENTENCES 5
#define OWN_SHARE      0.2 /* a region gets a sentence if at least this share of its change is its own */
#define MOST_NAMED     3   /* kernels, or regions around it */
#define LEAST_ENTRIES  10  /* per side: with fewer entries, such as a warm-up, waiting differs each time */
#define IDLE_SHARE     0.2 /* share of the time of a region: a smaller change of idle time is not worth a sentence */

struct news {
	uint32_t region;
	bool is_entries; /* the news is how often the region is entered, not how long it takes */
	double weight;	 /* ns per run */
};

/*
 * Sentences about regions that only one side has: new ones, those that are gone, and what they may be on the other side.
 * Siblings with the same fate share one sentence.
 */

enum fate { FATE_NEW, FATE_GONE, FATE_INTO_GRAPH, FATE_OUT_OF_GRAPH, FATE_OWN };

static enum fate fate_of(const struct sonde_diff_region *r)
{
	if (r->twin == SONDE_NONE)
		return r->verdict == SONDE_VERDICT_ADDED ? FATE_NEW : FATE_GONE;
	if (r->likeness == SONDE_LIKE_GRAPH)
		return r->kind == SONDE_REGION_GRAPH ? FATE_OUT_OF_GRAPH : FATE_INTO_GRAPH;
	return FATE_OWN;
}

/* Whether two siblings have the same fate, so that they can share a sentence. */
static bool have_same_fate(const struct sonde_diff_region *a, const struct sonde_diff_region *b)
{
	return sonde_diff__is_lone(a) && sonde_diff__is_lone(b) && fate_of(a) != FATE_OWN &&
	       fate_of(a) == fate_of(b);
}

/* Appends "a/b is" or "a/b and 3 regions beside it are". */
static void put_subject(
	struct sonde_buf *b, const struct sonde_diff_region *r, size_t nr_beside)
{
	sonde_region_say(b, r->id, r->kind);
	if (nr_beside)
		sonde_buf_printf(b, " and %zu %s beside it", nr_beside,
			nr_beside > 1 ? "regions" : "region");
	sonde_buf_puts(b, nr_beside ? " are" : " is");
}

/* Where the time of a region is spent: " on the GPU", " on the host"; "" for wall time. */
static const char *time_suffix(const struct sonde_diff_region *r)
{
	return r->time == SONDE_ENTRY_WALL ? "" : r->time == SONDE_ENTRY_GPU ? " on the GPU" : " on the host";
}

static void put_time(struct sonde_buf *b, double ns)
{
	sonde_number_human(b, ns, "ns");
}

static void put_times(struct sonde_buf *b, double from_ns, double to_ns)
{
	put_time(b, from_ns);
	sonde_buf_puts(b, " \u2192 ");
	put_time(b, to_ns);
	sonde_buf_puts(b, " per entry");
}

/* Appends "a/x, a/y and a/z": the parts of a region that was split or merged. Returns the sum of their medians. */
static double put_parts(struct sonde_buf *b, const struct sonde_diff *d, uint32_t whole)
{
	const struct sonde_diff_region *w = &d->regions.at[whole];
	double sum = 0;
	size_t i;
	uint32_t nr = 0;

	for (i = w->twin; i < d->regions.nr && nr < w->nr_parts; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		if (r->twin != whole || r->likeness != w->likeness)
			continue;
		sonde_buf_puts(b, nr == 0 ? "" : nr + 1 < w->nr_parts ? ", " : " and ");
		sonde_region_say(b, r->id, r->kind);
		sum += r->base.is_there ? r->base.median_ns : r->new_half.median_ns;
		nr++;
	}
	return sum;
}

static void say_parts(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t whole = (uint32_t)(r - d->regions.at);
	double parts;

	if (r->likeness == SONDE_LIKE_SPLIT) {
		sonde_region_say(b, r->id, r->kind);
		sonde_buf_puts(b, " is gone and ");
		parts = put_parts(b, d, whole);
		sonde_buf_puts(b, " are new, with its launches: split? ");
		put_times(b, r->base.median_ns, parts);
		return;
	}
	parts = put_parts(b, d, whole);
	sonde_buf_puts(b, " are gone and ");
	sonde_region_say(b, r->id, r->kind);
	sonde_buf_puts(b, " is new, with their launches: merged? ");
	put_times(b, parts, r->new_half.median_ns);
}

/* The sentence on a region that has another name or another place now. */
static void say_twin(
	struct sonde_buf *b, const struct sonde_diff_region *r, const struct sonde_diff_region *now)
{
	bool is_moved = r->likeness == SONDE_LIKE_MOVED;

	sonde_region_say(b, r->id, r->kind);
	sonde_buf_puts(b, is_moved ? " is now " : " is gone and ");
	sonde_region_say(b, now->id, now->kind);
	if (is_moved)
		sonde_buf_puts(b, ", with the same kernels: moved? ");
	else if (r->base.launches > 0)
		sonde_buf_puts(b, " is new, with the same kernels: renamed? ");
	else
		sonde_buf_puts(b, " is new, entered as often: renamed? ");
	put_times(b, r->base.median_ns, now->new_half.median_ns);
}

static void say_new_or_gone(struct sonde_buf *b, const struct sonde_diff_region *r)
{
	const struct sonde_diff_half *h =
		r->verdict == SONDE_VERDICT_ADDED ? &r->new_half : &r->base;

	sonde_buf_printf(b, h->entries == 1 ? "%.6g entry" : "%.6g entries", h->entries);
	if (isnan(h->total_ns))
		return;
	sonde_buf_puts(b, ", ");
	put_time(b, h->total_ns);
	sonde_buf_printf(b, " in all%s", time_suffix(r));
}

/* The sentence on a region that only one side has, and on `nr_beside` siblings with it. */
static void say_lone(struct sonde_buf *b, const struct sonde_diff *d,
	const struct sonde_diff_region *r, size_t nr_beside)
{
	static const char *const words[] = {[FATE_NEW] = "new",
		[FATE_GONE] = "gone",
		[FATE_INTO_GRAPH] = "inside a CUDA graph now",
		[FATE_OUT_OF_GRAPH] = "no longer inside a CUDA graph"};
	const struct sonde_diff_region *now =
		r->twin == SONDE_NONE ? NULL : &d->regions.at[r->twin];

	if (r->nr_parts) {
		say_parts(b, d, r);
		return;
	}
	if (fate_of(r) == FATE_OWN) {
		say_twin(b, r, now);
		return;
	}
	put_subject(b, r, nr_beside);
	sonde_buf_printf(b, " %s", words[fate_of(r)]);
	sonde_buf_puts(b, nr_beside ? ". The largest: " : ": ");
	if (now)
		put_times(b, r->base.median_ns, now->new_half.median_ns);
	else
		say_new_or_gone(b, r);
}

/* The change over all entries of a run; if only the GPU time changed, that of the GPU time. */
static double total_change(const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *gpu = &r->times[SONDE_ENTRY_GPU];
	double entries =
		r->verdict == SONDE_VERDICT_REMOVED ? r->base.entries : r->new_half.entries;
	bool is_gpu = !sonde_diff__is_moved(r) && sonde_diff__is_gpu_moved(r);
	double change = (is_gpu ? gpu->new_ns - gpu->base_ns : sonde_diff_region_delta(r)) * (entries > 0 ? entries : 1);

	return isnan(change) ? 0 : change;
}

static void put_signed(struct sonde_buf *b, double ns)
{
	sonde_buf_puts(b, ns < 0 ? "\u2212" : "+");
	put_time(b, fabs(ns));
}

/* --- which ------------------------------------------------------------------------------------ */

/* For each region, its change without that of changed regions inside it. `changed_around` is scratch memory. */
static void find_own(const struct sonde_diff *d, double *own, uint32_t *changed_around)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];
		uint32_t up = r->parent == SONDE_NONE ? SONDE_NONE : changed_around[r->parent];

		/* For regions inside: the innermost changed region that is this one or around it. */
		changed_around[i] = sonde_diff__is_moved(r) || sonde_diff__is_gpu_moved(r) || sonde_diff__is_lone(r) ? (uint32_t)i : up;
		own[i] = changed_around[i] == i ? total_change(r) : 0;
		if (own[i] != 0 && up != SONDE_NONE && d->regions.at[up].time == r->time &&
			(sonde_diff__is_lone(r) || sonde_diff__is_moved(&d->regions.at[up]) == sonde_diff__is_moved(r)))
			own[up] -= total_change(r);
	}
}

static double entry_ratio(const struct sonde_diff_region *r)
{
	/* Entries per rank: with more ranks, a region is not entered more often by each. */
	return r->base.entries > 0
		       ? r->new_half.entries / r->new_half.scopes * r->base.scopes / r->base.entries
		       : 1;
}

/* The weight of news that a region is entered more or less often than the region around it explains; 0 = no news. */
static double entry_weight(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	double around = 1, ratio = entry_ratio(r);

	if (!(r->causes & SONDE_CAUSE_ENTRIES))
		return 0;
	if (r->parent != SONDE_NONE && !sonde_diff__is_lone(&d->regions.at[r->parent]))
		around = entry_ratio(&d->regions.at[r->parent]);
	if (!(fabs(ratio - around) > 0.005 * around) || isnan(r->base.median_ns))
		return 0;
	return fabs(ratio - around) * r->base.entries * r->base.median_ns;
}

/* A region and its twin share one sentence: whether this one of them is the subject. */
static bool speaks_for_pair(const struct sonde_diff_region *r)
{
	if (r->likeness == SONDE_LIKE_MERGED)
		return r->nr_parts > 0;
	return r->twin == SONDE_NONE || r->verdict == SONDE_VERDICT_REMOVED;
}

static bool has_own_news(const struct sonde_diff *d, size_t i, double own)
{
	const struct sonde_diff_region *r = &d->regions.at[i];

	if (sonde_diff__is_lone(r)) /* only the outermost region, and a pair only once */
		return (r->parent == SONDE_NONE ||
			       d->regions.at[r->parent].verdict != r->verdict) &&
		       speaks_for_pair(r);
	if (r->is_step && !r->scope.p) /* that it did not change is news, too; of each rank that would be too much */
		return !isnan(r->ratio);
	return (sonde_diff__is_moved(r) || sonde_diff__is_gpu_moved(r)) && (r->is_step || fabs(own) >= OWN_SHARE * fabs(total_change(r)));
}

static int by_weight(const void *a, const void *b)
{
	const struct news *x = a, *y = b;

	return x->weight != y->weight ? sonde_cmp(y->weight, x->weight) : sonde_cmp(x->region, y->region);
}

static size_t find_news(const struct sonde_diff *d, const double *own, struct news *news)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];
		double entries = entry_weight(d, r);

		if (has_own_news(d, i, own[i]))
			news[nr++] = (struct news){(uint32_t)i, false,
				r->is_step		 ? INFINITY
				: sonde_diff__is_lone(r) ? fabs(total_change(r))
							 : fabs(own[i])};
		if (entries > 0)
			news[nr++] = (struct news){(uint32_t)i, true, entries};
	}
	qsort(news, nr, sizeof(*news), by_weight);
	return nr;
}

/* --- in words --------------------------------------------------------------------------------- */

enum which { KERNELS_ALL, KERNELS_GONE, KERNELS_NEW };

static bool is_such(const struct sonde_diff_kernel *k, enum which which)
{
	return which == KERNELS_ALL ||
	       (which == KERNELS_NEW ? k->base_calls == 0 : k->new_calls == 0);
}

/*
 * Appends the largest kernels of this kind, at most `most`, if they matter. `nr` kernels were named before; returns how
 * many are named now.
 */
static uint32_t name_kernels(struct sonde_buf *b, const struct sonde_diff *d,
	const struct sonde_diff_region *r, enum which which, uint32_t most, uint32_t nr)
{
	double all = fabs(sonde_diff__gpu_delta(r));
	uint32_t i, end = nr + most;

	for (i = 0; i < r->nr_kernels && nr < end; i++) {
		const struct sonde_diff_kernel *k = &d->kernels.at[r->first_kernel + i];

		if (fabs(k->new_ns - k->base_ns) < 0.1 * all)
			break;
		if (!is_such(k, which))
			continue;
		sonde_buf_puts(b, nr++ ? ", " : ": ");
		sonde_buf_str(b, k->name);
		sonde_buf_putc(b, ' ');
		put_signed(b, k->new_ns - k->base_ns);
		sonde_buf_puts(b, k->base_calls == 0  ? " (new)"
				  : k->new_calls == 0 ? " (gone)"
						      : "");
	}
	return nr;
}

/* Appends the kernels that explain the change. If kernels were replaced, it names both the old and the new ones. */
static void add_kernels(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	if (r->time == SONDE_ENTRY_HOST || r->causes & (SONDE_CAUSE_WAITING | SONDE_CAUSE_OVERLAP)) /* kernels explain neither these nor host time */
		return;
	if (!(r->causes & SONDE_CAUSE_KERNELS))
		name_kernels(b, d, r, KERNELS_ALL, MOST_NAMED, 0);
	else
		name_kernels(b, d, r, KERNELS_NEW, 2, name_kernels(b, d, r, KERNELS_GONE, 2, 0));
}

static void add_ancestors(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t up, nr = 0;

	for (up = r->parent; up != SONDE_NONE && nr < MOST_NAMED; up = d->regions.at[up].parent) {
		const struct sonde_diff_region *a = &d->regions.at[up];

		if (a->verdict != r->verdict)
			continue;
		sonde_buf_puts(b, nr++ ? ", " : "; around it ");
		sonde_region_say(b, a->id, a->kind);
		sonde_buf_printf(b, " %+.1f %%", 100 * (a->ratio - 1));
	}
}

/* If fewer kernels replace more of them, somebody most likely fused them. */
static void add_launches(struct sonde_buf *b, const struct sonde_diff_region *r)
{
	double base = r->base.launches / fmax(r->base.entries, 1),
	       now = r->new_half.launches / fmax(r->new_half.entries, 1);

	if (!(r->causes & SONDE_CAUSE_LAUNCHES))
		return;
	sonde_buf_printf(b, ", %.4g \u2192 %.4g launches per entry", base, now);
	if (r->causes & SONDE_CAUSE_KERNELS && r->nr_came && r->nr_gone > r->nr_came && now < base)
		sonde_buf_printf(
			b, ", fused? (%u kernels are gone, %u are new)", r->nr_gone, r->nr_came);
}

/* How the hardware behaved differently; used to explain the change. */
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

/* Appends what GPU time did: it may have changed the other way, or not at all. */
static void add_gpu(struct sonde_buf *b, const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[SONDE_ENTRY_GPU];

	if (r->time != SONDE_ENTRY_WALL || !t->is_known)
		return;
	if (t->verdict == SONDE_VERDICT_SAME) {
		sonde_buf_puts(b, "; GPU time as before");
		return;
	}
	sonde_buf_printf(b, "; GPU time %+.1f %%: ", 100 * (t->ratio - 1));
	put_time(b, t->base_ns);
	sonde_buf_puts(b, " \u2192 ");
	put_time(b, t->new_ns);
}

/* The sentence on a region whose GPU time changed, but whose wall time did not, or not for sure. */
static void say_gpu_moved(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[SONDE_ENTRY_GPU];
	const char *cause = sonde_diff_cause_words(r);

	sonde_buf_puts(b, "The GPU time of ");
	sonde_region_say(b, r->id, r->kind);
	sonde_buf_printf(b, " is %s%.1f %% %s: ", sonde_diff__is_single(r) ? "likely " : "", 100 * fabs(t->ratio - 1),
		t->ratio > 1 ? "longer" : "shorter");
	put_time(b, t->base_ns);
	sonde_buf_puts(b, " \u2192 ");
	put_time(b, t->new_ns);
	sonde_buf_printf(b, " per entry (95 %%: %+.1f to %+.1f %%), its wall time is %s", 100 * (t->low - 1), 100 * (t->high - 1),
		r->verdict == SONDE_VERDICT_SAME ? "the same" : "undecided");
	if (cause) {
		sonde_buf_printf(b, "; %s", cause);
		add_launches(b, r);
		add_kernels(b, d, r);
	}
	add_metrics(b, d, (size_t)(r - d->regions.at));
}

static void say_moved(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const char *cause = sonde_diff_cause_words(r), *of = r->ratio > 1 ? "slower" : "faster";
	bool is_likely = r->verdict == SONDE_VERDICT_LIKELY_SLOWER || r->verdict == SONDE_VERDICT_LIKELY_FASTER;

	sonde_region_say(b, r->id, r->kind);
	sonde_buf_printf(
		b, " is %s%.1f %% %s: ", is_likely ? "likely " : "", 100 * fabs(r->ratio - 1), of);
	put_time(b, r->base.median_ns);
	sonde_buf_puts(b, " \u2192 ");
	put_time(b, r->new_half.median_ns);
	sonde_buf_printf(b, " per entry%s (95 %%: %+.1f to %+.1f %%)", time_suffix(r), 100 * (r->low - 1), 100 * (r->high - 1));
	add_gpu(b, r);
	if (cause) {
		sonde_buf_printf(b, "; %s", cause);
		add_launches(b, r);
		add_kernels(b, d, r);
	}
	add_metrics(b, d, (size_t)(r - d->regions.at));
	add_ancestors(b, d, r);
}

/* The sentence on a step that is the same, or undecided: it is what people ask for. */
static void say_step(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	bool is_same = r->verdict == SONDE_VERDICT_SAME;

	sonde_region_say(b, r->id, r->kind);
	if (is_same)
		sonde_buf_printf(b, " is the same within %g %%: ", 100 * d->options.min_effect);
	else
		sonde_buf_printf(b, " is undecided, %+.1f %%: ", 100 * (r->ratio - 1));
	put_times(b, r->base.median_ns, r->new_half.median_ns);
	sonde_buf_puts(b, time_suffix(r));
	sonde_diff__put_interval(b, r);
	if (!is_same)
		sonde_diff__put_open(b, d, r);
}

/* --- iterations of the step ----------------------------------------------------------------------- */

/* Whether iterations tell more than the entries do: the time between entries makes a good part of a change, or it hides one. */
static bool has_iteration_news(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[SONDE_DIFF_ITERATION];
	double between = fabs(sonde_diff__between(r, true) - sonde_diff__between(r, false)),
	       most = fmax(fabs(t->new_ns - t->base_ns), fabs(sonde_diff_region_delta(r)));

	if (!t->is_known || sonde_diff_is_by_iteration(r))
		return t->is_known;
	return (sonde_diff__is_verdict_moved(t->verdict) || (sonde_diff__is_moved(r) && t->verdict == SONDE_VERDICT_SAME)) &&
	       between >= d->options.min_effect * t->base_ns && between >= OWN_SHARE * most;
}

static void put_between(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	double before = sonde_diff__between(r, false), now = sonde_diff__between(r, true);

	if (fabs(now - before) < d->options.min_effect * r->times[SONDE_DIFF_ITERATION].base_ns)
		return;
	sonde_buf_printf(b, "; the time between its entries %s from ", now > before ? "grew" : "shrank");
	put_time(b, before);
	sonde_buf_puts(b, " to ");
	put_time(b, now);
}

static void say_iteration(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_region all = sonde_diff_timed(r, SONDE_DIFF_ITERATION);

	sonde_buf_puts(b, "An iteration of ");
	sonde_region_say(b, r->id, r->kind);
	if (sonde_diff__is_moved(&all))
		sonde_buf_printf(b, "%s takes %.1f %% %s: ", sonde_diff__is_single(r) ? " likely" : "", 100 * fabs(all.ratio - 1),
			all.ratio > 1 ? "longer" : "less");
	else if (all.verdict == SONDE_VERDICT_SAME)
		sonde_buf_puts(b, " takes as long as before: ");
	else
		sonde_buf_printf(b, " is undecided, %+.1f %%: ", 100 * (all.ratio - 1));
	put_time(b, all.base.median_ns);
	sonde_buf_puts(b, " \u2192 ");
	put_time(b, all.new_half.median_ns);
	sonde_diff__put_interval(b, &all);
	put_between(b, d, r);
	if (all.verdict == SONDE_VERDICT_INSUFFICIENT)
		sonde_diff__put_open(b, d, &all);
}

static void say_iterations(struct sonde_diff *d)
{
	size_t i, said = 0;

	for (i = 0; i < d->regions.nr && said < MOST_NAMED; i++) {
		struct sonde_buf b = {0};

		if (!d->regions.at[i].is_step || !has_iteration_news(d, &d->regions.at[i]))
			continue;
		say_iteration(&b, d, &d->regions.at[i]);
		if (!b.failed)
			sonde_note(&d->sentences, "%s", b.p);
		sonde_buf_release(&b);
		said++;
	}
}

/* Whether the iterations of some step changed. */
static bool is_iteration_moved(const struct sonde_diff *d)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++)
		if (d->regions.at[i].is_step && has_iteration_news(d, &d->regions.at[i]))
			return true;
	return false;
}

static bool share_fate(const struct sonde_diff *d, const struct news *a, const struct news *b)
{
	const struct sonde_diff_region *x = &d->regions.at[a->region],
				       *y = &d->regions.at[b->region];

	if (a->is_entries != b->is_entries || sonde_diff__siblings(x) != sonde_diff__siblings(y))
		return false;
	if (a->is_entries)
		return x->base.entries == y->base.entries &&
		       x->new_half.entries == y->new_half.entries;
	return have_same_fate(x, y);
}

static void say_entries(struct sonde_buf *b, const struct sonde_diff_region *r, size_t nr_beside)
{
	put_subject(b, r, nr_beside);
	sonde_buf_printf(b, " entered %.6g times a run instead of %.6g", r->new_half.entries,
		r->base.entries);
	if (isnan(r->base.total_ns) || isnan(r->new_half.total_ns))
		return;
	sonde_buf_puts(b, nr_beside ? ". The largest: " : ": ");
	put_time(b, r->base.total_ns);
	sonde_buf_puts(b, " \u2192 ");
	put_time(b, r->new_half.total_ns);
	sonde_buf_printf(b, " in all%s", time_suffix(r));
}

/* The first sentence, "2 slower, 0 faster". With one capture per side it says that they are at most likely. */
static void say_counts(struct sonde_diff *d)
{
	const uint32_t *nr = d->nr_by_verdict;
	bool is_single = d->nr_base_runs < 2 && d->nr_new_runs < 2;
	const char *likely = is_single ? "likely " : "",
		   *why = is_single ? ". One capture per side cannot show how much runs differ" : "";
	uint32_t slower = nr[SONDE_VERDICT_SLOWER] + nr[SONDE_VERDICT_LIKELY_SLOWER],
		 faster = nr[SONDE_VERDICT_FASTER] + nr[SONDE_VERDICT_LIKELY_FASTER];

	if (!d->regions.nr)
		sonde_note(&d->sentences, "Nothing was compared: neither side has a region");
	else if (!slower && !faster && !nr[SONDE_VERDICT_ADDED] && !nr[SONDE_VERDICT_REMOVED] && !is_iteration_moved(d))
		sonde_note(&d->sentences,
			"No difference was found: %u %s the same within %g %%, %u %s too few or too noisy entries%s",
			nr[SONDE_VERDICT_SAME], nr[SONDE_VERDICT_SAME] == 1 ? "region is" : "regions are", 100 * d->options.min_effect,
			nr[SONDE_VERDICT_INSUFFICIENT], nr[SONDE_VERDICT_INSUFFICIENT] == 1 ? "has" : "have", why);
	else
		sonde_note(&d->sentences,
			"%zu %s: %u %sslower, %u %sfaster, %u the same within %g %%, %u "
			"insufficient, %u added, %u removed%s",
			d->regions.nr, d->regions.nr == 1 ? "region" : "regions", slower, likely, faster, likely, nr[SONDE_VERDICT_SAME],
			100 * d->options.min_effect, nr[SONDE_VERDICT_INSUFFICIENT],
			nr[SONDE_VERDICT_ADDED], nr[SONDE_VERDICT_REMOVED], why);
}

static void say_scopes(struct sonde_diff *d)
{
	if (d->nr_base_scopes != d->nr_new_scopes && d->nr_base_runs && d->nr_new_runs)
		sonde_note(&d->sentences,
			"A run of the new side has %zu ranks or processes, a run of the base %zu%s",
			d->nr_new_scopes, d->nr_base_scopes,
			d->options.per_scope ? "" : ": the time of an entry is the mean over all of them");
}

/* How much longer or shorter the GPU is idle in all entries of a run; 0 if that is too little for a sentence. */
static double idle_change(const struct sonde_diff_region *r)
{
	const struct sonde_diff_half *base = &r->base, *now = &r->new_half;
	double change = now->idle_ns / now->entries - base->idle_ns / base->entries;
	bool is_large = r->time != SONDE_ENTRY_HOST && base->entries >= LEAST_ENTRIES && now->entries >= LEAST_ENTRIES &&
		       fabs(change) >= IDLE_SHARE * (base->busy_ns + base->idle_ns) / base->entries;

	return is_large ? fabs(change) * now->entries : 0;
}

/* GPU time does not include waiting: a CUDA graph changes no kernel, but may save most of the time. */
static void say_idle(struct sonde_diff *d)
{
	const struct sonde_diff_region *most = NULL;
	const struct sonde_diff_half *base, *now;
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < d->regions.nr; i++)
		if (idle_change(&d->regions.at[i]) > (most ? idle_change(most) : 0))
			most = &d->regions.at[i];
	if (!most)
		return;
	base = &most->base;
	now = &most->new_half;
	sonde_buf_puts(&b, "In ");
	sonde_region_say(&b, most->id, most->kind);
	sonde_buf_puts(&b, " the GPU is idle for ");
	put_time(&b, now->idle_ns / now->entries);
	sonde_buf_puts(&b, " an entry instead of ");
	put_time(&b, base->idle_ns / base->entries);
	sonde_buf_puts(&b, " (means over entries, not medians)");
	if (most->time == SONDE_ENTRY_GPU)
		sonde_buf_puts(&b, ". Verdicts are about GPU time alone");
	if (!b.failed)
		sonde_note(&d->sentences, "%s", b.p);
	sonde_buf_release(&b);
}

/* The sentence on the undecided region that takes most time, and what would decide it; nothing if the step's own sentence says that. */
static void say_insufficient(struct sonde_diff *d)
{
	const struct sonde_diff_region *most = NULL;
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		if (r->verdict == SONDE_VERDICT_INSUFFICIENT && r->needed < 1e9 && r->is_step && !r->scope.p)
			return;
		if (r->verdict == SONDE_VERDICT_INSUFFICIENT && r->needed < 1e9 &&
			(!most || r->new_half.total_ns > most->new_half.total_ns))
			most = r;
	}
	if (!most)
		return;
	sonde_region_say(&b, most->id, most->kind);
	sonde_buf_puts(&b, " is undecided");
	sonde_diff__put_interval(&b, most);
	sonde_diff__put_open(&b, d, most);
	if (!b.failed)
		sonde_note(&d->sentences, "%s", b.p);
	sonde_buf_release(&b);
}

/* Removes later news that can share the sentence of news `i`. Returns how many there are. */
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
		else if (sonde_diff__is_lone(r))
			say_lone(&b, d, r, beside);
		else if (sonde_diff__is_moved(r))
			say_moved(&b, d, r);
		else if (!sonde_diff__is_gpu_moved(r))
			say_step(&b, d, r);
		else
			say_gpu_moved(&b, d, r);
		if (!b.failed)
			sonde_note(&d->sentences, "%s", b.p);
		sonde_buf_release(&b);
		said++;
	}
	if (said < MOST_SENTENCES)
		say_insufficient(d);
}

void sonde_diff__write_sentences(struct sonde_diff *d)
{
	double *own = sonde_calloc(d->regions.nr + 1, sizeof(*own));
	uint32_t *changed_around = sonde_calloc(d->regions.nr + 1, sizeof(*changed_around));
	struct news *news = sonde_calloc(2 * d->regions.nr + 1, sizeof(*news));

	say_counts(d);
	say_scopes(d);
	say_iterations(d);
	if (own && changed_around &&
		news) { /* as with notes, short memory costs only the sentences, not the comparison */
		find_own(d, own, changed_around);
		say_news(d, news, find_news(d, own, news));
	}
	say_idle(d);
	sonde_free(own);
	sonde_free(changed_around);
	sonde_free(news);
}
