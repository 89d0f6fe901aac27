/* The loop: samples are drained as they come; where this machine cannot, the interval grows. */
#include "sample/sampling.h"

#include "base/alloc.h"
#include "sample/pm_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define US 1000u
#define MS 1000000u

#define TURN_NS	      (500 * MS) /* of a set, where several take turns */
#define BURST_STEP_NS (10 * US)	  /* interval of bursts, where it was not asked for */
#define MAX_BURST     4096	  /* samples of a burst: its image holds all of them */
#define LAST_LOOK_NS  (300 * MS)  /* for what is still in the buffer at the end */
#define STALE_NS      (60000ull * MS)

/* A raw sample takes 30 to 60 kB of the hardware buffer, which is a second's worth. */
#define BUFFER_BYTES (512u << 20)
#define RAW_BYTES    (64u << 10)

/* Of the time decoding and evaluating may take, over a window; beyond it images fill up. */
#define WINDOW_NS    (500 * MS)
#define MAX_BUSY_PCT 90

/* What a sample costs one core, roughly; measured on an H200. */
#define COST_NS		   (20 * US)
#define COST_OF_COUNTER_NS 7200u

/* Intervals to choose from. */
static const uint64_t steps_ns[] = {50 * US, 75 * US, 100 * US, 150 * US, 200 * US, 300 * US,
	500 * US, 750 * US, 1 * MS, 2 * MS, 5 * MS, 10 * MS};
#define NR_STEPS (sizeof(steps_ns) / sizeof(*steps_ns))

struct loop {
	struct sonde_sampling *s;
	const struct sonde_sample_taker *to;
	uint64_t begin_ns;	    /* when sampling was last started, on the GPU's clock */
	uint64_t last_ns;	    /* end of the last good sample of this turn; 0 = none yet */
	uint64_t until_ns;	    /* of a burst or turn; UINT64_MAX = no such end */
	uint64_t window_ns;	    /* when the window began, on the host's clock */
	uint64_t busy_ns;	    /* spent in it */
	unsigned nr_full, nr_stale; /* images that were full, samples of long ago, in it */
	bool is_first;		    /* the next sample is the first after a start */
	unsigned seed;
	struct sonde_err *err;
};

enum next { GO_ON, TURN_OVER, TOO_SLOW, LOST, ALL_OVER, FAILED };

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

static uint64_t step_above(uint64_t ns)
{
	size_t i;

	for (i = 0; i < NR_STEPS - 1 && steps_ns[i] < ns; i++)
		;
	return steps_ns[i];
}

/* As short as this machine is likely to decode; the loop finds out whether it is. */
static uint64_t first_interval(const struct sonde_sampling *s)
{
	uint64_t cost = COST_NS + s->sets[0].names.nr * COST_OF_COUNTER_NS;

	if (s->q.interval_ns)
		return s->q.interval_ns;
	if (s->q.burst_ns)
		return BURST_STEP_NS;
	if (sysconf(_SC_NPROCESSORS_ONLN) <= 4) /* the program needs them too */
		cost *= 2;
	return step_above(cost + cost / 5);
}

/* The image of a burst holds all of it, and so does the hardware's buffer. */
static void choose_sizes(struct sonde_sampling *s)
{
	uint64_t nr = PM_IMAGE_SAMPLES;

	s->interval_ns = first_interval(s);
	s->buffer_bytes = BUFFER_BYTES;
	if (s->q.burst_ns) {
		nr = s->q.burst_ns * 5 / 4 / s->interval_ns + 64;
		nr = nr < MAX_BURST ? nr : MAX_BURST;
		s->buffer_bytes = nr * RAW_BYTES;
	}
	s->image_samples = (uint32_t)nr;
}

