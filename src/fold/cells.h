/*
 * Cells: everything a report needs of its inputs, without the launches.
 *
 * A cell is all selected launches of one kernel in one place of one scope, as
 * accumulators. Around the cells are the tables they refer to: inputs,
 * processes, devices, metrics, sections, regions, scopes, places, and what each
 * scope knows of each region. Nothing points back into records or launches:
 * these are freed as soon as an input is folded, and cells can be written to a
 * file (cellfile/) and read back as they were.
 *
 * Merging adds no numbers. Each input is folded by itself, which is right
 * because no scope crosses inputs; `sonde_cells_unite` puts the tables of many
 * side by side, inputs sorted by what they are and not by how they came. Every
 * sum over cells is made later, when a figure is made, in that one order. So any
 * order and any grouping of merging gives the same bytes, which no rounding and
 * no compensation could promise.
 */
#ifndef SONDE_FOLD_CELLS_H
#define SONDE_FOLD_CELLS_H

#include "attribute/regions.h"
#include "fold/rule.h"

#include <stddef.h>

#define SONDE_MAX_MODES 64 /* distinct values kept of a launch fact; the rest only count */

/* How often each value occurred. */
struct sonde_modes {
	uint32_t nr, cap;
	uint64_t other; /* occurrences of values beyond the cap */
	struct sonde_mode {
		double v; /* a number, or the number of a text */
		uint64_t count;
		bool is_text;
	} * at;
};

/* A new value, with nothing counted. NULL when there is no room: up to SONDE_MAX_MODES the arena has it. */
struct sonde_mode *sonde_modes_add(
	struct sonde_modes *m, double v, bool is_text, struct sonde_arena *arena);
/* Where a value is counted, added when new. Inline: asked for every fact of every launch. */
static inline struct sonde_mode *sonde_modes_find(
	struct sonde_modes *m, double v, bool is_text, struct sonde_arena *arena)
{
	uint32_t i;

	for (i = 0; i < m->nr; i++)
		if (m->at[i].v == v && m->at[i].is_text == is_text)
			return &m->at[i];
	return sonde_modes_add(m, v, is_text, arena);
}

/* One accumulator; which members count depends on the method of the metric's rule. */
struct sonde_acc {
	uint64_t nr;	     /* launches that had the metric */
	uint64_t nr_weighed; /* MEAN: of those, launches that had the weight */
	double a; /* SUM, UPPER, LOWER: Σ v · MEAN: Σ w·v · MAX: max · MODE: smallest */
	double w; /* MEAN: Σ w */
	double b; /* MEAN: Σ t·v · SUM, UPPER, LOWER: largest v · MODE: largest */
	double t; /* MEAN: Σ t */
	union {
		struct sonde_modes *modes; /* MODE, SAME; NULL until the first value */
		double top;		   /* MEAN: largest v; no weighted mean can exceed it */
	};
};

/*
 * Adds what another of the same method holds; sums count `factor` times. Values of MODE and SAME are to be
 * added besides.
 */
void sonde_acc_add(struct sonde_acc *to, const struct sonde_acc *from, uint8_t method, double factor);

struct sonde_cell {
	uint32_t scope, place, kernel; /* kernel: string number */
	uint64_t launches, copies;     /* copies: of the launches */
	uint64_t adopted;	       /* of the launches: by threads without ranges of their own */
	double time_ns, copy_ns, copy_bytes;
	struct sonde_acc *acc; /* as many as its input's kit says */
	uint32_t sampled;      /* number in `sampled`, SONDE_NONE = there are no samples of it … */
	uint32_t first_class, nr_classes; /* … and which classes it is there */
	uint32_t first_stall, nr_stalls; /* slice of `stalls`: where its warps were found */
	double exact_stalls; /* of their samples: those of drains in which the kernel ran in no other place */
};

/*
 * PC samples of cells: at which instruction warps were found, and why they did not go on.
 *
 * A stall is the samples of one cell at one instruction for one reason. A drain gives the samples of a function
 * without their launches; the fold splits them by the time that its launches took in each place since the
 * last drain (docs/attribution.md), so they need not be whole numbers. Where the function ran in one place only,
 * nothing is split: `exact_stalls` of the cell counts these. A region's stalls are those of its cells, so
 * inclusive = exclusive + children holds as for all figures.
 */
#define SONDE_PC_REST UINT32_MAX /* a pc that stands for many: there were too many different ones */

