/*
 * Completes the records after all inputs are read: finds out whether ranges and records have times, gives every
 * entry an end, and counts what every process launched. Impossible times are left out: one of them would look like
 * years of idleness, with advice about them.
 */
#include "base/alloc.h"
#include "read/source.h"

#define LAST_NS	  ((uint64_t)INT64_MAX) /* the year 2262; a later time is a negative signed number */
#define SPAN_BITS 55 /* 2^55 ns are 417 days, and nobody captures longer */
#define TRAIL 0x9e3779b97f4a7c15u /* a multiplier: odd, with bits that look random */

/* --- impossible times ------------------------------------------------------------------------------ */

/* The span of time that most times of a process are in. A majority vote finds it in one pass. */
struct vote {
	uint64_t span;
	size_t nr; /* votes left for `span`; 0 = no majority known */
};

static bool is_apart(uint64_t ns, uint64_t span)
{
	uint64_t own = ns >> SPAN_BITS;

	return (own > span ? own - span : span - own) > 1;
}

static void cast_vote(struct vote *v, uint64_t ns)
{
	if (!v->nr)
		*v = (struct vote){ns >> SPAN_BITS, 1};
	else if (is_apart(ns, v->span))
		v->nr--;
	else
		v->nr++;
}

/* Invariant 14. */
static bool is_impossible(const struct vote *v, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns > LAST_NS || to_ns > LAST_NS)
		return true;
	return v->nr && (is_apart(from_ns, v->span) || (to_ns && is_apart(to_ns, v->span)));
}

static void note_impossible(struct sonde_records *r, const uint64_t *nr, const char *one, const char *many)
{
	size_t i;

	for (i = 0; i < r->inputs.nr; i++)
		if (nr[i])
			sonde_note_loss(&r->notes, "%.*s: %llu %s", SONDE_STR_ARG(r->inputs.at[i].path),
				(unsigned long long)nr[i], nr[i] == 1 ? one : many);
}

#define FROM_OTHERS "more than a year from the others: "

static void check_records(struct sonde_records *r, struct vote *votes, uint64_t *nr)
{
	size_t i;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		if (rec->time.end_ns && rec->time.end_ns <= LAST_NS)
			cast_vote(&votes[sonde_record_caller(r, rec)->process], rec->time.start_ns);
	}
	for (i = 0; i < r->records.nr; i++) {
		struct sonde_record *rec = &r->records.at[i];
		uint32_t process = sonde_record_caller(r, rec)->process;

		if (rec->call_ns > LAST_NS)
			rec->call_ns = 0;
		if (!rec->time.end_ns || !is_impossible(&votes[process], rec->time.start_ns, rec->time.end_ns))
			continue;
		rec->time = (struct sonde_record_time){0};
		nr[r->processes.at[process].input]++;
	}
	note_impossible(r, nr, "result has an impossible time, " FROM_OTHERS "it is left out",
		"results have impossible times, " FROM_OTHERS "they are left out");
}

static void check_ranges(struct sonde_records *r, struct vote *votes, uint64_t *nr)
{
	size_t i;

	for (i = 0; i < r->ranges.nr; i++)
		if (r->ranges.at[i].time.begin_ns && r->ranges.at[i].time.begin_ns <= LAST_NS)
			cast_vote(&votes[r->ranges.at[i].process], r->ranges.at[i].time.begin_ns);
	for (i = 0; i < r->ranges.nr; i++) {
		struct sonde_range *range = &r->ranges.at[i];

		if (!range->time.begin_ns ||
			!is_impossible(&votes[range->process], range->time.begin_ns, range->time.end_ns))
			continue;
		range->time = (struct sonde_range_time){0};
		nr[r->processes.at[range->process].input]++;
	}
	note_impossible(r, nr, "range has an impossible time, " FROM_OTHERS "it is left out",
		"ranges have impossible times, " FROM_OTHERS "they are left out");
}

static bool is_impossible_call(const struct sonde_call *c)
{
	return c->begin_ns > LAST_NS || c->end_ns > LAST_NS;
}

static void check_calls(struct sonde_records *r, uint64_t *nr)
{
	size_t i;

	for (i = 0; i < r->calls.nr; i++)
		nr[r->processes.at[r->calls.at[i].process].input] += is_impossible_call(&r->calls.at[i]);
	sonde_vec_filter(&r->calls, k, !is_impossible_call(&r->calls.at[k]));
	note_impossible(r, nr, "host call has an impossible time and is left out",
		"host calls have impossible times and are left out");
}

/* False when memory is short. */
static bool leave_out_impossible(struct sonde_records *r)
{
	struct vote *votes = sonde_calloc(2 * (r->processes.nr + 1), sizeof(*votes));
	uint64_t *nr = sonde_calloc(3 * (r->inputs.nr + 1), sizeof(*nr));
	bool ok = votes && nr;

	if (ok) {
		check_records(r, votes, nr);
		check_ranges(r, votes + r->processes.nr + 1, nr + r->inputs.nr + 1);
		check_calls(r, nr + 2 * (r->inputs.nr + 1));
	}
	sonde_free(votes);
	sonde_free(nr);
	return ok;
}

