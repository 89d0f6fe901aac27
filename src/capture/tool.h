/*
 * Tools: the profilers on this machine, and what they say of themselves.
 */
#ifndef SONDE_CAPTURE_TOOL_H
#define SONDE_CAPTURE_TOOL_H

#include "base/argv.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

#define SONDE_NCU_OLDEST 2021 /* older ones have no ranges */

struct sonde_tool {
	char path[1024];  /* empty = not found */
	char version[64]; /* "2025.3.1.0", empty = it did not say */
	unsigned major;
};

/*
 * Where `name` is: as given when it has a slash, else the first in PATH, else
 * in the usual places of NVIDIA's installers. False when nowhere; `path` holds
 * at least 1024 bytes.
 */
bool sonde_tool_find(char *path, const char *name);

/* Finds it and asks for its version (`--version`). SONDE_ERR_NOTFOUND when it is not there. */
int sonde_tool_open(struct sonde_tool *out, const char *name, struct sonde_err *err);

/*
 * Runs `argv` without a terminal and appends what it prints (both streams) to
 * `out`. Its exit status in `*status`. Ends it after `timeout_ms`.
 */
int sonde_tool_output(struct sonde_buf *out, int *status, char *const *argv, unsigned timeout_ms,
	struct sonde_err *err);
/* The same of a command that has to do well, within ten minutes: else `err` has what it said. */
int sonde_tool_text(struct sonde_buf *out, const struct sonde_argv *argv, struct sonde_err *err);

#endif
