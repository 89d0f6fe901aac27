/*
 * Captures with windows (capture.window): the device is sampled all the time, and what a program ran outside its
 * windows is in the samples but not among the launches. Taken for work of nobody it would be looked for in the
 * windows too, so such samples are left out.
 *
 * What a program ran is known from the first work of a window on, as work that was launched before it comes before
 * it, to the end of the last: what is launched later comes later. (On one stream; work of another that goes on into a
 * window is in its samples.)
 */
#include "fold/unmixing_int.h"

#include "base/bisect.h"

/* The first window of a process, or of a later one, that ends after `ns`. */
static size_t find_window(const struct sonde_timing *at, size_t nr, uint32_t process, uint64_t ns)
{
	size_t low = 0;

	sonde_bisect(low, nr, mid,
		at[mid].process < process || (at[mid].process == process && at[mid].end_ns <= ns));
	return low;
}

static void add_launch(struct sonde_unmixing *x, const struct sonde_launch *launch)
{
	const struct sonde_records *r = x->f->r;
	const struct sonde_record *rec = sonde_launch_record(x->f->l, launch);
	uint32_t process = x->f->l->scopes.at[launch->scope].process;
	size_t i = find_window(r->windows.at, r->windows.nr, process, rec->call_ns);
	int64_t offset = sonde_unmixing__offset(x);
	uint64_t begin = rec->time.start_ns + (uint64_t)offset, end = rec->time.end_ns + (uint64_t)offset;
	struct sonde_timing *known = i < r->windows.nr ? &x->known.at[i] : NULL;

	if (rec->call == SONDE_NONE || !known || known->process != process ||
		r->windows.at[i].begin_ns > rec->call_ns)
		return;
	known->begin_ns = begin < known->begin_ns ? begin : known->begin_ns;
	known->end_ns = end > known->end_ns ? end : known->end_ns;
}

bool sonde_unmixing__windows(struct sonde_unmixing *x)
{
	const struct sonde_launches *l = x->f->l;
	const struct sonde_records *r = x->f->r;
	size_t i;

	if (!sonde_vec_reserve(&x->known, r->windows.nr + 1))
		return false;
	for (i = 0; i < r->windows.nr; i++)
		x->known.at[i] = (struct sonde_timing){UINT64_MAX, 0, r->windows.at[i].process};
	x->known.nr = r->windows.nr;
	for (i = 0; i < l->launches.nr && r->windows.nr; i++)
		if (sonde_unmixing__is_of_device(x, l->launches.at[i].scope))
			add_launch(x, &l->launches.at[i]);
	sonde_vec_filter(&x->known, k, x->known.at[k].end_ns > 0); /* where it ran something here */
	return true;
}

bool sonde_unmixing__is_known(const struct sonde_unmixing *x, const struct sonde_sample_time *time)
{
	const struct sonde_timing *at = x->known.at;
	size_t i, first;

	for (first = 0; first < x->known.nr; first = find_window(at, x->known.nr, at[first].process, UINT64_MAX)) {
		i = find_window(at, x->known.nr, at[first].process, time->start_ns);
		if (i == x->known.nr || at[i].process != at[first].process ||
			at[i].begin_ns > time->start_ns || at[i].end_ns < time->end_ns)
			return false;
	}
	return true;
}
