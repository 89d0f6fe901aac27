/*
 * Sentences on regions that one side alone has: new, gone, and what they may be on the other side.
 * Siblings with the same fate are one sentence.
 */
#include "compare/diff_int.h"

#include <math.h>

enum fate { FATE_NEW, FATE_GONE, FATE_INTO_GRAPH, FATE_OUT_OF_GRAPH, FATE_OWN };

static enum fate fate_of(const struct sonde_diff_region *r)
{
	if (r->twin == SONDE_NONE)
		return r->verdict == SONDE_VERDICT_ADDED ? FATE_NEW : FATE_GONE;
	if (r->likeness == SONDE_LIKE_GRAPH)
		return r->kind == SONDE_REGION_GRAPH ? FATE_OUT_OF_GRAPH : FATE_INTO_GRAPH;
	return FATE_OWN;
}

bool sonde_diff__share_fate(const struct sonde_diff_region *a, const struct sonde_diff_region *b)
{
	return sonde_diff__is_lone(a) && sonde_diff__is_lone(b) && fate_of(a) != FATE_OWN &&
	       fate_of(a) == fate_of(b);
}

void sonde_diff__put_subject(
	struct sonde_buf *b, const struct sonde_diff_region *r, size_t nr_beside)
{
	sonde_region_say(b, r->id, r->kind);
	if (nr_beside)
		sonde_buf_printf(b, " and %zu %s beside it", nr_beside,
			nr_beside > 1 ? "regions" : "region");
	sonde_buf_puts(b, nr_beside ? " are" : " is");
}

static void put_times(struct sonde_buf *b, double from_ns, double to_ns)
{
	sonde_diff__put_time(b, from_ns);
	sonde_buf_puts(b, " \u2192 ");
	sonde_diff__put_time(b, to_ns);
	sonde_buf_puts(b, " per entry");
}

/* "a/x, a/y and a/z": the parts of a region that was split or merged; their medians added up. */
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

/* Under another name, or elsewhere. */
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
	sonde_diff__put_time(b, h->total_ns);
	sonde_buf_printf(b, " in all on the %s", r->is_gpu ? "GPU" : "host");
}

void sonde_diff__say_lone(struct sonde_buf *b, const struct sonde_diff *d,
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
	sonde_diff__put_subject(b, r, nr_beside);
	sonde_buf_printf(b, " %s", words[fate_of(r)]);
	sonde_buf_puts(b, nr_beside ? ". The largest: " : ": ");
	if (now)
		put_times(b, r->base.median_ns, now->new_half.median_ns);
	else
		say_new_or_gone(b, r);
}
