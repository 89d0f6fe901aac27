/* The loop: samples are drained as they come; where this machine cannot, the interval grows. */
#include "sample/sampling.h"

#include "base/alloc.h"
#include "sample/pm_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define US 1000u
#define MS 1000000u

#define TURN_NS	      (20 * MS)	 /* of a set, where several take turns */
#define BURST_STEP_NS (10 * US)	 /* interval of bursts, where it was not asked for */
#define MAX_BURST     4096	 /* samples of a burst: its image holds all of them */
#define LAST_LOOK_NS  (300 * MS) /* for what is still in the buffer at the end */
#define STALE_NS      (60000ull * MS)
#define BUFFER_BYTES  (512u << 20) /* of the hardware: a second or two of raw samples */
#define BURST_BYTES   (128u << 20)

/*
 * Losing more than a 50th of the time twice in a row, or decoding for longer than an image lasts
 * so often in a row, the interval is too short.
 */
#define WINDOW_NS  (500 * MS)
#define MAX_LOSSES 50
#define MAX_LONG   3
/* What an image should hold: for so long the machine may keep the sampler from running. */
#define SLACK_NS (25 * MS)

/* Intervals to choose from. */
static const uint64_t steps_ns[] = {
	50 * US, 100 * US, 200 * US, 500 * US, 1 * MS, 2 * MS, 5 * MS, 10 * MS};
#define NR_STEPS (sizeof(steps_ns) / sizeof(*steps_ns))

struct loop {
	struct sonde_sampling *s;
	const struct sonde_sample_taker *to;
	uint64_t begin_ns;	   /* when sampling was last started, on the GPU's clock */
	uint64_t decoded_ns;	   /* end of the last sample decoded since; 0 = none yet */
	uint64_t last_ns;	   /* end of the last sample handed over since; 0 = none yet */
	uint64_t until_ns;	   /* of a burst or turn; UINT64_MAX = no such end */
	uint64_t seen_ns, lost_ns; /* of the window */
	unsigned nr_bad;	   /* windows in a row with too much lost */
	unsigned nr_long;	   /* calls in a row that took longer than an image lasts */
	bool is_first;		   /* the next sample is the first after a start */
	bool is_first_window;
	unsigned seed;
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

/* Of a burst the image holds all: decoding keeps no more than an image of what there is. */
static void choose_sizes(struct sonde_sampling *s)
{
	uint64_t nr;

	s->interval_ns = first_interval(s);
	s->buffer_bytes = s->q.burst_ns ? BURST_BYTES : BUFFER_BYTES;
	s->image_samples = PM_IMAGE_SAMPLES;
	while (s->image_samples * s->interval_ns < SLACK_NS && s->image_samples < PM_MAX_IMAGE)
		s->image_samples *= 2;
	if (s->q.burst_ns) {
		nr = s->q.burst_ns * 5 / 4 / s->interval_ns + PM_IMAGE_SAMPLES;
		s->image_samples = (uint32_t)(nr < MAX_BURST ? nr : MAX_BURST);
	}
#ifdef SONDE_PM_EXPERIMENT
	if (getenv("SONDE_PM_IMAGE"))
		s->image_samples = (uint32_t)atoi(getenv("SONDE_PM_IMAGE"));
	if (getenv("SONDE_PM_BUFFER_MB"))
		s->buffer_bytes = (size_t)atoi(getenv("SONDE_PM_BUFFER_MB")) << 20;
#endif
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
	if (rc == 0) {
		choose_sizes(s);
		rc = pm_device_open(s, err);
	}
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
	for (i = 0; s->sets && i < PM_MAX_SETS; i++)
		sonde_free(s->sets[i].config);
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
	uint64_t gap = l->last_ns && start > l->last_ns ? start - l->last_ns : 0;

	if (l->is_first || is_old) { /* covers, or is of, the time before the start */
		st->nr_first++;
		l->is_first = false;
		return false;
	}
	if (end <= start || start < l->last_ns) {
		st->nr_refused++;
		return false;
	}
	if (gap > l->s->interval_ns / 2) {
		st->nr_gaps++;
		st->gap_ns += gap;
		l->lost_ns += gap;
	}
	l->seen_ns += gap + end - start;
	l->last_ns = end;
	st->nr_samples++;
	return true;
}

/* Hands over what counts of an image, and moves it together for that. */
static void hand_over(struct loop *l, struct pm_image *m)
{
	const struct sonde_counter_set *set = &l->s->sets[l->s->current].names;
	struct sonde_sample_rows rows = {
		.set = set, .start_ns = m->start_ns, .end_ns = m->end_ns, .values = m->values};
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (!judge(l, m->start_ns[i], m->end_ns[i]))
			continue;
		m->start_ns[rows.nr] = m->start_ns[i];
		m->end_ns[rows.nr] = m->end_ns[i];
		if (rows.nr < i)
			memmove(&m->values[rows.nr * set->nr], &m->values[i * set->nr],
				set->nr * sizeof(*m->values));
		rows.nr++;
	}
	l->s->status.evaluate_ns += m->evaluate_ns;
	if (rows.nr)
		l->to->take(l->to->of, &rows);
}

/* Hands over all that is evaluated, or with `waits` all that is decoded. */
static int hand_over_ready(struct loop *l, bool waits)
{
	struct pm_images *images = l->s->sets[l->s->current].images;
	struct pm_image *m;
	int rc;

	while ((rc = pm_images_take(images, waits, &m, l->err)) == 0 && m) {
		hand_over(l, m);
		pm_images_give_back(images);
	}
	return rc;
}

