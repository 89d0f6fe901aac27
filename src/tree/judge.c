/* Each word is a threshold on figures that the report shows beside it, so that it can be checked. */
#include "tree/judge.h"

#include <math.h>
#include <string.h>

double sonde_figure_of(
	const struct sonde_tree *t, const struct sonde_figures *f, enum sonde_metric_role role)
{
	const struct sonde_role_metric *m = sonde_metric_roles[role].at;
	size_t i;

	for (i = 0; i < SONDE_ROLE_METRICS && m[i].name; i++) {
		uint32_t column = sonde_tree_column(t, m[i].name);

		if (column != SONDE_NONE && column < f->nr && !isnan(f->at[column].v))
			return f->at[column].v;
	}
	return NAN;
}

const enum sonde_metric_role sonde_sm_parts[SONDE_NR_SM_PARTS] = {
	SONDE_ROLE_ISSUE, SONDE_ROLE_TENSOR, SONDE_ROLE_FMA, SONDE_ROLE_ALU, SONDE_ROLE_FP64};
const enum sonde_metric_role sonde_memory_parts[SONDE_NR_MEMORY_PARTS] = {SONDE_ROLE_L2, SONDE_ROLE_L1};

/* The busiest of parts that were sampled one by one: Nsight Compute makes its throughputs like that. */
static double busiest_of(const struct sonde_tree *t, const struct sonde_figures *f,
	const enum sonde_metric_role *roles, size_t nr)
{
	double most = NAN;
	size_t i;

	for (i = 0; i < nr; i++)
		most = fmax(most, sonde_figure_of(t, f, roles[i])); /* of a NaN and a number: the number */
	return most;
}

const char *sonde_limiter(const struct sonde_tree *t, const struct sonde_figures *f)
{
	double sm = sonde_figure_of(t, f, SONDE_ROLE_SM);
	double mem = sonde_figure_of(t, f, SONDE_ROLE_MEMORY);

	if (isnan(sm)) {
		sm = busiest_of(t, f, sonde_sm_parts, SONDE_NR_SM_PARTS);
		mem = isnan(mem) ? mem : fmax(mem, busiest_of(t, f, sonde_memory_parts, SONDE_NR_MEMORY_PARTS));
	}
	if (isnan(sm) || isnan(mem))
		return NULL;
	if (sm < SONDE_LOW_PCT && mem < SONDE_LOW_PCT)
		return "latency";
	return sm >= mem ? "compute" : "memory";
}

const char *sonde_bound(const struct sonde_node *n)
{
	double used = n->times.busy_ns / n->times.host_ns;

	if (!n->launches || isnan(used) || !(n->times.host_ns > 0))
		return NULL;
	if (used >= SONDE_GPU_BOUND)
		return n->copy_ns > n->time_ns / 2 ? "copies" : "gpu";
	if (used > SONDE_CPU_BOUND)
		return "mixed";
	return n->times.cpu_ns < n->times.host_ns / 2 ? "waiting" : "cpu";
}

const char *sonde_hint(
	const struct sonde_tree *t, const struct sonde_figures *f, const struct sonde_node *n)
{
	const char *limiter = sonde_limiter(t, f), *bound = sonde_bound(n);

	/* The limiter of kernels matters where the host waits for the GPU. */
	return limiter && (!bound || strcmp(bound, "gpu") == 0 || strcmp(bound, "mixed") == 0)
		       ? limiter
		       : bound;
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

const char *sonde_hint_head(const struct sonde_tree *t, const struct sonde_report *r)
{
	if (has_limiter(t))
		return "limiter";
	return sonde_report_times(r) == SONDE_TIMES_GPU ? "bound" : NULL;
}

/* Sums over scopes: a scope without times makes the sum unknown. */
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
