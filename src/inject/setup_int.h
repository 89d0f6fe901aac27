/*
 * The configuration of the injected library: read once, before the first hook, and never changed.
 */
#ifndef SONDE_INJECT_SETUP_INT_H
#define SONDE_INJECT_SETUP_INT_H

#include "format/capture.h"

#include <stdbool.h>
#include <stdint.h>

struct pattern {
	const char *text;  /* a glob over labels */
	const char *label; /* what follows its first '@': a glob over labels of the domain before
			      it; NULL = it has no '@' */
};

struct patterns {
	struct pattern at[SONDE_PATTERN_LIMIT];
	uint32_t nr;
};

struct config {
	char text[65536]; /* the file; the pointers below point into it */
	const char *output;
	const char *cupti; /* a path, or NULL = look for it */
	uint64_t buffer_bytes;
	uint32_t flush_ms;
	uint32_t collect_ms;
	uint64_t rotate_bytes, rotate_ms; /* a file is as long, or as old, at most; 0 = any */
	bool use_cupti;
	bool whole_graphs;
	bool has_calls;	 /* CUDA calls that can wait */
	bool has_memory; /* allocations and frees */
	const char *ranks;	 /* which are captured; NULL = every process */
	struct patterns include, exclude;
	uint32_t budget_ppm; /* of the program's time that timing may take; 0 = any */
	/* When to capture; docs/always-on.md. Times count from the start of the library. */
	struct window_config {
		enum window_kind {
			WINDOW_ALL,	 /* always, until somebody says otherwise */
			WINDOW_ENTRIES,	 /* entries first … end-1 of the ranges `label` matches */
			WINDOW_TIME,
			WINDOW_PROFILER, /* between cudaProfilerStart and cudaProfilerStop */
			WINDOW_RANGE,	 /* while a range that `label` matches is open */
			WINDOW_ORDER,	 /* when the runner says so */
		} kind;
		struct patterns label; /* one, or none */
		uint64_t first, end;
		uint64_t after_us, for_us, every_us; /* for 0 = to the end; every 0 = once */
		const char *text; /* as the user said it, for the report; NULL = not told */
	} window;
	/* How CUPTI works for us, to be measured (bench/launch_cost.py); not in the manual. */
	struct levers {
		bool zeroed;		    /* buffers are handed over clean, CUPTI does not zero */
		bool no_overhead;	    /* no records of CUPTI's own overhead */
		uint32_t buffer_kb;	    /* of a buffer for records */
		uint32_t device_buffer_kb;  /* 0 = CUPTI's default */
		uint32_t nr_device_buffers; /* allocated beforehand; 0 = CUPTI's default */
		uint32_t call_ns, record_ns; /* what a launch is taken to cost, see budget.c */
	} levers;
};

/* Reads the file $SONDE_INJECT_CONFIG names. False = there is no usable one. */
bool sonde_setup__read(struct config *c);

#endif
