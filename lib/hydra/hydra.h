/*
 * A composed configuration: YAML layers plus overrides, frozen into one tree in
 * which every value knows its origin.
 *
 * The language is Hydra's: config groups, defaults lists, packages, `key=value`
 * overrides, interpolations, sweeps. README.md beside this file says what of it
 * there is.
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
 * A getter asked for a key that is not there, or of another type, returns the
 * neutral value (false, 0, empty): with a table of keys that is a mistake in the
 * caller, not in the input. Everything returned is borrowed and lives as long as
 * the config.
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
	const char *provider; /* who named it: "main", "command-line" */
	const char *dir;
	bool is_required; /* that it does not exist is an error */
	/*
	 * Asked about the folder, every folder on the way to a config and the config itself, each
	 * once it is open: what is read is what was asked about, wherever links lead by then. False
	 * with the reason in `why` fails the composition. NULL = everything may be read.
	 */
	bool (*is_allowed)(const struct stat *st, const char *path, char *why, size_t size);
};

/* All is borrowed for the call. */
struct hydra_request {
	const struct hydra_source *sources; /* for one path the first that has it wins */
	size_t nr_sources;
	const char *const *overrides; /* as typed */
	size_t nr_overrides;
	const char *config_name; /* the primary config; NULL = "config" */
	const char *job_name;	 /* hydra.job.name */
	/* Static. Files and overrides change its defaults; no other key is accepted, unless added
	 * by `+key=value` or kept by a row of the table. NULL = every key and value is accepted. */
	const struct hydra_key *keys;
	const char *keys_hint; /* static; where the user finds the list of keys */
	bool keeps_env; /* a variable of the environment that is not there is no error: its ${oc.env:…} stays */
	bool multirun;	       /* sweeps are allowed; see hydra_config_job_open */
	bool raw; /* interpolations stay as written and unchecked: for showing, not for using */
};

/*
 * Composes. Returns 0 with the config in `*out`, or a negative code with `*out`
 * NULL: SONDE_ERR_USAGE for anything the user wrote (also what would grow
 * without bound), SONDE_ERR_IO for a file that cannot be read, SONDE_ERR_NOMEM.
 */
int hydra_config_open(
	struct hydra_config **out, const struct hydra_request *req, struct sonde_err *err);
void hydra_config_free(struct hydra_config *c); /* NULL is fine */

/*
 * One YAML file as it stands: no defaults, no groups, no table of keys. Items of
 * a list are reached by number ("kernels.0.name").
 */
int hydra_config_file_open(struct hydra_config **out, const char *path, struct sonde_err *err);

/* Warnings of the composition, in words. */
const struct sonde_notes *hydra_config_notes(const struct hydra_config *c);

/* Values by dotted key: "server.port", "hydra.run.dir". */
bool hydra_config_bool(const struct hydra_config *c, const char *key);
int64_t hydra_config_int(const struct hydra_config *c, const char *key);
/* Scalars as text (NUL-terminated); null is empty. */
struct sonde_str hydra_config_str(const struct hydra_config *c, const char *key);
/* The same as it may be recorded: the text as written when an environment variable goes into it. */
struct sonde_str hydra_config_recorded(const struct hydra_config *c, const char *key);
/* The strings of a list (a single string is a list of one, null an empty one); returns how many. */
size_t hydra_config_list(
	const struct hydra_config *c, const char *key, const struct sonde_str **items);
/* The names directly below a map; returns how many. */
size_t hydra_config_keys(
	const struct hydra_config *c, const char *key, const struct sonde_str **names);
bool hydra_config_is_null(const struct hydra_config *c, const char *key); /* null, ??? or absent */

/* Where a value was set: "conf/db/mysql.yaml:3", "override 'a=1'", "" when unknown. */
struct sonde_str hydra_config_origin(const struct hydra_config *c, const char *key);

enum hydra_part { HYDRA_PART_JOB, HYDRA_PART_HYDRA, HYDRA_PART_ALL };

enum hydra_resolve {
	HYDRA_AS_WRITTEN,      /* interpolations stay */
	HYDRA_RESOLVED,	       /* replaced by their values */
	HYDRA_RESOLVED_NO_ENV, /* but those an environment variable goes into stay */
};

/* All zero: the job's keys as they were written. */
struct hydra_dump {
	enum hydra_part part;
	const char *package; /* only this node; NULL = all */
	enum hydra_resolve resolve;
	bool masks_secrets; /* texts whose name looks like a secret's (base/secret.h) are `***` */
};

/*
 * Writes YAML. A package that is a map or list gets the line `# @package P` in
 * front, a scalar is bare. SONDE_ERR_NOTFOUND when there is no such node.
 */
int hydra_config_dump(struct hydra_config *c, struct sonde_sink *out, const struct hydra_dump *how,
	struct sonde_err *err);
/* One line per value: `key: value  # origin`. */
int hydra_config_dump_origins(struct hydra_config *c, struct sonde_sink *out, enum hydra_part part,
	struct sonde_err *err);

/* The topmost keys that are not in the table of keys, "a, b.c"; nothing where there is no table. */
void hydra_config_print_kept(const struct hydra_config *c, struct sonde_buf *out);

enum hydra_info {
	HYDRA_INFO_DEFAULTS,	  /* table of what was merged where */
	HYDRA_INFO_DEFAULTS_TREE, /* how the defaults lists led there */
	HYDRA_INFO_SEARCHPATH,
};
int hydra_config_print_info(struct hydra_config *c, struct sonde_sink *out, enum hydra_info info,
	struct sonde_err *err);

/*
 * Sweeps. A config opened with `multirun` has jobs; each is composed on its own,
 * in order, with the clock of the master. Without sweeps there is one. Of the
 * master itself only the hydra node is of use: its keys may refer to what only
 * the jobs say, so they are neither resolved nor checked.
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
