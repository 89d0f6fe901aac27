/* Private to unmixing*.c and entry_loads.c: one device's launches and samples on their way to `unmix`. */
#ifndef SONDE_FOLD_UNMIXING_INT_H
#define SONDE_FOLD_UNMIXING_INT_H

#include "fold/fold_int.h"
#include "fold/sampled.h"
#include "unmix/unmix.h"

/*
 * A kernel in a place is often launched several times in an entry, each time with other work (the
 * projections of an attention block are one kernel at two sizes). So the first launch in an entry
 * is a class, the second another, and so on, each again by how long launches took; the cell has all
 * of them.
 */
struct sonde_unmixing_kind {
	uint32_t name, region;
	uint32_t entry, turn; /* of the last launch met */
	uint32_t first, nr;   /* its classes */
	bool counts;	      /* its launches are in cells: selected, and of the time that is reported */
};

/* A sample in its series. */
struct sonde_unmixing_found { /* for sonde_keysort: its start comes first */
	struct sonde_sample_time time;
	const double *row;
};

struct sonde_unmixing {
	struct sonde_folding *f;
	struct sonde_sampled *s;
	struct sonde_loads *loads; /* NULL: there are no entries */
	const struct sonde_series *first; /* of the device's series */
	struct sonde_map keys;		  /* {scope, place, kernel} → kind */
	SONDE_VEC(struct sonde_unmixing_kind) kinds;
	SONDE_VEC(uint32_t) turns; /* by launch */
	SONDE_VEC(uint32_t) opens; /* by launch: its set of open ranges */
	SONDE_VEC(double) cycles;  /* by launch: of all SMs while it ran */
	SONDE_VEC(struct sonde_unmix_class) classes;
	SONDE_VEC(struct sonde_unmix_launch)
	launches; /* `class` is a kind until classes are there */
	SONDE_VEC(struct sonde_unmixing_found) found; /* of the set at hand, and so are the next ones */
	SONDE_VEC(int64_t) starts, ends;
	SONDE_VEC(double) values, limits;
	SONDE_VEC(uint32_t) columns; /* of the set's counters: those with a role */
	/* For GPM's samples: classes by the region that is their unknown, and whether that has too few of them. */
	SONDE_VEC(struct sonde_unmix_class) units;
	SONDE_VEC(bool) is_few;
	SONDE_VEC(struct sonde_window_time) known; /* when all that programs with windows ran was recorded */
	SONDE_VEC(const struct sonde_records *) others; /* captures beside this one, with work on the device … */
	uint64_t known_ns; /* … all of which is known from then on */
	struct sonde_arena arena;
};

/*
 * Added to the times of launches, ns: how a kernel's work is aligned with its timestamps, as calibrated,
 * else as it is on an H200 (docs/counters-internals.md).
 */
#define SONDE_SAMPLE_OFFSET_NS (-250)
static inline int64_t sonde_unmixing__offset(const struct sonde_unmixing *x)
{
	return x->first->is_calibrated ? x->first->offset_ns : SONDE_SAMPLE_OFFSET_NS;
}
/*
 * For samples of GPM (unmixing_gpm.c): finds `units` and `is_few`, and drops all samples but those that are about one
 * unit or an idle device. False: no memory.
 */
bool sonde_series__is_gpm(const struct sonde_records *r, const struct sonde_series *s);
bool sonde_unmixing__units(struct sonde_unmixing *x);
/* How late GPM's values are, at most; what they are about is taken to have been in the middle. */
#define SONDE_GPM_LATE_NS 100000000
/* Says so in a note when the set's samples contradict the offset in use. False: no memory. */
bool sonde_unmixing__check_offset(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d);
/* Notes: how a set came out, and whether the clock had to be guessed. False: no memory. */
bool sonde_unmixing__note_set(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d);
void sonde_unmixing__note_clock(struct sonde_unmixing *x, const struct sonde_device *d);
bool sonde_unmixing__is_of_device(const struct sonde_unmixing *x, uint32_t scope);
/* All launches of the device, with their classes. False: no memory. */
bool sonde_unmixing__launches(struct sonde_unmixing *x);
/* For windowed captures: finds the intervals in which every running kernel was recorded. False: no memory. */
bool sonde_unmixing__windows(struct sonde_unmixing *x);
/* Whether that holds for all of this time, and it counts now. */
bool sonde_unmixing__is_known(const struct sonde_unmixing *x, const struct sonde_sample_time *time);
/* The cycles that elapsed while launches ran, by launch and class. False: no memory. */
bool sonde_unmixing__clocks(struct sonde_unmixing *x);
/* Loads of long entries: begin, add each set as it is solved, end. False: no memory. */
struct sonde_loads;
bool sonde_loads__begin(struct sonde_loads **out, const struct sonde_unmixing *x);
bool sonde_loads__add(struct sonde_loads *l, const struct sonde_unmixing *x,
	const struct sonde_sampled_set *set);
bool sonde_loads__end(struct sonde_loads *l, struct sonde_unmixing *x);
void sonde_loads__free(struct sonde_loads *l);
void sonde_loads__sort(struct sonde_cells *c); /* of all devices */
/* Cells learn which classes they are in number `number` of the sampled devices. */
bool sonde_unmixing__mark_cells(struct sonde_unmixing *x, uint32_t number);

#endif