struct sonde_stall {
	uint32_t symbol; /* number in `symbols`: the function, which need not be the kernel itself */
	uint32_t pc;	 /* bytes from its first instruction, or SONDE_PC_REST */
	uint32_t reason; /* number in `stall_reasons` */
	uint32_t line;	 /* number in `lines`, SONDE_NONE = not known */
	double samples;	 /* all of them … */
	double not_issued; /* … and what the reason's twin counted: no warp of the scheduler was issued then */
};

/* A function as the GPU runs it. */
struct sonde_symbol {
	uint32_t name; /* string number: as the cubin has it, mangled */
	uint64_t cubin;	 /* CUPTI's checksum of the cubin */
};

/*
 * A line of source. Code that was inlined has the line it was written in, and as its caller the line
 * that it was called from, which may have a caller in turn.
 */
struct sonde_line {
	uint32_t file;	 /* string number: a path as the compiler had it */
	uint32_t line;	 /* from 1 */
	uint32_t caller; /* number in `lines`, smaller than its own; SONDE_NONE = it was not inlined */
};

/* How a process was sampled; samples that are in no cell are counted here. */
struct sonde_stall_source {
	uint32_t process;
	uint64_t period;  /* cycles between two samples of an SM; 0 = not known */
	uint64_t samples; /* of all its functions … */
	uint64_t unplaced; /* … of these in functions that no launch is of … */
	uint64_t dropped, full; /* … and as struct sonde_pc_source has them */
};

/*
 * A kit describes the metrics of all inputs that captured the same ones: which of
 * them are accumulated, and the constituents of throughputs. The rules (plans.h)
 * derive from that how they are weighed.
 */
struct sonde_kit {
	uint32_t input;		      /* the first that has it: its `has` is that of all */
	struct sonde_str *breakdowns; /* by metric number: its constituents, p NULL = unknown */
	uint32_t *at; /* by metric number: which accumulator of a cell, SONDE_NONE = not kept */
	uint32_t nr;  /* accumulators of a cell */
};

/* The work of one stream for a region. */
struct sonde_stream_work {
	uint32_t context;
	uint64_t stream;
	uint64_t launches;
	double time_ns, busy_ns; /* the sum of its launches, and their union */
};

/* Why a device had nothing to do; docs/idle.md explains each. */
enum sonde_idle_cause {
	SONDE_IDLE_LAUNCH,  /* the host was launching, and not fast enough */
	SONDE_IDLE_SYNC,    /* the host was in a synchronisation */
	SONDE_IDLE_COPY,    /* … in the call of a copy or fill */
	SONDE_IDLE_ALLOC,   /* … allocating or freeing memory */
	SONDE_IDLE_HOST,    /* … outside CUDA */
	SONDE_IDLE_QUEUED,  /* the next work was launched already: it waited on the device */
	SONDE_IDLE_OTHER,   /* no gap of the device: it was busy with work of other regions */
	SONDE_IDLE_UNKNOWN, /* the capture does not have the host's calls */
};
#define SONDE_NR_IDLE_CAUSES 8
const char *sonde_idle_cause_name(enum sonde_idle_cause c);  /* "launch", "other_stream", … */
const char *sonde_idle_cause_words(enum sonde_idle_cause c); /* "the host was in a synchronisation", … */

/* GPU memory of a region, in bytes. */
struct sonde_memory_use {
	double allocated, freed; /* while it was open */
	double left; /* of what an entry allocated, still there when it ended; summed over entries */
	double peak; /* the most the process held on the device during an entry */
};

/* What PyTorch's allocator had, in the entries of a region at which it was read: bytes. */
struct sonde_allocator_use {
	double entries; /* that were read at both ends */
	double peak;	/* the most that was held in one of them … */
	double rise;	/* … and the most above what it began with */
	double net;	/* left at the end and not there at the beginning: a sum over them, may be negative */
};

/*
 * The times of a region, in one scope (a visit) or in one report (a node). Each is NaN where it is not
 * known. A new one is a line at the end: cells, partial reports and the tree move all of them in one loop.
 */
