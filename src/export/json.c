/* A report as sonde.report/1 (schema/sonde.report-1.schema.json): the document; json_region.c writes a region, rank_tables.c ranks. */
#include "export/format.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "tree/entries.h"
#include "tree/idle.h"
#include "export/json_int.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

/* Escapes each metric name once, because names are printed thousands of times. */
static bool make_members(struct sonde_json_export *x)
{
	size_t nr = x->tree->columns.nr, i;
	struct sonde_buf b = {0};

	x->members = sonde_arena_calloc(&x->arena, nr + 1, sizeof(*x->members));
	for (i = 0; i < nr && x->members; i++) {
		sonde_buf_clear(&b);
		sonde_escape_json_key(&b, x->tree->columns.at[i].name);
		sonde_buf_puts(&b, ": ");
		if (b.n <= SONDE_JSON_MEMBER_MAX)
			x->members[i] = sonde_arena_dup(&x->arena, sonde_buf_view(&b));
	}
	x->arena.failed |= b.failed;
	sonde_buf_release(&b);
	return x->members && !x->arena.failed;
}

int sonde_json__init(struct sonde_json_export *x, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	size_t i, k;
	uint32_t depth = 0;

	*x = (struct sonde_json_export){.w = {.sink = to}, .tree = t, .options = o};
	x->first_ns = sonde_entries_first_ns(t);
	for (i = 0; i < t->reports.nr; i++)
		for (k = 0; k < t->reports.at[i].nodes.nr; k++)
			if (t->reports.at[i].nodes.at[k].depth > depth)
				depth = t->reports.at[i].nodes.at[k].depth;
	x->stack = sonde_calloc((size_t)depth + 1, sizeof(*x->stack));
	if (!x->stack || !make_members(x))
		return sonde_err_nomem(err);
	return sonde_figures_init(&x->figures, t, err);
}

void sonde_json__release(struct sonde_json_export *x)
{
	sonde_figures_release(&x->figures);
	sonde_arena_release(&x->arena);
	sonde_free(x->stack);
}

void sonde_json__write_words(struct sonde_json *w, const char *key, struct sonde_words list)
{
	size_t i;

	sonde_json_array(w, key, true, i, list.nr)
		sonde_json_z(w, NULL, list.at[i]);
}

/* The scope that a report is about: its own, or the only one that an aggregate adds up. */
static const struct sonde_scope *only_scope(
	const struct sonde_tree *t, const struct sonde_report *r)
{
	size_t i;

	for (i = 0; r->is_aggregate && r->nr_scopes == 1 && i < t->reports.nr; i++)
		if (!t->reports.at[i].is_aggregate && t->reports.at[i].measured == r->measured)
			return sonde_report_scope(t, &t->reports.at[i]);
	return sonde_report_scope(t, r);
}

void sonde_json__write_place(struct sonde_json_export *x, const struct sonde_report *r, bool with_process)
{
	const struct sonde_scope *scope = only_scope(x->tree, r);
	char device[32] = "";

	if (scope && scope->device != SONDE_NONE)
		snprintf(device, sizeof(device), "cuda:%u", (unsigned)scope->device);
	sonde_json_z(&x->w, "device", *device ? device : NULL);
	if (with_process)
		sonde_json_number(&x->w, "process_id",
			scope ? (double)x->tree->cells->processes.at[scope->process].pid : NAN);
}

/* The value that all inputs with a value agree on; p NULL = none has one, "mixed" = they differ. */
static struct sonde_str find_common(const struct sonde_cells *r, size_t offset)
{
	struct sonde_str value = {0};
	size_t i;

	for (i = 0; i < r->inputs.nr; i++) {
		const struct sonde_str *s =
			(const struct sonde_str *)((const char *)&r->inputs.at[i] + offset);

		/* Inputs that were added up, and the samples of a run, have no command. */
		if (!s->n || r->inputs.at[i].nr_folded)
			continue;
		if (value.n && !sonde_str_eq(*s, value))
			return SONDE_STR("mixed");
		value = *s;
	}
	return value;
}

