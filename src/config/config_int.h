/* What the files behind the door share. Room-private. */
#ifndef SONDE_CONFIG_CONFIG_INT_H
#define SONDE_CONFIG_CONFIG_INT_H

#include "config/compose.h"
#include "config/config.h"

struct sonde_config {
	struct sonde_arena arena;
	struct sonde_notes notes;
	struct sonde_ctx cx;
	struct sonde_compose compose;
	struct sonde_config_request req; /* its strings are copies */
	struct sonde_datum *frozen;	 /* resolved, with the table's defaults; NULL when raw */
	struct sonde_datum *jobs;	 /* of a multirun: list of lists of lines */
	bool is_job;			 /* one job of a sweep */
};

/* The node a getter sees, or NULL. */
struct sonde_datum *sonde_config__node(const struct sonde_config *c, const char *key);
/* The sources of the search path, in order (config_search.c). */
int sonde_config__add_sources(struct sonde_config *c);
/* Fills in `err` from the failure, with the nearest key where that helps. */
int sonde_config__report(struct sonde_config *c, struct sonde_err *err);

#endif
