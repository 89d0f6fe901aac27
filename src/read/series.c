/*
 * Series of samples, after all inputs were read: moves their times to the axis of the
 * records, and finds series by device and counters by role.
 */
#include "read/clock_map.h"
#include "read/source.h"

/* Two mappings of one clock agree to microseconds; a larger difference means two clocks. */
#define MAX_APART_NS 1000000u

static struct sonde_gpu_clock *own_clock(struct sonde_records *r, const struct sonde_series *s)
{
	size_t i;

	for (i = 0; i < r->gpu_clocks.nr; i++)
		if (r->gpu_clocks.at[i].input == s->input)
			return &r->gpu_clocks.at[i];
	return NULL;
}

/* The clock of the process on this host that launched most GPU work. */
static struct sonde_gpu_clock *kernel_clock(struct sonde_records *r, const struct sonde_series *s)
{
	struct sonde_gpu_clock *best = NULL;
	size_t i;

	for (i = 0; i < r->gpu_clocks.nr; i++) {
		struct sonde_gpu_clock *c = &r->gpu_clocks.at[i];

		if (c->nr_works && sonde_str_eq(c->host, s->host) &&
			(!best || c->nr_works > best->nr_works))
			best = c;
	}
	return best;
}

static void place_samples(struct sonde_records *r, struct sonde_series *s)
{
	struct sonde_gpu_clock *own = own_clock(r, s), *use = kernel_clock(r, s);
	uint64_t a, b, last = 0;
	size_t i;

	if (!s->times.nr || !own)
		return;
	if (use) {
		a = sonde_clock_map__ns(&own->clock, s->times.at[0].start_ns);
		b = sonde_clock_map__ns(&use->clock, s->times.at[0].start_ns);
		if ((a > b ? a - b : b - a) > MAX_APART_NS) {
			sonde_note(&r->notes,
				"%.*s: its samples have the times of another clock than the kernels "
				"(%.3f ms apart): the two may not line up exactly",
				SONDE_STR_ARG(r->inputs.at[s->input].path),
				((double)a - (double)b) / 1e6);
			use = NULL;
		}
	}
	if (!use)
		use = own;
	for (i = 0; i < s->times.nr; i++) { /* keeps the samples in order, whatever the points of the clock are */
		struct sonde_sample_time *t = &s->times.at[i];

		a = sonde_clock_map__ns(&use->clock, t->start_ns);
		b = sonde_clock_map__ns(&use->clock, t->end_ns);
		t->start_ns = a > last ? a : last;
		t->end_ns = last = b > t->start_ns ? b : t->start_ns;
	}
}

void sonde_records__place_series(struct sonde_records *r)
{
	size_t i;

	for (i = 0; i < r->series.nr; i++)
		place_samples(r, &r->series.at[i]);
}

bool sonde_series_is_of(const struct sonde_series *series, const struct sonde_records *r,
	uint32_t process, uint32_t id)
{
	const struct sonde_device *d = sonde_records_device(r, process, id);

	if (d && d->uuid.n && series->uuid.n)
		return sonde_str_eq(d->uuid, series->uuid);
	if (!series->host.n) /* the series of a trace: traces number their own devices */
		return series->device == id && series->input == r->processes.at[process].input;
	return series->device == id && sonde_str_eq(series->host, r->processes.at[process].host);
}

uint32_t sonde_series_counter(
	const struct sonde_series *series, const struct sonde_records *r, const char *role)
{
	size_t i;

	for (i = 0; i < series->counters.nr; i++)
		if (sonde_str_is(sonde_records_str(r, series->counters.at[i].role), role))
			return (uint32_t)i;
	return SONDE_NONE;
}
