#include "read/ncu/ncu_entries.h"

struct ncu_stack *ncu_entries_stack(
	struct ncu_entries *e, struct sonde_records *r, const struct sonde_range *like)
{
	const uint64_t key[4] = {like->process, like->thread, like->domain, like->kind};
	uint32_t number = sonde_intern_copy(&r->arena, &e->keys, SONDE_BYTES(key), NULL);

	return sonde_slot(&r->arena, &e->stacks, number);
}

void ncu_stack_frame(struct ncu_stack *s, struct sonde_records *r, size_t depth,
	struct sonde_range *range, uint64_t api, bool *is_same)
{
	uint32_t number = (uint32_t)r->ranges.nr;

	if (r->arena.failed) /* the frames below this one may be missing */
		return;
	*is_same = *is_same && depth < s->frames.nr && s->frames.at[depth].label == range->label &&
		   s->frames.at[depth].api == api;
	if (*is_same) {
		number = s->frames.at[depth].range;
	} else {
		s->frames.nr = depth; /* the entries above have ended */
		sonde_put(&r->arena, &r->ranges, *range);
		sonde_put(&r->arena, &s->frames, (struct ncu_frame){number, range->label, api, 0});
	}
	range->parent = number;
}

void ncu_entries_started(struct ncu_entries *e, struct sonde_records *r, struct ncu_stack *now,
	const struct ncu_frame *old, const struct sonde_range *range, uint64_t api, uint64_t id)
{
	uint32_t number = old ? old->range : (uint32_t)r->ranges.nr;

	if (!old)
		sonde_put(&r->arena, &r->ranges, *range);
	sonde_put(&r->arena, &now->frames, (struct ncu_frame){number, range->label, api, id});
	sonde_put(&r->arena, &e->members, number);
}
