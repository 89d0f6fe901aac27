/*
 * The environment that makes a Python program mark its PyTorch modules (src/modules/): a folder of sonde comes first in
 * PYTHONPATH, and the sitecustomize.py in it does the rest. This works with every profiler that records NVTX ranges.
 */
#ifndef SONDE_CAPTURE_MODULES_ENV_H
#define SONDE_CAPTURE_MODULES_ENV_H

#include "base/argv.h"
#include "base/err.h"

#include <stdbool.h>

/*
 * Adds the variables to `env`. `asked` is "off" (adds nothing), "auto", "all" or a depth.
 * SONDE_ERR_NOTFOUND when the folder is neither beside sonde nor installed.
 */
int sonde_modules_env(struct sonde_argv *env, const char *asked, struct sonde_err *err);
/* Whether a process whose capture is in `dir` left out leaf modules; removes the files that say so. */
bool sonde_modules_left_leaves(const char *dir);
/* Whether this command may run Python: it is Python, a script of any kind, or has words like one. */
bool sonde_modules_may_work(char *const *argv);
/* Whether this command runs a Python script whose text imports torch. */
bool sonde_modules_would_help(char *const *argv);

#endif
