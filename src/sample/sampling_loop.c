/*
 * The loop: sampling runs in stretches, each with one set of counters at one interval.
 *
 * While a stretch runs, we decode samples as they come. A decode of CUPTI goes on until nothing is left, and also
 * decodes samples that come meanwhile: while the GPU is always busy, one decode may take half a second. CUPTI loses its
 * place in the buffer if the image is full before that. So the loop foresees how many samples a decode will find. If an
 * image cannot hold them, or if decoding takes nearly all of the time, the loop stops the stretch first: then the
 * remaining samples come to an end.
 *
 * The first stretch is a trial: it shows what decoding costs on this machine, and so which interval is possible. Its
 * samples are not handed over.
 *
 * A stretch ends in order when it was stopped and decoded to its end. Another stretch with the same set and
 * interval begins a millisecond later. To change one of these, and after trouble, the device must be reserved
 * again, which takes a third of a second.
 */
#include "sample/pm_int.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

#define US 1000u
#define MS 1000000u

#define TURN_NS	     (1000 * MS) /* length of a set's turn, where several sets take turns */
#define TRIAL_NS     (10 * MS)	/* length of the first stretch, at least … */
#define TRIAL	     200	/* … and at least this many samples */
#define STALE_NS     (60000ull * MS) /* samples from before the start of sampling are refused, unless they are older than this */
#define MARGIN_NS    (2 * MS) /* how far the clocks of host and GPU may be apart */
#define LEAST_PAUSE  (5 * MS) /* shortest pause between decodes: even one that finds nothing takes a millisecond */
#define MOST_PAUSE   (20 * MS)
#define GPM_PAUSE    (2 * MS)
#define MOST_DECODES 64 /* most decodes after a stop; two usually suffice */
#define HURRY	     4	  /* how many times the trial's interval may become, to make decodes end that wait for samples */
#define FAST	     0.95 /* the `drain_load` at which decodes hardly end */
#define ENOUGH	     32 /* a decode of fewer samples does not show what decoding costs */

/*
 * Shares of the time that sampling may take: MOST_BUSY for everything, over BUSY_CHECK_NS; MOST_LOAD for decoding alone, at
 * any time.
 */
#define BUSY_CHECK_NS 250000000u
#define MOST_BUSY 0.95
#define MOST_LOAD 0.8

struct loop {
	struct sonde_sampling *s;
	const struct sonde_sample_receiver *to;
	uint64_t begin_ns;     /* when sampling was last started, on the GPU's clock */
	uint64_t last_ns;      /* end of the last good sample; 0 = none yet, or what follows is no gap */
	uint64_t until_ns;     /* when the stretch ends, on the host's clock; UINT64_MAX = at no fixed time */
	uint64_t drained_ns;   /* when a decode last returned, on the host's clock */
	uint64_t checked_ns;    /* when the share of sampling was last checked, on the host's clock */
	uint64_t busy_ns;      /* time that sampling took since then */
	double cost_ns;	       /* cost of decoding a sample */
	uint64_t chosen_ns;    /* the interval after the trial */
	double drain_load;	       /* time of recent decodes while sampling runs ÷ length of the samples they found */
	size_t nr_stale;       /* samples of this stretch whose times cannot be right */
	bool is_first;	       /* the next sample is the first after a start */
	bool is_trial;	       /* the first stretch */
	unsigned seed;
	struct sonde_err *err;
};

/* Why a stretch ends. HELD: decoding cannot keep up, but the user chose the interval, so it stays. */
enum stretch_state { GO_ON, TURN_OVER, TOO_SLOW, HELD, LOST, ALL_OVER, FAILED };

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

/* --- samples ------------------------------------------------------------------------------------ */

/*
 * Whether a sample counts; updates the totals of the session. The clock of samples is corrected now and then, by some
 * hundred nanoseconds: if a sample begins a little before the end of the last one, its start becomes that end.
 */
