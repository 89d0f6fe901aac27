#include "export/field.h"

#include <math.h>

double sonde_figure_of(const struct sonde_tree *t, const struct sonde_figures *f, const char *name)
{
	uint32_t column = sonde_tree_column(t, name);

	return column == SONDE_NONE || column >= f->nr ? NAN : f->at[column].v;
}

static double first_known(const struct sonde_tree *t, const struct sonde_figures *f,
	const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		double v = sonde_figure_of(t, f, names[i]);

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
	double sm = sonde_figure_of(t, f, "sm__throughput.avg.pct_of_peak_sustained_elapsed");
	double mem = first_known(t, f, memory, sizeof(memory) / sizeof(*memory));

	if (isnan(sm) || isnan(mem))
		return NULL;
	if (sm < SONDE_LOW_PCT && mem < SONDE_LOW_PCT)
		return "latency";
	return sm >= mem ? "compute" : "memory";
}
