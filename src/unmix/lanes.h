/*
 * LANES numbers side by side, in registers: eight counters, or eight right-hand sides.
 *
 * Numbers are never summed across lanes, so the bits are the same on every machine, however wide its
 * registers are. We use pairs because every 64-bit machine has instructions for pairs.
 */
#ifndef SONDE_UNMIX_LANES_H
#define SONDE_UNMIX_LANES_H

#define LANES 8

typedef double sonde_pair __attribute__((vector_size(16)));
/* A pair at any index of an array of doubles: aligned to 8 bytes only. */
typedef double sonde_loose_pair __attribute__((vector_size(16), aligned(8), may_alias));

struct sonde_lanes {
	sonde_pair a, b, c, d;
};
_Static_assert(sizeof(struct sonde_lanes) == LANES * sizeof(double), "four pairs");

static inline struct sonde_lanes lanes_load(const double *from)
{
	const sonde_loose_pair *p = (const sonde_loose_pair *)from;

	return (struct sonde_lanes){p[0], p[1], p[2], p[3]};
}

static inline void lanes_store(double *to, struct sonde_lanes x)
{
	sonde_loose_pair *p = (sonde_loose_pair *)to;

	p[0] = x.a;
	p[1] = x.b;
	p[2] = x.c;
	p[3] = x.d;
}

static inline struct sonde_lanes lanes_same(double x)
{
	sonde_pair p = {x, x};

	return (struct sonde_lanes){p, p, p, p};
}

static inline struct sonde_lanes lanes_plus(struct sonde_lanes x, struct sonde_lanes y)
{
	return (struct sonde_lanes){x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d};
}

static inline struct sonde_lanes lanes_minus(struct sonde_lanes x, struct sonde_lanes y)
{
	return (struct sonde_lanes){x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d};
}

static inline struct sonde_lanes lanes_times(struct sonde_lanes x, struct sonde_lanes y)
{
	return (struct sonde_lanes){x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d};
}

/* to += from · by */
static inline void lanes_add_scaled(double *to, const double *from, double by)
{
	lanes_store(to, lanes_plus(lanes_load(to), lanes_times(lanes_load(from), lanes_same(by))));
}

#endif
