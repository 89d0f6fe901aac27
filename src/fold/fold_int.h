/*
 * Inside the folding room.
 *
 *   rule.c           how a metric rolls up
 *   choice_mark.c    which metrics are wanted
 *   plans.c          what is accumulated, with the weights each input has
 *   tables.c         launches → the tables around the cells
 *   visits.c         … what each scope knows of each region
 *   times.c          … with timestamps: launches in order of start; host time
 *   entry_rows.c     … entries, one by one
 *   idle_times.c     … idle time inside entries
 *   gaps.c, hosts.c  … why: the gaps of the device, by what the host did meanwhile
 *   memory.c         … GPU memory allocated, freed and held
 *   streams.c        … busy time, span, queue times, and what each stream did
 *   waits.c          … communication that nothing hides
 *   collectives.c    … NCCL kernels, to be matched across ranks
 *   timeline*.c      … single events, and counters over time (curves)
 *   unmixing*.c      … what samples of the device told of them
 *   offset.c         … and whether the clocks of both agree
 *   clocks.c         … the clock of the device meanwhile
 *   loads.c          … and of long entries, one by one
 *   sampled.c        reading that off cells
 *   sampled_limits.c … whose device it is, and what that can count at most
 *   kits.c           what each input's metrics are made of
 *   fold.c           launches → accumulators; the fold itself
 *   windowed*.c      … with a budget: what was timed stands for what was not
 *   parts.c          cells of one input each, in one order
 *   cells.c          what all who make cells add to them; looking things up in them
 *   ranks_seen.c     … and which ranks of the job they are of
 *   inventory.c      launches → the list of a program's ranges
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
	uint32_t *string_of;
	uint32_t *label_of; /* the same for the labels of the launches */
	uint32_t *visit_of; /* by range: the visit it is an entry of, SONDE_NONE = counts nowhere;
			     * NULL without times of ranges */
	bool *communicates; /* by string number of the records: a kernel named so does; NULL: none */
	struct sonde_arena scratch; /* of these, and whatever else is small and may go with them */
};

/* Each false when memory is short. */
/* Everything but kits, sums, visits and cells; with the strings a timeline needs. */
bool sonde_fold__tables(struct sonde_folding *f, bool has_timeline);
/* A kit for each input, without `at`. */
bool sonde_fold__kits(struct sonde_folding *f, struct sonde_values *values);
bool sonde_fold__visits(struct sonde_folding *f);
/* Fills in the times of the visits. */
bool sonde_fold__times(struct sonde_folding *f);
/* The entries of visits: `visit_of` is there. */
bool sonde_fold__entries(struct sonde_folding *f);
/* Fills in the memory of the visits. */
bool sonde_fold__memory(struct sonde_folding *f);
/* Finds the kernels that communicate. */
bool sonde_fold__communication(struct sonde_folding *f);
static inline bool sonde_fold__communicates(
	const struct sonde_folding *f, const struct sonde_record *rec)
{
	return f->communicates && rec->kind == SONDE_RESULT_KERNEL &&
	       f->communicates[sonde_record_function(f->r, rec)->name];
}
bool sonde_fold__timeline(struct sonde_folding *f, bool keeps_untimed); /* launches without times too */
bool sonde_fold__curves(struct sonde_folding *f, struct sonde_timeline *t);
/* "SM active % 41.2, DRAM GB/s 812.0": the device's samples on average; nothing of counters without a role. */
bool sonde_fold__describe_load(
	struct sonde_folding *f, const struct sonde_series *first, struct sonde_buf *to);
/* The collectives of all scopes, where they have times. */
bool sonde_fold__collectives(struct sonde_folding *f);
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

/* Adds a note when ranks of the job are not in the inputs. */
void sonde_cells__explain_ranks(const struct sonde_cells *c, struct sonde_notes *notes);

#endif
