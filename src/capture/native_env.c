#include "capture/native_env.h"

#include "base/file.h"
#include "base/sink.h"
#include "format/attach.h"
#include "format/capture.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sonde_native_find(char *path, size_t size)
{
	static const char *const places[] = {"libsonde_inject.so", "../lib/sonde/libsonde_inject.so",
		"../lib/libsonde_inject.so"};
	const char *own = getenv("SONDE_INJECT_LIB");

	if (!own)
		return sonde_find_beside(path, size, places, sizeof(places) / sizeof(*places));
	snprintf(path, size, "%s", own);
	return access(path, R_OK) == 0;
}

static void add_lines(struct sonde_sink *to, const char *key, struct sonde_words values)
{
	size_t i;

	for (i = 0; i < values.nr; i++)
		sonde_sink_printf(to, "%s%s%s\n", key, *key ? "=" : "", values.at[i]);
}

/* The library reads lines, and so many patterns of each kind. */
static int check_patterns(const char *key, struct sonde_words values, struct sonde_err *err)
{
	size_t i;

	if (values.nr > SONDE_PATTERN_LIMIT)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"pipeline.native.%s: %zu patterns are too many (at most %d)", key,
			values.nr, SONDE_PATTERN_LIMIT);
	for (i = 0; i < values.nr; i++)
		if (strchr(values.at[i], '\n'))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				
				"pipeline.native.%s: a pattern has a line end: remove it", key);
	return 0;
}

static int write_config(const char *path, const char *dir, const struct sonde_native_request *q,
	struct sonde_err *err)
{
	struct sonde_sink sink;
	int rc = check_patterns("nvtx.include", q->nvtx_include, err);

	if (rc == 0)
		rc = check_patterns("nvtx.exclude", q->nvtx_exclude, err);
	if (rc == 0 && strchr(dir, '\n'))
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"the run directory's path has a line end, which a native capture cannot "
			"take: choose another (hydra.run.dir=DIR)");
	if (rc == 0)
		rc = sonde_sink_open(&sink, path, err);
	if (rc)
		return rc;
	sonde_sink_printf(&sink, "output=%s\n", dir);
	add_lines(&sink, "nvtx.include", q->nvtx_include);
	add_lines(&sink, "nvtx.exclude", q->nvtx_exclude);
	add_lines(&sink, "", q->options);
	return sonde_sink_close(&sink, err);
}

/* Makes the directory with the library's configuration in it, and the variables that lead there. */
static int build_env(
	struct sonde_argv *env, const struct sonde_native_request *q, struct sonde_err *err)
{
	char found[PATH_MAX], library[PATH_MAX], dir[PATH_MAX], config[PATH_MAX + 16];
	int rc;

	/* The whole path: the program may run elsewhere, or go there. */
	if (!sonde_native_find(found, sizeof(found)) || !realpath(found, library))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"libsonde_inject.so is neither beside sonde nor installed "
			"(SONDE_INJECT_LIB names another place)");
	rc = sonde_dir_make(q->dir, err);
	if (rc)
		return rc;
	if (!realpath(q->dir, dir))
		return sonde_err_io(err, q->dir, errno);
	snprintf(config, sizeof(config), "%s/inject.conf", dir);
	rc = sonde_native_attach_make(dir, NULL, err);
	if (rc == 0 && q->runner)
		rc = sonde_native_attach_make(dir, q->runner, err);
	if (rc == 0)
		rc = write_config(config, dir, q, err);
	sonde_argv_printf(env, "SONDE_INJECT_CONFIG=%s", config);
	/* Also where it is empty: ours may be a program of another run. */
	sonde_argv_printf(env, SONDE_RUNNER_VARIABLE "=%s", q->runner ? q->runner : "");
	if (q->mark)
		sonde_argv_add(env, q->mark);
	sonde_argv_printf(env, "CUDA_INJECTION64_PATH=%s", library);
	sonde_argv_printf(env, "NVTX_INJECTION64_PATH=%s", library);
	return rc ? rc : env->failed ? sonde_err_nomem(err) : 0;
}

bool sonde_native_is_there(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool is_there = false;

	while (d && !is_there && (e = readdir(d))) {
		struct sonde_str name = sonde_str_from(e->d_name);

		is_there = (sonde_str_ends(name, SONDE_CAPTURE_SUFFIX) ||
				   sonde_str_ends(name, SONDE_CAPTURE_SUFFIX ".tar")) &&
			   strncmp(e->d_name, SONDE_SAMPLES_PREFIX,
				   strlen(SONDE_SAMPLES_PREFIX)) != 0;
	}
	if (d)
		closedir(d);
	return is_there;
}

int sonde_native_run(struct sonde_child_end *out, const struct sonde_child_spec *spec,
	const struct sonde_native_request *q, struct sonde_err *err)
{
	struct sonde_child_spec with = *spec;
	struct sonde_argv env = {0};
	int rc;

	if (spec->env)
		sonde_argv_all(&env, spec->env);
	rc = build_env(&env, q, err);
	with.env = env.words.at;
	if (rc == 0)
		rc = sonde_child_run(out, &with, err);
	if (rc == 0)
		sonde_native_settle(q->dir, q->runner);
	sonde_argv_release(&env);
	return rc;
}
