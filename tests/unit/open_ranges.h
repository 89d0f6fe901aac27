/* The ranges that are open at a record, in the form that filters need. For tests. */
#ifndef SONDE_TESTS_OPEN_RANGES_H
#define SONDE_TESTS_OPEN_RANGES_H

#include "attribute/filter.h"
#include "read/records.h"

#define OPEN_MAX 64

struct open_ranges {
	struct sonde_open_ranges view;
	struct sonde_open_stack stacks[OPEN_MAX];
	struct sonde_open_start starts[OPEN_MAX];
	struct sonde_str labels[OPEN_MAX][OPEN_MAX];
};

static inline void open_ranges_of(
	struct open_ranges *o, const struct sonde_records *r, uint32_t record)
{
	struct sonde_set set = r->sets.at[r->records.at[record].open];
	struct sonde_open_ranges view = {o->stacks, 0, o->starts, 0};
	uint32_t i, k, chain[OPEN_MAX];

	for (i = 0; i < set.nr; i++) {
		uint32_t number = r->members.at[set.first + i], nr = 0;
		const struct sonde_range *range = &r->ranges.at[number];
		struct sonde_str domain = sonde_records_str(r, range->domain);

		if (range->kind == SONDE_START_END) {
			o->starts[view.nr_starts++] = (struct sonde_open_start){
				domain, sonde_records_str(r, range->label)};
			continue;
		}
		for (; number != SONDE_NONE && nr < OPEN_MAX; number = r->ranges.at[number].parent)
			chain[nr++] = r->ranges.at[number].label;
		for (k = 0; k < nr; k++)
			o->labels[view.nr_stacks][k] = sonde_records_str(r, chain[nr - 1 - k]);
		o->stacks[view.nr_stacks] =
			(struct sonde_open_stack){domain, o->labels[view.nr_stacks], nr};
		view.nr_stacks++;
	}
	o->view = view;
}

#endif
