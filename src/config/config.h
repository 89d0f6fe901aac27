/*
 * sonde's configuration: which keys there are, where its files are looked for,
 * and the two put together by the composer (lib/hydra).
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
 * hydra/hydra.h has what can be done with a config.
 */
#ifndef SONDE_CONFIG_CONFIG_H
#define SONDE_CONFIG_CONFIG_H

#include "hydra/hydra.h"

/*
 * The one table of keys, their types and their defaults (key_table.c): printed
 * by `sonde config --help` and in docs/configuration.md. Files need not repeat it.
 * A key that it does not have is an error, unless `+key=value` added it.
 */
extern const struct hydra_key sonde_keys[];

/* All zero is a good request: the shipped configuration without overrides. */
struct sonde_config_request {
	const char *const *overrides; /* as typed; borrowed for the call */
	size_t nr_overrides;
	const char *config_dir;	 /* --config-dir, searched first; NULL = none */
	const char *config_name; /* --config-name; NULL = "config" */
	bool takes_project;	 /* ./conf counts: for what runs programs, not for what reads files */
	bool is_recorded;	 /* by a run: variables of the environment that are gone stay as they are written */
	bool multirun;		 /* sweeps are allowed; see hydra_config_job_open */
	bool any_keys;		 /* no check against the table of keys */
	bool raw; /* interpolations stay as written and unchecked: for showing, not for using */
	struct sonde_notes
		*notes; /* whether ./conf is used, in words; NULL = nobody wants to know */
};

/*
 * Composes. Search path, first match wins: config_dir, ./conf (if it is to count), $XDG_CONFIG_HOME/sonde
 * or ~/.config/sonde, the conf that belongs to this program or libsonde.so: its build tree's
 * or the installed one. Errors as those of hydra_config_open.
 *
 * A configuration can have programs run and libraries loaded, so ./conf is used
 * only when it looks like one of ours and everything in it is the user's own and
 * writable by nobody else, or when an override says `sonde.trust=true`.
 */
int sonde_config_open(
	struct hydra_config **out, const struct sonde_config_request *req, struct sonde_err *err);

/*
 * How a configuration is written into what a run or report leaves behind: values
 * that come from the environment as the interpolation (unless sonde.record_env),
 * secrets masked.
 */
struct hydra_dump sonde_config_record(
	const struct hydra_config *c, enum hydra_part part, const char *package);

#endif
