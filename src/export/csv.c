#include "export/csv.h"

#include "base/escape.h"
#include "catalogue/metrics.h"
#include "export/format.h"
#include "export/table.h"
#include "base/number.h"
#include "tree/entries.h"

#include <math.h>

static void write_number(struct sonde_sink *to, double v)
{
	char text[SONDE_NUMBER_MAX];

	sonde_sink_putc(to, ',');
	if (!isnan(v)) /* a missing number is an empty cell */
		sonde_sink_write(to, text, sonde_number_format(text, v));
}

static void write_text(struct sonde_sink *to, struct sonde_str s)
{
	sonde_sink_putc(to, ',');
	sonde_escape_csv(&to->buf, s);
}

/* A sampled counter has one column more: half of its 95 % interval. */
static void write_metric_heads(struct sonde_sink *to, const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		write_text(to, t->columns.at[i].name);
		if (t->columns.at[i].sampled == SONDE_NONE)
			continue;
		write_text(to, t->columns.at[i].name);
		sonde_sink_puts(to, ".error");
	}
	sonde_sink_putc(to, '\n');
}

static void write_metrics(
	struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_figures *f)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		if (t->columns.at[i].is_text)
			write_text(to, f->at[i].text);
		else
			write_number(to, f->at[i].v);
		if (t->columns.at[i].sampled != SONDE_NONE)
			write_number(to, f->at[i].error);
	}
	sonde_sink_putc(to, '\n');
}

static void write_heads(struct sonde_sink *to, const struct sonde_tree *t)
{
	size_t i;

	sonde_sink_puts(to, "scope,measured,id,name,parent_id,depth,domain,kind");
	for (i = 0; i < sonde_nr_fields; i++)
		sonde_sink_printf(to, ",%s", sonde_fields[i].csv);
	sonde_sink_puts(to, ",limiter,bound,slowest_rank,entry_gpu_median_ms,entry_gpu_p95_ms,entry_gpu_max_ms,"
			    "entry_host_median_ms,entry_host_p95_ms,entry_host_max_ms,"
			    "entry_wall_median_ms,entry_wall_p95_ms,entry_wall_max_ms");
	write_metric_heads(to, t);
}

static void write_scope(struct sonde_sink *to, const struct sonde_report *r)
{
	sonde_escape_csv(&to->buf, r->name);
	sonde_sink_printf(to, ",%s", sonde_measured_name(r->measured));
}

/* Writes how long an entry took: on the GPU, on the host and in all. */
static void write_entries(struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_node *n)
{
	static const enum sonde_entry_time which[] = {SONDE_ENTRY_GPU, SONDE_ENTRY_HOST, SONDE_ENTRY_WALL};
	struct sonde_entry_summary s;
	size_t i;

	to->buf.failed |= !sonde_entry_summary_build(&s, t, r, n);
	for (i = 0; i < sizeof(which) / sizeof(*which); i++) {
		write_number(to, s.of[which[i]].median_ns / 1e6);
		write_number(to, s.of[which[i]].p95_ns / 1e6);
		write_number(to, s.of[which[i]].max_ns / 1e6);
	}
	sonde_entry_summary_release(&s);
}

static void write_region(struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_report *r,
	uint32_t node, struct sonde_figures *f)
{
	const struct sonde_node *n = &r->nodes.at[node];
	const struct sonde_region *region = sonde_node_region(t, n);
	struct sonde_str none = {0};
	size_t i;

	write_scope(to, r);
	write_text(to, region->id);
	write_text(to, sonde_node_label(t, n));
	write_text(to,
		n->parent == SONDE_NONE ? none : sonde_node_region(t, &r->nodes.at[n->parent])->id);
	write_number(to, n->depth);
	write_text(to, sonde_tree_str(t, region->domain));
	sonde_sink_printf(to, ",%s", sonde_region_kind_name(region->kind));
	for (i = 0; i < sonde_nr_fields; i++)
		write_number(to, sonde_field_number(&sonde_fields[i], r, n));
	sonde_tree_values(t, r, SONDE_PART_INCLUSIVE, node, f);
	write_text(to, sonde_str_from(sonde_limiter(t, f)));
	write_text(to, sonde_str_from(sonde_bound(t, f, n)));
	write_text(to, sonde_slowest_rank(t, r, n));
	write_entries(to, t, r, n);
	write_metrics(to, t, f);
}

