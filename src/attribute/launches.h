/*
 * Launches: every result with the regions it belongs to.
 *
 * Attribution follows docs/attribution.md. The result is small and flat: a
 * list of regions (the union over all scopes), a list of scopes (one per
 * process and device, and per method of measuring if a process has several),
 * and for each result the place it belongs to. The launches are built once from
 * records and a selection and are read-only afterwards. They borrow from the
 * records, so the records must outlive them.
 */
#ifndef SONDE_ATTRIBUTE_LAUNCHES_H
#define SONDE_ATTRIBUTE_LAUNCHES_H

#include "attribute/regions.h"
#include "read/records.h"

struct sonde_launch {
	uint32_t place; /* place 0 = no region */
	uint32_t open;	/* the set of range entries it counts in, see sonde_launches_set */
	/* There are millions of launches, so the next four members share four bytes. */
	uint32_t scope : 27;  /* below SONDE_MAX_SCOPES */
	uint32_t state : 2;   /* enum sonde_launch_state */
	uint32_t cause : 2;   /* enum sonde_outside, if the launch is in no region */
	bool is_adopted : 1; /* counts in ranges of another thread: its own had none open */
};

#define SONDE_MAX_SCOPES (1u << 27)

/* The number of entries of one region in one scope. */
struct sonde_presence {
	uint32_t scope, region;
	uint64_t instances;
	uint64_t first_instances; /* entries that no earlier scope counted: their sum over scopes has each entry once */
};

struct sonde_launches {
	const struct sonde_records *records;
	struct sonde_selection selection;
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_scope) scopes; /* by process, then device, kernels before ranges */
	SONDE_VEC(struct sonde_place) places;
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_launch) launches;    /* one per record, same order */
	SONDE_VEC(uint32_t) memory_open;	    /* one per records->memory: as sonde_launch.open */
	SONDE_VEC(struct sonde_presence) presences; /* by scope, then region */
	SONDE_VEC(uint32_t) region_of; /* by range number: the region of the entry, or SONDE_NONE */
	SONDE_VEC(uint32_t) scope_of;  /* by range number: the first scope that counts the entry */
	SONDE_VEC(struct sonde_stray) strays;	    /* in order of first launch */
	struct sonde_tally tally;
	SONDE_VEC(struct sonde_label_rule) label_rules; /* all rules, also those that changed no label */
	/* Sets that attribution made; their numbers follow those of the records' sets. */
	SONDE_VEC(struct sonde_set) sets;
	SONDE_VEC(uint32_t) members;
	struct sonde_notes notes; /* `nr_remarks` remarks, then why the selection leaves little or nothing */
	size_t nr_remarks;
	struct sonde_str *arguments_of; /* by string number: arguments in that label (read/arguments.h); NULL: no label has any */
	struct sonde_map labels; /* labels.keys[n] is label number n, as report.labels rewrote it */
	/* Private to the room. */
	struct sonde_arena arena; /* owns all but the notes */
};

/* The record that a launch was made from. */
static inline const struct sonde_record *sonde_launch_record(
	const struct sonde_launches *l, const struct sonde_launch *launch)
{
	return &l->records->records.at[launch - l->launches.at];
}

/* The string number of the name under which a launch is listed. */
static inline uint32_t sonde_launch_kernel(
	const struct sonde_launches *l, const struct sonde_launch *launch)
{
	return sonde_record_function(l->records, sonde_launch_record(l, launch))->full_name;
}

static inline struct sonde_str sonde_region_label(
	const struct sonde_launches *l, const struct sonde_region *region)
{
	return l->labels.keys[region->label];
}

/* Returns set number `set`, from the records or made by attribution, and points `*members` to its members. */
static inline struct sonde_set sonde_launches_set(
	const struct sonde_launches *l, uint32_t set, const uint32_t **members)
{
	size_t nr = l->records->sets.nr;
	struct sonde_set s = set < nr ? l->records->sets.at[set] : l->sets.at[set - nr];

	*members = !s.nr ? NULL : &(set < nr ? l->records->members.at : l->members.at)[s.first];
	return s;
}

int sonde_launches_build(struct sonde_launches **out, const struct sonde_records *records,
	const struct sonde_selection *selection, struct sonde_err *err);
void sonde_launches_free(struct sonde_launches *l);

#endif
