/*
 * The roofline point of a region or kernel: work per byte, work per second.
 *
 * Made from figures of a tree where the capture has FLOP and DRAM counters;
 * otherwise everything is NaN. FLOPs are counted as Nsight Compute does: one per
 * add or multiply, two per fused multiply-add, tensor operations as reported. An
 * instruction of half precision works on two values and counts twice, also where a
 * program uses only one of them.
 *
 * Sampled counters have no operations, but what the pipes did. Tensor cycles are taken for dense
 * 16-bit operations, instructions of the FMA pipe for 32 multiply-adds. Whatever the type of the
 * numbers is, a point then lies as far below its ceiling as the pipe was idle.
 */
#ifndef SONDE_TREE_ROOFLINE_H
#define SONDE_TREE_ROOFLINE_H

#include "tree/tree.h"

struct sonde_roofline {
	double flop;	   /* floating-point operations, NaN = not counted; 0 only where all kinds were */
	double dram_bytes; /* read and written, NaN = not counted */
	double intensity;  /* flop ÷ dram_bytes, NaN when either is missing or no byte moved */
	double flop_per_s; /* flop ÷ time */
	double bytes_per_s;
	const char *at_least; /* why flop, intensity and flop_per_s are lower bounds; NULL = they are not */
	bool is_of_pipes; /* they are made from sampled pipes: SONDE_FLOP_OF_PIPES */
};

#define SONDE_TENSOR_UNCOUNTED                                                                     \
	"tensor operations were not counted: add the device's sm__ops_path_tensor metrics to the " \
	"capture (ncu --query-metrics lists them)"

#define SONDE_SCALAR_UNCOUNTED                                                                     \
	"operations outside the tensor cores were not counted: add " SONDE_METRIC_THREADS_OF("*")   \
	" to the capture"

#define SONDE_FLOP_OF_PIPES                                                                        \
	"from sampled pipes, as if they did dense 16-bit operations and multiply-adds only"
/* Which of the first two it is where points of the tree are lower bounds. */
const char *sonde_roofline_uncounted(const struct sonde_tree *t);
/* The third, where all operations of the tree are of this kind; else NULL. */
const char *sonde_roofline_source(const struct sonde_tree *t);

/* The sign and the note of a point: "≥ " and why, "~" and from what; "" and NULL where it is exact. */
const char *sonde_roofline_sign(const struct sonde_roofline *r);
const char *sonde_roofline_note(const struct sonde_roofline *r);

/* `time_ns` is the time of the same part the figures were made for. */
struct sonde_roofline sonde_roofline_of(
	const struct sonde_tree *t, const struct sonde_figures *figures, double time_ns);

/*
 * The ceilings: what the device could do at its own clocks, from the attributes
 * the report has of it. A fused multiply-add counts twice. NaN = the report does
 * not say, or the device is not one we know.
 */
struct sonde_peaks {
	double flop_per_s;   /* single precision, outside the tensor cores */
	double tensor_per_s; /* 16-bit floats in the tensor cores, dense */
	double bytes_per_s;  /* of DRAM */
};

/* The ceilings of the device that the capture used; NaN where devices differ. */
struct sonde_peaks sonde_peaks_of(const struct sonde_tree *t);

#endif
