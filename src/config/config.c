/* Where sonde looks for configs, and which of them it trusts. The composer gets these, and the table of keys. */
#include "config/config_int.h"

#include "base/file.h"
#include "base/nearest.h"

#include <dlfcn.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SONDE_DATADIR
#define SONDE_DATADIR "/usr/local/share/sonde"
#endif

#define MAX_ENTRIES 10000
#define TRUST_KEY   "sonde.trust="
#define HOW_TO_MEND                                                                                \
	"`chown` and `chmod go-w` mend that, sonde.trust=true or --config-dir conf uses it as it is"

/* --- trust ------------------------------------------------------------------------------------- */

/* A configuration can run programs. So if somebody else may write to it, they could run programs as this user. */

/* Whether only the user owns and may write to a file; false with the reason in `why`. */
static bool is_own(const struct stat *st, const char *path, char *why, size_t size)
{
	if (st->st_uid != geteuid())
		snprintf(why, size, "%s belongs to somebody else", path);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, size, "others may write to %s", path);
	else
		return true;
	return false;
}

/*
 * Whether a file or folder that was opened is the user's own (is_allowed of hydra.h). Links may have been changed
 * since is_safe() checked them, so each file is checked again when it is open, before it is read.
 */
static bool is_still_own(const struct stat *st, const char *path, char *why, size_t size)
{
	char now[PATH_MAX + 64];

	if (is_own(st, path, now, sizeof(now)))
		return true;
	snprintf(why, size, "./conf was changed while it was read: %s; " HOW_TO_MEND, now);
	return false;
}

/* Whether an entry of the folder can be trusted; false with the reason in `why`. */
static bool is_safe_entry(const FTSENT *e, char *why, size_t size)
{
	if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR || e->fts_info == FTS_ERR) {
		snprintf(why, size, "%s: %s", e->fts_path, strerror(e->fts_errno));
		return false;
	}
	if (e->fts_info == FTS_DP || e->fts_info == FTS_SLNONE)
		return true; /* a directory that was already checked, or a link to nothing */
	return is_own(e->fts_statp, e->fts_path, why, size);
}

/*
 * Whether a folder of configs may be used although the user did not ask for it:
 * everything in it is the user's own and nobody else may write to it. False with the
 * reason in `why`.
 */
static bool is_safe(const char *dir, char *why, size_t size)
{
	char copy[PATH_MAX], *paths[] = {copy, NULL};
	bool is_good = true;
	unsigned nr = 0;
	FTSENT *e;
	FTS *walk;

	snprintf(copy, sizeof(copy), "%s", dir);
	/* FTS_LOGICAL follows links, as opening them will. */
	walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	if (!walk) {
		snprintf(why, size, "%s: %s", dir, strerror(errno));
		return false;
	}
	while (is_good && (e = fts_read(walk))) {
		is_good = is_safe_entry(e, why, size);
		if (is_good && ++nr > MAX_ENTRIES) {
			snprintf(why, size, "%s has more than %d files", dir, MAX_ENTRIES);
			is_good = false;
		}
	}
	fts_close(walk);
	return is_good;
}

/* Whether this is `sonde.trust=…`. */
static bool is_trust_key(const char *override)
{
	return strncmp(override + strspn(override, "+"), TRUST_KEY, strlen(TRUST_KEY)) == 0;
}

/* --- the search path --------------------------------------------------------------------------- */

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0;
}

/*
 * Whether a conf/ folder is sonde's. Other programs have a conf/ with a config.yaml
 * too; ours has our groups, or a config.yaml that names our keys.
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

static void add_source(struct sonde_config_sources *s, const char *provider, const char *dir)
{
	s->at[s->nr++] = (struct hydra_source){.provider = provider, .dir = dir};
}

static void add_user_dir(struct sonde_config_sources *s)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg && *xdg)
		snprintf(s->user, sizeof(s->user), "%s/sonde", xdg);
	else if (home && *home)
		snprintf(s->user, sizeof(s->user), "%s/.config/sonde", home);
	if (*s->user && sonde_dir_exists(s->user))
		add_source(s, "user", s->user);
}

/*
 * Finds the folder of the running program or, with `is_code`, of the file that contains this code. They differ in
 * programs that use libsonde.so.
 */
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
 * Finds the configs that belong to this program or library: the conf of its build tree
 * or of its installation, which may have been moved; otherwise the place that the build
 * was configured for.
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

