#include "export/svg_int.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "export/field.h"
#include "base/number.h"
#include "export/weight.h"

#include <string.h>

#define MARGIN	  12.0
#define ROW	  22.0
#define HEAD	  44.0
#define LEAST	  0.5 /* narrower boxes are left out */
#define LETTER	  6.4 /* wide, about */
#define MAX_DEPTH 60u

struct icicle {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_report *report;
	struct sonde_weights weights;
	struct sonde_figures figures;
	struct sonde_buf text;
	double *left, *width, *next; /* by node, in pixels; `next`: where its next child goes */
	uint32_t *row;
	uint32_t nr_rows;
	bool has_limiter;
};

static const char *colour(const char *limiter)
{
	if (!limiter)
		return "#a9c5df";
	return strcmp(limiter, "compute") == 0	? "#0072b2"
	       : strcmp(limiter, "memory") == 0 ? "#e69f00"
						: "#9aa0a6";
}

/* A child may be more than its parent where values are negative or beyond all numbers. */
static double bounded(double width, double room)
{
	return !(width > 0 && room > 0) ? 0 : width < room ? width : room;
}

/* Start/end ranges overlap: each has a row of its own below the trees. */
static void place(struct icicle *c)
{
	const struct sonde_node *nodes = c->report->nodes.at;
	double full = SONDE_SVG_WIDTH - 2 * MARGIN, x = MARGIN, most = c->weights.total;
	uint32_t nr_apart = 0, deepest = 0;
	size_t i;

	for (i = 0; i < c->report->nodes.nr; i++) {
		bool is_apart = sonde_node_region(c->tree, &nodes[i])->kind == SONDE_START_END;

		if (is_apart && c->weights.inclusive[i] > most)
			most = c->weights.inclusive[i];
		if (!is_apart && nodes[i].depth > deepest && nodes[i].depth < MAX_DEPTH)
			deepest = nodes[i].depth;
	}
	for (i = 0; i < c->report->nodes.nr && most > 0; i++) {
		uint32_t parent = nodes[i].parent;
		bool is_apart = sonde_node_region(c->tree, &nodes[i])->kind == SONDE_START_END;
		double *at = is_apart ? NULL : parent == SONDE_NONE ? &x : &c->next[parent];

		c->left[i] = at ? *at : MARGIN;
		c->width[i] = bounded(full * c->weights.inclusive[i] / most,
			(parent == SONDE_NONE || is_apart ? MARGIN + full : c->left[parent] + c->width[parent]) -
				c->left[i]);
		c->next[i] = c->left[i];
		if (at)
			*at += c->width[i];
		c->row[i] = is_apart ? deepest + 1 + nr_apart++ : nodes[i].depth;
	}
	c->nr_rows = c->report->nodes.nr ? deepest + 1 + nr_apart : 0;
}

static void write_box_text(struct icicle *c, size_t node, double y, const char *limiter)
{
	size_t letters = c->width[node] > 8 ? (size_t)((c->width[node] - 8) / LETTER) : 0;
	struct sonde_str label;

	if (letters < 3)
		return;
	sonde_buf_clear(&c->text);
	sonde_escape_terminal(
		&c->text, sonde_node_label(c->tree, &c->report->nodes.at[node]), true);
	label = sonde_width_cut(sonde_buf_view(&c->text), letters);
	if (limiter && strcmp(limiter, "compute") == 0)
		sonde_sink_puts(c->to, "<g fill=\"#ffffff\">");
	sonde_svg__write_text(c->to, c->left[node] + 4, y + 15, "start", label);
	if (limiter && strcmp(limiter, "compute") == 0)
		sonde_sink_puts(c->to, "</g>");
}

static void write_box(struct icicle *c, size_t node)
{
	const struct sonde_node *n = &c->report->nodes.at[node];
	double y = HEAD + c->row[node] * ROW;
	const char *limiter;

	if (c->width[node] < LEAST || c->row[node] >= c->nr_rows)
		return;
	sonde_tree_values(c->tree, c->report, SONDE_PART_INCLUSIVE, (uint32_t)node, &c->figures);
	limiter = sonde_limiter(c->tree, &c->figures);
	c->has_limiter = c->has_limiter || limiter;
	sonde_sink_printf(c->to, "<g><title>");
	sonde_buf_clear(&c->text);
	sonde_frame_name(&c->text, c->tree, n);
	sonde_buf_puts(&c->text, ": ");
	sonde_number_human(&c->text, c->weights.inclusive[node], c->weights.unit);
	sonde_buf_puts(&c->text, limiter ? ", limiter: " : "");
	sonde_buf_puts(&c->text, limiter ? limiter : "");
	sonde_escape_xml(&c->to->buf, sonde_buf_view(&c->text));
	sonde_sink_printf(c->to,
		"</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\" "
		"stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
		c->left[node], y, c->width[node], ROW - 1, colour(limiter));
	write_box_text(c, node, y, limiter);
	sonde_sink_puts(c->to, "</g>\n");
}

static void write_head(struct icicle *c)
{
	static const char *const limiters[] = {"compute", "memory", "latency"};
	size_t i;

	sonde_buf_clear(&c->text);
	sonde_buf_puts(&c->text, "regions by ");
	sonde_buf_str(&c->text, c->weights.name);
	sonde_buf_puts(&c->text, ", ");
	sonde_number_human(&c->text, c->weights.total, c->weights.unit);
	sonde_buf_puts(&c->text, " in all");
	sonde_svg__write_text(c->to, MARGIN, 24, "start", sonde_buf_view(&c->text));
	for (i = 0; i < 3 && c->has_limiter; i++) {
		double x = SONDE_SVG_WIDTH - 240 + 80 * (double)i;

		sonde_sink_printf(c->to,
			"<rect x=\"%.0f\" y=\"14\" width=\"11\" height=\"11\" fill=\"%s\"/>", x,
			colour(limiters[i]));
		sonde_svg__write_text(c->to, x + 15, 24, "start", sonde_str_from(limiters[i]));
	}
}

static int prepare(struct icicle *c, const char *by, struct sonde_err *err)
{
	size_t nr = c->report->nodes.nr + 1;
	int rc = sonde_weights_build(&c->weights, c->tree, c->report, by, err);

	if (rc == 0)
		rc = sonde_figures_init(&c->figures, c->tree, err);
	c->left = sonde_calloc(nr * 3, sizeof(*c->left));
	c->row = sonde_calloc(nr, sizeof(*c->row));
	if (rc == 0 && (!c->left || !c->row))
		rc = sonde_err_nomem(err);
	if (rc)
		return rc;
	c->width = c->left + nr;
	c->next = c->width + nr;
	return 0;
}

int sonde_svg__write_icicle(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	struct icicle c = {.to = to, .tree = t, .report = sonde_report_main(t, o)};
	size_t i;
	int rc;

	if (!c.report || c.report->nodes.nr == 0)
		return 0;
	rc = prepare(&c, o->by, err);
	if (rc == 0) {
		place(&c);
		for (i = 0; i < c.report->nodes.nr; i++)
			write_box(&c, i);
		write_head(&c);
		*height = (unsigned)(HEAD + c.nr_rows * ROW + MARGIN);
		rc = c.text.failed ? sonde_err_nomem(err) : 0;
	}
	sonde_weights_release(&c.weights);
	sonde_figures_release(&c.figures);
	sonde_buf_release(&c.text);
	sonde_free(c.left);
	sonde_free(c.row);
	return rc;
}
