/* What the files of the defaults lists share. Room-private. */
#ifndef HYDRA_DEFAULTS_INT_H
#define HYDRA_DEFAULTS_INT_H

#include "hydra/defaults.h"

/* The registered choice for an override key, or NULL. */
struct hydra_group_choice *hydra_defaults__choice(struct hydra_defaults *d, struct sonde_str key);
/* Sorts one override: a choice, an addition, a deletion, or a value for later. */
int hydra_defaults__take(struct hydra_defaults *d, const struct hydra_override *o);
/* Whether `~group` took the item out, which it then knows. */
bool hydra_defaults__is_deleted(struct hydra_defaults *d, struct hydra_item *it);
/* A name with ${ in it, and what it stands for; it takes its place. */
bool hydra_defaults__is_interpolation(const struct hydra_item *it);
int hydra_defaults__resolve(struct hydra_defaults *d, struct hydra_item *it);

/* Failures with the options there are and where was looked. */
int hydra_defaults__not_found(struct hydra_defaults *d, struct hydra_item *it);
int hydra_defaults__must_specify(struct hydra_defaults *d, struct hydra_item *it);
int hydra_defaults__no_primary(struct hydra_defaults *d, struct sonde_str name);

/* d->root into d->list, and what must hold for it. */
int hydra_defaults__flatten(struct hydra_defaults *d);

#endif