/* Whether the command line trusts ./conf. A file cannot: it would trust itself. */
static bool is_trusted(const struct sonde_config_request *req)
{
	bool is = false;
	size_t i;

	for (i = 0; i < req->nr_overrides; i++)
		if (is_trust_key(req->overrides[i]))
			is = strcasecmp(strchr(req->overrides[i], '=') + 1, "true") == 0;
	return is;
}

/* Adds ./conf, unless it is one of the other sources. */
static void add_project_dir(struct sonde_config_sources *s, const struct sonde_config_request *req)
{
	const bool is_asked_for = is_trusted(req);
	char why[PATH_MAX + 64];
	bool is_used;

	if (!sonde_dir_exists("conf") || !looks_like_ours("conf") || is_same("conf", s->shipped) ||
		(req->config_dir && is_same("conf", req->config_dir)))
		return;
	is_used = is_asked_for || is_safe("conf", why, sizeof(why));
	if (is_used)
		add_source(s, "project", "conf");
	if (is_used && !is_asked_for)
		s->at[s->nr - 1].is_allowed = is_still_own;
	if (req->notes && is_used)
		sonde_note(req->notes, "the configuration in ./conf is used");
	else if (req->notes)
		sonde_note(req->notes, "./conf is not used: %s; " HOW_TO_MEND, why);
}

void sonde_config__find_sources(
	struct sonde_config_sources *s, const struct sonde_config_request *req)
{
	const struct hydra_source shipped = find_shipped(s);

	if (req->config_dir) {
		add_source(s, "command-line", req->config_dir);
		s->at[0].is_required = true;
	}
	if (req->takes_project)
		add_project_dir(s, req);
	add_user_dir(s);
	if (shipped.dir)
		s->at[s->nr++] = shipped;
}

/* --- composing --------------------------------------------------------------------------------- */

/*
 * lib/hydra words its errors as Hydra does, in terms of defaults lists and search paths. A user who mistyped an override
 * needs to know which override it was, what names there are, and what to write instead.
 */

/* The text from behind `mark`, which ends with a quote, up to the next quote; empty when `mark` is not there. */
static struct sonde_str quoted_behind(struct sonde_str text, const char *mark)
{
	const char *at = memmem(text.p, text.n, mark, strlen(mark));
	struct sonde_str s = {0};

	if (at) {
		s.p = at + strlen(mark);
		s.n = sonde_str_find((struct sonde_str){s.p, text.n - (size_t)(s.p - text.p)}, '\'');
	}
	return s;
}

/* The override that sets `value`, or NULL. */
static const char *override_of(const struct sonde_config_request *req, struct sonde_str value)
{
	size_t i;

	for (i = 0; i < req->nr_overrides; i++) {
		const char *sign = strchr(req->overrides[i], '=');

		if (sign && sonde_str_is(value, sign + 1))
			return req->overrides[i];
	}
	return NULL;
}

/* Rewords the error about an unknown preset: it names the presets there are, and the nearest one. */
static void say_no_preset(const struct sonde_config_request *req, struct sonde_str msg, struct sonde_err *err)
{
	static const char list[] = "Available options in '";
	struct sonde_str path = quoted_behind(msg, "Could not find '"), group = quoted_behind(msg, list), name, rest, options;
	struct sonde_nearest near = {.below = 4};
	const char *word;

	if (!path.n || !group.n || path.n <= group.n + 1 || memcmp(path.p, group.p, group.n) != 0)
		return;
	name = (struct sonde_str){path.p + group.n + 1, path.n - group.n - 1};
	word = override_of(req, name);
	if (!word) /* a file asks for the preset, and the message names that file */
		return;
	options = (struct sonde_str){group.p + group.n, msg.n - (size_t)(group.p + group.n - msg.p)};
	options = (struct sonde_str){options.p + 2, options.n > 2 ? options.n - 2 : 0}; /* "':" */
	near.word = name;
	for (rest = options; rest.n;)
		sonde_nearest_offer(&near, sonde_str_trim(sonde_str_cut(rest, ',', &rest)));
	sonde_err_set(err, err->code, "override '%s': '%.*s' is not one of%.*s%s%.*s%s", word, SONDE_STR_ARG(name), SONDE_STR_ARG(options),
		near.best.n ? "; did you mean '" : "", SONDE_STR_ARG(near.best), near.best.n ? "'?" : "");
}

