/*
 * Inside fold/: what its files share on the way from the launches of one input to cells.
 *
 *   fold.c               the fold itself: each launch is added to one cell
 *   rule.c               how a metric rolls up
 *   choice_mark.c        which metrics are wanted
 *   plans.c              what is accumulated, with the weights each input has
 *   tables.c             the tables around the cells, and what each input's metrics are made of
 *   times.c              visits: which regions a scope knows, busy, idle and host time
 *   gaps.c               … why the device was idle: its gaps, by what the host did meanwhile
 *   streams.c            … spans, queue times, and what each stream did
 *   communication.c      … collectives, to be matched across ranks; communication that nothing hides
 *   memory.c             … GPU memory allocated, freed and held
 *   allocator.c          … what PyTorch's allocator had
 *   entry_rows.c         entries, one by one
 *   entry_arguments.c    … what each was given, and the tokens of regions
 *   entry_loads.c        … how busy the device was in long ones
 *   timeline.c           single events, and counters over time (curves)
 *   unmixing.c           samples of the device → counters of cells (unmix/ has the arithmetic)
 *   unmixing_launches.c  … classes of launches, the clock while they ran, when all that ran is known
 *   unmixing_gpm.c       … samples of GPM, which are long and late
 *   unmixing_notes.c     … what there is to say about it, among it clocks that disagree
 *   sampled.c            reading the counters off cells
 *   stalls.c             PC samples → stalls of cells
 *   sampled_limits.c     … whose device it is, and what that can count at most
 *   cells.c              rows into cells (cell_tables.h), looking things up in them
 *   parts.c              cells of one input each, in one order
 *   inventory.c          launches → the list of a program's ranges
 */
#ifndef SONDE_FOLD_FOLD_INT_H
#define SONDE_FOLD_FOLD_INT_H

#include "attribute/launches.h"
#include "fold/cell_tables.h"
#include "fold/fold.h"

/* Launches to cells: string numbers there to string numbers here, SONDE_NONE = not kept. */
struct sonde_folding {
	struct sonde_cells *c;
	const struct sonde_launches *l;
	const struct sonde_records *r;
	const struct sonde_fold_request *request;
	uint32_t *string_of;
	uint32_t *label_of; /* the same for the labels of the launches */
	uint32_t *visit_of; /* by range: the visit it is an entry of, SONDE_NONE = counts nowhere;
			     * NULL without times of ranges */
	uint32_t *arguments_of; /* by range: string number of its arguments, SONDE_NONE = none; NULL: no range has any */
	bool *communicates; /* by string number of the records: a kernel named so does; NULL: none */
	struct sonde_arena scratch; /* of these, and whatever else is small and may go with them */
};

/* Each false when memory is short. */
/* Everything but kits, sums, visits and cells; with the strings a timeline needs. */
bool sonde_fold__tables(struct sonde_folding *f, bool has_timeline);
/* A kit for each input, without `at`. */
bool sonde_fold__kits(struct sonde_folding *f, struct sonde_values *values);
bool sonde_fold__visits(struct sonde_folding *f);
/* The entries of visits: `visit_of` is there. */
bool sonde_fold__entries(struct sonde_folding *f);
/* Finds the arguments of all ranges. */
bool sonde_fold__arguments(struct sonde_folding *f);
/* Adds up tokens and batches of visits, entry by entry; `*out` NULL where no entry has arguments, and all others take that. */
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
bool sonde_fold__timeline(struct sonde_folding *f, bool keeps_untimed); /* launches without times too; visits have added its gaps */
/* "SM active % 41.2, DRAM GB/s 812.0": the device's samples on average; nothing of counters without a role. */
bool sonde_fold__describe_load(
	struct sonde_folding *f, const struct sonde_series *first, struct sonde_buf *to);
/* The collectives of all scopes, where they have times. */
bool sonde_fold__collectives(struct sonde_folding *f);
/* Gives the cells the PC samples of their launches. */
bool sonde_fold__stalls(struct sonde_folding *f);
/* Splits samples among the cells, where the device was sampled. 0, or a negative code. */
int sonde_fold__sampled(struct sonde_folding *f, struct sonde_err *err);

/* Whether some counter is one of sonde's roles: others can be shown, not split. */
bool sonde_series__has_roles(const struct sonde_series *s);
/* The device of a series as one of its processes sees it; NULL when nobody ran on it. */
const struct sonde_device *sonde_fold__sampled_device(
	const struct sonde_folding *f, const struct sonde_series *s);
bool sonde_series__is_same_device(const struct sonde_series *a, const struct sonde_series *b);
/* Cycles of all SMs in a nanosecond while they worked, by all series of the device; NaN: unknown. */
double sonde_sampled__clock(const struct sonde_records *r, const struct sonde_series *of);
/* The same at the highest clock the device has. */
double sonde_sampled__nominal_clock(const struct sonde_device *d);
/* Bytes its memory moves in a nanosecond; NaN: unknown. */
double sonde_sampled__bandwidth(const struct sonde_device *d);
/* The most a counter of the series counts in a cycle of the SMs; 0 = not known. */
double sonde_sampled__peak(
	const struct sonde_records *r, const struct sonde_series *s, size_t counter, double nr_sms);


#endif
