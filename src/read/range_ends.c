/* After all inputs are read: every entry has times, and an end. */
#include "base/alloc.h"
#include "read/source_int.h"

/* Times lie parallel to what they are of, or are not there at all: sources without get zeros. */
static bool pad_times(struct sonde_records *r)
{
	while (r->range_times.nr && r->range_times.nr < r->ranges.nr)
		if (!sonde_vec_push(&r->range_times))
			return false;
	while (r->record_times.nr && r->record_times.nr < r->records.nr)
		if (!sonde_vec_push(&r->record_times))
			return false;
	return true;
}

static bool was_never_closed(const struct sonde_range_time *t)
{
	return t->begin_ns && !t->end_ns;
}

static void find_ends(const struct sonde_records *r, uint64_t *last)
{
	size_t i;

	for (i = 0; i < r->range_times.nr; i++) {
		const struct sonde_range_time *t = &r->range_times.at[i];
		uint64_t *at = &last[r->ranges.at[i].process];

		*at = t->begin_ns > *at ? t->begin_ns : *at;
		*at = t->end_ns > *at ? t->end_ns : *at;
	}
	for (i = 0; i < r->record_times.nr; i++) {
		uint64_t *at = &last[r->records.at[i].process];

		*at = r->record_times.at[i].end_ns > *at ? r->record_times.at[i].end_ns : *at;
	}
}

static bool close_open_ranges(struct sonde_records *r)
{
	uint64_t *last;
	size_t i, nr = 0;

	for (i = 0; i < r->range_times.nr && !was_never_closed(&r->range_times.at[i]); i++)
		;
	if (i == r->range_times.nr)
		return true;
	last = sonde_calloc(r->processes.nr + 1, sizeof(*last));
	if (!last)
		return false;
	find_ends(r, last);
	for (; i < r->range_times.nr; i++) {
		if (!was_never_closed(&r->range_times.at[i]))
			continue;
		nr++;
		r->ranges.at[i].is_open = true;
		r->range_times.at[i].end_ns = last[r->ranges.at[i].process];
	}
	sonde_note(&r->notes,
		"%zu %s never closed: counted to the last event of the program, the time is at "
		"least that",
		nr, nr == 1 ? "range was" : "ranges were");
	sonde_free(last);
	return true;
}

bool sonde_records__complete_times(struct sonde_records *r)
{
	return pad_times(r) && close_open_ranges(r);
}
