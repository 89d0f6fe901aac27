/*
 * The timeline: single launches and range entries, for the formats that show
 * them (tracks of the HTML page, Perfetto, the tables of a database).
 *
 * It is kept only on request and only in memory: partial reports have none. All
 * numbers (of scopes, strings, …) refer to the cells that the timeline belongs to.
 */
#ifndef SONDE_FOLD_TIMELINE_H
#define SONDE_FOLD_TIMELINE_H

#include "fold/cells.h"

struct sonde_timeline_launch {
	uint64_t start_ns, end_ns; /* 0 when unknown */
	uint64_t call_ns;	   /* when the host called for it, 0 when unknown */
	uint64_t thread, stream;
	uint32_t context, place, kernel;
	uint32_t scope : 30, state : 2; /* enum sonde_launch_state; packed, as there may be millions of launches */
};

struct sonde_timeline_entry {
	uint64_t begin_ns, end_ns; /* 0 when unknown */
	uint64_t thread;
	uint32_t process, region;
	uint32_t label; /* string number: the label as pushed, before report.labels */
	uint32_t arguments; /* string number: a list of read/arguments.h, or SONDE_NONE */
	uint8_t kind; /* enum sonde_range_kind */
};

/* The shortest gap in the timeline. Shorter ones are left out, as there may be one for every launch. */
#define SONDE_TIMELINE_GAP_NS 1000u

/* A time in which no work of a scope ran, selected or not. */
struct sonde_timeline_gap {
	uint64_t begin_ns, ns;
	uint32_t scope;
	uint8_t cause; /* enum sonde_idle_cause that explains most of it */
};

/* A moment that the program marked. */
struct sonde_timeline_mark {
	uint64_t ns;
	uint32_t process, label;
};

/* A sample of a counter that the program keeps. */
struct sonde_timeline_gauge {
	uint64_t ns;
	uint32_t process, name;
	double v;
};

/* The name of a thread. */
struct sonde_timeline_thread {
	uint64_t thread;
	uint32_t process, name;
};

/* A point of a curve: a counter of a device over a short time. There may be unsampled time between two points. */
struct sonde_timeline_point {
	uint64_t start_ns, end_ns;
	double v; /* the average in this time */
};

struct sonde_timeline_curve {
	struct sonde_str name;	       /* with its unit: "SM active %", "DRAM GB/s" */
	uint32_t device;	       /* device number in the first scope, or without scopes in the sampler */
	size_t first, nr;	       /* slice of the points, in order of time */
	size_t first_scope, nr_scopes; /* slice of `curve_scopes`: the scopes on this device; empty if no launch was captured */
};

struct sonde_timeline {
	SONDE_VEC(struct sonde_timeline_launch) launches; /* by input, then in order of launch */
	SONDE_VEC(struct sonde_timeline_entry) entries;	  /* only entries with times */
	SONDE_VEC(struct sonde_timeline_gap) gaps; /* by scope, then in order of time */
	SONDE_VEC(struct sonde_timeline_mark) marks;
	SONDE_VEC(struct sonde_timeline_gauge) gauges;
	SONDE_VEC(struct sonde_timeline_thread) threads;
	SONDE_VEC(struct sonde_timeline_curve) curves;
	SONDE_VEC(struct sonde_timeline_point) points;
	SONDE_VEC(uint32_t) curve_scopes;
};

#endif
