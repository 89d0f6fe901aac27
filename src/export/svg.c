/*
 * The chart of regions and the roofline as static SVG, for documents and
 * viewers without scripts: the same numbers and colours as in the HTML page.
 */
#include "export/format.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/number.h"
#include "tree/roofline.h"
#include "export/export.h"
#include "export/field.h"
#include "export/weight.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000

/* Writes text at a place, escaped. `anchor` is "start", "middle" or "end". */
static void put_text(
	struct sonde_sink *to, double x, double y, const char *anchor, struct sonde_str text)
{
	sonde_sink_printf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	sonde_escape_xml(&to->buf, text);
	sonde_sink_puts(to, "</text>\n");
}

#define MARGIN	  12.0
#define ROW	  22.0
#define HEAD	  44.0
#define LEAST	  0.5 /* narrower boxes are left out */
#define LETTER	  6.4 /* width of a letter, about */
#define MAX_DEPTH 60u

struct icicle {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_report *report;
	struct sonde_weights weights;
	struct sonde_figures figures;
	struct sonde_buf text;
	double *left, *width, *next; /* by node, in pixels; `next` is where its next child goes */
	uint32_t *row;
	uint32_t nr_rows;
	uint32_t bounds; /* the words that boxes are coloured by, one bit each */
};

static const struct sonde_bound_word *look_of(const char *bound)
{
	static const struct sonde_bound_word unknown = {"", "#a9c5df", false, SONDE_BOUND_OTHER};
	size_t n = sonde_bound_number(bound);

	return n < SONDE_NR_BOUNDS ? &sonde_bound_words[n] : &unknown;
}

/*
 * The width of a box, bounded by its parent: values that are negative or beyond all numbers could make a child wider.
 */
static double bounded(double width, double room)
{
	return !(width > 0 && room > 0) ? 0 : width < room ? width : room;
}

