/* Finds the step, how well the unchanged run is replayed, and what changes would gain. */
#include "replay/replay.h"
#include "base/alloc.h"
#include "base/hypot.h"
#include "base/keysort.h"
#include "base/quantile.h"
#include "replay/replay_int.h"

#include <math.h>
#include <string.h>

#define LEAST_ENTRIES 3	  /* fewer entries make no step */
#define FAR	      3	  /* after a gap of more than this many periods, a new row of steps begins */
#define ODD	      3	  /* a step that takes longer than this many usual ones is not like the others … */
#define MOST_ODD      0.1 /* … unless more than this share of the steps, and more than one, are like that */
#define NR_RESAMPLES  400 /* resamples of the bootstrap */
#define COST_RANGE    0.5 /* the profiler's cost is known to ± this share */
#define FEW_BYTES     (16 << 10) /* of a copy: what takes long then is the wait for the value */
#define PROCESSES     0.08 /* ± share of the gain: two processes of one program differ by that (docs/whatif-internals.md) */

/* --- input ------------------------------------------------------------------------------- */

static bool is_sound_op(const struct sonde_replay_input *in, size_t i)
{
	const struct sonde_replay_op *op = &in->ops[i];

	if (op->thread >= in->nr_threads || op->kind >= SONDE_REPLAY_NR_OPS ||
		op->end_ns < op->begin_ns || (i && op->begin_ns < in->ops[i - 1].begin_ns))
		return false;
	switch (op->kind) {
	case SONDE_REPLAY_ENTER:
	case SONDE_REPLAY_LEAVE:
		return op->entry < in->nr_entries;
	case SONDE_REPLAY_LAUNCH:
		return op->first_work <= in->nr_works && op->nr_works <= in->nr_works - op->first_work;
	default:
		return op->stream < in->nr_streams || op->stream == REPLAY_NONE;
	}
}

static bool is_sound_work(const struct sonde_replay_input *in, const struct sonde_replay_work *w)
{
	return w->stream < in->nr_streams && w->kernel < in->nr_kernels &&
	       w->end_ns >= w->start_ns && w->kind < SONDE_REPLAY_NR_WORKS;
}

/* Each entry must be entered once, and then left at most once. Each work must belong to one launch at most. */
static int check_once(const struct sonde_replay_input *in, struct sonde_err *err)
{
	uint8_t *seen = sonde_calloc(in->nr_entries + 1, 1);
	bool *is_taken = sonde_calloc(in->nr_works + 1, sizeof(*is_taken)), ok = true;
	size_t i;
	uint32_t k;
	int rc = seen && is_taken ? 0 : sonde_err_nomem(err);

	for (i = 0; i < in->nr_ops && rc == 0; i++) {
		const struct sonde_replay_op *op = &in->ops[i];

		if (op->kind <= SONDE_REPLAY_LEAVE)
			ok = seen[op->entry]++ == op->kind;
		for (k = 0; op->kind == SONDE_REPLAY_LAUNCH && k < op->nr_works && ok; k++) {
			ok = !is_taken[op->first_work + k];
			is_taken[op->first_work + k] = true;
		}
		if (!ok)
			rc = sonde_err_set(err, SONDE_ERR_USAGE,
				"replay: operation %zu enters an entry twice, leaves one that is not open, or has GPU work of another launch", i);
	}
	sonde_free(seen);
	sonde_free(is_taken);
	return rc;
}
_Static_assert(
	SONDE_REPLAY_ENTER == 0 && SONDE_REPLAY_LEAVE == 1, "the first time, and the second");