static bool is_good_sample(struct loop *l, uint64_t *from, uint64_t end)
{
	struct sonde_sampler_status *st = &l->s->facts.status;
	uint64_t start = *from, gap;

	if (start < l->last_ns && l->last_ns - start < l->s->interval_ns / 4)
		*from = start = l->last_ns;
	gap = l->last_ns && start > l->last_ns ? start - l->last_ns : 0;

	if (l->is_first) { /* the first sample after a start covers the time before the start */
		st->nr_first++;
		l->is_first = false;
		return false;
	}
	if (end <= start || start < l->last_ns ||
		(start + MARGIN_NS < l->begin_ns && l->begin_ns - start < STALE_NS)) {
		st->nr_refused++;
		l->nr_stale++;
		return false;
	}
	if (gap > l->s->interval_ns / 2) {
		st->nr_gaps++;
		st->gap_ns += gap;
	}
	l->last_ns = end;
	st->nr_samples++;
	return true;
}

/* Evaluates the decoded samples, and hands those that count to the receiver. */
static int take_samples(struct loop *l, const struct pm_drained *d)
{
	struct pm_set *set = &l->s->sets[l->s->current];
	struct pm_image *m = &set->image;
	struct sonde_sample_rows rows = {.set = &set->names,
		.start_ns = &m->start_ns[d->first],
		.end_ns = &m->end_ns[d->first],
		.values = &m->values[d->first * set->names.nr]};
	size_t i, to = d->first;
	int rc = 0;

	for (i = d->first; i < d->first + d->nr && rc == 0; i++) {
		rc = pm_device_sample(l->s, i, l->err);
		if (rc || !is_good_sample(l, &m->start_ns[i], m->end_ns[i]))
			continue;
		m->start_ns[to] = m->start_ns[i];
		m->end_ns[to] = m->end_ns[i];
		if (to < i)
			memcpy(&m->values[to * set->names.nr], &m->values[i * set->names.nr],
				set->names.nr * sizeof(*m->values));
		to++;
	}
	rows.nr = to - d->first;
	if (rows.nr) {
		pm_device_find_peaks(l->s);
		l->to->take(l->to->of, &rows);
	}
	return rc;
}

/* --- decoding ----------------------------------------------------------------------------------- */

/* The share of the time that decoding takes; at 1 decoding never ends. */
static double decoding_load(const struct loop *l)
{
	return l->cost_ns / (double)l->s->interval_ns;
}

/* How many samples wait to be decoded. */
static double count_waiting(const struct loop *l)
{
	return (double)(sonde_now_ns() - l->drained_ns) / (double)l->s->interval_ns;
}

/* How many samples the next decode will find: those that wait now and, while sampling runs, those that come meanwhile. */
static size_t expect_samples(const struct loop *l, bool is_running)
{
	double load = decoding_load(l), rest = 1 - (load > l->drain_load ? load : l->drain_load), nr = count_waiting(l);

	if (is_running)
		nr /= rest > 1 - FAST ? rest : 1 - FAST;
	return (size_t)(nr * 1.3) + 32;
}

/*
 * Learns from a decode what decoding costs. After a stop, the time of a decode is the cost of its samples. While sampling
 * runs, a decode may also have waited for samples, so its time is an upper bound.
 */
static void update_cost(struct loop *l, const struct pm_drained *d, bool is_running)
{
	double ns = d->nr ? (double)d->decode_ns / (double)d->nr : 0;

	if (d->nr < ENOUGH)
		return;
	if (is_running)
		l->drain_load += (ns / (double)l->s->interval_ns - l->drain_load) / 4;
	if (l->is_trial)
		l->cost_ns = ns;
	else if (ns < l->cost_ns || !is_running)
		l->cost_ns += (ns - l->cost_ns) / 4;
}

/* Decodes the samples that there are, evaluates them and hands them over. */
static enum stretch_state drain_device(struct loop *l, struct pm_drained *d, size_t expected, bool is_running)
{
	uint64_t begin = sonde_now_ns(), middle, end;

	if (pm_device_drain(l->s, expected, d, l->err))
		return FAILED;
	middle = l->drained_ns = sonde_now_ns();
	if (!l->is_trial && take_samples(l, d))
		return FAILED;
	end = sonde_now_ns();
	update_cost(l, d, is_running);
	l->s->facts.status.decode_ns += middle - begin;
	l->s->facts.status.evaluate_ns += end - middle;
	l->s->facts.status.nr_overflows += d->has_overflown;
	l->busy_ns += (uint64_t)((double)d->nr * l->cost_ns) + (end - middle);
	/* Once CUPTI has lost its place in the buffer, it does not find it again: the device must be closed and reserved again. */
	return d->has_overflown || l->nr_stale > l->s->image_samples / 4 ? LOST : GO_ON;
}

