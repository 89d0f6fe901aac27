/* The loop: samples are drained as they come, or the interval and the way of sampling change. */
#include "sample/sampling.h"

#include "base/alloc.h"
#include "sample/pm_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define US 1000u
#define MS 1000000u

#define MAX_LAG_NS    (300 * MS)  /* behind by more, the hardware buffer soon overflows */
#define TURN_NS	      (20 * MS)	  /* of a set, where several take turns */
#define BURST_NS      (20 * MS)	  /* where a burst's length was not asked for */
#define BURST_STEP_NS (10 * US)	  /* interval of bursts, likewise */
#define LAST_LOOK_NS  (2000 * MS) /* for what is still in the buffer at the end */
#define STALE_NS      (60000ull * MS)

/* Intervals to choose from. One core decodes 12 counters at the first, 64 at the third. */
static const uint64_t steps_ns[] = {
	50 * US, 100 * US, 200 * US, 500 * US, 1 * MS, 2 * MS, 5 * MS, 10 * MS};
#define NR_STEPS (sizeof(steps_ns) / sizeof(*steps_ns))

struct loop {
	struct sonde_sampling *s;
	const struct sonde_sample_taker *to;
	uint64_t begin_ns; /* when sampling was last started, on the GPU's clock */
	uint64_t last_ns;  /* end of the last sample since; 0 = none yet */
	uint64_t until_ns; /* of a burst or turn; UINT64_MAX = no such end */
	uint64_t burst_ns; /* 0 = all the time */
	uint64_t cost_ns;  /* of a sample to decode and evaluate, a running mean */
	bool is_first;	   /* the next sample is the first after a start */
	unsigned seed;
	uint64_t start[PM_IMAGE_SAMPLES], end[PM_IMAGE_SAMPLES];
	double values[PM_IMAGE_SAMPLES * SONDE_COUNTER_LIMIT];
	struct sonde_err *err;
};

enum next { GO_ON, TURN_OVER, TOO_SLOW, ALL_OVER, FAILED };

static uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

uint64_t sonde_sampling_now(const struct sonde_sampling *s)
{
	uint64_t now = 0;
	struct timespec t;

	if (s->pm.cuptiGetTimestamp(&now) == CUPTI_SUCCESS && now)
		return now;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- a session ------------------------------------------------------------------------------- */

static int get_available(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_GetCounterAvailability_Params p = {
		.structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE,
		.deviceIndex = s->q.device};
	CUptiResult why = s->pm.cuptiPmSamplingGetCounterAvailability(&p);

	if (why)
		return pm_refuse(&s->pm, "ask which counters there are", why, err);
	s->available = sonde_malloc(p.counterAvailabilityImageSize);
	if (!s->available)
		return sonde_err_nomem(err);
	p.pCounterAvailabilityImage = s->available;
	why = s->pm.cuptiPmSamplingGetCounterAvailability(&p);
	return why ? pm_refuse(&s->pm, "ask which counters there are", why, err) : 0;
}

/* As short as this machine is likely to decode; the loop finds out whether it is. */
static uint64_t first_interval(const struct sonde_sampling *s)
{
	uint32_t nr = s->sets[0].names.nr;
	bool is_small = sysconf(_SC_NPROCESSORS_ONLN) <= 4;

	if (s->q.interval_ns)
		return s->q.interval_ns;
	if (s->q.burst_ns)
		return BURST_STEP_NS;
	return steps_ns[(nr <= 12 ? 0 : nr <= 32 ? 1 : 2) + (is_small ? 1 : 0)];
}

int sonde_sampling_count(unsigned *nr, struct sonde_err *err)
{
	struct pm pm = {0};
	int rc = pm_load(&pm, err), n = 0;

	if (rc == 0 && (pm.cuDeviceGetCount(&n) != CUDA_SUCCESS || n <= 0))
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND, "CUDA shows no GPU here");
	*nr = n > 0 ? (unsigned)n : 0;
	return rc;
}

int sonde_sampling_identify(char *uuid, size_t size, unsigned device, struct sonde_err *err)
{
	struct pm pm = {0};
	CUdevice number;
	int rc = pm_load(&pm, err);

	if (rc == 0 && pm.cuDeviceGet(&number, (int)device) != CUDA_SUCCESS)
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND, "CUDA shows no device %u here", device);
	if (rc == 0)
		pm_name_uuid(&pm, uuid, size, number);
	return rc;
}

