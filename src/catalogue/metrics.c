/* Which metrics play which role, the best one first: sources have one or another of them. */
#include "catalogue/metrics.h"

#define PEAK ".avg.pct_of_peak_sustained_elapsed"
#define ACTIVE ".avg.pct_of_peak_sustained_active"

const struct sonde_role_row sonde_metric_roles[SONDE_NR_ROLES] = {
	[SONDE_ROLE_SM] = {{{"sm__throughput" PEAK, "SM %"}}, true},
	[SONDE_ROLE_SM_ACTIVE] = {{{"sm__cycles_active" PEAK, "SM act %"}}, true},
	[SONDE_ROLE_TENSOR] = {{{"sm__pipe_tensor_cycles_active" PEAK, "Tensor %"}}, true},
	[SONDE_ROLE_ISSUE] = {{{"sm__inst_executed" PEAK, "Issue %"}}, false},
	[SONDE_ROLE_FMA] = {{{"sm__inst_executed_pipe_fma" PEAK, NULL}}, false},
	[SONDE_ROLE_ALU] = {{{"sm__inst_executed_pipe_alu" PEAK, NULL}}, false},
	[SONDE_ROLE_FP64] = {{{"sm__pipe_fp64_cycles_active" PEAK, NULL}}, false},
	[SONDE_ROLE_MEMORY] = {{{"gpu__compute_memory_throughput" PEAK, "Mem %"},
				       {"gpu__dram_throughput" PEAK, "DRAM %"},
				       {"dram__throughput" PEAK, "DRAM %"},
				       {"dram__bytes.sum.pct_of_peak_sustained_elapsed", "DRAM %"}},
		true},
	[SONDE_ROLE_OCCUPANCY] = {{{"sm__warps_active" ACTIVE, "Occ %"}}, true},
	[SONDE_ROLE_L2] = {{{"lts__throughput" PEAK, "L2 %"}, {"lts__t_sectors" PEAK, "L2 %"}}, false},
	[SONDE_ROLE_L1] = {{{"l1tex__throughput" ACTIVE, "L1 %"},
				   {"l1tex__data_pipe_lsu_wavefronts" PEAK, NULL}},
		false},
	[SONDE_ROLE_CLOCK] = {{{"sm__cycles_elapsed.avg.per_second", "SM clock"}}, false},
	[SONDE_ROLE_OCCUPANCY_MOST] = {{{"sm__maximum_warps_per_active_cycle_pct", NULL}}, false},
	[SONDE_ROLE_DRAM_BYTES] = {{{"dram__bytes.sum", NULL}}, false},
	[SONDE_ROLE_DRAM_READ] = {{{"dram__bytes_read.sum", NULL}}, false},
	[SONDE_ROLE_DRAM_WRITTEN] = {{{"dram__bytes_write.sum", NULL}}, false},
};

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
