/*
 * GPM's samples: a tenth of a second long, and late.
 *
 * The counts of a sample come from work up to LATE_NS before its timestamps: the driver gathers the values and shows
 * them later. The delay is not documented (75 to 80 ms on an H200). Also, a tenth of a second holds thousands of kernels,
 * always in the same mixture, so solving cannot separate kernels. Therefore a sample counts only if one region alone ran, or
 * nothing ran, during the sample and during LATE_NS before it, and equally densely in both: then its counts belong to that
 * region whatever the delay is. The unknowns are the regions with enough such samples. A region with fewer shares the
 * unknown of the region around it, or of one further out.
 */
#include "fold/unmixing_int.h"

#include "base/alloc.h"
#include "base/bisect.h"

#include <math.h>
#include <stdlib.h>

#define LATE_NS SONDE_GPM_LATE_NS
#define ENOUGH	10   /* the fewest samples for a region to be an unknown */
#define ALONE	0.95 /* a sample is about a region if the region has at least this share of the launches' time … */
#define EVEN	0.1  /* … and launches fill the same share of time before and during the sample, to within this (relative) */

/* How long launches of a region ran during a sample and during LATE_NS before it. */
struct part {
	uint32_t sample, region;
	double before_ns, during_ns;
};

struct gpm {
	struct sonde_unmixing *x;
	struct sonde_map keys; /* {sample, region} → part */
	struct sonde_arena arena;
	SONDE_VEC(struct part) parts;
	/*
	 * Unit numbers after those of the regions: nr_regions = outside all regions; others = launches in no cell;
	 * nothing = no launch ran.
	 */
	uint32_t nr_regions, others, nothing;
	uint32_t *region;  /* by class */
	uint32_t *around;  /* by region: itself, or the region whose unknown it shares */
	uint32_t *nr_even; /* by unit: number of samples about it */
	uint32_t *about;   /* by sample: the unit it is about; SONDE_NONE = several units */
	double *ns;	   /* two per unit: time before and during the current sample; all zero between samples */
};

/* The unit of a region: the region whose unknown it shares, or itself. */
static uint32_t unit_of(const struct gpm *g, uint32_t region)
{
	while (g->around[region] != region)
		region = g->around[region];
	return region;
}

static double overlap_ns(const struct sonde_unmix_launch *l, int64_t from, int64_t to)
{
	from = l->start_ns > from ? l->start_ns : from;
	to = l->end_ns < to ? l->end_ns : to;
	return to > from ? (double)(to - from) : 0;
}

static bool add_part(struct gpm *g, uint32_t sample, uint32_t region, double before, double during)
{
	const uint32_t key[2] = {sample, region};
	uint32_t number = sonde_map_keep(&g->keys, &g->arena, SONDE_BYTES(key), NULL);
	struct part *part = sonde_map_slot(&g->parts, number);

	if (!part)
		return false;
	*part = (struct part){sample, region, part->before_ns + before, part->during_ns + during};
	return true;
}

static bool find_parts(struct gpm *g)
{
	const struct sonde_unmixing *x = g->x;
	size_t i, k;

	for (i = 0; i < x->launches.nr; i++) {
		const struct sonde_unmix_launch *l = &x->launches.at[i];
		k = 0;
		sonde_bisect(k, x->ends.nr, mid, x->ends.at[mid] <= l->start_ns);
		for (; k < x->starts.nr && x->starts.at[k] - LATE_NS < l->end_ns; k++)
			if (!add_part(g, (uint32_t)k, g->region[l->class],
				    overlap_ns(l, x->starts.at[k] - LATE_NS, x->starts.at[k]),
				    overlap_ns(l, x->starts.at[k], x->ends.at[k])))
				return false;
	}
	return true;
}

static int by_sample(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->sample != y->sample)
		return sonde_cmp(x->sample, y->sample);
	return sonde_cmp(x->region, y->region);
}

/* The unit that a sample is about, from its parts `p` up to `end` (exclusive); SONDE_NONE = several units. */
static uint32_t find_unit(struct gpm *g, const struct part *p, const struct part *end)
{
	const struct sonde_unmixing *x = g->x;
	double length = (double)(x->ends.at[p->sample] - x->starts.at[p->sample]), before = 0, during = 0;
	uint32_t most = unit_of(g, p->region), unit;
	const struct part *q;
	bool is_alone;

	for (q = p; q < end; q++) {
		double *ns;

		unit = unit_of(g, q->region);
		ns = &g->ns[2 * (size_t)unit];
		before += q->before_ns;
		during += q->during_ns;
		ns[0] += q->before_ns;
		ns[1] += q->during_ns;
		if (ns[1] > g->ns[2 * (size_t)most + 1])
			most = unit;
	}
	is_alone = g->ns[2 * (size_t)most] >= ALONE * before && g->ns[2 * (size_t)most + 1] >= ALONE * during;
	for (q = p; q < end; q++) {
		unit = unit_of(g, q->region);
		g->ns[2 * (size_t)unit] = g->ns[2 * (size_t)unit + 1] = 0;
	}
	return is_alone && fabs(before / LATE_NS - during / length) <= EVEN * during / length ? most : SONDE_NONE;
}

