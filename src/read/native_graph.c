/*
 * Where the work of CUDA graphs was written: the range that was open when its
 * node was added to the graph. Copies of a graph keep their nodes' origin.
 */
#include "base/alloc.h"
#include "read/native_int.h"

struct nodes {
	struct sonde_map ids; /* of nodes that have an origin, 8 bytes each */
	uint32_t *ranges;     /* by number in `ids` */
};

static bool add_node(struct native *n, struct nodes *s, const struct native_node *node)
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
static bool add_nodes(struct native *n, struct nodes *s)
{
	struct sonde_keyed *t = sonde_malloc((n->nodes.nr + 1) * sizeof(*t));
	bool ok = t && n->nodes.nr < SONDE_NONE;
	size_t i;

	s->ranges = sonde_malloc((n->nodes.nr + 1) * sizeof(*s->ranges));
	for (i = 0; i < n->nodes.nr && ok; i++)
		t[i] = (struct sonde_keyed){n->nodes.at[i].ns, (uint32_t)i};
	ok = ok && s->ranges && sonde_keysort(t, n->nodes.nr);
	for (i = 0; i < n->nodes.nr && ok; i++)
		ok = add_node(n, s, &n->nodes.at[t[i].index]);
	sonde_free(t);
	return ok;
}

/* The node of a graph that a record is, 0 = none. */
static uint64_t node_of(const struct native *n, const struct sonde_record *rec)
{
	struct sonde_event e;

	if (rec->is_untimed || !sonde_native__event(n->src, rec->payload, &e))
		return 0;
	switch (e.type) {
	case SONDE_EVENT_KERNEL:
		return e.field[SONDE_KERNEL_NODE];
	case SONDE_EVENT_MEMCPY:
		return e.field[SONDE_COPY_NODE];
	case SONDE_EVENT_MEMSET:
		return e.field[SONDE_SET_NODE];
	default:
		return 0;
	}
}

int sonde_native__origins(struct native *n, struct sonde_err *err)
{
	struct nodes s = {0};
	bool ok = !n->nodes.nr || add_nodes(n, &s);
	size_t i;

	for (i = n->first_record; i < n->r->records.nr && ok && s.ids.nr; i++) {
		struct sonde_record *rec = &n->r->records.at[i];
		uint64_t node = node_of(n, rec);
		uint32_t number = node ? sonde_map_find(&s.ids, SONDE_BYTES(node)) : SONDE_NONE;

		if (number == SONDE_NONE)
			continue;
		rec->origin = s.ranges[number];
		rec->origin_kind = SONDE_ORIGIN_GRAPH;
	}
	sonde_map_release(&s.ids);
	sonde_free(s.ranges);
	return ok ? 0 : sonde_err_nomem(err);
}
