/*
 * The offset between the clocks of samples and launches: where a counter fits
 * best. Tried on a grid, then between the best point and its neighbours.
 */
#include "unmix/unmix_int.h"

#include "base/alloc.h"

#define STEPS 20 /* of the grid, to either side */

static int misfit_at(double *misfit, const struct sonde_unmix_input *in, int64_t offset_ns,
	struct sonde_err *err)
{
	struct sonde_unmix_options opt = {.offset_ns = offset_ns};
	struct sonde_unmixed *u;
	int rc = sonde_unmix_solve(&u, in, &opt, err);

	if (rc < 0)
		return rc;
	*misfit = sonde_unmixed_counter(u, 0)->misfit;
	sonde_unmixed_free(u);
	return 0;
}

/* Where the parabola through three points one step apart is lowest, in steps from the middle. */
static double lowest_between(const double *at)
{
	double bend = at[0] - 2 * at[1] + at[2];

	return bend > 0 ? 0.5 * (at[0] - at[2]) / bend : 0;
}

static int search(double *offset_ns, const struct sonde_unmix_input *in, int64_t reach_ns,
	struct sonde_err *err)
{
	double misfits[2 * STEPS + 1], step = (double)reach_ns / STEPS;
	int best = 0, i, rc;

	for (i = 0; i <= 2 * STEPS; i++) {
		rc = misfit_at(&misfits[i], in, (int64_t)((i - STEPS) * step), err);
		if (rc < 0)
			return rc;
		best = misfits[i] < misfits[best] ? i : best;
	}
	*offset_ns = (best - STEPS) * step;
	if (best > 0 && best < 2 * STEPS)
		*offset_ns += step * lowest_between(&misfits[best - 1]);
	return 0;
}

int sonde_unmix_calibrate(double *offset_ns, const struct sonde_unmix_input *in, uint32_t counter,
	int64_t reach_ns, struct sonde_err *err)
{
	struct sonde_unmix_input one = *in;
	double *values;
	size_t i;
	int rc;

	*offset_ns = 0;
	if (counter >= in->nr_counters || reach_ns <= 0 || reach_ns > 1000000000)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"unmix: calibration needs a counter of the samples and a reach of up to 1 s");
	values = sonde_malloc((in->nr_samples + 1) * sizeof(*values));
	if (values == NULL)
		return sonde_err_nomem(err);
	for (i = 0; i < in->nr_samples; i++)
		values[i] = in->values[i * in->nr_counters + counter];
	one.values = values;
	one.nr_counters = 1;
	one.limits_per_ns = NULL;
	rc = search(offset_ns, &one, reach_ns, err);
	sonde_free(values);
	return rc;
}
