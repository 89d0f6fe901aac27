/*
 * One result of an .ncu-rep: identity, sections, and, when requested, its metric
 * values. Reading a result walks its fields once and decodes no value but the device.
 */
#include "read/ncu/ncu_int.h"

#include <math.h>

#define MAX_SECTION_METRICS 1000 /* real ones have under 200 */

/* The first byte of a field. Metrics and their values are so many that they are compared with it directly. */
#define KEY(number, type) ((unsigned char)((number) << 3 | (type)))

/* Reads a value message that is one number and nothing else, as nearly all are. */
static inline bool quick_value(struct sonde_str msg, double *out)
{
	struct sonde_wire w = sonde_wire_on(msg);
	uint64_t n;
	float s;

	if (msg.n == 9 && w.p[0] == KEY(3, SONDE_WIRE_FIXED64)) {
		memcpy(out, w.p + 1, 8);
		return true;
	}
	if (msg.n == 5 && w.p[0] == KEY(2, SONDE_WIRE_FIXED32)) {
		memcpy(&s, w.p + 1, 4);
		*out = (double)s;
		return true;
	}
	if (msg.n < 2 ||
		(w.p[0] != KEY(4, SONDE_WIRE_VARINT) && w.p[0] != KEY(5, SONDE_WIRE_VARINT)))
		return false;
	w.p++;
	if (!sonde_wire_varint(&w, &n) || w.p != w.end)
		return false;
	*out = (double)n;
	return true;
}

double ncu_value(struct sonde_str msg, struct sonde_str *text)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;
	double v = NAN, d;
	float s;

	if (quick_value(msg, &v))
		return isfinite(v) ? v : NAN;
	while (sonde_wire_next(&w, &f)) {
		switch (f.number) {
		case 1:
			if (f.type == SONDE_WIRE_BYTES && text)
				*text = f.bytes;
			break;
		case 2:
			if (f.type == SONDE_WIRE_FIXED32) {
				memcpy(&s, &f.value, 4);
				v = (double)s;
			}
			break;
		case 3:
			if (f.type == SONDE_WIRE_FIXED64) {
				memcpy(&d, &f.value, 8);
				v = d;
			}
			break;
		case 4:
		case 5:
			if (f.type == SONDE_WIRE_VARINT)
				v = (double)f.value;
			break;
		default:
			break;
		}
	}
	return isfinite(v) ? v : NAN;
}

/* The string number that a metric message names, mostly in its first field. */
static inline bool metric_string(struct sonde_str msg, uint64_t *out)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	if (msg.n > 1 && w.p[0] == KEY(1, SONDE_WIRE_VARINT)) {
		w.p++;
		return sonde_wire_varint(&w, out);
	}
	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_int(&f, 1)) {
			*out = f.value;
			return true;
		}
	return false;
}

static struct sonde_str metric_value_msg(struct sonde_str msg)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_bytes(&f, 2))
			return f.bytes;
	return (struct sonde_str){NULL, 0};
}

/* Gives the metric a number if it has none; if it is the metric of the device, remembers the device. */
static void note_metric(struct ncu_report *n, struct sonde_str msg, struct ncu_result *res)
{
	uint64_t string;
	double v;

	if (!metric_string(msg, &string))
		return;
	if (string >= n->strings.nr) {
		n->bad_strings++;
		return;
	}
	if (n->metric_of.at[string] == SONDE_NONE)
		n->metric_of.at[string] = sonde_records__metric(n->r, n->strings.at[string]);
	if (string == n->device_string) {
		v = ncu_value(metric_value_msg(msg), NULL);
		if (v >= 0 && v < 65536)
			res->queue.device = (uint32_t)v;
	}
}

static void add_section_metric(struct ncu_report *n, struct sonde_section *s, struct sonde_str name)
{
	uint32_t string;
	size_t i;

	if (s->metrics.nr >= MAX_SECTION_METRICS)
		return;
	string = sonde_records__string(n->r, name);
	for (i = 0; i < s->metrics.nr; i++)
		if (s->metrics.at[i] == string)
			return;
	sonde_put(&n->r->arena, &s->metrics, string);
}

/* Collects every {1 name}: in header metrics they are in field 2, in the section's own list in field 1. */
static void section_metrics(
	struct ncu_report *n, struct sonde_section *s, struct sonde_str msg, uint32_t field)
{
	struct sonde_wire w = sonde_wire_on(msg), inner;
	struct sonde_wire_field f, g;

	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, field))
			continue;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);)
			if (sonde_field_is_bytes(&g, 1) && g.bytes.n)
				add_section_metric(n, s, g.bytes);
	}
}

/* Fills the section with this identifier, which is added if it is new. */
static void fill_section(struct ncu_report *n, struct sonde_str id, struct sonde_str msg)
{
	uint32_t number = sonde_intern(&n->r->arena, &n->r->section_ids, id, NULL);
	struct sonde_section *s = sonde_slot(&n->r->arena, &n->r->sections, number);
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	s->id = id;
	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_bytes(&f, 2))
			s->name = f.bytes;
		else if (sonde_field_is_bytes(&f, 4))
			section_metrics(n, s, f.bytes, 2);
		else if (sonde_field_is_bytes(&f, 6))
			section_metrics(n, s, f.bytes, 1);
	}
}

