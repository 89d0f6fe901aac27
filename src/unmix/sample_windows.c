/*
 * Chooses the samples that are used.
 *
 * The first sample after a start also covers the idle time before it and is much
 * longer than the next one: it is dropped, as is a long sample that covers idle
 * time. Samples far from any launch say nothing about launches; a few of them are
 * kept for the background.
 */
#include "unmix/unmix_int.h"

#include "base/bisect.h"
#include "base/quantile.h"
#include "catalogue/limits.h"

#include <math.h>

#define MARGIN 100  /* samples kept before the first launch and after the last one */
#define GAP    0.05 /* shortest gap, relative to the median sample: shorter ones come from reading the clock twice */

static double length_of(const struct sonde_unmix_input *in, size_t i)
{
	return (double)(in->end_ns[i] - in->start_ns[i]);
}

static double median_length(struct sonde_arena *arena, const struct sonde_unmix_input *in)
{
	size_t step = in->nr_samples / 10000 + 1, nr = 0, i;
	double *some = sonde_arena_alloc(arena, (in->nr_samples / step + 1) * sizeof(*some));

	if (some == NULL)
		return 0;
	for (i = 0; i < in->nr_samples; i += step)
		some[nr++] = length_of(in, i);
	sonde_sort_numbers(some, nr);
	return nr > 0 ? some[nr / 2] : 0;
}

static bool is_first_after_start(const struct sonde_unmix_input *in, size_t i)
{
	double next = i + 1 < in->nr_samples ? length_of(in, i + 1) : 0;

	return i == 0 || (next > 0 && length_of(in, i) > 1.5 * next);
}

/* Whether all values are counts: finite and not negative. */
static bool has_counts(const struct sonde_unmix_input *in, size_t i)
{
	const double *v = in->values + i * in->nr_counters;
	uint32_t c;

	for (c = 0; c < in->nr_counters; c++)
		if (!isfinite(v[c]) || v[c] < 0)
			return false;
	return true;
}

static bool is_possible(const struct sonde_unmix_input *in, const double *limits, size_t i)
{
	const double *v = in->values + i * in->nr_counters;
	double length = length_of(in, i);
	uint32_t c;

	for (c = 0; c < in->nr_counters; c++)
		if (limits[c] > 0 && v[c] > SONDE_LIMIT_SLACK * limits[c] * length)
			return false;
	return length > 0;
}

struct span {
	int64_t start_ns, end_ns;
};

static struct span span_of_launches(const struct sonde_unmix_input *in, int64_t offset_ns)
{
	struct span s = {INT64_MAX, INT64_MIN};
	size_t i;

	for (i = 0; i < in->nr_launches; i++) {
		int64_t start = in->launches[i].start_ns + offset_ns;
		int64_t end = in->launches[i].end_ns + offset_ns;

		s.start_ns = start < s.start_ns ? start : s.start_ns;
		s.end_ns = end > s.end_ns ? end : s.end_ns;
	}
	return s;
}

static void take_samples(struct sonde_unmix__windows *w, struct sonde_unmix_quality *q,
	const struct sonde_unmix_input *in, const double *limits, struct span span)
{
	int64_t margin = (int64_t)fmin(MARGIN * w->length, 1e18), last = INT64_MIN;
	size_t i;

	for (i = 0; i < in->nr_samples; i++) {
		/* Neighbours may overlap by some nanoseconds: the clock was read twice. */
		int64_t start = in->start_ns[i] > last ? in->start_ns[i] : last;
		bool is_count;

		if (in->end_ns[i] < span.start_ns - margin || start > span.end_ns + margin) {
			q->nr_outside++;
			continue;
		}
		/* Gaps are counted before samples are dropped: a gap is time that the sampler did not see. */
		q->nr_gaps += i > 0 && last != INT64_MIN &&
			      (double)(start - in->end_ns[i - 1]) > GAP * w->length;
		is_count = has_counts(in, i);
		q->nr_no_count += !is_count;
		if (!is_count || !is_possible(in, limits, i) || is_first_after_start(in, i) ||
			in->end_ns[i] <= start) {
			q->nr_dropped++;
			continue;
		}
		w->start[w->nr] = (double)(start - w->origin_ns);
		w->end[w->nr] = (double)(in->end_ns[i] - w->origin_ns);
		w->sample[w->nr++] = i;
		last = in->end_ns[i];
	}
}

static uint32_t cube_root(size_t n)
{
	uint32_t r = 1;

	while ((uint64_t)(r + 1) * (r + 1) * (r + 1) <= n)
		r++;
	return r;
}

/*
 * Residuals of neighbours depend on each other (counts of a launch that are missing at
 * the edge of one sample are too much in the next), those far apart do not. So clusters
 * have about the cube root of the number of samples, and never span a gap.
 */
static void cluster_samples(struct sonde_unmix__windows *w)
{
	uint32_t length = cube_root(w->nr), in_cluster = 0;
	size_t i;

	length = length < 4 ? 4 : length;
	for (i = 0; i < w->nr; i++) {
		w->follows[i] = i > 0 && w->start[i] - w->end[i - 1] < GAP * w->length;
		if (!w->follows[i] || in_cluster == length) {
			w->nr_clusters++;
			in_cluster = 0;
		}
		w->cluster[i] = w->nr_clusters - 1;
		in_cluster++;
	}
}

int sonde_unmix__windows_make(struct sonde_unmix__windows *w, struct sonde_unmix_quality *q,
	struct sonde_arena *arena, const struct sonde_unmix_input *in, const double *limits,
	int64_t offset_ns)
{
	struct span span = span_of_launches(in, offset_ns);
	size_t nr = in->nr_samples;

	*w = (struct sonde_unmix__windows){.origin_ns = nr > 0 ? in->start_ns[0] : 0};
	w->start = sonde_arena_alloc(arena, nr * sizeof(*w->start));
	w->end = sonde_arena_alloc(arena, nr * sizeof(*w->end));
	w->sample = sonde_arena_alloc(arena, nr * sizeof(*w->sample));
	w->cluster = sonde_arena_alloc(arena, nr * sizeof(*w->cluster));
	w->follows = sonde_arena_alloc(arena, nr * sizeof(*w->follows));
	w->length = median_length(arena, in);
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	if (in->nr_launches > 0)
		take_samples(w, q, in, limits, span);
	cluster_samples(w);
	q->nr_samples = w->nr;
	return 0;
}

double sonde_unmix__windows_cover(const struct sonde_unmix__windows *w, double start, double end)
{
	size_t low = 0;
	double covered = 0;

	/* the first window that ends after `start` */
	sonde_bisect(low, w->nr, mid, w->end[mid] <= start);
	for (; low < w->nr && w->start[low] < end; low++)
		covered += fmin(end, w->end[low]) - fmax(start, w->start[low]);
	return covered;
}