static int check_input(const struct sonde_replay_input *in, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < in->nr_ops; i++)
		if (!is_sound_op(in, i))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"replay: operation %zu has a number out of range, or times in the wrong order", i);
	for (i = 0; i < in->nr_works; i++)
		if (!is_sound_work(in, &in->works[i]))
			return sonde_err_set(
				err, SONDE_ERR_USAGE, "replay: GPU work %zu has a number out of range, or ends before it starts", i);
	for (i = 0; i < in->nr_entries; i++)
		if (in->entry_regions[i] >= in->nr_regions)
			return sonde_err_set(
				err, SONDE_ERR_USAGE, "replay: entry %zu names a region that does not exist", i);
	for (i = 0; i < in->nr_regions; i++)
		if (in->parents[i] != REPLAY_NONE && in->parents[i] >= i)
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"replay: region %zu comes before its parent", i);
	if ((in->default_stream != REPLAY_NONE && in->default_stream >= in->nr_streams) ||
		(in->step != REPLAY_NONE && in->step >= in->nr_regions) ||
		in->nr_ops >= REPLAY_NONE || in->nr_works >= REPLAY_NONE ||
		in->nr_entries >= REPLAY_NONE)
		return sonde_err_set(
			err, SONDE_ERR_USAGE, "replay: there are more than 4 billion operations, works or entries, or the default stream or the step does not exist");
	return check_once(in, err);
}

/* --- the step ---------------------------------------------------------------------------- */

/* An entry: its region, and how long the host was in it. */
struct entry_time {
	uint64_t region; /* must be the first member: the sort key */
	double ns;
};

/*
 * The wall time of a region if all its entries took as long as the median entry. So a first entry that compiles or loads
 * does not decide.
 */
static double usual_wall(struct entry_time *times, size_t nr, double *room)
{
	size_t i;

	for (i = 0; i < nr; i++)
		room[i] = times[i].ns;
	return sonde_median(room, nr) * (double)nr;
}

static bool list_entry_times(const struct sonde_replay *r, struct entry_time *times)
{
	const struct sonde_replay_input *in = &r->in;
	uint64_t *begins = sonde_calloc(in->nr_entries + 1, sizeof(*begins));
	size_t i;

	for (i = 0; i < in->nr_ops && begins; i++) {
		const struct sonde_replay_op *op = &in->ops[i];

		if (op->kind == SONDE_REPLAY_ENTER)
			begins[op->entry] = op->begin_ns;
		else if (op->kind == SONDE_REPLAY_LEAVE && begins[op->entry])
			times[op->entry].ns = (double)(op->begin_ns - begins[op->entry]);
	}
	for (i = 0; i < in->nr_entries; i++)
		times[i].region = in->entry_regions[i];
	sonde_free(begins);
	return begins;
}

/* Chooses the repeated region with the most wall time. Of equal ones it takes the outer, which has the smaller number. */
static bool find_step(struct sonde_replay *r)
{
	const struct sonde_replay_input *in = &r->in;
	struct entry_time *times = sonde_calloc(in->nr_entries + 1, sizeof(*times));
	double *room = sonde_calloc(in->nr_entries + 1, sizeof(*room)), most = 0, wall;
	bool ok = times && room && list_entry_times(r, times) && sonde_keysort(times, in->nr_entries);
	size_t i, first;

	r->summary.step = in->step;
	for (i = 0; i < in->nr_ops && ok; i++)
		if (in->ops[i].kind == SONDE_REPLAY_ENTER)
			r->regions[in->entry_regions[in->ops[i].entry]].nr_entries++;
	for (first = 0; first < in->nr_entries && ok && in->step == REPLAY_NONE; first = i) {
		for (i = first; i < in->nr_entries && times[i].region == times[first].region; i++)
			;
		if (in->is_part && in->is_part[times[first].region])
			continue;
		wall = i - first >= LEAST_ENTRIES ? usual_wall(times + first, i - first, room) : 0;
		if (wall > most)
			r->summary.step = (uint32_t)times[first].region, most = wall;
	}
	sonde_free(times);
	sonde_free(room);
	return ok;
}

/* The median time from the begin of one step to the begin of the next. */
static bool find_period(const struct sonde_replay *r, uint64_t nr, double *out)
{
	const struct sonde_replay_input *in = &r->in;
	double *periods = sonde_malloc((nr + 1) * sizeof(*periods));
	uint64_t last_ns = 0, k = 0;
	size_t i;

	for (i = 0; i < in->nr_ops && periods; i++) {
		if (in->ops[i].kind != SONDE_REPLAY_ENTER || r->summary.step != in->entry_regions[in->ops[i].entry])
			continue;
		if (last_ns)
			periods[k++] = (double)(in->ops[i].begin_ns - last_ns);
		last_ns = in->ops[i].begin_ns;
	}
	*out = periods && k ? sonde_median(periods, k) : 0;
	sonde_free(periods);
	return periods;
}

