/*
 * A comparison as one HTML page without scripts or outside files: sentences, a differential
 * icicle, and a row per region with a bar for its change and both distributions side by side.
 */
#include "base/alloc.h"
#include "base/escape.h"
#include "export/diff_shared.h"

#include <math.h>

#define NR_BINS	 24
#define MAX_ROWS 2000 /* a page people scroll; -f json has all */

static const char style[] =
	"body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;"
	"color:#1b1f24;background:#fff}"
	"h1{font-size:1.4em}table{border-collapse:collapse;width:100%}"
	"th,td{padding:.25em .6em;border-bottom:1px solid #d0d7de;text-align:right;"
	"white-space:nowrap}"
	"th:first-child,td:first-child,td.v,th.v{text-align:left}td.v{white-space:normal}"
	".t{overflow-x:auto}.icicle{width:100%;display:block;margin-top:1em}"
	".icicle text{font-size:11px;fill:#1b1f24;pointer-events:none}"
	"rect.i{stroke:#fff;stroke-width:.6}rect.slower{fill:#e5534b}rect.faster{fill:#46a758}"
	"rect.same{fill:#dfe3e8}rect.insufficient{fill:#eef0f2;stroke:#b6bcc4}"
	"rect.added{fill:#f2b84b}rect.removed{fill:#fff;stroke:#8c959f;stroke-dasharray:3 2}"
	".legend{color:#6e7781;font-size:.9em}.slower{color:#b42318}.faster{color:#18794e}"
	".same,.insufficient{color:#6e7781}svg{vertical-align:middle}.b{fill:#8c959f}"
	".n{fill:#0969da;opacity:.6}.up{fill:#d1432f}.down{fill:#2da44e}.not{color:#b42318}"
	"code{font-size:.92em}"
	"@media(prefers-color-scheme:dark){body{background:#0d1117;"
	"color:#e6edf3}th,td{border-color:#30363d}.slower,.not{color:#ff7b72}.faster{color:#56d364}}";

static void put_text(struct sonde_sink *to, struct sonde_str s)
{
	sonde_escape_xml(&to->buf, s);
}

/* --- pictures --------------------------------------------------------------------------------- */

/* The change as a bar from the middle: to the right slower. `most` ns fill a half. */
static void write_bar(struct sonde_sink *to, double delta, double most)
{
	double width = most > 0 && !isnan(delta) ? 50 * fmin(fabs(delta) / most, 1) : 0;

	sonde_sink_printf(to,
		"<td><svg width=\"102\" height=\"12\" role=\"img\"><rect class=\"%s\" x=\"%.1f\" "
		"y=\"1\" width=\"%.1f\" height=\"10\"/><rect x=\"50.5\" width=\"1\" height=\"12\" "
		"class=\"b\"/></svg></td>",
		delta > 0 ? "up" : "down", delta > 0 ? 51 : 51 - width, width);
}

/* Counts of values by logarithm between low and high. */
static double count_bins(double bins[NR_BINS], const double *v, size_t nr, double low, double high)
{
	double most = 0;
	size_t i;

	for (i = 0; i < NR_BINS; i++)
		bins[i] = 0;
	for (i = 0; i < nr; i++) {
		double at = high > low ? (log(v[i]) - low) / (high - low) * NR_BINS : 0;
		size_t bin = (size_t)fmin(fmax(at, 0), NR_BINS - 1);

		bins[bin] += 1.0 / (double)nr;
		most = fmax(most, bins[bin]);
	}
	return most;
}

static void write_bins(
	struct sonde_sink *to, const double bins[NR_BINS], double most, const char *class)
{
	size_t i;

	for (i = 0; i < NR_BINS; i++)
		if (bins[i] > 0)
			sonde_sink_printf(to,
				"<rect class=\"%s\" x=\"%zu\" y=\"%.1f\" width=\"4\" "
				"height=\"%.1f\"/>",
				class, i * 4, 24 - 24 * bins[i] / most, 24 * bins[i] / most);
}

/* Both sides over one axis, logarithmic in time. */
static void write_spread(
	struct sonde_sink *to, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const double *a = d->values.at + r->base.first_value,
		     *b = d->values.at + r->new_half.first_value;
	double low = INFINITY, high = -INFINITY, base[NR_BINS], now[NR_BINS], most;
	size_t i;

	for (i = 0; i < (size_t)r->base.nr_values + r->new_half.nr_values; i++) {
		double v = i < r->base.nr_values ? a[i] : b[i - r->base.nr_values];

		low = fmin(low, log(v));
		high = fmax(high, log(v));
	}
	most = count_bins(base, a, r->base.nr_values, low, high);
	most = fmax(most, count_bins(now, b, r->new_half.nr_values, low, high));
	sonde_sink_puts(to, "<td><svg width=\"96\" height=\"24\" role=\"img\">");
	if (most > 0) {
		write_bins(to, base, most, "b");
		write_bins(to, now, most, "n");
	}
	sonde_sink_puts(to, "</svg></td>");
}

