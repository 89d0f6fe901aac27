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
	bool is_exclude_done; /* by the capture: that nvtx_exclude meets nothing is no news */
};

/*
 * A region: a path of labels in one domain. Its parent comes before it; among
 * siblings the order is that of first entry.
 */
struct sonde_region {
	struct sonde_str id; /* [domain@] labels joined by '/', with '/' and '\' escaped */
	uint32_t parent;     /* SONDE_NONE = a root */
	uint32_t label;	     /* string number */
	uint32_t domain;     /* string number, SONDE_NONE = the default domain */
	uint32_t depth;	     /* 0 = a root */
	uint8_t kind;	     /* enum sonde_range_kind */
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

struct sonde_launch {
	uint32_t record;
	uint32_t scope;
	uint32_t place;	 /* place 0 = no region */
	uint32_t kernel; /* string number of the name it is listed under */
	uint8_t state;	 /* enum sonde_launch_state */
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

struct sonde_launches {
	const struct sonde_records *records;
	struct sonde_selection selection;
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_scope) scopes; /* by process, then device, kernels before ranges */
	SONDE_VEC(struct sonde_place) places;
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_launch) launches;    /* one per record, same order */
	SONDE_VEC(struct sonde_presence) presences; /* by scope, then region; only instances > 0 */
	SONDE_VEC(uint32_t) region_of;		    /* by range number: the region of an entry */
	SONDE_VEC(struct sonde_stray) strays;	    /* in order of first launch */
	uint64_t nr_taken, nr_outside, nr_not_selected;
	struct sonde_notes notes;
	/* Private to the room. */
	struct sonde_arena arena;
};

int sonde_launches_build(struct sonde_launches **out, const struct sonde_records *records,
	const struct sonde_selection *selection, struct sonde_err *err);
void sonde_launches_free(struct sonde_launches *l);

#endif
