/*
 * The environment that makes a Python program mark its PyTorch modules (src/modules/): a folder of ours first in
 * PYTHONPATH, whose sitecustomize.py does the rest. It goes with every profiler that records NVTX ranges.
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
/* Whether leaf modules were left out in a process whose capture is in `dir`; removes the files that said so. */
bool sonde_modules_left_leaves(const char *dir);
/* Whether these words run a Python script that imports torch, as far as its text shows. */
bool sonde_modules_would_help(char *const *argv);

#endif
