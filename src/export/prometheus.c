/*
 * Prometheus' text format, for its textfile collector: what each region took so far, by GPU and rank.
 *
 * Times and counts only grow while a program runs, so they are counters; what the hardware did is a gauge. A region's
 * numbers include those of the regions inside. If there are many regions, the longest have series of their own; the own
 * parts of all others are added up as region "other", so that series stay few whatever a program calls its ranges.
 */
#include "base/alloc.h"
#include "base/escape.h"
#include "base/keysort.h"
#include "base/number.h"
#include "catalogue/metrics.h"
#include "export/format.h"
#include "export/shown_reports.h"

#include <math.h>

#define FEW_SERIES 200 /* regions of a report with series of their own, unless report.series says otherwise */
#define OTHER	   SONDE_STR("other") /* the region that has all others */

enum value {
	GPU_SECONDS,
	WALL_SECONDS,
	ENTRIES,
	LAUNCHES,
	IDLE_SECONDS, /* by cause */
	SM_ACTIVE,
	TENSOR,
	MEMORY,
	IMBALANCE, /* of aggregates only */
	NR_VALUES,
};

static const struct family {
	const char *name, *type, *help;
} families[NR_VALUES] = {
	[GPU_SECONDS] = {"sonde_region_gpu_seconds_total", "counter", "Time of the kernels and copies launched in the region."},
	[WALL_SECONDS] = {"sonde_region_wall_seconds_total", "counter",
		"Time from the beginning of each entry of the region to the end of its last work."},
	[ENTRIES] = {"sonde_region_entries_total", "counter", "How often the region was entered."},
	[LAUNCHES] = {"sonde_region_launches_total", "counter", "Kernels and copies launched in the region."},
	[IDLE_SECONDS] = {"sonde_region_idle_seconds_total", "counter",
		"Time in which nothing ran between the first and the last launch of an entry, by cause."},
	[SM_ACTIVE] = {"sonde_region_sm_active_ratio", "gauge", "How much of their time the multiprocessors had work, 0 to 1."},
	[TENSOR] = {"sonde_region_tensor_ratio", "gauge", "How busy the tensor cores were, 0 to 1."},
	[MEMORY] = {"sonde_region_memory_ratio", "gauge", "How busy the GPU's memory was, 0 to 1."},
	[IMBALANCE] = {"sonde_region_imbalance_ratio", "gauge", "GPU time of the slowest rank over the mean of all ranks."},
};

struct writer {
	const struct sonde_tree *t;
	const struct sonde_export_options *o;
	struct sonde_sink *to;
	struct sonde_figures figures;
	uint32_t column[NR_VALUES]; /* columns of gauges that are metrics; SONDE_NONE = the capture has none */
	bool names_process; /* device and rank do not distinguish all processes */
	struct sonde_buf label;
};

/* --- series ------------------------------------------------------------------------------------- */

static void put_label(struct writer *w, const char *name, struct sonde_str value, bool is_first)
{
	sonde_buf_clear(&w->label);
	sonde_escape_prometheus(&w->label, value);
	w->to->buf.failed |= w->label.failed;
	sonde_sink_printf(w->to, "%s%s=\"", is_first ? "{" : ",", name);
	sonde_sink_str(w->to, sonde_buf_view(&w->label));
	sonde_sink_putc(w->to, '"');
}

static void put_u64(struct writer *w, const char *name, uint64_t v)
{
	sonde_sink_printf(w->to, ",%s=\"%llu\"", name, (unsigned long long)v);
}

/* Writes the labels of the scope that a region is in; nothing for an aggregate. */
static void put_scope(struct writer *w, const struct sonde_report *r)
{
	const struct sonde_cells *c = w->t->cells;
	const struct sonde_process *p;

	if (r->scope == SONDE_NONE)
		return;
	p = &c->processes.at[c->scopes.at[r->scope].process];
	if (c->scopes.at[r->scope].device != SONDE_NONE)
		put_u64(w, "gpu", c->scopes.at[r->scope].device);
	if (p->has_rank)
		put_u64(w, "rank", p->rank);
	if (w->names_process)
		put_u64(w, "process", p->pid);
}

