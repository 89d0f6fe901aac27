/* Drawing a side again: runs first, then blocks of entries within each. */
#include "compare/stats_int.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* splitmix64: small, good, the same everywhere. */
static uint64_t draw(struct sonde_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t draw_below(struct sonde_random *r, size_t n)
{
	return (size_t)(((draw(r) >> 32) * n) >> 32); /* n is below 2³² */
}

/* Single entries: one draw is good for two. */
static void draw_singles(struct sonde_resample *s, struct sonde_random *r, size_t first, size_t nr)
{
	const uint32_t *place = s->place + first;
	size_t left;

	for (left = nr; left > 1; left -= 2) {
		uint64_t z = draw(r);

		s->count[place[((z >> 32) * nr) >> 32]]++;
		s->count[place[((z & UINT32_MAX) * nr) >> 32]]++;
	}
	if (left)
		s->count[place[draw_below(r, nr)]]++;
}

static void draw_run(struct sonde_resample *s, struct sonde_random *r, size_t first, size_t nr)
{
	size_t left = nr, at, k;

	if (s->block == 1) {
		draw_singles(s, r, first, nr);
		return;
	}
	while (left) {
		size_t take = s->block < left ? s->block : left;

		at = draw_below(r, nr);
		for (k = 0; k < take; k++, at = at + 1 == nr ? 0 : at + 1)
			s->count[s->place[first + at]]++;
		left -= take;
	}
}

static double drawn_median(const struct sonde_resample *s, size_t nr)
{
	size_t low = (nr - 1) / 2, high = nr / 2, seen = 0, i = 0;
	double v;

	while (seen + s->count[i] <= low)
		seen += s->count[i++];
	v = s->sorted[i];
	while (seen + s->count[i] <= high)
		seen += s->count[i++];
	return (v + s->sorted[i]) / 2;
}

double sonde_resample__median(struct sonde_resample *s, struct sonde_random *r)
{
	const struct sonde_side *side = s->side;
	size_t i, k, first, drawn = 0;

	memset(s->count, 0, side->nr * sizeof(*s->count));
	if (!side->runs || side->nr_runs < 2) {
		draw_run(s, r, 0, side->nr);
		return drawn_median(s, side->nr);
	}
	for (i = 0; i < side->nr_runs; i++) {
		size_t run = draw_below(r, side->nr_runs);

		for (k = first = 0; k < run; k++)
			first += side->runs[k];
		draw_run(s, r, first, side->runs[run]);
		drawn += side->runs[run];
	}
	return drawn ? drawn_median(s, drawn) : s->sorted[side->nr / 2];
}

bool sonde_resample__init(struct sonde_resample *s, const struct sonde_side *side)
{
	struct sonde_ranked *order = sonde_malloc(side->nr * sizeof(*order));
	size_t i;

	*s = (struct sonde_resample){.side = side};
	s->sorted = sonde_malloc(side->nr * sizeof(*s->sorted));
	s->place = sonde_malloc(side->nr * sizeof(*s->place));
	s->count = sonde_malloc(side->nr * sizeof(*s->count));
	if (!order || !s->sorted || !s->place || !s->count) {
		sonde_free(order);
		return false;
	}
	for (i = 0; i < side->nr; i++)
		order[i] = (struct sonde_ranked){side->values[i], i};
	qsort(order, side->nr, sizeof(*order), sonde_ranked__by_value);
	for (i = 0; i < side->nr; i++) {
		s->sorted[i] = order[i].v;
		s->place[order[i].index] = (uint32_t)i;
	}
	sonde_free(order);
	return true;
}

void sonde_resample__release(struct sonde_resample *s)
{
	sonde_free(s->sorted);
	sonde_free(s->place);
	sonde_free(s->count);
}
