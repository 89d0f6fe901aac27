/* One region in Markdown: facts, times, metrics, sections, kernels. */
#include "base/escape.h"
#include "base/number.h"
#include "tree/entries.h"
#include "tree/roofline.h"
#include "export/markdown_int.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_KERNELS 10
#define MAX_METRICS 60
#define MAX_STREAMS 8

void sonde_markdown__finish(struct sonde_markdown *m, struct sonde_table *t)
{
	if (t->cells.nr)
		sonde_table_print_markdown(t, m->to);
	m->to->buf.failed |= t->failed;
	sonde_table_release(t);
}

void sonde_markdown__write_more(struct sonde_markdown *m, size_t nr, const char *what)
{
	sonde_sink_printf(m->to, "\n\u2026 and %zu more %s; all of them are in %s.\n", nr, what,
		m->options->more_at ? m->options->more_at : "`--format json`");
}

static void put_figure(
	struct sonde_markdown *m, struct sonde_table *t, const struct sonde_figures *f, uint32_t column)
{
	const struct sonde_column *c = &m->tree->columns.at[column];

	if (c->is_text)
		sonde_table_name(t, f->at[column].text);
	else
		sonde_figure_put(&t->cell, &f->at[column], c->unit, true);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

void sonde_markdown__add_headline_columns(struct sonde_markdown *m, struct sonde_table *t)
{
	size_t i;

	for (i = 0; i < m->tree->nr_headline; i++) {
		sonde_table_name(t, sonde_headline_head(m->tree, i));
		sonde_table_column(t, sonde_buf_view(&t->cell), true, 0);
		sonde_buf_clear(&t->cell);
	}
}

void sonde_markdown__write_headline(struct sonde_markdown *m, struct sonde_table *t)
{
	size_t i;

	for (i = 0; i < m->tree->nr_headline; i++)
		put_figure(m, t, &m->figures, m->tree->headline[i]);
}

void sonde_markdown__write_kernels(
	struct sonde_markdown *m, const struct sonde_report *r, uint32_t first, uint32_t nr)
{
	static const char *const heads[] = {"0kernel", ">0calls", ">0total ms", ">0mean ms", NULL};
	size_t max = m->options->max_kernels ? m->options->max_kernels : MAX_KERNELS, i;
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};

	sonde_table_heads(&t, heads);
	sonde_markdown__add_headline_columns(m, &t);
	for (i = first; i < first + nr && i < first + max; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];
		struct sonde_str name = sonde_kernel_name(m->tree, m->options, k->name);

		if (k->name != SONDE_NONE)
			m->is_named[k->name] = true;
		sonde_table_text(&t, name.n ? name : SONDE_STR("\"\""), SONDE_STYLE_PLAIN);
		sonde_table_number(&t, (double)k->calls, 0, "");
		sonde_table_number(&t, k->time_ns / 1e6, 4, "");
		sonde_table_number(&t, k->time_ns / 1e6 / (double)(k->calls ? k->calls : 1), 4, "");
		sonde_tree_values(m->tree, r, SONDE_PART_KERNEL, (uint32_t)i, &m->figures);
		sonde_markdown__write_headline(m, &t);
	}
	sonde_markdown__finish(m, &t);
	if (nr > max)
		sonde_markdown__write_more(m, nr - max, "kernels");
}

void sonde_markdown__write_legend(struct sonde_markdown *m, unsigned level)
{
	static const char *const heads[] = {"0kernel", "0its whole name", NULL};
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};
	size_t i;

	sonde_table_heads(&t, heads);
	for (i = 0; i < m->tree->cells->strings.nr; i++) {
		struct sonde_str name = sonde_kernel_name(m->tree, m->options, (uint32_t)i);
		struct sonde_str whole = m->tree->cells->strings.keys[i];

		if (!m->is_named[i] || sonde_str_eq(name, whole))
			continue;
		sonde_table_text(&t, name, SONDE_STYLE_PLAIN);
		sonde_table_text(&t, whole, SONDE_STYLE_PLAIN);
	}
	if (t.cells.nr)
		sonde_sink_printf(m->to, "\n%.*s Kernel names\n", (int)level, "######");
	sonde_markdown__finish(m, &t);
}

static void write_occupancy(struct sonde_markdown *m)
{
	double achieved = sonde_figure_of(m->tree, &m->figures, SONDE_ROLE_OCCUPANCY);
	double possible = sonde_figure_of(m->tree, &m->figures, SONDE_ROLE_OCCUPANCY_MOST);

	if (!isnan(achieved) && !isnan(possible))
		sonde_sink_printf(m->to,
			"- occupancy: %.1f %% of %.1f %% possible with these launches\n", achieved,
			possible);
}

