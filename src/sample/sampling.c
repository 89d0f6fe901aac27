/* Opens and closes a session: finds the counters on the chip and reserves the device. */
#include "sample/sampling.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sample/pm_int.h"

#include <unistd.h>

#define US 1000u
#define MS 1000000u

#define BURST_STEP_NS (10 * US) /* interval in bursts, if the request has none */
#define LEAST_STEP_NS (1 * US)	/* shortest interval that may be asked for */
#define MOST_STEP_NS  (1000 * MS) /* longest interval that may be asked for */
#define LEAST_BURST   10 /* fewest samples in a burst: the first one is left out */

/*
 * The size of the hardware's buffer: enough for about half a second, as a raw sample takes 30 to 60 kB. A larger buffer takes
 * longer to reserve: 150 ms, and 0.8 ms per megabyte.
 */
#define BUFFER_BYTES	   (256u << 20)
#define BURST_BUFFER_BYTES (512u << 20)

/* The size of an image: the larger it is, the longer clearing it takes, but the longer we may pause between decodes. */
#define IMAGE_BYTES	  (128u << 20)
#define MOST_IMAGE_BYTES  (384u << 20)
#define LEAST_SAMPLES	  256
#define MOST_SAMPLES	  4096
#define BURST_SAMPLES(nr) ((nr) + (nr) / 4 + 64) /* room for more: starting and stopping take a millisecond or two */

/* The intervals that sonde chooses from. */
static const uint64_t steps_ns[] = {50 * US, 75 * US, 100 * US, 150 * US, 200 * US, 300 * US,
	500 * US, 750 * US, 1 * MS, 2 * MS, 5 * MS, PM_LONGEST_NS};
#define NR_STEPS (sizeof(steps_ns) / sizeof(*steps_ns))

uint64_t sonde_sampling_now(const struct sonde_sampling *s)
{
	uint64_t now = 0;

	if (s->pm.cuptiGetTimestamp(&now) == CUPTI_SUCCESS && now)
		return now;
	return sonde_clock_ns(CLOCK_REALTIME);
}

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

uint64_t pm_step_above(uint64_t ns)
{
	size_t i;

	for (i = 0; i < NR_STEPS - 1 && steps_ns[i] < ns; i++)
		;
	return steps_ns[i];
}

static int check_times(const struct sonde_sampling_request *q, struct sonde_err *err)
{
	uint64_t step = q->interval_ns ? q->interval_ns : BURST_STEP_NS;

	if (step < LEAST_STEP_NS || step > MOST_STEP_NS)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"an interval of %.4g us cannot be sampled: ask for 1us to 1s", (double)step / 1e3);
	if (q->burst_ns && q->burst_ns < LEAST_BURST * step)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"a burst of %.4g us is too short for samples of %.4g us: ask for %.4g us or more",
			(double)q->burst_ns / 1e3, (double)step / 1e3, LEAST_BURST * (double)step / 1e3);
	return 0;
}

/* The shortest interval that this machine can probably decode; the loop then sees whether it really can. */
static uint64_t first_interval(const struct sonde_sampling *s)
{
	uint64_t cost = PM_DECODE_NS(s->sets[0].names.nr) + PM_EVALUATE_NS(s->sets[0].names.nr);

	if (s->q.interval_ns)
		return s->q.interval_ns;
	if (s->q.burst_ns)
		return BURST_STEP_NS;
	if (sysconf(_SC_NPROCESSORS_ONLN) <= 4) /* the program needs the few cores too */
		cost *= 2;
	return pm_step_above(cost + cost / 10);
}

/*
 * Chooses the sizes of images. An image must hold a whole burst, so a burst that is too long for the largest image is
 * made shorter.
 */
static int choose_sizes(struct sonde_sampling *s, struct sonde_err *err)
{
	uint64_t bytes = 0, most;
	int rc = pm_image_sample_bytes(s, &bytes, err);

	if (rc)
		return rc;
	most = MOST_IMAGE_BYTES / bytes;
	s->most_samples = (uint32_t)(most > LEAST_SAMPLES ? most : LEAST_SAMPLES);
	most = IMAGE_BYTES / bytes;
	most = most > MOST_SAMPLES ? MOST_SAMPLES : most;
	s->image_samples = (uint32_t)(most > LEAST_SAMPLES ? most : LEAST_SAMPLES);
	if (s->q.burst_ns) {
		if (BURST_SAMPLES(s->q.burst_ns / s->interval_ns) > s->most_samples)
			s->q.burst_ns = s->most_samples / 2 * s->interval_ns;
		s->image_samples = (uint32_t)BURST_SAMPLES(s->q.burst_ns / s->interval_ns);
	}
	return 0;
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

	if (rc == 0)
		rc = pm_find_device(&pm, &number, device, err);
	if (rc == 0)
		pm_name_uuid(&pm, uuid, size, number);
	return rc;
}

