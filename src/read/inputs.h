/*
 * Everything that was captured apart from the results: inputs, processes, devices, and
 * the metrics. Records contain these tables, and cells keep them.
 */
#ifndef SONDE_READ_INPUTS_H
#define SONDE_READ_INPUTS_H

#include "base/err.h"
#include "base/map.h"
#include "base/note.h"
#include "base/vec.h"

enum sonde_range_kind {
	SONDE_PUSH_POP,
	SONDE_START_END,
};

/* One input file. */
struct sonde_input {
	struct sonde_str path;
	struct sonde_str source;      /* "ncu-rep", "ncu-csv", "native", … */
	struct sonde_str tool;	      /* "ncu 2025.3.1.0", empty when unknown */
	struct sonde_str command;     /* the profiler's command line, empty when unknown */
	struct sonde_str replay_mode; /* "kernel", "range", "app-range", "application", "native" */
	uint64_t created_s;	      /* seconds since the epoch, 0 when unknown */
	uint32_t nr_folded;	      /* number of inputs that this one is the sum of; 0 = a single input */
	/* A capture with windows: how many, their total length, how long the program ran. */
	bool is_windowed;
	uint64_t nr_windows, captured_ns, total_ns;
	/* With a budget: what capturing may cost and what it cost, in millionths of the program's time; 0 = no budget. */
	uint64_t budget_ppm, cost_ppm;
	bool is_sampled; /* only in older partial reports: with a budget, numbers of launches are estimates too, as times are */
	uint64_t nr_unrecorded; /* launches of kernels and graphs whose GPU work has no record */
	/*
	 * Traces of torch.profiler: calls of modules that became ranges; launches by graphs; those of them that were
	 * assigned to where their graph was captured.
	 */
	uint64_t nr_modules, nr_graphed, nr_regained;
	bool is_running;      /* its program still runs and writes: what is open is not an error */
	bool is_cut_anywhere; /* its windows, chosen by a budget, the clock or an order, are at other points of the program than other ranks' */
	SONDE_VEC(bool) has; /* by metric number: whether some result has it; false beyond the end */
};

struct sonde_process {
	uint64_t pid;
	struct sonde_str host, name;
	uint32_t input; /* the input it came from */
	uint32_t rank;	/* rank in its job; only with has_rank */
	uint32_t world_size; /* number of ranks of that job, 0 = not known */
	bool has_rank;
	bool has_calls; /* the source records the host's CUDA calls; true also when the process made none that can wait */
	uint64_t first_ns, last_ns; /* from its first range or GPU work to the last; zeros = no times known */
	/* Number of its launches, and a hash of their names and devices in order. */
	uint64_t nr_launches, trail;
};

struct sonde_attribute {
	struct sonde_str name;
	double value;	       /* NaN when it is text */
	struct sonde_str text; /* p NULL when it is a number */
};

struct sonde_device {
	uint32_t id;
	uint32_t process; /* ids are per process: two processes may call different cards 0 */
	struct sonde_str name, uuid; /* `GPU-…`, empty = not known */
	unsigned cc_major, cc_minor; /* 0.0 when unknown */
	const struct sonde_attribute *attributes;
	size_t nr_attributes;
};

/* A section of an Nsight Compute report: a named list of metrics. */
struct sonde_section {
	struct sonde_str id;   /* "SpeedOfLight" */
	struct sonde_str name; /* "GPU Speed Of Light Throughput" */
	SONDE_VEC(uint32_t)
	metrics; /* string numbers of metric names, in the section's own order */
};

struct sonde_metric {
	struct sonde_str name;
	struct sonde_str
		unit; /* base unit, to which the values are scaled; empty = the source names none */
};

/* Which events of a torch.profiler trace become ranges. Partial reports have these numbers. */
enum sonde_kineto_regions {
	SONDE_KINETO_AUTO,	      /* annotations; modules too, if most launches inside modules have no closer annotation */
	SONDE_KINETO_ANNOTATIONS = 1, /* record_function, NVTX */
	SONDE_KINETO_OPS = 3,	      /* annotations, modules and every cpu_op */
	SONDE_KINETO_MODULES = 8,     /* annotations and calls of nn.Module, where stacks were recorded */
};

/* Options for reading. All zero is the configuration's default. */
struct sonde_read_options {
	unsigned kineto_regions; /* enum sonde_kineto_regions */
	const char *kineto_captures; /* where the traces of captured graphs are; NULL = beside each trace. Borrowed */
	bool for_replay; /* also read what a simulation needs: when launches returned, which events order streams */
	bool together; /* add up all runs and jobs of a folder; otherwise it must contain only one (jobs.h) */
	/* For the first input, if it is a native capture in several files (rolled.h): */
	uint32_t nr_files; /* read only this many files, including the first; 0 = all */
	bool looks_ahead;  /* do not count the last of these files: it is read for late records of work launched before it */
	struct sonde_buf *reduced; /* these files, reduced to what later files need, are appended here; NULL = do not reduce */
};

bool sonde_input_has(const struct sonde_input *in, uint32_t metric);
/* An attribute of a device by name, NaN when it is not known. */
double sonde_device_attribute(const struct sonde_device *d, const char *name);
/* Notes inputs that look like the same capture: their launches are counted twice. */
void sonde_inputs_note_doubled(struct sonde_notes *notes, const struct sonde_input *inputs,
	const struct sonde_process *processes, size_t nr_processes);
/* Adds the note "2 ranges were never closed …"; nothing for 0. */
void sonde_inputs_note_unclosed(struct sonde_notes *notes, uint64_t nr);
/* Adds the note "1 program still runs …", if one does. */
void sonde_inputs_note_running(struct sonde_notes *notes, const struct sonde_input *inputs, size_t nr);

#endif
