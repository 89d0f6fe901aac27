/*
 * A ranking: kernels sorted by the time they took. Nsight Systems writes one, as CSV of
 * `nsys stats --report cuda_gpu_kern_sum`; for captures it is made from a report.
 */
#ifndef SONDE_READ_RANKING_H
#define SONDE_READ_RANKING_H

#include "read/records.h"

struct sonde_ranked {
	struct sonde_str name; /* demangled */
	uint64_t calls;	       /* 0 = unknown */
	double time_ns, time_pct;
	bool is_copy;	       /* a copy or a memset: not a kernel that can be profiled */
};

/* All zero is an empty ranking. */
struct sonde_ranking {
	SONDE_VEC(struct sonde_ranked) kernels; /* longest first, then by name */
	struct sonde_arena arena;
};

/* Reads a kernel summary. SONDE_NO_SUMMARY, which is no error, when `path` is something else. */
#define SONDE_NO_SUMMARY 1
int sonde_ranking_open(struct sonde_ranking *out, const char *path, struct sonde_err *err);
/* For kernels that were added by hand: fills in missing shares of the time, then sorts. */
void sonde_ranking_finish(struct sonde_ranking *r);
void sonde_ranking_release(struct sonde_ranking *r);

#endif
