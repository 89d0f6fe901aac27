#include "capture/passes.h"

#include "base/nearest.h"
#include "base/alloc.h"
#include "sample/cupti_open.h"

#include <string.h>

#ifdef SONDE_HAVE_CUPTI_HOST

/* cupti_profiler_host.h includes C++'s <string> by mistake; sample/c_only/ has an empty one. */
#include <cupti_profiler_host.h>

#include <dlfcn.h>
#include <stdio.h>

#define CALLS(X)                                                                                   \
	X(cuptiProfilerHostInitialize)                                                             \
	X(cuptiProfilerHostDeinitialize)                                                           \
	X(cuptiProfilerHostGetSupportedChips)                                                      \
	X(cuptiProfilerHostGetBaseMetrics)                                                         \
	X(cuptiProfilerHostGetSubMetrics)                                                          \
	X(cuptiProfilerHostConfigAddMetrics)                                                       \
	X(cuptiProfilerHostGetConfigImageSize)                                                     \
	X(cuptiProfilerHostGetConfigImage)                                                         \
	X(cuptiProfilerHostGetNumOfPasses)

struct cupti {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a field */
#define FIELD(name) __typeof__(&(name)) name;
	CALLS(FIELD)
#undef FIELD
	void *library;
	CUpti_Profiler_Host_Object *host;
	const char *chip;
};

