#include "read/hatchet/hatchet_int.h"

#include "catalogue/attributes.h"

static const struct {
	const char *key, *name;
} attributes[] = {
	{"num_sms", SONDE_ATTR_SMS},
	{"clock_rate", SONDE_ATTR_CLOCK},
	{"memory_clock_rate", SONDE_ATTR_MEMORY_CLOCK},
	{"bus_width", SONDE_ATTR_BUS_WIDTH},
};
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))

/* "90" is 9.0, "100" is 10.0; other vendors have names. */
static void set_arch(struct sonde_device *d, struct sonde_str arch)
{
	double v;

	if (sonde_scan_double(arch, &v) && v >= 10 && v < 1000) {
		d->cc_major = (unsigned)v / 10;
		d->cc_minor = (unsigned)v % 10;
	} else {
		d->name = arch;
	}
}

/* The facts of one device; the cursor is at its object. */
static bool add_device(struct hatchet *h, struct sonde_scan *s, uint32_t id)
{
	struct sonde_attribute *list = sonde_arena_calloc(&h->r->arena, NR_ATTRIBUTES, sizeof(*list));
	struct sonde_device d = {.id = id, .process = h->process, .attributes = list};
	struct sonde_scan_text key, text = {0};
	bool is_first, is_end;
	size_t i;

	if (!list)
		return false;
	for (s->p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(s, is_first, &key, &is_end) != SONDE_SCAN_OK || is_end)
			break;
		if (sonde_scan_scalar(s, &text) != SONDE_SCAN_OK)
			break;
		if (sonde_str_is(key.raw, "arch"))
			set_arch(&d, text.raw);
		for (i = 0; i < NR_ATTRIBUTES && d.nr_attributes < NR_ATTRIBUTES; i++)
			if (sonde_str_is(key.raw, attributes[i].key) &&
				sonde_scan_double(text.raw, &list[d.nr_attributes].value))
				list[d.nr_attributes++].name = sonde_str_from(attributes[i].name);
	}
	return sonde_records__device(h->r, &d);
}

/* {"CUDA": {"0": {…}, "1": {…}}} */
bool sonde_hatchet__devices(struct hatchet *h)
{
	struct sonde_scan s = sonde_scan_of(h->devices);
	struct sonde_scan_text kind, id;
	bool is_first, is_end, is_first_id;
	double number;

	if (!h->devices.n)
		return true;
	for (s.p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(&s, is_first, &kind, &is_end) != SONDE_SCAN_OK || is_end ||
			*s.p != '{')
			return true;
		for (s.p++, is_first_id = true;; is_first_id = false) {
			if (sonde_scan_member(&s, is_first_id, &id, &is_end) != SONDE_SCAN_OK)
				return true;
			if (is_end)
				break;
			if (*s.p != '{' || !sonde_scan_double(id.raw, &number) || number < 0 || number > 1e6)
				return true;
			if (!add_device(h, &s, (uint32_t)number))
				return false;
		}
	}
}