struct sonde_times {
	/*
	 * Union of the launches' intervals; first start to last end; without work between the first and
	 * last launch of an entry.
	 */
	double busy_ns, span_ns, idle_ns;
	double host_ns, cpu_ns; /* of the entries: how long they were open, and their thread's CPU time meanwhile */
	double tail_ns; /* beyond the idle time: nothing ran from its last launch to the end of the entry */
	double queue_ns; /* Σ of launches whose call is known: from the call to the start */
	double comm_ns;	 /* NCCL kernels ran … */
	double exposed_ns; /* … and no other kernel of the process on the device */
	struct sonde_memory_use memory; /* NaN also where the region had none */
	double idle_by[SONDE_NR_IDLE_CAUSES]; /* idle_ns by enum sonde_idle_cause: these add up to it */
	double wall_ns; /* of the entries, as struct sonde_entry has it; NaN unless it is known of all */
	struct sonde_allocator_use allocator;
	/* Of entries whose arguments say so: their tokens, and how long at least one such entry was on its way (wall) … */
	double tokens, tokens_ns;
	double batches, nr_batches; /* … the sum of their batches, and how many had one */
	double allocator_end; /* what PyTorch's allocator had at the end of the entries of `allocator`: a sum */
};
#define SONDE_NR_TIMES (sizeof(struct sonde_times) / sizeof(double))
#define SONDE_TIME(member) (offsetof(struct sonde_times, member) / sizeof(double)) /* its number */

/* How times of several scopes, or of several files of a capture, become one. */
enum sonde_time_sum {
	SONDE_TIME_ADDS,      /* a sum of those that are known */
	SONDE_TIME_MOST,      /* the largest: devices have memory of their own */
	SONDE_TIME_OF_SCOPE, /* means nothing for several scopes */
};
static inline enum sonde_time_sum sonde_time_sum(size_t time)
{
	switch (time) {
	case SONDE_TIME(span_ns):
		return SONDE_TIME_OF_SCOPE;
	case SONDE_TIME(memory.peak):
	case SONDE_TIME(allocator.peak):
	case SONDE_TIME(allocator.rise):
		return SONDE_TIME_MOST;
	default:
		return SONDE_TIME_ADDS;
	}
}
/* All of them by number. */
static inline double *sonde_times_at(struct sonde_times *t)
{
	return (double *)t;
}
void sonde_times_forget(struct sonde_times *t); /* all NaN */
/* Adds the times of a scope to those of several, or of this one alone. */
void sonde_times_add(struct sonde_times *sum, const struct sonde_times *t, bool is_only_scope);

#define SONDE_NR_GAPS 10 /* kept of a scope: the longest */

/* A time in which nothing ran of a process on a device, between two launches. */
struct sonde_gap {
	uint32_t scope;
	uint32_t region; /* the innermost entry around it is of this one; SONDE_NONE = none … */
	uint32_t before; /* … and the launch after it is in this one */
	uint8_t cause;	 /* enum sonde_idle_cause: what most of it is due to */
	uint64_t begin_ns, ns; /* begin: on the capture's clock … */
	uint64_t since_ns;     /* … and since the scope's first launch began */
};

/* The operation of an NCCL kernel; docs/ranks-internals.md says how it is recognised. */
enum sonde_collective_kind {
	SONDE_COLLECTIVE_OTHER,
	SONDE_COLLECTIVE_ALL_REDUCE,
	SONDE_COLLECTIVE_ALL_GATHER,
	SONDE_COLLECTIVE_REDUCE_SCATTER,
	SONDE_COLLECTIVE_ALL_TO_ALL,
	SONDE_COLLECTIVE_BROADCAST,
	SONDE_COLLECTIVE_REDUCE,
	SONDE_COLLECTIVE_SEND_RECV, /* between two, or an all-to-all that is not called so */
};
#define SONDE_NR_COLLECTIVE_KINDS 8
const char *sonde_collective_kind_name(enum sonde_collective_kind k); /* "all_reduce", … */
/* Whether a kernel of this name moves data between ranks. */
bool sonde_kernel_communicates(struct sonde_str name);

#define SONDE_MAX_COLLECTIVES 512	 /* kept of a scope, about; of more every so many-th */
#define SONDE_MAX_FOLDED_COLLECTIVES 64 /* … of one that is added up with others */

/*
 * One collective as one scope saw it. Scopes that took part in it have it under the same group,
 * kind and number: that is how it is found again across ranks.
 */
