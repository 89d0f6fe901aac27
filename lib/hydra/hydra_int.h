/* What the files behind hydra.h share. Private to lib/hydra. */
#ifndef HYDRA_HYDRA_INT_H
#define HYDRA_HYDRA_INT_H

#include "hydra/compose.h"
#include "hydra/hydra.h"

struct hydra_config {
	struct sonde_arena arena;
	struct sonde_notes notes;
	struct hydra_ctx cx;
	struct hydra_compose compose;
	struct hydra_request req;   /* its strings are copies; without the overrides */
	struct hydra_datum *frozen; /* resolved, with the table's defaults; NULL when raw */
	struct hydra_datum *jobs;   /* of a multirun: list of lists of lines */
};

/* The arena is the config's own scratch: getters stay const for their callers. */
struct hydra_ctx *hydra_config__scratch(const struct hydra_config *c);
/* Fills in `err` from the failure, with the nearest key where that helps. */
int hydra_config__report(struct hydra_config *c, struct sonde_err *err);

/* Where a value was set, in words. */
void hydra_config__put_origin(struct sonde_buf *b, const struct hydra_datum *n);

#endif
