/*
 * Operations are counted from the most reliable counters available: first instructions by type and operations of the
 * tensor cores, as counts or as rates; else sampled counters of what the pipes did. Counters of different kinds that
 * count the same work are never added up.
 */
#include "tree/roofline.h"

#include "base/glob.h"
#include "base/known.h"

#include "catalogue/attributes.h"
#include "catalogue/limits.h"
#include "tree/judge.h"
#include "tree/tree_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Thread instructions; units `smsp` and `sm` count the same ones. */
#define EXECUTED(unit, op) unit "__sass_thread_inst_executed_op_" op "_pred_on.sum"
#define OPERATION(op, flop)                                                                        \
	{                                                                                          \
		{EXECUTED("smsp", op), EXECUTED("sm", op)}, flop                                   \
	}

static const struct {
	const char *names[2];
	double flop; /* operations per executed thread instruction */
} operations[] = {
	OPERATION("fadd", 1),
	OPERATION("fmul", 1),
	OPERATION("ffma", 2),
	OPERATION("dadd", 1),
	OPERATION("dmul", 1),
	OPERATION("dfma", 2),
	/* A half-precision instruction works on two values (HADD2, HFMA2). */
	OPERATION("hadd", 2),
	OPERATION("hmul", 2),
	OPERATION("hfma", 4),
};
#define NR_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* The figure of a metric; NaN if the metric is not reported. */
static double figure_value(const struct sonde_tree *t, const struct sonde_figures *f, const char *name)
{
	uint32_t column = sonde_tree_column(t, sonde_str_from(name));

	return column == SONDE_NONE ? NAN : f->at[column].v;
}

/*
 * Elapsed elapsed_cycles of the SMs' clock, which all units of the SMs share. NaN if devices differ: elapsed_cycles of different clocks
 * do not add up.
 */
static double elapsed_cycles(const struct sonde_tree *t, const struct sonde_figures *f, double time_ns)
{
	static const char *const counts[] = {SONDE_COUNTER_SMSP_CYCLES ".avg", SONDE_COUNTER_SM_CYCLES ".avg"};
	static const char *const rates[] = {SONDE_COUNTER_SMSP_CYCLES ".avg.per_second", SONDE_METRIC_SM_CLOCK,
		SONDE_COUNTER_GPC_CYCLES ".avg.per_second"};
	double v = NAN;
	size_t i;

	if (t->is_mixed)
		return NAN;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]) && isnan(v); i++)
		v = figure_value(t, f, counts[i]);
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]) && isnan(v); i++)
		v = figure_value(t, f, rates[i]) * time_ns / 1e9;
	return v;
}

/*
 * The count of a counter `X.sum`: its figure, or its rate × time or elapsed_cycles. The rate of a region is the sum of its
 * launches' counts divided by the sum of their times or elapsed_cycles, so this gives the sum back. NaN: neither was captured.
 */
static double count_of_counter(const struct sonde_tree *t, const struct sonde_figures *f, struct sonde_str counter,
	double time_ns)
{
	char rate[512];
	double v;

	snprintf(rate, sizeof(rate), "%.*s", SONDE_STR_ARG(counter));
	v = figure_value(t, f, rate);
	if (!isnan(v))
		return v;
	snprintf(rate, sizeof(rate), "%.*s.per_second", SONDE_STR_ARG(counter));
	v = figure_value(t, f, rate) * time_ns / 1e9;
	if (!isnan(v))
		return v;
	snprintf(rate, sizeof(rate), "%.*s.per_cycle_elapsed", SONDE_STR_ARG(counter));
	v = figure_value(t, f, rate);
	return isnan(v) ? v : v * elapsed_cycles(t, f, time_ns);
}

/* Operations outside the tensor cores. Sets `*nr` to the number of kinds of operations that were counted. */
static double scalar_flop(
	const struct sonde_tree *t, const struct sonde_figures *f, double time_ns, size_t *nr)
{
	double sum = NAN, v;
	size_t i;

	*nr = 0;
	for (i = 0; i < NR_OPERATIONS; i++) {
		v = count_of_counter(t, f, sonde_str_from(operations[i].names[0]), time_ns);
		if (isnan(v))
			v = count_of_counter(t, f, sonde_str_from(operations[i].names[1]), time_ns);
		*nr += !isnan(v);
		sonde_add_known(&sum, operations[i].flop * v);
	}
	return sum;
}

static bool counts_flop(const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++)
		if (sonde_metric_is_flop(t->columns.at[i].name))
			return true;
	return false;
}

bool sonde_tree__watch_tensor(struct sonde_tree *t)
{
	const struct sonde_map *names = &t->cells->metric_names;
	uint32_t i;
	size_t k;

	if (!counts_flop(t))
		return true;
	for (k = 0; k < SONDE_NR_TENSOR; k++)
		for (i = 0; i < names->nr; i++) {
			if (!sonde_str_glob(
				    names->keys[i], sonde_str_from(sonde_tensor_patterns[k])))
				continue;
			if (!sonde_rollups_add(t->rollups, i))
				return false;
			if (t->rollups->slot_of[i] != SONDE_NONE && /* some cell has it */
				!sonde_vec_put(&t->tensor_metrics, i))
				return false;
		}
	return true;
}