int sonde_sampling_count(unsigned *nr, struct sonde_err *err)
{
	struct pm pm = {0};
	int rc = pm_load(&pm, err), n = 0;

	if (rc == 0 && (pm.cuDeviceGetCount(&n) != CUDA_SUCCESS || n <= 0))
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND, "CUDA shows no GPU here: check `nvidia-smi` and CUDA_VISIBLE_DEVICES");
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
	if (rc == 0) {
		choose_sizes(s);
		rc = pm_device_open(s, err);
	}
	if (rc == 0)
		rc = pm_device_make_images(s, err);
	if (rc) {
		sonde_sampling_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void sonde_sampling_close(struct sonde_sampling *s)
{
	size_t i;

	if (!s)
		return;
	pm_device_close(s);
	pm_device_free_images(s);
	for (i = 0; s->sets && i < PM_MAX_SETS; i++) {
		pm_host_close(s, s->sets[i].host);
		sonde_free(s->sets[i].config);
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
	uint64_t gap = l->last_ns && start > l->last_ns ? start - l->last_ns : 0;

	if (l->is_first) { /* covers the time before the start */
		st->nr_first++;
		l->is_first = false;
		return false;
	}
	if (end <= start || start < l->last_ns ||
		(start < l->begin_ns && l->begin_ns - start < STALE_NS)) {
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

/* Evaluates what was decoded, and hands over what counts of it. */
static int take(struct loop *l)
{
	struct pm_set *set = &l->s->sets[l->s->current];
	struct pm_image *m = &set->image;
	struct sonde_sample_rows rows = {.set = &set->names,
		.start_ns = m->start_ns,
		.end_ns = m->end_ns,
		.values = m->values};
	size_t i;
	int rc = 0;

	for (i = 0; i < m->nr && rc == 0; i++) {
		rc = pm_device_sample(l->s, i, l->err);
		if (rc || !judge(l, m->start_ns[i], m->end_ns[i]))
			continue;
		m->start_ns[rows.nr] = m->start_ns[i];
		m->end_ns[rows.nr] = m->end_ns[i];
		if (rows.nr < i)
			memcpy(&m->values[rows.nr * set->names.nr], &m->values[i * set->names.nr],
				set->names.nr * sizeof(*m->values));
		rows.nr++;
	}
	if (rows.nr) {
		pm_device_find_peaks(l->s);
		l->to->take(l->to->of, &rows);
	}
	return rc;
}

/* At the end of a window: whether this machine keeps up. */
static bool is_too_slow(struct loop *l)
{
	uint64_t now = mono_ns(), length = now - l->window_ns;
	bool is_so;

	if (length < WINDOW_NS)
		return false;
	is_so = l->busy_ns > length / 100 * MAX_BUSY_PCT || l->nr_full > 2;
	l->window_ns = now;
	l->busy_ns = l->nr_full = l->nr_stale = 0;
	return is_so && !l->s->q.interval_ns && !l->s->q.burst_ns;
}

/* Decodes what there is, evaluates it and hands it over. */
static enum next drain(struct loop *l, struct pm_drained *d)
{
	uint64_t begin = mono_ns(), middle, end;

	if (pm_device_drain(l->s, d, l->err))
		return FAILED;
	middle = mono_ns();
	if (take(l))
		return FAILED;
	end = mono_ns();
	l->s->status.decode_ns += middle - begin;
	l->s->status.evaluate_ns += end - middle;
	l->busy_ns += end - begin;
	l->nr_full += d->is_full;
	l->s->status.nr_overflows += d->has_overflown;
	/* Once CUPTI has lost its place in the buffer it stays lost: only a new session helps. */
	if (d->has_overflown || l->nr_stale > l->s->image_samples / 4)
		return LOST;
	if (is_too_slow(l))
		return TOO_SLOW;
	return d->end_ns >= l->until_ns ? TURN_OVER : GO_ON;
}

/* The program is over; what it did last may still be in the buffer. */
static enum next drain_rest(struct loop *l)
{
	uint64_t end = sonde_sampling_now(l->s), limit = mono_ns() + LAST_LOOK_NS;
	struct pm_drained d;
	enum next next;

	do {
		next = drain(l, &d);
		if (next == FAILED)
			return FAILED;
		if (!d.is_full)
			sleep_ns(2 * MS);
	} while (next != LOST && l->last_ns < end && mono_ns() < limit);
	return ALL_OVER;
}

/*
 * How long to leave the hardware alone: an eighth of an image comes together meanwhile. Not at all
 * when the last image was half full already.
 */
static uint64_t pause_of(const struct loop *l, const struct pm_drained *last)
{
	uint64_t ns = l->s->interval_ns * (l->s->image_samples / 8);

	if (l->s->q.burst_ns)
		return l->s->q.burst_ns + MS; /* its last sample is complete by then */
	if (last->nr > l->s->image_samples / 2)
		return 0;
	return ns < MS ? MS : ns > 20 * MS ? 20 * MS : ns;
}

/* Until the burst or turn ends, something is to change, or all is over. */
static enum next sample(struct loop *l)
{
	struct pm_drained d = {0};
	enum next next;

	do {
		if (l->to->is_over(l->to->of))
			return drain_rest(l);
		sleep_ns(pause_of(l, &d));
		next = drain(l, &d);
	} while (next == GO_ON);
	return next;
}

static int start(struct loop *l)
{
	uint64_t length = l->s->q.burst_ns ? l->s->q.burst_ns : l->s->nr_sets > 1 ? TURN_NS : 0;
	int rc = pm_device_start(l->s, l->err);

	if (rc)
		return rc;
	l->to->begin_set(l->to->of, &l->s->sets[l->s->current].names);
	l->begin_ns = sonde_sampling_now(l->s);
	l->until_ns = length ? l->begin_ns + length : UINT64_MAX;
	l->busy_ns = l->nr_full = l->nr_stale = 0;
	l->window_ns = mono_ns();
	l->is_first = true;
	return 0;
}

/* Between two bursts: no rhythm of the program's may coincide with ours. */
static void pause_at_random(struct loop *l)
{
	uint64_t burst = l->s->q.burst_ns;

	if (burst)
		sleep_ns((uint64_t)rand_r(&l->seed) % (burst / 2 + 1));
}

/* Sessions on the device, one after the other: for each turn and burst, and after each trouble. */
int sonde_sampling_run(
	struct sonde_sampling *s, const struct sonde_sample_taker *to, struct sonde_err *err)
{
	struct sonde_err local = {0};
	struct loop l = {.s = s, .to = to, .seed = (unsigned)mono_ns(), .err = err ? err : &local};
	enum next next = GO_ON;
	int rc = 0;

	while (next != ALL_OVER) {
		rc = start(&l);
		next = rc ? FAILED : sample(&l);
		if (next == FAILED)
			break;
		pm_device_close(s);
		if (next == TOO_SLOW) {
			s->interval_ns = step_above(s->interval_ns + 1);
			s->status.nr_slower++;
		}
		s->status.nr_lost += next == LOST;
		if (next == TURN_OVER) /* what is not sampled until the next is no gap */
			l.last_ns = 0;
		s->current = (s->current + 1) % s->nr_sets;
		if (next != ALL_OVER)
			pause_at_random(&l);
	}
	pm_device_close(s);
	return next == FAILED && rc == 0 ? l.err->code : rc;
}
