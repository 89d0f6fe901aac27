#include "sample/gpm.h"

#include "base/alloc.h"
#include "sample/nvml.h"

#include <dlfcn.h>
#include <math.h>

#define MS 1000000u

/* We ask every SLOW_NS, and near the end of a period every FAST_NS, so that we know a row's end to a millisecond. */
#define SLOW_NS	 (10 * MS)
#define FAST_NS	 (1 * MS)
#define EARLY_NS (12 * MS) /* how long before the end of a period FAST_NS begins */
/* If nothing was counted for this long, the device is idle; sooner, new values may just not have come yet. */
#define IDLE_NS (SONDE_GPM_PERIOD_NS + SONDE_GPM_PERIOD_NS / 2)

/* NVML's structs, declared here since these few functions do not need its header. The first member of each is its version. */
#define SUPPORT_VERSION 1
#define METRICS_VERSION 1
#define MOST_METRICS	400 /* more than NVML's own limit, which was 98 and is 333; NVML reads as many as `nr` says */

struct support {
	unsigned version, is_supported;
};

struct metric {
	unsigned id;
	int rc;
	double value;
	const char *short_name, *long_name, *unit;
};

struct metrics {
	unsigned version, nr;
	void *from, *to; /* snapshots */
	struct metric at[MOST_METRICS];
};

#define CALLS(X)                                                                                   \
	X(query, "nvmlGpmQueryDeviceSupport", (void *device, struct support *out))                 \
	X(alloc, "nvmlGpmSampleAlloc", (void **out))                                               \
	X(dealloc, "nvmlGpmSampleFree", (void *snapshot))                                          \
	X(snap, "nvmlGpmSampleGet", (void *device, void *snapshot))                                \
	X(evaluate, "nvmlGpmMetricsGet", (struct metrics *of))

static const struct {
	unsigned id; /* NVML_GPM_METRIC_… */
	const char *role, *name;
} counters[] = {
	{2, "gpm.sm_ns", "GPM_SM_UTIL"},
	{3, "gpm.warp_ns", "GPM_SM_OCCUPANCY"},
	{5, "gpm.tensor_ns", "GPM_ANY_TENSOR_UTIL"},
	{10, "gpm.dram_ns", "GPM_DRAM_BW_UTIL"},
};
#define NR_COUNTERS (sizeof(counters) / sizeof(*counters))

struct sonde_gpm {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name and parameters */
#define FIELD(name, symbol, arguments) int(*name) arguments;
	CALLS(FIELD)
#undef FIELD
	void *device;
	void *last, *now; /* snapshots: the one with the last news, and the latest one */
	uint64_t last_ns, asked_ns, next_ns; /* when the last news came; when we asked last; when to ask next */
	bool is_begun; /* news has come at `last_ns`, so a whole row begins there */
	struct sonde_counter_set set;
	struct metrics metrics;
	uint64_t start_ns, end_ns; /* times of the last row … */
	double values[NR_COUNTERS]; /* … and its values */
};

static int load_nvml(struct sonde_gpm *g, struct sonde_str uuid, struct sonde_err *err)
{
	int (*mig)(void *, unsigned *, unsigned *);
	struct support support = {.version = SUPPORT_VERSION};
	unsigned is_split = 0, pending;
	struct sonde_nvml nvml;

	if (!sonde_nvml_open(&nvml, uuid))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "the driver's NVML (libnvidia-ml.so.1) was not found, or does not know the GPU");
	g->device = nvml.device;
#define LOAD(name, symbol, arguments) *(void **)&g->name = dlsym(nvml.library, symbol);
	CALLS(LOAD)
#undef LOAD
	if (!g->query || !g->alloc || !g->dealloc || !g->snap || !g->evaluate)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "the driver's NVML is too old for GPM: driver 520 or newer is needed");
	*(void **)&mig = dlsym(nvml.library, "nvmlDeviceGetMigMode");
	if (mig && mig(g->device, &is_split, &pending) == 0 && is_split)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "the GPU is divided into instances (MIG)");
	if (g->query(g->device, &support) != 0 || !support.is_supported)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "this GPU is older than Hopper");
	if (g->alloc(&g->last) != 0 || g->alloc(&g->now) != 0)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "NVML cannot make GPM snapshots");
	if (g->snap(g->device, g->last) != 0)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "NVML refuses to read GPM metrics");
	return 0;
}

