/*
 * The differential icicle: a box per region, below the region it is in, as wide as its time in a
 * run on the side where that is longer. Colours say what happened to it.
 *
 * GPU time and host time do not add up, so one of them is drawn: GPU time where any region has
 * it. A region that has another name now is drawn once, under that name. Boxes too narrow to be
 * seen are left out, with all that is in them.
 */
#include "export/diff_shared.h"

#include "base/alloc.h"
#include "base/escape.h"

#include <math.h>

#define WIDTH	   1000.0
#define ROW	   20
#define MOST_ROWS  24
#define LEAST_BOX  0.7	/* of WIDTH */
#define LEAST_TEXT 30.0 /* a narrower box has no name in it */
#define FULL_RED   0.3	/* a change of 30 % and more has the strongest colour */

struct box {
	double weight;	/* ns of a run, at least what is in it needs */
	double inside;	/* that */
	double x, next; /* where it begins, and the next box in it */
	uint32_t above; /* the region whose box is around it, SONDE_NONE = none */
	uint32_t row;
	bool is_drawn;
};

struct icicle {
	const struct sonde_diff *d;
	struct box *boxes; /* by region */
	bool is_gpu;
	double all; /* weight of the outermost ones */
	uint32_t nr_rows;
	size_t nr_left_out;
};

static double time_of(const struct sonde_diff_half *h)
{
	return h->is_there && h->total_ns > 0 ? h->total_ns : 0;
}

static bool has_box(const struct icicle *c, const struct sonde_diff_region *r)
{
	return r->is_gpu == c->is_gpu &&
	       !(r->verdict == SONDE_VERDICT_REMOVED && r->twin != SONDE_NONE);
}

/* The region whose box is around that of region `at`. */
static uint32_t find_above(const struct icicle *c, uint32_t at)
{
	const struct sonde_diff_region *r;

	for (at = c->d->regions.at[at].parent; at != SONDE_NONE; at = r->parent) {
		r = &c->d->regions.at[at];
		if (r->verdict == SONDE_VERDICT_REMOVED && r->twin < at) {
			at = r->twin; /* the twin stands before it: new regions do */
			r = &c->d->regions.at[at];
		}
		if (has_box(c, r))
			return at;
	}
	return SONDE_NONE;
}

/* From the inside out: a box is as wide as its time, or as all boxes in it together. */
static void weigh(struct icicle *c)
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
		b->weight = fmax(fmax(time_of(&r->base), time_of(&r->new_half)), b->inside);
		*(b->above == SONDE_NONE ? &c->all : &c->boxes[b->above].inside) += b->weight;
	}
}

static void place(struct icicle *c)
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

/* How strong a colour is: from a little for min_effect to all for FULL_RED. */
static double strength_of(const struct sonde_diff_region *r)
{
	double change = isnan(r->ratio) ? 0 : fabs(r->ratio - 1);

	if (r->verdict != SONDE_VERDICT_SLOWER && r->verdict != SONDE_VERDICT_FASTER)
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
	sonde_diff_out__put_verdict(to, d, r, sonde_escape_xml);
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
		b->x / c->all * WIDTH, b->row * ROW, width, ROW, sonde_verdict_name(r->verdict),
		ROW - 1, strength_of(r));
	write_title(to, c->d, r);
	sonde_sink_puts(to, "</rect>");
	if (width >= LEAST_TEXT) {
		sonde_sink_puts(to, "<text x=\"3\" y=\"14\">");
		sonde_escape_xml(&to->buf, r->label);
		if (r->ratio > 0 && (r->verdict == SONDE_VERDICT_SLOWER ||
					    r->verdict == SONDE_VERDICT_FASTER)) {
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
		c->is_gpu ? "GPU" : "host");
	if (c->nr_left_out)
		sonde_sink_printf(to, "; not drawn because too narrow: %zu", c->nr_left_out);
	sonde_sink_puts(to, ".</p>\n");
}

bool sonde_diff_out__icicle(const struct sonde_diff *d, struct sonde_sink *to)
{
	struct icicle c = {.d = d, .boxes = sonde_calloc(d->regions.nr + 1, sizeof(*c.boxes))};
	size_t i;

	if (!c.boxes)
		return false;
	for (i = 0; i < d->regions.nr; i++)
		c.is_gpu |= d->regions.at[i].is_gpu;
	weigh(&c);
	if (c.all > 0) {
		place(&c);
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
