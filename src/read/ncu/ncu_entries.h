/*
 * The range entries that results of Nsight Compute belong to. Each result repeats all ranges that are open:
 * a frame that the result before had too is the same entry.
 */
#ifndef SONDE_READ_NCU_ENTRIES_H
#define SONDE_READ_NCU_ENTRIES_H

#include "read/source.h"

struct ncu_frame {
	uint32_t range; /* range number */
	uint32_t label;
	uint64_t api; /* last API call before the range was entered, which distinguishes entries; 0 = not known */
	uint64_t id;  /* start/end only */
};

/* The stack that one thread had in one domain (or the start/end ranges that a process had open) at the result before. */
struct ncu_stack {
	SONDE_VEC(struct ncu_frame) frames;
};

/* All memory belongs to the records' arena. */
struct ncu_entries {
	struct sonde_map keys; /* {process, thread, domain, kind} → number in `stacks` */
	SONDE_VEC(struct ncu_stack) stacks;
	SONDE_VEC(uint32_t) members; /* the set being built */
};

/* The stack for ranges with the process, thread, domain and kind of `like`; added when it is new. */
struct ncu_stack *ncu_entries_stack(
	struct ncu_entries *e, struct sonde_records *r, const struct sonde_range *like);
/*
 * Adds frame `depth` of a push/pop stack: the same entry as in the result before, as long as all frames so far are
 * (`*is_same`), else a new entry, `range`. Sets range->parent to the entry, for the next frame.
 */
void ncu_stack_frame(struct ncu_stack *s, struct sonde_records *r, size_t depth,
	struct sonde_range *range, uint64_t api, bool *is_same);
/* Adds an open start/end range: the entry `old`, or a new one when `old` is NULL. */
void ncu_entries_started(struct ncu_entries *e, struct sonde_records *r, struct ncu_stack *now,
	const struct ncu_frame *old, const struct sonde_range *range, uint64_t api, uint64_t id);

#endif
