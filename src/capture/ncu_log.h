/*
 * The log of Nsight Compute (`--log-file`), read as it grows.
 *
 * Feed it bytes as they come: it counts results, and turns known messages into findings, each a situation of
 * catalogue/advice.h. Start with `= {0}`, end with `sonde_ncu_log_release`.
 */
#ifndef SONDE_CAPTURE_NCU_LOG_H
#define SONDE_CAPTURE_NCU_LOG_H

#include "catalogue/advice.h"

struct sonde_ncu_log {
	uint64_t nr_results;   /* kernels, graphs or ranges profiled so far */
	uint64_t nr_passes;    /* passes of all results together */
	uint64_t app_passes;   /* runs of the whole program, in application replay */
	unsigned nr_processes; /* processes that ncu has connected to */
	int program_status;    /* the program's exit status as ncu reports it; -1 = not reported */
	char current[128]; /* name of the kernel, graph or range that is being profiled */
	uint32_t seen;	   /* one bit per situation */
	char details[SONDE_NR_LOG_SITUATIONS][200];
	struct sonde_buf line; /* a line that is not complete yet */
};

void sonde_ncu_log_feed(struct sonde_ncu_log *log, struct sonde_str bytes);
/* Ends the log: a last line without a line end counts too. */
void sonde_ncu_log_finish(struct sonde_ncu_log *log);
void sonde_ncu_log_release(struct sonde_ncu_log *log);

bool sonde_ncu_log_has(const struct sonde_ncu_log *log, enum sonde_situation s);
/* Whether ncu failed in a way that kernel replay does not have. */
bool sonde_ncu_log_is_range_limit(const struct sonde_ncu_log *log);

/* Whether the log has a finding that spoils the capture, other than the program's own failure. */
bool sonde_ncu_log_has_failure(const struct sonde_ncu_log *log);

/* Whether the log has this finding and no other one that explains it, so that the user should see it. */
bool sonde_ncu_log_should_tell(const struct sonde_ncu_log *log, enum sonde_situation s);

#endif
