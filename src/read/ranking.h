/*
 * A ranking: kernels by the time they took, out of an Nsight Systems kernel
 * summary (CSV of `nsys stats --report cuda_gpu_kern_sum`) or of any capture.
 */
#ifndef SONDE_READ_RANKING_H
#define SONDE_READ_RANKING_H

#include "read/records.h"

struct sonde_ranked {
	struct sonde_str name; /* demangled */
	uint64_t calls;	       /* 0 = unknown */
	double time_ns, time_pct;
};

struct sonde_ranking {
	SONDE_VEC(struct sonde_ranked) kernels; /* longest first, then by name */
	struct sonde_arena arena;
};

/* Reads `path`: first as a kernel summary, else as a capture (a directory too). */
int sonde_ranking_open(struct sonde_ranking *out, const char *path, struct sonde_err *err);
void sonde_ranking_release(struct sonde_ranking *r);

#endif