/* The first window after a start does not count: the first call to decode takes long by itself. */
static bool loses_too_much(struct loop *l)
{
	uint64_t lost = l->lost_ns, seen = l->seen_ns;

	if (seen < WINDOW_NS)
		return false;
	l->seen_ns = l->lost_ns = 0;
	if (l->is_first_window || lost < seen / MAX_LOSSES) {
		l->is_first_window = false;
		l->nr_bad = 0;
		return false;
	}
	l->nr_bad++;
	return l->nr_bad > 1;
}

/* Whether the interval is to grow; one that was asked for stays. */
static bool is_too_short(struct loop *l)
{
	bool loses = loses_too_much(l);

	return (loses || l->nr_long >= MAX_LONG) && !l->s->q.interval_ns && !l->s->q.burst_ns;
}

/* One image full of samples, at most. */
static enum next drain(struct loop *l, struct pm_drained *d)
{
	struct pm_images *images = l->s->sets[l->s->current].images;
	struct pm_image *m;
	uint64_t begin, took;

	if (hand_over_ready(l, false))
		return FAILED;
	m = pm_images_next(images);
	if (!m && hand_over_ready(l, true))
		return FAILED;
	m = pm_images_next(images);
	begin = mono_ns();
	if (pm_device_drain(l->s, m, d, l->err))
		return FAILED;
	took = mono_ns() - begin;
	l->s->status.decode_ns += took;
	l->nr_long = took > l->s->image_samples * l->s->interval_ns ? l->nr_long + 1 : 0;
#ifdef SONDE_PM_EXPERIMENT
	if (getenv("SONDE_PM_TRACE"))
		fprintf(stderr,
			"decode at %.3f ms took %.3f ms: %zu samples%s%s, the last ended %.3f ms "
			"ago\n",
			(double)(sonde_sampling_now(l->s) - l->begin_ns) / 1e6,
			(double)(mono_ns() - begin) / 1e6, m->nr, d->is_full ? " full" : "",
			d->has_overflown ? " OVERFLOW" : "",
			m->nr ? (double)(int64_t)(sonde_sampling_now(l->s) - d->end_ns) / 1e6 : 0);
#endif
	if (m->nr) {
		l->decoded_ns = d->end_ns;
		pm_images_put(images);
	}
	l->s->status.nr_overflows += d->has_overflown;
	if (d->has_overflown || is_too_short(l))
		return TOO_SLOW;
	return l->decoded_ns >= l->until_ns ? TURN_OVER : GO_ON;
}

/* The program is over; what it did last may still be in the buffer. */
static enum next drain_rest(struct loop *l)
{
	uint64_t end = sonde_sampling_now(l->s), limit = mono_ns() + LAST_LOOK_NS;
	struct pm_drained d;

	do {
		if (drain(l, &d) == FAILED)
			return FAILED;
		if (!d.is_full)
			sleep_ns(2 * MS);
	} while (l->decoded_ns < end && mono_ns() < limit);
	return ALL_OVER;
}

/*
 * How long to leave the hardware alone: a quarter of an image comes together meanwhile. Not at all
 * when the last image was half full already: decoding takes most of the time then.
 */
static uint64_t pause_of(const struct loop *l, const struct pm_drained *last)
{
	uint64_t ns = l->s->interval_ns * (l->s->image_samples / 4);

	if (l->s->q.burst_ns)
		return l->s->q.burst_ns;
	if (last->nr > l->s->image_samples / 2)
		return 0;
	return ns < MS ? MS : ns > 20 * MS ? 20 * MS : ns;
}

/* Until the burst or turn ends, the machine proves too slow, or all is over. */
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

static void slow_down(struct loop *l)
{
	struct sonde_sampling *s = l->s;
	size_t i;

	s->status.nr_slower++;
	for (i = 0; i < NR_STEPS - 1 && steps_ns[i] <= s->interval_ns; i++)
		;
	if (!s->q.interval_ns && !s->q.burst_ns)
		s->interval_ns = steps_ns[i];
	l->seen_ns = l->lost_ns = 0;
	l->nr_bad = l->nr_long = 0;
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
	uint64_t length = l->s->q.burst_ns ? l->s->q.burst_ns : l->s->nr_sets > 1 ? TURN_NS : 0;

	l->begin_ns = sonde_sampling_now(l->s);
	l->until_ns = length ? l->begin_ns + length : UINT64_MAX;
	l->last_ns = l->decoded_ns = 0;
	l->is_first = l->is_first_window = true;
	return pm_device_start(l->s, l->err);
}

/* Between two bursts: no rhythm of the program's may coincide with ours. */
static void pause_at_random(struct loop *l)
{
	uint64_t burst = l->s->q.burst_ns;

	if (burst)
		sleep_ns(burst / 8 + (uint64_t)rand_r(&l->seed) % (burst / 2 + 1));
}

/* Stops, and hands over everything that was sampled until then. */
static int stop(struct loop *l)
{
	int rc = pm_device_stop(l->s, l->err);

	return rc ? rc : hand_over_ready(l, true);
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
		rc = stop(l);
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
	struct loop l = {.s = s, .to = to, .seed = (unsigned)mono_ns(), .err = err ? err : &local};
	int rc = run_turns(&l);

	pm_device_stop(s, NULL);
	return rc;
}