int sonde_sampling_open(
	struct sonde_sampling **out, const struct sonde_sampling_request *q, struct sonde_err *err)
{
	struct sonde_sampling *s = sonde_calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return sonde_err_nomem(err);
	s->q = *q;
	s->sets = sonde_calloc(PM_MAX_SETS, sizeof(*s->sets));
	rc = s->sets ? pm_load(&s->pm, err) : sonde_err_nomem(err);
	if (rc == 0)
		rc = pm_describe(s, &s->sets[0].names, err);
	if (rc == 0)
		rc = get_available(s, err);
	if (rc == 0)
		rc = pm_choose(s, err);
	if (rc == 0)
		rc = pm_device_open(s, err);
	if (rc) {
		sonde_sampling_close(s);
		return rc;
	}
	s->interval_ns = first_interval(s);
	*out = s;
	return 0;
}

void sonde_sampling_close(struct sonde_sampling *s)
{
	size_t i;

	if (!s)
		return;
	pm_device_close(s);
	for (i = 0; s->sets && i < PM_MAX_SETS; i++) {
		pm_host_close(s, s->sets[i].host);
		sonde_free(s->sets[i].config);
		sonde_free(s->sets[i].image);
	}
	sonde_free(s->sets);
	sonde_free(s->available);
	sonde_buf_release(&s->left_out);
	sonde_arena_release(&s->arena);
	sonde_free(s);
}

size_t sonde_sampling_nr_sets(const struct sonde_sampling *s)
{
	return s->nr_sets;
}

const struct sonde_counter_set *sonde_sampling_set(const struct sonde_sampling *s, size_t i)
{
	return &s->sets[i].names;
}

const char *sonde_sampling_chip(const struct sonde_sampling *s)
{
	return s->chip;
}

const struct sonde_sampler_status *sonde_sampling_status(const struct sonde_sampling *s)
{
	return &s->status;
}

const char *sonde_sampling_left_out(const struct sonde_sampling *s)
{
	return s->left_out.n ? s->left_out.p : "";
}

/* --- the loop -------------------------------------------------------------------------------- */

/* Whether a sample counts; what is wrong with it is counted. */
static bool judge(struct loop *l, uint64_t start, uint64_t end)
{
	struct sonde_sampler_status *st = &l->s->status;
	bool is_old = start < l->begin_ns && l->begin_ns - start < STALE_NS;

	if (l->is_first || (is_old && !l->last_ns)) { /* covers the time before the start */
		st->nr_first++;
		l->is_first = false;
		return false;
	}
	if (end <= start || start < l->last_ns) {
		st->nr_refused++;
		return false;
	}
	if (l->last_ns && start - l->last_ns > l->s->interval_ns / 2) {
		st->nr_gaps++;
		st->gap_ns += start - l->last_ns;
	}
	l->last_ns = end;
	st->nr_samples++;
	return true;
}

/* Evaluates what was drained and hands it over. */
static int take(struct loop *l, size_t nr)
{
	const struct sonde_counter_set *set = &l->s->sets[l->s->current].names;
	struct sonde_sample_rows rows = {
		.set = set, .start_ns = l->start, .end_ns = l->end, .values = l->values};
	size_t i;
	int rc = 0;

	for (i = 0; i < nr && rc == 0; i++) {
		uint64_t *start = &l->start[rows.nr], *end = &l->end[rows.nr];

		rc = pm_device_sample(l->s, i, start, end, &l->values[rows.nr * set->nr], l->err);
		if (rc == 0 && judge(l, *start, *end))
			rows.nr++;
	}
	if (rows.nr)
		l->to->take(l->to->of, &rows);
	return rc;
}

static void add_cost(struct loop *l, uint64_t ns, size_t nr)
{
	uint64_t each = ns / nr;

	l->cost_ns = l->cost_ns ? (3 * l->cost_ns + each) / 4 : each;
}

static uint64_t lag_of(const struct loop *l)
{
	uint64_t now = sonde_sampling_now(l->s), from = l->last_ns ? l->last_ns : l->begin_ns;

	return now > from && now - from < STALE_NS ? now - from : 0;
}

/* One image full of samples. */
static enum next drain(struct loop *l, struct pm_drained *d)
{
	uint64_t begin = mono_ns(), middle, end;

