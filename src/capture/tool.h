/* Tools: the profilers on this machine, and their versions. */
#ifndef SONDE_CAPTURE_TOOL_H
#define SONDE_CAPTURE_TOOL_H

#include "base/argv.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

#define SONDE_NCU_OLDEST 2021 /* older versions have no ranges */

struct sonde_tool {
	char path[1024];  /* empty = not found */
	char version[64]; /* "2025.3.1.0"; empty = the tool did not say */
	unsigned major;
};

/*
 * Finds the program `name`: as given when it has a slash, else the first in PATH, else in the usual places of NVIDIA's
 * installers. False when it is nowhere; `path` has room for at least 1024 bytes.
 */
bool sonde_tool_find(char *path, const char *name);
/* Says why `name`, which sonde_tool_find() did not find, cannot be started, and what to do. Returns SONDE_ERR_NOTFOUND. */
int sonde_tool_refuse(const char *name, struct sonde_err *err);

/* Finds the tool and asks for its version (`--version`). SONDE_ERR_NOTFOUND when it is nowhere. */
int sonde_tool_open(struct sonde_tool *out, const char *name, struct sonde_err *err);

/*
 * Runs `argv` without a terminal and appends what it prints (both streams) to `out`. `*status` gets its exit status.
 * After `timeout_ms` it is ended.
 */
int sonde_tool_output(struct sonde_buf *out, int *status, char *const *argv, unsigned timeout_ms,
	struct sonde_err *err);
/* The same for a command that must succeed within ten minutes: otherwise `err` contains what it printed. */
int sonde_tool_text(struct sonde_buf *out, const struct sonde_argv *argv, struct sonde_err *err);

#endif
