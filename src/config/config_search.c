/* Where sonde looks for configs. */
#include "config/config_int.h"

#include "base/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SONDE_DATADIR
#define SONDE_DATADIR "/usr/local/share/sonde"
#endif

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0;
}

/*
 * Other programs keep a conf/ too, with a config.yaml that is none of our
 * business: ours has our groups, or a config.yaml that names our keys.
 */
static bool looks_like_ours(const char *dir)
{
	static const char *const words[] = {"\npipeline:", "\nreport:", "profiling/"};
	char path[PATH_MAX];
	struct sonde_mapping m;
	bool hit = false;
	size_t i;

	if (exists(dir, "profiling") || exists(dir, "report"))
		return true;
	snprintf(path, sizeof(path), "%s/config.yaml", dir);
	if (sonde_mapping_open(&m, path, NULL))
		return false;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hit |= m.data.n && memmem(m.data.p, m.data.n, words[i], strlen(words[i]));
	hit |= sonde_str_starts(m.data, "pipeline:") || sonde_str_starts(m.data, "report:");
	sonde_mapping_release(&m);
	return hit;
}

static int add(struct sonde_config *c, const char *provider, const char *dir)
{
	return sonde_search__add(
		&c->compose.search, SONDE_SOURCE_DIR, provider, sonde_str_from(dir));
}

static int add_user(struct sonde_config *c)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (xdg && *xdg)
		snprintf(path, sizeof(path), "%s/sonde", xdg);
	else if (home && *home)
		snprintf(path, sizeof(path), "%s/.config/sonde", home);
	else
		return 0;
	return is_dir(path) ? add(c, "user", path) : 0;
}

/* The conf of a build tree or of a moved installation, seen from the executable. */
static int add_beside(struct sonde_config *c)
{
	static const char *const places[] = {
		"../conf", "../../conf", "../../../conf", "../share/sonde/conf"};
	char exe[PATH_MAX], path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;
	size_t i;

	if (n <= 0)
		return 0;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char full[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", exe, places[i]);
		if (exists(path, "profiling/ncu/ncu.default.yaml") && realpath(path, full))
			return add(c, "build", full);
	}
	return 0;
}

int sonde_config__add_sources(struct sonde_config *c)
{
	struct sonde_search *s = &c->compose.search;
	const char *dir = c->req.config_dir;

	s->cx = &c->cx;
	if (dir && !is_dir(dir))
		return sonde_ctx__fail(&c->cx, "SearchPathException",
			"Additional config directory '%s' not found", dir);
	if (sonde_search__add(s, SONDE_SOURCE_BUILTIN, "hydra", (struct sonde_str){0}) ||
		(dir && add(c, "command-line", dir)))
		return c->cx.fail.code;
	if (is_dir("conf") && looks_like_ours("conf") && add(c, "project", "conf"))
		return c->cx.fail.code;
	if (add_user(c))
		return c->cx.fail.code;
	if (is_dir(SONDE_DATADIR "/conf") ? add(c, "installed", SONDE_DATADIR "/conf")
					  : add_beside(c))
		return c->cx.fail.code;
	return sonde_search__add(s, SONDE_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
}
