/*
 * A request to Nsight Systems, and its command lines.
 *
 * With `capture_range` = "nvtx", nsys records only while the range `nvtx_capture` (`RANGE@DOMAIN`, `*` = any domain) is
 * open. Ranges whose text is not a registered string need NSYS_NVTX_PROFILER_REGISTER_ONLY=0 for that, so it is set
 * too. Everything is borrowed; NULL leaves an option out.
 */
#ifndef SONDE_CAPTURE_NSYS_ARGS_H
#define SONDE_CAPTURE_NSYS_ARGS_H

#include "base/argv.h"
#include "capture/ncu_args.h"

struct sonde_nsys_request {
	const char *report; /* -o, without .nsys-rep */
	const char *trace, *sample, *capture_range, *capture_range_end, *nvtx_capture;
	uint64_t delay_s, duration_s; /* 0 = from the start; 0 = to the end */
	struct sonde_words extra;
	bool force_overwrite;
};

void sonde_nsys_args_build(struct sonde_argv *out, const struct sonde_tool *nsys,
	const struct sonde_nsys_request *q, char *const *program);

/* The command lines of `nsys export --type sqlite` and `nsys stats --format csv` for a finished report. */
void sonde_nsys_export_args(struct sonde_argv *out, const struct sonde_tool *nsys,
	const char *report, const char *sqlite);
void sonde_nsys_stats_args(struct sonde_argv *out, const struct sonde_tool *nsys, const char *table,
	const char *report, const char *prefix);

#endif
