/*
 * Launches: every result with the regions it belongs to.
 *
 * Attribution follows docs/attribution.md. The outcome is small and flat: a
 * list of regions (the union over all scopes), a list of scopes (one per
 * process and device, and per way of measuring where a process has several),
 * and per result the place it belongs to. Built once from records and a
 * selection, read-only afterwards; everything is valid as long as the launches,
 * which in turn borrow from the records.
 */
#ifndef SONDE_ATTRIBUTE_LAUNCHES_H
#define SONDE_ATTRIBUTE_LAUNCHES_H

#include "attribute/filter.h"
#include "read/records.h"

/* What was asked for. Everything borrowed; all zero = everything. */
struct sonde_selection {
	struct sonde_words nvtx_include, nvtx_exclude;
	struct sonde_words kernel_include, kernel_exclude;
	bool stack_only;      /* report.nesting=stack: labels like A::A1 never decide a parent */
	bool own_threads;     /* report.threads=own: no thread takes the ranges of another */
	bool no_origins;      /* report.origins=off: work is where it was launched, and there only */
	struct sonde_words labels; /* report.labels: known, raw, auto or rules; none = known */
	bool is_exclude_done; /* by the capture: that nvtx_exclude meets nothing is no news */
};

/* What a region stands for. The first two are enum sonde_range_kind. */
enum sonde_region_kind {
	SONDE_REGION_PUSH_POP = SONDE_PUSH_POP,
	SONDE_REGION_START_END = SONDE_START_END,
	/* Never open itself: work launched in the region above was written in such a range. */
	SONDE_REGION_GRAPH,    /* … when its CUDA graph was captured */
	SONDE_REGION_BACKWARD, /* … by the forward operator it is the backward of */
};
const char *sonde_region_kind_name(enum sonde_region_kind k);  /* "push_pop", … */
const char *sonde_region_kind_words(enum sonde_region_kind k); /* "push/pop", … for people */
/* What stands behind the label in lists: " (start/end)", " (graph)", … or nothing. */
const char *sonde_region_kind_mark(enum sonde_region_kind k);

/*
 * A region: a path of labels in one domain. Its parent comes before it; among
 * siblings the order is that of first entry.
 */
struct sonde_region {
	struct sonde_str id; /* [domain@] labels joined by '/', with '/' and '\' escaped */
	uint32_t parent;     /* SONDE_NONE = a root */
	uint32_t label;	     /* label number, see sonde_region_label */
	uint32_t domain;     /* string number, SONDE_NONE = the default domain */
	uint32_t depth;	     /* 0 = a root */
	uint8_t kind;	     /* enum sonde_region_kind */
	bool is_shown;	     /* false: every launch in it was excluded by the NVTX selection */
};

/*
 * How results were measured. The same region gives different figures each way, so results of
 * different ways are never summed.
 */
enum sonde_measured {
	SONDE_MEASURED_KERNEL, /* launch by launch */
	SONDE_MEASURED_RANGE,  /* ranges, replayed inside the program; where a CSV does not tell */
	SONDE_MEASURED_APP_RANGE, /* ranges, by running the whole program again */
};
#define SONDE_NR_MEASURED 3
const char *sonde_measured_name(enum sonde_measured m); /* "kernel", "range", "app-range" */

/* Where results come from: one process on one device, measured one way. */
struct sonde_scope {
	struct sonde_str name; /* "process:4519/device:0" */
	uint32_t process;
	uint32_t device;  /* SONDE_NONE: a process that used no device */
	uint8_t measured; /* enum sonde_measured */
};

/* Which region a launch belongs to exclusively, per domain and start/end range: a slice of `homes`.
 */
struct sonde_place {
	uint32_t first, nr;
};

enum sonde_launch_state {
	SONDE_LAUNCH_TAKEN,	   /* selected, inside at least one region */
	SONDE_LAUNCH_OUTSIDE,	   /* selected, but no range was open */
	SONDE_LAUNCH_NOT_SELECTED, /* the NVTX or kernel selection left it out */
};

/* Why a launch is in no region. */
enum sonde_outside {
	SONDE_OUTSIDE_NO_RANGE,	   /* no range open, on no thread of its process */
	SONDE_OUTSIDE_TWO_THREADS, /* none of its own, and two and more threads have one */
	SONDE_OUTSIDE_NO_CALL,	   /* the capture does not have the call that launched it */
};
#define SONDE_NR_OUTSIDE 3
const char *sonde_outside_name(enum sonde_outside o); /* "no range open", … */

struct sonde_launch {
	uint32_t record;
	uint32_t scope;
	uint32_t place;	 /* place 0 = no region */
	uint32_t kernel; /* string number of the name it is listed under */
	uint32_t open;	 /* the set of range entries it counts in, see sonde_launches_set */
	uint8_t state;	 /* enum sonde_launch_state */
	uint8_t cause;	 /* enum sonde_outside, if that is where it is */
	bool is_adopted; /* in ranges of another thread: its own had none open */
};

/* Entries of one region in one scope. */
struct sonde_presence {
	uint32_t scope, region;
	uint64_t instances;
	uint64_t first_instances; /* of these, counted in no scope before: what adds up */
};

/* Launches without a region, by thread: shown in the coverage notes. */
struct sonde_stray {
	uint32_t process;
	uint64_t thread;
	uint64_t launches;
};

/* A rule that rewrote labels, and how many (each different one once). */
struct sonde_label_rule {
	struct sonde_str text; /* "REGEX => REPLACEMENT" */
	uint64_t changed;
};

struct sonde_launches {
	const struct sonde_records *records;
	struct sonde_selection selection;
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_scope) scopes; /* by process, then device, kernels before ranges */
	SONDE_VEC(struct sonde_place) places;
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_launch) launches;    /* one per record, same order */
	SONDE_VEC(struct sonde_presence) presences; /* by scope, then region */
	SONDE_VEC(uint32_t) region_of;		    /* by range number: the region of an entry */
	SONDE_VEC(struct sonde_stray) strays;	    /* in order of first launch */
	uint64_t nr_taken, nr_outside, nr_not_selected, nr_adopted;
	uint64_t nr_outside_by[SONDE_NR_OUTSIDE];
	SONDE_VEC(struct sonde_label_rule) label_rules; /* all that were tried */
	/* Sets made here, numbered behind those of the records. */
	SONDE_VEC(struct sonde_set) sets;
	SONDE_VEC(uint32_t) members;
	struct sonde_notes notes;
	struct sonde_map labels; /* labels.keys[n] is label number n, as report.labels has it */
	/* Private to the room. */
	struct sonde_arena arena;
};

static inline struct sonde_str sonde_region_label(
	const struct sonde_launches *l, const struct sonde_region *region)
{
	return l->labels.keys[region->label];
}

/* Set number `set`, of the records or made here: where its members are, and how many. */
static inline struct sonde_set sonde_launches_set(
	const struct sonde_launches *l, uint32_t set, const uint32_t **members)
{
	size_t nr = l->records->sets.nr;
	struct sonde_set s = set < nr ? l->records->sets.at[set] : l->sets.at[set - nr];

	*members = !s.nr ? NULL : &(set < nr ? l->records->members.at : l->members.at)[s.first];
	return s;
}

int sonde_launches_build(struct sonde_launches **out, const struct sonde_records *records,
	const struct sonde_selection *selection, struct sonde_err *err);
void sonde_launches_free(struct sonde_launches *l);

#endif
