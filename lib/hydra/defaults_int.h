/* Functions shared by the files of the defaults lists (defaults*.c). Room-private. */
#ifndef HYDRA_DEFAULTS_INT_H
#define HYDRA_DEFAULTS_INT_H

#include "hydra/defaults.h"

/* The registered choice for an override key, or NULL. */
struct hydra_group_choice *hydra_defaults__choice(struct hydra_defaults *d, struct sonde_str key);
/* Files one override under choices, additions, deletions, or overrides of values, which are applied after merging. */
int hydra_defaults__take(struct hydra_defaults *d, const struct hydra_override *o);
/* Whether `~group` deletes the item; if so, marks the item as deleted. */
bool hydra_defaults__is_deleted(struct hydra_defaults *d, struct hydra_item *it);
/* Whether the name of an item contains ${; hydra_defaults__resolve replaces the name by its value. */
bool hydra_defaults__is_interpolation(const struct hydra_item *it);
int hydra_defaults__resolve(struct hydra_defaults *d, struct hydra_item *it);

/* Record failures whose messages list the available options and the search path. */
int hydra_defaults__not_found(struct hydra_defaults *d, struct hydra_item *it);
int hydra_defaults__must_specify(struct hydra_defaults *d, struct hydra_item *it);
int hydra_defaults__no_primary(struct hydra_defaults *d, struct sonde_str name);

/* Turns the tree d->root into d->list, and checks the list. */
int hydra_defaults__flatten(struct hydra_defaults *d);

#endif
