/* What the three files of the defaults lists share. Room-private. */
#ifndef SONDE_CONFIG_DEFAULTS_INT_H
#define SONDE_CONFIG_DEFAULTS_INT_H

#include "config/defaults.h"

/* The registered choice for an override key, or NULL. */
struct sonde_group_choice *sonde_defaults__choice(struct sonde_defaults *d, struct sonde_str key);
/* Sorts one override: a choice, an addition, a deletion, or a value for later. */
int sonde_defaults__take(struct sonde_defaults *d, const struct sonde_override *o);

/* Failures with the options there are and where was looked. */
int sonde_defaults__not_found(struct sonde_defaults *d, struct sonde_item *it);
int sonde_defaults__must_specify(struct sonde_defaults *d, struct sonde_item *it);
int sonde_defaults__no_primary(struct sonde_defaults *d, struct sonde_str name);

/* d->root into d->list, and what must hold for it. */
int sonde_defaults__flatten(struct sonde_defaults *d);

#endif
