/* The struct and functions shared by the files that implement hydra.h. Private to lib/hydra. */
#ifndef HYDRA_HYDRA_INT_H
#define HYDRA_HYDRA_INT_H

#include "hydra/compose.h"
#include "hydra/hydra.h"

struct hydra_config {
	struct sonde_arena arena;
	struct sonde_notes notes;
	struct hydra_ctx cx;
	struct hydra_compose compose;
	struct hydra_request req;   /* the request with copies of its strings, and without the overrides */
	struct hydra_datum *frozen; /* the resolved config, with the table's defaults; NULL when raw */
	struct hydra_datum *jobs;   /* of a multirun: for each job the list of its override lines; else NULL */
};

/* The context of a const config, as memory for results: getters take a const config. */
struct hydra_ctx *hydra_config__scratch(const struct hydra_config *c);
/* Fills in `err` from the failure. For an unknown key it suggests the nearest one. */
int hydra_config__report(struct hydra_config *c, struct sonde_err *err);

/* Appends where a value was set: "FILE:LINE", "override 'TEXT'" or "set at run time". */
void hydra_config__put_origin(struct sonde_buf *b, const struct hydra_datum *n);

#endif
