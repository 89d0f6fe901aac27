/* Findings in JSON: all of them, in their order, with the rows that they are based on. */
#include "export/json_int.h"

#include "export/shown_reports.h"
#include "tree/findings.h"

#include <math.h>

static void write_kernel(struct sonde_json_export *x, const char *key, uint32_t kernel)
{
	if (kernel != SONDE_NONE)
		sonde_json_str(&x->w, key, sonde_tree_str(x->tree, kernel));
}

static void write_node(struct sonde_json_export *x, const char *key, uint32_t node)
{
	sonde_json__write_region_id(
		x, key, node == SONDE_NONE ? SONDE_NONE : x->tree->findings->report->nodes.at[node].region);
}

static void write_evidence(struct sonde_json_export *x, const struct sonde_finding *f)
{
	size_t i;

	sonde_json_each(&x->w, "evidence", false, i, f->nr_evidence) {
		const struct sonde_evidence *e = &f->evidence[i];

		write_node(x, "region", e->node);
		write_kernel(x, "kernel", e->kernel);
		sonde_json_str(&x->w, "figure", e->figure);
		sonde_json_number(&x->w, "value", e->value);
		if (!isnan(e->error))
			sonde_json_number(&x->w, "error", e->error);
		sonde_json_z(&x->w, "unit", e->unit);
		sonde_json_z(&x->w, "method", e->method);
	}
}

static void write_finding(struct sonde_json_export *x, const struct sonde_finding *f)
{
	struct sonde_json *w = &x->w;

	sonde_json_open(w, NULL, '{', false);
	sonde_json_z(w, "cause", sonde_causes[f->cause].name);
	write_node(x, "region", f->node);
	sonde_json_str(w, "where", f->where);
	write_kernel(x, "kernel", f->kernel);
	sonde_json_u64(w, "entries", f->entries);
	sonde_json_str(w, "says", f->says);
	sonde_json_str(w, "do", f->action);
	sonde_json_str(w, "next", f->next);
	if (f->change.n)
		sonde_json_str(w, "change", f->change);
	sonde_json_open(w, "cost", '{', true);
	sonde_json_number(w, "step_ms", f->step_ns / 1e6);
	sonde_json_number(w, "run_ms", f->run_ns / 1e6);
	sonde_json_number(w, "share_pct", 100 * f->share);
	sonde_json_z(w, "share_of", f->is_in_step ? "step" : f->cause == SONDE_CAUSE_OUTSIDE || x->tree->findings->is_gpu_time ? "gpu_time" : "ranges");
	sonde_json_close(w, '}');
	sonde_json_open(w, "gain", '{', true);
	sonde_json_number(w, "step_ms", f->gain.ns / 1e6);
	sonde_json_number(w, "low_ms", f->gain.low_ns / 1e6);
	sonde_json_number(w, "high_ms", f->gain.high_ns / 1e6);
	sonde_json_number(w, "of_ms", f->gain.of_ns / 1e6);
	sonde_json_str(w, "from", f->gain.why);
	sonde_json_close(w, '}');
	write_evidence(x, f);
	sonde_json_close(w, '}');
}

void sonde_json__write_findings(struct sonde_json_export *x)
{
	const struct sonde_findings *f = x->tree->findings;
	size_t i;

	if (!f) { /* replayed ranges, or no times: nothing was found */
		sonde_json_open(&x->w, "findings", '[', true);
		sonde_json_close(&x->w, ']');
	}
	if (!f || !sonde_report_is_shown(f->report, x->options))
		return;
	sonde_json_open(&x->w, "step", '{', true);
	sonde_json_str(&x->w, "scope", f->report->name);
	write_node(x, "region", f->step);
	sonde_json_u64(&x->w, "entries", f->nr_entries);
	if (f->nr_left_out)
		sonde_json_u64(&x->w, "entries_left_out", f->nr_left_out);
	sonde_json_number(&x->w, "entry_ms", f->step == SONDE_NONE ? NAN : f->step_ns / 1e6);
	sonde_json_number(&x->w, "between_ms", f->step == SONDE_NONE ? NAN : f->between_ns / 1e6);
	if (!f->is_gpu_time)
		sonde_json_number(&x->w, "ranges_ms", f->run_ns / 1e6);
	sonde_json_close(&x->w, '}');
	sonde_json_array(&x->w, "findings", false, i, f->at.nr)
		write_finding(x, &f->at.at[i]);
}
