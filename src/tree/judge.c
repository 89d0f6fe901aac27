/* Each word follows from a threshold on figures that the report shows beside it, so that readers can check it. */
#include "tree/judge.h"

#include <math.h>
#include <string.h>

/* The column of a role's best metric that has a figure, starting at its metric number `from`. SONDE_NONE: none has. */
static uint32_t column_of(
	const struct sonde_tree *t, const struct sonde_figures *f, enum sonde_metric_role role, size_t from)
{
	const struct sonde_role_metric *m = sonde_metric_roles[role].at;
	size_t i;

	for (i = from; i < SONDE_ROLE_METRICS && m[i].name; i++) {
		uint32_t column = sonde_tree_column(t, sonde_str_from(m[i].name));

		if (column != SONDE_NONE && column < f->nr && !isnan(f->at[column].v))
			return column;
	}
	return SONDE_NONE;
}

double sonde_figure_of(
	const struct sonde_tree *t, const struct sonde_figures *f, enum sonde_metric_role role)
{
	uint32_t column = column_of(t, f, role, 0);

	return column == SONDE_NONE ? NAN : f->at[column].v;
}

const enum sonde_metric_role sonde_sm_parts[SONDE_NR_SM_PARTS] = {
	SONDE_ROLE_ISSUE, SONDE_ROLE_TENSOR, SONDE_ROLE_FMA, SONDE_ROLE_ALU, SONDE_ROLE_FP64};
const enum sonde_metric_role sonde_memory_parts[SONDE_NR_MEMORY_PARTS] = {
	SONDE_ROLE_L2, SONDE_ROLE_L1, SONDE_ROLE_SHARED};

/* Takes a part of the SMs or the memory if it is busier than the parts before it. */
static void keep_busier_part(struct sonde_limiter *most, const struct sonde_figures *f, uint32_t column, const char *word)
{
	if (column == SONDE_NONE || (most->word && f->at[column].v <= most->pct))
		return;
	most->word = word;
	most->pct = f->at[column].v;
	most->column = column;
}

#define MOST_OF_IT 0.8 /* share of a throughput: a part that is less busy than that does not explain it */

/* One of the two sides that may limit work: the SMs or the memory. */
struct side {
	struct sonde_limiter of; /* its busiest part if that is known, else the whole side */
	double pct;	       /* how busy the whole side is */
	bool lacks_caches;     /* the memory: DRAM is all that was counted of it */
};

/*
 * Nsight Compute's throughput of a side is that of its busiest part. If it was not captured, the parts that were sampled
 * replace it.
 */
static struct side find_side(
	const struct sonde_figures *f, uint32_t whole, const char *word, struct sonde_limiter part)
{
	if (whole == SONDE_NONE)
		return (struct side){part, part.pct, false};
	if (part.word && part.pct >= MOST_OF_IT * f->at[whole].v)
		return (struct side){part, f->at[whole].v, false};
	return (struct side){{word, part.is_memory, f->at[whole].v, whole, false}, f->at[whole].v, false};
}

static struct side find_sm(const struct sonde_tree *t, const struct sonde_figures *f)
{
	static const char *const words[SONDE_NR_SM_PARTS] = {"issue", "tensor", "fma", "alu", "fp64"};
	struct sonde_limiter part = {.pct = NAN, .column = SONDE_NONE};
	size_t i;

	for (i = 0; i < SONDE_NR_SM_PARTS; i++)
		keep_busier_part(&part, f, column_of(t, f, sonde_sm_parts[i], 0), words[i]);
	return find_side(f, column_of(t, f, SONDE_ROLE_SM, 0), "compute", part);
}

/* How busy the caches are does not show how busy DRAM was: without SONDE_ROLE_MEMORY nothing is known. */
static struct side find_memory(const struct sonde_tree *t, const struct sonde_figures *f)
{
	static const char *const words[SONDE_NR_MEMORY_PARTS] = {"l2", "l1", "shared"};
	struct sonde_limiter part = {.is_memory = true, .pct = NAN, .column = SONDE_NONE};
	size_t i;
	uint32_t whole = column_of(t, f, SONDE_ROLE_MEMORY, 0), dram = column_of(t, f, SONDE_ROLE_MEMORY, 1);
	bool lacks_caches = whole == dram;
	struct side memory;

