/* Private to the SVG files: one drawing, or a group inside one. */
#ifndef SONDE_EXPORT_SVG_INT_H
#define SONDE_EXPORT_SVG_INT_H

#include "export/export.h"

#define SONDE_SVG_WIDTH 1000

/* Each prints a group and says how high it is; 0 and nothing when there is nothing to draw. */
int sonde_svg__write_icicle(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err);
int sonde_svg__write_roofline(struct sonde_sink *to, unsigned *height, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err);
/* Text at a place, escaped. `anchor` is "start", "middle" or "end". */
void sonde_svg__write_text(
	struct sonde_sink *to, double x, double y, const char *anchor, struct sonde_str text);

#endif