/* --- ranges that were never closed ----------------------------------------------------------------- */

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
		r->nr_unclosed += !r->ahead_ns &&
				  !r->inputs.at[r->processes.at[r->ranges.at[i].process].input].is_running;
		r->ranges.at[i].is_open = true;
		r->ranges.at[i].time.end_ns = last[r->ranges.at[i].process];
	}
	sonde_free(last);
	return true;
}

void sonde_inputs_note_unclosed(struct sonde_notes *notes, uint64_t nr)
{
	if (nr)
		sonde_note(notes,
			"%llu %s up to the program's last event, and may have lasted longer",
			(unsigned long long)nr, nr == 1 ? "range was never closed: it counts" : "ranges were never closed: they count");
}

void sonde_inputs_note_running(struct sonde_notes *notes, const struct sonde_input *inputs, size_t nr)
{
	unsigned nr_running = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		nr_running += inputs[i].is_running;
	if (nr_running)
		sonde_note(notes, "%u %s: ranges that are still open count up to %s", nr_running,
			nr_running == 1 ? "program still runs" : "programs still run",
			nr_running == 1 ? "its last event" : "their last events");
}

bool sonde_records__complete_times(struct sonde_records *r)
{
	size_t i;

	if (!leave_out_impossible(r))
		return false;
	for (i = 0; i < r->ranges.nr && !r->has_range_times; i++)
		r->has_range_times = r->ranges.at[i].time.end_ns || r->ranges.at[i].time.begin_ns;
	for (i = 0; i < r->records.nr && !r->has_record_times; i++)
		r->has_record_times = r->records.at[i].time.end_ns != 0;
	return close_open_ranges(r);
}

/* --- the same capture under two names -------------------------------------------------------------- */

/*
 * A capture and its copy, or a report and its CSV: every launch would count twice. Processes of two inputs are taken
 * for the same one when id, host and the sequence of functions and devices agree (a CSV demangles template arguments
 * in its own way). The sequence is a hash over texts, so that it means the same wherever it is compared.
 */

/* Extends the time in which a process is known to have run. */
static void extend_process(struct sonde_process *p, uint64_t first_ns, uint64_t last_ns)
{
	if (!first_ns || last_ns < first_ns)
		return;
	if (!p->first_ns || first_ns < p->first_ns)
		p->first_ns = first_ns;
	if (last_ns > p->last_ns)
		p->last_ns = last_ns;
}

void sonde_records__follow(struct sonde_records *r)
{
	size_t i;

	for (i = 0; i < r->ranges.nr; i++) {
		const struct sonde_range *range = &r->ranges.at[i];

		if (!range->is_inherited)
			extend_process(&r->processes.at[range->process], range->time.begin_ns, range->time.end_ns);
	}
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];
		struct sonde_process *p = &r->processes.at[sonde_record_caller(r, rec)->process];
		uint64_t name = r->strings.hashes[sonde_record_function(r, rec)->name];

		if (rec->when != SONDE_NOW)
			continue;
		p->trail = (p->trail ^ (name + sonde_record_queue(r, rec)->device)) * TRAIL;
		p->trail ^= p->trail >> 32;
		p->nr_launches++;
		extend_process(p, rec->time.start_ns, rec->time.end_ns);
	}
}

/* Whether two inputs were made at the same time; true if one of them does not say when. */
static bool are_of_one_time(const struct sonde_input *a, const struct sonde_input *b)
{
	return !a->created_s || !b->created_s || a->created_s == b->created_s;
}

/* Like every note, it is dropped when memory is short. */
void sonde_inputs_note_doubled(struct sonde_notes *notes, const struct sonde_input *inputs,
	const struct sonde_process *processes, size_t nr_processes)
{
	struct sonde_map seen = {0};
	uint64_t(*keys)[4] = sonde_calloc(nr_processes + 1, sizeof(*keys));
	uint32_t *first = sonde_calloc(nr_processes + 1, sizeof(*first)), i, n;
	bool is_new;

	for (i = 0; first && keys && i < nr_processes; i++) {
		const struct sonde_process *p = &processes[i];
		const struct sonde_input *in = &inputs[p->input], *other;

		keys[i][0] = p->pid;
		keys[i][1] = sonde_hash(p->host.p, p->host.n);
		keys[i][2] = p->nr_launches;
		keys[i][3] = p->trail;
		n = p->nr_launches ? sonde_map_add(&seen,
					     (struct sonde_str){(const char *)keys[i],
						     sizeof(keys[i])},
					     &is_new)
				   : SONDE_NONE;
		if (n == SONDE_NONE)
			continue;
		if (is_new)
			first[n] = i;
		other = &inputs[processes[first[n]].input];
		if (!are_of_one_time(other, in))
			first[n] = i; /* another run of the same program: copies of it come later */
		else if (other != in)
			sonde_note(notes,
				"%.*s and %.*s look like the same capture (same process, same "
				"kernels in the same order): their launches are counted twice",
				SONDE_STR_ARG(other->path), SONDE_STR_ARG(in->path));
	}
	sonde_free(keys);
	sonde_free(first);
	sonde_map_release(&seen);
}
