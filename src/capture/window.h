/*
 * A window: when a program is captured, as `capture.window` says it.
 *
 *     step[100:110]       from the 101st entry of the range `step` to the end of the 110th: entries are
 *                         counted from 0, and the last number is excluded, so this is ten entries
 *     decode[5:]          from the sixth entry to the end; `DOMAIN@LABEL` and globs as in nvtx.include
 *     after=30s,for=10s   by time since the program started; `every=60s` repeats it
 *     profiler            between cudaProfilerStart and cudaProfilerStop
 *     nvtx                while the range `capture` of the NVTX domain `sonde` is open
 *     signal, signal=USR1 SIGUSR2 (or SIGUSR1) to sonde opens it, the next one closes it
 *     ctl                 by `sonde ctl PID start` and `stop`
 *
 * The native capture can do all of these. For Nsight Compute and Nsight Systems a window becomes options of their own;
 * an error names the windows that they cannot do.
 */
#ifndef SONDE_CAPTURE_WINDOW_H
#define SONDE_CAPTURE_WINDOW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum sonde_window_kind {
	SONDE_WINDOW_ALWAYS,
	SONDE_WINDOW_ENTRIES,
	SONDE_WINDOW_TIME,
	SONDE_WINDOW_PROFILER,
	SONDE_WINDOW_NVTX,
	SONDE_WINDOW_SIGNAL,
	SONDE_WINDOW_CTL,
};

struct sonde_window {
	uint8_t kind;		 /* enum sonde_window_kind */
	const char *text;	 /* as written, borrowed */
	const char *label;	 /* ENTRIES: label of the range, in the arena */
	uint64_t first, end;	 /* ENTRIES: the first, and the one after the last; `end` UINT64_MAX = no end */
	uint64_t after_ns, for_ns, every_ns; /* TIME: 0 = at once; to the end; only once */
	int signal;
};

/* Parses a window. `text` NULL or empty = always. SONDE_ERR_USAGE for a text that is none of the above. */
int sonde_window_parse(struct sonde_window *out, const char *text, struct sonde_arena *arena,
	struct sonde_err *err);

/* Appends the lines of the injected library's settings to `to`, each with a line end. */
void sonde_window_lines(const struct sonde_window *w, struct sonde_buf *to);

struct sonde_capture_settings;
/*
 * Sets the options of ncu and nsys that do the same, where they are enabled. SONDE_ERR_USAGE for windows that they
 * cannot do.
 */
int sonde_window_apply(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err);

#endif
