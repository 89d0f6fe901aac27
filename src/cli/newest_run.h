/*
 * The run that is meant when the user names none: the newest in tmp/profile-output, where `sonde run` puts its runs by
 * default.
 */
#ifndef SONDE_CLI_NEWEST_RUN_H
#define SONDE_CLI_NEWEST_RUN_H

#include "base/arena.h"
#include "base/err.h"

#define SONDE_RUNS "tmp/profile-output"

/*
 * Finds the newest run and says which one it is; the path is in the arena. SONDE_ERR_USAGE, with what to do, when there
 * is none.
 */
int sonde_newest_run(const char **out, const char *command, struct sonde_arena *arena, struct sonde_err *err);
/* The same; but if a comparison (`sonde run --base-cmd`) is newer, the directory with its page. */
int sonde_newest_page(const char **out, const char *command, struct sonde_arena *arena, struct sonde_err *err);

#endif
