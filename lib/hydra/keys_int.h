/* Checking against a table of keys. Private to lib/hydra. */
#ifndef HYDRA_KEYS_INT_H
#define HYDRA_KEYS_INT_H

#include "hydra/datum.h"
#include "hydra/keys.h"

/* The key that looks most like this one, or NULL. */
const char *hydra_keys__nearest(const struct hydra_key *keys, struct sonde_str key);

/*
 * Checks a resolved config: unknown keys (unless added on purpose), types,
 * ranges. `hint` (may be NULL) says where the keys are listed.
 */
int hydra_keys__check(struct hydra_ctx *cx, const struct hydra_key *keys, const char *hint,
	const struct hydra_datum *job);

/*
 * Gives a tree every key of the table that it lacks, with the table's default. Done before
 * files are merged, as Hydra does with a structured config: they and plain overrides may then
 * name any key.
 */
int hydra_keys__fill(struct hydra_ctx *cx, const struct hydra_key *keys, struct hydra_datum *tree);
/* Whether the table keeps a key that it does not have. */
bool hydra_keys__keeps(const struct hydra_key *keys, struct sonde_str key);
/* The keys of a job that the table does not have, the topmost, with commas between. */
void hydra_keys__list_kept(
	const struct hydra_key *keys, const struct hydra_datum *job, struct sonde_buf *out);
/* Whether nobody but the table said it. */
bool hydra_keys__is_default(const struct hydra_datum *n);

#endif