static void write_known(struct sonde_json *w, const char *key, struct sonde_str value)
{
	sonde_json_maybe(w, key, value.n ? value : (struct sonde_str){NULL, 0});
}

static void write_input(struct sonde_json *w, const struct sonde_input *in)
{
	char created[32];
	struct tm tm;
	time_t s = (time_t)in->created_s;
	bool is_known;

	sonde_json_open(w, NULL, '{', false);
	sonde_json_str(w, "file", in->path);
	write_known(w, "source", in->source);
	write_known(w, "tool", in->tool);
	write_known(w, "replay_mode", in->replay_mode);
	write_known(w, "command", in->command);
	is_known = in->created_s && gmtime_r(&s, &tm) &&
		   strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
	sonde_json_z(w, "created_at", is_known ? created : NULL);
	sonde_json_close(w, '}');
}

static void write_device(struct sonde_json *w, const struct sonde_cells *r, size_t number)
{
	const struct sonde_device *d = &r->devices.at[number];
	struct sonde_map seen = {0};
	char cc[32];
	size_t i;

	sonde_json_open(w, NULL, '{', false);
	sonde_json_u64(w, "id", d->id);
	write_known(w, "name", d->name);
	snprintf(cc, sizeof(cc), "%u.%u", d->cc_major, d->cc_minor);
	sonde_json_z(w, "cc", d->cc_major ? cc : NULL);
	if (d->process < r->processes.nr)
		sonde_json_u64(w, "process_id", r->processes.at[d->process].pid);
	sonde_json_open(w, "attributes", '{', false);
	for (i = 0; i < d->nr_attributes; i++) {
		bool is_new = true;

		/* A damaged file may have an attribute twice; the first one counts. */
		if (sonde_map_add(&seen, d->attributes[i].name, &is_new) == SONDE_NONE)
			w->sink->buf.failed = true;
		if (!is_new)
			continue;
		if (d->attributes[i].text.p)
			sonde_json_str_str(w, d->attributes[i].name, d->attributes[i].text);
		else
			sonde_json_str_number(w, d->attributes[i].name, d->attributes[i].value);
	}
	sonde_map_release(&seen);
	sonde_json_close(w, '}');
	sonde_json_close(w, '}');
}

/* Writes the devices that scopes ran on; all devices if there is no scope. */
static void write_devices(struct sonde_json_export *x)
{
	const struct sonde_cells *c = x->tree->cells;
	struct sonde_arena arena = {0};
	struct sonde_map used = {0};
	size_t i;

	for (i = 0; i < c->scopes.nr; i++) {
		const uint32_t key[2] = {c->scopes.at[i].process, c->scopes.at[i].device};

		if (!c->scopes.at[i].nr_folded && sonde_map_keep(&used, &arena, SONDE_BYTES(key), NULL) == SONDE_NONE)
			x->w.sink->buf.failed = true;
	}
	sonde_json_array(&x->w, "devices", false, i, c->devices.nr) {
		const uint32_t key[2] = {c->devices.at[i].process, c->devices.at[i].id};

		if (!c->scopes.nr || sonde_map_find(&used, SONDE_BYTES(key)) != SONDE_NONE)
			write_device(&x->w, c, i);
	}
	sonde_map_release(&used);
	sonde_arena_release(&arena);
}

