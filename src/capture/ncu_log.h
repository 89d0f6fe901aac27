/*
 * What Nsight Compute says while it works: its `--log-file`, read as it grows.
 *
 * Feed it bytes as they come; lines are counted and known messages turned into
 * findings, each with its own explanation and advice. The texts are those of
 * ncu 2019–2025. Start with `= {0}`, end with `sonde_ncu_log_release`.
 */
#ifndef SONDE_CAPTURE_NCU_LOG_H
#define SONDE_CAPTURE_NCU_LOG_H

#include "base/str.h"

enum sonde_ncu_finding {
	SONDE_NCU_NOTHING,	   /* no kernel or range was profiled */
	SONDE_NCU_ONLY_START_END,  /* … as the expressions match only start/end ranges */
	SONDE_NCU_ONLY_PUSH_POP,   /* … as the expressions match only push/pop ranges */
	SONDE_NCU_UNSUPPORTED_API, /* range replay met an API it cannot capture; detail: its name */
	SONDE_NCU_NO_PERMISSION,   /* the counters are restricted */
	SONDE_NCU_COUNTERS_HELD,   /* another tool holds them */
	SONDE_NCU_BAD_METRIC,	   /* detail: its name */
	SONDE_NCU_BAD_SECTION,	   /* detail: its name */
	SONDE_NCU_BAD_EXPRESSION,  /* an NVTX expression ncu does not take */
	SONDE_NCU_BAD_OPTION,	   /* an option this ncu does not know */
	SONDE_NCU_REPLAY_MISMATCH, /* application replay met a different program */
	SONDE_NCU_PROGRAM_FAILED,  /* detail: its exit code */
	SONDE_NCU_PROGRAM_MISSING, /* ncu could not start it */
	SONDE_NCU_NO_DRIVER,	   /* no usable driver in the process */
	SONDE_NCU_CLOCKS,	   /* the clocks cannot be locked here */
	SONDE_NCU_DISK_FULL,
	SONDE_NCU_UNWRITABLE,	  /* the report cannot be written */
	SONDE_NCU_SIGNAL,	  /* ncu was told to stop */
	SONDE_NCU_MEMORY_BACKUP,  /* device memory saved in host memory: slow */
	SONDE_NCU_PROFILE_FAILED, /* detail: the kernel */
	SONDE_NCU_OTHER_ERROR,	  /* detail: the line */
	SONDE_NR_NCU_FINDINGS,
};

struct sonde_ncu_log {
	uint64_t nr_results;   /* kernels, graphs or ranges profiled so far */
	uint64_t nr_passes;    /* of all of them together */
	uint64_t app_passes;   /* runs of the whole program, in application replay */
	unsigned nr_processes; /* connected */
	int program_status;    /* what ncu says the program returned; -1 = says nothing */
	bool has_report;
	char current[128]; /* what is being profiled */
	uint32_t seen;	   /* bit per finding */
	char details[SONDE_NR_NCU_FINDINGS][200];
	struct sonde_buf line; /* not yet complete */
};

void sonde_ncu_log_feed(struct sonde_ncu_log *log, struct sonde_str bytes);
/* The end: what is left without a line end counts too. */
void sonde_ncu_log_finish(struct sonde_ncu_log *log);
void sonde_ncu_log_release(struct sonde_ncu_log *log);

bool sonde_ncu_log_has(const struct sonde_ncu_log *log, enum sonde_ncu_finding f);
/* A failure that kernel replay does not have. */
bool sonde_ncu_log_is_range_limit(const struct sonde_ncu_log *log);

/* What a finding means and what to do about it. */
struct sonde_ncu_advice {
	const char *means;  /* may hold one %s for the detail */
	const char *advice; /* never NULL */
	bool is_error;	    /* the capture is not what was asked for */
};
const struct sonde_ncu_advice *sonde_ncu_advice(enum sonde_ncu_finding f);

/* Every finding as `WHAT\n  try: ADVICE\n`, the causes first. */
void sonde_ncu_log_explain(const struct sonde_ncu_log *log, struct sonde_buf *out);

#endif
