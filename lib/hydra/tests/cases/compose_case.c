#include "case.h"

#include "hydra/sweep.h"
#include "hydra/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Compositions. */

void case_environment(const json_t *env)
{
	const char *key;
	json_t *value;
	size_t i;

	for (i = 0; environ[i];) {
		char *eq = strchr(environ[i], '=');

		if (strncmp(environ[i], "HC_", 3) == 0 && eq) {
			char *name = strndup(environ[i], (size_t)(eq - environ[i]));

			unsetenv(name);
			free(name);
			i = 0;
		} else {
			i++;
		}
	}
	json_object_foreach((json_t *)env, key, value) setenv(key, json_string_value(value), 1);
}

void case_add_dir(
	struct hydra_case *t, struct hydra_search *s, const char *key, const char *provider)
{
	struct sonde_str dir = case_field(t->json, key);

	if (!dir.n)
		return;
	if (sonde_str_starts(dir, "configs/"))
		dir = hydra_ctx__printf(&t->cx, "%s/%s", t->run->configs, dir.p + 8);
	hydra_search__add(s, HYDRA_SOURCE_DIR, provider, dir);
}

void case_prepare(struct hydra_case *t, struct hydra_compose *c)
{
	*c = (struct hydra_compose){.cx = &t->cx,
		.name = case_field(t->json, "config_name"),
		.job_name = "app",
		.now = 1700000000,
		.skip_missing = json_is_true(json_object_get(t->json, "skip_missing"))};
	c->search.cx = &t->cx;
	case_environment(json_object_get(t->json, "env"));
	hydra_search__add(&c->search, HYDRA_SOURCE_BUILTIN, "hydra", (struct sonde_str){0});
	case_add_dir(t, &c->search, "config_dir", "main");
	case_add_dir(t, &c->search, "extra_config_dir", "command-line");
	hydra_search__add(&c->search, HYDRA_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
}

void case_overrides(struct hydra_case *t, struct hydra_compose *c, const json_t *list)
{
	json_t *line;
	size_t i;

	json_array_foreach(list, i, line) if (!t->cx.fail.code)
		hydra_compose__override(c, case_text(line));
}

static bool expect_defaults(struct hydra_case *t, const json_t *expected, struct hydra_compose *c)
{
	struct hydra_datum *list = hydra_datum__new(&t->cx, HYDRA_LIST), *pair;
	size_t i;

	for (i = 0; i < c->defaults.list.nr; i++) {
		const struct hydra_default *d = &c->defaults.list.at[i];

		if (sonde_str_starts(d->config_path, "hydra/"))
			continue;
		pair = hydra_datum__new(&t->cx, HYDRA_LIST);
		hydra_datum__push(&t->cx, pair, hydra_datum__string(&t->cx, d->config_path));
		hydra_datum__push(&t->cx, pair, hydra_datum__string(&t->cx, d->package));
		hydra_datum__push(&t->cx, list, pair);
	}
	return case_expect(t, "defaults", expected, list);
}

static bool expect_choices(struct hydra_case *t, const json_t *expected, struct hydra_compose *c)
{
	struct hydra_datum *map = hydra_datum__copy(&t->cx, c->defaults.known);
	uint32_t i;

	for (i = map->seq.nr; i-- > 0;)
		if (sonde_str_starts(map->seq.at[i]->key->s, "hydra/"))
			hydra_datum__drop(map->seq.at[i]);
	return case_expect(t, "choices", expected, map);
}

static bool expect_resolved(struct hydra_case *t, const json_t *e, struct hydra_compose *c)
{
	struct hydra_lookup sc = hydra_compose__scope(c);
	struct hydra_datum *copy = hydra_datum__copy(&t->cx, c->job);
	const json_t *error = json_object_get(e, "resolve_error");
	const json_t *want = json_object_get(e, "resolved");

	hydra_interp__resolve_tree(&sc, copy);
	if (error)
		return case_expect_error(t, error);
	if (t->cx.fail.code)
		return case_bad(
			t, "resolve: %s %.*s", t->cx.fail.type, SONDE_STR_ARG(t->cx.fail.msg));
	if (!want && json_is_true(json_object_get(e, "resolved_same")))
		want = json_object_get(e, "config");
	return want ? case_expect(t, "resolved", want, copy) : true;
}

static bool expect_hydra(struct hydra_case *t, const json_t *e, struct hydra_compose *c)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(e, "hydra"), key,
		value) if (!case_expect(t, key, value,
				   hydra_datum__path_get(c->root, key))) return false;
	return true;
}

static bool expect_warnings(struct hydra_case *t, const json_t *e)
{
	const json_t *want = json_object_get(e, "warnings");
	struct hydra_datum *list = hydra_datum__new(&t->cx, HYDRA_LIST);
	size_t i;

	for (i = 0; i < t->notes.texts.nr; i++)
		hydra_datum__push(
			&t->cx, list, hydra_datum__string(&t->cx, t->notes.texts.keys[i]));
	if (!want)
		return list->seq.nr ? case_bad(t, "unexpected warning") : true;
	return case_expect(t, "warnings", want, list);
}