static void put_series(struct writer *w, const struct sonde_report *r, const struct family *f, struct sonde_str region,
	const char *cause, double v)
{
	char number[SONDE_NUMBER_MAX];

	if (isnan(v))
		return;
	sonde_sink_puts(w->to, f->name);
	put_label(w, "region", region, true);
	put_scope(w, r);
	if (cause)
		put_label(w, "cause", sonde_str_from(cause), false);
	sonde_sink_puts(w->to, "} ");
	sonde_sink_write(w->to, number, sonde_number_format(number, v));
	sonde_sink_putc(w->to, '\n');
}

/* --- values ------------------------------------------------------------------------------------------ */

static double value_of(struct writer *w, const struct sonde_report *r, uint32_t node, enum value value)
{
	const struct sonde_node *n = &r->nodes.at[node];

	switch (value) {
	case GPU_SECONDS:
		return n->launches ? n->time_ns / 1e9 : NAN;
	case WALL_SECONDS:
		return n->times.wall_ns / 1e9;
	case ENTRIES:
		return (double)n->instances;
	case LAUNCHES:
		return (double)n->launches;
	case IMBALANCE:
		return r->is_aggregate && n->nr_scopes > 1 ? n->imbalance : NAN;
	default:
		if (w->column[value] == SONDE_NONE || !n->launches)
			return NAN;
		sonde_tree_values(w->t, r, SONDE_PART_INCLUSIVE, node, &w->figures);
		return w->figures.at[w->column[value]].v / 100;
	}
}

/* A region without series of its own adds its own part to "other", so that nothing counts twice. */
static double own_of(const struct sonde_node *n, enum value value)
{
	switch (value) {
	case GPU_SECONDS:
		return n->own_launches && n->own_time_ns > 0 ? n->own_time_ns / 1e9 : 0;
	case ENTRIES:
		return (double)n->instances;
	case LAUNCHES:
		return (double)n->own_launches;
	default:
		return 0;
	}
}

/* The same for values that regions only have together with the regions inside: wall and idle time. */
static double span_of(const struct sonde_node *n, enum value value, int cause)
{
	double ns = value == WALL_SECONDS ? n->times.wall_ns : value == IDLE_SECONDS ? n->times.idle_by[cause] : 0;

	return ns > 0 ? ns / 1e9 : 0;
}

static double other_of(const struct sonde_report *r, const bool *is_chosen, enum value value, int cause)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < r->nodes.nr; i++) {
		const struct sonde_node *n = &r->nodes.at[i];
		bool is_within = n->parent != SONDE_NONE && !is_chosen[n->parent]; /* its parent is in "other" already */

		if (!is_chosen[i])
			sum += own_of(n, value) + (is_within ? 0 : span_of(n, value, cause));
		else if (is_within)
			sum -= span_of(n, value, cause);
	}
	return sum;
}

static void put_node(struct writer *w, const struct sonde_report *r, uint32_t node, enum value value)
{
	const struct sonde_str id = sonde_node_region(w->t, &r->nodes.at[node])->id;
	int cause;

	if (value != IDLE_SECONDS) {
		put_series(w, r, &families[value], id, NULL, value_of(w, r, node, value));
		return;
	}
	for (cause = 0; cause < SONDE_NR_IDLE_CAUSES; cause++)
		put_series(w, r, &families[value], id, sonde_idle_cause_name((enum sonde_idle_cause)cause),
			r->nodes.at[node].times.idle_by[cause] / 1e9);
}

/* --- which regions -------------------------------------------------------------------------------------- */

/*
 * Chooses the longest regions of a report: true by node. A region that is itself called "other" is not chosen if others are left
 * out, since two series cannot have the same name. NULL when out of memory.
 */
static bool *choose(const struct writer *w, const struct sonde_report *r)
{
	size_t most = w->o->max_series ? w->o->max_series : FEW_SERIES, nr = 0;
	bool *is_chosen = sonde_calloc(r->nodes.nr + 1, sizeof(*is_chosen));
	struct sonde_keyed *order = sonde_calloc(r->nodes.nr + 1, sizeof(*order));
	size_t i;

	for (i = 0; i < r->nodes.nr && order; i++) {
		const struct sonde_node *n = &r->nodes.at[i];
		double ns = n->times.wall_ns > 0 ? n->times.wall_ns : n->time_ns > 0 ? n->time_ns : n->times.host_ns;

		order[i] = (struct sonde_keyed){ns > 0 ? UINT64_MAX - (uint64_t)ns : UINT64_MAX, (uint32_t)i};
	}
	if (is_chosen && order && sonde_keysort(order, r->nodes.nr)) {
		for (i = 0; i < r->nodes.nr && nr < most; i++) {
			const struct sonde_node *n = &r->nodes.at[order[i].index];

			is_chosen[order[i].index] = r->nodes.nr <= most || !sonde_str_eq(sonde_node_region(w->t, n)->id, OTHER);
			nr += is_chosen[order[i].index];
		}
	} else {
		sonde_free(is_chosen);
		is_chosen = NULL;
	}
	sonde_free(order);
	return is_chosen;
}

