/*
 * The two moments of a kernel, by least squares: what a sample counts is the time that
 * kernels share with it, times one rate for all of them. Moving the kernels' starts and ends
 * changes the times; the best move is looked for step by step.
 */
#include "sample/calibration.h"

#include <math.h>
#include <string.h>

#define REACH_NS     20000 /* how far the common move is looked for, to either side … */
#define GRID_NS	     250   /* … in such steps */
#define FINEST_NS    1
#define PARTS	     10	 /* of the series: fitted one by one they tell the error */
#define MOST_MISFIT  0.1 /* of what was counted: beyond, something else ran */
#define LEAST_KERNELS 200
#define LEAST_ERROR_NS 50 /* from session to session, as the clocks are set anew */

void sonde_calibration_release(struct sonde_calibration_data *d)
{
	sonde_vec_release(&d->kernels);
	sonde_vec_release(&d->samples);
	sonde_vec_release(&d->active);
}

/* A part of the series: samples `from` to `to`. */
struct part {
	const struct sonde_calibration_data *d;
	size_t from, to;
};

/* What is left unexplained when starts move by `first` and ends by `last`, as a share of all. */
static double misfit_of(const struct part *p, double first, double last)
{
	const struct sonde_calibration_data *d = p->d;
	double tt = 0, tv = 0, vv = 0;
	size_t i, k = 0, j;

	for (i = p->from; i < p->to; i++) {
		double start = (double)(d->samples.at[i].start_ns - d->samples.at[0].start_ns);
		double end = (double)(d->samples.at[i].end_ns - d->samples.at[0].start_ns), t = 0;

		for (j = k; j < d->kernels.nr; j++) {
			double a = (double)(int64_t)(d->kernels.at[j].start_ns -
						     d->samples.at[0].start_ns) + first;
			double b = (double)(int64_t)(d->kernels.at[j].end_ns -
						     d->samples.at[0].start_ns) + last;

			if (a >= end)
				break;
			if (b <= start) { /* of no later sample either */
				k = j + 1;
				continue;
			}
			t += fmax(0, fmin(b, end) - fmax(a, start));
		}
		tt += t * t;
		tv += t * d->active.at[i];
		vv += d->active.at[i] * d->active.at[i];
	}
	return vv > 0 && tt > 0 ? sqrt(fmax(0, vv - tv * tv / tt) / vv) : 1;
}

/* Walks downhill from (first, last), in ever smaller steps; returns the misfit there. */
static double descend(const struct part *p, double *first, double *last)
{
	double best = misfit_of(p, *first, *last), step;

	for (step = GRID_NS; step >= FINEST_NS; step /= 2) {
		bool has_moved;

		do {
			static const double ways[][2] = {
				{1, 1}, {-1, -1}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
			size_t i;

			has_moved = false;
			for (i = 0; i < sizeof(ways) / sizeof(*ways) && !has_moved; i++) {
				double a = *first + step * ways[i][0], b = *last + step * ways[i][1];
				double there = misfit_of(p, a, b);

				if (there < best && fabs(a) <= REACH_NS && fabs(b) <= REACH_NS) {
					best = there;
					*first = a;
					*last = b;
					has_moved = true;
				}
			}
		} while (has_moved);
	}
	return best;
}

/* Starts and ends moved alike: where to begin. */
static double search(const struct part *p)
{
	double best = 2, where = 0, at;

	for (at = -REACH_NS; at <= REACH_NS; at += GRID_NS) {
		double there = misfit_of(p, at, at);

		if (there < best) {
			best = there;
			where = at;
		}
	}
	return where;
}

/* One standard error of the mean of what the parts say. */
static double error_of(const struct part *all, const struct sonde_calibration *whole)
{
	double sum = 0, squares = 0;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		struct part p = {all->d, all->from + (all->to - all->from) * i / PARTS,
			all->from + (all->to - all->from) * (i + 1) / PARTS};
		double first = whole->first_ns, last = whole->last_ns, offset;

		descend(&p, &first, &last);
		offset = (first + last) / 2 - whole->offset_ns;
		sum += offset;
		squares += offset * offset;
	}
	return sqrt(fmax(0, squares - sum * sum / PARTS) / (PARTS - 1) / PARTS);
}

/* Samples while the series ran: before and after it others may have used the device. */
static struct part find_samples(const struct sonde_calibration_data *d)
{
	struct part p = {d, 0, d->samples.nr};

	while (p.from < p.to && d->samples.at[p.from].start_ns < d->kernels.at[0].start_ns - REACH_NS)
		p.from++;
	while (p.to > p.from &&
		d->samples.at[p.to - 1].end_ns > d->kernels.at[d->kernels.nr - 1].end_ns + REACH_NS)
		p.to--;
	return p;
}

int sonde_calibration_fit(struct sonde_calibration *out, const struct sonde_calibration_data *d,
	struct sonde_err *err)
{
	struct part all = {d, 0, 0};

	memset(out, 0, sizeof(*out));
	if (d->kernels.nr)
		all = find_samples(d);
	if (d->kernels.nr < LEAST_KERNELS || all.to - all.from < LEAST_KERNELS)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"calibration: only %zu kernels and %zu samples were recorded; run it again "
			"when the GPU is idle",
			d->kernels.nr, all.to - all.from);
	out->nr_kernels = d->kernels.nr;
	out->nr_samples = all.to - all.from;
	out->first_ns = out->last_ns = search(&all);
	out->misfit = descend(&all, &out->first_ns, &out->last_ns);
	out->offset_ns = (out->first_ns + out->last_ns) / 2;
	if (out->misfit > MOST_MISFIT)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"calibration: the samples do not fit the kernels (%.0f %% unexplained), as "
			"when something else runs on the GPU; run it again when the GPU is idle",
			100 * out->misfit);
	out->error_ns = fmax(error_of(&all, out), LEAST_ERROR_NS);
	return 0;
}
