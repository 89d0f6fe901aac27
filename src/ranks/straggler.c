/*
 * Stragglers: who is slow, where, and the sentence about it. slow_causes.c decides why.
 *
 * In each region the slowest rank is compared with the median of the others. It is slow if it is beyond what the others
 * differ by (slow_causes.c), and if that matters: 5 % of the region, or 1 % of all the work of the rank. A few ranks do
 * not show how much ranks usually differ, so with few it must be 5 % of the region.
 */
#include "ranks/ranks_int.h"

#include "base/alloc.h"
#include "base/bisect.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_EXCESS  0.05  /* share of the others' time in the region */
#define FEW	      6	    /* fewer ranks do not show how much ranks usually differ */
#define LEAST_IDLE    0.02  /* replaces SONDE_LEAST_COST for idle times, which vary more */
#define LEAST_LAST    0.5   /* a rank or host must be last at this share of the collectives … */
#define BEYOND_CHANCE 0.167 /* … and at this much more than its fair share of them */
#define NR_STRAGGLERS 5
#define NOT_SLOWER 0.1 /* if slower kernels explain less of a rank's lateness, the sentence says that they are not slower */

struct straggler_search {
	struct sonde_ranks_build *x;
	const struct sonde_rank_times *times; /* sorted by region, then time */
	bool *is_named; /* by rank: it, or its host, has a sentence already */
	double *scratch; /* room for one number per rank */
};

static int by_region_and_time(const void *pa, const void *pb)
{
	const struct sonde_rank_time *a = pa, *b = pb;
	int c = sonde_cmp(a->region, b->region);

	c = c ? c : sonde_cmp(a->ns, b->ns);
	return c ? c : sonde_cmp(a->rank, b->rank);
}

void sonde_rank_times_sort(struct sonde_rank_times *t)
{
	sonde_vec_sort(t, by_region_and_time);
}

const struct sonde_rank_time *sonde_rank_times_of(const struct sonde_rank_times *t, uint32_t region, size_t *nr)
{
	size_t low = 0, end;

	sonde_bisect(low, t->nr, mid, t->at[mid].region < region);
	for (end = low; end < t->nr && t->at[end].region == region; end++)
		;
	*nr = end - low;
	return &t->at[low];
}

/* Whether the slowest of two or more sorted ranks, or its whole host, is beyond what the others differ by. */
static bool is_beyond(const struct straggler_search *f, const struct sonde_rank_time *at, size_t nr)
{
	double others;
	size_t i;

	for (i = 0; i < nr; i++)
		f->scratch[i] = at[i].ns;
	return sonde_beyond__one(f->scratch, nr) || sonde_slow__count_node(f->x, at, nr, &others);
}

/* `at`: the times of one region, sorted, of two or more ranks. */
static bool is_slow(const struct straggler_search *f, const struct sonde_rank_time *at, size_t nr)
{
	double others = sonde_rank_times_median(at, nr - 1), excess = at[nr - 1].ns - others;

	return (excess >= LEAST_EXCESS * others ||
		       (nr >= FEW && excess >= SONDE_LEAST_COST * f->x->r->rows.at[at[nr - 1].rank].work_ns)) &&
	       is_beyond(f, at, nr);
}

/* Makes sorted times of ranks from a number per visit. Ranks that are added up have times only for work_ns. */
static void sort_times(struct sonde_rank_times *to, const struct sonde_ranks_build *x, const double *by_visit)
{
	const struct sonde_cells *c = x->c;
	size_t i;

	for (i = 0; i < c->visits.nr; i++)
		if (x->row_of[c->visits.at[i].scope] != SONDE_NONE && by_visit[i] > 0)
			sonde_put(&x->r->arena, to,
				(struct sonde_rank_time){c->visits.at[i].region, x->row_of[c->visits.at[i].scope], i, by_visit[i]});
	for (i = 0; i < c->folded_times.nr && by_visit == x->r->work_ns; i++)
		if (c->folded_times.at[i].work_ns > 0)
			sonde_put(&x->r->arena, to,
				(struct sonde_rank_time){c->folded_times.at[i].region, x->row_of_folded[c->folded_times.at[i].folded_scope],
					SIZE_MAX, c->folded_times.at[i].work_ns});
	sonde_rank_times_sort(to);
}

