/*
 * The clock of the SMs while each class of launches ran. Elapsed cycles go on whatever
 * runs, so nothing is split: a launch has the clock of the samples it lies in.
 */
#include "fold/unmixing_int.h"

#include "base/bisect.h"
#include "base/alloc.h"
#include "base/keysort.h"

struct clocked { /* for sonde_keysort */
	int64_t start_ns, end_ns;
	double rate; /* cycles of all SMs in a nanosecond */
};

struct clocks {
	SONDE_VEC(struct clocked) at; /* in order of time, none over another */
};

static bool find_clocks(struct clocks *c, const struct sonde_unmixing *x)
{
	const struct sonde_records *r = x->f->r;
	size_t i, k;

	for (i = 0; i < r->series.nr; i++) {
		const struct sonde_series *s = &r->series.at[i];
		uint32_t elapsed = sonde_series_counter(s, r, "sm.elapsed_cycles");

		if (elapsed == SONDE_NONE || !sonde_series__is_same_device(s, x->first))
			continue;
		for (k = 0; k < s->times.nr; k++) {
			const struct sonde_sample_time *t = &s->times.at[k];
			double rate = s->values.at[k * s->counters.nr + elapsed] /
				      (double)(t->end_ns - t->start_ns);

			if (rate > 0 && t->end_ns > t->start_ns &&
				!sonde_vec_put(&c->at,
					(struct clocked){(int64_t)t->start_ns, (int64_t)t->end_ns, rate}))
				return false;
		}
	}
	return true;
}

/* Two samplers may follow each other; of two samples that overlap the first one counts. */
static bool sort_clocks(struct clocks *c)
{
	size_t i, nr = 0;

	if (!sonde_keysort(c->at.at, c->at.nr))
		return false;
	for (i = 0; i < c->at.nr; i++)
		if (!nr || c->at.at[i].start_ns >= c->at.at[nr - 1].end_ns)
			c->at.at[nr++] = c->at.at[i];
	c->at.nr = nr;
	return true;
}

/* Where no sample lies, the clock was what it was on average. */
static double cycles_of(
	const struct clocks *c, const struct sonde_unmix_launch *l, double mean_rate)
{
	double cycles = 0, seen = 0;
	size_t i = 0;

	sonde_bisect(i, c->at.nr, mid, c->at.at[mid].end_ns <= l->start_ns);
	for (; i < c->at.nr && c->at.at[i].start_ns < l->end_ns; i++) {
		const struct clocked *s = &c->at.at[i];
		int64_t from = s->start_ns > l->start_ns ? s->start_ns : l->start_ns;
		int64_t to = s->end_ns < l->end_ns ? s->end_ns : l->end_ns;

		cycles += s->rate * (double)(to - from);
		seen += (double)(to - from);
	}
	return cycles + mean_rate * ((double)(l->end_ns - l->start_ns) - seen);
}

bool sonde_unmixing__clocks(struct sonde_unmixing *x)
{
	struct clocks c = {{0}};
	bool ok = find_clocks(&c, x) && sort_clocks(&c);
	size_t i;

	ok = ok && sonde_vec_reserve(&x->cycles, x->launches.nr + 1);
	if (ok && c.at.nr) {
		x->s->elapsed = sonde_calloc(x->classes.nr + 1, sizeof(*x->s->elapsed));
		ok = x->s->elapsed != NULL;
	}
	for (i = 0; ok && i < x->launches.nr; i++) {
		double cycles = cycles_of(&c, &x->launches.at[i], x->s->cycles_per_ns);

		x->cycles.at[x->cycles.nr++] = cycles;
		if (x->s->elapsed)
			x->s->elapsed[x->launches.at[i].class] += cycles;
	}
	sonde_vec_release(&c.at);
	return ok;
}