static void write_capture(struct sonde_json_export *x)
{
	const struct sonde_cells *r = x->tree->cells;
	uint64_t nr_folded = 0;
	size_t i;

	sonde_json_open(&x->w, "capture", '{', false);
	write_known(&x->w, "source", find_common(r, offsetof(struct sonde_input, source)));
	write_known(&x->w, "replay_mode", find_common(r, offsetof(struct sonde_input, replay_mode)));
	write_known(&x->w, "tool", find_common(r, offsetof(struct sonde_input, tool)));
	write_known(&x->w, "command", find_common(r, offsetof(struct sonde_input, command)));
	sonde_json_array(&x->w, "files", true, i, r->inputs.nr)
		if (!r->inputs.at[i].nr_folded)
			sonde_json_str(&x->w, NULL, r->inputs.at[i].path);
	sonde_json_array(&x->w, "inputs", false, i, r->inputs.nr) {
		nr_folded += r->inputs.at[i].nr_folded;
		if (!r->inputs.at[i].nr_folded)
			write_input(&x->w, &r->inputs.at[i]);
	}
	if (nr_folded)
		sonde_json_u64(&x->w, "inputs_folded", nr_folded);
	sonde_json_array(&x->w, "processes", false, i, r->processes.nr) {
		const struct sonde_process *p = &r->processes.at[i];

		if (r->inputs.at[p->input].nr_folded)
			continue;
		sonde_json_open(&x->w, NULL, '{', true);
		sonde_json_u64(&x->w, "id", p->pid);
		write_known(&x->w, "host", p->host);
		write_known(&x->w, "name", p->name);
		if (p->has_rank)
			sonde_json_u64(&x->w, "rank", p->rank);
		if (p->has_rank && p->world_size)
			sonde_json_u64(&x->w, "world_size", p->world_size);
		sonde_json_close(&x->w, '}');
	}
	write_devices(x);
	sonde_json_close(&x->w, '}');
}

static void write_launches(struct sonde_json *w, const struct sonde_coverage *c)
{
	sonde_json_u64(w, "launches_total", c->total);
	sonde_json_u64(w, "launches_attributed", c->attributed);
	sonde_json_u64(w, "launches_unattributed", c->outside);
	sonde_json_u64(w, "launches_not_selected", c->not_selected);
	sonde_json_number(w, "gpu_time_ns_total", c->total_ns);
	sonde_json_number(w, "gpu_time_ns_attributed", c->attributed_ns);
	sonde_json_number(w, "gpu_time_ns_unattributed", c->outside_ns);
}

static void write_windows(struct sonde_json_export *x)
{
	struct sonde_windows windows;

	if (!sonde_windows_build(&windows, x->tree))
		return;
	sonde_json_open(&x->w, "windows", '{', true);
	sonde_json_u64(&x->w, "count", windows.nr);
	sonde_json_number(&x->w, "captured_ms", windows.captured_ns / 1e6);
	sonde_json_number(&x->w, "of_ms", windows.total_ns / 1e6);
	if (windows.budget_pct > 0) {
		sonde_json_number(&x->w, "budget_pct", windows.budget_pct);
		sonde_json_number(&x->w, "cost_pct", windows.cost_pct);
	}
	sonde_json_close(&x->w, '}');
}

static void write_torch(struct sonde_json_export *x)
{
	struct sonde_torch_regions torch;

	if (!sonde_torch_regions_build(&torch, x->tree))
		return;
	sonde_json_open(&x->w, "torch", '{', true);
	sonde_json_u64(&x->w, "module_calls", torch.modules);
	sonde_json_u64(&x->w, "graph_launches", torch.graphed);
	sonde_json_u64(&x->w, "graph_launches_at_capture", torch.regained);
	sonde_json_close(&x->w, '}');
}

