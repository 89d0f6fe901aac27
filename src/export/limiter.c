#include "export/field.h"

#include <math.h>

static double figure(const struct sonde_tree *t, const struct sonde_figures *f, const char *name)
{
	uint32_t column = sonde_tree_column(t, name);

	return column == SONDE_NONE || column >= f->nr ? NAN : f->at[column].v;
}

static double first_known(const struct sonde_tree *t, const struct sonde_figures *f,
	const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		double v = figure(t, f, names[i]);

		if (!isnan(v))
			return v;
	}
	return NAN;
}

const char *sonde_limiter(const struct sonde_tree *t, const struct sonde_figures *f)
{
	/* "Memory" is the whole memory system where it was measured, else DRAM alone. */
	static const char *const memory[] = {
		"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
		"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
		"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	};
	double sm = figure(t, f, "sm__throughput.avg.pct_of_peak_sustained_elapsed");
	double mem = first_known(t, f, memory, sizeof(memory) / sizeof(*memory));

	if (isnan(sm) || isnan(mem))
		return NULL;
	if (sm < SONDE_LOW_PCT && mem < SONDE_LOW_PCT)
		return "latency";
	return sm >= mem ? "compute" : "memory";
}

struct sonde_roofline sonde_roofline(
	const struct sonde_tree *t, const struct sonde_figures *f, double time_ns)
{
	static const struct {
		const char *metric;
		double flop;
	} ops[] = {
		{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2},
		{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2},
		{"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 1},
		{"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 2},
	};
	struct sonde_roofline out = {0};
	bool any = false;
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		double v = figure(t, f, ops[i].metric);

		if (isnan(v))
			continue;
		any = true;
		out.flop += ops[i].flop * v;
	}
	if (!any)
		out.flop = NAN;
	out.dram_bytes = figure(t, f, "dram__bytes.sum");
	if (isnan(out.dram_bytes))
		out.dram_bytes = figure(t, f, "dram__bytes_read.sum") +
				 figure(t, f, "dram__bytes_write.sum");
	out.intensity = out.dram_bytes > 0 ? out.flop / out.dram_bytes : NAN;
	out.flop_per_s = time_ns > 0 ? out.flop / time_ns * 1e9 : NAN;
	return out;
}
