/*
 * The same capture under two names, a copy or a report and its CSV: every launch
 * would count twice. Processes of two inputs are taken for the same one when id,
 * host and the sequence of functions and devices agree (a CSV demangles template
 * arguments in its own way); one step per launch.
 */
#include "base/alloc.h"
#include "read/source_int.h"

/* What a process ran. */
struct trail {
	uint64_t pid, host, nr, hash;
};

static void follow(struct trail *trail, const struct sonde_record *rec)
{
	const uint64_t step[3] = {trail->hash, rec->device, rec->name};

	trail->hash = sonde_hash(step, sizeof(step));
	trail->nr++;
}

/* Two that say when they were made must agree. */
static bool are_of_one_time(const struct sonde_input *a, const struct sonde_input *b)
{
	return !a->created_s || !b->created_s || a->created_s == b->created_s;
}

static void compare(struct sonde_records *r, const struct trail *trails)
{
	struct sonde_map seen = {0};
	uint32_t *first = sonde_calloc(r->processes.nr, sizeof(*first)), i, n;
	bool is_new;

	for (i = 0; first && i < r->processes.nr; i++) {
		const struct sonde_input *in = &r->inputs.at[r->processes.at[i].input], *other;
		struct sonde_str key = {(const char *)&trails[i], sizeof(trails[i])};

		n = trails[i].nr ? sonde_map_add(&seen, key, &is_new) : SONDE_NONE;
		if (n == SONDE_NONE)
			continue;
		if (is_new)
			first[n] = i;
		other = &r->inputs.at[r->processes.at[first[n]].input];
		if (!are_of_one_time(other, in))
			first[n] = i; /* another run of the same: its copies come later */
		else if (other != in)
			sonde_note(&r->notes,
				"%.*s and %.*s look like the same capture (same process, same "
				"kernels in the same order): their launches are counted twice",
				SONDE_STR_ARG(other->path), SONDE_STR_ARG(in->path));
	}
	sonde_free(first);
	sonde_map_release(&seen);
}

/* As with every note, memory shortage drops it. */
void sonde_records__note_doubled(struct sonde_records *r)
{
	struct trail *trails;
	size_t i;

	if (r->inputs.nr < 2)
		return;
	trails = sonde_calloc(r->processes.nr, sizeof(*trails));
	for (i = 0; trails && i < r->processes.nr; i++) {
		const struct sonde_process *p = &r->processes.at[i];

		trails[i].pid = p->pid;
		trails[i].host = sonde_hash(p->host.p, p->host.n);
	}
	for (i = 0; trails && i < r->records.nr; i++)
		follow(&trails[r->records.at[i].process], &r->records.at[i]);
	if (trails)
		compare(r, trails);
	sonde_free(trails);
}
