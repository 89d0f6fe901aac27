#include "base/argv.h"
#include "cli/run_int.h"
#include "cli/overrides.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MODE "hydra.mode="

/*
 * `counters=NAME` chooses from a config group; `counters=[a,b]` names counters instead.
 * `pipeline.torch_profiler.enable`, a key of another program, asks for what is called `pipeline.torch.enable` here.
 */
static void add_override(struct sonde_argv *lines, const char *line)
{
	static const char names[] = "counters=[", profiler[] = "pipeline.torch_profiler.enable=";
	const char *plain = line + strspn(line, "+");

	if (strncmp(line, names, sizeof(names) - 1) == 0) {
		sonde_argv_printf(lines, "counters.names=[%s", line + sizeof(names) - 1);
	} else if (strncmp(plain, profiler, sizeof(profiler) - 1) == 0) {
		sonde_argv_printf(lines, "++%s", plain);
		sonde_argv_printf(lines, "pipeline.torch.enable=%s", plain + sizeof(profiler) - 1);
	} else {
		sonde_argv_add(lines, line);
	}
}

/* Hydra's runner adds an override that says how it runs (hydra.mode); so do we. */
int sonde_run_config_open(
	struct hydra_config **out, const struct sonde_run_request *q, struct sonde_err *err)
{
	struct sonde_config_request req = {
		.config_dir = q->config_dir,
		.config_name = q->config_name,
		.takes_project = true,
		.multirun = q->is_multirun};
	struct sonde_argv lines = {0};
	size_t i;
	int rc;

	*out = NULL;
	for (i = 0; i < q->overrides.nr; i++)
		add_override(&lines, q->overrides.at[i]);
	sonde_argv_add(&lines, q->is_multirun ? MODE "MULTIRUN" : MODE "RUN");
	req.overrides = (const char *const *)lines.words.at;
	req.nr_overrides = lines.words.nr;
	rc = lines.failed ? sonde_err_nomem(err)
			  : sonde_settings_compose(out, &req, q->is_quiet, err);
	sonde_argv_release(&lines);
	return rc;
}

/* Leaves out an override that is the same in the first job, the last one and this one. */
void sonde_run_config_job_words(
	const struct hydra_config *master, size_t job, struct sonde_buf *out)
{
	const struct sonde_str *lines, *first, *last;
	size_t nr_jobs = hydra_config_nr_jobs(master), i;
	size_t nr = hydra_config_job_overrides(master, job, &lines);
	bool has_all = nr_jobs < 2 || hydra_config_job_overrides(master, 0, &first) != nr ||
		       hydra_config_job_overrides(master, nr_jobs - 1, &last) != nr;
	const char *gap = "";

	for (i = 0; i < nr; i++) {
		if (!has_all && sonde_str_eq(lines[i], first[i]) && sonde_str_eq(lines[i], last[i]))
			continue;
		sonde_buf_printf(out, "%s%.*s", gap, SONDE_STR_ARG(lines[i]));
		gap = " ";
	}
}

int sonde_run_config_yaml(struct hydra_config *c, struct sonde_buf *out,
	enum sonde_run_yaml part, struct sonde_err *err)
{
	static const enum hydra_part parts[] = {
		[SONDE_RUN_RESOLVED_YAML] = HYDRA_PART_JOB,
		[SONDE_RUN_JOB_YAML] = HYDRA_PART_JOB,
		[SONDE_RUN_HYDRA_YAML] = HYDRA_PART_HYDRA,
		[SONDE_RUN_OVERRIDES_YAML] = HYDRA_PART_ALL,
		[SONDE_RUN_ALL_YAML] = HYDRA_PART_ALL,
	};
	bool is_list = part == SONDE_RUN_OVERRIDES_YAML;
	struct hydra_dump how = sonde_config_record(
		c, parts[part], is_list ? "hydra.overrides.task" : NULL);
	struct sonde_sink sink;
	struct sonde_str yaml;
	int rc;

	if (part != SONDE_RUN_RESOLVED_YAML)
		how.resolve = HYDRA_AS_WRITTEN;
	sonde_sink_init_string(&sink);
	rc = hydra_config_dump(c, &sink, &how, err);
	yaml = sonde_buf_view(&sink.buf);
	if (is_list) /* drop the line that names the package */
		sonde_str_cut(yaml, '\n', &yaml);
	sonde_buf_str(out, yaml);
	sonde_sink_abort(&sink);
	return rc ? rc : out->failed ? sonde_err_nomem(err) : 0;
}

void sonde_run_config_overrides(const struct hydra_config *c, struct sonde_argv *out)
{
	static const char *const keys[] = {"hydra.overrides.hydra", "hydra.overrides.task"};
	const struct sonde_str *lines;
	size_t k, i, nr;

	for (k = 0; k < 2; k++) {
		nr = hydra_config_list(c, keys[k], &lines);
		for (i = 0; i < nr; i++)
			if (!sonde_str_starts(lines[i], MODE))
				sonde_argv_add(out, lines[i].p);
	}
}

