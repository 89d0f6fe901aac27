/*
 * Progress: how far a capture is, in lines that the caller shows.
 *
 * On a terminal this is one live line, otherwise a plain line now and then. It follows the profiler's log file as it
 * grows. If the number of results to come is known (`expected`), the line has the time left too.
 */
#ifndef SONDE_CAPTURE_PROGRESS_H
#define SONDE_CAPTURE_PROGRESS_H

#include "capture/ncu_log.h"

struct sonde_progress {
	struct sonde_ncu_log log;
	const char *path;  /* the profiler's log, borrowed; may not exist yet; NULL = none */
	const char *what;  /* the profiler's name in the line: "ncu" */
	uint64_t expected; /* results in all, 0 = unknown */
	/* Shows a line; a live one replaces the previous one ("" clears it). NULL = quiet. */
	void (*show)(const char *line, bool is_live);
	/* Private. */
	int fd;
	bool is_live, has_line;
	uint64_t begin_ns, next_line_ns, interval_ns;
};

void sonde_progress_begin(struct sonde_progress *p, const char *what, const char *log_path);
/* The `tick` for `struct sonde_child_spec`, with the progress as `of`. */
void sonde_progress_tick(void *progress);
/* Reads the rest of the log and ends the live line. The log's findings stay until release. */
void sonde_progress_end(struct sonde_progress *p);
void sonde_progress_release(struct sonde_progress *p);

#endif
