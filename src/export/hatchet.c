/*
 * The literal that LLNL Hatchet reads: a list of graphs; each node has a frame, metrics and children. It is written
 * from the depth-first list of nodes, without recursion, so that depth costs nothing.
 */
#include "base/alloc.h"
#include "base/escape.h"
#include "base/number.h"
#include "export/field.h"
#include "export/format.h"
#include "export/weight.h"

#include <math.h>

/* The numbers of a node: these, then every metric inclusive, then exclusive, then the errors of both. */
static const char *const fixed[] = {
	"time (inc)", "time", "launches (inc)", "launches", "host (inc)", "wall (inc)"};
#define NR_FIXED (sizeof(fixed) / sizeof(*fixed))
enum { INCLUSIVE, EXCLUSIVE, INCLUSIVE_ERROR, EXCLUSIVE_ERROR, NR_KINDS };

struct literal {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_report *report;
	struct sonde_weights host; /* used instead of the time if no GPU was used */
	struct sonde_figures figures;
	struct sonde_buf name;
	double *values; /* of the node that is being read; NaN = missing */
	bool *is_known; /* whether some node has the number */
	size_t nr;	/* length of `values` and `is_known` */
};

static void read_figures(struct literal *x, uint32_t node, enum sonde_part part, int kind)
{
	size_t nr = x->tree->columns.nr, i;
	double *values = x->values + NR_FIXED + (size_t)kind * nr;
	double *errors = x->values + NR_FIXED + (size_t)(kind + INCLUSIVE_ERROR) * nr;

	sonde_tree_values(x->tree, x->report, part, node, &x->figures);
	for (i = 0; i < nr; i++) {
		bool is_text = x->tree->columns.at[i].is_text;

		values[i] = is_text ? NAN : x->figures.at[i].v;
		errors[i] = is_text || isnan(values[i]) ? NAN : x->figures.at[i].error;
	}
}

static void read_node(struct literal *x, uint32_t node)
{
	const struct sonde_node *n = &x->report->nodes.at[node];
	bool is_host = x->host.own;

	x->values[0] = (is_host ? x->host.inclusive[node] : n->time_ns) / 1e6;
	x->values[1] = (is_host ? x->host.own[node] : n->own_time_ns) / 1e6;
	x->values[2] = (double)n->launches;
	x->values[3] = (double)n->own_launches;
	x->values[4] = n->times.host_ns / 1e6;
	x->values[5] = n->times.wall_ns / 1e6;
	read_figures(x, node, SONDE_PART_INCLUSIVE, INCLUSIVE);
	read_figures(x, node, SONDE_PART_EXCLUSIVE, EXCLUSIVE);
}

/* Writes the name of number k, escaped. */
static void put_name(struct literal *x, size_t k)
{
	size_t nr_columns = x->tree->columns.nr;

	sonde_buf_clear(&x->name);
	if (k < NR_FIXED) {
		sonde_buf_puts(&x->name, fixed[k]);
	} else {
		size_t kind = (k - NR_FIXED) / nr_columns;

		sonde_buf_str(&x->name, x->tree->columns.at[(k - NR_FIXED) % nr_columns].name);
		sonde_buf_puts(&x->name, kind >= INCLUSIVE_ERROR ? ".error" : "");
		sonde_buf_puts(&x->name, kind == INCLUSIVE || kind == INCLUSIVE_ERROR ? " (inc)" : "");
	}
	sonde_escape_json(&x->to->buf, sonde_buf_view(&x->name));
}

/* Hatchet only knows metrics that it finds in a root. So every root has all of them, null where it lacks one. */
static void put_metrics(struct literal *x, bool is_root)
{
	char number[SONDE_NUMBER_MAX];
	const char *comma = "";
	size_t k;

	for (k = 0; k < x->nr; k++) {
		if (isnan(x->values[k]) && !(is_root && x->is_known[k]))
			continue;
		sonde_sink_puts(x->to, comma);
		comma = ", ";
		put_name(x, k);
		sonde_sink_puts(x->to, ": ");
		sonde_sink_write(x->to, number, sonde_number_format(number, x->values[k]));
	}
}

static void put_node(struct literal *x, uint32_t node)
{
	const struct sonde_node *n = &x->report->nodes.at[node];

	sonde_sink_puts(x->to, "{\"frame\": {\"name\": ");
	sonde_buf_clear(&x->name);
	sonde_frame_name(&x->name, x->tree, n);
	sonde_escape_json(&x->to->buf, sonde_buf_view(&x->name));
	sonde_sink_puts(x->to, ", \"type\": \"region\"}, \"metrics\": {");
	read_node(x, node);
	put_metrics(x, n->depth == 0);
	sonde_sink_puts(x->to, "}, \"children\": [");
}

static int prepare_literal(struct literal *x, struct sonde_err *err)
{
	size_t nr_nodes = x->report ? x->report->nodes.nr : 0, i, k;
	int rc = sonde_figures_init(&x->figures, x->tree, err);

	x->nr = NR_FIXED + NR_KINDS * x->tree->columns.nr;
	x->values = sonde_calloc(x->nr, sizeof(*x->values));
	x->is_known = sonde_calloc(x->nr, sizeof(*x->is_known));
	if (rc == 0 && (!x->values || !x->is_known))
		rc = sonde_err_nomem(err);
	if (rc == 0 && nr_nodes && sonde_report_times(x->report) == SONDE_TIMES_HOST)
		rc = sonde_weights_build(&x->host, x->tree, x->report, "host", err);
	for (i = 0; i < nr_nodes && rc == 0; i++) {
		read_node(x, (uint32_t)i);
		for (k = 0; k < x->nr; k++)
			x->is_known[k] |= !isnan(x->values[k]);
	}
	return rc;
}

static void release(struct literal *x)
{
	sonde_free(x->values);
	sonde_free(x->is_known);
	sonde_weights_release(&x->host);
	sonde_buf_release(&x->name);
	sonde_figures_release(&x->figures);
}

int sonde_export_hatchet(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct literal x = {.to = to, .tree = t, .report = sonde_report_main(t, o)};
	size_t nr = x.report ? x.report->nodes.nr : 0, i;
	int rc = prepare_literal(&x, err);
	uint32_t depth = 0;

	sonde_sink_putc(to, '[');
	for (i = 0; i < nr && rc == 0; i++) {
		uint32_t next = x.report->nodes.at[i].depth;

		for (; i > 0 && depth + 1 > next; depth--) { /* close the nodes that this one is not inside of */
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
	release(&x);
	return rc;
}