/* Metrics that count single operations come first. If one of them has a value, coarser metrics are ignored. */
bool sonde_tree__has_tensor(const struct sonde_tree *t, const struct sonde_cell *cell)
{
	const struct sonde_str fine = sonde_str_from(sonde_tensor_patterns[0]);
	bool is_counted = false;
	size_t i;

	for (i = 0; i < t->tensor_metrics.nr; i++) {
		uint32_t metric = t->tensor_metrics.at[i];
		struct sonde_figure f;

		if (is_counted && !sonde_str_glob(t->cells->metric_names.keys[metric], fine))
			continue;
		sonde_cell__figure(t, cell, metric, &f);
		if (f.v > 0)
			return true;
		is_counted |= !isnan(f.v);
	}
	return false;
}

/* The counter `X.sum` that a metric is, or is the rate of; empty if it does not count operations of the tensor cores. */
static struct sonde_str tensor_counter(struct sonde_str metric)
{
	static const char *const ends[] = {"", ".per_second", ".per_cycle_elapsed"};
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sonde_str counter = {metric.p, metric.n - strlen(ends[i])};

		if (metric.n > strlen(ends[i]) && sonde_str_ends(metric, ends[i]) &&
			sonde_str_glob(counter, SONDE_STR(SONDE_METRICS_TENSOR_FLOP)))
			return counter;
	}
	return (struct sonde_str){metric.p, 0};
}

/*
 * Counters are named by data type; some devices have others, named by instruction and data type. If one name continues
 * another (`…_src_fp16_sparsity_off`), its count is part of the other's. Columns are sorted, so it comes after.
 */
static double tensor_flop(const struct sonde_tree *t, const struct sonde_figures *f, double time_ns)
{
	double by_type = NAN, by_instruction = NAN, v;
	struct sonde_str whole = {NULL, 0};
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		struct sonde_str name = tensor_counter(t->columns.at[i].name), head = {name.p, whole.n};

		if (!name.n || sonde_str_glob(name, SONDE_STR("*_src_int*")) || sonde_str_ends(name, "_realtime.sum"))
			continue;
		if (whole.n && name.n > whole.n && (name.p[whole.n] == '_' || name.p[whole.n] == '.') &&
			sonde_str_eq(head, whole))
			continue;
		v = count_of_counter(t, f, name, time_ns);
		if (isnan(v))
			continue;
		whole = (struct sonde_str){name.p, name.n - strlen(".sum")};
		sonde_add_known(sonde_str_glob(name, SONDE_STR(SONDE_METRICS_TENSOR_BY_TYPE)) ? &by_type : &by_instruction, v);
	}
	return isnan(by_type) ? by_instruction : by_type;
}

/* Bytes read and written, whichever counters were captured. */
static double dram_bytes(const struct sonde_tree *t, const struct sonde_figures *f, double time_ns)
{
	double v = count_of_counter(t, f, SONDE_STR(SONDE_COUNTER_DRAM ".sum"), time_ns);

	return isnan(v) ? count_of_counter(t, f, SONDE_STR(SONDE_COUNTER_DRAM_READ ".sum"), time_ns) +
				  count_of_counter(t, f, SONDE_STR(SONDE_COUNTER_DRAM_WRITTEN ".sum"), time_ns)
			: v;
}

/*
 * The throughput of one multiprocessor per clock, by compute capability, as NVIDIA publishes it: single-precision lanes,
 * and dense 16-bit operations of the tensor cores. For a newer device the number of lanes is a good guess; the tensor
 * cores changed every time.
 */
struct throughput {
	unsigned cc;
	double lanes, tensor_ops;
};

static struct throughput throughput_of(const struct sonde_device *d)
{
	static const struct throughput known[] = {{60, 64, NAN}, {70, 64, 1024}, {72, 64, NAN}, {75, 64, 1024},
		{80, 64, 2048}, {86, 128, 1024}, {89, 128, 1024}, {90, 128, 4096}, {100, 128, 8192}, {120, 128, 1024}};
	unsigned cc = d->cc_major * 10 + d->cc_minor;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].cc == cc)
			return known[i];
	return (struct throughput){cc, cc >= 50 ? 128 : NAN, NAN};
}

static double agreed(double a, double b)
{
	return a == b ? a : NAN;
}

double sonde_tree__agreed_tensor_ops(const struct sonde_tree *t)
{
	double ops = NAN;
	size_t i;

	for (i = 0; i < t->cells->scopes.nr; i++) {
		const struct sonde_device *d = sonde_cells_device(t->cells, (uint32_t)i);
		double own = d ? throughput_of(d).tensor_ops : NAN;

		ops = i == 0 ? own : agreed(ops, own);
	}
	return ops;
}

