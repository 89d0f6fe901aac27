/*
 * Cells: everything a report needs from its inputs, without the launches.
 *
 * A cell is all selected launches of one kernel in one place of one scope, as
 * accumulators. Around the cells are the tables they refer to: inputs,
 * processes, devices, metrics, sections, regions, scopes, places, and the
 * visits of each scope to its regions. Nothing points back into records or
 * launches: these are freed as soon as an input is folded, and cells can be
 * written to a file (cellfile/) and read back as they were.
 *
 * Merging adds no numbers. Each input is folded by itself, which is right
 * because no scope spans several inputs. `sonde_cells_unite` puts the tables of
 * many parts side by side, with the inputs sorted by what they are and not by
 * when they came. Every sum over cells is made later, when a figure is made, in
 * that one order. So any order and any grouping of merging gives the same bytes;
 * adding while merging could not promise that, however sums are rounded or
 * compensated.
 */
#ifndef SONDE_FOLD_CELLS_H
#define SONDE_FOLD_CELLS_H

#include "attribute/regions.h"
#include "fold/rule.h"

#include <stddef.h>

#define SONDE_MAX_MODES 64 /* distinct values kept for a launch fact; further values are only counted, in `other` */

/* How often each value occurred. */
struct sonde_modes {
	uint32_t nr, cap;
	uint64_t other; /* occurrences of values beyond SONDE_MAX_MODES */
	struct sonde_mode {
		double v; /* a number, or with `is_text` the number of a text in sonde_cells.texts */
		uint64_t count;
		bool is_text;
	} * at;
};

/* Adds a value with a count of 0, in memory of `arena`. NULL: there are SONDE_MAX_MODES values already, or no memory. */
struct sonde_mode *sonde_modes_add(
	struct sonde_modes *m, double v, bool is_text, struct sonde_arena *arena);
/* Returns the entry of a value, adding it if new; NULL as above. Inline, because it runs for every fact of every launch. */
static inline struct sonde_mode *sonde_modes_find(
	struct sonde_modes *m, double v, bool is_text, struct sonde_arena *arena)
{
	uint32_t i;

	for (i = 0; i < m->nr; i++)
		if (m->at[i].v == v && m->at[i].is_text == is_text)
			return &m->at[i];
	return sonde_modes_add(m, v, is_text, arena);
}

