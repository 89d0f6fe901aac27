/*
 * Communication that nothing hides.
 *
 * Communication is what kernels of NCCL do (`nccl…`). It is exposed while no
 * other kernel of the process runs on the device: then the GPU does nothing but
 * wait for other ranks and links.
 */
#include "fold/fold_int.h"
#include "fold/stay.h"

#include "base/bisect.h"
#include "base/alloc.h"

/* Other kernels ran from `from_ns` to `to_ns`, and `before_ns` in all until then. */
struct stretch {
	uint64_t from_ns, to_ns, before_ns;
};

struct work {
	const struct sonde_folding *f;
	const struct sonde_stay *stay;
	SONDE_VEC(struct stretch) compute;
	struct sonde_track *tracks; /* of communication, by visit */
};

static const struct sonde_record *record_of(const struct work *w, const struct sonde_stamp *s)
{
	return &w->f->r->records.at[s->launch];
}

static bool is_compute(const struct work *w, const struct sonde_record *rec)
{
	return rec->kind != SONDE_RESULT_MEMCPY && rec->kind != SONDE_RESULT_MEMSET &&
	       !sonde_fold__communicates(w->f, rec);
}

/* One more kernel; they come by start. */
static bool add_compute(struct work *w, const struct sonde_record_time *time)
{
	struct stretch *last = w->compute.nr ? &w->compute.at[w->compute.nr - 1] : NULL;
	uint64_t before = last ? last->before_ns + last->to_ns - last->from_ns : 0;

	if (time->end_ns <= time->start_ns)
		return true;
	if (last && time->start_ns <= last->to_ns) {
		last->to_ns = time->end_ns > last->to_ns ? time->end_ns : last->to_ns;
		return true;
	}
	return sonde_vec_put(&w->compute, (struct stretch){time->start_ns, time->end_ns, before});
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

/* Every region of a selected launch. */
static void add_launch(struct work *w, const struct sonde_stamp *s)
{
	const struct sonde_launches *l = w->f->l;
	uint32_t region;

	SONDE_EACH_REGION(l, l->launches.at[s->launch].place, region)
		add_comm(w, w->stay->of[region], &s->time);
}

bool sonde_waits__scope(const struct sonde_folding *f, const struct sonde_stay *stay)
{
	struct work w = {.f = f, .stay = stay};
	const struct sonde_stamp *stamps = stay->stamps;
	size_t nr = stay->nr_stamps, i;
	bool ok = true;

	if (!f->communicates)
		return true;
	w.tracks = sonde_calloc(stay->nr + 1, sizeof(*w.tracks));
	for (i = 0; i < nr && ok; i++)
		if (is_compute(&w, record_of(&w, &stamps[i])))
			ok = add_compute(&w, &stamps[i].time);
	for (i = 0; i < nr && ok && w.tracks; i++)
		if (f->l->launches.at[stamps[i].launch].state == SONDE_LAUNCH_TAKEN &&
			sonde_fold__communicates(f, record_of(&w, &stamps[i])))
			add_launch(&w, &stamps[i]);
	ok = ok && w.tracks;
	sonde_free(w.tracks);
	sonde_vec_release(&w.compute);
	return ok;
}
