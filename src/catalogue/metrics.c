#include "catalogue/metrics.h"

#include "base/glob.h"

#include <string.h>

/* --- roles ------------------------------------------------------------------------------------ */

/* The metrics of each role, the best one first. A source has only some of them. */
const struct sonde_role_row sonde_metric_roles[SONDE_NR_ROLES] = {
	[SONDE_ROLE_SM] = {{{SONDE_METRIC_SM, "SM %"}}, true},
	[SONDE_ROLE_SM_ACTIVE] = {{{SONDE_COUNTER_SM_ACTIVE SONDE_OF_PEAK, "SM act %"}, {SONDE_METRIC_GPM_SM, "SM act % gpm"}}, true},
	[SONDE_ROLE_TENSOR] = {{{SONDE_COUNTER_TENSOR SONDE_OF_PEAK, "Tensor %"}, {SONDE_METRIC_GPM_TENSOR, "Tensor % gpm"}}, true},
	[SONDE_ROLE_ISSUE] = {{{SONDE_COUNTER_INSTRUCTIONS SONDE_OF_PEAK, "Issue %"}}, false},
	[SONDE_ROLE_FMA] = {{{SONDE_COUNTER_FMA SONDE_OF_PEAK, NULL}}, false},
	[SONDE_ROLE_ALU] = {{{SONDE_COUNTER_ALU SONDE_OF_PEAK, NULL}}, false},
	[SONDE_ROLE_FP64] = {{{SONDE_COUNTER_FP64 SONDE_OF_PEAK, NULL}}, false},
	[SONDE_ROLE_MEMORY] = {{{"gpu__compute_memory_throughput" SONDE_OF_PEAK, "Mem %"},
				       {"gpu__dram_throughput" SONDE_OF_PEAK, "DRAM %"},
				       {SONDE_METRIC_DRAM, "DRAM %"},
				       {SONDE_COUNTER_DRAM SONDE_OF_PEAK_SUM, "DRAM %"},
				       {SONDE_METRIC_GPM_DRAM, "DRAM % gpm"}},
		true},
	[SONDE_ROLE_OCCUPANCY] = {{{SONDE_COUNTER_WARPS SONDE_OF_PEAK_ACTIVE, "Occ %"}, {SONDE_METRIC_GPM_OCCUPANCY, "Occ % gpm"}}, true},
	[SONDE_ROLE_L2] = {{{"lts__throughput" SONDE_OF_PEAK, "L2 %"}, {SONDE_COUNTER_L2 SONDE_OF_PEAK, "L2 %"}}, false},
	[SONDE_ROLE_L1] = {{{"l1tex__throughput" SONDE_OF_PEAK_ACTIVE, "L1 %"},
				   {SONDE_COUNTER_L1 SONDE_OF_PEAK, NULL}},
		false},
	[SONDE_ROLE_SHARED] = {{{SONDE_COUNTER_L1 "_mem_shared" SONDE_OF_PEAK, "Shared %"},
				       {SONDE_COUNTER_L1 "_mem_shared" SONDE_OF_PEAK_SUM, "Shared %"}},
		false},
	[SONDE_ROLE_CLOCK] = {{{SONDE_METRIC_SM_CLOCK, "SM clock"}}, false},
	[SONDE_ROLE_OCCUPANCY_MOST] = {{{"sm__maximum_warps_per_active_cycle_pct", NULL}}, false},
	[SONDE_ROLE_WAVES] = {{{"launch__waves_per_multiprocessor", NULL}}, false},
	[SONDE_ROLE_DRAM_BYTES] = {{{SONDE_COUNTER_DRAM ".sum", NULL}}, false},
	[SONDE_ROLE_DRAM_READ] = {{{SONDE_COUNTER_DRAM_READ ".sum", NULL}}, false},
	[SONDE_ROLE_DRAM_WRITTEN] = {{{SONDE_COUNTER_DRAM_WRITTEN ".sum", NULL}}, false},
	[SONDE_ROLE_HELD_AT_PEAK] = {{{SONDE_METRIC_HELD_AT_PEAK, "at peak"}}, true},
	[SONDE_ROLE_HELD] = {{{SONDE_METRIC_HELD, "held"}}, true},
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

/* --- descriptions ----------------------------------------------------------------------------- */

/*
 * The first pattern that matches decides. The text explains the counter; the suffix (`.sum`, `.avg.per_second`) tells
 * what kind of number it is.
 */
static const struct {
	const char *pattern, *about;
} abouts[] = {
	{"gpu__time_duration.*", "time on the GPU"},
	{SONDE_METRIC_COPIED, "bytes that copies moved"},
	{"breakdown:*", "units that this throughput combines: it shows the busiest"},
	{"sm__throughput.*", "how busy the multiprocessors are: the busiest of their units"},
	{SONDE_COUNTER_SM_ACTIVE ".*", "cycles in which multiprocessors had work"},
	{"*__cycles_elapsed.*", "cycles that passed, on that unit's clock"},
	{"*__cycles_active.*", "cycles in which that unit had work"},
	{SONDE_COUNTER_WARPS ".*", "warps resident on multiprocessors: occupancy"},
	{"sm*__maximum_warps_*", "the occupancy that the launch's block size and registers allow"},
	{SONDE_COUNTER_TENSOR ".*", "work of the tensor cores"},
	{SONDE_COUNTERS_TENSOR_INSTRUCTIONS "*", "instructions on the tensor cores"},
	{SONDE_COUNTER_FMA "*", "instructions on the FMA pipe (FP32 multiply-adds)"},
	{SONDE_COUNTER_ALU "*", "instructions on the ALU pipe (integers and logic)"},
	{SONDE_COUNTER_FP64 "*", "work of the FP64 pipe"},
	{"sm__inst_executed.*", "instructions that warps executed"},
	{SONDE_METRIC_INSTRUCTIONS, "instructions that warps executed"},
	{SONDE_METRICS_FLOP "*", "operations of threads outside the tensor cores, by type"},
	{SONDE_METRICS_TENSOR_FLOP "*", "operations on the tensor cores, by type"},
	{"smsp__average_warp*_issue_stalled_*", "warps that waited, by reason"},
	{"gpu__compute_memory_throughput.*", "how busy the memory system is: the busiest of its units"},
	{"*dram__throughput.*", "how busy the GPU's memory (DRAM) is"},
	{SONDE_COUNTER_DRAM_READ ".*", "bytes read from the GPU's memory (DRAM)"},
	{SONDE_COUNTER_DRAM_WRITTEN ".*", "bytes written to the GPU's memory (DRAM)"},
	{SONDE_COUNTER_DRAM ".*", "bytes to and from the GPU's memory (DRAM)"},
	{"lts__throughput.*", "how busy the L2 cache is"},
	{"lts__t_sector_hit_rate.*", "share of accesses that the L2 cache answered"},
	{"lts__t_sectors*", "sectors of 32 bytes requested from the L2 cache"},
	{"l1tex__throughput.*", "how busy the L1 caches are"},
	{"l1tex__t_sector_hit_rate.*", "share of accesses that the L1 caches answered"},
	{SONDE_COUNTER_L1 "_mem_shared*", "work of shared memory"},
	{SONDE_COUNTER_L1 "*", "work of the L1 caches"},
	{SONDE_COUNTER_PCIE_READ "*", "bytes that came over PCIe"},
	{SONDE_COUNTER_PCIE_WRITTEN "*", "bytes sent over PCIe"},
	{SONDE_COUNTER_NVLINK_RECEIVED "*", "bytes that came over NVLink"},
	{SONDE_COUNTER_NVLINK_SENT "*", "bytes sent over NVLink"},
	{"launch__grid_*", "blocks of the launch"},
	{"launch__block_*", "threads of a block"},
	{SONDE_METRIC_THREADS, "threads of the launch"},
	{SONDE_METRIC_REGISTERS "*", "registers that a thread has"},
	{SONDE_METRIC_SHARED "*", "shared memory that a block has"},
	{"launch__waves_per_multiprocessor", "blocks of the launch ÷ blocks that the GPU holds at once"},
	{"launch__occupancy_limit_*", "blocks that a multiprocessor holds by this limit alone"},
	{"launch__occupancy_per_*", "the occupancy that other values would give"},
	{"launch__*", "how the kernel was launched"},
	{"device__*", "a fact about the GPU"},
	{"nvlink__*", "how GPUs are connected"},
	{"numa__*", "how the GPU is connected to the host"},
	{"c2clink__*", "how the GPU is connected to the host"},
	{"profiler__*", "how Nsight Compute measured"},
	{SONDE_METRIC_HELD, "bytes of PyTorch's allocator, held when its snapshot was made"},
	{SONDE_METRIC_HELD_AT_PEAK, "bytes of PyTorch's allocator, held at its peak"},
	{SONDE_METRIC_MESSAGE, "bytes that ranks hand to a collective"},
	{"nccl__*", "the collective: its kind, group, number and bytes"},
};

const char *sonde_metric_about(struct sonde_str metric)
{
	size_t i;

	for (i = 0; i < sizeof(abouts) / sizeof(*abouts); i++)
		if (sonde_str_glob(metric, sonde_str_from(abouts[i].pattern)))
			return abouts[i].about;
	return "";
}

/*
 * --- units ------------------------------------------------------------------------------------
 *
 * A report stores no units, so they are read off the metric's name. Checked against what Nsight
 * Compute prints for every metric of the bundled captures.
 */

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

/* Units by words in the counted quantity; the first match decides. */
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

static const char *unit_of_quantity(struct sonde_str name)
{
	size_t i, k, n, end = sonde_str_find(name, '.');

	/*
	 * Without `__` before the dot, the name is a role of sonde's (`l1.read_sectors`) or has a group in front
	 * (`TPC.TriageCompute.sm__…`).
	 */
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
	unit = unit_of_quantity(metric);
	if (!sonde_str_ends(metric, ".per_second"))
		return unit;
	for (i = 0; i + 1 < sizeof(rates) / sizeof(rates[0]); i++)
		if (strcmp(rates[i].count, unit) == 0)
			break;
	return rates[i].rate;
}

/* --- metrics of nvprof -------------------------------------------------------------------------- */

#define THREADS(op) SONDE_METRIC_THREADS_OF(op)
#define SECTORS(of) "l1tex__t_sectors_pipe_lsu_mem_" of ".sum"
#define MOST	    3 /* metrics that replace one old metric */

/* Where several metrics replace an old one, the old one was their sum, with multiply-adds counted twice. */
static const struct old {
	const char *name, *now[MOST];
} old_metrics[] = {
	{"flop_count_hp", {THREADS("hadd"), THREADS("hmul"), THREADS("hfma")}},
	{"flop_count_hp_add", {THREADS("hadd")}},
	{"flop_count_hp_mul", {THREADS("hmul")}},
	{"flop_count_hp_fma", {THREADS("hfma")}},
	{"flop_count_sp", {THREADS("fadd"), THREADS("fmul"), THREADS("ffma")}},
	{"flop_count_sp_add", {THREADS("fadd")}},
	{"flop_count_sp_mul", {THREADS("fmul")}},
	{"flop_count_sp_fma", {THREADS("ffma")}},
	{"flop_count_dp", {THREADS("dadd"), THREADS("dmul"), THREADS("dfma")}},
	{"flop_count_dp_add", {THREADS("dadd")}},
	{"flop_count_dp_mul", {THREADS("dmul")}},
	{"flop_count_dp_fma", {THREADS("dfma")}},
	{"achieved_occupancy", {"sm__warps_active.avg.pct_of_peak_sustained_active"}},
	{"dram_read_bytes", {"dram__bytes_read.sum"}},
	{"dram_write_bytes", {"dram__bytes_write.sum"}},
	{"dram_read_throughput", {"dram__bytes_read.sum.per_second"}},
	{"dram_write_throughput", {"dram__bytes_write.sum.per_second"}},
	{"dram_read_transactions", {"dram__sectors_read.sum"}},
	{"dram_write_transactions", {"dram__sectors_write.sum"}},
	{"dram_utilization", {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
	{"elapsed_cycles_sm", {"sm__cycles_elapsed.sum"}},
	{"gld_transactions", {SECTORS("global_op_ld")}},
	{"gst_transactions", {SECTORS("global_op_st")}},
	{"inst_executed", {SONDE_METRIC_INSTRUCTIONS}},
	{"inst_issued", {"smsp__inst_issued.sum"}},
	{"ipc", {"smsp__inst_executed.avg.per_cycle_active"}},
	{"l2_tex_hit_rate", {"lts__t_sector_hit_rate.pct"}},
	{"sm_efficiency", {"smsp__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
	{"tex_cache_hit_rate", {"l1tex__t_sector_hit_rate.pct"}},
	{"warp_execution_efficiency", {"smsp__thread_inst_executed_per_inst_executed.ratio"}},
};

struct sonde_words sonde_metric_successors(const char *name)
{
	struct sonde_words words = {NULL, 0};
	size_t i;

	for (i = 0; i < sizeof(old_metrics) / sizeof(*old_metrics); i++) {
		if (strcmp(old_metrics[i].name, name) != 0)
			continue;
		words.at = old_metrics[i].now;
		while (words.nr < MOST && words.at[words.nr])
			words.nr++;
	}
	return words;
}

bool sonde_metric_is_ncus(const char *name)
{
	return strstr(name, "__") || strchr(name, ':');
}
