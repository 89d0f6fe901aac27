#include "aggregate/roofline.h"

#include <math.h>
#include <stdio.h>

static const struct {
	const char *op;
	double flop; /* per executed thread instruction */
} operations[] = {
	{"fadd", 1},
	{"fmul", 1},
	{"ffma", 2},
	{"dadd", 1},
	{"dmul", 1},
	{"dfma", 2},
	{"hadd", 1},
	{"hmul", 1},
	{"hfma", 2},
};

/* The figure of a metric, NaN when it is not reported. */
static double value(const struct sonde_tree *t, const struct sonde_figures *f, const char *name)
{
	uint32_t column = sonde_tree_column(t, name);

	return column == SONDE_NONE ? NAN : f->at[column].v;
}

static void add(double *sum, double v)
{
	if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

/* Thread instructions of one unit: `smsp` and `sm` count the same ones. */
static double scalar_flop(
	const struct sonde_tree *t, const struct sonde_figures *f, const char *unit)
{
	double sum = NAN;
	char name[128];
	size_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		snprintf(name, sizeof(name), "%s__sass_thread_inst_executed_op_%s_pred_on.sum",
			unit, operations[i].op);
		add(&sum, operations[i].flop * value(t, f, name));
	}
	return sum;
}

static double tensor_flop(const struct sonde_tree *t, const struct sonde_figures *f)
{
	double sum = NAN;
	size_t i;

	for (i = 0; i < t->columns.nr; i++)
		if (sonde_str_glob(
			    t->columns.at[i].name, SONDE_STR("sm__ops_path_tensor_src_*fp*.sum")))
			add(&sum, f->at[i].v);
	return sum;
}

static double dram_bytes(const struct sonde_tree *t, const struct sonde_figures *f)
{
	double v = value(t, f, "dram__bytes.sum");

	return isnan(v) ? value(t, f, "dram__bytes_read.sum") + value(t, f, "dram__bytes_write.sum")
			: v;
}

struct sonde_roofline sonde_roofline_of(
	const struct sonde_tree *t, const struct sonde_figures *figures, double time_ns)
{
	struct sonde_roofline r = {NAN, NAN, NAN, NAN, NAN};
	double scalar = scalar_flop(t, figures, "smsp");

	add(&r.flop, isnan(scalar) ? scalar_flop(t, figures, "sm") : scalar);
	add(&r.flop, tensor_flop(t, figures));
	r.dram_bytes = dram_bytes(t, figures);
	if (r.dram_bytes > 0)
		r.intensity = r.flop / r.dram_bytes;
	if (time_ns > 0) {
		r.flop_per_s = r.flop / time_ns * 1e9;
		r.bytes_per_s = r.dram_bytes / time_ns * 1e9;
	}
	return r;
}
