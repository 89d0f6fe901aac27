/*
 * The chart of regions and the roofline as static SVG, for documents and
 * viewers without scripts: the same numbers and colours as in the HTML page.
 */
#include "export/format.h"
#include "export/svg_int.h"

#include "base/escape.h"

typedef int (*drawing)(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err);

void sonde_svg__write_text(
	struct sonde_sink *to, double x, double y, const char *anchor, struct sonde_str text)
{
	sonde_sink_printf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	sonde_escape_xml(&to->buf, text);
	sonde_sink_puts(to, "</text>\n");
}

static void open_svg(struct sonde_sink *to, unsigned height)
{
	sonde_sink_printf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" font-family=\"system-ui, sans-serif\" font-size=\"12\" "
		"fill=\"#1d2126\">\n<rect width=\"%d\" height=\"%u\" fill=\"#ffffff\"/>\n",
		SONDE_SVG_WIDTH, height, SONDE_SVG_WIDTH, height, SONDE_SVG_WIDTH, height);
}

/* Draws the parts below each other: their heights are known only when they are drawn. */
static int draw(struct sonde_sink *to, const drawing *parts, size_t nr, const struct sonde_tree *t,
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
			sonde_svg__write_text(to, 12, 24, "start", SONDE_STR("nothing to draw"));
		sonde_sink_str(to, sonde_buf_view(&body.buf));
		sonde_sink_puts(to, "</svg>\n");
	}
	sonde_sink_abort(&body);
	return rc;
}

int sonde_export_svg(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const drawing both[] = {sonde_svg__write_icicle, sonde_svg__write_roofline};

	return draw(to, both, 2, t, o, err);
}

int sonde_export_icicle(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const drawing one[] = {sonde_svg__write_icicle};

	return draw(to, one, 1, t, o, err);
}

int sonde_export_roofline(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const drawing one[] = {sonde_svg__write_roofline};

	return draw(to, one, 1, t, o, err);
}
