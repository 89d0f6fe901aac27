#include "export/svg_int.h"

#include "tree/roofline.h"
#include "base/alloc.h"
#include "base/escape.h"
#include "export/field.h"
#include "base/number.h"
#include "export/weight.h"

#include <math.h>

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
	double x0, x1, y0, y1; /* powers of ten */
	struct sonde_buf text;
};

static double px(const struct plot *p, double v)
{
	return LEFT + (log10(v) - p->x0) / (p->x1 - p->x0) * (SONDE_SVG_WIDTH - LEFT - RIGHT);
}

static double py(const struct plot *p, double v)
{
	return HEIGHT - BOTTOM - (log10(v) - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

static int gather(struct plot *p, struct sonde_err *err)
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

static void widen(double *low, double *high, double v)
{
	if (!(v > 0))
		return;
	*low = fmin(*low, floor(log10(v) - 0.2));
	*high = fmax(*high, ceil(log10(v) + 0.2));
}

static double highest(const struct plot *p)
{
	return fmax(
		p->peaks.flop_per_s, p->peaks.tensor_per_s); /* of a NaN and a number: the number */
}

static void fit(struct plot *p)
{
	size_t i;

	p->x0 = p->y0 = INFINITY;
	p->x1 = p->y1 = -INFINITY;
	for (i = 0; i < p->nr; i++) {
		widen(&p->x0, &p->x1, p->points[i].x);
		widen(&p->y0, &p->y1, p->points[i].y);
	}
	widen(&p->x0, &p->x1, highest(p) / p->peaks.bytes_per_s);
	widen(&p->x0, &p->x1, p->peaks.flop_per_s / p->peaks.bytes_per_s);
	widen(&p->y0, &p->y1, highest(p));
	widen(&p->y0, &p->y1, p->peaks.flop_per_s);
}

static void write_line(struct plot *p, const double at[4], const char *stroke)
{
	sonde_sink_printf(p->to,
		"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", at[0],
		at[1], at[2], at[3], stroke);
}

static void write_label(struct plot *p, double x, double y, const char *anchor)
{
	sonde_svg__write_text(p->to, x, y, anchor, sonde_buf_view(&p->text));
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

		write_line(p, (double[4]){LEFT, y, SONDE_SVG_WIDTH - RIGHT, y}, "#e3e3de");
		sonde_buf_clear(&p->text);
		sonde_number_human(&p->text, pow(10, e), "");
		write_label(p, LEFT - 6, y + 4, "end");
	}
	sonde_svg__write_text(p->to, SONDE_SVG_WIDTH - RIGHT, HEIGHT - 8, "end",
		SONDE_STR("FLOP per byte of DRAM traffic"));
	sonde_svg__write_text(p->to, LEFT, TOP - 10, "start", SONDE_STR("roofline of regions, FLOP/s"));
}

/* From where DRAM would be the limit to the right. */
static void write_ceiling(struct plot *p, const char *name, double flop)
{
	if (!(flop > 0))
		return;
	write_line(p,
		(double[4]){px(p, flop / p->peaks.bytes_per_s), py(p, flop),
			SONDE_SVG_WIDTH - RIGHT, py(p, flop)},
		"#1d2126");
	sonde_buf_clear(&p->text);
	sonde_buf_puts(&p->text, name);
	sonde_number_human(&p->text, flop, "FLOP/s");
	write_label(p, SONDE_SVG_WIDTH - RIGHT, py(p, flop) - 6, "end");
}

static void write_ceilings(struct plot *p)
{
	double flop = highest(p), bytes = p->peaks.bytes_per_s, from;

	if (!(flop > 0) || !(bytes > 0)) {
		sonde_svg__write_text(p->to, SONDE_SVG_WIDTH - RIGHT, TOP - 10, "end",
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

/* Below the drawing, where the axis leaves room: what dashed circles mean, or where FLOP are from. */
static void write_legend(struct plot *p)
{
	bool is_least = false, is_of_pipes = false;
	size_t i;

	for (i = 0; i < p->nr; i++) {
		is_least |= p->points[i].roof.at_least != NULL;
		is_of_pipes |= p->points[i].roof.is_of_pipes;
	}
	if (is_least)
		sonde_svg__write_text(p->to, LEFT, HEIGHT - 8, "start",
			SONDE_STR("dashed: at least this much, some operations were not counted"));
	else if (is_of_pipes)
		sonde_svg__write_text(p->to, LEFT, HEIGHT - 8, "start",
			SONDE_STR("~ from sampled pipes: as if all were 16-bit operations and multiply-adds"));
}

int sonde_svg__write_roofline(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	struct plot p = {
		.to = to, .tree = t, .report = sonde_report_main(t, o), .peaks = sonde_peaks_of(t)};
	size_t i;
	int rc;

	if (!p.report || p.report->nodes.nr == 0)
		return 0;
	rc = gather(&p, err);
	if (rc == 0 && p.nr) {
		fit(&p);
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
	bool exists = p.report && gather(&p, NULL) == 0 && p.nr;

	sonde_free(p.points);
	return exists;
}
