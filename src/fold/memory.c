/*
 * GPU memory by region: bytes allocated and freed while a region was open, bytes
 * allocated in an entry and still held when it ended, and the most that the process
 * held on the device meanwhile.
 */
#include "fold/fold_int.h"

#include "base/bisect.h"
#include "base/alloc.h"

#include <math.h>
#include <string.h>

struct work {
	struct sonde_cells *c;
	const struct sonde_launches *l;
	const struct sonde_records *r;
	uint32_t *visit_of;	/* by region: its visit in the current scope; SONDE_NONE = none */
	struct sonde_map live;	/* addresses */
	SONDE_VEC(uint32_t) of; /* by number in `live`: the allocation at this address, SONDE_NONE = freed */
	SONDE_VEC(uint64_t) ns; /* times at which memory changed, in order */
	double *most;		/* bytes held after each of these changes, as a tree of maxima: leaves from `ns.nr` */
};

/* The bytes that one operation adds to a visit. */
struct change {
	double allocated, freed, left;
	uint64_t until_ns; /* `left` counts only if the entry was still open at this time */
};

static void add_change(struct sonde_visit *v, const struct change *by, const struct sonde_range *range)
{
	bool is_left = range->is_open || range->time.end_ns >= by->until_ns;

	if (isnan(v->times.memory.allocated))
		v->times.memory.allocated = v->times.memory.freed = v->times.memory.left = 0;
	v->times.memory.allocated += by->allocated;
	v->times.memory.freed += by->freed;
	v->times.memory.left += is_left ? by->left : 0;
}

/* Adds a change to all regions of a set of open ranges, once per region. */
static void add_change_to_regions(struct work *w, uint32_t set, const struct change *by)
{
	const uint32_t *members;
	struct sonde_set s = sonde_launches_set(w->l, set, &members);
	uint32_t i, range, region;

	for (i = 0; i < s.nr; i++) {
		region = w->l->region_of.at[members[i]];
		if (i && region != SONDE_NONE && region == w->l->region_of.at[members[i - 1]])
			continue; /* a second open entry of one start/end label: the change counts in the first entry */
		for (range = members[i]; range != SONDE_NONE; range = w->r->ranges.at[range].parent) {
			const struct sonde_range *at = &w->r->ranges.at[range];

			/* The label rule (`A::A1` below `A`) may put regions above that of an outermost range. */
			for (region = w->l->region_of.at[range]; region != SONDE_NONE;
				region = w->l->regions.at[region].parent) {
				if (w->visit_of[region] != SONDE_NONE)
					add_change(&w->c->visits.at[w->visit_of[region]], by, at);
				if (at->parent != SONDE_NONE)
					break;
			}
		}
	}
}

/* Returns the slot for an address in `of`: the allocation there, SONDE_NONE for a new address. NULL: no memory. */
static uint32_t *slot_of(struct work *w, const struct sonde_memory *m)
{
	bool is_new = false;
	uint32_t number = sonde_map_add(&w->live, SONDE_BYTES(m->address), &is_new);
	uint32_t *slot = number == SONDE_NONE ? NULL
			 : is_new	      ? sonde_vec_push(&w->of)
					      : &w->of.at[number];

	if (slot && is_new)
		*slot = SONDE_NONE;
	return slot;
}

/* Handles one allocation or free. `*held` is the bytes that the process holds on the device. */
static bool take_operation(struct work *w, uint32_t number, double *held)
{
	const struct sonde_memory *m = &w->r->memory.at[number];
	const uint32_t *open = w->l->memory_open.at;
	uint32_t *slot = slot_of(w, m), taken;
	bool is_counted = m->when == SONDE_NOW;
	double bytes = (double)m->nr_bytes;

	if (!slot)
		return false;
	taken = *slot;
	*slot = m->is_free ? SONDE_NONE : number;
	/*
	 * There is an allocation at the address. A free frees it; if memory is allocated there again, we did not see the
	 * free, for example between two windows. A free without an allocation frees memory from before the capture.
	 */
	if (taken != SONDE_NONE) {
		double old = (double)w->r->memory.at[taken].nr_bytes;

		bytes = m->is_free ? old : bytes;
		*held -= old;
		if (is_counted)
			add_change_to_regions(
				w, open[taken], &(struct change){.left = -old, .until_ns = m->ns});
	}
	*held += m->is_free ? 0 : bytes;
	if (!is_counted)
		return true;
	add_change_to_regions(w, open[number],
		m->is_free ? &(struct change){.freed = bytes} : &(struct change){.allocated = bytes, .left = bytes});
	return true;
}

