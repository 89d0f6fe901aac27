/*
 * A composed configuration: YAML layers plus overrides, frozen into one tree in
 * which every value knows its origin.
 *
 * The language is Hydra's: config groups, defaults lists, packages, `key=value`
 * overrides, interpolations, sweeps. README.md beside this file lists what is
 * supported and what is not.
 *
 *     const struct hydra_source where[] = {{.provider = "main", .dir = "conf"}};
 *     struct hydra_request req = {.sources = where, .nr_sources = 1,
 *             .overrides = argv + 1, .nr_overrides = argc - 1, .keys = my_keys};
 *     struct hydra_config *c;
 *
 *     if (hydra_config_open(&c, &req, &err))
 *             …err.msg is one line with file:line or the override, and what to do
 *     if (hydra_config_bool(c, "server.verbose"))
 *             …
 *     hydra_config_free(c);
 *
 * A getter returns the neutral value (false, 0, empty) when the key does not exist or has
 * another type: with a table of keys that is a mistake in the caller, not in the
 * input. Everything returned is borrowed and lives as long as the config.
 */
#ifndef HYDRA_HYDRA_H
#define HYDRA_HYDRA_H

#include "base/err.h"
#include "base/note.h"
#include "base/sink.h"
#include "base/str.h"
#include "hydra/keys.h"

struct hydra_config;
struct stat;

/* A folder of configs. */
struct hydra_source {
	const char *provider; /* who named the folder: "main", "command-line" */
	const char *dir;
	bool is_required; /* it is an error if the folder does not exist */
	/*
	 * Called for the folder, for every folder on the way to a config and for the config itself, each after it
	 * was opened: so the file that is read is the one that was checked, even if a link changes meanwhile. False,
	 * with the reason in `why`, fails the composition. NULL = everything may be read.
	 */
	bool (*is_allowed)(const struct stat *st, const char *path, char *why, size_t size);
};

/* Unless a comment says otherwise, pointers are borrowed for the call only. */
struct hydra_request {
	const struct hydra_source *sources; /* the search path: the first source that has a file wins */
	size_t nr_sources;
	const char *const *overrides; /* as typed */
	size_t nr_overrides;
	const char *config_name; /* the primary config; NULL = "config" */
	const char *job_name;	 /* hydra.job.name */
	/* The table of keys (static). Files and overrides change its defaults. No other key is accepted, unless
	 * `+key=value` added it or a row of the table keeps it. NULL = every key and value is accepted. */
	const struct hydra_key *keys;
	const char *keys_hint; /* static; a sentence for error messages: where the user finds the list of keys */
	bool keeps_env; /* an environment variable that is not set is not an error: its ${oc.env:…} stays as written */
	bool multirun;	       /* sweeps are allowed; see hydra_config_job_open */
	bool raw; /* interpolations stay as written and nothing is checked: for showing a config, not for using it */
};

/*
 * Composes a configuration. Returns 0 with the config in `*out`, or a negative code with
 * `*out` NULL: SONDE_ERR_USAGE for a mistake in the files or overrides (also when they exceed
 * a limit), SONDE_ERR_IO for a file that cannot be read, SONDE_ERR_NOMEM.
 */
int hydra_config_open(
	struct hydra_config **out, const struct hydra_request *req, struct sonde_err *err);
void hydra_config_free(struct hydra_config *c); /* NULL is fine */

/*
 * Reads one YAML file by itself: without defaults, groups and a table of keys. Items of
 * a list are named by number ("kernels.0.name").
 */
int hydra_config_file_open(struct hydra_config **out, const char *path, struct sonde_err *err);

/* The warnings of the composition. */
const struct sonde_notes *hydra_config_notes(const struct hydra_config *c);

/* Values by dotted key: "server.port", "hydra.run.dir". */
bool hydra_config_bool(const struct hydra_config *c, const char *key);
int64_t hydra_config_int(const struct hydra_config *c, const char *key);
/* A scalar as text (NUL-terminated); null is empty. */
struct sonde_str hydra_config_str(const struct hydra_config *c, const char *key);
/* The same for a record: if the value contains an environment variable's, the text as written (${oc.env:…}) instead. */
struct sonde_str hydra_config_recorded(const struct hydra_config *c, const char *key);
/* The strings of a list (a single string counts as a list of one, null as an empty list); returns how many. */
size_t hydra_config_list(
	const struct hydra_config *c, const char *key, const struct sonde_str **items);
/* The names directly below a map; returns how many. */
size_t hydra_config_keys(
	const struct hydra_config *c, const char *key, const struct sonde_str **names);
bool hydra_config_is_null(const struct hydra_config *c, const char *key); /* null, ??? or absent */

/* Where a value was set: "conf/db/mysql.yaml:3", "override 'a=1'", HYDRA_DEFAULT for the table of keys, "" when unknown. */
struct sonde_str hydra_config_origin(const struct hydra_config *c, const char *key);

enum hydra_part { HYDRA_PART_JOB, HYDRA_PART_HYDRA, HYDRA_PART_ALL };

enum hydra_resolve {
	HYDRA_AS_WRITTEN,      /* interpolations stay */
	HYDRA_RESOLVED,	       /* replaced by their values */
	HYDRA_RESOLVED_NO_ENV, /* replaced, but those that use an environment variable stay */
};

/* How to write a config. All zero: the job's keys as they were written. */
struct hydra_dump {
	enum hydra_part part;
	const char *package; /* write only this node; NULL = all */
	enum hydra_resolve resolve;
	bool masks_secrets; /* whatever looks like a secret, by its key or its text (base/secret.h), becomes `***` */
};

/*
 * Writes YAML. A package that is a map or list begins with the line `# @package P`; of a
 * scalar only the value is written. SONDE_ERR_NOTFOUND when there is no such node.
 */
int hydra_config_dump(struct hydra_config *c, struct sonde_sink *out, const struct hydra_dump *how,
	struct sonde_err *err);
/* One line per value: `key: value  # origin`. */
int hydra_config_dump_origins(struct hydra_config *c, struct sonde_sink *out, enum hydra_part part,
	struct sonde_err *err);

/* Appends the topmost keys that are not in the table of keys: "a, b.c". Nothing when there is no table. */
void hydra_config_print_kept(const struct hydra_config *c, struct sonde_buf *out);

enum hydra_info {
	HYDRA_INFO_DEFAULTS,	  /* table of the configs that were merged, with their packages */
	HYDRA_INFO_DEFAULTS_TREE, /* the tree of configs that the defaults lists make */
	HYDRA_INFO_SEARCHPATH,
};
int hydra_config_print_info(struct hydra_config *c, struct sonde_sink *out, enum hydra_info info,
	struct sonde_err *err);

/*
 * Sweeps. A config opened with `multirun` is a master, which has jobs (one if no override
 * is a sweep). Each job is composed on its own, in order, with the clock of the master. Use
 * only the hydra node of the master itself: its other keys may refer to values that only
 * the jobs set, so they are neither resolved nor checked.
 */
size_t hydra_config_nr_jobs(const struct hydra_config *c);
int hydra_config_job_open(struct hydra_config **out, const struct hydra_config *master, size_t job,
	struct sonde_err *err);
/* The job's own override lines. */
size_t hydra_config_job_overrides(
	const struct hydra_config *master, size_t job, const struct sonde_str **lines);

/* hydra.run.dir, or for a job of a sweep hydra.sweep.dir/hydra.sweep.subdir. */
struct sonde_str hydra_config_run_dir(const struct hydra_config *c);

#endif
