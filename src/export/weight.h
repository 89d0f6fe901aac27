/*
 * The quantity that the widths of a flame graph show: it is additive, and every node has it.
 *
 * `time` (GPU time, ns), `host` (time of the range entries, ns), `launches`,
 * `entries`, or any metric that adds up over launches. Entries of nested regions
 * are counted beside those of the region around them, so that widths nest: a
 * region entered once with ten entries inside is eleven wide. Inclusive is never less
 * than the sum of the children: where entries overlap (threads, start/end) the
 * own part is 0, not negative.
 */
#ifndef SONDE_EXPORT_WEIGHT_H
#define SONDE_EXPORT_WEIGHT_H

#include "export/shown_reports.h"

struct sonde_weights {
	double *inclusive, *own; /* by node; 0 where the quantity is missing */
	const char *unit;	 /* "ns", "byte", … or "" */
	struct sonde_str name;	 /* of the quantity, for people */
	double total;		 /* of the roots of push/pop trees */
};

/*
 * `by` NULL: GPU time, or host time or entries where there is none; the first metric of a report of figures alone. SONDE_ERR_USAGE, naming what
 * there is, when `by` is nothing that adds up.
 */
int sonde_weights_build(struct sonde_weights *out, const struct sonde_tree *t,
	const struct sonde_report *r, const char *by, struct sonde_err *err);
void sonde_weights_release(struct sonde_weights *w);

/* A frame's name: `io@fetch` for the roots of a domain, `prefetch (start/end)`. Not escaped. */
void sonde_frame_name(
	struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_node *n);

#endif