	if (pm_device_drain(l->s, d, l->err))
		return FAILED;
	middle = mono_ns();
	if (d->nr > PM_IMAGE_SAMPLES)
		d->nr = PM_IMAGE_SAMPLES;
	if (take(l, d->nr))
		return FAILED;
	end = mono_ns();
	l->s->status.decode_ns += middle - begin;
	l->s->status.evaluate_ns += end - middle;
	if (d->nr >= PM_IMAGE_SAMPLES / 8)
		add_cost(l, end - begin, d->nr);
	l->s->status.nr_overflows += d->has_overflown;
	if (d->has_overflown || (d->has_more && !l->burst_ns && lag_of(l) > MAX_LAG_NS))
		return TOO_SLOW;
	return l->last_ns >= l->until_ns ? TURN_OVER : GO_ON;
}

/* The program is over; what it did last may still be in the buffer. */
static enum next drain_rest(struct loop *l)
{
	uint64_t end = sonde_sampling_now(l->s), limit = mono_ns() + LAST_LOOK_NS;
	struct pm_drained d;

	if (end < l->until_ns)
		l->until_ns = end;
	do {
		if (drain(l, &d) == FAILED)
			return FAILED;
		if (!d.has_more)
			sleep_ns(2 * MS);
	} while (l->last_ns && l->last_ns < l->until_ns && mono_ns() < limit);
	return ALL_OVER;
}

/* Until the burst or turn ends, the machine proves too slow, or all is over. */
static enum next sample(struct loop *l)
{
	uint64_t pause = l->s->interval_ns * (PM_IMAGE_SAMPLES / 4);
	struct pm_drained d;
	enum next next;

	pause = pause < MS ? MS : pause > 20 * MS ? 20 * MS : pause;
	do {
		if (l->to->is_over(l->to->of))
			return drain_rest(l);
		next = drain(l, &d);
		if (next == GO_ON && !d.has_more)
			sleep_ns(pause);
	} while (next == GO_ON);
	return next;
}

/* The interval grows, or where it was asked for, sampling goes on in bursts. */
static void slow_down(struct loop *l)
{
	struct sonde_sampling *s = l->s;
	uint64_t want = l->cost_ns + l->cost_ns / 2;
	size_t i;

	s->status.nr_slower++;
	if (s->q.interval_ns || s->q.burst_ns) {
		l->burst_ns = l->burst_ns ? l->burst_ns / 2 + MS : BURST_NS;
		return;
	}
	for (i = 0; i < NR_STEPS - 1; i++)
		if (steps_ns[i] > s->interval_ns && steps_ns[i] >= want)
			break;
	s->interval_ns = steps_ns[i];
}

static int use_set(struct loop *l)
{
	int rc = pm_device_use(l->s, l->err);

	if (rc == 0)
		l->to->begin_set(l->to->of, &l->s->sets[l->s->current].names);
	return rc;
}

static int start(struct loop *l)
{
	uint64_t length = l->burst_ns ? l->burst_ns : l->s->nr_sets > 1 ? TURN_NS : 0;

	l->begin_ns = sonde_sampling_now(l->s);
	l->until_ns = length ? l->begin_ns + length : UINT64_MAX;
	l->last_ns = 0;
	l->is_first = true;
	return pm_device_start(l->s, l->err);
}

/* Between two bursts: no rhythm of the program's may coincide with ours. */
static void pause_at_random(struct loop *l)
{
	if (l->burst_ns)
		sleep_ns(l->burst_ns / 8 + (uint64_t)rand_r(&l->seed) % (l->burst_ns / 2 + 1));
}

static int run_turns(struct loop *l)
{
	enum next next = GO_ON;
	int rc = use_set(l);

	while (rc == 0 && next != ALL_OVER) {
		rc = start(l);
		next = rc ? FAILED : sample(l);
		if (next == FAILED)
			return rc ? rc : SONDE_ERR_IO;
		rc = pm_device_stop(l->s, l->err);
		if (next == ALL_OVER || rc)
			break;
		if (next == TOO_SLOW)
			slow_down(l);
		pause_at_random(l);
		l->s->current = (l->s->current + 1) % l->s->nr_sets;
		if (l->s->nr_sets > 1 || next == TOO_SLOW)
			rc = use_set(l);
	}
	return rc;
}

int sonde_sampling_run(
	struct sonde_sampling *s, const struct sonde_sample_taker *to, struct sonde_err *err)
{
	struct sonde_err local = {0};
	struct loop *l = sonde_calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return sonde_err_nomem(err);
	l->s = s;
	l->to = to;
	l->burst_ns = s->q.burst_ns;
	l->seed = (unsigned)mono_ns();
	l->err = err ? err : &local;
	rc = run_turns(l);
	pm_device_stop(s, NULL);
	sonde_free(l);
	return rc;
}