	if (whole == SONDE_NONE)
		return (struct side){part, NAN, false};
	keep_busier_part(&part, f, dram, "dram");
	for (i = 0; i < SONDE_NR_MEMORY_PARTS; i++) {
		uint32_t column = column_of(t, f, sonde_memory_parts[i], 0);

		lacks_caches &= column == SONDE_NONE;
		keep_busier_part(&part, f, column, words[i]);
	}
	memory = find_side(f, whole == dram ? SONDE_NONE : whole, "memory", part);
	memory.lacks_caches = lacks_caches;
	return memory;
}

struct sonde_limiter sonde_limiter_find(const struct sonde_tree *t, const struct sonde_figures *f)
{
	struct side sm = find_sm(t, f), memory = find_memory(t, f);
	bool is_memory = memory.pct > sm.pct;
	struct sonde_limiter out = is_memory ? memory.of : sm.of;

	if (isnan(sm.pct) || isnan(memory.pct))
		return (struct sonde_limiter){.pct = NAN, .column = SONDE_NONE};
	out.lacks_caches = memory.lacks_caches && (!is_memory || memory.pct < SONDE_LOW_PCT);
	if (sm.pct >= SONDE_LOW_PCT || memory.pct >= SONDE_LOW_PCT)
		return out;
	/* GPM measures only the tensor pipes: if they are idle, another pipe may be busy. */
	if (sm.of.column != SONDE_NONE && sonde_str_starts(t->columns.at[sm.of.column].name, SONDE_METRICS_GPM))
		return (struct sonde_limiter){.pct = NAN, .column = SONDE_NONE};
	out.word = "latency";
	return out;
}

const char *sonde_limiter(const struct sonde_tree *t, const struct sonde_figures *f)
{
	return sonde_limiter_find(t, f).word;
}

/* Says whether the region waited for the CPU, the GPU, or something between. NULL: no launches, or a time is not known. */
static const char *waited_for(const struct sonde_node *n)
{
	double used = n->times.busy_ns / n->times.host_ns;

	if (!n->launches || isnan(used) || !(n->times.host_ns > 0))
		return NULL;
	if (used >= SONDE_GPU_BOUND)
		return "gpu";
	if (used > SONDE_CPU_BOUND)
		return "mixed";
	return n->times.cpu_ns < n->times.host_ns / 2 ? "waiting" : "cpu";
}

const char *sonde_bound(const struct sonde_tree *t, const struct sonde_figures *f, const struct sonde_node *n)
{
	const char *limiter = sonde_limiter(t, f), *waited = waited_for(n);

	if (waited && (strcmp(waited, "cpu") == 0 || strcmp(waited, "waiting") == 0))
		return waited;
	if (waited && n->copy_ns > n->time_ns / 2)
		return "copies";
	if (waited && n->times.comm_ns > n->time_ns / 2)
		return "comm";
	return limiter ? limiter : waited;
}

const struct sonde_bound_word sonde_bound_words[SONDE_NR_BOUNDS] = {
	{"gpu", "#56b4e9", false, SONDE_BOUND_COMPUTE},
	{"copies", "#cc79a7", false, SONDE_BOUND_MEMORY},
	{"comm", "#009e73", true, SONDE_BOUND_OTHER},
	{"cpu", "#f0e442", false, SONDE_BOUND_OTHER},
	{"waiting", "#b8a5d6", false, SONDE_BOUND_OTHER},
	{"mixed", "#c9dcea", false, SONDE_BOUND_OTHER},
	{"dram", "#e69f00", false, SONDE_BOUND_MEMORY},
	{"l2", "#f2c14e", false, SONDE_BOUND_MEMORY},
	{"l1", "#d55e00", false, SONDE_BOUND_MEMORY},
	{"shared", "#a84300", true, SONDE_BOUND_MEMORY},
	{"memory", "#e69f00", false, SONDE_BOUND_MEMORY},
	{"tensor", "#00456e", true, SONDE_BOUND_COMPUTE},
	{"fma", "#3b6fb6", true, SONDE_BOUND_COMPUTE},
	{"alu", "#5f8fc9", false, SONDE_BOUND_COMPUTE},
	{"fp64", "#7a5ea8", true, SONDE_BOUND_COMPUTE},
	{"issue", "#8fb9d8", false, SONDE_BOUND_COMPUTE},
	{"compute", "#0072b2", true, SONDE_BOUND_COMPUTE},
	{"latency", "#9aa0a6", false, SONDE_BOUND_OTHER},
};

