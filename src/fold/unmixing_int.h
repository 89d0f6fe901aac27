/* Private to unmixing*.c and entry_loads.c: the launches and samples of one device, as input for `unmix`. */
#ifndef SONDE_FOLD_UNMIXING_INT_H
#define SONDE_FOLD_UNMIXING_INT_H

#include "fold/fold_int.h"
#include "fold/sampled.h"
#include "unmix/unmix.h"

/*
 * A kind: the launches of one kernel in one place. A kernel is often launched several times in an entry, each time
 * with other work (the projections of an attention block are one kernel at two sizes). So the first launch in an
 * entry is one class, the second another, and so on (its turn); each turn is divided again by the length of launches.
 * The cell has all these classes.
 */
struct sonde_unmixing_kind {
	uint32_t name, region;
	uint32_t entry, turn; /* those of the last launch added */
	uint32_t first, nr;   /* its classes */
	bool counts;	      /* its launches are in cells: they are selected, and in the files that are counted */
};

/* A sample in its series. */
struct sonde_unmixing_found { /* for sonde_keysort: the start must be the first member */
	struct sonde_sample_time time;
	const double *row;
};

struct sonde_unmixing {
	struct sonde_folding *f;
	struct sonde_sampled *s;
	struct sonde_loads *loads; /* NULL: there are no entries */
	const struct sonde_series *first; /* the first series of the device */
	struct sonde_map keys;		  /* {scope, place, kernel} → kind */
	SONDE_VEC(struct sonde_unmixing_kind) kinds;
	SONDE_VEC(uint32_t) turns; /* by launch: its turn in its kind */
	SONDE_VEC(uint32_t) opens; /* by launch: its set of open ranges */
	SONDE_VEC(double) cycles;  /* by launch: cycles of all SMs while it ran */
	SONDE_VEC(struct sonde_unmix_class) classes;
	SONDE_VEC(struct sonde_unmix_launch)
	launches; /* `class` is the number of a kind until the classes are made */
	SONDE_VEC(struct sonde_unmixing_found) found; /* samples of the current set */
	SONDE_VEC(int64_t) starts, ends; /* by sample of the current set */
	SONDE_VEC(double) values, limits; /* values by sample and column, limits by column */
	SONDE_VEC(uint32_t) columns; /* the counters of the current set that can be split: indices in the series */
	/* For GPM's samples, by class: the unit that is its unknown, and whether that unit has too few samples. */
	SONDE_VEC(struct sonde_unmix_class) units;
	SONDE_VEC(bool) is_few;
	SONDE_VEC(struct sonde_window_time) recorded; /* for processes with windows: times in which all their work was recorded */
	SONDE_VEC(const struct sonde_records *) others; /* captures beside this one that have work on the device */
	uint64_t others_ns; /* from then on all work of `others` is recorded */
	struct sonde_arena arena;
};

/*
 * An offset in ns that is added to the times of launches, because a kernel's work is not exactly between its
 * timestamps: as calibrated, else the value of an H200 (docs/counters-internals.md).
 */
#define SONDE_SAMPLE_OFFSET_NS (-250)
static inline int64_t sonde_unmixing__offset(const struct sonde_unmixing *x)
{
	return x->first->is_calibrated ? x->first->offset_ns : SONDE_SAMPLE_OFFSET_NS;
}
/*
 * For samples of GPM (unmixing_gpm.c): sets `units` and `is_few`, and drops all samples but those that are about one
 * unit or an idle device. False: no memory.
 */
bool sonde_series__is_gpm(const struct sonde_records *r, const struct sonde_series *s);
bool sonde_unmixing__units(struct sonde_unmixing *x);
/* The largest delay of GPM's values; half of it is assumed as their delay. */
#define SONDE_GPM_LATE_NS 100000000
/* Adds a note if the set's samples contradict the offset in use. False: no memory. */
bool sonde_unmixing__check_offset(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d);
/* Add notes: on the quality of a set, and if the clock had to be assumed. False: no memory. */
bool sonde_unmixing__note_set(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d);
void sonde_unmixing__note_clock(struct sonde_unmixing *x, const struct sonde_device *d);
bool sonde_unmixing__is_of_device(const struct sonde_unmixing *x, uint32_t scope);
/* Collects all launches of the device and gives them classes. False: no memory. */
bool sonde_unmixing__launches(struct sonde_unmixing *x);
/* For windowed captures: finds the intervals in which every running kernel was recorded. False: no memory. */
bool sonde_unmixing__windows(struct sonde_unmixing *x);
/* Whether a sample is inside such an interval, and counts with the files that are folded now. */
bool sonde_unmixing__is_recorded(const struct sonde_unmixing *x, const struct sonde_sample_time *time);
/* Finds the cycles that elapsed while launches ran, by launch and by class. False: no memory. */
bool sonde_unmixing__clocks(struct sonde_unmixing *x);
/* Loads of long entries: call begin, then add for each set that is solved, then end. False: no memory. */
struct sonde_loads;
bool sonde_loads__begin(struct sonde_loads **out, const struct sonde_unmixing *x);
bool sonde_loads__add(struct sonde_loads *l, const struct sonde_unmixing *x,
	const struct sonde_sampled_set *set);
bool sonde_loads__end(struct sonde_loads *l, struct sonde_unmixing *x);
void sonde_loads__free(struct sonde_loads *l);
void sonde_loads__sort(struct sonde_cells *c); /* loads of all devices; call it once at the end */
/* Sets `sampled` and the classes of the cells that run on this device; `number` is its number in the cells' `sampled`. */
bool sonde_unmixing__mark_cells(struct sonde_unmixing *x, uint32_t number);

#endif
