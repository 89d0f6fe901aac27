/* What is said of sampled counters: a table of figures that are Nsight Compute's too, and the counters beyond it. */
#include "fold/fold_int.h"
#include "fold/sampled.h"

#define PCT(name) name ".pct_of_peak_sustained_elapsed"

const struct sonde_sampled_metric sonde_sampled_metrics[] = {
	{"sm__cycles_active.sum", {"sm.active_cycles"}, SONDE_OVER_NOTHING, 0},
	{"sm__inst_executed.sum", {"sm.instructions"}, SONDE_OVER_NOTHING, 0},
	{"sm__warps_active.sum", {"sm.warp_cycles"}, SONDE_OVER_NOTHING, 0},
	{"sm__pipe_tensor_cycles_active.sum", {"tensor.cycles"}, SONDE_OVER_NOTHING, 0},
	{"sm__inst_executed_pipe_fma.sum", {"fma.instructions"}, SONDE_OVER_NOTHING, 0},
	{"sm__inst_executed_pipe_alu.sum", {"alu.instructions"}, SONDE_OVER_NOTHING, 0},
	{"sm__pipe_fp64_cycles_active.sum", {"fp64.cycles"}, SONDE_OVER_NOTHING, 0},
	{"l1tex__data_pipe_lsu_wavefronts.sum", {"l1.wavefronts"}, SONDE_OVER_NOTHING, 0},
	{"lts__t_sectors.sum", {"l2.sectors"}, SONDE_OVER_NOTHING, 0},
	{"dram__bytes_read.sum", {"dram.read_bytes"}, SONDE_OVER_NOTHING, 0},
	{"dram__bytes_write.sum", {"dram.write_bytes"}, SONDE_OVER_NOTHING, 0},
	{"pcie__read_bytes.sum", {"pcie.read_bytes"}, SONDE_OVER_NOTHING, 0},
	{"pcie__write_bytes.sum", {"pcie.write_bytes"}, SONDE_OVER_NOTHING, 0},
	{"nvlrx__bytes.sum", {"nvlink.receive_bytes"}, SONDE_OVER_NOTHING, 0},
	{"nvltx__bytes.sum", {"nvlink.transmit_bytes"}, SONDE_OVER_NOTHING, 0},
	{PCT("sm__cycles_active.avg"), {"sm.active_cycles"}, SONDE_OVER_ELAPSED, 1},
	{PCT("sm__inst_executed.avg"), {"sm.instructions"}, SONDE_OVER_ELAPSED, 4},
	{PCT("sm__pipe_tensor_cycles_active.avg"), {"tensor.cycles"}, SONDE_OVER_ELAPSED, 4},
	{"sm__warps_active.avg.pct_of_peak_sustained_active", {"sm.warp_cycles"}, SONDE_OVER_ACTIVE,
		64},
	{PCT("sm__inst_executed_pipe_fma.avg"), {"fma.instructions"}, SONDE_OVER_ELAPSED, 0},
	{PCT("sm__inst_executed_pipe_alu.avg"), {"alu.instructions"}, SONDE_OVER_ELAPSED, 0},
	{PCT("sm__pipe_fp64_cycles_active.avg"), {"fp64.cycles"}, SONDE_OVER_ELAPSED, 0},
	{PCT("l1tex__data_pipe_lsu_wavefronts.avg"), {"l1.wavefronts"}, SONDE_OVER_ELAPSED, 0},
	{PCT("lts__t_sectors.avg"), {"l2.sectors"}, SONDE_OVER_ELAPSED, 0},
	{"sm__cycles_elapsed.avg.per_second", {NULL}, SONDE_OVER_TIME, 0},
	{PCT("dram__bytes.sum"), {"dram.read_bytes", "dram.write_bytes"}, SONDE_OVER_DRAM, 1},
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

bool sonde_sampled__list_others(struct sonde_cells *c)
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
