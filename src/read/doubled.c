/*
 * The same capture under two names, a copy or a report and its CSV: every launch
 * would count twice. Processes of two inputs are taken for the same one when id,
 * host and the sequence of functions and devices agree (a CSV demangles template
 * arguments in its own way). The sequence is a hash over texts, so that it means
 * the same wherever it is compared.
 */
#include "base/alloc.h"
#include "read/source_int.h"

#define TRAIL 0x9e3779b97f4a7c15u /* odd, and its bits look like chance */

/* A moment that a process is known to have run at. */
static void extend(struct sonde_process *p, uint64_t first_ns, uint64_t last_ns)
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
			extend(&r->processes.at[range->process], range->time.begin_ns, range->time.end_ns);
	}
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];
		struct sonde_process *p = &r->processes.at[sonde_record_caller(r, rec)->process];
		uint64_t name = r->strings.hashes[sonde_record_function(r, rec)->name];

		p->trail = (p->trail ^ (name + sonde_record_queue(r, rec)->device)) * TRAIL;
		p->trail ^= p->trail >> 32;
		p->nr_launches++;
		extend(p, rec->time.start_ns, rec->time.end_ns);
	}
}

/* Two that say when they were made must agree. */
static bool are_of_one_time(const struct sonde_input *a, const struct sonde_input *b)
{
	return !a->created_s || !b->created_s || a->created_s == b->created_s;
}

/* As with every note, memory shortage drops it. */
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
			first[n] = i; /* another run of the same: its copies come later */
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
