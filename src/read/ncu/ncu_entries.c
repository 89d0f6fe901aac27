#include "read/ncu/ncu_entries.h"

struct ncu_stack *ncu_entries_stack(
	struct ncu_entries *e, struct sonde_records *r, const struct sonde_range *like)
{
	const uint64_t key[4] = {like->process, like->thread, like->domain, like->kind};
	uint32_t number = sonde_map_keep(&e->keys, &r->arena, SONDE_BYTES(key), NULL);

	return sonde_map_slot(&e->stacks, number);
}

bool ncu_stack_frame(struct ncu_stack *s, struct sonde_records *r, size_t depth,
	struct sonde_range *range, uint64_t api, bool *is_same)
{
	if (*is_same && depth < s->frames.nr)
		*is_same = s->frames.at[depth].label == range->label && s->frames.at[depth].api == api;
	else
		*is_same = false;
	if (!*is_same) {
		s->frames.nr = depth; /* what was above is over */
		if (!sonde_vec_put(&r->ranges, *range) ||
			!sonde_vec_put(&s->frames, (struct ncu_frame){(uint32_t)(r->ranges.nr - 1),
							   range->label, api, 0}))
			return false;
	}
	range->parent = s->frames.at[depth].range;
	return true;
}

bool ncu_entries_started(struct ncu_entries *e, struct sonde_records *r, struct ncu_stack *now,
	const struct ncu_frame *old, const struct sonde_range *range, uint64_t api, uint64_t id)
{
	uint32_t number = old ? old->range : (uint32_t)r->ranges.nr;

	return (old || sonde_vec_put(&r->ranges, *range)) &&
	       sonde_vec_put(&now->frames, (struct ncu_frame){number, range->label, api, id}) &&
	       sonde_vec_put(&e->members, number);
}

void ncu_entries_release(struct ncu_entries *e)
{
	size_t i;

	for (i = 0; i < e->stacks.nr; i++)
		sonde_vec_release(&e->stacks.at[i].frames);
	sonde_vec_release(&e->stacks);
	sonde_vec_release(&e->members);
	sonde_map_release(&e->keys);
}
