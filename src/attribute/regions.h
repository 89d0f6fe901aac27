/*
 * Regions, scopes and the selection. Attribution sorts everything by region and scope.
 * struct sonde_launches holds these tables, and the cells take them over.
 */
#ifndef SONDE_ATTRIBUTE_REGIONS_H
#define SONDE_ATTRIBUTE_REGIONS_H

#include "attribute/filter.h"
#include "base/arena.h"
#include "read/inputs.h"

/* The user's selection. All pointers are borrowed. All zero = everything is selected. */
struct sonde_selection {
	struct sonde_words nvtx_include, nvtx_exclude;
	struct sonde_words kernel_include, kernel_exclude;
	bool stack_only;      /* report.nesting=stack: labels like A::A1 never decide a parent */
	bool own_threads;     /* report.threads=own: no thread takes the ranges of another */
	bool no_origins;      /* report.origins=off: work counts only where it was launched */
	struct sonde_words labels; /* report.labels: known, raw or rules; none = known */
	/*
	 * Ids of regions that exist although this capture may have no entry of them: another capture of the same program
	 * saw them. Their labels are as captured, before the label rules.
	 */
	struct sonde_words known;
	/*
	 * Which of the lists above the profiler applied while it captured. Launches that ncu's own grammar selected
	 * are not filtered again, and no note says that an exclude of this kind matches nothing.
	 */
	bool is_include_applied, is_exclude_applied, is_kernels_applied;
};

/* The kind of range that a region comes from. The first two are the values of enum sonde_range_kind. */
enum sonde_region_kind {
	SONDE_REGION_PUSH_POP = SONDE_PUSH_POP,
	SONDE_REGION_START_END = SONDE_START_END,
	/*
	 * Regions of the next two kinds were never entered. They show where work launched in the parent region was
	 * written:
	 */
	SONDE_REGION_GRAPH,    /* … the range open while the CUDA graph was captured */
	SONDE_REGION_BACKWARD, /* … the range around the forward operator of this backward work */
};
const char *sonde_region_kind_name(enum sonde_region_kind k);  /* "push_pop", … */
const char *sonde_region_kind_words(enum sonde_region_kind k); /* "push/pop", … for people */
/* The suffix of a label in lists: " (start/end)", " (graph)", … or "". */
const char *sonde_region_kind_mark(enum sonde_region_kind k);
/* An id as people read it, without the "@@" of start/end ranges: the mark says the same in words. */
struct sonde_str sonde_region_path(struct sonde_str id, enum sonde_region_kind k);
void sonde_region_say(struct sonde_buf *out, struct sonde_str id, enum sonde_region_kind k); /* writes the path and the mark */

/*
 * A region: a path of labels in one domain. In the table a parent comes before
 * its children, and siblings are in order of first entry.
 */
struct sonde_region {
	/* "[domain@]label/label/…"; '\' escapes '/', '\' and '@' in labels; the id of a start/end range ends in "@@" */
	struct sonde_str id;
	uint32_t parent;     /* SONDE_NONE = a root */
	uint32_t label;	     /* label number, see sonde_region_label */
	uint32_t domain;     /* string number, SONDE_NONE = the default domain */
	uint32_t depth;	     /* 0 = a root */
	uint8_t kind;	     /* enum sonde_region_kind */
	bool is_shown;	     /* false: every launch in it was excluded by the NVTX selection */
};

/*
 * How results were measured. Each method gives different figures for the same region, so results
 * of different methods are never summed.
 */
enum sonde_measured {
	SONDE_MEASURED_KERNEL, /* launch by launch */
	SONDE_MEASURED_RANGE,  /* ranges, replayed inside the program; also if a CSV does not name the replay mode */
	SONDE_MEASURED_APP_RANGE, /* ranges, by running the whole program again */
};
#define SONDE_NR_MEASURED 3
const char *sonde_measured_name(enum sonde_measured m); /* "kernel", "range", "app-range" */

/* Where results come from: one process on one device, measured in one way. */
struct sonde_scope {
	struct sonde_str name; /* "process:4519/device:0"; for a rank "rank 2 · node3 · GPU 1" */
	uint32_t process;
	uint32_t device;  /* SONDE_NONE: a process that used no device */
	uint8_t measured; /* enum sonde_measured */
	uint32_t nr_folded; /* number of scopes added up in this one; 0 = a single scope as captured */
};

