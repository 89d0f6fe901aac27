/*
 * The metrics that sonde itself names: their names, the questions they answer, and their units. All other metrics of a
 * capture are carried by name and rolled up by the rules of fold/rule.h.
 *
 * A role is a question that a report asks ("how busy is the memory?"). The metrics that answer it are listed best first,
 * and the first one that a capture has is used. A new role needs a row of the table in metrics.c, and code that asks for
 * it.
 */
#ifndef SONDE_CATALOGUE_METRICS_H
#define SONDE_CATALOGUE_METRICS_H

#include "base/str.h"
#include "base/words.h"

#define SONDE_METRIC_TIME "gpu__time_duration.sum" /* duration of a launch, ns */
#define SONDE_METRIC_COPIED "memory__bytes.sum"	   /* bytes of a copy, from sources with timestamps */

/*
 * Counters, as Nsight Compute and CUPTI name them. A metric is a counter with a suffix: `.sum`, `.avg.per_second`,
 * SONDE_OF_PEAK. No other file spells these names.
 */
#define SONDE_COUNTER_SM_CYCLES "sm__cycles_elapsed"
#define SONDE_COUNTER_SMSP_CYCLES "smsp__cycles_elapsed" /* on the SMs' clock, like a GPC's cycles */
#define SONDE_COUNTER_GPC_CYCLES "gpc__cycles_elapsed"
#define SONDE_COUNTER_SM_ACTIVE "sm__cycles_active"
#define SONDE_COUNTER_WARPS "sm__warps_active"
#define SONDE_COUNTER_INSTRUCTIONS "sm__inst_executed"
#define SONDE_COUNTER_TENSOR "sm__pipe_tensor_cycles_active"
#define SONDE_COUNTERS_TENSOR_INSTRUCTIONS "sm__inst_executed_pipe_tensor" /* prefix: one counter per type */
#define SONDE_COUNTER_FMA "sm__inst_executed_pipe_fma"
#define SONDE_COUNTER_ALU "sm__inst_executed_pipe_alu"
#define SONDE_COUNTER_FP64 "sm__pipe_fp64_cycles_active"
#define SONDE_COUNTER_L1 "l1tex__data_pipe_lsu_wavefronts"
#define SONDE_COUNTER_L2 "lts__t_sectors"
#define SONDE_COUNTER_DRAM "dram__bytes"
#define SONDE_COUNTER_DRAM_READ "dram__bytes_read"
#define SONDE_COUNTER_DRAM_WRITTEN "dram__bytes_write"
#define SONDE_COUNTER_DRAM_CYCLES "dram__cycles_elapsed"
#define SONDE_COUNTER_PCIE_READ "pcie__read_bytes"
#define SONDE_COUNTER_PCIE_WRITTEN "pcie__write_bytes"
#define SONDE_COUNTER_NVLINK_RECEIVED "nvlrx__bytes"
#define SONDE_COUNTER_NVLINK_SENT "nvltx__bytes"

#define SONDE_OF_PEAK_SUM ".sum.pct_of_peak_sustained_elapsed"
#define SONDE_OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
#define SONDE_OF_PEAK_ACTIVE ".avg.pct_of_peak_sustained_active" /* over the cycles in which the unit had work */

#define SONDE_METRIC_SM "sm__throughput" SONDE_OF_PEAK
#define SONDE_METRIC_DRAM "dram__throughput" SONDE_OF_PEAK
#define SONDE_METRIC_INSTRUCTIONS "smsp__inst_executed.sum"
/* Measured by NVML's GPM, in % of the time in which kernels ran; occupancy in % of the time in which an SM had a warp. */
#define SONDE_METRICS_GPM	   "gpm__"
#define SONDE_METRIC_GPM_SM	   SONDE_METRICS_GPM "sm_active.pct"
#define SONDE_METRIC_GPM_TENSOR	   SONDE_METRICS_GPM "tensor.pct"
#define SONDE_METRIC_GPM_DRAM	   SONDE_METRICS_GPM "dram.pct"
#define SONDE_METRIC_GPM_OCCUPANCY SONDE_METRICS_GPM "occupancy.pct"
#define SONDE_METRIC_SM_CLOCK SONDE_COUNTER_SM_CYCLES ".avg.per_second"

/* How a kernel was launched. */
#define SONDE_METRIC_GRID_X "launch__grid_dim_x"
#define SONDE_METRIC_GRID_Y "launch__grid_dim_y"
#define SONDE_METRIC_GRID_Z "launch__grid_dim_z"
#define SONDE_METRIC_GRID "launch__grid_size"
#define SONDE_METRIC_BLOCK_X "launch__block_dim_x"
#define SONDE_METRIC_BLOCK_Y "launch__block_dim_y"
#define SONDE_METRIC_BLOCK_Z "launch__block_dim_z"
#define SONDE_METRIC_BLOCK "launch__block_size"
#define SONDE_METRIC_THREADS "launch__thread_count"
#define SONDE_METRIC_REGISTERS "launch__registers_per_thread"
#define SONDE_METRIC_SHARED "launch__shared_mem_per_block"
#define SONDE_METRIC_SHARED_STATIC SONDE_METRIC_SHARED "_static"
#define SONDE_METRIC_SHARED_DYNAMIC SONDE_METRIC_SHARED "_dynamic"