/* Places the boxes. Start/end ranges overlap, so each has a row of its own below the trees. */
static void place_nodes(struct icicle *c)
{
	const struct sonde_node *nodes = c->report->nodes.at;
	double full = WIDTH - 2 * MARGIN, x = MARGIN, most = c->weights.total;
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

static void write_box_text(struct icicle *c, size_t node, double y, bool is_dark)
{
	size_t letters = c->width[node] > 8 ? (size_t)((c->width[node] - 8) / LETTER) : 0;
	struct sonde_str label;

	if (letters < 3)
		return;
	sonde_buf_clear(&c->text);
	sonde_escape_terminal(
		&c->text, sonde_node_label(c->tree, &c->report->nodes.at[node]), true);
	label = sonde_width_cut(sonde_buf_view(&c->text), letters);
	if (is_dark)
		sonde_sink_puts(c->to, "<g fill=\"#ffffff\">");
	put_text(c->to, c->left[node] + 4, y + 15, "start", label);
	if (is_dark)
		sonde_sink_puts(c->to, "</g>");
}

static void write_box(struct icicle *c, size_t node)
{
	const struct sonde_node *n = &c->report->nodes.at[node];
	double y = HEAD + c->row[node] * ROW;
	const char *bound;

	if (c->width[node] < LEAST || c->row[node] >= c->nr_rows)
		return;
	sonde_tree_values(c->tree, c->report, SONDE_PART_INCLUSIVE, (uint32_t)node, &c->figures);
	bound = sonde_bound(c->tree, &c->figures, n);
	if (bound)
		c->bounds |= UINT32_C(1) << sonde_bound_number(bound);
	sonde_sink_printf(c->to, "<g><title>");
	sonde_buf_clear(&c->text);
	sonde_frame_name(&c->text, c->tree, n);
	sonde_buf_puts(&c->text, ": ");
	sonde_number_human(&c->text, c->weights.inclusive[node], c->weights.unit);
	sonde_buf_puts(&c->text, bound ? ", bound: " : "");
	sonde_buf_puts(&c->text, bound ? bound : "");
	sonde_escape_xml(&c->to->buf, sonde_buf_view(&c->text));
	sonde_sink_printf(c->to,
		"</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\" "
		"stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
		c->left[node], y, c->width[node], ROW - 1, look_of(bound)->colour);
	write_box_text(c, node, y, look_of(bound)->is_dark);
	sonde_sink_puts(c->to, "</g>\n");
}

static void write_icicle_head(struct icicle *c)
{
	double x = WIDTH;
	size_t i;

	sonde_buf_clear(&c->text);
	sonde_buf_puts(&c->text, "regions by ");
	sonde_buf_str(&c->text, c->weights.name);
	sonde_buf_puts(&c->text, ", ");
	sonde_number_human(&c->text, c->weights.total, c->weights.unit);
	sonde_buf_puts(&c->text, " in all");
	put_text(c->to, MARGIN, 24, "start", sonde_buf_view(&c->text));
	for (i = SONDE_NR_BOUNDS; i-- > 0;) {
		if (!(c->bounds >> i & 1))
			continue;
		x -= 80;
		sonde_sink_printf(c->to,
			"<rect x=\"%.0f\" y=\"14\" width=\"11\" height=\"11\" fill=\"%s\"/>", x,
			sonde_bound_words[i].colour);
		put_text(c->to, x + 15, 24, "start", sonde_str_from(sonde_bound_words[i].word));
	}
}

static int prepare_icicle(struct icicle *c, const char *by, struct sonde_err *err)
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

/* Draws a group and sets `*height`; does neither if there is nothing to draw. */
static int draw_icicle(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	struct icicle c = {.to = to, .tree = t, .report = sonde_report_main(t, o)};
	size_t i;
	int rc;

	if (!c.report || c.report->nodes.nr == 0)
		return 0;
	rc = prepare_icicle(&c, o->by, err);
	if (rc == 0) {
		place_nodes(&c);
		for (i = 0; i < c.report->nodes.nr; i++)
			write_box(&c, i);
		write_icicle_head(&c);
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

#define LEFT   70.0
#define RIGHT  20.0
#define TOP    34.0
#define BOTTOM 44.0
#define HEIGHT 440.0

struct point {
	struct sonde_roofline roof;
	double x, y, share;
	uint32_t node;
};

struct plot {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_report *report;
	struct sonde_peaks peaks;
	struct point *points;
	size_t nr;
	double x0, x1, y0, y1; /* ends of the axes, as powers of ten */
	struct sonde_buf text;
};

static double px(const struct plot *p, double v)
{
	return LEFT + (log10(v) - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double py(const struct plot *p, double v)
{
	return HEIGHT - BOTTOM - (log10(v) - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

static int gather_points(struct plot *p, struct sonde_err *err)
{
	struct sonde_figures f = {0};
	size_t i;
	int rc = sonde_figures_init(&f, p->tree, err);

	p->points = rc ? NULL : sonde_calloc(p->report->nodes.nr + 1, sizeof(*p->points));
	if (rc == 0 && !p->points)
		rc = sonde_err_nomem(err);
	for (i = 0; i < p->report->nodes.nr && rc == 0; i++) {
		const struct sonde_node *n = &p->report->nodes.at[i];
		struct sonde_roofline r;

		sonde_tree_values(p->tree, p->report, SONDE_PART_INCLUSIVE, (uint32_t)i, &f);
		r = sonde_roofline_of(p->tree, &f, n->time_ns);
		if (r.intensity > 0 && r.flop_per_s > 0)
			p->points[p->nr++] = (struct point){r, r.intensity, r.flop_per_s,
				n->time_ns / p->report->time_ns, (uint32_t)i};
	}
	sonde_figures_release(&f);
	return rc;
}

static void widen_axis(double *low, double *high, double v)
{
	if (!(v > 0))
		return;
	*low = fmin(*low, floor(log10(v) - 0.2));
	*high = fmax(*high, ceil(log10(v) + 0.2));
}

static double highest(const struct plot *p)
{
	return fmax(
		p->peaks.flop_per_s, p->peaks.tensor_per_s); /* fmax of a NaN and a number is the number */
}

static void fit_axes(struct plot *p)
{
	size_t i;

	p->x0 = p->y0 = INFINITY;
	p->x1 = p->y1 = -INFINITY;
	for (i = 0; i < p->nr; i++) {
		widen_axis(&p->x0, &p->x1, p->points[i].x);
		widen_axis(&p->y0, &p->y1, p->points[i].y);
	}
	widen_axis(&p->x0, &p->x1, highest(p) / p->peaks.bytes_per_s);
	widen_axis(&p->x0, &p->x1, p->peaks.flop_per_s / p->peaks.bytes_per_s);
	widen_axis(&p->y0, &p->y1, highest(p));
	widen_axis(&p->y0, &p->y1, p->peaks.flop_per_s);
}

static void write_line(struct plot *p, const double at[4], const char *stroke)
{
	sonde_sink_printf(p->to,
		"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", at[0],
		at[1], at[2], at[3], stroke);
}

static void write_label(struct plot *p, double x, double y, const char *anchor)
{
	put_text(p->to, x, y, anchor, sonde_buf_view(&p->text));
}

static void write_axes(struct plot *p)
{
	double e;

	for (e = p->x0; e <= p->x1; e++) {
		double x = px(p, pow(10, e));

		write_line(p, (double[4]){x, TOP, x, HEIGHT - BOTTOM}, "#e3e3de");
		sonde_buf_clear(&p->text);
		sonde_buf_printf(&p->text, "%g", pow(10, e));
		write_label(p, x, HEIGHT - BOTTOM + 16, "middle");
	}
	for (e = p->y0; e <= p->y1; e++) {
		double y = py(p, pow(10, e));

		write_line(p, (double[4]){LEFT, y, WIDTH - RIGHT, y}, "#e3e3de");
		sonde_buf_clear(&p->text);
		sonde_number_human(&p->text, pow(10, e), "");
		write_label(p, LEFT - 6, y + 4, "end");
	}
	put_text(p->to, WIDTH - RIGHT, HEIGHT - 8, "end",
		SONDE_STR("FLOP per byte of DRAM traffic"));
	put_text(p->to, LEFT, TOP - 10, "start", SONDE_STR("roofline of regions, FLOP/s"));
}

/* Draws a ceiling from the point where DRAM stops being the limit to the right edge. */
static void write_ceiling(struct plot *p, const char *name, double flop)
{
	if (!(flop > 0))
		return;
	write_line(p,
		(double[4]){px(p, flop / p->peaks.bytes_per_s), py(p, flop),
			WIDTH - RIGHT, py(p, flop)},
		"#1d2126");
	sonde_buf_clear(&p->text);
	sonde_buf_puts(&p->text, name);
	sonde_number_human(&p->text, flop, "FLOP/s");
	write_label(p, WIDTH - RIGHT, py(p, flop) - 6, "end");
}

static void write_ceilings(struct plot *p)
{
	double flop = highest(p), bytes = p->peaks.bytes_per_s, from;

	if (!(flop > 0) || !(bytes > 0)) {
		put_text(p->to, WIDTH - RIGHT, TOP - 10, "end",
			SONDE_STR("the report does not have the device's peaks"));
		return;
	}
	from = fmax(pow(10, p->x0), pow(10, p->y0) / bytes);
	write_line(p, (double[4]){px(p, from), py(p, from * bytes), px(p, flop / bytes), py(p, flop)},
		"#1d2126");
	sonde_buf_clear(&p->text);
	sonde_buf_puts(&p->text, "DRAM ");
	sonde_number_human(&p->text, bytes, "byte/s");
	write_label(p, px(p, from) + 36, py(p, from * bytes) + 8, "start");
	write_ceiling(p, "FP32 ", p->peaks.flop_per_s);
	write_ceiling(p, "FP16 tensor ", p->peaks.tensor_per_s);
}

static void write_dot(struct plot *p, const struct point *at)
{
	static const char least[] = "stroke=\"#0072b2\" stroke-dasharray=\"3 2\"";
	double share = at->share > 0 ? fmin(at->share, 1) : 0;
	const char *sign = sonde_roofline_sign(&at->roof), *note = sonde_roofline_note(&at->roof);

	sonde_sink_puts(p->to, "<g><title>");
	sonde_buf_clear(&p->text);
	sonde_frame_name(&p->text, p->tree, &p->report->nodes.at[at->node]);
	sonde_buf_printf(&p->text, ": %s", sign);
	sonde_number_human(&p->text, at->x, "FLOP/B");
	sonde_buf_printf(&p->text, ", %s", sign);
	sonde_number_human(&p->text, at->y, "FLOP/s");
	sonde_buf_printf(&p->text, "%s%s", note ? "; " : "", note ? note : "");
	sonde_escape_xml(&p->to->buf, sonde_buf_view(&p->text));
	sonde_sink_printf(p->to,
		"</title><circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#0072b2\" "
		"fill-opacity=\"%s\" %s/></g>\n",
		px(p, at->x), py(p, at->y), 4 + 10 * sqrt(share), at->roof.at_least ? "0.35" : "0.75",
		at->roof.at_least ? least : "stroke=\"#ffffff\"");
}

/* Writes below the drawing, where the axis leaves room, what dashed circles mean, or where FLOP are from. */
static void write_legend(struct plot *p)
{
	bool is_least = false, is_of_pipes = false;
	size_t i;

	for (i = 0; i < p->nr; i++) {
		is_least |= p->points[i].roof.at_least != NULL;
		is_of_pipes |= p->points[i].roof.is_of_pipes;
	}
	if (is_least)
		put_text(p->to, LEFT, HEIGHT - 8, "start",
			SONDE_STR("dashed: at least this much, some operations were not counted"));
	else if (is_of_pipes)
		put_text(p->to, LEFT, HEIGHT - 8, "start",
			SONDE_STR("~ from sampled pipes: as if all were 16-bit operations and multiply-adds"));
}

/* Draws a group and sets `*height`; does neither if there is nothing to draw. */
static int draw_roofline(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	struct plot p = {
		.to = to, .tree = t, .report = sonde_report_main(t, o), .peaks = sonde_peaks_of(t)};
	size_t i;
	int rc;

	if (!p.report || p.report->nodes.nr == 0)
		return 0;
	rc = gather_points(&p, err);
	if (rc == 0 && p.nr) {
		fit_axes(&p);
		write_axes(&p);
		write_ceilings(&p);
		for (i = 0; i < p.nr; i++)
			write_dot(&p, &p.points[i]);
		write_legend(&p);
		*height = (unsigned)HEIGHT;
		rc = p.text.failed ? sonde_err_nomem(err) : 0;
	}
	sonde_free(p.points);
	sonde_buf_release(&p.text);
	return rc;
}

bool sonde_roofline_exists(const struct sonde_tree *t, const struct sonde_export_options *o)
{
	struct plot p = {.tree = t, .report = sonde_report_main(t, o)};
	bool exists = p.report && gather_points(&p, NULL) == 0 && p.nr;

	sonde_free(p.points);
	return exists;
}

typedef int (*drawing)(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err);

static void open_svg(struct sonde_sink *to, unsigned height)
{
	sonde_sink_printf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" font-family=\"system-ui, sans-serif\" font-size=\"12\" "
		"fill=\"#1d2126\">\n<rect width=\"%d\" height=\"%u\" fill=\"#ffffff\"/>\n",
		WIDTH, height, WIDTH, height, WIDTH, height);
}

/* Draws the parts below each other. Their heights are known only when they are drawn. */
static int draw_parts(struct sonde_sink *to, const drawing *parts, size_t nr, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	struct sonde_sink body;
	unsigned height = 0, part_height;
	size_t i;
	int rc = 0;

	sonde_sink_init_string(&body);
	for (i = 0; i < nr && rc == 0; i++) {
		sonde_sink_printf(&body, "<g transform=\"translate(0 %u)\">\n", height);
		part_height = 0;
		rc = parts[i](&body, &part_height, t, o, err);
		sonde_sink_puts(&body, "</g>\n");
		height += part_height;
	}
	if (rc == 0 && body.buf.failed)
		rc = sonde_err_nomem(err);
	if (rc == 0) {
		open_svg(to, height ? height : 40);
		if (height == 0)
			put_text(to, 12, 24, "start", SONDE_STR("nothing to draw"));
		sonde_sink_str(to, sonde_buf_view(&body.buf));
		sonde_sink_puts(to, "</svg>\n");
	}
	sonde_sink_abort(&body);
	return rc;
}

int sonde_export_svg(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const drawing both[] = {draw_icicle, draw_roofline};

	return draw_parts(to, both, 2, t, o, err);
}

int sonde_export_icicle(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const drawing one[] = {draw_icicle};

	return draw_parts(to, one, 1, t, o, err);
}

int sonde_export_roofline(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const drawing one[] = {draw_roofline};

	return draw_parts(to, one, 1, t, o, err);
}
