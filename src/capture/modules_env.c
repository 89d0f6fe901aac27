#include "capture/modules_env.h"

#include "base/file.h"
#include "capture/tool.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "sitecustomize.py"

static bool is_depth(const char *asked)
{
	size_t n = strspn(asked, "0123456789");

	return n > 0 && n < 5 && !asked[n] && strtol(asked, NULL, 10) > 0;
}

/* The PYTHONPATH that the program would have without us; NULL = none. */
static const char *usual_path(const struct sonde_argv *env)
{
	static const char name[] = "PYTHONPATH=";
	const char *path = getenv("PYTHONPATH");
	size_t i;

	for (i = 0; i < env->words.nr; i++)
		if (env->words.at[i] && strncmp(env->words.at[i], name, sizeof(name) - 1) == 0)
			path = env->words.at[i] + sizeof(name) - 1;
	return path && *path ? path : NULL;
}

int sonde_modules_env(struct sonde_argv *env, const char *asked, struct sonde_err *err)
{
	static const char *const places[] = {"python/" FILE_NAME, "../lib/sonde/python/" FILE_NAME};
	char found[PATH_MAX], whole[PATH_MAX];
	const char *usual = usual_path(env);

	if (!asked || strcmp(asked, "off") == 0)
		return 0;
	if (strcmp(asked, "auto") != 0 && strcmp(asked, "all") != 0 && !is_depth(asked))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"pipeline.workload.modules=%s: write off, auto, all or a number from 1 on", asked);
	if (!sonde_find_beside(found, sizeof(found), places, sizeof(places) / sizeof(*places)) ||
		!realpath(found, whole))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"--modules: python/" FILE_NAME " was not found beside sonde or in ../lib/sonde: build sonde where the "
			"NVTX headers are");
	if (strchr(whole, ':'))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"--modules: %s contains a colon, which PYTHONPATH does not allow: install sonde elsewhere", whole);
	whole[strlen(whole) - sizeof("/" FILE_NAME) + 1] = '\0';
	sonde_argv_printf(env, "PYTHONPATH=%s%s%s", whole, usual ? ":" : "", usual ? usual : "");
	sonde_argv_printf(env, "SONDE_MODULES=%s", asked);
	return env->failed ? sonde_err_nomem(err) : 0;
}

bool sonde_modules_left_leaves(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool left = false;

	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, "modules-", 8) == 0 && sonde_str_ends(sonde_str_from(e->d_name), ".left")) {
			left = true;
			unlinkat(dirfd(d), e->d_name, 0);
		}
	if (d)
		closedir(d);
	return left;
}

static bool imports_torch(const char *path)
{
	struct sonde_mapping file;
	struct sonde_err ignored = {0};
	bool does;

	if (sonde_mapping_open(&file, path, &ignored))
		return false;
	does = memmem(file.data.p, file.data.n, "import torch", 12) || memmem(file.data.p, file.data.n, "from torch", 10);
	sonde_mapping_release(&file);
	return does;
}

/* Whether a file begins like a script; a program that is only in PATH is looked up there. */
static bool is_script(const char *program)
{
	struct sonde_err ignored = {0};
	struct sonde_mapping file;
	char path[1024];
	bool is;

	if (!sonde_tool_find(path, program) || sonde_mapping_open(&file, path, &ignored))
		return false;
	is = sonde_str_starts(file.data, "#!");
	sonde_mapping_release(&file);
	return is;
}

bool sonde_modules_may_work(char *const *argv)
{
	static const char *const ends[] = {".py", ".sh", "python", "python3", "torchrun"};
	size_t i, k;

	for (i = 0; argv[i]; i++) {
		const char *slash = strrchr(argv[i], '/'), *name = slash ? slash + 1 : argv[i];

		for (k = 0; k < sizeof(ends) / sizeof(*ends); k++)
			if (sonde_str_ends(sonde_str_from(name), ends[k]))
				return true;
		if (strncmp(name, "python", 6) == 0 || (i && strchr(argv[i], ' '))) /* sh -c 'python3 …' */
			return true;
	}
	return is_script(argv[0]);
}

bool sonde_modules_would_help(char *const *argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

	if (strncmp(name, "python", 6) != 0 && strcmp(name, "torchrun") != 0)
		return sonde_str_ends(sonde_str_from(name), ".py") && imports_torch(argv[0]);
	for (argv++; *argv; argv++)
		if (sonde_str_ends(sonde_str_from(*argv), ".py"))
			return imports_torch(*argv);
	return false;
}
