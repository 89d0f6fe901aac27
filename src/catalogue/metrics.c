/* Which metrics play which role, the best one first: sources have one or another of them. */
#include "catalogue/metrics.h"

#include "base/glob.h"

const struct sonde_role_row sonde_metric_roles[SONDE_NR_ROLES] = {
	[SONDE_ROLE_SM] = {{{SONDE_METRIC_SM, "SM %"}}, true},
	[SONDE_ROLE_SM_ACTIVE] = {{{SONDE_COUNTER_SM_ACTIVE SONDE_OF_PEAK, "SM act %"}}, true},
	[SONDE_ROLE_TENSOR] = {{{SONDE_COUNTER_TENSOR SONDE_OF_PEAK, "Tensor %"}}, true},
	[SONDE_ROLE_ISSUE] = {{{SONDE_COUNTER_INSTRUCTIONS SONDE_OF_PEAK, "Issue %"}}, false},
	[SONDE_ROLE_FMA] = {{{SONDE_COUNTER_FMA SONDE_OF_PEAK, NULL}}, false},
	[SONDE_ROLE_ALU] = {{{SONDE_COUNTER_ALU SONDE_OF_PEAK, NULL}}, false},
	[SONDE_ROLE_FP64] = {{{SONDE_COUNTER_FP64 SONDE_OF_PEAK, NULL}}, false},
	[SONDE_ROLE_MEMORY] = {{{"gpu__compute_memory_throughput" SONDE_OF_PEAK, "Mem %"},
				       {"gpu__dram_throughput" SONDE_OF_PEAK, "DRAM %"},
				       {SONDE_METRIC_DRAM, "DRAM %"},
				       {SONDE_COUNTER_DRAM SONDE_OF_PEAK_SUM, "DRAM %"}},
		true},
	[SONDE_ROLE_OCCUPANCY] = {{{SONDE_COUNTER_WARPS SONDE_OF_PEAK_ACTIVE, "Occ %"}}, true},
	[SONDE_ROLE_L2] = {{{"lts__throughput" SONDE_OF_PEAK, "L2 %"}, {SONDE_COUNTER_L2 SONDE_OF_PEAK, "L2 %"}}, false},
	[SONDE_ROLE_L1] = {{{"l1tex__throughput" SONDE_OF_PEAK_ACTIVE, "L1 %"},
				   {SONDE_COUNTER_L1 SONDE_OF_PEAK, NULL}},
		false},
	[SONDE_ROLE_CLOCK] = {{{SONDE_METRIC_SM_CLOCK, "SM clock"}}, false},
	[SONDE_ROLE_OCCUPANCY_MOST] = {{{"sm__maximum_warps_per_active_cycle_pct", NULL}}, false},
	[SONDE_ROLE_DRAM_BYTES] = {{{SONDE_COUNTER_DRAM ".sum", NULL}}, false},
	[SONDE_ROLE_DRAM_READ] = {{{SONDE_COUNTER_DRAM_READ ".sum", NULL}}, false},
	[SONDE_ROLE_DRAM_WRITTEN] = {{{SONDE_COUNTER_DRAM_WRITTEN ".sum", NULL}}, false},
};

bool sonde_metric_is_flop(struct sonde_str metric)
{
	return sonde_str_glob(metric, SONDE_STR(SONDE_METRICS_FLOP)) ||
	       sonde_str_glob(metric, SONDE_STR(SONDE_METRICS_FLOP ".per_second")) ||
	       sonde_str_glob(metric, SONDE_STR(SONDE_METRICS_FLOP ".per_cycle_elapsed"));
}

struct sonde_str sonde_metric_head(struct sonde_str metric)
{
	size_t i, k;

	for (i = 0; i < SONDE_NR_ROLES; i++)
		for (k = 0; k < SONDE_ROLE_METRICS && sonde_metric_roles[i].at[k].name; k++)
			if (sonde_str_is(metric, sonde_metric_roles[i].at[k].name) &&
				sonde_metric_roles[i].at[k].head)
				return sonde_str_from(sonde_metric_roles[i].at[k].head);
	return metric;
}