/* Results repeat their sections unchanged: the first one of each identifier is enough. */
static void read_section(struct ncu_report *n, struct sonde_str msg)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;
	bool is_new;

	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 1) || !f.bytes.n)
			continue;
		sonde_intern(&n->r->arena, &n->section_keys, f.bytes, &is_new);
		if (is_new)
			fill_section(n, f.bytes, msg);
		return;
	}
}

struct names {
	struct sonde_str mangled, function, demangled, renamed;
};

static void kernel_name(const struct sonde_wire_field *f, struct names *names)
{
	if (f->type != SONDE_WIRE_BYTES)
		return;
	if (f->number == 5)
		names->mangled = f->bytes;
	else if (f->number == 6)
		names->function = f->bytes;
	else if (f->number == 7)
		names->demangled = f->bytes;
	else if (f->number == 31)
		names->renamed = f->bytes;
}

static uint32_t function_of(
	struct ncu_report *n, const struct ncu_layout *layout, const struct names *names)
{
	struct sonde_str full = names->renamed.n     ? names->renamed
				: names->demangled.n ? names->demangled
				: names->function.n  ? names->function
				: names->mangled.n   ? names->mangled
						     : sonde_str_from(layout->name);
	uint32_t full_name = sonde_records__string(n->r, full);

	return sonde_records__function(n->r,
		sonde_records__string(n->r, names->function.n ? names->function : full), full_name);
}

static void read_field(struct ncu_report *n, const struct ncu_layout *l, const struct sonde_wire_field *f,
	struct ncu_result *res)
{
	if (f->type == SONDE_WIRE_BYTES) {
		if (f->number == l->metrics)
			note_metric(n, f->bytes, res);
		else if (f->number == l->sections)
			read_section(n, f->bytes);
	} else if (f->number == 1) {
		res->thread = f->value;
	} else if (f->number == l->context) {
		res->queue.context = (uint32_t)f->value;
	} else if (f->number == l->stream && l->stream) {
		res->queue.stream = f->value;
	}
}

int ncu_read_result(struct ncu_report *n, struct sonde_str msg, const struct ncu_layout *layout,
	struct sonde_err *err)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct ncu_result res = {
		.rec = {.kind = layout->kind, .payload = ncu_offset(n->src, msg.p)}};
	struct sonde_str nvtx = {0};
	struct names names = {0};
	struct sonde_wire_field f;
	int rc;

	if (n->process == SONDE_NONE)
		n->process = sonde_records__process(n->r, n->src->input, 0, nvtx, nvtx);
	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_bytes(&f, layout->nvtx))
			nvtx = f.bytes;
		else if (layout->kind == SONDE_RESULT_KERNEL && (f.number < 8 || f.number == 31) &&
			 f.number > 4)
			kernel_name(&f, &names);
		else
			read_field(n, layout, &f, &res);
	}
	if (w.bad)
		return ncu_damage(n, &w, err);
	res.rec.function = function_of(n, layout, &names);
	rc = ncu_read_nvtx(n, nvtx, &res, err);
	if (rc)
		return rc;
	res.rec.caller = sonde_records__caller(n->r, n->process, res.thread);
	res.rec.queue = sonde_records__queue(n->r, res.queue.device, res.queue.context, res.queue.stream);
	sonde_put(&n->r->arena, &n->r->records, res.rec);
	return sonde_arena_status(&n->r->arena, err);
}

/* Splits a metric message: {1 string, 2 value}, mostly in that order. */
static inline void split_metric(struct sonde_str msg, uint64_t *string, struct sonde_str *value)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	if (msg.n > 1 && w.p[0] == KEY(1, SONDE_WIRE_VARINT)) {
		w.p++;
		if (sonde_wire_varint(&w, string) && w.p < w.end &&
			*w.p == KEY(2, SONDE_WIRE_BYTES)) {
			w.p++;
			if (sonde_wire_bytes(&w, value))
				return;
		}
		w = sonde_wire_on(msg);
		*string = UINT64_MAX;
	}
	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_int(&f, 1)) {
			*string = f.value;
		} else if (sonde_field_is_bytes(&f, 2)) {
			*value = f.bytes;
			if (*string != UINT64_MAX)
				return; /* per-instance values follow, maybe thousands */
		}
	}
}

static bool take_value(const struct ncu_report *n, struct sonde_str msg, struct sonde_values *v)
{
	struct sonde_str text = {NULL, 0}, value = {NULL, 0};
	uint64_t string = UINT64_MAX;
	uint32_t metric;

	split_metric(msg, &string, &value);
	if (string >= n->strings.nr || !value.p)
		return true;
	metric = n->metric_of.at[string];
	if (metric == SONDE_NONE)
		return true; /* the string came after the result that names it, which was counted in bad_strings */
	v->num[metric] = ncu_value(value, &text); /* if a name appears twice, the last value counts */
	return !text.p || sonde_values__text(v, metric, text);
}

int ncu_read_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct ncu_report *n = src->state;
	uint32_t field = rec->kind == SONDE_RESULT_KERNEL ? 13 : 4;
	const char *msg = src->file.data.p + rec->payload;
	struct sonde_wire w =
		sonde_wire_on((struct sonde_str){msg, ncu_u32(msg - NCU_LENGTH_BYTES)});
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_bytes(&f, field) && !take_value(n, f.bytes, v))
			return sonde_err_nomem(err);
	return w.bad ? ncu_damage(n, &w, err) : 0;
}
