/*
 * The roofline point of a region or kernel: work per byte, work per second.
 *
 * Points are made from figures of a tree if the capture has FLOP and DRAM counters; otherwise everything is NaN. FLOPs
 * are counted as Nsight Compute does: one per add or multiply, two per fused multiply-add, tensor operations as
 * reported. A half-precision instruction works on two values and counts twice, even if the program uses only one of
 * them.
 *
 * Sampled counters do not count operations, only what the pipes did. Each tensor cycle is taken for dense 16-bit
 * operations, each instruction of the FMA pipe for 32 multiply-adds. So a point is as far below its ceiling as the pipe
 * was idle, whatever the type of the numbers is.
 */
#ifndef SONDE_TREE_ROOFLINE_H
#define SONDE_TREE_ROOFLINE_H

#include "tree/tree.h"

struct sonde_roofline {
	double flop;	   /* floating-point operations; NaN = not counted; 0 only if all kinds were counted */
	double dram_bytes; /* bytes read and written; NaN = not counted */
	double intensity;  /* flop ÷ dram_bytes; NaN = either is missing, or no byte moved */
	double flop_per_s; /* flop ÷ time */
	double bytes_per_s;
	const char *at_least; /* why flop, intensity and flop_per_s are lower bounds; NULL = they are exact */
	bool is_of_pipes; /* flop comes from sampled pipes: SONDE_FLOP_OF_PIPES */
};

#define SONDE_TENSOR_UNCOUNTED                                                                     \
	"tensor operations were not counted: add the device's sm__ops_path_tensor metrics to the " \
	"capture (ncu --query-metrics lists them)"

#define SONDE_SCALAR_UNCOUNTED                                                                     \
	"operations outside the tensor cores were not counted: add " SONDE_METRIC_THREADS_OF("*")   \
	" to the capture"

#define SONDE_FLOP_OF_PIPES                                                                        \
	"from sampled pipes, as if they did dense 16-bit operations and multiply-adds only"
/* The first or the second of these texts: why points of the tree are lower bounds. */
const char *sonde_roofline_uncounted(const struct sonde_tree *t);
/* The third text if all operations of the tree come from sampled pipes; else NULL. */
const char *sonde_roofline_source(const struct sonde_tree *t);

/* The sign of a point and its note: "≥ " and why; "~" and the source; "" and NULL if the point is exact. */
const char *sonde_roofline_sign(const struct sonde_roofline *r);
const char *sonde_roofline_note(const struct sonde_roofline *r);

/* `time_ns` must be the time of the part that the figures were made for. */
struct sonde_roofline sonde_roofline_of(
	const struct sonde_tree *t, const struct sonde_figures *figures, double time_ns);

/*
 * The ceilings: what the device could do at its own clocks, from the attributes that the report has of it. A fused
 * multiply-add counts twice. NaN = the report lacks an attribute, or sonde does not know the device.
 */
struct sonde_peaks {
	double flop_per_s;   /* single precision, outside the tensor cores */
	double tensor_per_s; /* 16-bit floats in the tensor cores, dense */
	double bytes_per_s;  /* bytes of DRAM per second */
};

/* The ceilings of the device that the capture used; NaN = it used devices that differ. */
struct sonde_peaks sonde_peaks_of(const struct sonde_tree *t);

#endif
