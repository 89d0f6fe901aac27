/*
 * The usual entries of a region. The first entries may compile, load libraries or fill caches; now and then one waits for
 * something that does not happen again. Costs of the step are means over the other entries.
 */
#include "tree/findings_int.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/quantile.h"
#include "tree/idle.h"

#include <math.h>

#define SLOW	   2.0 /* times the median: an entry that takes longer is slow */
#define OFTEN	   3   /* with fewer entries, none is usual; as many slow ones after the first entries are usual */
#define MOST_RARE  4   /* of this many entries, at most one is slow without being usual; the first ones do not count */

/* How long it took from the begin of an entry to that of the next one; of the last entry, and `alone`, the entry itself. */
static double period_of(const struct sonde_entry_run *run, size_t i, bool alone)
{
	double wall = (double)sonde_entry__wall_ns(&run->at[i]);

	if (alone || i + 1 == run->nr)
		return wall;
	return fmax(wall, (double)(run->at[i + 1].begin_ns - run->at[i].begin_ns) / run->step);
}

/* Leaves out slow entries of one scope: those before the first one that is not slow, and others if they are few. */
static void leave_out(bool *is_left_out, const struct sonde_entry_run *run, double *periods, bool alone)
{
	double slow;
	size_t i, nr_first = 0, nr_later = 0;

	for (i = 0; i < run->nr; i++)
		periods[i] = period_of(run, i, alone);
	slow = SLOW * sonde_median(periods, run->nr);
	while (nr_first < run->nr && period_of(run, nr_first, alone) > slow)
		is_left_out[nr_first++] = true;
	for (i = nr_first; i < run->nr; i++)
		nr_later += period_of(run, i, alone) > slow;
	for (i = nr_first; i < run->nr && nr_later < OFTEN && nr_later * MOST_RARE <= run->nr; i++)
		is_left_out[i] = period_of(run, i, alone) > slow;
}

bool sonde_usual__find(struct sonde_usual *u, const struct sonde_finder *x, uint32_t node)
{
	size_t i, k, first = 0;
	double *periods;
	bool ok;

	*u = (struct sonde_usual){0};
	if (!sonde_entry_runs_find(&u->runs, x->t, x->r, &x->r->nodes.at[node]))
		return false;
	u->is_left_out = sonde_calloc(u->runs.nr_entries + 1, sizeof(*u->is_left_out));
	periods = sonde_malloc((u->runs.nr_entries + 1) * sizeof(*periods));
	ok = u->is_left_out && periods;
	for (i = 0; ok && i < u->runs.at.nr; first += u->runs.at.at[i++].nr) {
		const struct sonde_entry_run *run = &u->runs.at.at[i];

		if (run->nr >= OFTEN)
			leave_out(&u->is_left_out[first], run, periods, node != x->out->step);
		for (k = 0; k < run->nr; k++)
			u->nr_left_out += u->is_left_out[first + k];
	}
	sonde_free(periods);
	return ok;
}

void sonde_usual__release(struct sonde_usual *u)
{
	sonde_entry_runs_release(&u->runs);
	sonde_free(u->is_left_out);
	u->is_left_out = NULL;
}

/* --- what usual entries cost ---------------------------------------------------------------------- */

static double wall_of(const struct sonde_entry *e)
{
	return (double)sonde_entry__wall_ns(e);
}

static double host_of(const struct sonde_entry *e)
{
	return (double)e->host_ns;
}

static double span_of(const struct sonde_entry *e)
{
	return (double)e->span_ns;
}

static double gpu_of(const struct sonde_entry *e)
{
	return (double)e->gpu_ns;
}

static double idle_of(const struct sonde_entry *e)
{
	return e->span_ns > e->gpu_ns ? (double)(e->span_ns - e->gpu_ns) : 0;
}

/* How long an entry was open while nothing of it ran: before its first and after its last launch, if there are any. */
static double around_of(const struct sonde_entry *e)
{
	return e->host_ns > e->span_ns ? (double)(e->host_ns - e->span_ns) : 0;
}

/*
 * By what to multiply the sum of a time over all entries, so that it is what it would be if all entries were usual. An
 * entry of which only every so many-th is known stands for so many; one that is left out stands for itself.
 */
static double share_of(const struct sonde_usual *u, double (*time_of)(const struct sonde_entry *e))
{
	double all = 0, nr_all = 0, kept = 0, nr_kept = 0;
	size_t i, k, at = 0;

	for (i = 0; u->nr_left_out && i < u->runs.at.nr; i++)
		for (k = 0; k < u->runs.at.at[i].nr; k++, at++) {
			double nr = u->is_left_out[at] ? 1 : u->runs.at.at[i].step, sum = nr * time_of(&u->runs.at.at[i].at[k]);

			all += sum;
			nr_all += nr;
			kept += u->is_left_out[at] ? 0 : sum;
			nr_kept += u->is_left_out[at] ? 0 : nr;
		}
	return all > 0 && nr_kept > 0 ? kept / nr_kept * nr_all / all : 1;
}

