/*
 * Counters that Kineto sampled: events `ph: "C"` of the category hardware_counters. Events with one
 * name on one device are a series, their arguments its counters. A sample begins where the one
 * before it ended.
 */
#include "read/kineto/kineto_int.h"

#include <math.h>

/* The series of a device and name, made when new; NULL when memory is short. */
static struct sonde_series *series_of(struct kineto *k, const struct kineto_event *e)
{
	uint64_t key[2] = {e->pid, sonde_kineto__text(k, &e->name)};
	uint32_t n = sonde_map_keep(&k->series_keys, &k->r->arena, SONDE_BYTES(key), NULL),
		 number = n == SONDE_NONE ? n : (uint32_t)k->first_series + n;
	struct sonde_series *s = sonde_map_slot(&k->r->series, number);

	if (s) {
		s->input = k->src->input;
		s->device = (uint32_t)e->pid & 0x7fffffff;
	}
	return s;
}

/* The counter called `key`; counters come with the first sample, later ones are left out. */
static struct sonde_counter *counter_of(
	struct kineto *k, struct sonde_series *s, const struct sonde_scan_text *key)
{
	uint32_t name = sonde_kineto__text(k, key);
	struct sonde_counter *c;
	size_t i;

	for (i = 0; i < s->counters.nr; i++)
		if (s->counters.at[i].name == name)
			return &s->counters.at[i];
	c = s->times.nr || name == SONDE_NONE ? NULL : sonde_vec_push(&s->counters);
	if (c)
		*c = (struct sonde_counter){.role = SONDE_NONE, .name = name};
	return c;
}

/* Offers each number among the arguments: first for the counters there are, then for values. */
static void each_value(struct kineto *k, struct sonde_series *s, struct sonde_str args, double *row)
{
	struct sonde_scan scan = sonde_scan_of(args);
	struct sonde_scan_text key, text = {0};
	struct sonde_counter *c;
	bool is_first, is_end;
	double value;

	for (scan.p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(&scan, is_first, &key, &is_end) != SONDE_SCAN_OK || is_end)
			return;
		if (*scan.p == '"' || *scan.p == '{' || *scan.p == '[') {
			if (sonde_scan_value(&scan) != SONDE_SCAN_OK)
				return;
			continue;
		}
		if (sonde_scan_word(&scan, &text.raw) != SONDE_SCAN_OK)
			return;
		c = counter_of(k, s, &key);
		if (c && row && sonde_scan_double(text.raw, &value))
			row[c - s->counters.at] = value;
	}
}

bool sonde_kineto__keep_counters(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_series *s = e->args.n ? series_of(k, e) : NULL;
	uint64_t last;
	size_t i;

	if (!s)
		return !e->args.n;
	last = s->times.nr ? s->times.at[s->times.nr - 1].end_ns : e->ts_ns;
	if (e->ts_ns < last || (s->times.nr && e->ts_ns == last))
		return true; /* out of order: it cannot be placed */
	each_value(k, s, e->args, NULL);
	if (!sonde_vec_reserve(&s->values, s->values.nr + s->counters.nr))
		return false;
	if (!s->counters.nr || !sonde_vec_put(&s->times, (struct sonde_sample_time){last, e->ts_ns}))
		return !s->counters.nr;
	for (i = 0; i < s->counters.nr; i++)
		s->values.at[s->values.nr + i] = NAN;
	each_value(k, s, e->args, &s->values.at[s->values.nr]);
	s->values.nr += s->counters.nr;
	return true;
}

void sonde_kineto__place_counters(struct kineto *k)
{
	size_t i, t;

	for (i = k->first_series; i < k->r->series.nr; i++) {
		struct sonde_series *s = &k->r->series.at[i];

		s->interval_ns = s->times.nr > 1 ? s->times.at[1].end_ns - s->times.at[0].end_ns : 0;
		if (s->times.nr && s->times.at[0].end_ns >= s->interval_ns)
			s->times.at[0].start_ns = s->times.at[0].end_ns - s->interval_ns;
		for (t = 0; t < s->times.nr; t++) {
			s->times.at[t].start_ns += k->base_ns;
			s->times.at[t].end_ns += k->base_ns;
		}
	}
}