/* One accumulator. The method of the metric's rule decides which members are used. PEAK uses those of MEAN. */
struct sonde_acc {
	uint64_t nr;	     /* launches that had the metric */
	uint64_t nr_weighed; /* MEAN: those of them that also had the weight */
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
 * Adds another accumulator of the same method; its sums are multiplied by `factor`. The caller adds the `modes` of
 * MODE and SAME itself.
 */
void sonde_acc_add(struct sonde_acc *to, const struct sonde_acc *from, uint8_t method, double factor);

struct sonde_cell {
	uint32_t scope, place, kernel; /* kernel: string number */
	uint64_t launches, copies;     /* copies: launches that are copies */
	uint64_t adopted;	       /* launches made by threads without ranges of their own */
	double time_ns, copy_ns, copy_bytes;
	struct sonde_acc *acc; /* `nr` of its input's kit */
	uint32_t sampled;      /* number of its device in `sampled`, SONDE_NONE = its launches were not sampled */
	uint32_t first_class, nr_classes; /* its classes in that device's samples */
	uint32_t first_stall, nr_stalls; /* slice of `stalls`: where its warps were found */
	double exact_stalls; /* PC samples of drains in which the kernel ran in no other place */
};

/*
 * PC samples of cells: at which instruction warps were found, and why they did not go on.
 *
 * A stall is the samples of one cell at one instruction for one reason. A drain gives the samples of a function
 * without saying which launches they belong to. The fold splits them by the time that the function's launches took
 * in each place since the last drain (docs/attribution.md), so sample counts need not be whole numbers. If the
 * function ran in one place only, nothing is split; the cell counts these samples in `exact_stalls`. A region's
 * stalls are those of its cells, so inclusive = exclusive + children holds as for all figures.
 */
#define SONDE_PC_REST UINT32_MAX /* the pc of merged stalls: there were too many instructions to keep each */

struct sonde_stall {
	uint32_t symbol; /* number in `symbols`: the function, which is not always the kernel itself */
	uint32_t pc;	 /* bytes from its first instruction, or SONDE_PC_REST */
	uint32_t reason; /* number in `stall_reasons` */
	uint32_t line;	 /* number in `lines`, SONDE_NONE = not known */
	double samples;	 /* all samples */
	double not_issued; /* samples in which the scheduler issued no other warp either (the reason's `_not_issued` twin) */
};

/* A function as the GPU runs it. */
struct sonde_symbol {
	uint32_t name; /* string number: the mangled name in the cubin */
	uint64_t cubin;	 /* CUPTI's checksum of the cubin */
};

/*
 * A line of source. Inlined code has the line it was written in; `caller` is the line
 * that called it, which may have a caller in turn.
 */
struct sonde_line {
	uint32_t file;	 /* string number: the path that the compiler was given */
	uint32_t line;	 /* from 1 */
	uint32_t caller; /* number in `lines`, smaller than this line's own; SONDE_NONE = not inlined */
};

/* How the PCs of a process were sampled, and the samples that are in no cell. */
struct sonde_stall_source {
	uint32_t process;
	uint64_t period;  /* cycles between two samples of an SM; 0 = not known */
	uint64_t samples; /* samples of all its functions */
	uint64_t unplaced; /* those in functions without a recorded launch */
	uint64_t dropped, full_drains; /* as in struct sonde_pc_source */
};

/*
 * A kit describes the metrics of all inputs that captured the same metrics: which of
 * them are accumulated, and the constituents of throughputs. The roll-ups (rollups.h)
 * derive the weights of the metrics from it.
 */
struct sonde_kit {
	uint32_t input;		      /* the first input with this kit; all of them have the same `has` */
	struct sonde_str *breakdowns; /* by metric number: the names of its constituents, p NULL = unknown */
	uint32_t *at; /* by metric number: index of its accumulator in a cell, SONDE_NONE = not kept */
	uint32_t nr;  /* number of accumulators of a cell */
};

/* The work of one stream for a region. */
struct sonde_stream_work {
	uint32_t context;
	uint64_t stream;
	uint64_t launches;
	double time_ns, busy_ns; /* sum of its launches' times, and the union of their intervals */
};

/* Why a device had nothing to do; docs/idle.md explains each. */
enum sonde_idle_cause {
	SONDE_IDLE_LAUNCH,  /* the host was launching, and not fast enough */
	SONDE_IDLE_SYNC,    /* the host was in a synchronisation */
	SONDE_IDLE_COPY,    /* the host was in the call of a copy or fill */
	SONDE_IDLE_ALLOC,   /* the host was allocating or freeing memory */
	SONDE_IDLE_HOST,    /* the host was outside CUDA */
	SONDE_IDLE_QUEUED,  /* the next work had been launched and waited on the device */
	SONDE_IDLE_OTHER,   /* the device was not idle: it was busy with work of other regions */
	SONDE_IDLE_UNKNOWN, /* the capture does not have the host's calls */
};
#define SONDE_NR_IDLE_CAUSES 8
const char *sonde_idle_cause_name(enum sonde_idle_cause c);  /* "launch", "other_stream", … */
const char *sonde_idle_cause_words(enum sonde_idle_cause c); /* "the host was in a synchronisation", … */

/* GPU memory of a region, in bytes. */
struct sonde_memory_use {
	double allocated, freed; /* while the region was open */
	double left; /* allocated in an entry and not freed when the entry ended; summed over entries */
	double peak; /* the most the process held on the device during an entry */
};

/* Memory in PyTorch's allocator, in bytes, over the entries at which the allocator was read at both ends. */
struct sonde_allocator_use {
	double entries; /* number of these entries */
	double peak;	/* the most held in one of them */
	double rise;	/* the most that one of them held above what was held at its begin */
	double net;	/* memory held at the end minus memory held at the begin, summed over them; may be negative */
};

/*
 * The times of a region, in one scope (a visit) or in one report (a node). A time that is not known is NaN.
 * Add a new member at the end; cells, partial reports and the tree handle all members in one loop.
 */
struct sonde_times {
	/*
	 * busy: union of the selected launches' intervals; span: from the first start to the last end of all launches,
	 * selected or not; idle: time in which none of these ran between the first and the last one of an entry, summed
	 * over entries.
	 */
	double busy_ns, span_ns, idle_ns;
	double host_ns, cpu_ns; /* how long the entries were open, and the CPU time of their threads meanwhile */
	double tail_ns; /* time in which nothing ran between an entry's last launch and its end; not part of idle_ns */
	double queue_ns; /* time from the call of a launch to its start, summed over launches whose call is known */
	double comm_ns;	 /* time in which NCCL kernels ran */
	double exposed_ns; /* the part of comm_ns in which no other kernel of the process ran on the device */
	struct sonde_memory_use memory; /* NaN also if the region allocated and freed nothing */
	double idle_by[SONDE_NR_IDLE_CAUSES]; /* idle_ns by enum sonde_idle_cause; the causes add up to idle_ns */
	double wall_ns; /* sum of the entries' wall_ns (struct sonde_entry); NaN unless that of every entry is known */
	struct sonde_allocator_use allocator;
	/*
	 * For entries with the argument `tokens`: the sum, and the time in which at least one such entry was under
	 * way (wall).
	 */
	double tokens, tokens_ns;
	double batches, nr_batches; /* for entries with the argument `batch`: the sum, and the number of these entries */
	double allocator_end; /* memory in PyTorch's allocator at the end of an entry, summed over the entries of `allocator` */
};
#define SONDE_NR_TIMES (sizeof(struct sonde_times) / sizeof(double))
#define SONDE_TIME(member) (offsetof(struct sonde_times, member) / sizeof(double)) /* the number of a member */

/* How a time of several scopes, or of several files of a capture, becomes one. */
enum sonde_time_sum {
	SONDE_TIME_ADDS,      /* the sum of the known ones */
	SONDE_TIME_MOST,      /* the largest: each device has memory of its own */
	SONDE_TIME_OF_SCOPE, /* only defined for a single scope */
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
/* The times as an array, by number. */
static inline double *sonde_times_at(struct sonde_times *t)
{
	return (double *)t;
}
void sonde_times_forget(struct sonde_times *t); /* sets all times to NaN */
/* Adds the times of a scope to `sum`. `is_only_scope`: `sum` is over this scope alone. */
void sonde_times_add(struct sonde_times *sum, const struct sonde_times *t, bool is_only_scope);

#define SONDE_NR_GAPS 10 /* gaps kept for a scope: the longest */

/* A time between two launches in which no work of a process ran on a device. */
struct sonde_gap {
	uint32_t scope;
	uint32_t region; /* region of the innermost entry around the gap; SONDE_NONE = none */
	uint32_t before; /* region of the launch that ends the gap; SONDE_NONE = none */
	uint8_t cause;	 /* enum sonde_idle_cause that explains most of it */
	uint64_t begin_ns, ns; /* begin on the capture's clock, and length */
	uint64_t since_ns;     /* begin, counted from the start of the scope's first launch */
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
	SONDE_COLLECTIVE_SEND_RECV, /* between two ranks, or an all-to-all without that name */
};
#define SONDE_NR_COLLECTIVE_KINDS 8
const char *sonde_collective_kind_name(enum sonde_collective_kind k); /* "all_reduce", … */
/* Whether a kernel of this name moves data between ranks. */
bool sonde_kernel_communicates(struct sonde_str name);

#define SONDE_MAX_COLLECTIVES 512	 /* about how many are kept for a scope; if it has more, one in 2, 4, 8, … is kept */
#define SONDE_MAX_FOLDED_COLLECTIVES 64 /* the same for a scope that is added up with others */

/*
 * One collective as one scope saw it. All scopes that took part in it have it under the same group,
 * kind and number: this is how it is found again across ranks.
 */
struct sonde_collective {
	uint32_t scope, place; /* place 0 = in no selected region */
	uint32_t folded_scope; /* in a scope that adds up others: number in `folded_scopes`; else SONDE_NONE */
	uint32_t group;	       /* string number: the communicator, or its stream by order of use */
	uint8_t kind;	       /* enum sonde_collective_kind */
	uint64_t number;       /* its number in the group: increases in the order of launch */
	uint64_t start_ns, end_ns; /* on the capture's clock */
	uint64_t nr_bytes;	   /* bytes that one rank contributes, 0 = not known */
};

#define SONDE_MAX_ENTRIES 8192 /* kept for one region in one scope; if it has more, one in 2, 4, 8, … is kept */

#define SONDE_NO_WALL UINT64_MAX /* a wall time that is not known */

/* One entry into a region. Adopted launches of other threads count in it too. */
struct sonde_entry {
	uint64_t begin_ns; /* on the capture's clock */
	uint64_t host_ns;  /* how long it was open */
	uint64_t gpu_ns;   /* the sum of its selected launches' times */
	uint64_t span_ns;  /* from the start of its first launch to the end of its last, selected or not */
	/* From its begin to its end, or to the end of the last work launched in it, selected or not, if that is later. */
	uint64_t wall_ns; /* never less than host_ns; SONDE_NO_WALL = not known */
	uint32_t label;	   /* string number of the label as captured, if a rule changed it; SONDE_NONE = the region's label */
	uint32_t arguments; /* string number of a list of read/arguments.h; SONDE_NONE = none */
};

/*
 * How busy the device was while the launches of one entry ran: the percentages of sonde_load_metrics, each
 * with one standard error. Only entries that span enough samples have a load.
 */
#define SONDE_NR_LOADS 3
extern const char *const sonde_load_metrics[SONDE_NR_LOADS];
struct sonde_entry_load {
	uint32_t entry; /* number in the entries */
	float v[SONDE_NR_LOADS], error[SONDE_NR_LOADS]; /* NaN = not sampled */
};

/*
 * A visit is one region in one scope: how often it was entered, and its times. A region
 * around others has a visit too, even without entries of its own.
 */
struct sonde_visit {
	uint32_t scope, region;
	bool is_present; /* false: the scope entered only regions inside this one */
	uint64_t instances;
	uint64_t first_instances; /* those that no earlier scope counted: their sum over scopes counts each entry once */
	struct sonde_times times;
	uint64_t first_ns; /* start of the first launch; undefined while span_ns is NaN */
	uint64_t nr_queued; /* number of launches in queue_ns */
	bool is_open; /* some entry was never closed, so host_ns is a lower bound */
	uint32_t first_stream, nr_streams; /* slice of the streams, busiest first */
	uint32_t more_streams; /* streams that are only counted, not listed; in scopes that add up others */
	uint32_t first_entry, nr_entries;  /* slice of the entries, by begin */
	uint32_t entry_step; /* one entry in so many is kept; 1 = all */
};

/* The sum of all launches of a scope, selected or not. */
struct sonde_scope_sum {
	uint64_t launches;
	double time_ns;
	uint64_t collectives;	  /* number of NCCL kernels with times */
	uint32_t collective_step; /* about one collective in so many is kept, chosen by a hash of its number; 0 = none is kept */
};

/* A scope that was added up with others (a folded scope): its identity, and the figures by which ranks are compared. */
struct sonde_folded_scope {
	uint32_t scope;		      /* the scope that holds the sum */
	struct sonde_process process; /* its process; `input` is the input of the sum */
	struct sonde_str path;	      /* path of its own input */
	uint32_t device;	      /* SONDE_NONE: it used no device */
	struct sonde_scope_sum sum;
	double work_ns;		    /* time of kernels without communication */
	double comm_ns, exposed_ns; /* in outermost regions; NaN = none */
};

/* The time of a folded scope in one region; NaN = not known. */
struct sonde_folded_time {
	uint32_t scope, region; /* scope: the scope that holds the sum */
	uint32_t folded_scope;	 /* number in `folded_scopes` */
	double time_ns, work_ns; /* work: kernels without communication */
};

/* Sets `*out` to the name that the folded scope would have by itself. False: no memory. */
bool sonde_folded_scope_name(
	struct sonde_str *out, const struct sonde_folded_scope *f, struct sonde_arena *arena);

struct sonde_timeline; /* timeline.h */
struct sonde_sampled;  /* sampled.h */

struct sonde_cells {
	struct sonde_selection selection;
	struct sonde_read_options read;
	SONDE_VEC(struct sonde_input) inputs; /* in united cells: by path, then content */
	SONDE_VEC(struct sonde_process) processes;
	SONDE_VEC(struct sonde_device) devices; /* by input */
	SONDE_VEC(struct sonde_section) sections;
	struct sonde_map strings;      /* labels, domains, kernels, metrics of sections */
	struct sonde_map metric_names; /* all metrics of the inputs, kept or not */
	struct sonde_map texts;	       /* metric values that are words */
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_scope) scopes;
	SONDE_VEC(struct sonde_scope_sum) sums; /* by scope */
	SONDE_VEC(uint32_t) device_of; /* by scope: number in `devices`, SONDE_NONE = unknown; in united cells only */
	SONDE_VEC(struct sonde_place) places;	/* place 0 = no region */
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_visit) visits; /* by scope, then region */
	SONDE_VEC(struct sonde_stream_work) streams;
	SONDE_VEC(struct sonde_entry) entries; /* only from sources with timestamps */
	SONDE_VEC(struct sonde_entry_load) loads; /* by entry */
	SONDE_VEC(struct sonde_gap) gaps;      /* by scope, the longest first */
	SONDE_VEC(struct sonde_collective) collectives; /* in a part: by scope, then start */
	SONDE_VEC(struct sonde_folded_time) folded_times;
	SONDE_VEC(struct sonde_folded_scope) folded_scopes;
	SONDE_VEC(struct sonde_stray) strays;
	SONDE_VEC(struct sonde_label_rule) label_rules; /* `changed` counts each label once per input */
	SONDE_VEC(struct sonde_kit) kits;
	SONDE_VEC(uint32_t) kit_of;	    /* by input */
	SONDE_VEC(struct sonde_cell) cells; /* by input, then in order of first launch */
	struct sonde_tally tally;
	bool has_range_times; /* host times are known, and so are entries without launches */
	bool has_times;	      /* some entry, launch or sample has a timestamp */
	uint64_t nr_unclosed; /* ranges never closed */
	uint64_t nr_untimed;  /* launches without a time */
	uint64_t nr_damaged;  /* launches whose metrics could not be decoded in full */
	struct sonde_str damage; /* what was wrong with the first damaged launch */
	struct sonde_notes notes; /* notes from reading */
	struct sonde_timeline *timeline; /* NULL: not kept */
	SONDE_VEC(struct sonde_sampled *) sampled; /* one per sampled device */
	SONDE_VEC(struct sonde_stall) stalls; /* by cell, then symbol, pc and reason */
	SONDE_VEC(struct sonde_symbol) symbols;
	SONDE_VEC(uint32_t) stall_reasons; /* string numbers: "long_scoreboard" */
	SONDE_VEC(struct sonde_line) lines;
	SONDE_VEC(struct sonde_stall_source) stall_sources; /* one per process with PC samples */
	SONDE_VEC(const char *) sampled_others; /* private: counters in `sampled` without a row in the table of sampled.h */
	struct sonde_arena arena;
	SONDE_VEC(struct sonde_cells *) parts; /* private: the parts that own memory of united cells */
};

void sonde_cells_free(struct sonde_cells *c);

/* Shorthands. */
/* The number of processes of all scopes; those of folded scopes come last. */
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
/* The visit of a region in a scope; NULL = none. */
const struct sonde_visit *sonde_cells_visit(
	const struct sonde_cells *c, uint32_t scope, uint32_t region);
/* Sorts the visits by scope and region. */
void sonde_cells_sort_visits(struct sonde_cells *c);
/* The load of one of the entries; NULL = none. */
const struct sonde_entry_load *sonde_cells_load(
	const struct sonde_cells *c, const struct sonde_entry *e);
/* Adds the notes that look at all inputs together, among them why little or nothing was selected. */
void sonde_cells_explain(const struct sonde_cells *c, struct sonde_notes *notes);

#endif