static void say_for_users(const struct sonde_config_request *req, struct sonde_err *err)
{
	static const char parsing[] = "Error parsing override '", no_match[] = "No match in the defaults list";
	char copy[sizeof(err->msg)];
	struct sonde_str msg = {copy, strlen(err->msg)}, line, why;
	size_t i;

	memcpy(copy, err->msg, sizeof(copy));
	for (i = 0; i < req->nr_overrides && sonde_str_starts(msg, parsing); i++) {
		line = (struct sonde_str){copy + sizeof(parsing) - 1, strlen(req->overrides[i])};
		why = (struct sonde_str){line.p + line.n + 3, msg.n - (sizeof(parsing) - 1) - line.n - 3}; /* "'; " */
		if (msg.n <= sizeof(parsing) + line.n + 2 || !sonde_str_is(line, req->overrides[i]))
			continue;
		sonde_err_set(err, err->code, "override '%.*s': %.*s%s", SONDE_STR_ARG(line), SONDE_STR_ARG(why),
			sonde_str_is(why, "it ends too early")
				? ": a bracket or a quote is not closed; a list is KEY=[a,b], in quotes for the shell"
				: "; put the value in quotes: 'KEY=\"VALUE\"'");
		return;
	}
	line = quoted_behind(msg, "Could not override '");
	if (line.p && memmem(msg.p, msg.n, no_match, strlen(no_match))) {
		for (i = 0; i < req->nr_overrides && !line.n; i++)
			if (req->overrides[i][0] == '=')
				sonde_err_set(err, err->code, "override '%s': there is no key before the '='", req->overrides[i]);
		if (line.n)
			sonde_err_set(err, err->code, "'%.*s': the configuration has no preset of that group to replace; +%.*s=NAME adds one",
				SONDE_STR_ARG(line), SONDE_STR_ARG(line));
	}
	say_no_preset(req, msg, err);
}

int sonde_config_open(
	struct hydra_config **out, const struct sonde_config_request *req, struct sonde_err *err)
{
	struct sonde_config_sources sources = {0};
	int rc;

	sonde_config__find_sources(&sources, req);
	rc = hydra_config_open(out,
		&(struct hydra_request){.sources = sources.at,
			.nr_sources = sources.nr,
			.overrides = req->overrides,
			.nr_overrides = req->nr_overrides,
			.config_name = req->config_name,
			.job_name = "sonde",
			.keys = req->any_keys ? NULL : sonde_keys,
			.keys_hint = "'sonde config --help' lists the keys",
			.multirun = req->multirun,
			.keeps_env = req->is_recorded,
			.raw = req->raw},
		err);
	if (rc && err && rc != SONDE_ERR_NOMEM)
		say_for_users(req, err);
	return rc;
}

/* Whether an override names the preset that is placed at the first word of `key`: `model/x/arch@model=NAME`. */
static bool is_preset_chosen(const struct hydra_config *c, struct sonde_str key)
{
	const struct sonde_str *lines;
	struct sonde_str rest, word, place;
	size_t nr = hydra_config_list(c, "hydra.overrides.task", &lines), i;

	key = sonde_str_cut(key, '.', &rest);
	for (i = 0; i < nr; i++) {
		word = sonde_str_cut(lines[i], '=', &rest);
		sonde_str_cut(word, '@', &place);
		if (place.n && sonde_str_eq(place, key))
			return true;
	}
	return false;
}

bool sonde_config_is_users(const struct hydra_config *c, const char *key)
{
	struct sonde_config_sources s = {0};
	struct sonde_str origin = hydra_config_origin(c, key);
	char path[PATH_MAX], real[PATH_MAX];
	size_t nr;

	if (!origin.n || sonde_str_is(origin, HYDRA_DEFAULT))
		return false;
	if (sonde_str_starts(origin, "override '") || is_preset_chosen(c, sonde_str_from(key)))
		return true;
	find_shipped(&s);
	nr = strlen(s.shipped);
	snprintf(path, sizeof(path), "%.*s", SONDE_STR_ARG(origin));
	if (strrchr(path, ':'))
		*strrchr(path, ':') = '\0'; /* the line */
	return !realpath(path, real) || strncmp(real, s.shipped, nr) != 0 || real[nr] != '/';
}

struct hydra_dump sonde_config_record(
	const struct hydra_config *c, enum hydra_part part, const char *package)
{
	return (struct hydra_dump){.part = part,
		.package = package,
		.resolve = hydra_config_bool(c, "sonde.record_env") ? HYDRA_RESOLVED
								    : HYDRA_RESOLVED_NO_ENV,
		.masks_secrets = true};
}
