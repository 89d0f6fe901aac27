/* Sampled counters: the blocks of a sampler's file → series. */
#include "base/alloc.h"
#include "read/native/native_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sonde_native__is_sampler(const struct native *n)
{
	return sonde_str_is(sonde_native__meta(n, "kind"), "samples");
}

#define MOST_OFFSET_NS 20000 /* a larger offset is damage */

static void read_offset(const struct native *n, struct sonde_series *s)
{
	struct sonde_str text = sonde_native__meta(n, "offset_ns");
	char number[32];
	double ns;

	if (!text.n || text.n >= sizeof(number))
		return;
	snprintf(number, sizeof(number), "%.*s", SONDE_STR_ARG(text));
	ns = strtod(number, NULL);
	s->is_calibrated = ns >= -MOST_OFFSET_NS && ns <= MOST_OFFSET_NS;
	if (s->is_calibrated)
		s->offset_ns = (int64_t)ns;
}

static void add_counters(
	struct native *n, struct sonde_series *s, const struct sonde_counter_set *c)
{
	uint32_t i;

	for (i = 0; i < c->nr; i++) {
		struct sonde_counter *slot = sonde_push(&n->r->arena, &s->counters);

		slot->role =
			c->at[i].role.n ? sonde_records__string(n->r, c->at[i].role) : SONDE_NONE;
		slot->name = sonde_records__string(n->r, c->at[i].name);
		slot->peak = c->at[i].peak;
	}
}

/* Defines a set of counters. A set that is defined again (its interval changed) continues in a new series. */
void sonde_native__counters(struct native *n, struct sonde_str payload)
{
	struct sonde_counter_set *c = sonde_malloc(sizeof(*c));

	n->src->work.failed |= !c;
	if (c && sonde_counters_get(c, payload)) {
		struct sonde_series *s = sonde_push(&n->r->arena, &n->r->series);

		s->input = n->src->input;
		s->device = c->device;
		s->uuid = c->uuid;
		s->host = sonde_native__meta(n, "host");
		s->interval_ns = c->interval_ns;
		read_offset(n, s);
		add_counters(n, s, c);
		n->series_of[c->set] = (uint32_t)n->r->series.nr;
	} else {
		n->counts.bad_samples++;
	}
	sonde_free(c);
}

/* The times are still in the GPU's clock: series.c moves them to the axis of the records. */
static void add_samples(struct native *n, struct sonde_series *s, struct sonde_samples_in *in)
{
	uint64_t start = 0, end = 0, last = s->times.nr ? s->times.at[s->times.nr - 1].end_ns : 0;
	double row[SONDE_COUNTER_LIMIT];

	while (sonde_samples_get(in, &start, &end, row, (uint32_t)s->counters.nr)) {
		if (start < last || end <= start) {
			n->counts.bad_samples++;
			continue;
		}
		last = end;
		if (!sonde_reserve(&n->r->arena, &s->values, s->values.nr + s->counters.nr))
			return;
		sonde_put(&n->r->arena, &s->times, (struct sonde_sample_time){start, end});
		memcpy(&s->values.at[s->values.nr], row, s->counters.nr * sizeof(*row));
		s->values.nr += s->counters.nr;
	}
	n->counts.bad_samples += in->is_damaged;
}

void sonde_native__samples(struct native *n, struct sonde_str payload)
{
	struct sonde_samples_in in;

	if (sonde_samples_open(&in, payload) && n->series_of[in.set])
		add_samples(n, &n->r->series.at[n->series_of[in.set] - 1], &in);
	else
		n->counts.bad_samples++;
}

void sonde_native__keep_clock(struct native *n)
{
	bool is_sampler = sonde_native__is_sampler(n);
	struct sonde_clock_map *from = is_sampler ? &n->host : &n->gpu;

	if (is_sampler || (n->nr_works && n->gpu.points.nr))
		sonde_put(&n->r->arena, &n->r->gpu_clocks,
			(struct sonde_gpu_clock){.clock = *from,
				.host = sonde_native__meta(n, "host"),
				.input = n->src->input,
				.nr_works = is_sampler ? 0 : n->nr_works});
}

static void note_losses(const struct native *n)
{
	const struct sonde_sampler_status *s = &n->sampler;

	if (s->nr_gaps || s->nr_overflows)
		sonde_note(&n->r->notes,
			"%s: samples are missing in %llu place%s, %.1f ms in all%s: what ran then is "
			"not in the counters; a longer counters.interval loses less",
			n->src->path, (unsigned long long)s->nr_gaps, s->nr_gaps == 1 ? "" : "s",
			(double)s->gap_ns / 1e6,
			s->nr_overflows ? " because the hardware's buffer was full" : "");
	if (s->nr_others)
		sonde_note(&n->r->notes,
			"%s: %llu other program%s used the GPU while it was sampled: the counters count "
			"the whole device, so they include that work",
			n->src->path, (unsigned long long)s->nr_others,
			s->nr_others == 1 ? "" : "s");
}

void sonde_native__note_sampler(const struct native *n)
{
	const struct native_counts *c = &n->counts;

	if (!n->ended && !n->is_written)
		sonde_note(&n->r->notes,
			"%s: the sampler was stopped before the program ended: later counters are "
			"missing",
			n->src->path);
	if (c->bad_blocks || c->missing_blocks || c->bad_samples)
		sonde_note_loss(&n->r->notes,
			"%s: the samples are damaged: %llu unreadable place%s, %llu missing block%s, %llu sample%s "
			"or sets of counters that cannot be decoded; copy the file again",
			n->src->path, (unsigned long long)c->bad_blocks, c->bad_blocks == 1 ? "" : "s",
			(unsigned long long)c->missing_blocks, c->missing_blocks == 1 ? "" : "s",
			(unsigned long long)c->bad_samples, c->bad_samples == 1 ? "" : "s");
	note_losses(n);
}
