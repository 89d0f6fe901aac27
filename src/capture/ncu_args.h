/*
 * A request to Nsight Compute: one struct, one command line.
 *
 * The fields are ncu's own options, one to one. NULL, an empty list or a negative number leaves an option out, so that
 * ncu's default holds. NVTX expressions are already in ncu's grammar. Everything is borrowed.
 */
#ifndef SONDE_CAPTURE_NCU_ARGS_H
#define SONDE_CAPTURE_NCU_ARGS_H

#include "base/argv.h"
#include "base/words.h"
#include "capture/tool.h"

struct sonde_ncu_request {
	const char *report; /* -o, without .ncu-rep */
	const char *log;    /* --log-file */
	const char *replay_mode, *target_processes, *set;
	/* -k and its base, as given. ncu has no globs (gemm*): a glob becomes a regex for function names. */
	const char *kernel_name, *kernel_name_base;
	const char *clock_control;
	const char *push_pop_scope, *range_filter;
	struct sonde_words nvtx_include, nvtx_exclude;
	struct sonde_words metrics, sections;
	struct sonde_words extra;       /* further words, passed as they are */
	long launch_skip, launch_count;
	bool force_overwrite;
	bool import_sass;
	bool waits_for_start; /* --profile-from-start off: ncu waits for cudaProfilerStart */
};

/* `ncu … PROGRAM ARGS…`; `program` ends with NULL. Check `out->failed`. */
void sonde_ncu_args_build(struct sonde_argv *out, const struct sonde_tool *ncu,
	const struct sonde_ncu_request *q, char *const *program);

/* `ncu --import REPORT --page PAGE [--csv]`: prints a report as ncu itself reads it. */
void sonde_ncu_import_args(
	struct sonde_argv *out, const struct sonde_tool *ncu, const char *report, const char *page);

#endif