/*
 * Numbers the entries of the step. An entry is the last of a row if other launches follow it, such as a validation, and
 * the next entry begins more than a step's time later; or if the next entry is more than FAR steps away, because of a
 * checkpoint or a time that was not captured. The time between two rows does not count as time of a step.
 */
static bool number_steps(struct sonde_replay *r)
{
	const struct sonde_replay_input *in = &r->in;
	uint64_t nr = r->summary.step == REPLAY_NONE ? 0 : r->regions[r->summary.step].nr_entries, k = 0, left_ns = 0;
	uint32_t open = 0, nr_outside = 0;
	double usual, gap;
	size_t i;

	r->steps = sonde_arena_alloc(&r->arena, (in->nr_entries + 1) * sizeof(*r->steps));
	r->is_last = sonde_arena_calloc(&r->arena, nr + 1, sizeof(*r->is_last));
	r->base = sonde_arena_calloc(&r->arena, nr + 1, sizeof(*r->base));
	if (!r->steps || !r->is_last || !r->base || !find_period(r, nr, &usual))
		return false;
	for (i = 0; i < in->nr_entries; i++)
		r->steps[i] = REPLAY_NONE;
	for (i = 0; i < in->nr_ops; i++) {
		const struct sonde_replay_op *op = &in->ops[i];
		bool is_step = op->kind <= SONDE_REPLAY_LEAVE && r->summary.step == in->entry_regions[op->entry];

		if (is_step && op->kind == SONDE_REPLAY_ENTER) {
			gap = k && !open ? (double)(op->begin_ns - left_ns) : 0;
			if (gap > (nr_outside ? usual : FAR * usual))
				r->is_last[k - 1] = true;
			r->steps[op->entry] = (uint32_t)k++;
			open++;
			nr_outside = 0;
		} else if (is_step && open) {
			open--;
			left_ns = op->begin_ns;
		} else if (op->kind == SONDE_REPLAY_LAUNCH && !open) {
			nr_outside++;
		}
	}
	r->summary.nr_steps = k;
	if (k)
		r->is_last[k - 1] = true;
	return true;
}

/* --- what regions do: the sums that help to find changes --------------------------------- */

struct walk {
	struct sonde_replay *r;
	uint32_t *tops;	    /* by relay: the innermost open entry */
	uint32_t *outer;    /* by entry: the open entry around it */
	uint32_t *nr_steps; /* by relay: the number of open steps */
	bool *has_left;
};