/* The child of `region` in which the same rank has most of the excess; SONDE_NONE = there is none. */
static uint32_t inner_slow_region(const struct straggler_search *f, uint32_t region, uint32_t rank, double excess_ns)
{
	const struct sonde_rank_spread *s;
	size_t i;

	for (i = 0; i < f->x->r->spreads.nr; i++) {
		s = &f->x->r->spreads.at[i];
		if (f->x->c->regions.at[s->region].parent == region && s->is_slow && s->slowest == rank &&
			s->max_ns - s->others_ns >= SONDE_MOST_OF * excess_ns)
			return s->region;
	}
	return SONDE_NONE;
}

static uint32_t innermost_slow_region(const struct straggler_search *f, uint32_t region, uint32_t rank)
{
	uint32_t next = region;
	size_t nr;

	while (next != SONDE_NONE) {
		const struct sonde_rank_time *at = sonde_rank_times_of(f->times, region = next, &nr);

		next = inner_slow_region(f, region, rank, at[nr - 1].ns - sonde_rank_times_median(at, nr - 1));
	}
	return region;
}

static void add_spreads(struct straggler_search *f)
{
	size_t i, nr;

	for (i = 0; i < f->times->nr; i += nr) {
		struct sonde_rank_spread *s = sonde_push(&f->x->r->arena, &f->x->r->spreads);
		const struct sonde_rank_time *at = sonde_rank_times_of(f->times, f->times->at[i].region, &nr);

		*s = (struct sonde_rank_spread){.region = at->region,
			.nr = (uint32_t)nr,
			.slowest = at[nr - 1].rank,
			.fastest = at->rank,
			.min_ns = at->ns,
			.median_ns = sonde_rank_times_median(at, nr),
			.max_ns = at[nr - 1].ns,
			.others_ns = sonde_rank_times_median(at, nr - 1),
			.is_slow = nr > 1 && is_slow(f, at, nr)};
		if (s->is_slow)
			s->cause = sonde_slow__judge(f->x, at, nr);
	}
}

/* Fills in the rest of a straggler, and marks it, or all ranks of its slow host, as named. */
static void finish_straggler(struct straggler_search *f, struct sonde_straggler *s)
{
	const struct sonde_ranks *r = f->x->r;
	size_t i;

	s->slower_share = sonde_slow__share_of(f->x, s->rank, SIZE_MAX);
	sonde_slow__add_clocks(f->x, s);
	s->nr = r->rows.at[s->rank].nr;
	for (i = 0; i < r->rows.nr; i++) {
		if (i != s->rank && (s->nr_ranks < 2 || !sonde_str_eq(r->rows.at[i].process->host,
								r->rows.at[s->rank].process->host)))
			continue;
		f->is_named[i] = true;
		s->nr_last += r->rows.at[i].nr_last;
	}
}

/* Adds the straggler of a region. The cause is that of the innermost region that explains the excess. */
static void add_straggler(struct straggler_search *f, uint32_t region, bool is_idle)
{
	struct sonde_straggler *s = sonde_push(&f->x->r->arena, &f->x->r->stragglers);
	const struct sonde_rank_time *at;
	uint32_t nr_node, within;
	size_t nr;

	at = sonde_rank_times_of(f->times, region, &nr);
	within = innermost_slow_region(f, region, at[nr - 1].rank);
	at = sonde_rank_times_of(f->times, within, &nr);
	s->cause = is_idle ? SONDE_SLOW_IDLE : sonde_slow__judge(f->x, at, nr);
	if (s->cause == SONDE_SLOW_GPU) /* a GPU is slow everywhere, so name the whole region */
		at = sonde_rank_times_of(f->times, within = region, &nr);
	s->rank = at[nr - 1].rank;
	s->region = within;
	s->ns = at[nr - 1].ns;
	s->others_ns = sonde_rank_times_median(at, nr - 1);
	s->nr_ranks = 1;
	nr_node = sonde_slow__count_node(f->x, at, nr, &s->others_ns);
	if (nr_node) {
		s->nr_ranks = nr_node;
		s->cause = SONDE_SLOW_NODE;
	}
	finish_straggler(f, s);
}