static void write_streams(
	struct sonde_markdown *m, const struct sonde_report *r, const struct sonde_node *n)
{
	size_t i;

	if (n->streams < 2 || !r->streams.nr)
		return;
	for (i = 0; i < n->streams && i < MAX_STREAMS; i++) {
		const struct sonde_stream_work *s = &r->streams.at[n->first_stream + i];

		sonde_sink_printf(m->to, "  - stream %" PRIu64 ": busy %.4f ms, %" PRIu64 " %s\n",
			s->stream, s->busy_ns / 1e6, s->launches,
			s->launches == 1 ? "launch" : "launches");
	}
	if (n->streams > MAX_STREAMS)
		sonde_sink_printf(
			m->to, "  - \u2026 and %" PRIu64 " more\n", n->streams - MAX_STREAMS);
}

/* Writes the causes of idle time, the largest first. */
static void write_idle(struct sonde_markdown *m, const struct sonde_node *n)
{
	const struct sonde_times *w = &n->times;
	unsigned told = 0, i, k, most;

	for (k = 0; k < SONDE_NR_IDLE_CAUSES; k++) {
		for (most = SONDE_NR_IDLE_CAUSES, i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
			if (w->idle_by[i] > 0 && !(told >> i & 1) &&
				(most == SONDE_NR_IDLE_CAUSES || w->idle_by[i] > w->idle_by[most]))
				most = i;
		if (most == SONDE_NR_IDLE_CAUSES)
			break;
		told |= 1u << most;
		sonde_sink_printf(m->to, "  - idle %.4f ms: %s\n", w->idle_by[most] / 1e6,
			sonde_idle_cause_words((enum sonde_idle_cause)most));
	}
	if (n->nr_queued)
		sonde_sink_printf(m->to, "- queue: %.4f ms from launch to start, on average\n",
			w->queue_ns / 1e6 / (double)n->nr_queued);
	if (w->comm_ns > 0)
		sonde_sink_printf(m->to, "- communication: %.4f ms, %.4f ms of it not hidden\n",
			w->comm_ns / 1e6, w->exposed_ns / 1e6);
}

static void write_memory(struct sonde_markdown *m, const struct sonde_memory_use *use)
{
	if (isnan(use->allocated) && isnan(use->peak))
		return;
	sonde_sink_puts(m->to, "- GPU memory:");
	if (!isnan(use->allocated))
		sonde_sink_printf(m->to, " %.0f bytes allocated, %.0f freed, %.0f left;",
			use->allocated, use->freed, use->left);
	sonde_sink_printf(m->to, " %.0f held at most\n", use->peak);
}

/* Writes the figures that come from timestamps, on as few lines as they need. */
static void write_times(
	struct sonde_markdown *m, const struct sonde_report *r, const struct sonde_node *n)
{
	if (!isnan(n->times.busy_ns))
		sonde_sink_printf(m->to,
			"- GPU: busy %.4f ms on %" PRIu64 " %s, idle %.4f ms inside entries\n",
			n->times.busy_ns / 1e6, n->streams, n->streams == 1 ? "stream" : "streams",
			n->times.idle_ns / 1e6);
	write_idle(m, n);
	write_memory(m, &n->times.memory);
	write_streams(m, r, n);
	if (n->copies)
		sonde_sink_printf(m->to, "- copies: %" PRIu64 ", %.4f ms, %.0f bytes\n", n->copies,
			n->copy_ns / 1e6, n->copy_bytes);
	if (!isnan(n->times.wall_ns))
		sonde_sink_printf(m->to, "- wall: %s%.4f ms until it and all that it launched had ended\n",
			n->is_open ? "\u2265 " : "", n->times.wall_ns / 1e6);
	if (!isnan(n->times.host_ns))
		sonde_sink_printf(
			m->to, "- host: %s%.4f ms", n->is_open ? "\u2265 " : "", n->times.host_ns / 1e6);
	if (!isnan(n->times.host_ns) && !isnan(n->times.cpu_ns))
		sonde_sink_printf(m->to, ", %.4f ms of it on a CPU", n->times.cpu_ns / 1e6);
	if (!isnan(n->times.host_ns))
		sonde_sink_printf(m->to, "%s%s\n", n->is_open ? "; " : "",
			n->is_open ? sonde_open_words(m->tree) : "");
}

/* Writes how long the entries took. A single entry says nothing that the times above do not. */
static void write_entries(
	struct sonde_markdown *m, const struct sonde_report *r, const struct sonde_node *n)
{
	static const char *const names[] = {
		[SONDE_ENTRY_HOST] = "host", [SONDE_ENTRY_GPU] = "GPU", [SONDE_ENTRY_SPAN] = "span", [SONDE_ENTRY_WALL] = "wall"};
	struct sonde_entry_summary s;
	size_t i;

	m->to->buf.failed |= !sonde_entry_summary_build(&s, m->tree, r, n);
	for (i = 0; i < SONDE_NR_ENTRY_TIMES; i++) {
		const struct sonde_distribution *d = &s.of[i];

		if (d->nr > 1)
			sonde_sink_printf(m->to,
				"- %s per entry: median %.4f ms, p95 %.4f, p99 %.4f, %.4f to %.4f; "
				"mean %.4f, sd %.4f\n",
				names[i], d->median_ns / 1e6, d->p95_ns / 1e6, d->p99_ns / 1e6,
				d->min_ns / 1e6, d->max_ns / 1e6, d->mean_ns / 1e6, d->sd_ns / 1e6);
	}
	sonde_entry_summary_release(&s);
}

static void write_roofline(struct sonde_markdown *m, const struct sonde_roofline *roof)
{
	const char *sign = sonde_roofline_sign(roof), *note = sonde_roofline_note(roof);

	if (isnan(roof->intensity))
		return;
	sonde_buf_clear(&m->cell);
	sonde_number_human(&m->cell, roof->flop_per_s, "FLOP/s");
	sonde_sink_printf(m->to,
		"- arithmetic intensity: %s%.3g FLOP per byte of DRAM traffic, at %s%.*s%s%s%s\n", sign,
		roof->intensity, sign, SONDE_STR_ARG(sonde_buf_view(&m->cell)), note ? " (" : "",
		note ? note : "", note ? ")" : "");
}

/* Writes how long the region's kernels took on each rank, and who was slowest; nothing without two ranks. */
static void write_ranks_line(struct sonde_markdown *m, const struct sonde_node *n)
{
	const struct sonde_rank_spread *s = sonde_ranks_spread(m->tree->ranks, n->region);

	if (!s || s->nr < 2)
		return;
	sonde_sink_printf(m->to, "- kernels without communication on %u ranks: %.4f to %.4f ms, median %.4f ms; slowest ",
		s->nr, s->min_ns / 1e6, s->max_ns / 1e6, s->median_ns / 1e6);
	sonde_markdown__write_name(m, sonde_rank_name(m->tree->ranks, s->slowest));
	sonde_sink_printf(m->to, ", %.1f%% above the others", 100 * (s->max_ns / s->others_ns - 1));
	if (s->is_slow)
		sonde_sink_printf(m->to, " (by its %s)", sonde_slow_cause_name(s->cause));
	sonde_sink_putc(m->to, '\n');
}

static void write_facts(
	struct sonde_markdown *m, const struct sonde_report *r, const struct sonde_node *n)
{
	const struct sonde_region *region = sonde_node_region(m->tree, n);
	const char *limiter = sonde_limiter(m->tree, &m->figures), *bound = sonde_bound(m->tree, &m->figures, n);
	struct sonde_roofline roof = sonde_roofline_of(m->tree, &m->figures, n->time_ns);

	sonde_sink_puts(m->to, "\n- id: ");
	sonde_markdown__write_name(m, region->id);
	if (n->parent != SONDE_NONE) {
		sonde_sink_puts(m->to, "\n- parent: ");
		sonde_markdown__write_name(m, sonde_node_region(m->tree, &r->nodes.at[n->parent])->id);
	}
	/* A report without times knows a range by its launches only. */
	sonde_sink_printf(m->to, "\n- kind: %s, entered %" PRIu64 " %s%s\n",
		sonde_region_kind_words(region->kind), n->instances,
		n->instances == 1 ? "time" : "times",
		m->tree->cells->has_range_times ? "" : " with launches");
	sonde_sink_printf(m->to, "- launches: %" PRIu64 ", %" PRIu64 " of them its own\n",
		n->launches, n->own_launches);
	if (!isnan(n->time_ns))
		sonde_sink_printf(m->to, "- time: %.4f ms", n->time_ns / 1e6);
	if (!isnan(n->time_ns) && !isnan(n->own_time_ns))
		sonde_sink_printf(m->to, ", %.4f ms of it its own", n->own_time_ns / 1e6);
	sonde_sink_puts(m->to, isnan(n->time_ns) ? "" : "\n");
	if (r->is_aggregate && n->nr_scopes > 1 && !isnan(n->scope_median_ns))
		sonde_sink_printf(m->to,
			"- over %u scopes: %.4f to %.4f ms, median %.4f ms, imbalance %.3f\n",
			n->nr_scopes, n->scope_min_ns / 1e6, n->scope_max_ns / 1e6,
			n->scope_median_ns / 1e6, n->imbalance);
	if (r->is_aggregate && !r->is_ranges)
		write_ranks_line(m, n);
	write_times(m, r, n);
	write_entries(m, r, n);
	if (bound)
		sonde_sink_printf(m->to, "- bound: %s\n", bound);
	if (limiter && limiter != bound)
		sonde_sink_printf(m->to, "- limiter of its kernels: %s\n", limiter);
	write_occupancy(m);
	write_roofline(m, &roof);
	if (n->launches == 0)
		sonde_sink_printf(m->to, "- %s\n", sonde_no_launch(m->tree));
}

static bool has_own_unit(const char *unit)
{
	return strcmp(unit, "ns") == 0 || strncmp(unit, "byte", 4) == 0;
}

static struct sonde_table metric_table(void)
{
	static const char *const heads[] = {"0metric", ">0incl", ">0excl", "0unit", "0how", NULL};
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};

	sonde_table_heads(&t, heads);
	return t;
}

