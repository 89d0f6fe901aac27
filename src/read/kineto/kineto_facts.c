/* What stands around the events of a trace: its clock, its rank, its devices. */
#include "read/kineto/kineto_int.h"

#include "catalogue/attributes.h"

/* A number that is not negative; `*is_known` false: something else stands there. */
static enum sonde_scan_rc take_number(struct sonde_scan *s, uint64_t *out, bool *is_known)
{
	struct sonde_scan_text text;
	enum sonde_scan_rc rc = sonde_scan_scalar(s, &text);
	bool is_negative;

	*is_known = rc == SONDE_SCAN_OK && text.raw.p &&
		    sonde_scan_decimal(text.raw, 0, out, &is_negative) && !is_negative;
	return rc;
}

enum sonde_scan_rc sonde_kineto__take_base(struct kineto *k, struct sonde_scan *s, void *into)
{
	enum sonde_scan_rc rc;
	bool is_known;
	uint64_t v;

	(void)into;
	rc = take_number(s, &v, &is_known);
	if (is_known)
		k->base_ns = v;
	return rc;
}

/* The members of an object, each offered to `fn`; anything but an object is skipped. */
static enum sonde_scan_rc each_member(struct kineto *k, struct sonde_scan *s,
	enum sonde_scan_rc (*fn)(struct kineto *, struct sonde_scan *, struct sonde_str, void *),
	void *into)
{
	struct sonde_scan_text key;
	enum sonde_scan_rc rc = SONDE_SCAN_OK;
	bool is_first, is_end;

	if (*s->p != '{')
		return sonde_scan_value(s);
	for (s->p++, is_first = true; rc == SONDE_SCAN_OK; is_first = false) {
		rc = sonde_scan_member(s, is_first, &key, &is_end);
		if (rc != SONDE_SCAN_OK || is_end)
			return rc;
		rc = fn(k, s, key.raw, into);
	}
	return rc;
}

static enum sonde_scan_rc take_rank_member(
	struct kineto *k, struct sonde_scan *s, struct sonde_str key, void *into)
{
	uint32_t *to = sonde_str_is(key, "rank")	 ? &k->rank
		       : sonde_str_is(key, "world_size") ? &k->world_size
							 : NULL;
	enum sonde_scan_rc rc;
	bool is_known;
	uint64_t v;

	(void)into;
	rc = take_number(s, &v, &is_known);
	if (to && is_known && v < SONDE_NONE)
		*to = (uint32_t)v;
	return rc;
}

enum sonde_scan_rc sonde_kineto__take_ranks(struct kineto *k, struct sonde_scan *s, void *into)
{
	return each_member(k, s, take_rank_member, into);
}

/* Numbers a device has, under the names that Nsight Compute gives them. */
static const struct {
	const char *key, *name;
} attributes[] = {
	{"numSms", SONDE_ATTR_SMS},
	{"totalGlobalMem", SONDE_ATTR_MEMORY},
	{"maxThreadsPerBlock", SONDE_ATTR_BLOCK_THREADS},
	{"maxThreadsPerMultiprocessor", SONDE_ATTR_SM_THREADS},
	{"regsPerBlock", SONDE_ATTR_BLOCK_REGISTERS},
	{"regsPerMultiprocessor", SONDE_ATTR_SM_REGISTERS},
	{"warpSize", SONDE_ATTR_WARP_SIZE},
	{"sharedMemPerBlock", SONDE_ATTR_BLOCK_SHARED},
	{"sharedMemPerMultiprocessor", SONDE_ATTR_SM_SHARED},
};
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))

struct device {
	struct sonde_device it;
	struct sonde_attribute attributes[NR_ATTRIBUTES];
};

static void add_attribute(struct device *d, struct sonde_str key, uint64_t v)
{
	size_t i;

	for (i = 0; i < NR_ATTRIBUTES && d->it.nr_attributes < NR_ATTRIBUTES; i++)
		if (sonde_str_is(key, attributes[i].key))
			d->attributes[d->it.nr_attributes++] =
				(struct sonde_attribute){.name = sonde_str_from(attributes[i].name),
					.value = (double)v};
}

static enum sonde_scan_rc take_device_member(
	struct kineto *k, struct sonde_scan *s, struct sonde_str key, void *into)
{
	struct sonde_scan_text text;
	struct device *d = into;
	enum sonde_scan_rc rc;
	bool is_known;
	uint64_t v;

	if (*s->p == '"') {
		rc = sonde_scan_string(s, &text, SONDE_SCAN_VALUE);
		if (rc == SONDE_SCAN_OK && sonde_str_is(key, "name"))
			d->it.name = sonde_records_str(k->r, sonde_kineto__text(k, &text));
		return rc;
	}
	rc = take_number(s, &v, &is_known);
	if (!is_known)
		return rc;
	if (sonde_str_is(key, "id"))
		d->it.id = (uint32_t)v;
	else if (sonde_str_is(key, "computeMajor"))
		d->it.cc_major = (unsigned)v;
	else if (sonde_str_is(key, "computeMinor"))
		d->it.cc_minor = (unsigned)v;
	else
		add_attribute(d, key, v);
	return rc;
}

enum sonde_scan_rc sonde_kineto__take_devices(struct kineto *k, struct sonde_scan *s, void *into)
{
	enum sonde_scan_rc rc;
	bool is_first, is_end;

	(void)into;
	k->devices.nr = 0;
	if (*s->p != '[')
		return sonde_scan_value(s);
	for (s->p++, is_first = true;; is_first = false) {
		struct device d = {0};
		struct sonde_device *slot;
		struct sonde_str copy;

		rc = sonde_scan_element(s, is_first, &is_end);
		if (rc == SONDE_SCAN_OK && !is_end)
			rc = each_member(k, s, take_device_member, &d);
		if (rc != SONDE_SCAN_OK || is_end)
			return rc;
		copy = sonde_arena_dup(&k->r->arena, (struct sonde_str){(const char *)d.attributes,
							     d.it.nr_attributes * sizeof(*d.attributes)});
		slot = copy.p ? sonde_vec_push(&k->devices) : NULL;
		if (!slot)
			return SONDE_SCAN_OK; /* facts of a device are no reason to fail */
		*slot = d.it;
		slot->attributes = (const struct sonde_attribute *)(const void *)copy.p;
	}
}
