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
 *   parts.c          files and directories → parts
 *   parts_read.c     … one by one
 *   crew.c           … on all cores
 *   remote.c         … in another process: what it is asked for and what it answers, as bytes
 *   parts_order.c    … in one order
 *   keep.c           … those that a report keeps
 *   keep_marks.c     … and which these are
 *   rest*.c          … and the others, added up
 *   rolling.c        … and files of a capture, while it is written
 *   rolled*.c        … what they come to
 *   sum*.c           … which is how parts are added up
 *   partial_*.c      … to a file and back: its frame (file), tables, rows, sampled; timeline
 *   walk.h           … values as bytes, both ways
 *   unite*.c         parts → cells: tables, then rows
 *   cells.c          what all who make cells add to them; looking things up in them
 *   ranks_seen.c     … and which ranks of the job they are of
 *   inventory.c      launches → the list of a program's ranges
 */
#ifndef SONDE_FOLD_FOLD_INT_H
#define SONDE_FOLD_FOLD_INT_H

#include "attribute/launches.h"
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
/* Numbers in the tables of one → numbers in those of another, each by number there. */
struct sonde_numbers {
	uint32_t *string, *text, *region, *place, *scope;
};
/*
 * Makes room for all of them in `scratch`, and enters the strings and texts of `from` in other maps: copied
 * to `keep` unless that is NULL. False: no memory.
 */
bool sonde_numbers__init(struct sonde_numbers *of, const struct sonde_cells *from, struct sonde_map *strings,
	struct sonde_map *texts, struct sonde_arena *keep, struct sonde_arena *scratch);
/* A number there as a number here; SONDE_NONE stays. */
static inline uint32_t sonde_number__in(const uint32_t *of, uint32_t number)
{
	return number == SONDE_NONE ? SONDE_NONE : of[number];
}

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
/* Fills `sampled_others` of cells that are complete. False: no memory. */
bool sonde_sampled__list_others(struct sonde_cells *c);
/* Cycles of all SMs in a nanosecond while they worked, by all series of the device; NaN: unknown. */
double sonde_sampled__clock(const struct sonde_records *r, const struct sonde_series *of);
/* The same at the highest clock the device has. */
double sonde_sampled__nominal_clock(const struct sonde_device *d);
/* Bytes its memory moves in a nanosecond; NaN: unknown. */
double sonde_sampled__bandwidth(const struct sonde_device *d);
/* The most a counter of the series counts in a cycle of the SMs; 0 = not known. */
double sonde_sampled__peak(
	const struct sonde_records *r, const struct sonde_series *s, size_t counter, double nr_sms);

/* The times of a visit, each NaN where it is not known. The order is that of partial reports. */
#define SONDE_NR_VISIT_TIMES (16 + SONDE_NR_IDLE_CAUSES)
void sonde_visit__list_times(struct sonde_visit *v, double **at);
/* By accumulator of its cells: the method of the metric's rule. NULL: no memory. */
uint8_t *sonde_kit__find_methods(
	const struct sonde_kit *kit, const struct sonde_map *metrics, struct sonde_arena *arena);

/* A copy that lives as long as the cells; {NULL, 0} stays as it is. False: no memory. */
bool sonde_cells__keep(struct sonde_cells *c, struct sonde_str *text);
/* Copies what a selection borrows. */
bool sonde_cells__keep_selection(struct sonde_cells *c, const struct sonde_selection *s);
/* Each adds a copy. False, NULL: no memory. */
bool sonde_cells__add_input(struct sonde_cells *c, const struct sonde_input *from);
bool sonde_cells__add_process(struct sonde_cells *c, const struct sonde_process *from);
struct sonde_device *sonde_cells__add_device(struct sonde_cells *c, const struct sonde_device *from);
/* Adds a visit of which no time is known. NULL: no memory. */
struct sonde_visit *sonde_cells__add_visit(struct sonde_cells *c, uint32_t scope, uint32_t region);
/* Adds to the tally, or takes from it (sign -1), what was counted elsewhere. */
void sonde_cells__add_counts(struct sonde_cells *to, const struct sonde_cells *from, int sign);
static inline void sonde_count__add(uint64_t *to, uint64_t n, int sign)
{
	*to = sign > 0 ? *to + n : *to - n;
}
/* A region under the numbers of other tables. */
struct sonde_region sonde_region__in(struct sonde_region r, const struct sonde_numbers *of);
/* Its number among those met: regions are the same by parent, label, domain and kind. */
uint32_t sonde_region__meet(struct sonde_map *keys, struct sonde_arena *keep,
	const struct sonde_region *r, bool *is_new);
/* The names of one map in another: their numbers there, in `scratch`. Copied to `keep` unless that is
 * NULL. NULL: no memory. */
uint32_t *sonde_map__enter(struct sonde_map *to, struct sonde_arena *keep,
	const struct sonde_map *from, struct sonde_arena *scratch);
/* Adds a note when ranks of the job are not in the inputs. */
void sonde_cells__explain_ranks(const struct sonde_cells *c, struct sonde_notes *notes);
/* Frees the tables but not what they point to. */
void sonde_cells__shed(struct sonde_cells *c);
/* Whether two selections choose the same. */
bool sonde_selection__is_same(const struct sonde_selection *a, const struct sonde_selection *b);
/* Whether nobody selected anything: what was folded with another selection is taken as it is. */
bool sonde_selection__is_usual(const struct sonde_selection *s);

/* Records → launches → cells. */
int sonde_parts__fold(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* One part of captures that are folded together: samples, and whose device they are of. */
int sonde_parts__read_captures(struct sonde_parts *out, const char *const *paths, size_t nr,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* The parts of one file, a capture or partial report. */
int sonde_parts__read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);
/* A hash of what a part is, whoever holds it. */
uint64_t sonde_parts__identity(const struct sonde_cells *c);
/* Says that a part is left out, as it is there already. */
void sonde_parts__note_double(struct sonde_notes *notes, const struct sonde_cells *c);
/* Sorts parts by path, then by what they are, and frees those that are there already. */
void sonde_parts__sort(struct sonde_cells **at, size_t *nr, struct sonde_notes *doubled);
/* SONDE_ERR_USAGE when they were not folded with the same settings. */
int sonde_parts__check(struct sonde_cells *const *at, size_t nr, struct sonde_err *err);

/* Moves the timeline of a part, if it has one, into that of `to`, with its numbers there. */
struct sonde_moving {
	struct sonde_cells *to, *from;
	uint32_t process; /* of the first process */
	struct sonde_numbers of;
};
bool sonde_timeline__move(const struct sonde_moving *m);
void sonde_timeline__free(struct sonde_timeline *t);

#endif
