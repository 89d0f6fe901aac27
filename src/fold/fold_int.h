/*
 * Private to fold/: declarations that its files share, for folding the launches of one input to cells.
 *
 *   fold.c               the fold itself: each launch is added to one cell
 *   rule.c               how a metric rolls up
 *   choice_mark.c        which metrics are chosen
 *   rollups.c            which metrics are accumulated, with the weights each input has
 *   tables.c             the tables around the cells, and the constituents of each input's throughputs
 *   times.c              visits: which regions a scope has, busy, idle and host time
 *   gaps.c               … why the device was idle: its gaps, by what the host did meanwhile
 *   streams.c            … spans, queue times, and what each stream did
 *   communication.c      … collectives, to be matched across ranks; exposed communication
 *   memory.c             … GPU memory allocated, freed and held
 *   allocator.c          … memory held by PyTorch's allocator
 *   entry_rows.c         entries, one by one
 *   entry_arguments.c    … the arguments of each, and the tokens of regions
 *   entry_loads.c        … how busy the device was in long entries
 *   timeline.c           single events, and counters over time (curves)
 *   unmixing.c           samples of the device → counters of cells (unmix/ has the arithmetic)
 *   unmixing_launches.c  … classes of launches, the clock while they ran, times in which every running kernel is known
 *   unmixing_gpm.c       … samples of GPM, which are long and late
 *   unmixing_notes.c     … notes about it, for example about clocks that disagree
 *   sampled.c            figures of sampled counters, from cells
 *   stalls.c             PC samples → stalls of cells
 *   sampled_limits.c     … the device of a series, and the most that it can count
 *   cells.c              adding rows to cells (cell_tables.h), looking things up in them
 *   parts.c              cells of one input each, in one order
 *   inventory.c          launches → the list of a program's ranges
 */
#ifndef SONDE_FOLD_FOLD_INT_H
#define SONDE_FOLD_FOLD_INT_H

#include "attribute/launches.h"
#include "fold/cell_tables.h"
#include "fold/fold.h"

/* The state of folding the launches of one input. */
struct sonde_folding {
	struct sonde_cells *c;
	const struct sonde_launches *l;
	const struct sonde_records *r;
	const struct sonde_fold_request *request;
	uint32_t *string_of; /* string number of the records → of the cells, SONDE_NONE = not kept */
	uint32_t *label_of; /* label number of the launches → string number of the cells, SONDE_NONE = not kept */
	uint32_t *visit_of; /* by range: the visit it is an entry of, SONDE_NONE = it counts nowhere;
			     * NULL without times of ranges */
	uint32_t *arguments_of; /* by range: string number of its arguments, SONDE_NONE = none; NULL: no range has any */
	bool *communicates; /* by string number of the records: kernels with this name communicate; NULL: none do */
	struct sonde_arena scratch; /* for these arrays and other small memory of the fold */
};

/* These functions return false: no memory. */
/* Makes all tables but kits, sums, visits and cells; `has_timeline`: with the strings that a timeline needs. */
bool sonde_fold__tables(struct sonde_folding *f, bool has_timeline);
/* Makes a kit for each input, without `at`. */
bool sonde_fold__kits(struct sonde_folding *f, struct sonde_values *values);
bool sonde_fold__visits(struct sonde_folding *f);
/* Adds the entries of visits. Needs `visit_of`. */
bool sonde_fold__entries(struct sonde_folding *f);
/* Finds the arguments of all ranges. */
bool sonde_fold__arguments(struct sonde_folding *f);
/*
 * Adds up tokens and batches of visits, entry by entry. `*out` is NULL if no entry has arguments; the functions below
 * accept NULL.
 */
struct sonde_throughput;
bool sonde_throughput__begin(struct sonde_throughput **out, const struct sonde_folding *f);
bool sonde_throughput__add(struct sonde_throughput *t, const struct sonde_folding *f, size_t range, uint64_t wall_ns);
void sonde_throughput__end(struct sonde_throughput *t, struct sonde_cells *c);
void sonde_throughput__free(struct sonde_throughput *t);
/* Fills in the memory of the visits. */
bool sonde_fold__memory(struct sonde_folding *f);
bool sonde_fold__allocator(struct sonde_folding *f);
/* Finds the kernels that communicate. */
bool sonde_fold__communication(struct sonde_folding *f);
static inline bool sonde_fold__communicates(
	const struct sonde_folding *f, const struct sonde_record *rec)
{
	return f->communicates && rec->kind == SONDE_RESULT_KERNEL &&
	       f->communicates[sonde_record_function(f->r, rec)->name];
}
/* Adds events and curves; sonde_fold__visits has added the gaps. `keeps_untimed`: also launches without times. */
bool sonde_fold__timeline(struct sonde_folding *f, bool keeps_untimed);
/* Writes the averages of the device's samples, "SM active % 41.2, DRAM GB/s 812.0", without counters that have no role. */
bool sonde_fold__describe_load(
	struct sonde_folding *f, const struct sonde_series *first, struct sonde_buf *to);
/* Adds the collectives of all scopes that have times. */
bool sonde_fold__collectives(struct sonde_folding *f);
/* Gives the cells the PC samples of their launches. */
bool sonde_fold__stalls(struct sonde_folding *f);
/* Splits the samples of devices among the cells. Returns 0 or a negative code. */
int sonde_fold__sampled(struct sonde_folding *f, struct sonde_err *err);

/* Whether some counter of the series has one of sonde's roles. */
bool sonde_series__has_roles(const struct sonde_series *s);
/* The device of a series as one of its processes sees it; NULL: no launch ran on it. */
const struct sonde_device *sonde_fold__sampled_device(
	const struct sonde_folding *f, const struct sonde_series *s);
bool sonde_series__is_same_device(const struct sonde_series *a, const struct sonde_series *b);
/* Cycles of all SMs together per nanosecond while they worked, from all series of the device; NaN: unknown. */
double sonde_sampled__clock(const struct sonde_records *r, const struct sonde_series *of);
/* The same at the highest clock of the device. */
double sonde_sampled__nominal_clock(const struct sonde_device *d);
/* Bytes that the device's memory can move per nanosecond; NaN: unknown. */
double sonde_sampled__bandwidth(const struct sonde_device *d);
/* The most that a counter of the series can count in one SM cycle; 0 = not known. */
double sonde_sampled__peak(
	const struct sonde_records *r, const struct sonde_series *s, size_t counter, double nr_sms);


#endif
