/* Images of samples: where CUPTI decodes to. */
#include "base/alloc.h"
#include "sample/pm_int.h"

#include <string.h>

static int find_size(struct sonde_sampling *s, struct pm_set *set, uint32_t nr, size_t *size,
	struct sonde_err *err)
{
	CUpti_PmSampling_GetCounterDataSize_Params p = {
		.structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pMetricNames = set->metrics,
		.numMetrics = set->names.nr,
		.maxSamples = nr};
	CUptiResult why = s->pm.cuptiPmSamplingGetCounterDataSize(&p);

	*size = p.counterDataSize;
	return why ? pm_refuse(&s->pm, "size the image of samples", why, err) : 0;
}

int pm_image_sample_bytes(struct sonde_sampling *s, uint64_t *bytes, struct sonde_err *err)
{
	const uint32_t many = 1024;
	size_t size = 0, i;
	int rc = 0;

	*bytes = 1;
	for (i = 0; i < s->facts.nr_sets && rc == 0; i++) {
		rc = find_size(s, &s->sets[i], many, &size, err);
		*bytes = size / many > *bytes ? size / many : *bytes;
	}
	return rc;
}

static void free_image(struct pm_image *m)
{
	sonde_free(m->bytes);
	sonde_free(m->empty);
	sonde_free(m->start_ns);
	sonde_free(m->end_ns);
	sonde_free(m->values);
	*m = (struct pm_image){0};
}

/* CUPTI takes twice as long to clear an image as it takes to copy one. */
static int fill_empty(struct sonde_sampling *s, struct pm_image *m, struct sonde_err *err)
{
	CUpti_PmSampling_CounterDataImage_Initialize_Params p = {
		.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.counterDataSize = m->size,
		.pCounterData = m->empty};
	CUptiResult why = s->pm.cuptiPmSamplingCounterDataImageInitialize(&p);

	if (why)
		return pm_refuse(&s->pm, "clear the image of samples", why, err);
	memcpy(m->bytes, m->empty, m->size);
	return 0;
}

static int make_image(struct sonde_sampling *s, struct pm_set *set, uint32_t nr, struct sonde_err *err)
{
	struct pm_image *m = &set->image;
	int rc;

	free_image(m);
	rc = find_size(s, set, nr, &m->size, err);
	if (rc)
		return rc;
	m->room = nr;
	m->bytes = sonde_malloc(m->size);
	m->empty = sonde_malloc(m->size);
	m->start_ns = sonde_calloc(nr, sizeof(*m->start_ns));
	m->end_ns = sonde_calloc(nr, sizeof(*m->end_ns));
	m->values = sonde_calloc((size_t)nr * set->names.nr, sizeof(*m->values));
	if (!m->bytes || !m->empty || !m->start_ns || !m->end_ns || !m->values)
		return sonde_err_nomem(err);
	return fill_empty(s, m, err);
}

void pm_images_free(struct sonde_sampling *s)
{
	size_t i;

	for (i = 0; i < s->facts.nr_sets; i++)
		free_image(&s->sets[i].image);
}

int pm_image_prepare(struct sonde_sampling *s, struct pm_set *set, size_t nr, struct sonde_err *err)
{
	struct pm_image *m = &set->image;

	nr = nr < s->most_samples ? nr : s->most_samples;
	if (nr > m->room) /* not made yet, or after a long pause */
		return make_image(s, set, nr > s->image_samples ? (uint32_t)nr : s->image_samples, err);
	if (m->nr + nr <= m->room)
		return 0;
	if (m->room > s->image_samples && nr <= s->image_samples) /* the pause is over */
		return make_image(s, set, s->image_samples, err);
	memcpy(m->bytes, m->empty, m->size);
	m->nr = 0;
	return 0;
}
