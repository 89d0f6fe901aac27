/* What is said of sampled counters: a table of figures that are Nsight Compute's too, and the counters beyond it. */
#include "fold/fold_int.h"
#include "fold/sampled.h"

#include "catalogue/metrics.h"

const struct sonde_sampled_metric sonde_sampled_metrics[] = {
	{SONDE_COUNTER_SM_ACTIVE ".sum", {"sm.active_cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_INSTRUCTIONS ".sum", {"sm.instructions"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_WARPS ".sum", {"sm.warp_cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_TENSOR ".sum", {"tensor.cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_FMA ".sum", {"fma.instructions"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_ALU ".sum", {"alu.instructions"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_FP64 ".sum", {"fp64.cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_L1 ".sum", {"l1.wavefronts"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_L2 ".sum", {"l2.sectors"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_DRAM_READ ".sum", {"dram.read_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_DRAM_WRITTEN ".sum", {"dram.write_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_PCIE_READ ".sum", {"pcie.read_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_PCIE_WRITTEN ".sum", {"pcie.write_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_NVLINK_RECEIVED ".sum", {"nvlink.receive_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_NVLINK_SENT ".sum", {"nvlink.transmit_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_SM_ACTIVE SONDE_OF_PEAK, {"sm.active_cycles"}, SONDE_OVER_ELAPSED, 1},
	{SONDE_COUNTER_INSTRUCTIONS SONDE_OF_PEAK, {"sm.instructions"}, SONDE_OVER_ELAPSED, 4},
	{SONDE_COUNTER_TENSOR SONDE_OF_PEAK, {"tensor.cycles"}, SONDE_OVER_ELAPSED, 4},
	{SONDE_COUNTER_WARPS SONDE_OF_PEAK_ACTIVE, {"sm.warp_cycles"}, SONDE_OVER_ACTIVE, 64},
	{SONDE_COUNTER_FMA SONDE_OF_PEAK, {"fma.instructions"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_ALU SONDE_OF_PEAK, {"alu.instructions"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_FP64 SONDE_OF_PEAK, {"fp64.cycles"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_L1 SONDE_OF_PEAK, {"l1.wavefronts"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_L2 SONDE_OF_PEAK, {"l2.sectors"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_METRIC_SM_CLOCK, {NULL}, SONDE_OVER_TIME, 0},
	{SONDE_COUNTER_DRAM SONDE_OF_PEAK_SUM, {"dram.read_bytes", "dram.write_bytes"}, SONDE_OVER_DRAM, 1},
};
#define NR_METRICS (sizeof(sonde_sampled_metrics) / sizeof(*sonde_sampled_metrics))

/* Whether the table has the sum of a counter. */
static bool is_in_table(struct sonde_str role)
{
	size_t i;

	for (i = 0; i < NR_METRICS; i++)
		if (sonde_sampled_metrics[i].over == SONDE_OVER_NOTHING &&
			sonde_str_is(role, sonde_sampled_metrics[i].roles[0]))
			return true;
	return false;
}

static bool add_other(struct sonde_cells *c, struct sonde_str role)
{
	const char **slot;
	size_t i;

	for (i = 0; i < c->sampled_others.nr; i++)
		if (sonde_str_is(role, c->sampled_others.at[i]))
			return true;
	slot = is_in_table(role) ? NULL : sonde_vec_push(&c->sampled_others);
	if (slot)
		*slot = role.p;
	return slot || is_in_table(role);
}

bool sonde_sampled_list_others(struct sonde_cells *c)
{
	size_t i, k, n;

	for (i = 0; i < c->sampled.nr; i++)
		for (k = 0; k < c->sampled.at[i]->nr_sets; k++)
			for (n = 0; n < c->sampled.at[i]->sets[k].roles.nr; n++)
				if (!add_other(c, c->sampled.at[i]->sets[k].roles.at[n]))
					return false;
	return true;
}

size_t sonde_sampled_nr_metrics(const struct sonde_cells *c)
{
	return NR_METRICS + c->sampled_others.nr;
}

struct sonde_sampled_metric sonde_sampled_metric_of(const struct sonde_cells *c, size_t metric)
{
	const char *role;

	if (metric < NR_METRICS)
		return sonde_sampled_metrics[metric];
	role = c->sampled_others.at[metric - NR_METRICS];
	return (struct sonde_sampled_metric){.name = role, .roles = {role}, .over = SONDE_OVER_NOTHING};
}
