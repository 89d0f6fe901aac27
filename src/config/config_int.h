/* What the files of this room share. */
#ifndef SONDE_CONFIG_CONFIG_INT_H
#define SONDE_CONFIG_CONFIG_INT_H

#include "config/config.h"

#include <limits.h>

#define SONDE_CONFIG_MAX_SOURCES 4
#define SONDE_TRUST		 "sonde.trust="
#define SONDE_CONFIG_MEND                                                                          \
	"`chown` and `chmod go-w` mend that, sonde.trust=true or --config-dir conf uses it as it is"

/* Where configs are looked for, in order. */
struct sonde_config_sources {
	struct hydra_source at[SONDE_CONFIG_MAX_SOURCES];
	size_t nr;
	char user[PATH_MAX], shipped[PATH_MAX];
};

void sonde_config__find_sources(
	struct sonde_config_sources *s, const struct sonde_config_request *req);
bool sonde_config__is_trust(const char *override); /* `sonde.trust=…` */
/*
 * Whether a folder of configs may be used unasked: everything in it is the
 * user's own and nobody else may write to it. `why` says what is not.
 */
bool sonde_config__is_safe(const char *dir, char *why, size_t size);
/*
 * The same for one file or folder that is open (hydra.h, is_allowed): links may lead elsewhere
 * than they did when is_safe() looked, so each file is asked about again before it is read.
 */
bool sonde_config__is_still_own(const struct stat *st, const char *path, char *why, size_t size);

#endif
