/* Checking against a table of keys. Private to lib/hydra. */
#ifndef HYDRA_KEYS_INT_H
#define HYDRA_KEYS_INT_H

#include "hydra/datum.h"
#include "hydra/keys.h"

/* The key of the table that is most similar to this one, or NULL. */
struct sonde_str hydra_keys__nearest(const struct hydra_key *keys, struct sonde_str key);

/*
 * Checks a resolved config: unknown keys (unless added on purpose), types,
 * ranges. `hint` (may be NULL) tells the user where the keys are listed.
 */
int hydra_keys__check(struct hydra_ctx *cx, const struct hydra_key *keys, const char *hint,
	const struct hydra_datum *job);

/*
 * Adds every key of the table that a tree lacks, with the table's default. This is done before
 * files are merged, as Hydra does with a structured config: files and plain overrides can then
 * set any key of the table.
 */
int hydra_keys__fill(struct hydra_ctx *cx, const struct hydra_key *keys, struct hydra_datum *tree);
/* Whether a row of the table (HYDRA_KEY_KEPT) keeps a key that has no row of its own. */
bool hydra_keys__keeps(const struct hydra_key *keys, struct sonde_str key);
/* Appends the topmost keys of a job that are not in the table, separated by commas. */
void hydra_keys__list_kept(
	const struct hydra_key *keys, const struct hydra_datum *job, struct sonde_buf *out);
/* Whether a value is the table's default: no file and no override has set it. */
bool hydra_keys__is_default(const struct hydra_datum *n);

#endif
