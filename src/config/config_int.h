/* What the files of this room share. */
#ifndef SONDE_CONFIG_CONFIG_INT_H
#define SONDE_CONFIG_CONFIG_INT_H

#include "config/config.h"

#include <limits.h>

#define SONDE_CONFIG_MAX_SOURCES 4

/* Where configs are looked for, in order. */
struct sonde_config_sources {
	struct hydra_source at[SONDE_CONFIG_MAX_SOURCES];
	size_t nr;
	char user[PATH_MAX], shipped[PATH_MAX];
};

void sonde_config__find_sources(struct sonde_config_sources *s, const char *config_dir);

#endif