static void sum_op(struct walk *w, size_t i)
{
	struct sonde_replay *r = w->r;
	const struct sonde_replay_op *op = &r->in.ops[i];
	const struct op_fate *fate = &r->fates[i];
	uint32_t top = w->tops[fate->relay], k;
	struct sonde_replay_region *region =
		top == REPLAY_NONE ? NULL : &r->regions[r->in.entry_regions[top]];
	double took = (double)(op->end_ns - op->begin_ns);

	if (op->kind == SONDE_REPLAY_ENTER) {
		w->outer[op->entry] = top;
		w->tops[fate->relay] = op->entry;
		w->nr_steps[fate->relay] += r->steps[op->entry] != REPLAY_NONE;
	} else if (op->kind == SONDE_REPLAY_LEAVE) {
		w->has_left[op->entry] = true;
		if (r->steps[op->entry] != REPLAY_NONE && w->nr_steps[fate->relay])
			w->nr_steps[fate->relay]--;
		while (w->tops[fate->relay] != REPLAY_NONE && w->has_left[w->tops[fate->relay]])
			w->tops[fate->relay] = w->outer[w->tops[fate->relay]];
	}
	if (!region)
		return;
	if (op->kind == SONDE_REPLAY_LAUNCH) {
		const struct sonde_replay_work *first = &r->in.works[op->first_work];
		bool is_copy = op->nr_works == 1 && first->kind == SONDE_REPLAY_COPY,
		     blocks = is_copy && first->is_of_host && fate->wait == WAIT_COPY;

		region->nr_launches += op->nr_works && !is_copy;
		region->nr_graphs += op->nr_works > 1;
		region->nr_kernels += is_copy ? 0 : op->nr_works;
		region->nr_copies += is_copy && first->is_of_host;
		region->copied_ns += blocks ? took : 0;
		if (blocks && first->bytes && first->bytes <= FEW_BYTES) {
			region->read_ns += took;
			region->nr_waits++;
		}
		for (k = op->first_work; k < op->first_work + op->nr_works; k++) {
			double ns = (double)(r->in.works[k].end_ns - r->in.works[k].start_ns);

			region->busy_ns += is_copy ? 0 : ns;
			r->kernels[r->in.works[k].kernel] += w->nr_steps[fate->relay] ? ns : 0;
		}
	} else if (op->kind == SONDE_REPLAY_MEMORY) {
		region->allocated_ns += took;
	} else if (op->kind >= SONDE_REPLAY_SYNC_STREAM && op->kind <= SONDE_REPLAY_SYNC_DEVICE &&
		   !fate->is_idle) {
		region->waited_ns += took;
		region->nr_waits++;
	}
}

static bool sum_regions(struct sonde_replay *r)
{
	const struct sonde_replay_input *in = &r->in;
	struct sonde_arena arena = {0};
	struct walk w = {r,
		sonde_arena_alloc(&arena, ((size_t)r->summary.nr_relays + 1) * sizeof(uint32_t)),
		sonde_arena_calloc(&arena, in->nr_entries + 1, sizeof(uint32_t)),
		sonde_arena_calloc(&arena, (size_t)r->summary.nr_relays + 1, sizeof(uint32_t)),
		sonde_arena_calloc(&arena, in->nr_entries + 1, sizeof(bool))};
	bool ok = w.tops && w.outer && w.nr_steps && w.has_left;
	size_t i;

	for (i = 0; ok && i <= r->summary.nr_relays; i++)
		w.tops[i] = REPLAY_NONE;
	for (i = 0; ok && i < in->nr_ops; i++)
		sum_op(&w, i);
	for (i = in->nr_regions; ok && i--;) {
		const struct sonde_replay_region *own = &r->regions[i];
		struct sonde_replay_region *up =
			in->parents[i] == REPLAY_NONE ? NULL : &r->regions[in->parents[i]];

		if (!up)
			continue;
		up->nr_launches += own->nr_launches;
		up->nr_graphs += own->nr_graphs;
		up->nr_kernels += own->nr_kernels;
		up->nr_copies += own->nr_copies;
		up->busy_ns += own->busy_ns;
		up->waited_ns += own->waited_ns;
		up->copied_ns += own->copied_ns;
		up->read_ns += own->read_ns;
		up->nr_waits += own->nr_waits;
		up->allocated_ns += own->allocated_ns;
	}
	sonde_arena_release(&arena);
	return ok;
}

/* --- the run as it was ------------------------------------------------------------------- */

static double mean_of(const double *at, uint64_t nr)
{
	double sum = 0;
	uint64_t i;

	for (i = 0; i < nr; i++)
		sum += at[i];
	return nr ? sum / (double)nr : NAN;
}

/*
 * Finds the steps that are unlike the others: one that compiles, or that begins a run. Figures of a step are means, and a
 * mean with such a step in it would be that of no step at all.
 */
static bool find_odd(struct sonde_replay *r, const double *steps)
{
	uint64_t nr = r->summary.nr_steps, nr_odd = 0, i;
	double *sorted = sonde_malloc((nr + 1) * sizeof(*sorted)), usual;

	r->is_odd = sonde_arena_calloc(&r->arena, nr + 1, sizeof(*r->is_odd));
	if (!sorted || !r->is_odd) {
		sonde_free(sorted);
		return false;
	}
	for (i = 0; i < nr; i++)
		sorted[i] = steps[i];
	usual = nr ? sonde_median(sorted, nr) : 0;
	for (i = 0; i < nr; i++)
		nr_odd += r->is_odd[i] = nr >= LEAST_ENTRIES && steps[i] > ODD * usual;
	if (nr_odd > 1 && (double)nr_odd > MOST_ODD * (double)nr)
		for (nr_odd = i = 0; i < nr; i++)
			r->is_odd[i] = false;
	r->summary.nr_odd = nr_odd;
	sonde_free(sorted);
	return true;
}

