/*
 * Devices: one event says that there is one, others what the driver says of it.
 * These come from other threads, so they are put together when all are read.
 */
#include "read/native/native_stream_int.h"

#include "catalogue/attributes.h"

#include <math.h>

#define MAX_ATTRIBUTES 64u /* of a device; more is damage */

static bool add_attribute(
	struct sonde_records *r, struct sonde_device *d, struct sonde_str name, double value)
{
	struct sonde_attribute *list = (struct sonde_attribute *)d->attributes;
	size_t i;

	for (i = 0; i < d->nr_attributes; i++)
		if (sonde_str_eq(list[i].name, name))
			return true;
	if (!list)
		list = sonde_arena_calloc(&r->arena, MAX_ATTRIBUTES, sizeof(*list));
	if (!list)
		return false;
	d->attributes = list;
	if (d->nr_attributes < MAX_ATTRIBUTES)
		list[d->nr_attributes++] = (struct sonde_attribute){.name = name, .value = value};
	return true;
}

bool sonde_stream__device(struct stream *s, const struct sonde_event *e)
{
	const uint64_t *f = e->field;
	struct native *n = s->n;
	uint32_t id = (uint32_t)f[SONDE_DEVICE_ID], label, domain;
	struct sonde_device d;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	if (sonde_records_device(n->r, n->process, id) || label == SONDE_NONE)
		return true;
	d = (struct sonde_device){.id = id,
		.process = n->process,
		.name = sonde_records_str(n->r, label),
		.cc_major = (unsigned)f[SONDE_DEVICE_CC_MAJOR],
		.cc_minor = (unsigned)f[SONDE_DEVICE_CC_MINOR]};
	s->no_memory |= !add_attribute(n->r, &d, SONDE_STR(SONDE_ATTR_SMS),
				(double)f[SONDE_DEVICE_MULTIPROCESSORS]) ||
			!add_attribute(n->r, &d, SONDE_STR(SONDE_ATTR_MEMORY),
				(double)f[SONDE_DEVICE_MEMORY_BYTES]) ||
			!sonde_records__device(n->r, &d);
	return true;
}

bool sonde_stream__attribute(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	s->no_memory |= label == SONDE_NONE ||
			!sonde_vec_put(&s->n->attributes,
				(struct native_attribute){(uint32_t)e->field[0], label,
					e->type == SONDE_EVENT_UUID ? NAN : (double)e->field[1]});
	return true;
}

bool sonde_native__devices(struct native *n)
{
	size_t i;

	for (i = 0; i < n->attributes.nr; i++) {
		const struct native_attribute *a = &n->attributes.at[i];
		struct sonde_str text = sonde_records_str(n->r, a->text);
		const struct sonde_device *known =
			sonde_records_device(n->r, n->process, a->device);
		struct sonde_device *d = known ? &n->r->devices.at[known - n->r->devices.at] : NULL;

		if (d && isnan(a->value))
			d->uuid = text;
		else if (d && !add_attribute(n->r, d, text, a->value))
			return false;
	}
	return true;
}