/* Writes a row that is no region: the totals, or launches outside all regions. */
static void write_special(struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, struct sonde_figures *f)
{
	bool is_total = part == SONDE_PART_TOTAL;
	double launches = is_total ? (double)r->launches : (double)r->outside_launches,
	       time_ns = is_total ? r->time_ns : r->outside_time_ns;
	size_t i;

	write_scope(to, r);
	sonde_sink_puts(to, is_total ? ",,(total in regions),,,,total"
				     : ",,(outside any range),,,,unattributed");
	for (i = 0; i < sonde_nr_fields; i++)
		write_number(to, sonde_field_sum(&sonde_fields[i], launches, time_ns));
	sonde_sink_puts(to, ",,,,,,,,,");
	sonde_tree_values(t, r, part, 0, f);
	write_metrics(to, t, f);
}

static int write_report(struct sonde_sink *to, const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o, struct sonde_figures *f)
{
	struct sonde_export_options all = *o;
	struct sonde_listing l;
	size_t i;

	all.max_regions = SONDE_NO_LIMIT;
	if (sonde_listing_build(&l, t, r, &all, NULL))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < l.nr; i++)
		write_region(to, t, r, l.at[i], f);
	sonde_listing_release(&l);
	write_special(to, t, r, SONDE_PART_TOTAL, f);
	write_special(to, t, r, SONDE_PART_OUTSIDE, f);
	return 0;
}

void sonde_csv__write_regions(struct sonde_sink *to, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_listing *l, struct sonde_figures *f)
{
	size_t i;

	write_heads(to, t);
	for (i = 0; i < l->nr; i++)
		write_region(to, t, r, l->at[i], f);
}

int sonde_export_csv(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_figures f = {0};
	int rc = sonde_figures_init(&f, t, err);
	size_t i;

	write_heads(to, t);
	for (i = 0; i < t->reports.nr && rc == 0; i++)
		if (sonde_report_is_shown(&t->reports.at[i], o) &&
			write_report(to, t, &t->reports.at[i], o, &f))
			rc = sonde_err_nomem(err);
	sonde_figures_release(&f);
	return rc;
}

void sonde_csv__write_kernels(struct sonde_sink *to, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n, struct sonde_figures *f)
{
	uint32_t i;

	sonde_sink_puts(to, "kernel_name,calls,total_ms,mean_ms");
	write_metric_heads(to, t);
	for (i = n->first_kernel; i < n->first_kernel + n->nr_kernels; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];

		sonde_escape_csv(&to->buf, sonde_tree_str(t, k->name));
		write_number(to, (double)k->calls);
		write_number(to, k->time_ns / 1e6);
		write_number(to, sonde_kernel_mean_ms(k));
		sonde_tree_values(t, r, SONDE_PART_KERNEL, i, f);
		write_metrics(to, t, f);
	}
}

/* For programs: name, unit, how it rolls up, `default`, description, with tabs in between. */
static void list_columns(const struct sonde_tree *t, struct sonde_sink *to, bool is_utf8)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		const struct sonde_column *c = &t->columns.at[i];

		sonde_escape_terminal(&to->buf, c->name, is_utf8);
		sonde_sink_putc(to, '\t');
		sonde_escape_terminal(&to->buf, sonde_str_from(c->unit), is_utf8);
		sonde_sink_printf(to, "\t%s\t%s\t%s\n", c->methods[0], c->is_default ? "default" : "",
			sonde_metric_about(c->name));
	}
}

int sonde_export_metric_list(const struct sonde_tree *t, const struct sonde_export_options *o, bool is_table,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const char *const heads[] = {"0metric", "0unit", "2rolls up by", "3in reports", "1what it means", NULL};
	struct sonde_table table = {.is_utf8 = o->is_utf8, .is_coloured = o->is_coloured, .least_name = 48, .least_last = 30};
	struct sonde_buf dropped = {0};
	size_t i;
	int rc;

	if (!is_table) {
		list_columns(t, to, o->is_utf8);
		return to->buf.failed ? sonde_err_nomem(err) : 0;
	}
	sonde_table_heads(&table, heads);
	for (i = 0; i < t->columns.nr; i++) {
		const struct sonde_column *c = &t->columns.at[i];

		sonde_table_text(&table, c->name, SONDE_STYLE_PLAIN);
		sonde_table_text(&table, sonde_str_from(c->unit), SONDE_STYLE_PLAIN);
		sonde_table_words(&table, c->methods[0]);
		sonde_table_words(&table, c->is_default ? "default" : "");
		sonde_table_words(&table, sonde_metric_about(c->name));
	}
	rc = sonde_table_print(&table, to, o->width, &dropped, err);
	if (rc == 0 && dropped.n)
		sonde_sink_printf(to, "no room for: %.*s (--width, or a pipe)\n", SONDE_STR_ARG(sonde_buf_view(&dropped)));
	sonde_buf_release(&dropped);
	sonde_table_release(&table);
	return rc;
}
