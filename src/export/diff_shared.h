/* Private to the writers of comparisons: what they share. */
#ifndef SONDE_EXPORT_DIFF_SHARED_H
#define SONDE_EXPORT_DIFF_SHARED_H

#include "export/diff_out.h"

#define SONDE_DECLARE_DIFF_WRITER(name, extension) sonde_diff_writer sonde_export_diff_##name;
SONDE_DIFF_FORMATS(SONDE_DECLARE_DIFF_WRITER)
#undef SONDE_DECLARE_DIFF_WRITER

/*
 * Region numbers depth-first, siblings by what changed most in them. `*out` has d->regions.nr,
 * freed with sonde_free; NULL when memory is short.
 */
uint32_t *sonde_diff_out__order(const struct sonde_diff *d);

/* How much a region changed, ns of a run: below 0 = it did not; what is not proven weighs next to nothing. */
double sonde_diff_out__weight(const struct sonde_diff_region *r);

/* ns as ms with four significant digits; `-` for NaN. */
void sonde_diff_out__ms(struct sonde_buf *b, double ns);
/* "+4.2 %" of a ratio; `-` for NaN. */
void sonde_diff_out__percent(struct sonde_buf *b, double ratio);
/* "-1.0 … +3.2 %"; `-` where nothing is known. */
void sonde_diff_out__interval(struct sonde_buf *b, const struct sonde_diff_region *r, bool is_utf8);
/* The verdict, and what is to be added to it: "renamed? a/b", "needs 400 entries". */
void sonde_diff_out__verdict(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r);

/* For Markdown and HTML, whose texts `escape` makes inert. */
typedef void sonde_diff_escape(struct sonde_buf *to, struct sonde_str text);
/* The columns of a region: times on both sides, what changed, and how GPU time did where another time is compared. */
enum sonde_diff_figure { SONDE_DIFF_BASE, SONDE_DIFF_NEW, SONDE_DIFF_DELTA, SONDE_DIFF_PERCENT, SONDE_DIFF_INTERVAL, SONDE_DIFF_GPU };
#define SONDE_NR_DIFF_FIGURES 6
void sonde_diff_out__figure(struct sonde_buf *b, const struct sonde_diff_region *r, enum sonde_diff_figure which);
void sonde_diff_out__put_verdict(struct sonde_buf *to, const struct sonde_diff *d,
	const struct sonde_diff_region *r, sonde_diff_escape *escape);
void sonde_diff_out__notes(struct sonde_sink *to, const struct sonde_notes *notes,
	const char *before, const char *after, sonde_diff_escape *escape);

/* Notes of the two sides, one after the other: what both say comes once. */
struct sonde_diff_note {
	const char *side; /* "base", "new", "both" */
	struct sonde_str text;
	bool is_loss;
};
/* The next one behind `*at`, which starts with 0; false when there is none. */
bool sonde_diff_out__next_note(const struct sonde_diff *d, size_t *at, struct sonde_diff_note *out);
/* All notes about a loss, or all others: a list for people, which is cut when it is long. */
void sonde_diff_out__side_notes(struct sonde_sink *to, const struct sonde_diff *d, bool losses,
	const char *const around[2], sonde_diff_escape *escape);

/* How the gate ended, in words; NULL = there is none. */
const char *sonde_diff_out__gate(const struct sonde_diff *d);

/* The metrics that changed, in that order of regions; nothing where none did. */
int sonde_diff_out__metrics_text(const struct sonde_diff *d, const struct sonde_diff_out *o,
	const uint32_t *order, struct sonde_sink *to, struct sonde_err *err);
void sonde_diff_out__metrics_md(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to);
void sonde_diff_out__metrics_html(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to);

#endif