/* Globs for counts of operations: those outside the tensor cores, and those on them. */
#define SONDE_METRICS_FLOP "sm*__sass_thread_inst_executed_op_*_pred_on.sum"
#define SONDE_METRIC_THREADS_OF(op) "smsp__sass_thread_inst_executed_op_" op "_pred_on.sum"
#define SONDE_METRICS_TENSOR_FLOP "sm__ops_path_tensor_*src_*.sum"
#define SONDE_METRICS_TENSOR_BY_TYPE "sm__ops_path_tensor_src_*.sum" /* all instructions together */

/* Bytes that the program got from PyTorch's allocator and had not freed: at its snapshot, and at their peak. */
#define SONDE_METRIC_HELD "allocator__held_bytes.sum"
#define SONDE_METRIC_HELD_AT_PEAK "allocator__peak_bytes.sum"

/* Facts that a framework gives about a collective. */
#define SONDE_METRIC_COLLECTIVE "nccl__collective"
#define SONDE_METRIC_GROUP "nccl__group"
#define SONDE_METRIC_GROUP_SIZE "nccl__group_size"
#define SONDE_METRIC_MESSAGE "nccl__bytes.sum"
#define SONDE_METRIC_SEQUENCE "nccl__sequence" /* number within its group; the same on all ranks */

enum sonde_metric_role {
	SONDE_ROLE_SM,		   /* how busy the multiprocessors are, % of peak */
	SONDE_ROLE_SM_ACTIVE,	   /* how much of the time they had any work, % */
	SONDE_ROLE_TENSOR,	   /* how busy the tensor cores are, % of peak */
	SONDE_ROLE_MEMORY,	   /* how busy the whole memory system is, else only DRAM, % of peak */
	SONDE_ROLE_OCCUPANCY,	   /* resident warps, % of what an SM can hold */
	SONDE_ROLE_ISSUE,	   /* issued instructions, % of what the SMs can issue */
	SONDE_ROLE_FMA,		   /* how busy pipes of the SMs are, % of their peaks */
	SONDE_ROLE_ALU,
	SONDE_ROLE_FP64,
	SONDE_ROLE_L2,		   /* how busy levels of the memory are, % of their peaks; DRAM belongs to SONDE_ROLE_MEMORY */
	SONDE_ROLE_L1,
	SONDE_ROLE_SHARED,
	SONDE_ROLE_CLOCK,	   /* clock of the multiprocessors while kernels ran */
	SONDE_ROLE_OCCUPANCY_MOST, /* the most occupancy that the launch configuration allows */
	SONDE_ROLE_WAVES,	   /* blocks of a launch ÷ blocks that the GPU holds at once */
	SONDE_ROLE_DRAM_BYTES,
	SONDE_ROLE_DRAM_READ,
	SONDE_ROLE_DRAM_WRITTEN,
	SONDE_ROLE_HELD_AT_PEAK,   /* bytes held in PyTorch's allocator at their peak … */
	SONDE_ROLE_HELD,	   /* … and at its snapshot */
	SONDE_NR_ROLES,
};

#define SONDE_ROLE_METRICS 5 /* the most metrics that a role has */

struct sonde_role_metric {
	const char *name;
	const char *head; /* heading of its column in a table; NULL = the name */
};

struct sonde_role_row {
	struct sonde_role_metric at[SONDE_ROLE_METRICS]; /* best first; a NULL `name` ends the list */
	bool is_headline; /* one of the usual columns of a table */
};

extern const struct sonde_role_row sonde_metric_roles[SONDE_NR_ROLES];

/* Whether the metric counts operations outside the tensor cores, or is the rate of such a count. */
bool sonde_metric_is_flop(struct sonde_str metric);
/* The heading of the metric's column in a table: "SM %", or the metric's name. */
struct sonde_str sonde_metric_head(struct sonde_str metric);
/* The unit that the metric's name implies, as Nsight Compute prints it; "" if it has none. */
const char *sonde_metric_unit(struct sonde_str metric);

/* Explains the metric in a few words; "" if sonde does not know it. */
const char *sonde_metric_about(struct sonde_str metric);

/*
 * Presets and scripts still name metrics of nvprof. Returns the metrics of Nsight Compute that replaced `name`: none if
 * it is no such metric or nothing replaced it. The result is static.
 */
struct sonde_words sonde_metric_successors(const char *name);
/* Whether `name` can be a metric of Nsight Compute: all of those name their hardware unit, `sm__…`. */
bool sonde_metric_is_ncus(const char *name);

#endif
