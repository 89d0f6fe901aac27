/* After all inputs are read: what has times is known, and every entry has an end. */
#include "base/alloc.h"
#include "read/source_int.h"

static bool was_never_closed(const struct sonde_range_time *t)
{
	return t->begin_ns && !t->end_ns;
}

static void find_ends(const struct sonde_records *r, uint64_t *last)
{
	size_t i;

	for (i = 0; i < r->ranges.nr; i++) {
		const struct sonde_range_time *t = &r->ranges.at[i].time;
		uint64_t *at = &last[r->ranges.at[i].process];

		*at = t->begin_ns > *at ? t->begin_ns : *at;
		*at = t->end_ns > *at ? t->end_ns : *at;
	}
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];
		uint64_t *at = &last[sonde_record_caller(r, rec)->process];

		*at = rec->time.end_ns > *at ? rec->time.end_ns : *at;
	}
}

void sonde_inputs_note_unclosed(struct sonde_notes *notes, uint64_t nr)
{
	if (nr)
		sonde_note(notes,
			"%llu %s never closed: counted to the last event of the program, the time "
			"is at least that",
			(unsigned long long)nr, nr == 1 ? "range was" : "ranges were");
}

static bool close_open_ranges(struct sonde_records *r)
{
	uint64_t *last;
	size_t i;

	for (i = 0; i < r->ranges.nr && !was_never_closed(&r->ranges.at[i].time); i++)
		;
	if (i == r->ranges.nr)
		return true;
	last = sonde_calloc(r->processes.nr + 1, sizeof(*last));
	if (!last)
		return false;
	find_ends(r, last);
	for (; i < r->ranges.nr; i++) {
		if (!was_never_closed(&r->ranges.at[i].time))
			continue;
		r->nr_unclosed++;
		r->ranges.at[i].is_open = true;
		r->ranges.at[i].time.end_ns = last[r->ranges.at[i].process];
	}
	sonde_free(last);
	return true;
}

bool sonde_records__complete_times(struct sonde_records *r)
{
	size_t i;

	for (i = 0; i < r->ranges.nr && !r->has_range_times; i++)
		r->has_range_times = r->ranges.at[i].time.end_ns || r->ranges.at[i].time.begin_ns;
	for (i = 0; i < r->records.nr && !r->has_record_times; i++)
		r->has_record_times = r->records.at[i].time.end_ns != 0;
	return close_open_ranges(r);
}