static bool check_compose(struct hydra_case *t, struct hydra_compose *c)
{
	const json_t *e = json_object_get(t->json, "expect");
	struct sonde_buf yaml = {0};
	struct sonde_str text;
	bool done, ok;

	ok = case_failed(t, &done);
	if (done)
		return ok;
	hydra_yaml__dump(&yaml, c->job);
	text = hydra_ctx__take(&t->cx, &yaml);
	return case_expect(t, "config", json_object_get(e, "config"), c->job) &&
	       case_expect_text(t, "yaml", case_field(e, "yaml"), text) &&
	       expect_defaults(t, json_object_get(e, "defaults"), c) &&
	       expect_choices(t, json_object_get(e, "choices"), c) &&
	       case_expect_text(t, "override_dirname", case_field(e, "override_dirname"),
		       hydra_compose__dirname(c)) &&
	       expect_hydra(t, e, c) && expect_resolved(t, e, c) && expect_warnings(t, e);
}

bool case_run_compose(struct hydra_case *t)
{
	struct hydra_compose c;
	bool ok;

	case_prepare(t, &c);
	case_overrides(t, &c, json_object_get(t->json, "overrides"));
	hydra_compose__run(&c);
	ok = check_compose(t, &c);
	hydra_compose__release(&c);
	return ok;
}

/* hydra-sweep */

static bool check_job(struct hydra_case *t, struct hydra_compose *master,
	const struct hydra_datum *lines, const json_t *e, uint32_t num)
{
	struct hydra_compose c;
	struct hydra_lookup sc;
	struct hydra_datum *subdir;
	uint32_t i;
	size_t k;
	bool ok;

	case_prepare(t, &c);
	for (k = 0; k < master->overrides.nr; k++)
		if (hydra_override__is_hydra(&master->overrides.at[k]))
			hydra_compose__override(&c, master->overrides.at[k].line);
	for (i = 0; i < lines->seq.nr; i++)
		hydra_compose__override(&c, lines->seq.at[i]->s);
	hydra_compose__run(&c);
	if (t->cx.fail.code) {
		hydra_compose__release(&c);
		return false;
	}
	hydra_datum__setz(&t->cx, hydra_datum__path_get(c.root, "hydra.job"), "num",
		hydra_datum__int(&t->cx, num));
	sc = hydra_compose__scope(&c);
	subdir = hydra_interp__deref(&sc, hydra_datum__path_get(c.root, "hydra.sweep.subdir"));
	ok = subdir != NULL;
	if (ok && e) {
		struct sonde_buf b = {0};

		if (subdir->kind == HYDRA_STRING)
			sonde_buf_str(&b, subdir->s);
		else
			hydra_override__value_text(&b, subdir);
		ok = case_expect(t, "overrides", json_object_get(e, "overrides"), lines) &&
		     case_expect_text(t, "dirname", case_field(e, "override_dirname"),
			     hydra_compose__dirname(&c)) &&
		     case_expect_text(
			     t, "subdir", case_field(e, "subdir"), hydra_ctx__take(&t->cx, &b)) &&
		     case_expect(t, "config", json_object_get(e, "config"), c.job);
	}
	hydra_compose__release(&c);
	return ok;
}

static bool check_batches(struct hydra_case *t, const json_t *want, uint32_t batch, size_t nr_jobs)
{
	json_t *size;
	size_t i, left = nr_jobs;

	json_array_foreach(want, i, size)
	{
		size_t n = batch && batch < left ? batch : left;

		if ((size_t)json_integer_value(size) != n)
			return case_bad(t, "batch %zu has %zu jobs", i, n);
		left -= n;
	}
	return true;
}

static bool check_jobs(struct hydra_case *t, struct hydra_compose *master)
{
	const json_t *want = json_object_get(json_object_get(t->json, "expect"), "jobs");
	struct hydra_datum *jobs = NULL;
	uint32_t i, batch = 0;
	bool done, ok;

	if (!t->cx.fail.code)
		jobs = hydra_sweep__plan(master, &batch);
	if (jobs && want && json_array_size(want) != jobs->seq.nr)
		return case_bad(t, "%u jobs", jobs->seq.nr);
	for (i = 0; jobs && i < jobs->seq.nr; i++) {
		ok = check_job(t, master, jobs->seq.at[i], json_array_get(want, i), i);
		if (t->cx.fail.code)
			break;
		if (!ok)
			return false;
	}
	ok = case_failed(t, &done);
	if (done)
		return ok;
	return check_batches(t, json_object_get(json_object_get(t->json, "expect"), "batches"),
		batch, jobs->seq.nr);
}

bool case_run_sweep(struct hydra_case *t)
{
	struct hydra_compose c;
	bool ok;

	case_prepare(t, &c);
	c.multirun = true;
	case_overrides(t, &c, json_object_get(t->json, "overrides"));
	hydra_compose__run(&c);
	ok = check_jobs(t, &c);
	hydra_compose__release(&c);
	return ok;
}
