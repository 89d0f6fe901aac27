/*
 * Units: a report stores none, so they are read off the metric's name. Checked
 * against what Nsight Compute prints for every metric of the bundled captures.
 */
#include "catalogue/metrics.h"

#include "base/glob.h"

#include <string.h>

static const struct {
	const char *pattern;
	const char *unit;
} exceptions[] = {
	{"launch__block_dim_?", "block"},
	{"launch__cluster_max_potential_size", "block"},
	{"launch__occupancy_limit_*", "block"},
	{"launch__cluster_max_active", "cluster"},
	{"launch__registers_per_thread*", "register/thread"},
	{"launch__shared_mem_per_block*", "byte/block"},
	{"launch__shared_mem_config_size", "byte"},
	{"launch__persisting_l2_cache_size", "byte"},
	{"launch__sm_count", "SM"},
	{SONDE_METRIC_THREADS, "thread"},
	{"launch__occupancy_cluster_*pct", "%"},
	{"launch__*", ""},
	{"device__*", ""},
	{"nvlink__*", ""},
	{"numa__*", ""},
	{"c2clink__*", ""},
	{"breakdown:*", ""},
	{"profiler__replayer_passes*", "pass"},
	{"profiler__replayer_bytes*", "byte"},
	{"profiler__*", ""},
	{"derived__pct_occupancy_per_register_count", "%/register"},
	{"derived__pct_occupancy_per_shared_mem_size", "%/byte"},
	{"derived__pct_occupancy_per_block_size", "%"},
	{"derived__pct_*", ""},
	{"*_pct", "%"},
	{"derived__*", ""},
	{"sass__inst_executed_register_spilling*", "byte"},
	{"sm*__maximum_warps_*", "warp"},
	{"inst_executed", "inst"},
	{"thread_inst_executed", "inst"},
	{"*.pct", "%"},
	{"*.pct_of_*", "%"},
	{"*.ratio", ""},
	{"*.max_rate", ""},
};

/* What is counted, by words in the quantity; the first match decides. */
static const struct {
	const char *word;
	const char *unit;
} quantities[] = {
	{"time_duration", "ns"},
	{"bytes", "byte"},
	{"cycles", "cycle"},
	{"issue_active", ""},
	{"warps", "warp"},
	{"sectors", "sector"},
	{"requests", "request"},
	{"wavefronts", "wavefront"},
	{"thread_inst", "inst"},
	{"inst", "inst"},
	{"threads", "thread"},
	{"ctas", "block"},
};

static const char *quantity(struct sonde_str name)
{
	size_t i, k, n, end = sonde_str_find(name, '.');

	/* A role of sonde's (`l1.read_sectors`), or a group before the name (`TPC.TriageCompute.sm__…`). */
	if (!memmem(name.p, end, "__", 2))
		end = name.n;
	for (i = 0; i < sizeof(quantities) / sizeof(quantities[0]); i++) {
		n = strlen(quantities[i].word);
		for (k = 0; k + n <= end; k++)
			if (memcmp(name.p + k, quantities[i].word, n) == 0)
				return quantities[i].unit;
	}
	return "";
}

const char *sonde_metric_unit(struct sonde_str metric)
{
	static const struct {
		const char *count, *rate;
	} rates[] = {{"byte", "byte/s"}, {"cycle", "hz"}, {"inst", "inst/s"},
		{"sector", "sector/s"}, {"warp", "warp/s"}, {"request", "request/s"}, {"", ""}};
	const char *unit;
	size_t i;

	for (i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (sonde_str_glob(metric, sonde_str_from(exceptions[i].pattern)))
			return exceptions[i].unit;
	unit = quantity(metric);
	if (!sonde_str_ends(metric, ".per_second"))
		return unit;
	for (i = 0; i + 1 < sizeof(rates) / sizeof(rates[0]); i++)
		if (strcmp(rates[i].count, unit) == 0)
			break;
	return rates[i].rate;
}
