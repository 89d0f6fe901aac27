/* The search path of configs, for this room and its tests. */
#ifndef SONDE_CONFIG_CONFIG_INT_H
#define SONDE_CONFIG_CONFIG_INT_H

#include "config/config.h"

#include <limits.h>

#define SONDE_CONFIG_MAX_SOURCES 4

struct sonde_config_sources {
	struct hydra_source at[SONDE_CONFIG_MAX_SOURCES]; /* in the order in which they are searched */
	size_t nr;
	char user[PATH_MAX], shipped[PATH_MAX]; /* memory for the paths in `at` */
};

void sonde_config__find_sources(
	struct sonde_config_sources *s, const struct sonde_config_request *req);

#endif