/* Ends the stretch in order: stops, and decodes until no sample of the stretch is left in the buffer. */
static enum stretch_state end_stretch(struct loop *l, enum stretch_state why)
{
	struct pm_drained d = {0};
	size_t expected = expect_samples(l, false);
	int k;

	if (pm_device_stop(l->s, l->err))
		return FAILED;
	for (k = 0; k < MOST_DECODES && !d.is_end; k++) {
		enum stretch_state next = drain_device(l, &d, expected, false);

		if (next != GO_ON)
			return why == ALL_OVER && next == LOST ? ALL_OVER : next;
		if (d.nr == 0)
			break;
	}
	return d.is_end || d.nr == 0 ? why : LOST;
}

/* Whether this machine is too slow for the interval. Over BUSY_CHECK_NS, everything counts; at any time, decoding alone does. */
static bool is_too_slow(struct loop *l)
{
	uint64_t now = sonde_now_ns(), length = now - l->checked_ns;
	/* Decodes that wait for samples end sooner at a longer interval, but we do not lengthen it beyond HURRY times. */
	bool is_so = decoding_load(l) > MOST_LOAD ||
		     (l->drain_load > MOST_LOAD &&
			     pm_step_above(l->s->interval_ns + 1) <= HURRY * l->chosen_ns);

	if (length >= BUSY_CHECK_NS) {
		is_so |= (double)l->busy_ns > (double)length * MOST_BUSY;
		l->checked_ns = now;
		l->busy_ns = 0;
	}
	return is_so && !l->s->q.interval_ns;
}

static enum stretch_state drain_running(struct loop *l)
{
	struct pm_drained d;
	enum stretch_state next;

	if (decoding_load(l) > MOST_LOAD || count_waiting(l) > 0.5 * l->s->most_samples)
		return l->s->q.interval_ns ? HELD : TOO_SLOW;
	next = drain_device(l, &d, expect_samples(l, true), true);
	if (next != GO_ON)
		return next;
	if (d.is_full)
		return LOST;
	return is_too_slow(l) ? TOO_SLOW : GO_ON;
}

/* --- stretches ---------------------------------------------------------------------------------- */

/* How long to pause until the next decode. */
static uint64_t pause_of(const struct loop *l)
{
	uint64_t ns = l->s->interval_ns * 32, most = MOST_PAUSE, left;

	if (decoding_load(l) > MOST_LOAD) /* we decode after a stop only: wait until half an image has gathered */
		ns = l->s->interval_ns * (l->s->image_samples / 2);
	ns = ns < LEAST_PAUSE ? LEAST_PAUSE : ns > most ? most : ns;
	left = l->until_ns - sonde_now_ns();
	return left < ns ? left : ns;
}

/* Hands over a row of GPM, if there is one. */
static void take_gpm(struct sonde_sampling *s, const struct sonde_sample_receiver *to)
{
	struct sonde_sample_rows rows;

	if (!sonde_gpm_tick(s->gpm, sonde_sampling_now(s), &rows))
		return;
	if (s->facts.by_gpm.n) /* else nr_samples counts those of PM sampling */
		s->facts.status.nr_samples += rows.nr;
	to->take(to->of, &rows);
}

/* Samples until the stretch should end. */
static enum stretch_state sample_stretch(struct loop *l)
{
	enum stretch_state next = GO_ON;

	while (next == GO_ON) {
		if (!l->is_trial && l->to->is_over(l->to->of)) {
			sleep_ns(l->s->interval_ns + MS); /* until the last sample is complete */
			return ALL_OVER;
		}
		if (sonde_now_ns() >= l->until_ns)
			return TURN_OVER;
		sleep_ns(pause_of(l));
		if (l->s->gpm && !l->is_trial)
			take_gpm(l->s, l->to);
		if (!l->is_trial && !l->s->q.burst_ns)
			next = drain_running(l);
	}
	return next;
}