/* The entry that is left out and in which a gap begins, or after which, before the next one; NULL = none. */
static const struct sonde_entry *entry_before(const struct sonde_usual *u, const struct sonde_gap *gap)
{
	size_t i, k, first = 0;

	for (i = 0; i < u->runs.at.nr; first += u->runs.at.at[i++].nr) {
		const struct sonde_entry_run *run = &u->runs.at.at[i];

		k = 0;
		if (run->scope != gap->scope)
			continue;
		sonde_bisect(k, run->nr, mid, run->at[mid].begin_ns <= gap->begin_ns);
		if (k && u->is_left_out[first + k - 1])
			return &run->at[k - 1];
	}
	return NULL;
}

bool sonde_usual__leaves_out(const struct sonde_usual *u, const struct sonde_gap *gap)
{
	return u->nr_left_out && entry_before(u, gap);
}

/*
 * The idle time beyond the usual has the causes of the longest gaps in the entries that are left out; what they do not
 * explain is divided among all causes alike.
 */
static void share_idle(struct sonde_usual_shares *s, const struct sonde_usual *u, const struct sonde_finder *x, const double by[SONDE_NR_IDLE_CAUSES])
{
	const struct sonde_gap *gaps[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(x->t, x->r, gaps), i, c;
	double left[SONDE_NR_IDLE_CAUSES], share = share_of(u, idle_of), sum = 0, excess, part;

	for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++) {
		left[c] = by[c] > 0 ? by[c] : 0;
		sum += left[c];
	}
	excess = sum * (1 - share);
	for (i = 0; i < nr && excess > 0; i++) {
		const struct sonde_entry *e = entry_before(u, gaps[i]);

		if (!e || gaps[i]->begin_ns + gaps[i]->ns > e->begin_ns + sonde_entry__wall_ns(e))
			continue;
		part = fmin(fmin(excess, (double)gaps[i]->ns), left[gaps[i]->cause]);
		left[gaps[i]->cause] -= part;
		excess -= part;
		sum -= part;
	}
	for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++)
		s->idle[c] = by[c] > 0 && sum > 0 ? left[c] / by[c] * (1 - excess / sum) : share;
}

/* How long nothing ran after the last launch of entries that are left out, as far as the longest gaps show it. */
static double late_ns(const struct sonde_usual *u, const struct sonde_finder *x)
{
	const struct sonde_gap *gaps[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(x->t, x->r, gaps), i;
	double sum = 0;

	for (i = 0; i < nr; i++) {
		const struct sonde_entry *e = entry_before(u, gaps[i]);
		uint64_t end = e ? e->begin_ns + e->host_ns : 0;

		if (end > gaps[i]->begin_ns && gaps[i]->begin_ns + gaps[i]->ns > end)
			sum += (double)(end - gaps[i]->begin_ns);
	}
	return sum;
}

/* Of the time around the work, what is beyond the usual is before it, unless a gap shows that it is after it. */
static void share_around(struct sonde_usual_shares *s, const struct sonde_usual *u, const struct sonde_finder *x, const struct sonde_node *n)
{
	double around = sonde_usual__around(u, n), tail = sonde_node__at(n, offsetof(struct sonde_node, times.tail_ns));
	double share = share_of(u, around_of), excess = around * (1 - share), head = fmax(0, around - tail), late;

	s->head = s->tail = share;
	if (!(excess > 0))
		return;
	late = fmin(fmax(late_ns(u, x), excess - head), fmin(excess, tail));
	s->head = head > 0 ? fmax(0, 1 - (excess - late) / head) : 1;
	s->tail = tail > 0 ? 1 - late / tail : 1;
}

double sonde_usual__around(const struct sonde_usual *u, const struct sonde_node *n)
{
	double sum = 0, nr = 0;
	size_t i, k, at = 0;

	for (i = 0; i < u->runs.at.nr; i++)
		for (k = 0; k < u->runs.at.at[i].nr; k++, at++) {
			double times = u->is_left_out[at] ? 1 : u->runs.at.at[i].step;

			nr += times;
			sum += times * around_of(&u->runs.at.at[i].at[k]);
		}
	return nr > 0 ? sum * (double)n->instances / nr : 0;
}

void sonde_usual__share(struct sonde_usual_shares *s, const struct sonde_usual *u, const struct sonde_finder *x, uint32_t node)
{
	const struct sonde_node *n = &x->r->nodes.at[node];
	bool is_host = n->times.host_ns >= n->times.busy_ns + n->times.idle_ns || isnan(n->times.busy_ns + n->times.idle_ns);
	size_t c;

	*s = (struct sonde_usual_shares){.wall = 1, .gpu = 1, .head = 1, .tail = 1};
	for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++)
		s->idle[c] = 1;
	if (!u->nr_left_out)
		return;
	s->wall = share_of(u, isnan(n->times.host_ns) ? wall_of : is_host ? host_of : span_of);
	s->gpu = share_of(u, gpu_of);
	share_idle(s, u, x, n->times.idle_by);
	share_around(s, u, x, n);
}