/* Moves the figures of the usual steps to the front. Returns how many there are. */
static uint64_t keep_usual(const struct sonde_replay *r, double *steps)
{
	uint64_t i, nr = 0;

	for (i = 0; i < r->summary.nr_steps; i++)
		if (!r->is_odd[i])
			steps[nr++] = steps[i];
	return nr;
}

static double mean_of_usual(const struct sonde_replay *r, double *steps)
{
	return mean_of(steps, keep_usual(r, steps));
}

static bool replay_unchanged(struct sonde_replay *r)
{
	uint64_t nr = r->summary.nr_steps;
	double *steps = sonde_calloc(nr + 1, sizeof(*steps)),
	       *walls = sonde_calloc(r->in.nr_regions + 1, sizeof(*walls));
	struct simulation as_was = {.steps = steps, .walls = walls}, plain = {.steps = r->base};
	bool ok = steps && walls && sonde_replay__measure(r, steps) && find_odd(r, steps);
	size_t i;

	if (ok)
		r->summary.measured_ns = mean_of_usual(r, steps);
	ok = ok && sonde_replay__simulate(r, &as_was);
	plain.launch_cost_ns = r->in.launch_cost_ns;
	plain.call_cost_ns = r->in.call_cost_ns;
	ok = ok && sonde_replay__simulate(r, &plain);
	if (ok) {
		r->summary.error = mean_of_usual(r, steps) / r->summary.measured_ns - 1;
		memcpy(steps, r->base, nr * sizeof(*steps));
		r->summary.base_ns = mean_of_usual(r, steps);
		for (i = 0; i < r->in.nr_regions; i++)
			r->regions[i].replayed_ns = walls[i];
	}
	sonde_free(steps);
	sonde_free(walls);
	return ok;
}

int sonde_replay_open(
	struct sonde_replay **out, const struct sonde_replay_input *in, struct sonde_err *err)
{
	struct sonde_replay *r;
	int rc = check_input(in, err);
	bool ok;

	*out = NULL;
	if (rc)
		return rc;
	r = sonde_calloc(1, sizeof(*r));
	if (!r)
		return sonde_err_nomem(err);
	r->in = *in;
	r->fates = sonde_arena_calloc(&r->arena, in->nr_ops + 1, sizeof(*r->fates));
	r->work_fates = sonde_arena_calloc(&r->arena, in->nr_works + 1, sizeof(*r->work_fates));
	r->is_blocking =
		sonde_arena_calloc(&r->arena, (size_t)in->nr_streams + 1, sizeof(*r->is_blocking));
	r->regions = sonde_arena_calloc(&r->arena, in->nr_regions + 1, sizeof(*r->regions));
	r->kernels = sonde_arena_calloc(&r->arena, (size_t)in->nr_kernels + 1, sizeof(*r->kernels));
	ok = r->fates && r->work_fates && r->is_blocking && r->regions && r->kernels &&
	     sonde_replay__find_relays(r) && find_step(r) && number_steps(r) &&
	     sonde_replay__learn(r) && sum_regions(r) && replay_unchanged(r);
	if (!ok) {
		sonde_replay_free(r);
		return sonde_err_nomem(err);
	}
	*out = r;
	return 0;
}

void sonde_replay_free(struct sonde_replay *r)
{
	if (!r)
		return;
	sonde_arena_release(&r->arena);
	sonde_free(r);
}

const struct sonde_replay_summary *sonde_replay_summary(const struct sonde_replay *r)
{
	return &r->summary;
}

const struct sonde_replay_region *sonde_replay_regions(const struct sonde_replay *r)
{
	return r->regions;
}