/*
 * The differential icicle: a box per region, below the region it is in, as wide as its time in a
 * run on the side where that is longer. Colours say what happened to it.
 *
 * GPU time and host time do not add up, so one of them is drawn: GPU time where any region has
 * it. A region that has another name now is drawn once, under that name. Boxes too narrow to be
 * seen are left out, with all that is in them.
 */

#define WIDTH	   1000.0
#define ROW	   20
#define MOST_ROWS  24
#define LEAST_BOX  0.7	/* of WIDTH */
#define LEAST_TEXT 30.0 /* a narrower box has no name in it */
#define FULL_RED   0.3	/* a change of 30 % and more has the strongest colour */

struct box {
	double weight;	/* ns of a run, but not less than the boxes in it have together */
	double inside;	/* what these have */
	double x, next; /* where it begins, and the next box in it */
	uint32_t above; /* the region whose box is around it, SONDE_NONE = none */
	uint32_t row;
	bool is_drawn;
};

struct icicle {
	const struct sonde_diff *d;
	struct box *boxes; /* by region */
	enum sonde_entry_time time; /* GPU time, which adds up over regions, or host time where there is none */
	double all; /* weight of the outermost ones */
	uint32_t nr_rows;
	size_t nr_left_out;
};

/* The longer one of the two sides. */
static double time_of(const struct sonde_diff_region *r, enum sonde_entry_time which)
{
	const struct sonde_diff_time *t = &r->times[which];

	return fmax(t->base_total_ns > 0 ? t->base_total_ns : 0, t->new_total_ns > 0 ? t->new_total_ns : 0);
}

static bool has_box(const struct icicle *c, const struct sonde_diff_region *r)
{
	return r->times[c->time].is_known && (c->time == SONDE_ENTRY_GPU || r->time == c->time) &&
	       !(r->verdict == SONDE_VERDICT_REMOVED && r->twin != SONDE_NONE);
}

/* The region whose box is around the box of region `at`. */
static uint32_t find_above(const struct icicle *c, uint32_t at)
{
	const struct sonde_diff_region *r;

	for (at = c->d->regions.at[at].parent; at != SONDE_NONE; at = r->parent) {
		r = &c->d->regions.at[at];
		if (r->verdict == SONDE_VERDICT_REMOVED && r->twin < at) {
			at = r->twin; /* the twin comes before it: new regions do */
			r = &c->d->regions.at[at];
		}
		if (has_box(c, r))
			return at;
	}
	return SONDE_NONE;
}

/* From the inside out: a box is as wide as its time, or as all boxes in it together. */
static void weigh_boxes(struct icicle *c)
{
	size_t i;

	for (i = 0; i < c->d->regions.nr; i++) {
		struct box *b = &c->boxes[i], *up;

		b->above = find_above(c, (uint32_t)i);
		up = b->above == SONDE_NONE ? NULL : &c->boxes[b->above];
		b->row = up ? up->row + 1 : 0;
	}
	for (i = c->d->regions.nr; i-- > 0;) {
		const struct sonde_diff_region *r = &c->d->regions.at[i];
		struct box *b = &c->boxes[i];

		if (!has_box(c, r))
			continue;
		b->weight = fmax(time_of(r, c->time), b->inside);
		*(b->above == SONDE_NONE ? &c->all : &c->boxes[b->above].inside) += b->weight;
	}
}

static void place_boxes(struct icicle *c)
{
	double next = 0;
	size_t i;

	for (i = 0; i < c->d->regions.nr; i++) {
		struct box *b = &c->boxes[i],
			   *up = b->above == SONDE_NONE ? NULL : &c->boxes[b->above];
		double *from = up ? &up->next : &next;

		if (!has_box(c, &c->d->regions.at[i]))
			continue;
		b->x = b->next = *from;
		*from += b->weight;
		b->is_drawn = b->weight / c->all * WIDTH >= LEAST_BOX && b->row < MOST_ROWS;
		if (!b->is_drawn)
			c->nr_left_out++;
		else if (b->row + 1 > c->nr_rows)
			c->nr_rows = b->row + 1;
	}
}

/* Likely ones have the colours of the others. */
static const char *class_of(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_LIKELY_SLOWER   ? "slower"
	       : r->verdict == SONDE_VERDICT_LIKELY_FASTER ? "faster"
							   : sonde_verdict_name(r->verdict);
}

static bool is_moved(const struct sonde_diff_region *r)
{
	return r->verdict >= SONDE_VERDICT_SLOWER && r->verdict <= SONDE_VERDICT_LIKELY_FASTER;
}