/* The number of changes up to `ns`. */
static size_t changes_until(const struct work *w, uint64_t ns)
{
	size_t low = 0;

	sonde_bisect(low, w->ns.nr, mid, w->ns.at[mid] <= ns);
	return low;
}

/* The most memory held between two moments. */
static double most_between(const struct work *w, uint64_t from_ns, uint64_t to_ns)
{
	size_t nr = w->ns.nr, from = changes_until(w, from_ns), to = changes_until(w, to_ns);
	double most = from ? w->most[nr + from - 1] : 0;

	for (from += nr, to += nr; from < to; from /= 2, to /= 2) {
		if (from & 1) {
			most = w->most[from] > most ? w->most[from] : most;
			from++;
		}
		if (to & 1) {
			to--;
			most = w->most[to] > most ? w->most[to] : most;
		}
	}
	return most;
}

static void find_peaks(struct work *w, uint32_t process)
{
	uint64_t until_ns = w->r->ahead_ns ? w->r->ahead_ns : UINT64_MAX;
	size_t i;

	for (i = w->ns.nr; i-- > 1;)
		w->most[i] = w->most[2 * i] > w->most[2 * i + 1] ? w->most[2 * i]
								 : w->most[2 * i + 1];
	for (i = 0; i < w->r->ranges.nr; i++) {
		const struct sonde_range *range = &w->r->ranges.at[i];
		uint32_t region = w->l->region_of.at[i];
		struct sonde_visit *v;
		double most;

		if (range->process != process || region == SONDE_NONE || !range->time.end_ns || range->ended == SONDE_BEFORE ||
			w->visit_of[region] == SONDE_NONE || range->time.begin_ns > until_ns)
			continue;
		v = &w->c->visits.at[w->visit_of[region]];
		most = most_between(w, range->time.begin_ns,
			range->time.end_ns < until_ns ? range->time.end_ns : until_ns);
		if (isnan(v->times.memory.peak) || most > v->times.memory.peak)
			v->times.memory.peak = most;
	}
}

static bool take_scope(struct work *w, const struct sonde_scope *scope)
{
	double held = 0;
	size_t i;

	sonde_map_release(&w->live);
	w->of.nr = w->ns.nr = 0;
	sonde_free(w->most);
	w->most = sonde_calloc(2 * w->r->memory.nr + 2, sizeof(*w->most));
	if (!w->most)
		return false;
	for (i = 0; i < w->r->memory.nr; i++) {
		const struct sonde_memory *m = &w->r->memory.at[i];

		if (m->process != scope->process || m->device != scope->device || m->is_host)
			continue;
		if (!sonde_vec_put(&w->ns, m->ns) || !take_operation(w, (uint32_t)i, &held))
			return false;
		w->most[w->ns.nr - 1] = held;
	}
	memmove(&w->most[w->ns.nr], w->most, w->ns.nr * sizeof(*w->most)); /* to the place of the leaves */
	if (w->ns.nr)
		find_peaks(w, scope->process);
	return true;
}

bool sonde_fold__memory(struct sonde_folding *f)
{
	struct sonde_cells *c = f->c;
	const struct sonde_launches *l = f->l;
	struct work w = {.c = c, .l = l, .r = f->r};
	size_t i, visit = 0;
	bool ok;

	if (!f->r->memory.nr)
		return true;
	w.visit_of = sonde_arena_alloc(&f->scratch, (l->regions.nr + 1) * sizeof(*w.visit_of));
	ok = w.visit_of != NULL;
	for (i = 0; i < l->scopes.nr && ok; i++) {
		memset(w.visit_of, 0xff, l->regions.nr * sizeof(*w.visit_of));
		for (; visit < c->visits.nr && c->visits.at[visit].scope == i; visit++)
			w.visit_of[c->visits.at[visit].region] = (uint32_t)visit;
		ok = take_scope(&w, &l->scopes.at[i]);
	}
	sonde_free(w.most);
	sonde_map_release(&w.live);
	sonde_vec_release(&w.of);
	sonde_vec_release(&w.ns);
	return ok;
}