/* The regions a launch belongs to exclusively, one per domain and start/end range: a slice of `homes`. */
struct sonde_place {
	uint32_t first, nr;
};

/* Walks the regions of a place: each home, then the home's ancestors. `of` points to launches or cells. */
#define SONDE_EACH_REGION(of, place, region)                                                       \
	for (struct sonde_place sonde_homes = (of)->places.at[place]; sonde_homes.nr;              \
		sonde_homes.first++, sonde_homes.nr--)                                             \
		for (region = (of)->homes.at[sonde_homes.first]; region != SONDE_NONE;             \
			region = (of)->regions.at[region].parent)

enum sonde_launch_state {
	SONDE_LAUNCH_TAKEN,	   /* selected, inside at least one region */
	SONDE_LAUNCH_OUTSIDE,	   /* selected, but no range was open */
	SONDE_LAUNCH_NOT_SELECTED, /* the NVTX or kernel selection left it out */
};

/* Why a launch is in no region. */
enum sonde_outside {
	SONDE_OUTSIDE_NO_RANGE,	   /* no thread of its process had a range open */
	SONDE_OUTSIDE_TWO_THREADS, /* its thread had no range open, and two or more other threads had one */
	SONDE_OUTSIDE_NO_CALL,	   /* the capture does not contain the call that launched it */
};
#define SONDE_NR_OUTSIDE 3
const char *sonde_outside_name(enum sonde_outside o); /* "no range open", … */
const char *sonde_outside_key(enum sonde_outside o);  /* "no_range_open", … */

/* Launches of one thread that are in no region: shown in the coverage notes. */
struct sonde_stray {
	uint32_t process;
	uint64_t thread;
	uint64_t launches;
};

/* A label rule, and how many distinct labels it rewrote. */
struct sonde_label_rule {
	struct sonde_str text; /* "REGEX => REPLACEMENT" */
	uint64_t changed;
};

/* One more than a note lists at most, so that the note can say that there are more. */
#define SONDE_MAX_FUNCTIONS 9

/* How many launches the selection took and left out. Tallies of several inputs add up. */
struct sonde_tally {
	uint64_t nr_launches, nr_taken, nr_outside, nr_not_selected, nr_adopted;
	uint64_t nr_outside_by[SONDE_NR_OUTSIDE];
	bool takes_range; /* the NVTX selection takes something inside a range */
	/* For each word of the selection, whether it matches anything: NVTX include, NVTX exclude,
	 * kernel include, kernel exclude. */
	bool *is_matched;
	struct sonde_str functions[SONDE_MAX_FUNCTIONS]; /* the first distinct function names */
	size_t nr_functions;
	bool has_torch; /* a kernel of PyTorch ran, selected or not */
};
size_t sonde_selection_nr_words(const struct sonde_selection *s);
/* Adds a function name unless the tally has it already or is full. The name is borrowed. */
void sonde_tally_add_function(struct sonde_tally *t, struct sonde_str name);

/*
 * Says why a report is empty or thin and what to do about it, and which words of
 * the selection match nothing.
 */
struct sonde_emptiness {
	const struct sonde_selection *selection;
	const struct sonde_tally *tally;
	const struct sonde_region *regions;
	size_t nr_regions;
	const struct sonde_scope *scopes;
	size_t nr_scopes;
	const struct sonde_map *labels; /* by the regions' label numbers */
};
void sonde_emptiness_explain(const struct sonde_emptiness *e, struct sonde_notes *notes);

/* Sorts scopes by rank, process id, host, input, device, kernels first. */
void sonde_scopes_sort(
	struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes);
/* Gives each of the sorted scopes a unique name. False: no memory. */
bool sonde_scopes_name(struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes,
	struct sonde_arena *arena);

/*
 * Whether somebody who wrote `word` may have meant a region with this label: the two differ only in
 * case or in a letter or two, or the word is the end of the label (`A1` for `A::A1`).
 */
bool sonde_label_is_near(struct sonde_str label, const char *word);
/* Whether a label names an operator of PyTorch or a collective: these are parts of a step, and never the step. */
bool sonde_label_is_operator(struct sonde_str label);

#endif
