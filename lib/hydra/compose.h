/*
 * One composition: search path, defaults, merging, overrides, runtime values.
 * Room-private: other rooms use hydra.h.
 */
#ifndef HYDRA_COMPOSE_H
#define HYDRA_COMPOSE_H

#include "hydra/defaults.h"
#include "hydra/interp.h"

struct hydra_compose {
	/* The request. */
	struct hydra_ctx *cx;
	struct hydra_search search; /* the sources; the last one is the schema source */
	struct sonde_str name;	    /* name of the primary config; empty = none */
	const char *job_name;
	int64_t now; /* for ${now:…}: seconds since the epoch */
	const struct hydra_key *keys; /* table whose defaults are there before any file is merged; NULL = none */
	bool multirun;		      /* sweeps are legal and ignored, `group: ???` is left out */
	bool skip_missing;	      /* `group: ???` is left out, also without multirun */
	bool has_job_num; /* this is one job of a sweep, number `job_num` */
	int64_t job_num;
	/* The result. */
	SONDE_VEC(struct hydra_override) overrides;
	struct hydra_defaults defaults;
	struct hydra_datum *root; /* the whole config, with the `hydra` node */
	struct hydra_datum *job;  /* a copy without the `hydra` node */
};

/* Adds an override. If it cannot be parsed, that is a failure of the context, which hydra_compose__run returns too. */
int hydra_compose__override(struct hydra_compose *c, struct sonde_str line);
int hydra_compose__run(struct hydra_compose *c);
void hydra_compose__release(struct hydra_compose *c);

/* The values that interpolations in the job config, or in the whole one, can use. */
struct hydra_lookup hydra_compose__scope(struct hydra_compose *c);

/* Fills in the runtime values of the `hydra` node, if the root has one. */
int hydra_compose__fill(struct hydra_compose *c);
/* The override lines that are not for `hydra`, as a directory name (hydra.job.override_dirname). */
struct sonde_str hydra_compose__dirname(struct hydra_compose *c);

#endif
