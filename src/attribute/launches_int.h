/*
 * Inside the attribution room: the steps of building the launches.
 *
 *   labels.c     the rules that rewrite labels; serial.c which labels look serial
 *   region.c     range entries → stacks of labels → regions (the nesting rules)
 *   known.c      regions that the capture has no entry of, and somebody knows
 *   adopt.c      threads without ranges: whose ranges they work in; adopted.c puts them there
 *   backward.c   backward operators among the ranges, and what they are the backward of
 *   origin.c     where work was written, hung below where it was launched
 *   scope.c      processes and devices → scopes
 *   presences.c  which region has entries in which scope
 *   selection.c  which launches count, which regions are shown
 *   launches.c   the build itself: places, coverage
 *   explain.c    why little or nothing is left, in words
 */
#ifndef SONDE_ATTRIBUTE_LAUNCHES_INT_H
#define SONDE_ATTRIBUTE_LAUNCHES_INT_H

#include "attribute/labels_int.h"
#include "attribute/launches.h"
#include "attribute/recent_int.h"

/*
 * A distinct stack of labels as it really was, before the label rule moves it:
 * what NVTX filters look at. A trie: the parent is the enclosing frame.
 */
struct sonde_stack {
	uint32_t parent; /* stack number, SONDE_NONE = outermost */
	uint32_t label;	 /* label number, in the launches */
	uint32_t domain;
	uint32_t region; /* the region it counts in */
	uint32_t depth;	 /* 0 = outermost */
	uint8_t kind;	 /* enum sonde_region_kind */
};

/* A range that is a backward operator, outside all others. */
struct sonde_backward {
	uint32_t range;
	uint32_t origin; /* the range its forward operator ran in, SONDE_NONE = not known */
	uint32_t lent;	 /* set of the thread it works for */
	uint32_t stack;	 /* what it hangs below, SONDE_NONE = nothing */
};

/* A launch with an origin: its stack `place` is replaced by `stack`; SONDE_NONE = it is not. */
struct sonde_hung {
	uint32_t launch, place, stack;
};

/* A stack that a process is known to have. */
struct sonde_known {
	uint32_t stack, process;
};

/* Which ranges somebody without any works in, at a moment. */
struct sonde_question {
	uint64_t ns, thread; /* who asks, and when */
	uint32_t process, index; /* index: the asker's own */
	/* The answer. */
	uint32_t set;  /* 0: none, and why not … */
	uint8_t cause; /* … enum sonde_outside */
};

/* Working state while building. */
struct sonde_build {
	struct sonde_launches *l;
	const struct sonde_records *r;
	SONDE_VEC(struct sonde_stack) stacks;
	struct sonde_map stack_keys, region_keys, place_keys, scope_keys;
	uint32_t last_scope;	    /* of the record before */
	struct sonde_map outermost; /* {process, domain, label} of outermost ranges */
	struct sonde_recent recent_stacks, recent_outermost;
	struct sonde_nvtx_filter *filter; /* the NVTX selection */
	struct sonde_labels labels;
	uint32_t *label_of;	    /* by string number, SONDE_NONE = not asked for yet */
	uint32_t *label_of_range;   /* by range number; NULL: what `label_of` says */
	SONDE_VEC(struct sonde_backward) backward;
	uint32_t *backward_of; /* by range: which of these it is in, SONDE_NONE; NULL: none is */
	bool *is_left_out;     /* by range: it is in one; NULL likewise */
	SONDE_VEC(struct sonde_hung) hung; /* in order of launch */
	uint64_t hung_bytes, nr_not_hung; /* of the ids made by that; what was too much */
	SONDE_VEC(struct sonde_known) known;
	uint32_t *stack_of;	    /* by range number */
	uint64_t long_id_bytes, max_long_ids; /* of regions with long ids: what there are, and may be */
	bool *is_cut; /* by range: too deep for long names, it is in its parent's stack; NULL: none is */
	uint64_t nr_cut;
	uint32_t *place_of;	    /* by set number, SONDE_NONE = not made yet */
	uint32_t *seen_in;	    /* by region: the last place it was met in, plus one */
	SONDE_VEC(struct sonde_place)
	raw; /* by place: the stacks it stands for, a slice of `raw_stacks` */
	SONDE_VEC(uint32_t) raw_stacks;
	SONDE_VEC(uint32_t) scratch, frames;
};

