/* A comparison as sonde.diff/1 (schema/sonde.diff-1.schema.json). */
#include "export/diff_shared.h"

#include "export/json_int.h"

#include <math.h>

static void write_side(struct sonde_json *w, const char *key, struct sonde_words inputs,
	uint32_t nr_runs, double total_ns)
{
	sonde_json_open(w, key, '{', false);
	sonde_json__write_words(w, "inputs", inputs);
	sonde_json_u64(w, "runs", nr_runs);
	sonde_json_number(w, "total_ms", total_ns / 1e6);
	sonde_json_close(w, '}');
}

static void write_notes(struct sonde_json *w, const char *key, const struct sonde_notes *notes)
{
	sonde_json_texts(w, key, notes->texts.keys, notes->texts.nr, false);
}

static void write_half(struct sonde_json *w, const char *key, const struct sonde_diff_half *h)
{
	if (!h->is_there) {
		sonde_json_null(w, key);
		return;
	}
	sonde_json_open(w, key, '{', true);
	sonde_json_number(w, "entries", h->entries);
	sonde_json_u64(w, "samples", h->nr_values);
	sonde_json_u64(w, "runs", h->nr_runs);
	sonde_json_number(w, "median_ms", h->median_ns / 1e6);
	sonde_json_number(w, "total_ms", h->total_ns / 1e6);
	sonde_json_number(w, "launches", h->launches);
	sonde_json_number(w, "launches_per_entry", h->entries > 0 ? h->launches / h->entries : NAN);
	sonde_json_close(w, '}');
}

static void write_kernels(
	struct sonde_json *w, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t i;

	sonde_json_each(w, "kernels", r->nr_kernels == 0, i, r->nr_kernels) {
		const struct sonde_diff_kernel *k = &d->kernels.at[r->first_kernel + i];

		sonde_json_str(w, "name", k->name);
		sonde_json_number(w, "base_ms", k->base_ns / 1e6);
		sonde_json_number(w, "new_ms", k->new_ns / 1e6);
		sonde_json_number(w, "base_calls", k->base_calls);
		sonde_json_number(w, "new_calls", k->new_calls);
	}
}

static void write_figure(struct sonde_json *w, const char *key, const struct sonde_figure *f)
{
	if (isnan(f->v)) {
		sonde_json_null(w, key);
		return;
	}
	sonde_json_open(w, key, '{', true);
	sonde_json_number(w, "value", f->v);
	sonde_json_number(w, "low", f->low);
	sonde_json_number(w, "high", f->high);
	sonde_json_z(w, "quality", sonde_quality_name(f->quality));
	sonde_json_close(w, '}');
}

static void write_metrics(
	struct sonde_json *w, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	size_t region = (size_t)(r - d->regions.at), i;

	sonde_json_each(w, "metrics", d->columns.nr == 0, i, d->columns.nr) {
		const struct sonde_diff_metric *m = &d->metrics.at[region * d->columns.nr + i];

		sonde_json_str(w, "name", d->columns.at[i].name);
		sonde_json_z(w, "unit", d->columns.at[i].unit);
		write_figure(w, "base", &m->base);
		write_figure(w, "new", &m->new_figure);
		sonde_json_number(w, "q", m->q);
		sonde_json_z(w, "change", sonde_metric_change_name(m->change));
	}
}

static void write_interval(struct sonde_json *w, double low, double high)
{
	if (!(low > 0) || isinf(high)) {
		sonde_json_null(w, "ci");
		return;
	}
	sonde_json_open(w, "ci", '[', true);
	sonde_json_number(w, NULL, low);
	sonde_json_number(w, NULL, high);
	sonde_json_close(w, ']');
}

