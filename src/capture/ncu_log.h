/*
 * The log of Nsight Compute (`--log-file`), read as it grows.
 *
 * Feed it bytes as they come; lines are counted and known messages turned into
 * findings, each a situation of catalogue/advice.h. Start with `= {0}`, end with
 * `sonde_ncu_log_release`.
 */
#ifndef SONDE_CAPTURE_NCU_LOG_H
#define SONDE_CAPTURE_NCU_LOG_H

#include "catalogue/advice.h"

struct sonde_ncu_log {
	uint64_t nr_results;   /* kernels, graphs or ranges profiled so far */
	uint64_t nr_passes;    /* of all of them together */
	uint64_t app_passes;   /* runs of the whole program, in application replay */
	unsigned nr_processes; /* connected */
	int program_status;    /* what ncu says the program returned; -1 = says nothing */
	char current[128]; /* what is being profiled */
	uint32_t seen;	   /* bit per situation */
	char details[SONDE_NR_LOG_SITUATIONS][200];
	struct sonde_buf line; /* not yet complete */
};

void sonde_ncu_log_feed(struct sonde_ncu_log *log, struct sonde_str bytes);
/* The log has ended: a last line without a line end counts too. */
void sonde_ncu_log_finish(struct sonde_ncu_log *log);
void sonde_ncu_log_release(struct sonde_ncu_log *log);

bool sonde_ncu_log_has(const struct sonde_ncu_log *log, enum sonde_situation s);
/* A failure that kernel replay does not have. */
bool sonde_ncu_log_is_range_limit(const struct sonde_ncu_log *log);

/* Whether it has a finding, other than the program's own end, that spoils the capture. */
bool sonde_ncu_log_has_failure(const struct sonde_ncu_log *log);

/* Whether it has this finding, and no other that explains it: worth telling. */
bool sonde_ncu_log_tells(const struct sonde_ncu_log *log, enum sonde_situation s);

#endif