/* The slow region that costs most and whose slowest rank has no sentence yet; SONDE_NONE = there is none. */
static uint32_t worst_region(const struct straggler_search *f, double least_cost)
{
	uint32_t region = SONDE_NONE;
	double cost = 0;
	size_t i, nr;

	for (i = 0; i < f->times->nr; i += nr) {
		const struct sonde_rank_time *at = sonde_rank_times_of(f->times, f->times->at[i].region, &nr);
		const struct sonde_rank_time *top = &at[nr - 1];
		double excess;

		if (nr < 2 || f->is_named[top->rank])
			continue;
		excess = top->ns - sonde_rank_times_median(at, nr - 1);
		if (excess > cost && excess >= least_cost * f->x->r->rows.at[top->rank].work_ns &&
			is_slow(f, at, nr)) {
			cost = excess;
			region = top->region;
		}
	}
	return region;
}

/*
 * For each rank, when it comes to a collective on average, later ones last. What the rank's slower kernels explain is
 * subtracted: if GPUs differ, the slowest is always last though its host did nothing wrong.
 */
static void sort_arrivals(struct sonde_rank_times *to, struct sonde_ranks_build *x)
{
	size_t i;

	for (i = 0; i < x->r->rows.nr; i++) {
		const struct sonde_rank_row *row = &x->r->rows.at[i];

		if (row->nr)
			sonde_put(&x->arena, to,
				(struct sonde_rank_time){
					0, (uint32_t)i, SIZE_MAX, -(row->wait_ns + row->excess_ns) / (double)row->nr});
	}
	sonde_rank_times_sort(to);
}

/* Whether the rank, or its host, is last more often than by chance. */
static bool is_last(const struct sonde_ranks *r, uint32_t rank, uint32_t nr_node)
{
	const struct sonde_rank_row *row = &r->rows.at[rank];
	uint64_t nr_last = row->nr_last;
	size_t i;

	for (i = 0; i < r->rows.nr && nr_node; i++)
		if (i != rank && sonde_str_eq(r->rows.at[i].process->host, row->process->host))
			nr_last += r->rows.at[i].nr_last;
	return (double)nr_last >=
	       fmax(LEAST_LAST, (nr_node ? nr_node : 1) / (double)r->nr + BEYOND_CHANCE) * (double)row->nr;
}

/*
 * `excess`: how late the rank or its host is at a collective. It is worth a sentence if it is at least half of the
 * rank's lateness, matters for the rank's time, and is beyond the clocks' errors and what the others differ by.
 */
static bool is_late(const struct straggler_search *f, const struct sonde_rank_time *at, size_t nr, double excess)
{
	const struct sonde_ranks *r = f->x->r;
	const struct sonde_rank_row *row = &r->rows.at[at[nr - 1].rank];
	double late = row->late_ns / (double)row->nr, time = row->work_ns + (isnan(row->exposed_ns) ? 0 : row->exposed_ns);

	return excess >= SONDE_ENDS_NS && excess >= 2 * r->clocks.at[row->clock].error_ns && excess >= late / 2 &&
	       excess * (double)row->nr >= (nr < FEW ? LEAST_EXCESS : SONDE_LEAST_COST) * time && is_beyond(f, at, nr);
}

/* Adds the rank or host that the others wait for, although its kernels do not explain it. */
static void add_late(struct straggler_search *f)
{
	struct sonde_ranks *r = f->x->r;
	struct sonde_rank_times times = {0};
	const struct sonde_rank_time *top;
	struct sonde_straggler *s;
	uint32_t nr_node;
	double others;

	sort_arrivals(&times, f->x);
	top = times.nr > 1 ? &times.at[times.nr - 1] : NULL;
	if (!top || f->is_named[top->rank])
		return;
	others = sonde_rank_times_median(times.at, times.nr - 1);
	nr_node = sonde_slow__count_node(f->x, times.at, times.nr, &others);
	if (!is_late(f, times.at, times.nr, top->ns - others) || !is_last(r, top->rank, nr_node))
		return;
	s = sonde_push(&r->arena, &r->stragglers);
	*s = (struct sonde_straggler){.rank = top->rank,
		.region = SONDE_NONE,
		.cause = nr_node ? SONDE_SLOW_NODE : SONDE_SLOW_LATE,
		.nr_ranks = nr_node ? nr_node : 1,
		.ns = r->rows.at[top->rank].late_ns};
	s->kernels_share = r->rows.at[top->rank].excess_ns / s->ns;
	finish_straggler(f, s);
}