static void write_coverage(struct sonde_json_export *x)
{
	const struct sonde_cells *l = x->tree->cells;
	struct sonde_coverage kernels, ranges;
	bool has_kernels = sonde_coverage_build(&kernels, x->tree, false);
	bool has_ranges = sonde_coverage_build(&ranges, x->tree, true);
	uint64_t unrecorded = sonde_tree_unrecorded(x->tree);
	size_t i;

	sonde_json_open(&x->w, "coverage", '{', false);
	write_launches(&x->w, has_kernels || !has_ranges ? &kernels : &ranges);
	sonde_json_u64(&x->w, "launches_adopted", l->tally.nr_adopted);
	if (unrecorded)
		sonde_json_u64(&x->w, "launches_without_record", unrecorded);
	write_torch(x);
	write_windows(x);
	sonde_json_open(&x->w, "unattributed_by", '{', true);
	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		sonde_json_u64(
			&x->w, sonde_outside_key((enum sonde_outside)i), l->tally.nr_outside_by[i]);
	sonde_json_close(&x->w, '}');
	sonde_json_each(&x->w, "threads", false, i, l->strays.nr) {
		sonde_json_u64(
			&x->w, "process_id", l->processes.at[l->strays.at[i].process].pid);
		sonde_json_u64(&x->w, "thread", l->strays.at[i].thread);
		sonde_json_u64(&x->w, "launches", l->strays.at[i].launches);
	}
	if (has_kernels && has_ranges) {
		sonde_json_open(&x->w, "ranges", '{', false);
		write_launches(&x->w, &ranges);
		sonde_json_close(&x->w, '}');
	}
	sonde_json_close(&x->w, '}');
}

/* Writes which metrics and sections the report has, as they were chosen. */
static void write_choice(struct sonde_json_export *x)
{
	const struct sonde_choice *c = &x->tree->choice;
	bool is_unnamed = c->metrics.nr == 0 && c->sections.nr == 0;
	size_t i;

	sonde_json_open(&x->w, "metrics", '[', true);
	if (c->takes_all)
		sonde_json_z(&x->w, NULL, "all");
	else if (is_unnamed || c->adds_default)
		sonde_json_z(&x->w, NULL, "default");
	for (i = 0; i < c->metrics.nr; i++)
		sonde_json_z(&x->w, NULL, c->metrics.at[i]);
	sonde_json_close(&x->w, ']');
	sonde_json__write_words(&x->w, "sections", c->sections);
	sonde_json_u64(&x->w, "metrics_left_out", x->tree->nr_left_out);
}