/* Finds the unit that each sample is about, with the current units. */
static void judge_samples(struct gpm *g)
{
	const struct part *p = g->parts.at, *end = p + g->parts.nr, *q;
	size_t i;

	for (i = 0; i < g->x->starts.nr; i++)
		g->about[i] = g->nothing;
	for (i = 0; i < g->nothing; i++)
		g->nr_even[i] = 0;
	for (; p < end; p = q) {
		uint32_t unit;

		for (q = p; q < end && q->sample == p->sample; q++)
			;
		unit = find_unit(g, p, q);
		g->about[p->sample] = unit;
		if (unit != SONDE_NONE)
			g->nr_even[unit]++;
	}
}

/* Joins regions with too few samples to the regions around them, the deepest regions first. */
static void choose_units(struct gpm *g)
{
	const struct sonde_region *regions = g->x->f->l->regions.at;
	uint32_t depth = 0, i;

	for (i = 0; i < g->nr_regions; i++)
		depth = regions[i].depth > depth ? regions[i].depth : depth;
	for (depth++; depth-- > 0;) {
		judge_samples(g);
		for (i = 0; i < g->nr_regions; i++)
			if (regions[i].depth == depth && g->nr_even[i] < ENOUGH)
				g->around[i] = regions[i].parent == SONDE_NONE ? g->nr_regions : regions[i].parent;
	}
	judge_samples(g);
}

/* Keeps only samples that are about one unit or about an idle device. */
static void drop_mixed(struct gpm *g)
{
	struct sonde_unmixing *x = g->x;
	size_t i, k, nr = 0, nr_columns = x->columns.nr;

	for (i = 0; i < x->starts.nr; i++) {
		if (g->about[i] == SONDE_NONE || g->about[i] == g->others)
			continue;
		x->starts.at[nr] = x->starts.at[i];
		x->ends.at[nr] = x->ends.at[i];
		for (k = 0; k < nr_columns; k++)
			x->values.at[nr * nr_columns + k] = x->values.at[i * nr_columns + k];
		nr++;
	}
	x->starts.nr = x->ends.nr = nr;
	x->values.nr = nr * nr_columns;
}

/* Sets the unit of each class as its name, and whether the unit has too few samples. */
static bool name_units(struct gpm *g)
{
	struct sonde_unmixing *x = g->x;
	size_t i;

	if (!sonde_vec_reserve(&x->units, x->classes.nr + 1) || !sonde_vec_reserve(&x->is_few, x->classes.nr + 1))
		return false;
	for (i = 0; i < x->classes.nr; i++) {
		uint32_t unit = unit_of(g, g->region[i]);

		x->units.at[i] = (struct sonde_unmix_class){.name = unit, .group = SONDE_UNMIX_NONE};
		x->is_few.at[i] = unit == g->others || g->nr_even[unit] < ENOUGH;
	}
	x->units.nr = x->is_few.nr = x->classes.nr;
	return true;
}

bool sonde_series__is_gpm(const struct sonde_records *r, const struct sonde_series *s)
{
	return s->counters.nr && sonde_str_starts(sonde_records_str(r, s->counters.at[0].role), "gpm.");
}

bool sonde_unmixing__units(struct sonde_unmixing *x)
{
	uint32_t nr = (uint32_t)x->f->l->regions.nr, i, k;
	struct gpm g = {.x = x, .nr_regions = nr, .others = nr + 1, .nothing = nr + 2};
	bool ok;

	g.region = sonde_arena_alloc(&g.arena, (x->classes.nr + 1) * sizeof(*g.region));
	g.around = sonde_arena_alloc(&g.arena, g.nothing * sizeof(*g.around));
	g.nr_even = sonde_arena_calloc(&g.arena, g.nothing, sizeof(*g.nr_even));
	g.about = sonde_arena_alloc(&g.arena, (x->starts.nr + 1) * sizeof(*g.about));
	g.ns = sonde_arena_calloc(&g.arena, 2 * (size_t)g.nothing, sizeof(*g.ns));
	ok = !g.arena.failed;
	for (i = 0; ok && i < g.nothing; i++)
		g.around[i] = i;
	for (i = 0; ok && i < x->kinds.nr; i++) {
		const struct sonde_unmixing_kind *kind = &x->kinds.at[i];

		for (k = 0; k < kind->nr; k++)
			g.region[kind->first + k] = !kind->counts ? g.others : kind->region == SONDE_NONE ? nr : kind->region;
	}
	ok = ok && find_parts(&g);
	if (ok) {
		sonde_vec_sort(&g.parts, by_sample);
		choose_units(&g);
		drop_mixed(&g);
		ok = name_units(&g);
	}
	sonde_map_release(&g.keys);
	sonde_vec_release(&g.parts);
	sonde_arena_release(&g.arena);
	return ok;
}