struct sonde_collective {
	uint32_t scope, place; /* place 0 = in no region that is selected */
	uint32_t who;	       /* of scopes added up: number in `folded_scopes`; else SONDE_NONE */
	uint32_t group;	       /* string number: the communicator, or its stream by order of use */
	uint8_t kind;	       /* enum sonde_collective_kind */
	uint64_t number;       /* which of the group, in order */
	uint64_t start_ns, end_ns; /* on the capture's clock */
	uint64_t nr_bytes;	   /* that a rank hands in, 0 = not known */
};

#define SONDE_MAX_ENTRIES 8192 /* kept of one region in one scope; of more every so many-th */

#define SONDE_NO_WALL UINT64_MAX /* a wall time that is not known */

/* One entry into a region. Launches of another thread's adopted work count in it too. */
struct sonde_entry {
	uint64_t begin_ns; /* on the capture's clock */
	uint64_t host_ns;  /* how long it was open */
	uint64_t gpu_ns;   /* the sum of its launches … */
	uint64_t span_ns;  /* … and from the start of the first to the end of the last */
	/* From its begin to the end of the last work that was launched in it, selected or not, or to its own end. */
	uint64_t wall_ns; /* never less than host_ns; SONDE_NO_WALL */
	uint32_t label;	   /* string: as captured, where a rule changed it; SONDE_NONE = the region's */
	uint32_t arguments; /* string: a list of read/arguments.h; SONDE_NONE = none */
};

/*
 * How busy the device was while the launches of one entry ran: percentages as sonde_load_metrics names
 * them, and one standard error. Only entries that span enough samples have one.
 */
#define SONDE_NR_LOADS 3
extern const char *const sonde_load_metrics[SONDE_NR_LOADS];
struct sonde_entry_load {
	uint32_t entry; /* number in the entries */
	float v[SONDE_NR_LOADS], error[SONDE_NR_LOADS]; /* NaN = not sampled */
};

/*
 * A visit is one region in one scope: how often it was entered, and its times. Regions
 * around others have one too, even without entries of their own.
 */
struct sonde_visit {
	uint32_t scope, region;
	bool is_present; /* false: only regions inside it are */
	uint64_t instances;
	uint64_t first_instances; /* of these, counted in no scope before: what adds up */
	struct sonde_times times;
	uint64_t first_ns; /* when the first launch began; means nothing while span_ns is NaN */
	uint64_t nr_queued; /* launches that queue_ns is of */
	bool is_open; /* an entry was never closed: host_ns is at least that */
	uint32_t first_stream, nr_streams; /* slice of the streams, busiest first */
	uint32_t more_streams; /* that are counted and no more: of scopes that are added up */
	uint32_t first_entry, nr_entries;  /* slice of the entries, by begin */
	uint32_t entry_step; /* every so many-th entry is there; 1 = all */
};

/* All launches of a scope, whatever the selection. */
struct sonde_scope_sum {
	uint64_t launches;
	double time_ns;
	uint64_t collectives;	  /* NCCL kernels with times … */
	uint32_t collective_step; /* … of which every so many-th is kept, by chance; 0 = none is */
};

/* One of the scopes that are added up: what it was, and what ranks are compared by. */
struct sonde_folded_scope {
	uint32_t scope;		      /* the one they are added up in */
	struct sonde_process process; /* which it was; its input is that of all of them … */
	struct sonde_str path;	      /* … and this the one it had */
	uint32_t device;	      /* SONDE_NONE: it used none */
	struct sonde_scope_sum sum;
	double work_ns;		    /* kernels without communication */
	double comm_ns, exposed_ns; /* in outermost regions; NaN = none */
};

/* How long one of them took in a region; NaN = not known. */
struct sonde_folded_time {
	uint32_t scope, region; /* scope: the one they are added up in */
	uint32_t who;		/* number in `folded_scopes` */
	double time_ns, work_ns; /* work: kernels without communication */
};

/* Its name, as a scope by itself would have it; false when memory is short. */
bool sonde_folded_scope_name(
	struct sonde_str *out, const struct sonde_folded_scope *f, struct sonde_arena *arena);

struct sonde_timeline; /* timeline.h */
struct sonde_sampled;  /* sampled.h */