/* How strong a colour is: from a little for min_effect to all for FULL_RED. */
static double strength_of(const struct sonde_diff_region *r)
{
	double change = isnan(r->ratio) ? 0 : fabs(r->ratio - 1);

	if (!is_moved(r))
		return 1;
	return fmin(0.35 + 0.65 * change / FULL_RED, 1);
}

static void write_title(
	struct sonde_sink *to, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	sonde_sink_puts(to, "<title>");
	sonde_escape_xml(&to->buf, sonde_region_path(r->id, r->kind));
	sonde_sink_puts(to, sonde_region_kind_mark(r->kind));
	sonde_sink_puts(to, ": ");
	sonde_diff_out__ms(&to->buf, r->base.is_there ? r->base.total_ns : NAN);
	sonde_sink_puts(to, " \u2192 ");
	sonde_diff_out__ms(&to->buf, r->new_half.is_there ? r->new_half.total_ns : NAN);
	sonde_sink_puts(to, " ms a run; per entry ");
	sonde_diff_out__percent(&to->buf, r->ratio);
	sonde_sink_puts(to, ", ");
	sonde_diff_out__put_verdict(&to->buf, d, r, sonde_escape_xml);
	sonde_sink_puts(to, "</title>");
}

static void write_box(struct sonde_sink *to, const struct icicle *c, size_t region)
{
	const struct sonde_diff_region *r = &c->d->regions.at[region];
	const struct box *b = &c->boxes[region];
	double width = b->weight / c->all * WIDTH;

	/* An svg of its own cuts off what is too long for it. */
	sonde_sink_printf(to,
		"<svg x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"><rect class=\"i %s\" "
		"width=\"100%%\" height=\"%d\" fill-opacity=\"%.2f\">",
		b->x / c->all * WIDTH, b->row * ROW, width, ROW, class_of(r),
		ROW - 1, strength_of(r));
	write_title(to, c->d, r);
	sonde_sink_puts(to, "</rect>");
	if (width >= LEAST_TEXT) {
		sonde_sink_puts(to, "<text x=\"3\" y=\"14\">");
		sonde_escape_xml(&to->buf, r->label);
		if (r->ratio > 0 && is_moved(r)) {
			sonde_sink_putc(to, ' ');
			sonde_diff_out__percent(&to->buf, r->ratio);
		}
		sonde_sink_puts(to, "</text>");
	}
	sonde_sink_puts(to, "</svg>\n");
}

static void write_legend(struct sonde_sink *to, const struct icicle *c)
{
	static const char *const words[] = {
		"slower", "faster", "same", "insufficient", "added", "removed"};
	size_t i;

	sonde_sink_puts(to, "<p class=\"legend\">");
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		sonde_sink_printf(to,
			"<svg width=\"14\" height=\"12\"><rect class=\"i %s\" x=\".5\" y=\".5\" "
			"width=\"13\" height=\"11\"/></svg> %s ",
			words[i], words[i]);
	sonde_sink_printf(to,
		"\u00b7 as wide as the %s time of a run, on the side where it is longer; a region "
		"is below the one it is in",
		c->time == SONDE_ENTRY_GPU ? "GPU" : "host");
	if (c->nr_left_out)
		sonde_sink_printf(to, "; not drawn because too narrow: %zu", c->nr_left_out);
	sonde_sink_puts(to, ".</p>\n");
}

/* Draws the icicle; false when memory is short. */
static bool write_icicle(const struct sonde_diff *d, struct sonde_sink *to)
{
	struct icicle c = {.d = d, .time = SONDE_ENTRY_HOST, .boxes = sonde_calloc(d->regions.nr + 1, sizeof(*c.boxes))};
	size_t i;

	if (!c.boxes)
		return false;
	for (i = 0; i < d->regions.nr; i++)
		if (d->regions.at[i].times[SONDE_ENTRY_GPU].is_known)
			c.time = SONDE_ENTRY_GPU;
	weigh_boxes(&c);
	if (c.all > 0) {
		place_boxes(&c);
		sonde_sink_printf(to,
			"<svg class=\"icicle\" viewBox=\"0 0 %.0f %u\" role=\"img\" "
			"aria-label=\"regions by time, coloured by what changed\">\n",
			WIDTH, c.nr_rows * ROW);
		for (i = 0; i < d->regions.nr; i++)
			if (c.boxes[i].is_drawn)
				write_box(to, &c, i);
		sonde_sink_puts(to, "</svg>\n");
		write_legend(to, &c);
	}
	sonde_free(c.boxes);
	return true;
}

/* --- the table -------------------------------------------------------------------------------- */