static void write_selection(struct sonde_json_export *x)
{
	const struct sonde_selection *s = &x->tree->cells->selection;
	size_t i;

	sonde_json_open(&x->w, "selection", '{', false);
	sonde_json__write_words(&x->w, "nvtx_include", s->nvtx_include);
	sonde_json__write_words(&x->w, "nvtx_exclude", s->nvtx_exclude);
	sonde_json__write_words(&x->w, "kernel_include", s->kernel_include);
	sonde_json__write_words(&x->w, "kernel_exclude", s->kernel_exclude);
	sonde_json_z(&x->w, "nesting", s->stack_only ? "stack" : "label");
	sonde_json_z(&x->w, "threads", s->own_threads ? "own" : "adopt");
	sonde_json_z(&x->w, "origins", s->no_origins ? "off" : "below");
	write_choice(x);
	sonde_json__write_words(&x->w, "labels", s->labels);
	sonde_json_each(&x->w, "label_rules", false, i, x->tree->cells->label_rules.nr) {
		const struct sonde_label_rule *rule = &x->tree->cells->label_rules.at[i];

		sonde_json_str(&x->w, "rule", rule->text);
		sonde_json_u64(&x->w, "labels_changed", rule->changed);
	}
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_head(struct sonde_json_export *x)
{
	char fingerprint[32];

	if (x->options->baseline)
		sonde_json_z(&x->w, "baseline", x->options->baseline);
	if (x->options->generated_at)
		sonde_json_z(&x->w, "generated_at", x->options->generated_at);
	sonde_json_z(&x->w, "generator", "sonde " SONDE_VERSION);
	snprintf(fingerprint, sizeof(fingerprint), "xxh3:%016" PRIx64, x->tree->fingerprint);
	sonde_json_z(&x->w, "config_fingerprint", fingerprint);
	if (x->options->config)
		sonde_json_z(&x->w, "config", x->options->config);
	write_capture(x);
	write_coverage(x);
	write_selection(x);
}

void sonde_json__write_metric_info(
	struct sonde_json_export *x, const struct sonde_column *c, uint8_t method, uint8_t quality)
{
	sonde_json_open_str(&x->w, c->name, '{', true);
	sonde_json_z(&x->w, "unit", c->unit);
	sonde_json_z(&x->w, "method", c->methods[method]);
	sonde_json_z(&x->w, "quality", sonde_quality_name(quality));
	sonde_json_close(&x->w, '}');
}

static void write_columns(struct sonde_json_export *x)
{
	size_t i;

	sonde_json_open(&x->w, "metric_info", '{', false);
	for (i = 0; i < x->tree->columns.nr; i++)
		sonde_json__write_metric_info(x, &x->tree->columns.at[i], 0, x->tree->columns.at[i].quality);
	sonde_json_close(&x->w, '}');
}

static void write_totals(struct sonde_json_export *x, const struct sonde_report *r)
{
	sonde_json_open(&x->w, "totals", '{', false);
	sonde_json_u64(&x->w, "launches", r->launches);
	sonde_json_number(&x->w, "total_ms", r->time_ns / 1e6);
	sonde_tree_values(x->tree, r, SONDE_PART_TOTAL, 0, &x->figures);
	sonde_json__write_metrics(x);
	sonde_json__write_stalls(x, r, SONDE_PART_TOTAL, 0);
	sonde_json_close(&x->w, '}');
}

static void write_unattributed(struct sonde_json_export *x, const struct sonde_report *r)
{
	sonde_json_open(&x->w, "unattributed", '{', false);
	sonde_json_u64(&x->w, "kernel_count", r->outside_launches);
	sonde_json_number(&x->w, "total_ms", r->outside_time_ns / 1e6);
	sonde_tree_values(x->tree, r, SONDE_PART_OUTSIDE, 0, &x->figures);
	sonde_json__write_metrics(x);
	sonde_json__write_kernels(x, r, r->outside_first_kernel, r->nr_outside_kernels);
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_string(struct sonde_json_export *x, const char *key, uint32_t string)
{
	sonde_json_maybe(&x->w, key, sonde_tree_str(x->tree, string));
}

void sonde_json__write_region_id(struct sonde_json_export *x, const char *key, uint32_t region)
{
	const struct sonde_str none = {NULL, 0};

	sonde_json_maybe(&x->w, key, region == SONDE_NONE ? none : x->tree->cells->regions.at[region].id);
}

/* Writes the longest gaps, if the capture has timestamps. */
static void write_gaps(struct sonde_json_export *x, const struct sonde_report *r)
{
	const struct sonde_gap *at[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(x->tree, r, at), i;

	if (!nr)
		return;
	sonde_json_each(&x->w, "longest_gaps", false, i, nr) {
		sonde_json__write_region_id(x, "region", at[i]->region);
		sonde_json__write_region_id(x, "before", at[i]->before);
		sonde_json_str(&x->w, "scope", x->tree->reports.at[at[i]->scope].name);
		sonde_json_z(&x->w, "cause", sonde_idle_cause_name(at[i]->cause));
		sonde_json_u64(&x->w, "begin_ns", at[i]->begin_ns);
		if (x->first_ns)
			sonde_json_number(&x->w, "begin_ms", ((double)at[i]->begin_ns - (double)x->first_ns) / 1e6);
		sonde_json_number(&x->w, "since_ms", (double)at[i]->since_ns / 1e6);
		sonde_json_number(&x->w, "ms", (double)at[i]->ns / 1e6);
	}
}

static void write_regions(struct sonde_json_export *x, const struct sonde_report *r)
{
	size_t i;

	sonde_json_array(&x->w, "regions", false, i, r->nodes.nr) {
		sonde_json_open(&x->w, NULL, '{', false);
		x->stack[r->nodes.at[i].depth] = (uint32_t)i;
		sonde_json__write_region(x, r, (uint32_t)i);
		sonde_json_close(&x->w, '}');
	}
}

/* Writes the scopes that are added up in this one, each with what is kept of it. */
static void write_folded(struct sonde_json_export *x, const struct sonde_report *r)
{
	const struct sonde_cells *c = x->tree->cells;
	size_t i;

	sonde_json_u64(&x->w, "folded", r->nr_scopes);
	sonde_json_open(&x->w, "folded_scopes", '[', false);
	for (i = 0; i < c->folded_scopes.nr; i++) {
		const struct sonde_folded_scope *f = &c->folded_scopes.at[i];
		struct sonde_str name = {0};

		if (f->scope != r->scope)
			continue;
		x->w.sink->buf.failed |= !sonde_folded_scope_name(&name, f, &x->arena);
		sonde_json_open(&x->w, NULL, '{', true);
		sonde_json_str(&x->w, "scope", name);
		sonde_json_number(&x->w, "work_ms", f->work_ns / 1e6);
		sonde_json_number(&x->w, "comm_ms", f->comm_ns / 1e6);
		sonde_json_close(&x->w, '}');
	}
	sonde_json_close(&x->w, ']');
}

static void write_report(struct sonde_json_export *x, const char *key, const struct sonde_report *r)
{
	sonde_json_open(&x->w, key, '{', false);
	sonde_json_str(&x->w, "scope", r->name);
	sonde_json_z(&x->w, "measured", sonde_measured_name(r->measured));
	sonde_json__write_place(x, r, true);
	if (!r->is_aggregate && r->nr_scopes > 1)
		write_folded(x, r);
	write_totals(x, r);
	write_regions(x, r);
	write_unattributed(x, r);
	write_gaps(x, r);
	sonde_json_close(&x->w, '}');
}

static void write_scopes(struct sonde_json_export *x)
{
	size_t i, nr_omitted = 0;

	sonde_json_array(&x->w, "scopes", false, i, x->tree->reports.nr) {
		const struct sonde_report *r = &x->tree->reports.at[i];

		if (r->is_aggregate)
			continue;
		if (sonde_report_is_shown(r, x->options))
			write_report(x, NULL, r);
		else
			nr_omitted++;
	}
	sonde_json_u64(&x->w, "scopes_omitted", nr_omitted);
}

/* Writes the aggregate over kernels, or over ranges if there is no other; then the other aggregates. */
static void write_aggregates(struct sonde_json_export *x)
{
	const struct sonde_report *first = NULL;
	size_t i;

	for (i = 0; i < x->tree->reports.nr; i++) {
		const struct sonde_report *r = &x->tree->reports.at[i];

		if (!r->is_aggregate || !sonde_report_is_shown(r, x->options))
			continue;
		if (first && x->w.depth == 1)
			sonde_json_open(&x->w, "range_aggregates", '[', false);
		write_report(x, first ? NULL : "aggregate", r);
		first = first ? first : r;
	}
	if (x->w.depth == 2)
		sonde_json_close(&x->w, ']');
	if (!first)
		sonde_json_null(&x->w, "aggregate");
}

/* Writes all notes, and once more the notes about something missing or damaged. */
static void write_notes(struct sonde_json *w, const struct sonde_notes *notes)
{
	size_t i;

	sonde_json_texts(w, "notes", notes->texts.keys, notes->texts.nr, false);
	sonde_json_array(w, "losses", !notes->nr_losses, i, notes->texts.nr)
		if (sonde_notes_is_loss(notes, i))
			sonde_json_str(w, NULL, notes->texts.keys[i]);
}

int sonde_export_json(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_json_export x;
	int rc = sonde_json__init(&x, t, o, to, err);

	if (rc == 0) {
		sonde_json_open(&x.w, NULL, '{', false);
		sonde_json_z(&x.w, "schema", "sonde.report/1");
		sonde_json__write_head(&x);
		sonde_json__write_pc_samples(&x);
		sonde_json__write_ranks(&x);
		sonde_json__write_findings(&x);
		write_columns(&x);
		write_scopes(&x);
		write_aggregates(&x);
		write_notes(&x.w, &t->notes);
		sonde_json_close(&x.w, '}');
		sonde_sink_putc(to, '\n');
	}
	sonde_json__release(&x);
	return rc;
}