struct sonde_cells {
	struct sonde_selection selection;
	struct sonde_read_options read;
	SONDE_VEC(struct sonde_input) inputs; /* united ones: by path, then content */
	SONDE_VEC(struct sonde_process) processes;
	SONDE_VEC(struct sonde_device) devices; /* by input */
	SONDE_VEC(struct sonde_section) sections;
	struct sonde_map strings;      /* labels, domains, kernels, metrics of sections */
	struct sonde_map metric_names; /* all that inputs have, kept or not */
	struct sonde_map texts;	       /* values that are words */
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_scope) scopes;
	SONDE_VEC(struct sonde_scope_sum) sums; /* by scope */
	SONDE_VEC(uint32_t) device_of; /* by scope, SONDE_NONE = unknown; of united cells */
	SONDE_VEC(struct sonde_place) places;	/* place 0 = no region */
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_visit) visits; /* by scope, then region */
	SONDE_VEC(struct sonde_stream_work) streams;
	SONDE_VEC(struct sonde_entry) entries; /* of sources with timestamps */
	SONDE_VEC(struct sonde_entry_load) loads; /* by entry */
	SONDE_VEC(struct sonde_gap) gaps;      /* by scope, the longest first */
	SONDE_VEC(struct sonde_collective) collectives; /* of a part: by scope, then start */
	SONDE_VEC(struct sonde_folded_time) folded_times;
	SONDE_VEC(struct sonde_folded_scope) folded_scopes;
	SONDE_VEC(struct sonde_stray) strays;
	SONDE_VEC(struct sonde_label_rule) label_rules; /* `changed`: labels, each once per input */
	SONDE_VEC(struct sonde_kit) kits;
	SONDE_VEC(uint32_t) kit_of;	    /* by input */
	SONDE_VEC(struct sonde_cell) cells; /* by input, then in order of first launch */
	struct sonde_tally tally;
	bool has_range_times; /* entries without launches are known, and host times */
	bool has_times;	      /* some entry, launch or sample has a timestamp */
	uint64_t nr_unclosed; /* ranges never closed */
	uint64_t nr_untimed;  /* launches without a time */
	uint64_t nr_unseen;   /* with a budget: launches in places where nothing was timed */
	uint64_t nr_damaged;  /* launches whose metrics could not be decoded in full … */
	struct sonde_str damage; /* … and what was wrong with the first */
	struct sonde_notes notes; /* of reading */
	struct sonde_timeline *timeline; /* NULL: not kept */
	SONDE_VEC(struct sonde_sampled *) sampled; /* by device that was sampled */
	SONDE_VEC(struct sonde_stall) stalls; /* by cell, then symbol, pc and reason */
	SONDE_VEC(struct sonde_symbol) symbols;
	SONDE_VEC(uint32_t) stall_reasons; /* string numbers: "long_scoreboard" */
	SONDE_VEC(struct sonde_line) lines;
	SONDE_VEC(struct sonde_stall_source) stall_sources; /* by process that was sampled */
	SONDE_VEC(const char *) sampled_others; /* private: counters of theirs that have no row in sampled.h's table */
	struct sonde_arena arena;
	SONDE_VEC(struct sonde_cells *) parts; /* private: whose memory united cells borrow */
};

void sonde_cells_free(struct sonde_cells *c);

/* Shorthands. */
/* The processes of all scopes, those that are added up behind the others. */
static inline size_t sonde_cells_nr_processes(const struct sonde_cells *c)
{
	return c->processes.nr + c->folded_scopes.nr;
}
static inline const struct sonde_process *sonde_cells_process(const struct sonde_cells *c, size_t i)
{
	return i < c->processes.nr ? &c->processes.at[i] : &c->folded_scopes.at[i - c->processes.nr].process;
}
struct sonde_str sonde_cells_str(const struct sonde_cells *c, uint32_t string); /* SONDE_NONE: "" */
const struct sonde_kit *sonde_cells_kit(const struct sonde_cells *c, uint32_t scope);
const struct sonde_device *sonde_cells_device(
	const struct sonde_cells *c, uint32_t scope); /* NULL when unknown */
/* The visit of a region in a scope; NULL: there is none. */
const struct sonde_visit *sonde_cells_visit(
	const struct sonde_cells *c, uint32_t scope, uint32_t region);
/* Puts the visits in their order. */
void sonde_cells_sort_visits(struct sonde_cells *c);
/* The load of one of the entries; NULL: it has none. */
const struct sonde_entry_load *sonde_cells_load(
	const struct sonde_cells *c, const struct sonde_entry *e);
/* Adds the notes that look at all inputs together, among them why little or nothing was selected. */
void sonde_cells_explain(const struct sonde_cells *c, struct sonde_notes *notes);

#endif