static void put_metric(struct sonde_markdown *m, struct sonde_table *t, uint32_t column)
{
	const struct sonde_column *c = &m->tree->columns.at[column];
	const struct sonde_figure *f = &m->figures.at[column];

	sonde_table_text(t, c->name, SONDE_STYLE_PLAIN);
	put_figure(m, t, &m->figures, column);
	put_figure(m, t, &m->own, column);
	/* Times and bytes are printed with their unit. */
	sonde_table_words(t, has_own_unit(c->unit) ? "" : c->unit);
	sonde_buf_printf(&t->cell, "%s, ", c->methods[f->method]);
	sonde_table_words(t, sonde_quality_name(f->quality));
}

static bool is_in_section(const struct sonde_tree *t, size_t column)
{
	size_t i, k;

	for (i = 0; i < t->sections.nr; i++)
		for (k = 0; k < t->sections.at[i].columns.nr; k++)
			if (t->sections.at[i].columns.at[k] == column)
				return true;
	return false;
}

/* Writes the metrics that no section shows. */
static void write_metrics(struct sonde_markdown *m)
{
	struct sonde_table t = metric_table();
	size_t i, nr = 0;

	for (i = 0; i < m->tree->columns.nr; i++) {
		if (m->tree->columns.at[i].is_chart || is_in_section(m->tree, i))
			continue;
		if (nr < MAX_METRICS)
			put_metric(m, &t, (uint32_t)i);
		nr++;
	}
	sonde_markdown__finish(m, &t);
	if (nr > MAX_METRICS)
		sonde_markdown__write_more(m, nr - MAX_METRICS, "metrics");
}

