/*
 * Roles: what a counter counts, in words that are the same on every chip, and
 * the sets of them that `counters=NAME` chooses.
 *
 * NVIDIA names a counter differently from chip to chip, and some counters fit into one
 * pass only under the name of a group (`TPC.TriageCompute.sm__cycles_active`). A role
 * lists the base names that mean it, best first; a session (sampling.h) uses the one that
 * the chip has. All counters are summed over the device (`.sum`), so samples can be added up.
 */
#ifndef SONDE_SAMPLE_ROLES_H
#define SONDE_SAMPLE_ROLES_H

#include "base/str.h"

struct sonde_role {
	const char *name; /* `dram.read_bytes`; the last word says what is counted */
	/* Base names, best first. On the chip, a group may come in front of the base name. */
	const char *bases[4];
};

/* All roles, in the order samples carry them. Ends with a NULL name. */
extern const struct sonde_role sonde_roles[];

const struct sonde_role *sonde_role_find(struct sonde_str name); /* NULL when there is none */

/* Whether there is a set with this name. */
bool sonde_set_is_known(struct sonde_str set);
/* Whether the set has the role; the set `full` has all roles. */
bool sonde_set_has(struct sonde_str set, const char *role);
/* The names of all sets, separated by `|`, for messages. */
const char *sonde_set_names(void);

#endif