/* By visit: busy and idle time without exposed communication, which is how long a rank needs for the region. */
static double *find_device_times(const struct sonde_ranks_build *x)
{
	double *at = sonde_malloc((x->c->visits.nr + 1) * sizeof(*at));
	size_t i;

	for (i = 0; at && i < x->c->visits.nr; i++) {
		const struct sonde_visit *v = &x->c->visits.at[i];

		at[i] = v->times.busy_ns + v->times.idle_ns - (isnan(v->times.exposed_ns) ? 0 : v->times.exposed_ns);
	}
	return at;
}

static int by_cost(const void *pa, const void *pb)
{
	const struct sonde_straggler *a = pa, *b = pb;

	return sonde_cmp(b->ns - b->others_ns, a->ns - a->others_ns);
}

/* If no rank has slower kernels and none is late, a GPU may still wait for its host. */
static bool add_idle(struct straggler_search *f)
{
	double *device = find_device_times(f->x);
	struct sonde_rank_times times = {0};
	uint32_t region;

	if (device)
		sort_times(&times, f->x, device);
	f->times = &times;
	region = worst_region(f, LEAST_IDLE);
	if (region != SONDE_NONE)
		add_straggler(f, region, true);
	sonde_vec_release(&times);
	sonde_free(device);
	return device;
}

const char *sonde_slow_cause_name(enum sonde_slow_cause c)
{
	static const char *const names[] = {"rank", "work", "gpu", "node", "idle", "late"};

	return names[c];
}

static void say_who(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	struct sonde_str host = r->rows.at[s->rank].process->host;

	if (s->cause == SONDE_SLOW_NODE)
		sonde_buf_printf(line, "host %.*s (all %u ranks, most of all %.*s)", SONDE_STR_ARG(host),
			s->nr_ranks, SONDE_STR_ARG(sonde_rank_name(r, s->rank)));
	else
		sonde_buf_str(line, sonde_rank_name(r, s->rank));
}

/* Appends the cause, and what to look at. */
static void say_cause(struct sonde_buf *line, const struct sonde_straggler *s)
{
	switch ((enum sonde_slow_cause)s->cause) {
	case SONDE_SLOW_RANK:
		sonde_buf_puts(line, ". The same kernels take longer there but not elsewhere: it is the "
				     "rank, its data or shapes");
		break;
	case SONDE_SLOW_WORK:
		sonde_buf_puts(line, ". It launches more kernels there: it is the rank, which has more work");
		break;
	case SONDE_SLOW_GPU:
		sonde_buf_printf(line, ". %.0f%% of its kernel time is in kernels that are slower than on "
				       "the others, in all regions: it is the GPU",
			100 * s->slower_share);
		if (s->clock_ghz < s->others_ghz)
			sonde_buf_printf(line, ", whose SMs run at %.2f GHz; those of the others run at %.2f",
				s->clock_ghz, s->others_ghz);
		else
			sonde_buf_puts(line, "; check its clocks, power limit and temperature "
					     "(nvidia-smi -q -d CLOCK,PERFORMANCE)");
		break;
	case SONDE_SLOW_NODE:
		sonde_buf_printf(line, ". All its ranks are %s: it is the node",
			s->region == SONDE_NONE ? "late" : "slow");
		break;
	case SONDE_SLOW_IDLE:
		sonde_buf_puts(line, ". Its kernels are not slower, but its GPU waits longer for the host: "
				     "--idle shows why");
		break;
	case SONDE_SLOW_LATE:
		if (s->kernels_share < NOT_SLOWER)
			sonde_buf_puts(line, ". Its kernels are not slower: look at what its host does "
					     "before the collectives (--idle)");
		else
			sonde_buf_printf(line, ". Slower kernels explain %.0f%% of that; for the rest, look at what its "
					       "host does before the collectives (--idle)",
				100 * s->kernels_share);
		break;
	}
}