static double find_bandwidth(const struct sonde_sampling *s)
{
	int khz = 0, bits = 0;
	CUdevice device;

	if (s->pm.cuDeviceGet(&device, (int)s->q.device) != CUDA_SUCCESS ||
		s->pm.cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device) != CUDA_SUCCESS ||
		s->pm.cuDeviceGetAttribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device) != CUDA_SUCCESS)
		return 0;
	return 2.0 * khz * bits / 8 / 1e6; /* the memory moves two words per clock */
}

/* Finds the counters on the chip, and reserves the device. */
static int reserve(struct sonde_sampling *s, struct sonde_err *err)
{
	int rc = get_available(s, err);

	if (rc == 0)
		rc = pm_choose(s, err);
	if (rc)
		return rc;
	s->facts.bytes_per_ns = find_bandwidth(s);
	s->interval_ns = first_interval(s);
	s->buffer_bytes = s->q.burst_ns ? BURST_BUFFER_BYTES : BUFFER_BYTES;
	rc = pm_device_open(s, err);
	return rc ? rc : choose_sizes(s, err);
}

/* Opens GPM if it is asked for, or if the driver refused PM sampling: `rc` and `err` are the outcome of that. */
static int open_gpm(struct sonde_sampling *s, int rc, struct sonde_err *err)
{
	bool is_refused = rc == SONDE_ERR_IO && s->q.source != SONDE_SAMPLING_PM;
	struct sonde_err why = {0};

	if (!is_refused && (rc || s->q.source == SONDE_SAMPLING_PM || s->q.source == SONDE_SAMPLING_AUTO))
		return rc;
	if (sonde_gpm_open(&s->gpm, &s->sets[0].names, &why)) {
		if (s->q.source == SONDE_SAMPLING_GPM)
			return sonde_err_set(err, why.code, "NVML's GPM cannot count here: %s", why.msg);
		if (!is_refused) /* PM sampling counts, without GPM */
			sonde_buf_printf(&s->facts.left_out, "%sGPM (%s)", s->facts.left_out.n ? ", " : "", why.msg);
		return rc;
	}
	if (s->q.source == SONDE_SAMPLING_GPM)
		sonde_buf_puts(&s->facts.by_gpm, s->q.why_gpm ? s->q.why_gpm : "counters.source=gpm asks for them");
	else if (is_refused)
		sonde_buf_puts(&s->facts.by_gpm, err && err->msg[0] ? err->msg : "PM sampling is refused");
	if (s->facts.by_gpm.n)
		s->facts.nr_sets = 1;
	if (err && is_refused)
		*err = (struct sonde_err){0};
	return 0;
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
	rc = s->sets ? check_times(q, err) : sonde_err_nomem(err);
	if (rc == 0)
		rc = pm_load(&s->pm, err);
	if (rc == 0)
		rc = pm_describe(s, &s->sets[0].names, err);
	if (rc == 0) {
		if (q->source != SONDE_SAMPLING_GPM)
			rc = reserve(s, err);
		rc = open_gpm(s, rc, err);
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
	pm_images_free(s);
	for (i = 0; s->sets && i < PM_MAX_SETS; i++) {
		pm_host_close(s, s->sets[i].host);
		sonde_free(s->sets[i].config);
	}
	sonde_free(s->sets);
	sonde_free(s->available);
	sonde_gpm_close(s->gpm);
	sonde_buf_release(&s->facts.by_gpm);
	sonde_buf_release(&s->facts.left_out);
	sonde_arena_release(&s->arena);
	sonde_free(s);
}

const struct sonde_sampling_facts *sonde_sampling_facts(const struct sonde_sampling *s)
{
	return &s->facts;
}

const struct sonde_counter_set *sonde_sampling_set(const struct sonde_sampling *s, size_t i)
{
	return s->facts.by_gpm.n ? sonde_gpm_set(s->gpm) : &s->sets[i].names;
}