/* Every function: 0 or a negative code with `err` filled in. */
/* Reads the NVTX selection, then rewrites the labels of all ranges. */
int sonde_build__labels(struct sonde_build *b, struct sonde_err *err);
/* With report.labels=auto: merges labels that look serial. */
int sonde_build__merge_serial(struct sonde_build *b, struct sonde_err *err);
/* Without: once there are stacks, notes which setting would leave fewer regions. */
int sonde_build__note_serial(struct sonde_build *b, struct sonde_err *err);
/* Gives launches of threads without ranges those of the one other thread that has some. */
int sonde_build__adopt(struct sonde_build *b, struct sonde_err *err);
/* Finds ranges that are backward operators, their origins and whom they work for. */
int sonde_build__find_backward(struct sonde_build *b, struct sonde_err *err);
/* Once all other ranges have stacks: what backward operators hang below. */
int sonde_build__hang_backward(struct sonde_build *b, struct sonde_err *err);
/* Once all ranges have stacks: launches that have an origin of their own. */
int sonde_build__hang_records(struct sonde_build *b, struct sonde_err *err);
/* Answers questions, in an order of its own; ranges in `is_left_out` (may be NULL) lend nothing. */
int sonde_build__ask(struct sonde_build *b, struct sonde_question *q, size_t nr,
	const bool *is_left_out, struct sonde_err *err);
int sonde_build__regions(struct sonde_build *b, struct sonde_err *err);
/* Makes the regions that are known otherwise, in every process that has launches. */
int sonde_build__known(struct sonde_build *b, struct sonde_err *err);
/* The scope of a record, made when new; SONDE_NONE: no memory. sonde_build__scopes sorts them. */
uint32_t sonde_build__scope(struct sonde_build *b, const struct sonde_record *rec);
int sonde_build__scopes(struct sonde_build *b, struct sonde_err *err);
int sonde_build__select(struct sonde_build *b, struct sonde_err *err);
/* Finds out which words of the selection anything in the capture meets. */
int sonde_build__meet(struct sonde_build *b, struct sonde_err *err);
int sonde_build__presences(struct sonde_build *b, struct sonde_err *err);

/* How launch `i` is hung, NULL = it is not; to be asked in order, with `*next` 0 at first. */
static inline const struct sonde_hung *sonde_build__hung(
	const struct sonde_build *b, size_t i, size_t *next)
{
	const struct sonde_hung *hung = *next < b->hung.nr ? &b->hung.at[*next] : NULL;

	if (!hung || hung->launch != i)
		return NULL;
	++*next;
	return hung->stack == SONDE_NONE ? NULL : hung;
}

/* The stack with a frame of `label` inside `parent`, made when new; SONDE_NONE: no memory. */
uint32_t sonde_build__child(
	struct sonde_build *b, uint32_t parent, uint32_t label, enum sonde_region_kind kind);
/* The same for an outermost frame of a process. */
uint32_t sonde_build__root(struct sonde_build *b, uint32_t process, uint32_t domain, uint32_t label,
	enum sonde_region_kind kind);
/* The label number of a text, rewritten as those of ranges are. */
int sonde_build__rewrite(struct sonde_build *b, struct sonde_str text, uint32_t *out, struct sonde_err *err);
/* The label of a range entry: a label number. */
uint32_t sonde_build__label(const struct sonde_build *b, uint32_t range);
/* Makes a set beside those of the records, or `last` if that is the same; SONDE_NONE: no memory. */
uint32_t sonde_build__set(
	struct sonde_build *b, const uint32_t *members, size_t nr, uint32_t last);
/* The number of a key of plain words, added with a lasting copy when new; SONDE_NONE on no memory. */
uint32_t sonde_build__key(struct sonde_build *b, struct sonde_map *map, const uint32_t *words,
	size_t nr, bool *is_new);

#endif
