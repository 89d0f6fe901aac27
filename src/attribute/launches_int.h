/*
 * Private to the attribution room: the steps that build the launches.
 *
 *   labels.c     labels: rules that rewrite them, and which of them look serial
 *   region.c     range entries, and ids known from elsewhere → stacks of labels → regions
 *   adopt.c      threads without ranges: finds the thread whose ranges they work in
 *   origin.c     graphs and backward operators: where work was written, below where it was launched
 *   scope.c      processes and devices → scopes
 *   presences.c  which region has entries in which scope
 *   selection.c  which launches count, which regions are shown
 *   launches.c   the build itself: places, coverage
 *   emptiness.c    why little or nothing is left, in words
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
	bool is_shipped;	/* comes with sonde: applies only to labels with a digit */
	bool is_used;		/* matched the last label */
	uint64_t changed;	/* number of distinct labels it rewrote */
};

struct sonde_labels {
	struct sonde_pool pool; /* also owns `rules` */
	SONDE_VEC(struct sonde_label_pattern) rules;
	struct sonde_buf arguments; /* arguments in the label that was rewritten last (read/arguments.h) */
	bool has_shipped; /* `rules` includes the shipped ones; serial siblings are merged */
};

/* `words` holds `known` (also called `auto`), `raw`, or rules. No word at all means `known`. */
int sonde_labels__init(struct sonde_labels *l, struct sonde_words words, struct sonde_err *err);
/* Rewrites `label` into `out`. `*is_changed` = false: no rule matches and `out` stays empty. */
int sonde_labels__apply(struct sonde_labels *l, struct sonde_str label, struct sonde_buf *out,
	bool *is_changed, struct sonde_err *err);
void sonde_labels__release(struct sonde_labels *l);

/*
 * A cache of recent map lookups: key → number. Programs enter the same few ranges again
 * and again, and comparing five words is several times quicker than asking a map.
 */
#define SONDE_RECENT_WORDS 5

/* Must be all zero at first. */
struct sonde_recent {
	struct {
		uint32_t key[SONDE_RECENT_WORDS];
		uint32_t number; /* the number plus one; 0 = not cached */
	} at[256];
};

/*
 * Returns the slot for a key. It holds the key's number plus one; if it holds 0, the caller looks the number up and
 * stores it.
 */
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
 * A distinct stack of labels as it really was, before the label rule (`A::A1` below `A`)
 * moves it. NVTX filters look at stacks. They form a trie: the parent is the enclosing frame.
 */
struct sonde_stack {
	uint32_t parent; /* stack number, SONDE_NONE = outermost */
	uint32_t label;	 /* label number, in the launches */
	uint32_t domain;
	uint32_t region; /* the region its entries count in */
	uint32_t depth;	 /* 0 = outermost */
	uint8_t kind;	 /* enum sonde_region_kind */
};

/* A range that is a backward operator and is not inside another one. */
struct sonde_backward {
	uint32_t range;
	uint32_t origin; /* the range its forward operator ran in, SONDE_NONE = not known */
	uint32_t lent;	 /* set of ranges open on the thread it works for; 0 = none */
	uint32_t stack;	 /* the stack it is placed below, SONDE_NONE = none */
};

/* A launch with an origin: its stack `place` is replaced by `stack`; SONDE_NONE = not replaced. */
struct sonde_placed_below {
	uint32_t launch, place, stack;
};

/* A stack known from selection.known, and a process that has it. */
struct sonde_known {
	uint32_t stack, process;
};

/* The question in which ranges a thread that has none open works at a given moment. */
struct sonde_question {
	uint64_t ns, thread; /* the moment, and the thread without ranges */
	uint32_t process, index; /* index: chosen by the caller, returned unchanged */
	/* The answer. */
	uint32_t set;  /* the set of open ranges; 0 = none, for the reason in `cause` */
	uint8_t cause; /* enum sonde_outside */
};

/*
 * Working state while building. What a step leaves for later steps is in `arena`; what only the step itself needs is
 * in `step`. These arenas and that of the launches remember when memory is short: each step asks at its end
 * (sonde_build__status), and before it uses numbers or arrays that may be missing.
 */
struct sonde_build {
	struct sonde_launches *l;
	const struct sonde_records *r;
	struct sonde_arena arena; /* freed with the build */
	struct sonde_arena step;  /* freed at the end of each step */
	SONDE_VEC(struct sonde_stack) stacks;
	struct sonde_map stack_keys, region_keys, place_keys, scope_keys;
	uint32_t last_scope;	    /* the scope of the previous record */
	struct sonde_map outermost; /* {process, domain, label} of outermost ranges */
	struct sonde_recent recent_stacks, recent_outermost;
	struct sonde_nvtx_filter *filter; /* the NVTX selection */
	struct sonde_labels labels;
	uint32_t *label_of;	    /* label number by string number, SONDE_NONE = no range has this label */
	uint32_t *label_of_range;   /* label number by range number, after merging serial labels; NULL: use `label_of` */
	SONDE_VEC(struct sonde_backward) backward;
	uint32_t *backward_of; /* by range: the element of `backward` that it is or is inside, or SONDE_NONE; NULL: none is */
	bool *is_left_out;     /* by range: whether it is in a backward operator; NULL: none is */
	SONDE_VEC(struct sonde_placed_below) placed_below; /* in order of launch */
	uint64_t below_bytes;	/* bytes of the region ids that were made for them … */
	uint64_t nr_not_placed; /* … and launches that stay where they were launched, because these are too many */
	SONDE_VEC(struct sonde_known) known;
	uint32_t *stack_of;	    /* by range number */
	uint64_t long_id_bytes, max_long_ids; /* bytes of long ids: in use, and allowed */
	bool *is_cut; /* by range: nested too deep for its long name, so it shares its parent's stack; NULL: none does */
	uint64_t nr_cut;
	uint32_t *seen_in;	    /* by region: the last place that has it, plus one; while places are made */
	SONDE_VEC(struct sonde_place)
	raw; /* by place: its stacks, a slice of `raw_stacks` */
	SONDE_VEC(uint32_t) raw_stacks;
	SONDE_VEC(uint32_t) scratch, frames;
};

