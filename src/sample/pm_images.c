/*
 * Images of samples on their way: decoded by the thread that samples, evaluated
 * and cleared by threads of their own, handed over in the order they were
 * decoded in.
 *
 * A call to decode takes everything the hardware has buffered, keeps what fits
 * into one image and drops the rest. So the time between two calls must stay
 * below what an image holds, and the deciding thread does nothing but decode.
 */
#include "base/alloc.h"
#include "sample/pm_int.h"

#include <pthread.h>
#include <time.h>

enum state { CLEAN, DECODED, EVALUATING, EVALUATED };

struct pm_images {
	struct sonde_sampling *s;
	struct pm_set *set;
	struct pm_image at[PM_IMAGES];
	enum state state[PM_IMAGES];
	CUpti_Profiler_Host_Object *hosts[PM_THREADS]; /* one for each thread: not to be shared */
	pthread_t threads[PM_THREADS];
	unsigned nr_threads;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t nr_in, nr_out; /* images decoded and handed over; the next is that number modulo */
	bool is_ending;
	struct sonde_err err; /* the first failure */
};

static int evaluate(struct pm_images *p, struct pm_image *m, CUpti_Profiler_Host_Object *host,
	struct sonde_err *err)
{
	struct timespec begin, end;
	size_t i;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < m->nr && rc == 0; i++)
		rc = pm_device_sample(p->s, p->set, m, i, host, err);
	if (rc == 0)
		rc = pm_device_clear(p->s, m, err);
	clock_gettime(CLOCK_MONOTONIC, &end);
	m->evaluate_ns = (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u +
			 (uint64_t)end.tv_nsec - (uint64_t)begin.tv_nsec;
	return rc;
}

/* The oldest decoded image nobody works on; PM_IMAGES = none. */
static unsigned find_work(const struct pm_images *p)
{
	uint64_t n;

	for (n = p->nr_out; n < p->nr_in; n++)
		if (p->state[n % PM_IMAGES] == DECODED)
			return (unsigned)(n % PM_IMAGES);
	return PM_IMAGES;
}

struct worker {
	struct pm_images *p;
	unsigned number;
};

static void *work(void *of)
{
	struct worker w = *(struct worker *)of;
	struct pm_images *p = w.p;
	struct sonde_err err = {0};
	unsigned i;
	int rc;

	sonde_free(of);
	pthread_mutex_lock(&p->lock);
	while (!p->is_ending) {
		i = find_work(p);
		if (i == PM_IMAGES) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		p->state[i] = EVALUATING;
		pthread_mutex_unlock(&p->lock);
		rc = evaluate(p, &p->at[i], p->hosts[w.number], &err);
		pthread_mutex_lock(&p->lock);
		if (rc && !p->err.code)
			p->err = err;
		p->state[i] = EVALUATED;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int make_image(struct pm_images *p, struct pm_image *m, struct sonde_err *err)
{
	size_t nr = p->s->image_samples;

	m->start_ns = sonde_calloc(nr, sizeof(*m->start_ns));
	m->end_ns = sonde_calloc(nr, sizeof(*m->end_ns));
	m->values = sonde_calloc(nr * p->set->names.nr, sizeof(*m->values));
	if (!m->start_ns || !m->end_ns || !m->values)
		return sonde_err_nomem(err);
	return pm_device_make_image(p->s, p->set, m, err);
}

static int start_thread(struct pm_images *p, unsigned i, struct sonde_err *err)
{
	struct worker *w = sonde_calloc(1, sizeof(*w));
	int rc = w ? pm_host_use(&p->hosts[i], p->s, p->set, err) : sonde_err_nomem(err);

	if (rc) {
		sonde_free(w);
		return rc;
	}
	*w = (struct worker){p, i};
	if (pthread_create(&p->threads[i], NULL, work, w)) {
		sonde_free(w);
		return sonde_err_set(err, SONDE_ERR_IO, "no thread to evaluate samples");
	}
	p->nr_threads++;
	return 0;
}

int pm_images_open(
	struct pm_images **out, struct sonde_sampling *s, struct pm_set *set, struct sonde_err *err)
{
	struct pm_images *p = sonde_calloc(1, sizeof(*p));
	unsigned i;
	int rc = 0;

	*out = p;
	if (!p)
		return sonde_err_nomem(err);
	p->s = s;
	p->set = set;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	for (i = 0; i < PM_IMAGES && rc == 0; i++)
		rc = make_image(p, &p->at[i], err);
	for (i = 0; i < PM_THREADS && rc == 0; i++)
		rc = start_thread(p, i, err);
	return rc;
}

void pm_images_close(struct pm_images *p)
{
	unsigned i;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->is_ending = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->nr_threads; i++)
		pthread_join(p->threads[i], NULL);
	for (i = 0; i < PM_THREADS; i++)
		pm_host_close(p->s, p->hosts[i]);
	for (i = 0; i < PM_IMAGES; i++) {
		sonde_free(p->at[i].bytes);
		sonde_free(p->at[i].start_ns);
		sonde_free(p->at[i].end_ns);
		sonde_free(p->at[i].values);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	sonde_free(p);
}

struct pm_image *pm_images_next(struct pm_images *p)
{
	return p->nr_in - p->nr_out < PM_IMAGES ? &p->at[p->nr_in % PM_IMAGES] : NULL;
}

void pm_images_put(struct pm_images *p)
{
	pthread_mutex_lock(&p->lock);
	p->state[p->nr_in++ % PM_IMAGES] = DECODED;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

int pm_images_take(struct pm_images *p, bool waits, struct pm_image **out, struct sonde_err *err)
{
	unsigned i = (unsigned)(p->nr_out % PM_IMAGES);
	int rc = 0;

	*out = NULL;
	if (p->nr_out == p->nr_in)
		return 0;
	pthread_mutex_lock(&p->lock);
	while (waits && p->state[i] != EVALUATED)
		pthread_cond_wait(&p->changed, &p->lock);
	if (p->state[i] == EVALUATED)
		*out = &p->at[i];
	if (p->err.code)
		rc = sonde_err_set(err, p->err.code, "%s", p->err.msg);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void pm_images_give_back(struct pm_images *p)
{
	pthread_mutex_lock(&p->lock);
	p->state[p->nr_out++ % PM_IMAGES] = CLEAN;
	pthread_mutex_unlock(&p->lock);
}
