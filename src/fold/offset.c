/*
 * Do the samples bear the offset that is assumed between them and the launches? SMs are active
 * while something runs: where another offset, beyond any doubt about a microsecond, explains the
 * active cycles far better, the clocks do not agree.
 */
#include "fold/unmixing_int.h"

#include "base/alloc.h"
#include "base/keysort.h"

#include <math.h>

#define ENOUGH_SAMPLES 200
#define MOST_SAMPLES   200000 /* a clock that is wrong is so from the beginning */
#define FAR_BETTER     0.5    /* of the squared misfit */
#define EXPLAINS       0.5    /* of the variance: with less the other offset is none either */

/* Microseconds to either side. What is nearer is a matter of when kernels do their work. */
static const int64_t tried_us[] = {10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000};

struct busy { /* for sonde_keysort */
	int64_t start_ns, end_ns;
};

/* Times in which at least one launch ran, in order; to be freed. NULL: no memory. */
static struct busy *find_busy(const struct sonde_unmixing *x, size_t *nr)
{
	struct busy *all = sonde_malloc((x->launches.nr + 1) * sizeof(*all));
	size_t i, n = 0;

	for (i = 0; all && i < x->launches.nr; i++)
		all[i] = (struct busy){x->launches.at[i].start_ns, x->launches.at[i].end_ns};
	if (all && !sonde_keysort(all, x->launches.nr)) {
		sonde_free(all);
		all = NULL;
	}
	for (i = 0; all && i < x->launches.nr; i++) {
		if (n && all[i].start_ns <= all[n - 1].end_ns) {
			if (all[i].end_ns > all[n - 1].end_ns)
				all[n - 1].end_ns = all[i].end_ns;
		} else {
			all[n++] = all[i];
		}
	}
	*nr = n;
	return all;
}

struct fit {
	double n, t, v, tt, tv, vv; /* sums */
};

static void add(struct fit *f, double t, double v)
{
	f->n++;
	f->t += t;
	f->v += v;
	f->tt += t * t;
	f->tv += t * v;
	f->vv += v * v;
}

/* The share of the variance that a straight line leaves; 1 where there is nothing to explain. */
static double unexplained(const struct fit *f)
{
	double tt = f->tt - f->t * f->t / f->n, tv = f->tv - f->t * f->v / f->n;
	double vv = f->vv - f->v * f->v / f->n;

	return tt > 0 && vv > 0 && tv > 0 ? fmax(0, 1 - tv * tv / (tt * vv)) : 1;
}

/* Counts of a nanosecond against the share of the sample that was busy. */
static double try_offset(const struct sonde_unmixing *x, uint32_t column, const struct busy *busy,
	size_t nr_busy, int64_t offset_ns)
{
	size_t i, k = 0, j, nr = x->starts.nr < MOST_SAMPLES ? x->starts.nr : MOST_SAMPLES;
	struct fit f = {0};

	for (i = 0; i < nr; i++) {
		int64_t start = x->starts.at[i] - offset_ns, end = x->ends.at[i] - offset_ns, a, b;
		double length = (double)(end - start), t = 0;

		while (k < nr_busy && busy[k].end_ns <= start)
			k++;
		for (j = k; j < nr_busy && busy[j].start_ns < end; j++) {
			a = busy[j].start_ns > start ? busy[j].start_ns : start;
			b = busy[j].end_ns < end ? busy[j].end_ns : end;
			t += (double)(b - a);
		}
		add(&f, t / length, x->values.at[i * x->columns.nr + column] / length);
	}
	return unexplained(&f);
}

struct search {
	const struct sonde_unmixing *x;
	uint32_t column;
	const struct busy *busy;
	size_t nr_busy;
	double best; /* what is unexplained … */
	int64_t at;  /* … at this offset */
};

static void look_at(struct search *s, int64_t offset_ns)
{
	double there = try_offset(s->x, s->column, s->busy, s->nr_busy, offset_ns);

	if (there < s->best) {
		s->best = there;
		s->at = offset_ns;
	}
}

/* The offset in ns that is far better than the one in use; 0 = none is. */
static int64_t find_better(struct search *s)
{
	int64_t own = sonde_unmixing__offset(s->x), step;
	double there;
	size_t i;

	s->best = 2;
	look_at(s, own);
	there = s->best;
	for (i = 0; i < sizeof(tried_us) / sizeof(*tried_us); i++) {
		look_at(s, own - tried_us[i] * 1000);
		look_at(s, own + tried_us[i] * 1000);
	}
	for (step = s->at == own ? 0 : tried_us[0] * 500; step > 1000; step /= 2) {
		int64_t middle = s->at;

		look_at(s, middle - step);
		look_at(s, middle + step);
	}
	return s->best < FAR_BETTER * there && s->best < 1 - EXPLAINS ? s->at : 0;
}

bool sonde_unmixing__check_offset(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d)
{
	struct search s = {.x = x};
	struct busy *busy;
	int64_t better;
	uint32_t column;

	for (column = 0; column < set->roles.nr; column++)
		if (sonde_str_is(set->roles.at[column], "sm.active_cycles"))
			break;
	if (column == set->roles.nr || x->starts.nr < ENOUGH_SAMPLES)
		return true;
	busy = find_busy(x, &s.nr_busy);
	if (!busy)
		return false;
	s.busy = busy;
	s.column = column;
	better = find_better(&s);
	sonde_free(busy);
	if (better)
		sonde_note(&x->f->c->notes,
			"the samples of %.*s fit the launches better when launches are moved by %+.0f µs than by %+.2f µs%s: "
			"the clocks disagree, and the counters are split wrongly (docs/counters.md)",
			SONDE_STR_ARG(d->name), (double)better / 1e3, (double)sonde_unmixing__offset(x) / 1e3,
			x->first->is_calibrated ? ", as calibrated" : "");
	return true;
}
