#include "read/clock_map.h"

#include "base/bisect.h"

static int by_from(const void *a, const void *b)
{
	const struct sonde_clock_point *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Makes the line through points i and i+1 the one in use. */
static void use_line(struct sonde_clock_map *c, size_t i)
{
	const struct sonde_clock_point *a = &c->points.at[i], *b = a + 1;

	c->low = a->from;
	c->high = b->from;
	c->base_ns = a->to_ns;
	c->ns_per_tick = b->to_ns > a->to_ns
				 ? (double)(b->to_ns - a->to_ns) / (double)(b->from - a->from)
				 : 0;
}

void sonde_clock_map__init(struct sonde_clock_map *c)
{
	size_t i, nr = 0;

	if (!c->points.nr)
		return;
	sonde_vec_sort(&c->points, by_from);
	/*
	 * Points too close together give no good slope: keep the first, then each one that is at least 1 ms after the
	 * last one kept.
	 */
	for (i = 1; i < c->points.nr; i++) {
		const struct sonde_clock_point *p = &c->points.at[i];

		if (p->from > c->points.at[nr].from &&
			p->to_ns - c->points.at[nr].to_ns - 1000000 < UINT64_MAX / 4)
			c->points.at[++nr] = *p;
	}
	c->points.nr = nr + 1;
	if (c->points.nr > 1) {
		use_line(c, 0);
		return;
	}
	c->low = c->high = c->points.at[0].from;
	c->base_ns = c->points.at[0].to_ns;
	c->ns_per_tick = c->hz > 0 ? 1e9 / c->hz : 1;
}

uint64_t sonde_clock_map__slow(struct sonde_clock_map *c, uint64_t t)
{
	size_t low = 0;
	double ns;

	if (!c->points.nr)
		return sonde_clock_map__u64((double)t * (c->hz > 0 ? 1e9 / c->hz : 1));
	if (c->points.nr > 1) {
		sonde_bisect(low, c->points.nr - 1, mid, c->points.at[mid].from <= t);
		use_line(c, low ? low - 1 : 0);
	}
	if (t >= c->low) {
		ns = (double)(t - c->low) * c->ns_per_tick;
		return ns < (double)(UINT64_MAX - c->base_ns) ? c->base_ns + sonde_clock_map__u64(ns) : UINT64_MAX;
	}
	ns = (double)(c->low - t) * c->ns_per_tick;
	return ns < (double)c->base_ns ? c->base_ns - sonde_clock_map__u64(ns) : 0;
}
