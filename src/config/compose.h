/*
 * One composition: search path, defaults, merging, overrides, runtime values.
 * Room-private: everybody else goes through config.h.
 */
#ifndef SONDE_CONFIG_COMPOSE_H
#define SONDE_CONFIG_COMPOSE_H

#include "config/defaults.h"
#include "config/interp.h"

struct sonde_compose {
	/* The request. */
	struct sonde_ctx *cx;
	struct sonde_search search; /* sources; the last one is the schema source */
	struct sonde_str name;	    /* of the primary config; empty = none */
	const char *job_name;
	const char *version; /* hydra.runtime.version */
	int64_t now;
	bool multirun; /* sweeps are legal and ignored, `group: ???` is left out */
	bool skip_missing;
	bool has_job_num; /* one job of a sweep */
	int64_t job_num;
	/* The result. */
	SONDE_VEC(struct sonde_override) overrides;
	struct sonde_defaults defaults;
	struct sonde_datum *root; /* everything, with `hydra` */
	struct sonde_datum *job;  /* without it: a copy */
};

/* Adds an override; parse errors surface in sonde_compose__run, in order. */
int sonde_compose__override(struct sonde_compose *c, struct sonde_str line);
int sonde_compose__run(struct sonde_compose *c);
void sonde_compose__release(struct sonde_compose *c);

/* For interpolations in the job config or in the whole one. */
struct sonde_lookup sonde_compose__scope(struct sonde_compose *c);

/* Task override lines as a directory name (hydra.job.override_dirname). */
struct sonde_str sonde_compose__dirname(struct sonde_compose *c);

#endif
