/*
 * The quantity that the widths of a flame graph show: it is additive, and every node has it.
 *
 * It is `time` (GPU time, ns), `host` (time of the range entries, ns), `launches`, `entries`, or any metric that adds
 * up over launches. Entries of nested regions are counted beside those of the region around them, so that widths nest:
 * a region entered once with ten entries inside is eleven wide. Inclusive is never less than the sum of the children:
 * where entries overlap (threads, start/end) the own part is 0, not negative.
 */
#ifndef SONDE_EXPORT_WEIGHT_H
#define SONDE_EXPORT_WEIGHT_H

#include "export/shown_reports.h"

/*
 * The end of a stack: a region, or a kernel in it that is in no region nested there. A kernel with PC samples that have
 * lines is split: there is a leaf for each line, with its share of the time, by samples.
 */
struct sonde_leaf {
	uint32_t node;
	uint32_t kernel; /* string number, SONDE_NONE = the region itself */
	uint32_t line;	 /* number in the cells' `lines`, SONDE_NONE = the kernel itself */
	double v;	 /* above 0 */
};

struct sonde_weights {
	double *inclusive, *own; /* by node; 0 where the quantity is missing */
	/*
	 * The own parts of all nodes again, by node, the largest kernels first. Kernels have time and launches only:
	 * for other quantities, and for what kernels leave, the leaf is the region.
	 */
	SONDE_VEC(struct sonde_leaf) leaves;
	size_t which;		 /* private: the quantity */
	const char *unit;	 /* "ns", "byte", … or "" */
	struct sonde_str name;	 /* name of the quantity, for people */
	double total;		 /* sum of the roots of push/pop trees */
};

/*
 * `by` NULL = the first of GPU time, host time, launches and entries that the report has; for a report of figures
 * alone, its first metric. SONDE_ERR_USAGE, with what there is, when `by` does not add up.
 */
int sonde_weights_build(struct sonde_weights *out, const struct sonde_tree *t,
	const struct sonde_report *r, const char *by, struct sonde_err *err);
void sonde_weights_release(struct sonde_weights *w);

/* A frame's name: `io@fetch` for the roots of a domain, `prefetch (start/end)`. Not escaped. */
void sonde_frame_name(
	struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_node *n);
/* The frame of a line: `/opt/demo/a.cu:17`. Not escaped. */
void sonde_line_name(struct sonde_buf *out, const struct sonde_tree *t, uint32_t line);

#endif
