/*
 * sonde's configuration: the table of its keys, the search path of its files, and
 * a function that gives both to the composer (lib/hydra).
 *
 *     struct sonde_config_request req = {.overrides = argv + 1, .nr_overrides = argc - 1};
 *     struct hydra_config *c;
 *
 *     if (sonde_config_open(&c, &req, &err))
 *             …err.msg is one line with file:line or the override, and what to do
 *     if (hydra_config_bool(c, "report.aggregate"))
 *             …
 *     hydra_config_free(c);
 *
 * hydra/hydra.h has the functions that read a config.
 */
#ifndef SONDE_CONFIG_CONFIG_H
#define SONDE_CONFIG_CONFIG_H

#include "hydra/hydra.h"

/*
 * The only table of keys, their types and their defaults (key_table.c): printed
 * by `sonde config --help` and in docs/configuration.md. Files need not repeat the defaults.
 * A key that is not in the table is an error, unless `+key=value` added it.
 */
extern const struct hydra_key sonde_keys[];

/* A request that is all zero gets the shipped configuration and the user's own, without overrides. */
struct sonde_config_request {
	const char *const *overrides; /* as typed; borrowed for the call */
	size_t nr_overrides;
	const char *config_dir;	 /* --config-dir, searched first; NULL = none */
	const char *config_name; /* --config-name; NULL = "config" */
	bool takes_project;	 /* ./conf may be used: for commands that run programs, not for those that read files */
	bool is_recorded;	 /* the config was recorded by a run: ${oc.env:…} of a variable that is not set now stays as it is */
	bool multirun;		 /* sweeps are allowed; see hydra_config_job_open */
	bool any_keys;		 /* no check against the table of keys */
	bool raw; /* interpolations stay as written and nothing is checked: for showing a config, not for using it */
	struct sonde_notes
		*notes; /* receives a note whether ./conf is used; NULL = no note */
};

/*
 * Composes a configuration. The search path is, first match wins: config_dir; ./conf (with takes_project);
 * $XDG_CONFIG_HOME/sonde or ~/.config/sonde; the conf that belongs to this program or libsonde.so, in its build tree
 * or installed. Errors are those of hydra_config_open.
 *
 * A configuration can make sonde run programs and load libraries. So ./conf is used
 * only when it looks like one of ours, and either everything in it is the user's own and
 * writable by nobody else, or an override says `sonde.trust=true`.
 */
int sonde_config_open(
	struct hydra_config **out, const struct sonde_config_request *req, struct sonde_err *err);

/*
 * Whether the user chose a value: by an override, by a preset that an override names, or in a file of theirs. A value
 * of the shipped configuration or of the table of keys is sonde's own choice.
 */
bool sonde_config_is_users(const struct hydra_config *c, const char *key);

/*
 * How to write a configuration into the files of a run or report: secrets are masked, and a
 * value that comes from the environment is written as its interpolation (unless
 * sonde.record_env is true).
 */
struct hydra_dump sonde_config_record(
	const struct hydra_config *c, enum hydra_part part, const char *package);

#endif
