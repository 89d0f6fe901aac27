/*
 * The range entries that Nsight Compute's results belong to. Each result repeats all ranges that are open:
 * a frame that the result before had too is the same entry.
 */
#ifndef SONDE_READ_NCU_ENTRIES_H
#define SONDE_READ_NCU_ENTRIES_H

#include "read/source.h"

struct ncu_frame {
	uint32_t range; /* its range number */
	uint32_t label;
	uint64_t api; /* last API call before it was entered: distinguishes entries; 0 = not known */
	uint64_t id;  /* start/end only */
};

/* The stack one thread had in one domain (or the start/end ranges a process had open) last time. */
struct ncu_stack {
	SONDE_VEC(struct ncu_frame) frames;
};

/* Everything belongs to the records' arena. */
struct ncu_entries {
	struct sonde_map keys; /* {process, thread, domain, kind} → number in `stacks` */
	SONDE_VEC(struct ncu_stack) stacks;
	SONDE_VEC(uint32_t) members; /* the set being built */
};

/* The stack of ranges like this one, made when new. */
struct ncu_stack *ncu_entries_stack(
	struct ncu_entries *e, struct sonde_records *r, const struct sonde_range *like);
/*
 * Frame `depth` of a push/pop stack: the entry of last time as long as all frames so far are
 * (`*is_same`), else a new one, `range`. Becomes the parent of what comes next.
 */
void ncu_stack_frame(struct ncu_stack *s, struct sonde_records *r, size_t depth,
	struct sonde_range *range, uint64_t api, bool *is_same);
/* A start/end range that is open: the entry `old`, or a new one when that is NULL. */
void ncu_entries_started(struct ncu_entries *e, struct sonde_records *r, struct ncu_stack *now,
	const struct ncu_frame *old, const struct sonde_range *range, uint64_t api, uint64_t id);

#endif
