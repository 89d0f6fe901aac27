/*
 * Where sonde's own words end and the program's begin.
 *
 * Own words are the options of `usage` with their values, and `KEY=VALUE`
 * overrides (also `+KEY=`, `++KEY=`, `~KEY`). The first other word, or `--`,
 * begins the program. Returns how many words of argv are own (argv[0] included).
 */
#ifndef SONDE_CLI_SPLIT_H
#define SONDE_CLI_SPLIT_H

#include "cli/option.h"

int sonde_split(const struct sonde_usage *usage, int argc, char **argv);

#endif