int sonde_gpm_open(struct sonde_gpm **out, const struct sonde_counter_set *like, struct sonde_err *err)
{
	struct sonde_gpm *g = sonde_calloc(1, sizeof(*g));
	uint32_t i;
	int rc;

	*out = NULL;
	if (!g)
		return sonde_err_nomem(err);
	rc = load_nvml(g, like ? like->uuid : (struct sonde_str){0}, err);
	if (rc) {
		sonde_gpm_close(g);
		return rc;
	}
	g->set = (struct sonde_counter_set){.set = SONDE_SET_LIMIT - 1, .interval_ns = SONDE_GPM_PERIOD_NS, .nr = NR_COUNTERS};
	if (like) {
		g->set.device = like->device;
		g->set.uuid = like->uuid;
		g->set.product = like->product;
	}
	for (i = 0; i < NR_COUNTERS; i++)
		g->set.at[i] = (struct sonde_counter_name){
			.role = sonde_str_from(counters[i].role), .name = sonde_str_from(counters[i].name)};
	*out = g;
	return 0;
}

void sonde_gpm_close(struct sonde_gpm *g)
{
	if (g && g->last)
		g->dealloc(g->last);
	if (g && g->now)
		g->dealloc(g->now);
	sonde_free(g);
}

const struct sonde_counter_set *sonde_gpm_set(const struct sonde_gpm *g)
{
	return &g->set;
}

/* The outcome of a reading: it failed, nothing was counted since the last news, or there is news. */
enum reading { FAILED, NOTHING, NEWS };

static enum reading read_metrics(struct sonde_gpm *g)
{
	enum reading found = NOTHING;
	size_t i;

	g->metrics.version = METRICS_VERSION;
	g->metrics.nr = NR_COUNTERS;
	g->metrics.from = g->last;
	g->metrics.to = g->now;
	for (i = 0; i < NR_COUNTERS; i++)
		g->metrics.at[i] = (struct metric){.id = counters[i].id};
	if (g->snap(g->device, g->now) != 0 || g->evaluate(&g->metrics) != 0)
		return FAILED;
	for (i = 0; i < NR_COUNTERS; i++) {
		const struct metric *m = &g->metrics.at[i];

		if (m->rc != 0 || !isfinite(m->value) || m->value < 0)
			return FAILED;
		if (m->value > 0)
			found = NEWS;
	}
	return found;
}

/* Ends the row, and begins the next one. */
static void end_row(struct sonde_gpm *g, uint64_t end_ns)
{
	void *snapshot = g->last;
	size_t i;

	g->last = g->now;
	g->now = snapshot;
	g->start_ns = g->last_ns;
	g->end_ns = g->last_ns = end_ns;
	for (i = 0; i < NR_COUNTERS; i++)
		g->values[i] = fmin(g->metrics.at[i].value, 100) / 100 * (double)(end_ns - g->start_ns);
}

bool sonde_gpm_tick(struct sonde_gpm *g, uint64_t now_ns, struct sonde_sample_rows *out)
{
	uint64_t since = g->asked_ns, age = now_ns - g->last_ns, end;
	bool is_row = g->is_begun;
	enum reading found;

	if (now_ns < g->next_ns)
		return false;
	found = read_metrics(g);
	g->asked_ns = now_ns;
	g->next_ns = now_ns + (g->is_begun && age + EARLY_NS + SLOW_NS < SONDE_GPM_PERIOD_NS ? SLOW_NS : FAST_NS);
	if (!g->last_ns) { /* the first call */
		g->last_ns = now_ns;
		return false;
	}
	if (found == FAILED || (found == NOTHING && age < IDLE_NS))
		return false;
	/*
	 * News came at some moment between two readings: take the middle. An idle device has no such moment: end the
	 * row one period after its start.
	 */
	since = now_ns - since < SONDE_GPM_PERIOD_NS ? since : now_ns - SONDE_GPM_PERIOD_NS;
	end = found == NEWS ? since + (now_ns - since) / 2 : g->last_ns + SONDE_GPM_PERIOD_NS;
	g->is_begun = true;
	if (end <= g->last_ns)
		return false;
	end_row(g, end);
	*out = (struct sonde_sample_rows){
		.set = &g->set, .start_ns = &g->start_ns, .end_ns = &g->end_ns, .values = g->values, .nr = 1};
	return is_row; /* the row before the first news is incomplete */
}
