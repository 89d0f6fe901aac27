/*
 * The run that is meant when none is named: the newest in tmp/profile-output, where
 * `sonde run` puts its runs unless it is told otherwise.
 */
#ifndef SONDE_CLI_NEWEST_RUN_H
#define SONDE_CLI_NEWEST_RUN_H

#include "base/arena.h"
#include "base/err.h"

#define SONDE_RUNS "tmp/profile-output"

/* Finds it and says which it is; the path is in the arena. SONDE_ERR_USAGE when there is none, with what to do. */
int sonde_newest_run(const char **out, const char *command, struct sonde_arena *arena, struct sonde_err *err);
/* The same, or the comparison that is newer (`sonde run --base-cmd`), whose page is there. */
int sonde_newest_page(const char **out, const char *command, struct sonde_arena *arena, struct sonde_err *err);

#endif