static bool load_cupti(struct cupti *c)
{
	c->library = sonde_cupti_open();
	if (!c->library)
		return false;
#define LOAD(name)                                                                                 \
	*(void **)&c->name = dlsym(c->library, #name);                                             \
	if (!c->name)                                                                              \
		return false;
	CALLS(LOAD)
#undef LOAD
	return true;
}

static int begin_cupti(struct cupti *c, struct sonde_err *err)
{
	CUpti_Profiler_Host_Initialize_Params p = {
		.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
		.pChipName = c->chip,
	};
	CUpti_Profiler_Host_GetSupportedChips_Params all = {
		.structSize = CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE};
	struct sonde_buf names = {0};
	size_t i;
	int rc;

	if (c->cuptiProfilerHostInitialize(&p) == CUPTI_SUCCESS) {
		c->host = p.pHostObject;
		return 0;
	}
	if (c->cuptiProfilerHostGetSupportedChips(&all) == CUPTI_SUCCESS)
		for (i = 0; i < all.numChips; i++)
			sonde_buf_printf(&names, " %s", all.ppChipNames[i]);
	rc = sonde_err_set(err, SONDE_ERR_USAGE, "unknown chip '%s'; CUPTI here knows%s", c->chip,
		names.n ? names.p : " none");
	sonde_buf_release(&names);
	return rc;
}

static void end_cupti(struct cupti *c)
{
	CUpti_Profiler_Host_Deinitialize_Params p = {
		.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
		.pHostObject = c->host};

	if (c->host)
		c->cuptiProfilerHostDeinitialize(&p);
	c->host = NULL;
}

static bool add_metrics(struct cupti *c, const char **metrics, size_t nr)
{
	CUpti_Profiler_Host_ConfigAddMetrics_Params p = {
		.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
		.pHostObject = c->host,
		.ppMetricNames = metrics,
		.numMetrics = nr};

	return c->cuptiProfilerHostConfigAddMetrics(&p) == CUPTI_SUCCESS;
}

static bool count_needed_passes(struct cupti *c, size_t *nr)
{
	CUpti_Profiler_Host_GetConfigImageSize_Params size = {
		.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
		.pHostObject = c->host};
	CUpti_Profiler_Host_GetConfigImage_Params image = {
		.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
		.pHostObject = c->host};
	CUpti_Profiler_Host_GetNumOfPasses_Params passes = {
		.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
	uint8_t *bytes;
	bool is_good;

	if (c->cuptiProfilerHostGetConfigImageSize(&size) != CUPTI_SUCCESS)
		return false;
	bytes = sonde_malloc(size.configImageSize);
	if (!bytes)
		return false;
	image.configImageSize = passes.configImageSize = size.configImageSize;
	image.pConfigImage = passes.pConfigImage = bytes;
	is_good = c->cuptiProfilerHostGetConfigImage(&image) == CUPTI_SUCCESS &&
		  c->cuptiProfilerHostGetNumOfPasses(&passes) == CUPTI_SUCCESS;
	*nr = passes.numOfPasses;
	sonde_free(bytes);
	return is_good;
}

/* The base name is right: finds the chip's ending for it that is nearest to the given one. */
static void find_ending(
	struct cupti *c, struct sonde_passes *out, CUpti_MetricType type, struct sonde_str suffix)
{
	char base[256];
	CUpti_Profiler_Host_GetSubMetrics_Params p = {
		.structSize = CUpti_Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE,
		.pHostObject = c->host,
		.metricType = type,
		.pMetricName = base};
	struct sonde_nearest near = {.word = suffix, .below = 12};
	size_t i;

	snprintf(base, sizeof(base), "%.*s", (int)strcspn(out->unknown, "."), out->unknown);
	out->near[0] = '\0';
	if (c->cuptiProfilerHostGetSubMetrics(&p) != CUPTI_SUCCESS)
		return;
	for (i = 0; i < p.numOfSubmetrics; i++) {
		const char *name = p.ppSubMetrics[i] + (p.ppSubMetrics[i][0] == '.');

		if (!sonde_nearest_offer(&near, sonde_str_from(name)) && (suffix.n || i))
			continue; /* if none was given, the first one will do */
		snprintf(out->near, sizeof(out->near), "%.100s.%.150s", base, name);
	}
}

/* Finds the chip's base name that is nearest to the unknown metric, and puts the metric's own suffix behind it. */
static void find_near(struct cupti *c, struct sonde_passes *out)
{
	static const CUpti_MetricType types[] = {
		CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT};
	struct sonde_nearest near = {.below = 6};
	struct sonde_str suffix;
	size_t t, i;

	near.word = sonde_str_cut(sonde_str_from(out->unknown), '.', &suffix);
	for (t = 0; t < sizeof(types) / sizeof(*types); t++) {
		CUpti_Profiler_Host_GetBaseMetrics_Params p = {
			.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE,
			.pHostObject = c->host,
			.metricType = types[t]};

		if (c->cuptiProfilerHostGetBaseMetrics(&p) != CUPTI_SUCCESS)
			continue;
		for (i = 0; i < p.numMetrics; i++) {
			if (!sonde_nearest_offer(&near, sonde_str_from(p.ppMetricNames[i])))
				continue;
			snprintf(out->near, sizeof(out->near), "%s.%.*s", p.ppMetricNames[i],
				SONDE_STR_ARG(suffix));
			if (near.below == 0) {
				find_ending(c, out, types[t], suffix);
				return;
			}
		}
	}
}

/*
 * The usual case: the chip has all metrics. If it fails, the next try begins with a fresh host object: a refused metric
 * may leave an old one half-configured.
 */
static bool count_together(
	struct cupti *c, struct sonde_passes *out, const char **metrics, size_t nr)
{
	bool is_good = begin_cupti(c, NULL) == 0 && add_metrics(c, metrics, nr) && count_needed_passes(c, &out->nr);

	end_cupti(c);
	return is_good;
}

static int count_known(struct cupti *c, struct sonde_passes *out, const char **metrics, size_t nr,
	struct sonde_err *err)
{
	size_t i, nr_known = 0, passes = 0;
	int rc;

	for (i = 0; i < nr; i++) {
		rc = begin_cupti(c, err);
		if (rc)
			return rc;
		if (add_metrics(c, &metrics[i], 1) && count_needed_passes(c, &passes)) {
			metrics[nr_known++] = metrics[i];
		} else if (out->nr_unknown++ == 0) {
			snprintf(out->unknown, sizeof(out->unknown), "%s", metrics[i]);
			find_near(c, out);
		}
		end_cupti(c);
	}
	rc = begin_cupti(c, err);
	if (rc == 0 && nr_known && (!add_metrics(c, metrics, nr_known) || !count_needed_passes(c, &out->nr)))
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"CUPTI cannot schedule these metrics together on %s: ask for fewer", c->chip);
	end_cupti(c);
	return rc;
}

int sonde_passes_count(struct sonde_passes *out, const char *chip, const char *const *metrics,
	size_t nr, struct sonde_err *err)
{
	struct cupti c = {.chip = chip};
	const char **copy;
	int rc;

	*out = (struct sonde_passes){0};
	if (!load_cupti(&c))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"this machine has no CUPTI with a host profiler: install cuda-cupti 12.6 or newer");
	copy = sonde_calloc(nr + 1, sizeof(*copy));
	if (!copy)
		return sonde_err_nomem(err);
	memcpy(copy, metrics, nr * sizeof(*copy));
	rc = nr && count_together(&c, out, copy, nr) ? 0 : count_known(&c, out, copy, nr, err);
	sonde_free(copy);
	return rc; /* the library stays loaded: unloading it is not safe */
}

#else

int sonde_passes_count(struct sonde_passes *out, const char *chip, const char *const *metrics,
	size_t nr, struct sonde_err *err)
{
	(void)chip, (void)metrics, (void)nr;
	*out = (struct sonde_passes){0};
	return sonde_err_set(err, SONDE_ERR_NOTFOUND, 
		"this sonde was built without CUPTI's host profiler (cupti_profiler_host.h): build it where CUDA 12.6 or newer is installed");
}

#endif
