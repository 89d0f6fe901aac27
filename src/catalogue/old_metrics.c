#include "catalogue/old_metrics.h"

#include "catalogue/metrics.h"

#include <string.h>

#define THREADS(op) SONDE_METRIC_THREADS_OF(op)
#define SECTORS(of) "l1tex__t_sectors_pipe_lsu_mem_" of ".sum"
#define MOST	    3

/* Where several stand in, the old one was their sum, multiply-adds counted twice. */
static const struct old {
	const char *name, *now[MOST];
} table[] = {
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

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (strcmp(table[i].name, name) != 0)
			continue;
		words.at = table[i].now;
		while (words.nr < MOST && words.at[words.nr])
			words.nr++;
	}
	return words;
}

bool sonde_metric_is_ncus(const char *name)
{
	return strstr(name, "__") || strchr(name, ':');
}
