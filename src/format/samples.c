#include "format/samples.h"

#include "format/varint.h"

#include <math.h>
#include <string.h>

#define WHOLE_LIMIT 0x1p62 /* smaller whole numbers are written as varints, all other values as doubles */

static void put_number(struct sonde_buf *out, uint64_t v)
{
	uint8_t bytes[SONDE_VARINT_MAX];

	sonde_buf_add(out, bytes, (size_t)(sonde_varint_put(bytes, v) - bytes));
}

static void put_text(struct sonde_buf *out, struct sonde_str text)
{
	put_number(out, text.n);
	sonde_buf_str(out, text);
}

static bool get_text(const uint8_t **p, const uint8_t *end, struct sonde_str *out)
{
	uint64_t n;
	const uint8_t *at = sonde_varint_get(*p, end, &n);

	if (!at || n > (size_t)(end - at))
		return false;
	*out = (struct sonde_str){(const char *)at, (size_t)n};
	*p = at + n;
	return true;
}

static void put_value(struct sonde_buf *out, double v)
{
	if (v >= 0 && v < WHOLE_LIMIT && v == floor(v)) {
		put_number(out, (uint64_t)v << 1);
		return;
	}
	put_number(out, 1);
	sonde_buf_add(out, &v, sizeof(v));
}

static const uint8_t *get_value(const uint8_t *p, const uint8_t *end, double *out)
{
	uint64_t v;

	p = sonde_varint_get(p, end, &v);
	if (!p || !(v & 1)) {
		*out = p ? (double)(v >> 1) : NAN;
		return p;
	}
	if ((size_t)(end - p) < sizeof(*out))
		return NULL;
	memcpy(out, p, sizeof(*out));
	return p + sizeof(*out);
}

void sonde_counters_put(struct sonde_buf *out, const struct sonde_counter_set *set)
{
	uint32_t i;

	put_number(out, set->set);
	put_number(out, set->device);
	put_number(out, set->interval_ns);
	put_text(out, set->uuid);
	put_text(out, set->product);
	put_number(out, set->nr);
	for (i = 0; i < set->nr; i++) {
		put_text(out, set->at[i].role);
		put_text(out, set->at[i].name);
	}
	for (i = 0; i < set->nr; i++)
		put_value(out, set->at[i].peak);
}

bool sonde_counters_get(struct sonde_counter_set *out, struct sonde_str payload)
{
	const uint8_t *p = (const uint8_t *)payload.p, *end = p + payload.n;
	uint64_t set, device, nr;
	uint32_t i;

	*out = (struct sonde_counter_set){0};
	p = sonde_varint_get(p, end, &set);
	p = p ? sonde_varint_get(p, end, &device) : NULL;
	p = p ? sonde_varint_get(p, end, &out->interval_ns) : NULL;
	if (!p || set >= SONDE_SET_LIMIT || device > UINT32_MAX || !get_text(&p, end, &out->uuid) ||
		!get_text(&p, end, &out->product))
		return false;
	p = sonde_varint_get(p, end, &nr);
	if (!p || nr == 0 || nr > SONDE_COUNTER_LIMIT)
		return false;
	out->set = (uint32_t)set;
	out->device = (uint32_t)device;
	out->nr = (uint32_t)nr;
	for (i = 0; i < out->nr; i++)
		if (!get_text(&p, end, &out->at[i].role) || !get_text(&p, end, &out->at[i].name))
			return false;
	for (i = 0; i < out->nr && p && p < end; i++) {
		p = get_value(p, end, &out->at[i].peak);
		if (!p || !(out->at[i].peak > 0) || !isfinite(out->at[i].peak))
			out->at[i].peak = 0;
	}
	return true;
}

void sonde_samples_begin(struct sonde_samples_out *s, struct sonde_buf *out,
	const struct sonde_counter_set *set, uint64_t start_ns)
{
	*s = (struct sonde_samples_out){.out = out, .end_ns = start_ns, .nr = set->nr};
	put_number(out, set->set);
	put_number(out, start_ns);
}

void sonde_samples_put(
	struct sonde_samples_out *s, uint64_t start_ns, uint64_t end_ns, const double *values)
{
	uint32_t i;

	put_number(s->out, start_ns - s->end_ns);
	put_number(s->out, end_ns - start_ns);
	s->end_ns = end_ns;
	for (i = 0; i < s->nr; i++)
		put_value(s->out, values[i]);
}

bool sonde_samples_open(struct sonde_samples_in *s, struct sonde_str payload)
{
	const uint8_t *p = (const uint8_t *)payload.p;
	uint64_t set = SONDE_SET_LIMIT;

	*s = (struct sonde_samples_in){.end = p + payload.n};
	p = sonde_varint_get(p, s->end, &set);
	s->at = p ? sonde_varint_get(p, s->end, &s->end_ns) : NULL;
	s->set = (uint32_t)set;
	return s->at && set < SONDE_SET_LIMIT;
}

bool sonde_samples_get(struct sonde_samples_in *s, uint64_t *start_ns, uint64_t *end_ns,
	double *values, uint32_t nr)
{
	const uint8_t *p = s->at;
	uint64_t gap, length;
	uint32_t i;

	if (!p || p == s->end)
		return false;
	p = sonde_varint_get(p, s->end, &gap);
	p = p ? sonde_varint_get(p, s->end, &length) : NULL;
	for (i = 0; i < nr && p; i++)
		p = get_value(p, s->end, &values[i]);
	s->at = p;
	if (!p || gap > UINT64_MAX - s->end_ns || length > UINT64_MAX - s->end_ns - gap) {
		s->is_damaged = true;
		s->at = NULL;
		return false;
	}
	*start_ns = s->end_ns + gap;
	*end_ns = s->end_ns = *start_ns + length;
	return true;
}
