/*
 * How long launches waited to start, and communication that nothing hides.
 *
 * Communication is what kernels of NCCL do (`nccl…`). It is exposed while no
 * other kernel of the process runs on the device: then the GPU does nothing but
 * wait for other ranks and links.
 */
#include "fold/stay.h"

#include "base/bisect.h"
#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* Other kernels ran from `from_ns` to `to_ns`, and `before_ns` in all until then. */
struct stretch {
	uint64_t from_ns, to_ns, before_ns;
};

struct work {
	const struct sonde_launches *l;
	const struct sonde_stay *stay;
	SONDE_VEC(struct stretch) compute;
	struct sonde_track *tracks; /* of communication, by visit */
};

static bool is_comm(const struct sonde_launches *l, uint32_t launch)
{
	const struct sonde_record *rec = &l->records->records.at[launch];

	return rec->kind == SONDE_RESULT_KERNEL &&
	       sonde_kernel_communicates(sonde_records_str(l->records, rec->name));
}

static bool is_compute(const struct sonde_launches *l, uint32_t launch)
{
	uint8_t kind = l->records->records.at[launch].kind;

	return kind != SONDE_RESULT_MEMCPY && kind != SONDE_RESULT_MEMSET && !is_comm(l, launch);
}

/* One more kernel; they come by start. */
static bool add_compute(struct work *w, const struct sonde_record_time *time)
{
	struct stretch *last = w->compute.nr ? &w->compute.at[w->compute.nr - 1] : NULL, *new;
	uint64_t before = last ? last->before_ns + last->to_ns - last->from_ns : 0;

	if (time->end_ns <= time->start_ns)
		return true;
	if (last && time->start_ns <= last->to_ns) {
		last->to_ns = time->end_ns > last->to_ns ? time->end_ns : last->to_ns;
		return true;
	}
	new = sonde_vec_push(&w->compute);
	if (new)
		*new = (struct stretch){time->start_ns, time->end_ns, before};
	return new != NULL;
}

/* How long other kernels ran until `ns`. */
static uint64_t compute_until(const struct work *w, uint64_t ns)
{
	size_t low = 0;
	const struct stretch *s;

	sonde_bisect(low, w->compute.nr, mid, w->compute.at[mid].from_ns < ns);
	if (!low)
		return 0;
	s = &w->compute.at[low - 1];
	return s->before_ns + (ns < s->to_ns ? ns : s->to_ns) - s->from_ns;
}

static void add_comm(struct work *w, uint32_t visit, const struct sonde_record_time *time)
{
	struct sonde_waits *waits = &w->stay->at[visit].waits;
	struct sonde_track *track = &w->tracks[visit];
	uint64_t from = time->start_ns, hidden;

	if (!track->is_used)
		waits->comm_ns = waits->exposed_ns = 0;
	else if (track->last_ns > from)
		from = track->last_ns;
	sonde_track__extend(track, time);
	if (time->end_ns <= from)
		return;
	hidden = compute_until(w, time->end_ns) - compute_until(w, from);
	waits->comm_ns += (double)(time->end_ns - from);
	waits->exposed_ns += (double)(time->end_ns - from - hidden);
}

static void add_queue(struct sonde_waits *w, const struct sonde_record *rec)
{
	if (!rec->call_ns)
		return;
	if (!w->nr_queued++)
		w->queue_ns = 0;
	if (rec->time.start_ns > rec->call_ns)
		w->queue_ns += (double)(rec->time.start_ns - rec->call_ns);
}

/* Every region of a selected launch. */
static void add_launch(struct work *w, uint32_t launch)
{
	const struct sonde_record *rec = &w->l->records->records.at[launch];
	const struct sonde_place *place = &w->l->places.at[w->l->launches.at[launch].place];
	bool communicates = w->tracks && is_comm(w->l, launch);
	uint32_t k, region;

	for (k = 0; k < place->nr; k++)
		for (region = w->l->homes.at[place->first + k]; region != SONDE_NONE;
			region = w->l->regions.at[region].parent) {
			add_queue(&w->stay->at[w->stay->of[region]].waits, rec);
			if (communicates)
				add_comm(w, w->stay->of[region], &rec->time);
		}
}

/* When other kernels ran, if there is communication at all. */
static bool find_compute(struct work *w, const struct sonde_stamp *stamps, size_t nr)
{
	size_t i;
	bool ok = true;

	for (i = 0; i < nr && !is_comm(w->l, stamps[i].launch); i++)
		;
	if (i == nr)
		return true;
	w->tracks = sonde_calloc(w->stay->nr + 1, sizeof(*w->tracks));
	for (i = 0; i < nr && ok; i++)
		if (is_compute(w->l, stamps[i].launch))
			ok = add_compute(w, &w->l->records->records.at[stamps[i].launch].time);
	return ok && w->tracks;
}

bool sonde_waits__scope(const struct sonde_launches *l, const struct sonde_stay *stay,
	const struct sonde_stamp *stamps, size_t nr)
{
	struct work w = {.l = l, .stay = stay};
	bool ok = find_compute(&w, stamps, nr);
	size_t i;

	for (i = 0; i < nr && ok; i++)
		if (l->launches.at[stamps[i].launch].state == SONDE_LAUNCH_TAKEN)
			add_launch(&w, stamps[i].launch);
	sonde_free(w.tracks);
	sonde_vec_release(&w.compute);
	return ok;
}