/* Whether an override is about sonde's own settings, not the program's. */
static bool is_ours(struct sonde_str line)
{
	static const char *const theirs[] = {"device", "model", "infer"};
	static const char *const groups[] = {"profiling/", "report", "counters"};
	struct sonde_str value, package, key;
	const struct hydra_key *k;
	size_t i;

	while (line.n && strchr("+~", line.p[0]))
		line = (struct sonde_str){line.p + 1, line.n - 1};
	key = sonde_str_cut(sonde_str_cut(line, '=', &value), '@', &package);
	for (i = 0; i < 3; i++)
		if (sonde_str_is(key, theirs[i]))
			return false;
	for (i = 0; i < 3; i++)
		if (sonde_str_starts(key, groups[i]))
			return true;
	for (k = sonde_keys; k->key; k++) {
		struct sonde_str own = sonde_str_from(k->key);

		if (k->type != HYDRA_KEY_KEPT && k->type != HYDRA_KEY_FREE && own.n >= key.n &&
			memcmp(own.p, key.p, key.n) == 0 && (own.n == key.n || own.p[key.n] == '.'))
			return true;
	}
	return sonde_str_starts(key, "hydra.") || sonde_str_starts(key, "pipeline.workload.env.");
}

void sonde_run_config_handed_on(const struct hydra_config *c, const char *run_dir, struct sonde_argv *out)
{
	static const char profiler[] = "pipeline.torch_profiler.enable";
	struct sonde_argv lines = {0};
	struct sonde_buf kept = {0};
	size_t i;

	sonde_run_config_overrides(c, &lines);
	for (i = 0; i < lines.words.nr; i++)
		if (!is_ours(sonde_str_from(lines.words.at[i])))
			sonde_argv_add(out, lines.words.at[i]);
	hydra_config_print_kept(c, &kept);
	if (hydra_config_bool(c, profiler) && !hydra_config_bool(c, "pipeline.torch.enable"))
		sonde_argv_printf(out, "%s=false", profiler);
	if (kept.n) /* the configuration is that of a Hydra program, which would make a run directory of its own */
		sonde_argv_printf(out, "hydra.run.dir=%s/workload", run_dir);
	out->failed |= lines.failed | kept.failed;
	sonde_buf_release(&kept);
	sonde_argv_release(&lines);
}

/* Reads a value: for the program, or for what is written about the run. */
typedef struct sonde_str value_fn(const struct hydra_config *c, const char *key);

/* Adds `PREFIX_NAME=value` for every name below `key`; with `is_users`, only where the user chose the value. */
static void add_below(const struct hydra_config *c, struct sonde_argv *env, value_fn *value,
	const char *key, const char *prefix, bool is_users)
{
	const struct sonde_str *names;
	size_t nr = hydra_config_keys(c, key, &names), i, k;

	for (i = 0; i < nr; i++) {
		struct sonde_buf full = {0}, word = {0};

		sonde_buf_printf(&full, "%s.%.*s", key, SONDE_STR_ARG(names[i]));
		sonde_buf_puts(&word, prefix);
		for (k = 0; k < names[i].n; k++)
			sonde_buf_putc(&word, *prefix ? (char)toupper((unsigned char)names[i].p[k])
						      : names[i].p[k]);
		if (full.failed || word.failed)
			env->failed = true;
		else if (!is_users || sonde_config_is_users(c, full.p))
			sonde_argv_printf(
				env, "%s=%.*s", word.p, SONDE_STR_ARG(value(c, full.p)));
		sonde_buf_release(&full);
		sonde_buf_release(&word);
	}
}

static value_fn *value_for(const struct hydra_config *c, bool is_recorded)
{
	return is_recorded && !hydra_config_bool(c, "sonde.record_env")
		       ? hydra_config_recorded
		       : hydra_config_str;
}

/*
 * The shipped sizes and the default device are for the bundled workload. A program of the user's gets only what the user
 * chose: it runs as it does without sonde.
 */
int sonde_run_config_env(
	const struct sonde_run *r, struct sonde_argv *env, bool is_recorded, struct sonde_err *err)
{
	const struct hydra_config *c = r->config;
	value_fn *value = value_for(c, is_recorded);
	struct sonde_str device = value(c, "device");
	bool is_users = !r->is_bundled;

	add_below(c, env, value, "model", "SONDE_MODEL_", is_users);
	add_below(c, env, value, "infer", "SONDE_INFER_", is_users);
	if (device.n && (!is_users || sonde_config_is_users(c, "device")))
		sonde_argv_printf(env, "SONDE_DEVICE=%.*s", SONDE_STR_ARG(device));
	add_below(c, env, value, "hydra.job.env_set", "", false);
	add_below(c, env, value, "pipeline.workload.env", "", false);
	return env->failed ? sonde_err_nomem(err) : 0;
}

void sonde_run_config_command(const struct hydra_config *c, struct sonde_argv *out)
{
	static const char key[] = "pipeline.workload.command";
	const struct sonde_str *words;
	size_t i, nr = hydra_config_list(c, key, &words);
	value_fn *value = value_for(c, true);
	bool is_list = hydra_config_str(c, key).n == 0;
	char at[64];

	for (i = 0; i < nr; i++) {
		snprintf(at, sizeof(at), "%s.%zu", key, i);
		sonde_argv_add(out, value(c, is_list ? at : key).p);
	}
}
