/*
 * Where the work of CUDA graphs was written: the range that was open when its
 * node was added to the graph. Copies of a graph keep their nodes' origin.
 */
#include "base/alloc.h"
#include "read/native/native_int.h"

static bool add_node(struct native *n, struct native_origins *s, const struct native_node *node)
{
	uint32_t number = sonde_map_find(&s->ids, SONDE_BYTES(node->original)), range = node->range;

	if (node->original)
		range = number == SONDE_NONE ? SONDE_NONE : s->ranges[number];
	if (range == SONDE_NONE)
		return true;
	number = sonde_map_keep(&s->ids, &n->r->arena, SONDE_BYTES(node->id), NULL);
	if (number == SONDE_NONE)
		return false;
	s->ranges[number] = range;
	return true;
}

/*
 * In order of time, over all threads: a copy takes the origin of what it was copied from, which
 * was there earlier, but maybe in a thread that is read later.
 */
bool sonde_native__find_origins(struct native *n, struct native_origins *out)
{
	struct sonde_keyed *t = sonde_order_by_field(n->nodes.at, n->nodes.nr, ns);
	bool ok;
	size_t i;

	out->ranges = sonde_malloc((n->nodes.nr + 1) * sizeof(*out->ranges));
	ok = t && out->ranges;
	for (i = 0; i < n->nodes.nr && ok; i++)
		ok = add_node(n, out, &n->nodes.at[t[i].index]);
	sonde_free(t);
	return ok;
}

uint32_t sonde_native__origin(const struct native_origins *o, uint64_t id)
{
	uint32_t number = id && o->ids.nr ? sonde_map_find(&o->ids, SONDE_BYTES(id)) : SONDE_NONE;

	return number == SONDE_NONE ? SONDE_NONE : o->ranges[number];
}

void sonde_native__release_origins(struct native_origins *o)
{
	sonde_map_release(&o->ids);
	sonde_free(o->ranges);
}
