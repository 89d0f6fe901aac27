/* What the NVTX state of a result says about names: its domains, and the labels of ranges. */
#include "read/ncu/ncu_int.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
	const struct ncu_domain *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int ncu_read_domains(struct ncu_report *n, const struct ncu_state *s, struct sonde_err *err)
{
	struct sonde_wire w = sonde_wire_on(s->msg), inner;
	struct sonde_field f, g;
	struct ncu_domain *d;

	n->domains.nr = 0;
	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 1))
			continue;
		d = sonde_vec_push(&n->domains);
		if (!d)
			return sonde_err_nomem(err);
		d->msg = f.bytes;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);)
			if (sonde_field_is_int(&g, 1))
				d->id = g.value;
			else if (sonde_field_is_bytes(&g, 2))
				d->name = g.bytes;
	}
	sonde_vec_sort(&n->domains, by_id);
	return 0;
}

/* All empty when the state does not list it. */
static struct ncu_domain find_domain(const struct ncu_report *n, uint64_t id)
{
	struct ncu_domain key = {.id = id}, *d;

	if (!n->domains.nr)
		return key;
	d = bsearch(&key, n->domains.at, n->domains.nr, sizeof(key), by_id);
	return d ? *d : key;
}

int ncu_domain_string(struct ncu_report *n, const struct ncu_state *s, uint64_t id, uint32_t *out,
	struct sonde_err *err)
{
	struct sonde_str name = find_domain(n, id).name;

	*out = SONDE_NONE;
	if (id == s->default_domain || sonde_str_is(name, "<default domain>"))
		return 0;
	if (!name.n)
		name = sonde_arena_printf(&n->r->arena, "domain %llu", (unsigned long long)id);
	*out = sonde_records__string(n->r, name);
	return *out == SONDE_NONE ? sonde_err_nomem(err) : 0;
}

/* A registered string of a domain, by its id. Rarely needed: Nsight writes the text as well. */
static struct sonde_str registered(
	const struct ncu_report *n, struct ncu_state *s, uint64_t domain, uint64_t id)
{
	struct sonde_wire w = sonde_wire_on(find_domain(n, domain).msg), inner;
	struct sonde_field f, g;

	while (s->lookups_left && sonde_wire_next(&w, &f)) {
		struct sonde_str text = {NULL, 0};
		uint64_t its_id = 0;

		if (!sonde_field_is_bytes(&f, 3))
			continue;
		s->lookups_left--;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);) {
			if (sonde_field_is_int(&g, 1))
				its_id = g.value;
			else if (sonde_field_is_bytes(&g, 2))
				text = g.bytes;
		}
		if (its_id == id)
			return text;
	}
	return (struct sonde_str){NULL, 0};
}

/* The label inside a range's attributes{5 message{1 type, 2 text, 3 registered id}}. */
static struct sonde_str attribute_label(
	const struct ncu_report *n, struct ncu_state *s, uint64_t domain, struct sonde_str attrs)
{
	struct sonde_wire w = sonde_wire_on(attrs), inner;
	struct sonde_str text = {NULL, 0};
	uint64_t type = 0, id = 0;
	struct sonde_field f, g;

	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 5))
			continue;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);) {
			if (sonde_field_is_int(&g, 1))
				type = g.value;
			else if (sonde_field_is_bytes(&g, 2))
				text = g.bytes;
			else if (sonde_field_is_int(&g, 3))
				id = g.value;
		}
	}
	return type == 3 && !text.n ? registered(n, s, domain, id) : text;
}

/* push/pop: 1 name, 2 attributes, 3 api. start/end: 1 id, 2 name, 3 attributes, 4 api, 5 thread. */
struct ncu_frame_msg ncu_read_frame(const struct ncu_report *n, struct ncu_state *s,
	uint64_t domain, struct sonde_str msg, enum sonde_range_kind kind)
{
	uint32_t shift = kind == SONDE_START_END;
	struct sonde_wire w = sonde_wire_on(msg);
	struct ncu_frame_msg frame = {{NULL, 0}, 0, 0, 0};
	struct sonde_str attrs = {NULL, 0};
	struct sonde_field f;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_bytes(&f, 1 + shift))
			frame.label = f.bytes;
		else if (sonde_field_is_bytes(&f, 2 + shift))
			attrs = f.bytes;
		else if (sonde_field_is_int(&f, 3 + shift))
			frame.api = f.value;
		else if (shift && sonde_field_is_int(&f, 1))
			frame.id = f.value;
		else if (shift && sonde_field_is_int(&f, 5))
			frame.thread = f.value;
	}
	if (!frame.label.n && attrs.n)
		frame.label = attribute_label(n, s, domain, attrs);
	return frame;
}