/* Writes every time that was compared, the one of the region's own verdict included. */
static void write_times(struct sonde_json *w, const struct sonde_diff_region *r)
{
	static const unsigned order[] = {SONDE_ENTRY_WALL, SONDE_ENTRY_GPU, SONDE_ENTRY_HOST, SONDE_DIFF_ITERATION};
	size_t i;

	sonde_json_open(w, "times", '{', false);
	for (i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct sonde_diff_time *t = &r->times[order[i]];

		if (!t->is_known) {
			sonde_json_null(w, sonde_diff_time_name(order[i]));
			continue;
		}
		sonde_json_open(w, sonde_diff_time_name(order[i]), '{', true);
		sonde_json_z(w, "verdict", sonde_verdict_name(t->verdict));
		sonde_json_number(w, "ratio", t->ratio);
		write_interval(w, t->low, t->high);
		sonde_json_number(w, "q", t->q);
		sonde_json_number(w, "base_ms", t->base_ns / 1e6);
		sonde_json_number(w, "new_ms", t->new_ns / 1e6);
		sonde_json_close(w, '}');
	}
	sonde_json_close(w, '}');
}

static void write_statistics(struct sonde_json *w, const struct sonde_diff_region *r)
{
	sonde_json_number(w, "ratio", r->ratio);
	write_interval(w, r->low, r->high);
	sonde_json_number(w, "p", r->p);
	sonde_json_number(w, "q", r->q);
	sonde_json_number(w, "needed_entries", r->needs_runs ? NAN : r->needed);
	sonde_json_number(w, "needed_runs", r->needs_runs ? r->needed : NAN);
}

static void write_region(
	struct sonde_json *w, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	sonde_json_open(w, NULL, '{', false);
	sonde_json_str(w, "id", r->path);
	sonde_json_maybe(w, "scope", r->scope);
	sonde_json_maybe(w, "parent_id",
		r->parent == SONDE_NONE ? (struct sonde_str){NULL, 0}
					: d->regions.at[r->parent].path);
	sonde_json_z(w, "kind", sonde_region_kind_name(r->kind));
	sonde_json_maybe(w, "domain", r->domain);
	sonde_json_z(w, "verdict", sonde_verdict_name(r->verdict));
	sonde_json_maybe(w, "renamed",
		r->twin == SONDE_NONE ? (struct sonde_str){NULL, 0} : d->regions.at[r->twin].path);
	sonde_json_z(w, "likeness", sonde_likeness_name(r->likeness));
	sonde_json_z(w, "time", sonde_diff_time_name(r->time));
	sonde_json_bool(w, "step", r->is_step);
	sonde_json_bool(w, "minor", r->is_minor);
	sonde_json_bool(w, "gpu_on_one_side", r->is_half_gpu);
	write_statistics(w, r);
	sonde_json_z(w, "cause", sonde_diff_cause_name(r));
	sonde_json_z(w, "gate", sonde_gate_name(r->gate));
	sonde_json_number(w, "limit", r->limit);
	sonde_json_z(w, "limit_time", isnan(r->limit) ? NULL : sonde_diff_time_name(r->limit_time));
	write_half(w, "base", &r->base);
	write_half(w, "new", &r->new_half);
	write_times(w, r);
	write_metrics(w, d, r);
	write_kernels(w, d, r);
	sonde_json_close(w, '}');
}

static void write_totals(struct sonde_json *w, const struct sonde_diff *d)
{
	size_t i;

	sonde_json_open(w, "totals", '{', false);
	for (i = 0; i < SONDE_NR_VERDICTS; i++)
		sonde_json_u64(w, sonde_verdict_name(i), d->nr_by_verdict[i]);
	sonde_json_number(w, "ratio", d->ratio);
	sonde_json_z(w, "gate", sonde_gate_name(d->gate));
	sonde_json_close(w, '}');
}

static void write_texts(struct sonde_json *w, const struct sonde_notes *notes)
{
	size_t i;

	for (i = 0; i < notes->texts.nr; i++)
		sonde_json_str(w, NULL, notes->texts.keys[i]);
}