/* The length of the next stretch; 0 = it has no fixed end. */
static uint64_t length_of(const struct loop *l)
{
	uint64_t trial = TRIAL * l->s->interval_ns;

	if (l->s->q.burst_ns)
		return l->s->q.burst_ns;
	if (l->is_trial)
		return trial > TRIAL_NS ? trial : TRIAL_NS;
	return l->s->facts.nr_sets > 1 ? TURN_NS : 0;
}

static int start_stretch(struct loop *l)
{
	uint64_t length = length_of(l);
	int rc;

	l->begin_ns = sonde_sampling_now(l->s);
	rc = pm_device_start(l->s, l->err);
	if (rc)
		return rc;
	l->checked_ns = l->drained_ns = sonde_now_ns();
	l->until_ns = length ? l->checked_ns + length : UINT64_MAX;
	l->busy_ns = l->nr_stale = 0;
	l->is_first = true;
	return 0;
}

/* Pauses for a random time between two bursts, so that bursts do not fall in step with a rhythm of the program. */
static void pause_at_random(struct loop *l)
{
	uint64_t burst = l->s->q.burst_ns;

	if (burst)
		sleep_ns((uint64_t)rand_r(&l->seed) % (burst / 2 + 1));
}

/* Lengthens the interval, unless the user chose it or it is the longest; true when it did. */
static bool lengthen_interval(struct loop *l)
{
	if (l->s->q.interval_ns || l->s->q.burst_ns || l->s->interval_ns >= PM_LONGEST_NS)
		return false;
	l->s->interval_ns = pm_step_above(l->s->interval_ns + 1);
	return true;
}

/* Ends a turn: after the trial, chooses the interval; else goes on to the next set of counters. Pauses between bursts. */
static void end_turn(struct loop *l)
{
	struct sonde_sampling *s = l->s;

	if (l->is_trial)
		while (decoding_load(l) > MOST_LOAD * 0.9 && lengthen_interval(l))
			;
	else
		s->current = (s->current + 1) % s->facts.nr_sets;
	if (l->is_trial)
		l->chosen_ns = s->interval_ns;
	l->is_trial = false;
	pause_at_random(l);
}

/* Decides what differs in the next stretch. */
static void plan_next_stretch(struct loop *l, enum stretch_state why)
{
	if (why == LOST) {
		l->s->facts.status.nr_lost++;
		pm_device_close(l->s);
	}
	if (why == TOO_SLOW || (why == LOST && l->drain_load >= FAST))
		l->s->facts.status.nr_slower += lengthen_interval(l);
	/*
	 * After CUPTI has lost its place, the next images have the largest size (drain_load FAST); if that happens again, the
	 * interval gets longer.
	 */
	l->drain_load = why == LOST ? FAST : why == TOO_SLOW ? 0 : l->drain_load;
	/* A turn, a pause or a change leaves time without samples, which must not count as a gap. */
	if (why == TURN_OVER || why == TOO_SLOW)
		l->last_ns = 0;
	if (why == TURN_OVER)
		end_turn(l);
}

/* The loop of a session in which only GPM counts. */
static int run_gpm(struct sonde_sampling *s, const struct sonde_sample_receiver *to)
{
	while (!to->is_over(to->of)) {
		take_gpm(s, to);
		sleep_ns(GPM_PAUSE);
	}
	return 0;
}

int sonde_sampling_run(
	struct sonde_sampling *s, const struct sonde_sample_receiver *to, struct sonde_err *err)
{
	struct sonde_err local = {0};
	struct loop l = {.s = s,
		.to = to,
		.cost_ns = PM_DECODE_NS(s->sets[s->current].names.nr),
		.is_trial = !s->q.burst_ns,
		.seed = (unsigned)sonde_now_ns(),
		.err = err ? err : &local};
	enum stretch_state next = GO_ON;
	int rc = 0;

	if (s->facts.by_gpm.n)
		return run_gpm(s, to);
	while (next != ALL_OVER && next != FAILED) {
		rc = start_stretch(&l);
		next = rc ? FAILED : sample_stretch(&l);
		if (next != LOST && next != FAILED)
			next = end_stretch(&l, next);
		if (next != ALL_OVER && next != FAILED)
			plan_next_stretch(&l, next);
	}
	pm_device_close(s);
	return next == FAILED && rc == 0 ? l.err->code : rc;
}