const char *sonde_roofline_sign(const struct sonde_roofline *r)
{
	return r->at_least ? "\u2265 " : r->is_of_pipes ? "~" : "";
}

const char *sonde_roofline_note(const struct sonde_roofline *r)
{
	return r->at_least ? r->at_least : r->is_of_pipes ? SONDE_FLOP_OF_PIPES : NULL;
}

const char *sonde_roofline_uncounted(const struct sonde_tree *t)
{
	return counts_flop(t) ? SONDE_TENSOR_UNCOUNTED : SONDE_SCALAR_UNCOUNTED;
}

const char *sonde_roofline_source(const struct sonde_tree *t)
{
	return t->cells->sampled.nr && !counts_flop(t) ? SONDE_FLOP_OF_PIPES : NULL;
}

/* The figure of a metric if it was sampled, else NaN. */
static double sampled(const struct sonde_tree *t, const struct sonde_figures *f, const char *name)
{
	uint32_t column = sonde_tree_column(t, sonde_str_from(name));

	return column == SONDE_NONE || f->at[column].quality != SONDE_QUALITY_SAMPLED ? NAN
										       : f->at[column].v;
}

/*
 * Operations of the sampled pipes. `tensor_ops` counts all tensor cores of an SM in a cycle; an FMA instruction is 32
 * multiply-adds, two operations each.
 */
static double pipes_flop(const struct sonde_tree *t, const struct sonde_figures *f)
{
	return sampled(t, f, SONDE_COUNTER_TENSOR ".sum") * t->tensor_ops / SONDE_SM_TENSOR_PIPES +
	       sampled(t, f, SONDE_COUNTER_FMA ".sum") * 32 * 2;
}

/* Why the counted operations are only a lower bound. NULL: nothing is known to be missing. */
static const char *uncounted(double scalar, double tensor, bool has_tensor)
{
	if (isnan(tensor) && isnan(scalar))
		return NULL;
	if (isnan(tensor))
		return has_tensor ? SONDE_TENSOR_UNCOUNTED : NULL;
	return isnan(scalar) ? SONDE_SCALAR_UNCOUNTED : NULL;
}

struct sonde_roofline sonde_roofline_of(
	const struct sonde_tree *t, const struct sonde_figures *figures, double time_ns)
{
	struct sonde_roofline r = {NAN, NAN, NAN, NAN, NAN, NULL, false};
	size_t nr_counted;
	double scalar = scalar_flop(t, figures, time_ns, &nr_counted), tensor = tensor_flop(t, figures, time_ns);

	sonde_add_known(&r.flop, scalar);
	sonde_add_known(&r.flop, tensor);
	if (r.flop == 0 && (nr_counted < NR_OPERATIONS || isnan(tensor)))
		r.flop = NAN; /* everything that ran may be of a kind that was not counted */
	if (!isnan(r.flop)) {
		r.at_least = uncounted(scalar, tensor, figures->has_tensor);
	} else {
		r.flop = pipes_flop(t, figures);
		r.is_of_pipes = !isnan(r.flop);
	}
	r.dram_bytes = dram_bytes(t, figures, time_ns);
	if (r.dram_bytes > 0)
		r.intensity = r.flop / r.dram_bytes;
	if (time_ns > 0) {
		r.flop_per_s = r.flop / time_ns * 1e9;
		r.bytes_per_s = r.dram_bytes / time_ns * 1e9;
	}
	return r;
}

static struct sonde_peaks device_peaks(const struct sonde_device *d)
{
	/* Clock rates are in kHz. DRAM moves two words per clock, and a multiply-add counts as two operations. */
	double clocks = sonde_device_attribute(d, SONDE_ATTR_SMS) *
			sonde_device_attribute(d, SONDE_ATTR_CLOCK) * 1e3;

	return (struct sonde_peaks){
		.flop_per_s = clocks * throughput_of(d).lanes * 2,
		.tensor_per_s = clocks * throughput_of(d).tensor_ops,
		.bytes_per_s = sonde_device_attribute(d, SONDE_ATTR_BUS_WIDTH) / 8 * 2 *
			       sonde_device_attribute(d, SONDE_ATTR_MEMORY_CLOCK) * 1e3,
	};
}

struct sonde_peaks sonde_peaks_of(const struct sonde_tree *t)
{
	const struct sonde_cells *l = t->cells;
	struct sonde_peaks all = {NAN, NAN, NAN};
	bool is_first = true;
	size_t i;

	for (i = 0; i < l->scopes.nr; i++) {
		const struct sonde_device *d = sonde_cells_device(l, (uint32_t)i);
		struct sonde_peaks p = d ? device_peaks(d) : (struct sonde_peaks){NAN, NAN, NAN};

		if (is_first)
			all = p;
		all.flop_per_s = agreed(all.flop_per_s, p.flop_per_s);
		all.tensor_per_s = agreed(all.tensor_per_s, p.tensor_per_s);
		all.bytes_per_s = agreed(all.bytes_per_s, p.bytes_per_s);
		is_first = false;
	}
	return all;
}