/* Whether an allocation of the build has failed. */
static inline bool sonde_build__failed(const struct sonde_build *b)
{
	return b->l->arena.failed || b->arena.failed || b->step.failed;
}

/* Returns 0, or SONDE_ERR_NOMEM with `err` filled in when an allocation of the build has failed. */
static inline int sonde_build__status(const struct sonde_build *b, struct sonde_err *err)
{
	return sonde_build__failed(b) ? sonde_err_nomem(err) : 0;
}

/*
 * The steps of the build, and later their parts. Unless noted otherwise, these functions return 0, or a negative code
 * with `err` filled in.
 */
/* Reads the NVTX selection, then rewrites the labels of all ranges. */
int sonde_build__labels(struct sonde_build *b, struct sonde_err *err);
/* Merges labels that look serial, if the shipped label rules are in use. */
int sonde_build__merge_serial(struct sonde_build *b, struct sonde_err *err);
/* If they are not in use: notes that report.labels=known would leave far fewer regions. Call it once there are stacks. */
int sonde_build__note_serial(struct sonde_build *b, struct sonde_err *err);
/* Puts launches of a thread without ranges into the ranges of the one other thread that has some. */
int sonde_build__adopt_launches(struct sonde_build *b, struct sonde_err *err);
/* The same for allocations and frees. */
int sonde_build__adopt_memory(struct sonde_build *b, struct sonde_err *err);
/* Finds ranges that are backward operators, their origins, and the threads they work for. */
int sonde_build__find_backward(struct sonde_build *b, struct sonde_err *err);
int sonde_build__regions(struct sonde_build *b, struct sonde_err *err);
/* Makes the regions of selection.known, in every process. */
int sonde_build__known(struct sonde_build *b, struct sonde_err *err);
int sonde_build__scopes(struct sonde_build *b, struct sonde_err *err);
int sonde_build__select(struct sonde_build *b, struct sonde_err *err);
/* Finds out which words of the selection match anything in the capture. */
int sonde_build__match_words(struct sonde_build *b, struct sonde_err *err);
int sonde_build__presences(struct sonde_build *b, struct sonde_err *err);

/* Parts of steps. Those without an `err` leave it to the step to ask whether memory was short. */
/* Returns the scope of a record, creating it if new. sonde_build__scopes sorts the scopes. */
uint32_t sonde_build__scope(struct sonde_build *b, const struct sonde_record *rec);
/* Answers questions, and reorders them. Ranges marked in `is_left_out` (may be NULL) are ignored. */
void sonde_build__ask(struct sonde_build *b, struct sonde_question *q, size_t nr, const bool *is_left_out);
/* Finds the stacks that backward operators are placed below. Call it once all other ranges have stacks. */
void sonde_build__place_backward_below(struct sonde_build *b);
/* Places the path of each record's origin below the place of its launch. Call it once all ranges have stacks. */
void sonde_build__place_records_below(struct sonde_build *b);

/*
 * The stack below which launch `i` is placed, because its origin is known; NULL = it stays where it was launched.
 * Callers ask for all launches in order, with `*next` 0 at first.
 */
static inline const struct sonde_placed_below *sonde_build__placed_below(
	const struct sonde_build *b, size_t i, size_t *next)
{
	const struct sonde_placed_below *below = *next < b->placed_below.nr ? &b->placed_below.at[*next] : NULL;

	if (!below || below->launch != i)
		return NULL;
	++*next;
	return below->stack == SONDE_NONE ? NULL : below;
}

/* Returns the stack `parent` with one more frame `label`, creating it if new; SONDE_NONE: no memory. */
uint32_t sonde_build__child(
	struct sonde_build *b, uint32_t parent, uint32_t label, enum sonde_region_kind kind);
/* The same for an outermost frame of a process. */
uint32_t sonde_build__root(struct sonde_build *b, uint32_t process, uint32_t domain, uint32_t label,
	enum sonde_region_kind kind);
/* Rewrites a text as the labels of ranges are rewritten; `*out` gets the label number. */
int sonde_build__rewrite(struct sonde_build *b, struct sonde_str text, uint32_t *out, struct sonde_err *err);
/* The label number of a range entry. */
uint32_t sonde_build__label(const struct sonde_build *b, uint32_t range);
/* Makes a set of range entries, or returns `last` if that set has the same members; 0, the empty set: no memory. */
uint32_t sonde_build__set(
	struct sonde_build *b, const uint32_t *members, size_t nr, uint32_t last);
/* The number of a key in a map that belongs to `arena`; a new key is copied and added. SONDE_NONE: no memory. */
uint32_t sonde_build__key(struct sonde_arena *arena, struct sonde_map *map, const uint32_t *words,
	size_t nr, bool *is_new);

#endif
