/*
 * Inside the attribution room: the steps of building the launches.
 *
 *   labels.c     labels: rules that rewrite them, and which of them look serial
 *   region.c     range entries, and ids that are known otherwise → stacks of labels → regions
 *   adopt.c      threads without ranges: whose ranges they work in
 *   origin.c     graphs and backward operators: where work was written, below where it was launched
 *   scope.c      processes and devices → scopes
 *   presences.c  which region has entries in which scope
 *   selection.c  which launches count, which regions are shown
 *   launches.c   the build itself: places, coverage
 *   outcome.c    why little or nothing is left, in words
 */
#ifndef SONDE_ATTRIBUTE_LAUNCHES_INT_H
#define SONDE_ATTRIBUTE_LAUNCHES_INT_H

#include "attribute/filter_int.h"
#include "attribute/launches.h"
#include "read/arguments.h"

#include <string.h>

/* A rule that rewrites labels, `REGEX => REPLACEMENT`. */
struct sonde_label_pattern {
	struct sonde_pattern pattern;
	struct sonde_str replacement;
	struct sonde_str text;	/* the whole rule */
	bool is_known;		/* shipped: applies only to labels with a digit */
	bool is_used;		/* on the last label */
	uint64_t changed;	/* labels, each once */
};

struct sonde_labels {
	struct sonde_pool pool;
	SONDE_VEC(struct sonde_label_pattern) rules;
	struct sonde_buf arguments; /* of the label that was rewritten last (read/arguments.h) */
	bool has_known; /* the shipped rules are among them, and serial siblings are merged */
};

/* `words`: `known` (also called `auto`), `raw`, or rules; none at all is `known`. */
int sonde_labels__init(struct sonde_labels *l, struct sonde_words words, struct sonde_err *err);
/* Rewrites `label` into `out`; `*is_changed` false: no rule fits and `out` stays empty. */
int sonde_labels__apply(struct sonde_labels *l, struct sonde_str label, struct sonde_buf *out,
	bool *is_changed, struct sonde_err *err);
void sonde_labels__release(struct sonde_labels *l);

/*
 * Numbers that were looked up just now. Programs enter the same few ranges again
 * and again, and comparing five words is several times quicker than asking a map.
 */
#define SONDE_RECENT_WORDS 5

/* All zero to begin with. */
struct sonde_recent {
	struct {
		uint32_t key[SONDE_RECENT_WORDS];
		uint32_t number; /* plus one; 0 = not known */
	} at[256];
};

/* Where the number of a key is kept, plus one; 0 there: the caller looks it up and puts it there. */
static inline uint32_t *sonde_recent__of(struct sonde_recent *r, const uint32_t *key)
{
	uint32_t hash = 0, i;

	for (i = 0; i < SONDE_RECENT_WORDS; i++)
		hash = (hash ^ key[i]) * 0x9e3779b1u;
	i = hash >> 24;
	if (memcmp(r->at[i].key, key, sizeof(r->at[i].key)) != 0) {
		memcpy(r->at[i].key, key, sizeof(r->at[i].key));
		r->at[i].number = 0;
	}
	return &r->at[i].number;
}

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
	uint64_t ns, thread; /* when, and which thread asks */
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
	uint64_t hung_bytes, nr_not_hung; /* bytes of the ids made by that; launches for which they were too many */
	SONDE_VEC(struct sonde_known) known;
	uint32_t *stack_of;	    /* by range number */
	uint64_t long_id_bytes, max_long_ids; /* bytes of long ids: how many there are, and may be */
	bool *is_cut; /* by range: too deep for long names, it is in its parent's stack; NULL: none is */
	uint64_t nr_cut;
	uint32_t *place_of;	    /* by set number, SONDE_NONE = not made yet */
	uint32_t *seen_in;	    /* by region: the last place it was met in, plus one */
	SONDE_VEC(struct sonde_place)
	raw; /* by place: its stacks, a slice of `raw_stacks` */
	SONDE_VEC(uint32_t) raw_stacks;
	SONDE_VEC(uint32_t) scratch, frames;
};

/* Every function: 0 or a negative code with `err` filled in. */
/* Reads the NVTX selection, then rewrites the labels of all ranges. */
int sonde_build__labels(struct sonde_build *b, struct sonde_err *err);
/* Unless report.labels=raw: merges labels that look serial. */
int sonde_build__merge_serial(struct sonde_build *b, struct sonde_err *err);
/* Without: once there are stacks, notes which setting would leave fewer regions. */
int sonde_build__note_serial(struct sonde_build *b, struct sonde_err *err);
/* Gives launches of threads without ranges those of the one other thread that has some. */
int sonde_build__adopt(struct sonde_build *b, struct sonde_err *err);
/* Finds ranges that are backward operators, their origins and whom they work for. */
int sonde_build__find_backward(struct sonde_build *b, struct sonde_err *err);
/* Once all other ranges have stacks: finds the stacks that backward operators hang below. */
int sonde_build__hang_backward(struct sonde_build *b, struct sonde_err *err);
/* Once all ranges have stacks: hangs launches that have an origin of their own below it. */
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
