/* The device of a series, and the most that it can count: samples and figures above that are impossible. */
#include "fold/fold_int.h"
#include "catalogue/attributes.h"

#include <math.h>

bool sonde_series__is_same_device(const struct sonde_series *a, const struct sonde_series *b)
{
	if (a->uuid.n && b->uuid.n)
		return sonde_str_eq(a->uuid, b->uuid);
	if (!a->host.n && a->input != b->input) /* traces have no host name: device numbers are valid in one trace only */
		return false;
	return a->device == b->device && sonde_str_eq(a->host, b->host);
}

bool sonde_series__has_roles(const struct sonde_series *s)
{
	size_t i;

	for (i = 0; i < s->counters.nr; i++)
		if (s->counters.at[i].role != SONDE_NONE)
			return true;
	return false;
}

const struct sonde_device *sonde_fold__sampled_device(
	const struct sonde_folding *f, const struct sonde_series *s)
{
	size_t i;

	for (i = 0; i < f->l->scopes.nr; i++) {
		const struct sonde_scope *scope = &f->l->scopes.at[i];

		if (scope->device != SONDE_NONE && scope->measured == SONDE_MEASURED_KERNEL &&
			sonde_series_is_of(s, f->r, scope->process, scope->device))
			return sonde_records_device(f->r, scope->process, scope->device);
	}
	return NULL;
}

struct sums {
	double above, below;
};

/*
 * Sums of two counters over the samples in which SMs worked; with `below` NULL, of one counter and the time. We use all
 * series of the device that have both, not only `of`: a change of the interval begins a new series, and perhaps
 * nothing ran in that one.
 */
static struct sums sum_while_active(
	const struct sonde_records *r, const struct sonde_series *of, const char *above, const char *below)
{
	struct sums sums = {0, 0};
	size_t i, k;

	for (i = 0; i < r->series.nr; i++) {
		const struct sonde_series *s = &r->series.at[i];
		uint32_t active = sonde_series_counter(s, r, "sm.active_cycles");
		uint32_t a = sonde_series_counter(s, r, above), b = below ? sonde_series_counter(s, r, below) : a;

		if (!sonde_series__is_same_device(s, of) || active == SONDE_NONE || a == SONDE_NONE || b == SONDE_NONE)
			continue;
		for (k = 0; k < s->times.nr; k++) {
			const double *row = &s->values.at[k * s->counters.nr];

			if (!(row[active] > 0))
				continue;
			sums.above += row[a];
			sums.below += below ? row[b] : (double)(s->times.at[k].end_ns - s->times.at[k].start_ns);
		}
	}
	return sums;
}

double sonde_sampled__clock(const struct sonde_records *r, const struct sonde_series *of)
{
	struct sums s = sum_while_active(r, of, "sm.elapsed_cycles", NULL);

	return s.below > 0 ? s.above / s.below : NAN;
}

/* L2 has a clock of its own. Returns its cycles per SM cycle; 0 = not known. */
static double l2_cycles(const struct sonde_records *r, const struct sonde_series *of, double nr_sms)
{
	uint32_t l2 = sonde_series_counter(of, r, "l2.elapsed_cycles");
	double slices = l2 != SONDE_NONE ? of->counters.at[l2].peak : 0; /* number of L2 slices: each counts one per cycle */
	struct sums s = sum_while_active(r, of, "l2.elapsed_cycles", "sm.elapsed_cycles");

	return s.below > 0 && nr_sms > 0 && slices > 0 ? s.above / slices / (s.below / nr_sms) : 0;
}

double sonde_sampled__peak(
	const struct sonde_records *r, const struct sonde_series *s, size_t counter, double nr_sms)
{
	const struct sonde_counter *c = &s->counters.at[counter];

	if (sonde_str_is(sonde_records_str(r, c->role), "l2.sectors"))
		return c->peak * l2_cycles(r, s, nr_sms);
	return c->peak;
}

double sonde_sampled__nominal_clock(const struct sonde_device *d)
{
	return sonde_device_attribute(d, SONDE_ATTR_CLOCK) *
	       sonde_device_attribute(d, SONDE_ATTR_SMS) / 1e6; /* from kHz */
}

double sonde_sampled__bandwidth(const struct sonde_device *d)
{
	double bits = sonde_device_attribute(d, SONDE_ATTR_BUS_WIDTH);
	double clock = sonde_device_attribute(d, SONDE_ATTR_MEMORY_CLOCK);

	if (isnan(bits) || isnan(clock))
		return sonde_device_attribute(d, SONDE_ATTR_BANDWIDTH) / 1e9;
	return bits / 8 * 2 * clock * 1e3 / 1e9; /* the clock is in kHz; memory moves two words per clock cycle */
}
