/* Where sonde looks for configs. */
#include "config/config_int.h"

#include "base/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#ifndef SONDE_DATADIR
#define SONDE_DATADIR "/usr/local/share/sonde"
#endif

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

static void add(struct sonde_config_sources *s, const char *provider, const char *dir)
{
	s->at[s->nr++] = (struct hydra_source){.provider = provider, .dir = dir};
}

static void add_user(struct sonde_config_sources *s)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg && *xdg)
		snprintf(s->user, sizeof(s->user), "%s/sonde", xdg);
	else if (home && *home)
		snprintf(s->user, sizeof(s->user), "%s/.config/sonde", home);
	if (*s->user && sonde_dir_exists(s->user))
		add(s, "user", s->user);
}

/* The folder of the running program, or of the file this code is in: of libsonde.so another one. */
static bool find_home(char home[PATH_MAX], bool is_code)
{
	Dl_info info;
	char *slash;

	if (!realpath(is_code && dladdr((void *)(uintptr_t)find_home, &info) ? info.dli_fname
									     : "/proc/self/exe",
		    home))
		return false;
	slash = strrchr(home, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

/*
 * What belongs to this program or library: the conf of its build tree or of an
 * installation that was moved, else where it was meant to be installed.
 */
static struct hydra_source find_shipped(struct sonde_config_sources *s)
{
	static const char *const places[] = {
		"../share/sonde/conf", "../conf", "../../conf", "../../../conf"};
	const size_t nr = sizeof(places) / sizeof(places[0]);
	char home[PATH_MAX], path[PATH_MAX + 32];
	size_t i;

	for (i = 0; i < 2 * nr; i++) {
		if (!find_home(home, i >= nr))
			continue;
		snprintf(path, sizeof(path), "%s/%s", home, places[i % nr]);
		if (exists(path, "profiling/ncu/ncu.default.yaml") && realpath(path, s->shipped))
			return (struct hydra_source){
				.provider = i % nr ? "build" : "installed", .dir = s->shipped};
	}
	snprintf(s->shipped, sizeof(s->shipped), "%s/conf", SONDE_DATADIR);
	return (struct hydra_source){
		.provider = "installed", .dir = sonde_dir_exists(s->shipped) ? s->shipped : NULL};
}

static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Said on the command line: no file can answer for itself. */
static bool is_trusted(const struct sonde_config_request *req)
{
	bool is = false;
	size_t i;

	for (i = 0; i < req->nr_overrides; i++)
		if (sonde_config__is_trust(req->overrides[i]))
			is = strcasecmp(strchr(req->overrides[i], '=') + 1, "true") == 0;
	return is;
}

/* ./conf, unless it is what comes anyway. */
static void add_project(struct sonde_config_sources *s, const struct sonde_config_request *req)
{
	const bool is_asked_for = is_trusted(req);
	char why[PATH_MAX + 64];
	bool is_used;

	if (!sonde_dir_exists("conf") || !looks_like_ours("conf") || is_same("conf", s->shipped) ||
		(req->config_dir && is_same("conf", req->config_dir)))
		return;
	is_used = is_asked_for || sonde_config__is_safe("conf", why, sizeof(why));
	if (is_used)
		add(s, "project", "conf");
	if (is_used && !is_asked_for)
		s->at[s->nr - 1].is_allowed = sonde_config__is_still_own;
	if (req->notes && is_used)
		sonde_note(req->notes, "the configuration in ./conf is used");
	else if (req->notes)
		sonde_note(req->notes, "./conf is not used: %s; " SONDE_CONFIG_MEND, why);
}

void sonde_config__find_sources(
	struct sonde_config_sources *s, const struct sonde_config_request *req)
{
	const struct hydra_source shipped = find_shipped(s);

	if (req->config_dir) {
		add(s, "command-line", req->config_dir);
		s->at[0].is_required = true;
	}
	if (req->takes_project)
		add_project(s, req);
	add_user(s);
	if (shipped.dir)
		s->at[s->nr++] = shipped;
}