static void write_sections(struct sonde_markdown *m)
{
	size_t i, k;

	for (i = 0; i < m->tree->sections.nr; i++) {
		const struct sonde_chosen_section *s = &m->tree->sections.at[i];
		struct sonde_table t = metric_table();

		sonde_sink_puts(m->to, "\n**");
		sonde_markdown__write_name(m, s->name.n ? s->name : s->id);
		sonde_sink_puts(m->to, "**\n");
		for (k = 0; k < s->columns.nr; k++)
			if (!m->tree->columns.at[s->columns.at[k]].is_chart)
				put_metric(m, &t, s->columns.at[k]);
		sonde_markdown__finish(m, &t);
	}
}

void sonde_markdown__write_region(
	struct sonde_markdown *m, const struct sonde_report *r, uint32_t node, unsigned level)
{
	const struct sonde_node *n = &r->nodes.at[node];

	sonde_sink_printf(m->to, "\n%.*s ", (int)level, "######");
	sonde_markdown__write_name(m, sonde_node_label(m->tree, n));
	sonde_sink_putc(m->to, '\n');
	sonde_tree_values(m->tree, r, SONDE_PART_INCLUSIVE, node, &m->figures);
	sonde_tree_values(m->tree, r, SONDE_PART_EXCLUSIVE, node, &m->own);
	write_facts(m, r, n);
	write_sections(m);
	write_metrics(m);
	if (n->nr_kernels)
		sonde_markdown__write_kernels(m, r, n->first_kernel, n->nr_kernels);
}
