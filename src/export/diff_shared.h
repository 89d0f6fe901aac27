/* Private to the writers of comparisons: what they share. */
#ifndef SONDE_EXPORT_DIFF_SHARED_H
#define SONDE_EXPORT_DIFF_SHARED_H

#include "export/diff_out.h"

#define SONDE_DECLARE_DIFF_WRITER(name, extension) sonde_diff_writer sonde_export_diff_##name;
SONDE_DIFF_FORMATS(SONDE_DECLARE_DIFF_WRITER)
#undef SONDE_DECLARE_DIFF_WRITER

/*
 * Returns the numbers of all regions (d->regions.nr), depth-first; siblings with the largest change in them come first.
 * Free it with sonde_free. NULL when out of memory.
 */
uint32_t *sonde_diff_out__order(const struct sonde_diff *d);

/*
 * How much a region changed, in ns of a run; below 0 = not at all. A change that is not proven weighs next to nothing.
 */
double sonde_diff_out__weight(const struct sonde_diff_region *r);

/* Appends ns as ms, with fewer decimals for long times; `-` for NaN. */
void sonde_diff_out__ms(struct sonde_buf *b, double ns);
/* Appends a ratio as "+4.2 %"; `-` for NaN. */
void sonde_diff_out__percent(struct sonde_buf *b, double ratio);
/* Appends "-1.0 … +3.2", in percent; `-` when nothing is known. */
void sonde_diff_out__interval(struct sonde_buf *b, const struct sonde_diff_region *r, bool is_utf8);
/* Appends the verdict and what belongs to it: "renamed? a/b", "needs 400 entries". */
void sonde_diff_out__verdict(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r);

/* Escapes a text for the format that is written. */
typedef void sonde_diff_escape(struct sonde_buf *to, struct sonde_str text);
/* The columns of a region: its time on both sides, how it changed, and how its GPU time changed. */
enum sonde_diff_figure { SONDE_DIFF_BASE, SONDE_DIFF_NEW, SONDE_DIFF_DELTA, SONDE_DIFF_PERCENT, SONDE_DIFF_INTERVAL, SONDE_DIFF_GPU };
#define SONDE_NR_DIFF_FIGURES 6
void sonde_diff_out__figure(struct sonde_buf *b, const struct sonde_diff_region *r, enum sonde_diff_figure which);
void sonde_diff_out__put_verdict(struct sonde_buf *to, const struct sonde_diff *d,
	const struct sonde_diff_region *r, sonde_diff_escape *escape);
void sonde_diff_out__notes(struct sonde_sink *to, const struct sonde_notes *notes,
	const char *before, const char *after, sonde_diff_escape *escape);

/* Notes of the two sides, one after the other; a note that both sides have comes once. */
struct sonde_diff_note {
	const char *side; /* "base", "new", "both" */
	struct sonde_str text;
	bool is_loss;
};
/* Finds the next note from `*at` on, which starts with 0; false when there is none. */
bool sonde_diff_out__next_note(const struct sonde_diff *d, size_t *at, struct sonde_diff_note *out);
/* Writes all notes about a loss, or all others, as a list for people; a long list is cut. */
void sonde_diff_out__side_notes(struct sonde_sink *to, const struct sonde_diff *d, bool losses,
	const char *const around[2], sonde_diff_escape *escape);

/* How the gate ended, in words; NULL = there is no gate. */
const char *sonde_diff_out__gate(const struct sonde_diff *d);
/* Appends how the gate ended, and the first region that decided that. */
void sonde_diff_out__put_gate(struct sonde_buf *to, const struct sonde_diff *d, sonde_diff_escape *escape);
/* Writes the other regions that decided how the gate ended, and reasons that are no regions. */
void sonde_diff_out__gate_notes(struct sonde_sink *to, const struct sonde_diff *d, const char *const around[2], sonde_diff_escape *escape);

/* Writes the metrics that changed, in this order of regions; nothing if none did. */
int sonde_diff_out__metrics_text(const struct sonde_diff *d, const struct sonde_diff_out *o,
	const uint32_t *order, struct sonde_sink *to, struct sonde_err *err);
void sonde_diff_out__metrics_md(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to);
void sonde_diff_out__metrics_html(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to);

#endif