/* The part of the sentence for a rank that is late at collectives, in any region. */
static void say_late(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	double waits = 0;
	size_t i;

	for (i = 0; i < r->rows.nr; i++)
		waits += isnan(r->rows.at[i].wait_ns) ? 0 : r->rows.at[i].wait_ns;
	sonde_buf_printf(line, " is last at %llu of %llu collectives, on average %.3f ms after the median rank; all "
			       "ranks together wait for %.3f ms",
		(unsigned long long)s->nr_last, (unsigned long long)s->nr, s->ns / (double)s->nr / 1e6,
		waits / 1e6);
}

/* Says which other rank is last at most collectives, if one is: the slow rank is not the one that others wait for. */
static void say_who_is_last(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	uint32_t i;

	for (i = 0; i < r->rows.nr; i++)
		if (i != s->rank && r->rows.at[i].nr_last * 2 > r->rows.at[i].nr)
			sonde_buf_printf(line, ". The others wait for %.*s, which is last at %llu of %llu collectives", SONDE_STR_ARG(sonde_rank_name(r, i)),
				(unsigned long long)r->rows.at[i].nr_last, (unsigned long long)r->rows.at[i].nr);
}

/* The part of the sentence for a rank that is slow in a region. */
static void say_slow(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	sonde_buf_printf(line, " is %.1f%% slower than the median of the %s in ", 100 * (s->ns / s->others_ns - 1),
		s->cause == SONDE_SLOW_NODE ? "other hosts' ranks" : "other ranks");
	sonde_region_say(line, r->cells->regions.at[s->region].id, r->cells->regions.at[s->region].kind);
	sonde_buf_printf(line, " (%.3f against %.3f ms of %s)", s->ns / 1e6, s->others_ns / 1e6,
		s->cause == SONDE_SLOW_IDLE ? "busy and idle GPU time" : "kernel time");
	if (s->nr_last * 2 > s->nr)
		sonde_buf_printf(line, ", and last at %llu of %llu collectives", (unsigned long long)s->nr_last,
			(unsigned long long)s->nr);
}

/* Makes the sentence from the straggler's other members. */
static bool say_straggler(struct sonde_straggler *s, struct sonde_ranks *r)
{
	struct sonde_buf line = {0};

	say_who(&line, r, s);
	if (s->region == SONDE_NONE)
		say_late(&line, r, s);
	else
		say_slow(&line, r, s);
	say_cause(&line, s);
	if (s->region != SONDE_NONE && s->nr_ranks == 1)
		say_who_is_last(&line, r, s);
	sonde_buf_putc(&line, '.');
	s->sentence = sonde_str_from(sonde_arena_take(&r->arena, &line));
	return s->sentence.p;
}

bool sonde_stragglers__find(struct sonde_ranks_build *x)
{
	struct sonde_ranks *r = x->r;
	struct straggler_search f = {.x = x,
		.times = &r->times,
		.is_named = sonde_calloc(r->rows.nr + 1, sizeof(*f.is_named)),
		.scratch = sonde_malloc((r->rows.nr + 1) * sizeof(*f.scratch))};
	bool ok = f.is_named && f.scratch;
	uint32_t region = SONDE_NONE;
	size_t i;

	if (ok) {
		sort_times(&r->times, x, r->work_ns);
		add_spreads(&f);
	}
	while (ok && !r->arena.failed && r->stragglers.nr < NR_STRAGGLERS &&
		(region = worst_region(&f, SONDE_LEAST_COST)) != SONDE_NONE)
		add_straggler(&f, region, false);
	if (ok && r->nr_collectives)
		add_late(&f);
	if (ok && !r->stragglers.nr)
		ok = add_idle(&f);
	sonde_vec_sort(&r->stragglers, by_cost);
	for (i = 0; i < r->stragglers.nr; i++)
		ok &= say_straggler(&r->stragglers.at[i], r);
	sonde_free(f.is_named);
	sonde_free(f.scratch);
	return ok;
}
