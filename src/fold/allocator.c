/*
 * PyTorch's allocator by region: the memory it held at the begin and the end of an entry, as the program itself read
 * it (sonde run --modules).
 *
 * The peak inside an entry is the largest value read inside it: the readings of the entry and of entries inside it,
 * and the new value whenever PyTorch's own peak changed between two readings, as that much was held between them. So
 * our peak is never too high, and it is exact if the entry set a new peak.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct work {
	struct sonde_folding *f;
	const struct sonde_reading *at; /* the readings of the records */
	uint32_t *order; /* numbers of readings, sorted by process, device and time */
	size_t nr;
	double *most; /* tree of maxima; two leaves per reading, from 2 × nr on: the most held just before it, and held at it */
	uint32_t *begin, *end; /* by range: index in `order` of its reading, SONDE_NONE = not read */
};

static int by_device_and_time(const void *pa, const void *pb, void *context)
{
	const struct sonde_reading *at = context;
	uint32_t i = *(const uint32_t *)pa, k = *(const uint32_t *)pb;
	const struct sonde_reading *a = &at[i], *b = &at[k];

	if (a->process != b->process)
		return sonde_cmp(a->process, b->process);
	if (a->device != b->device)
		return sonde_cmp(a->device, b->device);
	return a->ns != b->ns ? sonde_cmp(a->ns, b->ns) : sonde_cmp(i, k);
}

static const struct sonde_reading *nth_reading(const struct work *w, size_t i)
{
	return &w->at[w->order[i]];
}

static void fill_maxima(struct work *w)
{
	size_t i;

	for (i = 0; i < w->nr; i++) {
		const struct sonde_reading *now = nth_reading(w, i), *last = i ? nth_reading(w, i - 1) : NULL;
		bool is_next = last && last->process == now->process && last->device == now->device;

		/*
		 * A lower peak means that the program reset it since the last reading, so the new peak was reached
		 * since then too.
		 */
		w->most[2 * w->nr + 2 * i] = is_next && now->peak != last->peak ? (double)now->peak : 0;
		w->most[2 * w->nr + 2 * i + 1] = (double)now->allocated;
	}
	for (i = 2 * w->nr; i-- > 1;)
		w->most[i] = fmax(w->most[2 * i], w->most[2 * i + 1]);
}

/* The most memory held from reading `from` to reading `to`. */
static double most_between(const struct work *w, size_t from, size_t to)
{
	size_t a = 2 * w->nr + 2 * from + 1, b = 2 * w->nr + 2 * to + 2;
	double most = 0;

	for (; a < b; a /= 2, b /= 2) {
		if (a & 1)
			most = fmax(most, w->most[a++]);
		if (b & 1)
			most = fmax(most, w->most[--b]);
	}
	return most;
}

static void add_entry(const struct work *w, uint32_t range)
{
	const struct sonde_reading *begin = nth_reading(w, w->begin[range]), *end = nth_reading(w, w->end[range]);
	struct sonde_times *t = &w->f->c->visits.at[w->f->visit_of[range]].times;
	struct sonde_allocator_use *u = &t->allocator;
	double most = most_between(w, w->begin[range], w->end[range]), rise = most - (double)begin->allocated;

	if (isnan(u->entries)) {
		*u = (struct sonde_allocator_use){0};
		t->allocator_end = 0;
	}
	u->entries++;
	u->peak = fmax(u->peak, most);
	u->rise = fmax(u->rise, rise);
	u->net += (double)end->allocated - (double)begin->allocated;
	t->allocator_end += (double)end->allocated;
}

bool sonde_fold__allocator(struct sonde_folding *f)
{
	const struct sonde_records *r = f->r;
	struct work w = {.f = f, .at = r->readings.at, .nr = r->readings.nr};
	size_t i;
	bool ok;

	if (!w.nr || !f->visit_of)
		return true;
	w.order = sonde_malloc(w.nr * sizeof(*w.order));
	w.most = sonde_calloc(4 * w.nr, sizeof(*w.most));
	w.begin = sonde_malloc((2 * r->ranges.nr + 1) * sizeof(*w.begin));
	ok = w.order && w.most && w.begin;
	if (ok) {
		w.end = w.begin + r->ranges.nr;
		memset(w.begin, 0xff, 2 * r->ranges.nr * sizeof(*w.begin));
		for (i = 0; i < w.nr; i++)
			w.order[i] = (uint32_t)i;
		qsort_r(w.order, w.nr, sizeof(*w.order), by_device_and_time, (void *)(uintptr_t)w.at);
		fill_maxima(&w);
	}
	for (i = 0; ok && i < w.nr; i++)
		(nth_reading(&w, i)->is_end ? w.end : w.begin)[nth_reading(&w, i)->range] = (uint32_t)i;
	for (i = 0; ok && i < r->ranges.nr; i++)
		if (w.begin[i] != SONDE_NONE && w.end[i] != SONDE_NONE && w.begin[i] < w.end[i] && f->visit_of[i] != SONDE_NONE &&
			nth_reading(&w, w.begin[i])->device == nth_reading(&w, w.end[i])->device)
			add_entry(&w, (uint32_t)i);
	sonde_free(w.order);
	sonde_free(w.most);
	sonde_free(w.begin);
	return ok;
}