size_t sonde_bound_number(const char *word)
{
	size_t i;

	for (i = 0; word && i < SONDE_NR_BOUNDS; i++)
		if (strcmp(sonde_bound_words[i].word, word) == 0)
			return i;
	return SONDE_NR_BOUNDS;
}

enum sonde_report_times sonde_report_times(const struct sonde_report *r)
{
	enum sonde_report_times found = SONDE_TIMES_NONE;
	size_t i;

	for (i = 0; i < r->nodes.nr; i++) {
		if (!isnan(r->nodes.at[i].times.busy_ns))
			return SONDE_TIMES_GPU;
		if (!isnan(r->nodes.at[i].times.host_ns))
			found = SONDE_TIMES_HOST;
	}
	return r->launches || r->outside_launches ? SONDE_TIMES_NONE : found;
}

static bool has_limiter(const struct sonde_tree *t)
{
	return sonde_tree_role(t, SONDE_ROLE_SM) != SONDE_NONE &&
	       sonde_tree_role(t, SONDE_ROLE_MEMORY) != SONDE_NONE;
}

bool sonde_report_has_bounds(const struct sonde_tree *t, const struct sonde_report *r)
{
	return has_limiter(t) || sonde_report_times(r) == SONDE_TIMES_GPU;
}

/* Sums over scopes; if one scope has no times, the sum is not known. */
bool sonde_coverage_build(struct sonde_coverage *out, const struct sonde_tree *t, bool is_ranges)
{
	bool found = false;
	size_t i;

	*out = (struct sonde_coverage){.is_ranges = is_ranges};
	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (r->is_aggregate || r->is_ranges != is_ranges)
			continue;
		found = true;
		out->total += r->all_launches;
		out->attributed += r->launches;
		out->outside += r->outside_launches;
		out->not_selected += r->all_launches - r->launches - r->outside_launches;
		out->total_ns += r->all_time_ns;
		out->attributed_ns += r->time_ns;
		out->outside_ns += r->outside_time_ns;
	}
	return found;
}

uint64_t sonde_tree_unrecorded(const struct sonde_tree *t)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < t->cells->inputs.nr; i++)
		sum += t->cells->inputs.at[i].nr_unrecorded;
	return sum;
}

bool sonde_torch_regions_build(struct sonde_torch_regions *out, const struct sonde_tree *t)
{
	size_t i;

	*out = (struct sonde_torch_regions){0};
	for (i = 0; i < t->cells->inputs.nr; i++) {
		const struct sonde_input *in = &t->cells->inputs.at[i];

		out->modules += in->nr_modules;
		out->graphed += in->nr_graphed;
		out->regained += in->nr_regained;
	}
	return out->modules || out->graphed;
}

bool sonde_windows_build(struct sonde_windows *out, const struct sonde_tree *t)
{
	bool found = false;
	size_t i;

	*out = (struct sonde_windows){0};
	for (i = 0; i < t->cells->inputs.nr; i++) {
		const struct sonde_input *in = &t->cells->inputs.at[i];

		if (!in->is_windowed)
			continue;
		found = true;
		out->nr += in->nr_windows;
		out->captured_ns += (double)in->captured_ns;
		out->total_ns += (double)in->total_ns;
		out->budget_pct = fmax(out->budget_pct, (double)in->budget_ppm / 1e4);
		out->cost_pct = fmax(out->cost_pct, (double)in->cost_ppm / 1e4);
	}
	return found;
}
