/*
 * Progress: how far a capture has come, in lines that somebody else shows.
 *
 * On a terminal one live line; otherwise a plain line now and then. Follows the
 * profiler's log file as it grows. When the number of results to come is known
 * (`expected`), the line has the time left too.
 */
#ifndef SONDE_CAPTURE_PROGRESS_H
#define SONDE_CAPTURE_PROGRESS_H

#include "capture/ncu_log.h"

struct sonde_progress {
	struct sonde_ncu_log log;
	const char *path;  /* the log, borrowed; may not exist yet; NULL = none */
	const char *what;  /* "ncu", for the line */
	uint64_t expected; /* results in all, 0 = unknown */
	/* Shows a line; a live one takes the place of the last ("" clears it). NULL = quiet. */
	void (*show)(const char *line, bool is_live);
	/* Private. */
	int fd;
	bool is_live, has_line;
	uint64_t begin_ns, next_line_ns, interval_ns;
};

void sonde_progress_begin(struct sonde_progress *p, const char *what, const char *log_path);
/* For `struct sonde_child_spec`: takes the progress as `of`. */
void sonde_progress_tick(void *progress);
/* Reads the rest of the log and ends the live line. The log's findings stay until release. */
void sonde_progress_end(struct sonde_progress *p);
void sonde_progress_release(struct sonde_progress *p);

#endif