static void write_row(struct sonde_sink *to, const struct sonde_diff *d,
	const struct sonde_diff_region *r, double most)
{
	size_t i;

	sonde_sink_printf(to, "<tr><td style=\"padding-left:%.1fem\" title=\"",
		0.6 + 1.1 * (r->depth < 20 ? r->depth : 20));
	put_text(to, sonde_region_path(r->id, r->kind));
	sonde_sink_puts(to, "\"><code>");
	put_text(to, r->label);
	sonde_sink_printf(to, "</code>%s</td>", sonde_region_kind_mark(r->kind));
	for (i = 0; i < SONDE_NR_DIFF_FIGURES; i++) {
		sonde_sink_puts(to, "<td>");
		sonde_diff_out__figure(&to->buf, r, (enum sonde_diff_figure)i);
		sonde_sink_puts(to, "</td>");
	}
	write_bar(to, sonde_diff_region_delta(r), most);
	write_spread(to, d, r);
	sonde_sink_printf(to, "<td class=\"v %s\">", class_of(r));
	sonde_diff_out__put_verdict(&to->buf, d, r, sonde_escape_xml);
	sonde_sink_puts(to, "</td></tr>\n");
}

static void write_table(const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to)
{
	double most = 0;
	size_t i, nr = d->regions.nr < MAX_ROWS ? d->regions.nr : MAX_ROWS;

	for (i = 0; i < d->regions.nr; i++)
		most = fmax(most, fabs(sonde_diff_region_delta(&d->regions.at[i])));
	sonde_sink_puts(to, "<div class=\"t\"><table>\n<tr><th>region</th><th>base ms</th><th>new "
			    "ms</th><th>\u0394 ms"
			    "</th><th>\u0394 %</th><th>95 %</th><th>GPU \u0394 %</th><th>faster | slower</th><th>entries"
			    "</th><th class=\"v\">verdict</th></tr>\n");
	for (i = 0; i < nr; i++)
		write_row(to, d, &d->regions.at[order[i]], most);
	sonde_sink_puts(to, "</table></div>\n");
	if (nr < d->regions.nr)
		sonde_sink_printf(to, "<p>\u2026 and %zu more regions.</p>\n", d->regions.nr - nr);
}

static void write_inputs(struct sonde_sink *to, const char *side, struct sonde_words inputs)
{
	size_t i;

	sonde_sink_printf(to, "<p>%s:", side);
	for (i = 0; i < inputs.nr; i++) {
		sonde_sink_puts(to, " <code>");
		put_text(to, sonde_str_from(inputs.at[i]));
		sonde_sink_puts(to, "</code>");
	}
	sonde_sink_puts(to, "</p>\n");
}

int sonde_export_diff_html(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	uint32_t *order = sonde_diff_out__order(d);
	size_t i;

	if (!order)
		return sonde_err_nomem(err);
	sonde_sink_printf(to,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
		"name=\"viewport\" content=\"width=device-width\"><title>sonde diff</title><style>"
		"%s</style></head><body>\n<h1>Profile comparison</h1>\n",
		style);
	write_inputs(to, "base", o->base);
	write_inputs(to, "new", o->new_side);
	for (i = 0; i < d->sentences.texts.nr; i++) {
		sonde_sink_puts(to, i == 0 ? "<p><b>" : i == 1 ? "<ol>\n<li>" : "<li>");
		put_text(to, d->sentences.texts.keys[i]);
		sonde_sink_puts(to, i == 0 ? "</b></p>\n" : "</li>\n");
	}
	sonde_sink_puts(to, i > 1 ? "</ol>\n" : "");
	if (sonde_diff_out__gate(d))
		sonde_sink_printf(to, "<p%s>Gate %s.</p>\n",
			d->gate > SONDE_GATE_INSUFFICIENT ? " class=\"not\"" : "", sonde_diff_out__gate(d));
	sonde_diff_out__notes(to, &d->gate_reasons, "<p class=\"not\">Gate: ", "</p>\n", sonde_escape_xml);
	sonde_diff_out__side_notes(
		to, d, true, (const char *const[]){"<p class=\"not\">Not whole: ", "</p>\n"}, sonde_escape_xml);
	sonde_diff_out__notes(to, &d->reasons, "<p class=\"not\">Not comparable: ", "</p>\n", sonde_escape_xml);
	sonde_diff_out__notes(to, &d->warnings, "<p>Differs: ", "</p>\n", sonde_escape_xml);
	if (!write_icicle(d, to)) {
		sonde_free(order);
		return sonde_err_nomem(err);
	}
	write_table(d, order, to);
	sonde_diff_out__metrics_html(d, order, to);
	sonde_sink_puts(to,
		"<p>Times are medians of an entry, on the GPU where both sides have that, "
		"else on the host. Distributions: grey base, blue new, over the "
		"logarithm of the time.</p>\n");
	sonde_diff_out__side_notes(
		to, d, false, (const char *const[]){"<p class=\"legend\">Note, ", "</p>\n"}, sonde_escape_xml);
	sonde_sink_puts(to, "</body></html>\n");
	sonde_free(order);
	return 0;
}