const double *sonde_replay_kernels(const struct sonde_replay *r)
{
	return r->kernels;
}

/* --- gains ------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Half the width of the 95 % interval of the mean. A step depends on the steps before it, so blocks of steps are drawn. */
static double bootstrap(const double *gains, uint64_t nr)
{
	double means[NR_RESAMPLES], sum;
	uint64_t state = 1, block = (uint64_t)sqrt((double)nr), i, k, from;
	int round;

	if (nr < 2)
		return 0;
	for (round = 0; round < NR_RESAMPLES; round++) {
		for (sum = 0, i = 0; i < nr;) {
			from = next_random(&state) % nr;
			for (k = 0; k < block && i < nr; k++, i++)
				sum += gains[(from + k) % nr];
		}
		means[round] = sum / (double)nr;
	}
	sonde_sort_numbers(means, NR_RESAMPLES);
	return (sonde_quantile(means, NR_RESAMPLES, 0.975) -
		       sonde_quantile(means, NR_RESAMPLES, 0.025)) /
	       2;
}

/* The mean gain per step for one simulation of the changes. Leaves the gain of each usual step in `s->steps`. */
static bool find_gain(const struct sonde_replay *r, const struct simulation *s, double *gain)
{
	uint64_t i, nr = r->summary.nr_steps;

	if (!sonde_replay__simulate(r, s))
		return false;
	for (i = 0; i < nr; i++)
		s->steps[i] = r->base[i] - s->steps[i];
	*gain = mean_of_usual(r, s->steps);
	return true;
}

/*
 * The gain if the profiler's cost were `times` as high. That changes the base and the prediction, so the gain is
 * computed as a share of the changed base and applied to the real one.
 */
static bool find_gain_at_cost(
	const struct sonde_replay *r, struct simulation s, double times, double *gain)
{
	struct simulation base = s;
	double base_ns;

	base.nr_changes = 0;
	base.launch_cost_ns *= times;
	base.call_cost_ns *= times;
	s.launch_cost_ns = base.launch_cost_ns;
	s.call_cost_ns = base.call_cost_ns;
	if (!sonde_replay__simulate(r, &base))
		return false;
	base_ns = mean_of_usual(r, s.steps);
	if (!sonde_replay__simulate(r, &s))
		return false;
	*gain = base_ns > 0 ? (1 - mean_of_usual(r, s.steps) / base_ns) * r->summary.base_ns : 0;
	return true;
}

int sonde_replay_predict(const struct sonde_replay *r, struct sonde_replay_gain *out,
	const struct sonde_replay_change *changes, size_t nr, bool is_rough, struct sonde_err *err)
{
	double *steps = sonde_calloc(r->summary.nr_steps + 1, sizeof(*steps)), gain, half, low,
	       high;
	struct simulation s = {.changes = changes,
		.nr_changes = nr,
		.launch_cost_ns = r->in.launch_cost_ns,
		.call_cost_ns = r->in.call_cost_ns,
		.steps = steps};
	bool ok = steps && find_gain(r, &s, &gain);
	int i;

	*out = (struct sonde_replay_gain){NAN, NAN, NAN};
	if (ok)
		out->ns = low = high = gain;
	if (ok && !is_rough) {
		half = sonde_hypot(bootstrap(steps, r->summary.nr_steps - r->summary.nr_odd),
			r->summary.error * r->summary.base_ns);
		half = sonde_hypot(half, PROCESSES * gain);
		for (i = 0; i < 4 && ok; i++) {
			s.assume = i < 2 ? (i ? ASSUME_WORST : ASSUME_BEST) : ASSUME_USUAL;
			ok = i < 2 ? find_gain(r, &s, &gain)
				   : find_gain_at_cost(
					     r, s, i == 2 ? 1 - COST_RANGE : 1 + COST_RANGE, &gain);
			low = sooner(low, gain);
			high = later(high, gain);
		}
		out->low_ns = low - half;
		out->high_ns = high + half;
	}
	sonde_free(steps);
	return ok ? 0 : sonde_err_nomem(err);
}