static int put_report(struct writer *w, const struct sonde_report *r, enum value value, struct sonde_err *err)
{
	bool *is_chosen = choose(w, r);
	int cause, nr_causes = value == IDLE_SECONDS ? SONDE_NR_IDLE_CAUSES : 1;
	double other;
	uint32_t i;

	if (!is_chosen)
		return sonde_err_nomem(err);
	for (i = 0; i < r->nodes.nr; i++)
		if (is_chosen[i])
			put_node(w, r, i, value);
	for (cause = 0; cause < nr_causes; cause++) {
		other = other_of(r, is_chosen, value, cause);
		if (other > 0)
			put_series(w, r, &families[value], OTHER,
				value == IDLE_SECONDS ? sonde_idle_cause_name((enum sonde_idle_cause)cause) : NULL, other);
	}
	sonde_free(is_chosen);
	return 0;
}

/* Aggregates have the values that compare scopes, single scopes all others. */
static bool is_for(const struct writer *w, const struct sonde_report *r, enum value value)
{
	return r->is_aggregate == (value == IMBALANCE) && !r->is_ranges && sonde_report_is_shown(r, w->o);
}

static int put_family(struct writer *w, enum value value, struct sonde_err *err)
{
	const struct family *f = &families[value];
	size_t i;
	int rc = 0;

	sonde_sink_printf(w->to, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
	for (i = 0; i < w->t->reports.nr && !rc; i++)
		if (is_for(w, &w->t->reports.at[i], value))
			rc = put_report(w, &w->t->reports.at[i], value, err);
	return rc;
}

/* Whether two processes would have series with the same labels: then the process is a label too. */
static bool needs_process(const struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	struct sonde_keyed *by = sonde_calloc(c->scopes.nr + 1, sizeof(*by));
	bool needs_it = false;
	size_t i, nr = 0;

	for (i = 0; i < c->scopes.nr && by; i++) {
		const struct sonde_scope *s = &c->scopes.at[i];
		const struct sonde_process *p = &c->processes.at[s->process];

		if (s->measured == SONDE_MEASURED_KERNEL)
			by[nr++] = (struct sonde_keyed){(uint64_t)s->device << 32 | (p->has_rank ? p->rank : SONDE_NONE), s->process};
	}
	if (!by || !sonde_keysort(by, nr))
		needs_it = true;
	for (i = 1; i < nr && !needs_it; i++)
		needs_it = by[i].key == by[i - 1].key && by[i].index != by[i - 1].index;
	sonde_free(by);
	return needs_it;
}

static bool is_by_gpm(const struct writer *w)
{
	uint32_t sm = w->column[SM_ACTIVE];

	return sm != SONDE_NONE && sonde_str_starts(w->t->columns.at[sm].name, SONDE_METRICS_GPM);
}

int sonde_export_prometheus(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct writer w = {.t = t, .o = o, .to = to, .names_process = needs_process(t)};
	int rc = sonde_figures_init(&w.figures, t, err), value;

	for (value = 0; value < NR_VALUES; value++)
		w.column[value] = SONDE_NONE;
	w.column[SM_ACTIVE] = sonde_tree_role(t, SONDE_ROLE_SM_ACTIVE);
	w.column[TENSOR] = sonde_tree_role(t, SONDE_ROLE_TENSOR);
	w.column[MEMORY] = sonde_tree_role(t, SONDE_ROLE_MEMORY);
	for (value = 0; value < NR_VALUES && !rc; value++)
		rc = put_family(&w, (enum value)value, err);
	sonde_sink_puts(to, "# HELP sonde_info The version of sonde that wrote this.\n# TYPE sonde_info gauge\n");
	sonde_sink_printf(to, "sonde_info{version=\"" SONDE_VERSION "\"%s} 1\n", is_by_gpm(&w) ? ",counters=\"gpm\"" : "");
	sonde_figures_release(&w.figures);
	sonde_buf_release(&w.label);
	return rc;
}
