/*
 * The configuration: YAML layers plus overrides, composed into one frozen tree
 * in which every value knows its origin.
 *
 * The language is Hydra's: config groups, defaults lists, packages, `key=value`
 * overrides, interpolations, sweeps. Users paste the lines they know:
 *
 *     struct sonde_config_request req = {.overrides = argv + 1, .nr_overrides = argc - 1};
 *     struct sonde_config *c;
 *
 *     if (sonde_config_open(&c, &req, &err))
 *             …err.msg is one line with file:line or the override, and what to do
 *     if (sonde_config_bool(c, "report.aggregate"))
 *             …
 *     sonde_config_free(c);
 *
 * The keys, their types and defaults stand in one table (key_table.c, printed
 * by `sonde config --help` and in docs/configuration.md). What the table does
 * not know is an error, unless `+key=value` added it on purpose. A getter asked
 * for a key outside the table, or of another type, returns the neutral value
 * (false, 0, empty): that is a mistake in the caller, not in the input.
 *
 * Everything returned is borrowed and lives as long as the config.
 */
#ifndef SONDE_CONFIG_CONFIG_H
#define SONDE_CONFIG_CONFIG_H

#include "base/err.h"
#include "base/note.h"
#include "base/sink.h"
#include "base/str.h"

struct sonde_config;

/* All zero is a good request: the shipped configuration without overrides. */
struct sonde_config_request {
	const char *const *overrides; /* as typed; borrowed for the call */
	size_t nr_overrides;
	const char *config_dir;	 /* --config-dir, searched first; NULL = none */
	const char *config_name; /* --config-name; NULL = "config" */
	bool multirun;		 /* sweeps are allowed; see sonde_config_job_open */
	bool any_keys;		 /* no check against the table of keys */
	bool raw; /* interpolations stay as written and unchecked: for showing, not for using */
};

/*
 * Composes. Search path, first match wins: config_dir, ./conf (if it looks like
 * one of ours), $XDG_CONFIG_HOME/sonde or ~/.config/sonde, the conf that belongs
 * to this executable: its build tree's or the installed one.
 * Returns 0 with the config in `*out`, or a negative code with `*out` NULL:
 * SONDE_ERR_USAGE for anything the user wrote (also what would grow without
 * bound), SONDE_ERR_IO for a file that cannot be read, SONDE_ERR_NOMEM.
 */
int sonde_config_open(
	struct sonde_config **out, const struct sonde_config_request *req, struct sonde_err *err);
void sonde_config_free(struct sonde_config *c); /* NULL is fine */

/*
 * One YAML file as it stands: no defaults, no groups, no table of keys. For
 * files of another shape, such as lists of kernels; items of a list are reached
 * by number ("kernels.0.name").
 */
int sonde_config_file_open(struct sonde_config **out, const char *path, struct sonde_err *err);

/* Warnings of the composition, in words. */
const struct sonde_notes *sonde_config_notes(const struct sonde_config *c);

/* Values by dotted key: "report.kernels.include", "hydra.run.dir", "model.channels". */
bool sonde_config_bool(const struct sonde_config *c, const char *key);
int64_t sonde_config_int(const struct sonde_config *c, const char *key);
double sonde_config_float(const struct sonde_config *c, const char *key);
/* Scalars as text (NUL-terminated); null is empty. */
struct sonde_str sonde_config_str(const struct sonde_config *c, const char *key);
/* The strings of a list (a single string is a list of one, null an empty one); returns how many. */
size_t sonde_config_list(
	const struct sonde_config *c, const char *key, const struct sonde_str **items);
/* The names directly below a map such as "pipeline.workload.env"; returns how many. */
size_t sonde_config_keys(
	const struct sonde_config *c, const char *key, const struct sonde_str **names);
bool sonde_config_is_null(const struct sonde_config *c, const char *key); /* null, ??? or absent */

/* Where a value was set: "conf/report/default.yaml:3", "override 'a=1'", "" when unknown. */
struct sonde_str sonde_config_origin(const struct sonde_config *c, const char *key);

/* "xxh3:…" over the keys that change numbers (selection, metrics, nesting). */
struct sonde_str sonde_config_fingerprint(const struct sonde_config *c);

enum sonde_config_part { SONDE_CONFIG_JOB, SONDE_CONFIG_HYDRA, SONDE_CONFIG_ALL };

/*
 * Writes YAML, unresolved unless `resolve`. `package` (NULL = all) selects a
 * node: a map or list gets the line `# @package P` in front, a scalar is bare.
 * SONDE_ERR_NOTFOUND when there is no such node.
 */
int sonde_config_dump(struct sonde_config *c, struct sonde_sink *out, enum sonde_config_part part,
	const char *package, bool resolve, struct sonde_err *err);
/* One line per value: `key: value  # origin`. */
int sonde_config_dump_origins(struct sonde_config *c, struct sonde_sink *out,
	enum sonde_config_part part, struct sonde_err *err);

enum sonde_config_info {
	SONDE_CONFIG_DEFAULTS,	    /* table of what was merged where */
	SONDE_CONFIG_DEFAULTS_TREE, /* how the defaults lists led there */
	SONDE_CONFIG_SEARCHPATH,
};
int sonde_config_print_info(struct sonde_config *c, struct sonde_sink *out,
	enum sonde_config_info info, struct sonde_err *err);

/* The table of keys, for --help and for the manual. */
void sonde_config_print_help(struct sonde_sink *out);
void sonde_config_print_markdown(struct sonde_sink *out);

/*
 * Sweeps. A config opened with `multirun` has jobs; each is composed on its own,
 * in order, with the clock of the master. Without sweeps there is one. Of the
 * master itself only the hydra node is of use: its keys may refer to what only
 * the jobs say, so they are neither resolved nor checked.
 */
size_t sonde_config_nr_jobs(const struct sonde_config *c);
int sonde_config_job_open(struct sonde_config **out, const struct sonde_config *master, size_t job,
	struct sonde_err *err);
/* The job's own override lines. */
size_t sonde_config_job_overrides(
	const struct sonde_config *master, size_t job, const struct sonde_str **lines);

/* hydra.run.dir, or for a job of a sweep hydra.sweep.dir/hydra.sweep.subdir. */
struct sonde_str sonde_config_run_dir(const struct sonde_config *c);

#endif
