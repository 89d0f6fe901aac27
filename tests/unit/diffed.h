/*
 * Makes and compares synthetic programs: steps of regions with noise in their times.
 */
#ifndef TESTS_DIFFED_H
#define TESTS_DIFFED_H

#include "base/alloc.h"
#include "compare/diff.h"

#include "treed.h"

#include <stdio.h>

#define OCCUPANCY "sm__warps_active.avg.pct_of_peak_sustained_active"

/* A program: steps of regions, each with its own launches; times have noise. */
struct program {
	size_t steps, regions, launches; /* launches: in every region */
	uint64_t seed;
	const char *slow;     /* this region takes … */
	double by;	      /* … so many times as long */
	size_t more;	      /* additional launches in `slow` */
	const char *kernel;   /* its kernel's name; NULL = "gemm" */
	const char *names[4]; /* names of the first regions; NULL = r0, r1, … */
	const char *device;
	double noise;	       /* 0 = 5 % */
	double occupancy_step; /* more of it in every further run */
	double occupancy;      /* of `slow`'s launches, %; 0 = not measured */
	bool host_only;
	double ahead; /* 0 = none: a start/end range `prefetch` takes this many times as long as its step */
};

static inline double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*seed >> 33) + 0.5) / 2147483648.0;
}

/* Heavy-tailed: one in twenty takes a good deal longer. */
static inline double noise(uint64_t *seed, double size)
{
	double n = uniform(seed) + uniform(seed) + uniform(seed) + uniform(seed) - 2;

	return 1 + size * n * 1.7 + (uniform(seed) < 0.05 ? 3 * size : 0);
}

static inline void launch(struct made *m, uint32_t range, const char *kernel, uint64_t *now, double ns)
{
	made_launch(m, kernel, 1, &range);
	made_metric(m, TIME, (double)(uint64_t)ns);
	m->r->records.at[m->r->records.nr - 1].time =
		(struct sonde_record_time){*now, *now + (uint64_t)ns};
	*now += (uint64_t)ns + 100;
}

static inline void enter_region(struct made *m, const struct program *p, uint32_t step, size_t i,
	uint64_t *seed, uint64_t *now)
{
	char name[32];
	const char *label = i < 4 && p->names[i] ? p->names[i] : name;
	uint64_t begin = *now;
	uint32_t range;
	size_t k, nr = p->launches;
	bool is_slow;

	snprintf(name, sizeof(name), "r%zu", i);
	range = made_push(m, step, sonde_arena_z(&m->r->arena, sonde_str_from(label)));
	is_slow = p->slow && strcmp(p->slow, label) == 0;
	nr += is_slow ? p->more : 0;
	for (k = 0; k < nr; k++) {
		double ns = 20000 * (double)(i + 1) / (double)p->launches *
			    noise(seed, p->noise > 0 ? p->noise : 0.05) * (is_slow ? p->by : 1);

		if (p->host_only)
			*now += (uint64_t)ns;
		else
			launch(m, range, is_slow && p->kernel ? p->kernel : "gemm", now, ns);
		if (p->occupancy > 0)
			made_metric(m, OCCUPANCY, is_slow ? p->occupancy : 50);
	}
	m->r->ranges.at[range].time = (struct sonde_range_time){begin, *now, 0};
}

static inline void make(struct run *run, const struct program *p)
{
	uint64_t seed = p->seed * 7919 + 1, now = 1000, begin;
	struct made m;
	size_t i, k;

	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	for (i = 0; i < p->steps; i++) {
		uint32_t step = made_push(&m, MADE_ROOT, "step");

		begin = now;
		for (k = 0; k < p->regions; k++)
			enter_region(&m, p, step, k, &seed, &now);
		m.r->ranges.at[step].time = (struct sonde_range_time){begin, now, 0};
		if (p->ahead > 0) {
			uint32_t ahead = made_start(&m, "prefetch");

			m.r->ranges.at[ahead].time = (struct sonde_range_time){begin, begin + (uint64_t)(p->ahead * (double)(now - begin)), 0};
		}
	}
	if (p->device) {
		struct sonde_device *d = sonde_push(&m.r->arena, &m.r->devices);

		assert_non_null(d);
		d->name = sonde_str_from(p->device);
	}
	aggregate(run, m.r, NULL);
	made_release(&m);
}

/* Up to four runs a side, and the comparison of them. */
struct compared {
	struct run base[4], now[4];
	size_t nr;
	struct sonde_diff *d;
};

static inline void compare_with(struct compared *c, const struct program *a, const struct program *b,
	size_t nr, const struct sonde_diff_options *o)
{
	const struct sonde_tree *base[4], *now[4];
	struct program p;
	size_t i;

	for (i = 0, c->nr = nr; i < nr; i++) {
		p = *a;
		p.seed += i * 100;
		p.occupancy += (double)i * p.occupancy_step;
		make(&c->base[i], &p);
		p = *b;
		p.seed += i * 100;
		p.occupancy += (double)i * p.occupancy_step;
		make(&c->now[i], &p);
		base[i] = c->base[i].t;
		now[i] = c->now[i].t;
	}
	assert_int_equal(sonde_diff_build(&c->d, &(struct sonde_diff_side){base, nr},
				 &(struct sonde_diff_side){now, nr}, o, NULL),
		0);
}

static const struct sonde_diff_options plain = {.min_effect = 0.02};

static inline void compare(struct compared *c, const struct program *a, const struct program *b)
{
	compare_with(c, a, b, 1, &plain);
}

static inline void done(struct compared *c)
{
	size_t i;

	sonde_diff_free(c->d);
	for (i = 0; i < c->nr; i++) {
		release(&c->base[i]);
		release(&c->now[i]);
	}
}

static inline const struct sonde_diff_region *named(const struct compared *c, const char *id)
{
	size_t i;

	for (i = 0; i < c->d->regions.nr; i++)
		if (sonde_str_is(c->d->regions.at[i].id, id))
			return &c->d->regions.at[i];
	fail_msg("no region %s", id);
	return NULL;
}

static inline bool says(const struct sonde_notes *notes, const char *what)
{
	size_t i;

	for (i = 0; i < notes->texts.nr; i++)
		if (memmem(notes->texts.keys[i].p, notes->texts.keys[i].n, what, strlen(what)))
			return true;
	return false;
}

/* --- what is named ---------------------------------------------------------------------------- */

#endif
