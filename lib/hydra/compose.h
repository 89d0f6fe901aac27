/*
 * One composition: search path, defaults, merging, overrides, runtime values.
 * Room-private: everybody else goes through hydra.h.
 */
#ifndef HYDRA_COMPOSE_H
#define HYDRA_COMPOSE_H

#include "hydra/defaults.h"
#include "hydra/interp.h"

struct hydra_compose {
	/* The request. */
	struct hydra_ctx *cx;
	struct hydra_search search; /* sources; the last one is the schema source */
	struct sonde_str name;	    /* of the primary config; empty = none */
	const char *job_name;
	int64_t now;
	const struct hydra_key *keys; /* below every file: what they start from; NULL = none */
	bool multirun;		      /* sweeps are legal and ignored, `group: ???` is left out */
	bool skip_missing;
	bool has_job_num; /* one job of a sweep */
	int64_t job_num;
	/* The result. */
	SONDE_VEC(struct hydra_override) overrides;
	struct hydra_defaults defaults;
	struct hydra_datum *root; /* everything, with `hydra` */
	struct hydra_datum *job;  /* without it: a copy */
};

/* Adds an override; parse errors surface in hydra_compose__run, in order. */
int hydra_compose__override(struct hydra_compose *c, struct sonde_str line);
int hydra_compose__run(struct hydra_compose *c);
void hydra_compose__release(struct hydra_compose *c);

/* For interpolations in the job config or in the whole one. */
struct hydra_lookup hydra_compose__scope(struct hydra_compose *c);

/* Fills in the `hydra` node of the root, where there is one. */
int hydra_compose__fill(struct hydra_compose *c);
/* Task override lines as a directory name (hydra.job.override_dirname). */
struct sonde_str hydra_compose__dirname(struct hydra_compose *c);

#endif