/* Writes how the gate ended, and all that decides it besides the regions. */
static void write_gate(struct sonde_json *w, const struct sonde_diff *d)
{
	size_t i;

	if (!d->options.nr_limits) {
		sonde_json_null(w, "gate");
		return;
	}
	sonde_json_open(w, "gate", '{', false);
	sonde_json_z(w, "verdict", sonde_gate_name(d->gate));
	sonde_json_u64(w, "exit_status", (uint64_t)sonde_diff_status(d));
	sonde_json_open(w, "reasons", '[', false);
	write_texts(w, &d->gate_regions);
	write_texts(w, &d->gate_reasons);
	sonde_json_close(w, ']');
	sonde_json_each(w, "limits", false, i, d->options.nr_limits) {
		const struct sonde_diff_limit *l = &d->options.limits[i];

		sonde_json_maybe(w, "glob", l->glob.n ? l->glob : (struct sonde_str){NULL, 0});
		sonde_json_number(w, "above", l->above);
		sonde_json_z(w, "time", l->has_time ? sonde_diff_time_name(l->time) : NULL);
	}
	sonde_json_bool(w, "allow_insufficient", d->options.allows_insufficient);
	sonde_json_bool(w, "partial_inputs", d->options.takes_partial);
	sonde_json_bool(w, "single", d->options.accepts_single);
	sonde_json_close(w, '}');
}

/*
 * Writes the differences between the sides, then the notes of each side; notes about something missing are written
 * again.
 */
static void write_side_notes(struct sonde_json *w, const struct sonde_diff *d)
{
	struct sonde_diff_note n;
	struct sonde_buf line = {0};
	size_t at = 0, i;

	sonde_json_open(w, "notes", '[', false);
	for (i = 0; i < d->warnings.texts.nr; i++)
		sonde_json_str(w, NULL, d->warnings.texts.keys[i]);
	while (sonde_diff_out__next_note(d, &at, &n)) {
		sonde_buf_clear(&line);
		sonde_buf_printf(&line, "%s: %.*s", n.side, SONDE_STR_ARG(n.text));
		sonde_json_str(w, NULL, sonde_buf_view(&line));
	}
	sonde_json_close(w, ']');
	w->sink->buf.failed |= line.failed;
	sonde_buf_release(&line);
	sonde_json_open(w, "losses", '[', !d->base_notes.nr_losses && !d->new_notes.nr_losses);
	for (at = 0; sonde_diff_out__next_note(d, &at, &n);) {
		if (!n.is_loss)
			continue;
		sonde_json_open(w, NULL, '{', true);
		sonde_json_z(w, "side", n.side);
		sonde_json_str(w, "text", n.text);
		sonde_json_close(w, '}');
	}
	sonde_json_close(w, ']');
}

int sonde_export_diff_json(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_json w = {.sink = to};
	size_t i;

	(void)err;
	sonde_json_open(&w, NULL, '{', false);
	sonde_json_z(&w, "schema", "sonde.diff/1");
	sonde_json_z(&w, "generator", "sonde " SONDE_VERSION);
	write_side(&w, "base", o->base, d->nr_base_runs, d->base_total_ns);
	write_side(&w, "new", o->new_side, d->nr_new_runs, d->new_total_ns);
	sonde_json_open(&w, "comparable", '{', false);
	sonde_json_bool(&w, "ok", d->is_comparable);
	write_notes(&w, "reasons", &d->reasons);
	sonde_json_close(&w, '}');
	sonde_json_number(&w, "min_effect", d->options.min_effect);
	write_notes(&w, "summary", &d->sentences);
	sonde_json_array(&w, "regions", false, i, d->regions.nr)
		write_region(&w, d, &d->regions.at[i]);
	write_totals(&w, d);
	write_gate(&w, d);
	write_side_notes(&w, d);
	sonde_json_close(&w, '}');
	sonde_sink_putc(to, '\n');
	return 0;
}
