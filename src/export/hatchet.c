/*
 * The literal that LLNL Hatchet reads: a list of graphs, each node with a
 * frame, metrics and children. Written from the depth-first list of nodes, so
 * that depth costs nothing.
 */
#include "base/escape.h"
#include "export/field.h"
#include "export/format.h"
#include "base/number.h"
#include "export/weight.h"

#include <math.h>

struct literal {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_report *report;
	struct sonde_figures figures;
	struct sonde_buf name;
	bool has_metric;
};

static void put_metric(struct literal *x, struct sonde_str name, const char *suffix, double v)
{
	char number[SONDE_NUMBER_MAX];

	if (isnan(v)) /* a missing metric is left out */
		return;
	if (x->has_metric)
		sonde_sink_puts(x->to, ", ");
	x->has_metric = true;
	sonde_buf_clear(&x->name);
	sonde_buf_str(&x->name, name);
	sonde_buf_puts(&x->name, suffix);
	sonde_escape_json(&x->to->buf, sonde_buf_view(&x->name));
	sonde_sink_puts(x->to, ": ");
	sonde_sink_write(x->to, number, sonde_number_format(number, v));
}

static void put_figures(struct literal *x, uint32_t node, bool is_inclusive)
{
	const struct sonde_tree *t = x->tree;
	size_t i;

	sonde_tree_values(t, x->report, is_inclusive ? SONDE_PART_INCLUSIVE : SONDE_PART_EXCLUSIVE,
		node, &x->figures);
	for (i = 0; i < t->columns.nr; i++)
		if (!t->columns.at[i].is_text)
			put_metric(x, t->columns.at[i].name, is_inclusive ? " (inc)" : "",
				x->figures.at[i].v);
}

static void put_node(struct literal *x, uint32_t node)
{
	const struct sonde_node *n = &x->report->nodes.at[node];

	sonde_sink_puts(x->to, "{\"frame\": {\"name\": ");
	sonde_buf_clear(&x->name);
	sonde_frame_name(&x->name, x->tree, n);
	sonde_escape_json(&x->to->buf, sonde_buf_view(&x->name));
	sonde_sink_puts(x->to, ", \"type\": \"region\"}, \"metrics\": {");
	x->has_metric = false;
	put_metric(x, SONDE_STR("time (inc)"), "", n->time_ns / 1e6);
	put_metric(x, SONDE_STR("time"), "", n->own_time_ns / 1e6);
	put_metric(x, SONDE_STR("launches (inc)"), "", (double)n->launches);
	put_metric(x, SONDE_STR("launches"), "", (double)n->own_launches);
	put_metric(x, SONDE_STR("host (inc)"), "", n->host_ns / 1e6);
	put_figures(x, node, true);
	put_figures(x, node, false);
	sonde_sink_puts(x->to, "}, \"children\": [");
}

int sonde_export_hatchet(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct literal x = {.to = to, .tree = t, .report = sonde_report_main(t, o)};
	size_t nr = x.report ? x.report->nodes.nr : 0, i;
	int rc = sonde_figures_init(&x.figures, t, err);
	uint32_t depth = 0;

	sonde_sink_putc(to, '[');
	for (i = 0; i < nr && rc == 0; i++) {
		uint32_t next = x.report->nodes.at[i].depth;

		for (; i > 0 && depth + 1 > next; depth--) { /* leave what is over */
			sonde_sink_puts(to, "]}");
			if (depth == 0)
				break;
		}
		if (i > 0 && next <= x.report->nodes.at[i - 1].depth)
			sonde_sink_putc(to, ',');
		sonde_sink_putc(to, '\n');
		put_node(&x, (uint32_t)i);
		depth = next;
	}
	for (i = 0; nr && rc == 0 && i <= depth; i++)
		sonde_sink_puts(to, "]}");
	sonde_sink_puts(to, "]\n");
	if (rc == 0 && x.name.failed)
		rc = sonde_err_nomem(err);
	sonde_buf_release(&x.name);
	sonde_figures_release(&x.figures);
	return rc;
}
