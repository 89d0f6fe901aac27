/*
 * Runs recorded cases of the configuration language.
 *
 *   hydra_cases [--configs DIR] FILE…
 *
 * Each file is JSON with a `format` and `cases`; DIR is the folder the cases'
 * config trees are in (default: ../configs beside the file). Failing ids are
 * printed, then `FORMAT: N passed, N failed` per file and, last, the sum. The exit status
 * is 0 when every file could be read, whatever its cases gave: the caller
 * decides what rate is enough.
 *
 * What is compared: values, key order, texts, error types and messages. Where
 * the message is the wording of a parser generator (syntax errors of overrides
 * and of interpolations, YAML errors) only the kind of failure is.
 */
#include "base/file.h"
#include "config/compose.h"
#include "config/merge.h"
#include "config/sweep.h"
#include "config/yaml.h"

#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct runner {
	const char *configs; /* absolute */
	unsigned passed, failed, all_passed, all_failed;
	bool verbose;
	const json_t *file; /* the whole document */
};

/* One case: what it needs and why it failed. */
struct test {
	struct runner *run;
	const json_t *json;
	struct sonde_arena arena;
	struct sonde_notes notes;
	struct sonde_ctx cx;
	char why[2000];
};

static bool bad(struct test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool bad(struct test *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	return false;
}

static struct sonde_str text_of(const json_t *j)
{
	return (struct sonde_str){json_string_value(j), json_string_length(j)};
}

static struct sonde_str field(const json_t *j, const char *key)
{
	return text_of(json_object_get(j, key));
}

/* Values: JSON with tags for what JSON cannot say. */

static struct sonde_datum *to_node(struct sonde_ctx *cx, const json_t *j);

static struct sonde_datum *tagged(struct sonde_ctx *cx, const json_t *j)
{
	const json_t *map = json_object_get(j, "$map"), *pair;
	struct sonde_datum *n;
	size_t i;

	if (json_object_get(j, "$float")) {
		struct sonde_str s = field(j, "$float");

		return sonde_datum__float(cx, strtod(s.p, NULL));
	}
	if (json_object_get(j, "$int")) {
		n = sonde_datum__new(cx, SONDE_INT);
		if (n)
			n->s = sonde_ctx__dup(cx, field(j, "$int"));
		return n;
	}
	if (!map)
		return NULL;
	n = sonde_datum__new(cx, SONDE_MAP);
	json_array_foreach(map, i, pair) sonde_datum__set(
		cx, n, to_node(cx, json_array_get(pair, 0)), to_node(cx, json_array_get(pair, 1)));
	return n;
}

static struct sonde_datum *to_node(struct sonde_ctx *cx, const json_t *j)
{
	struct sonde_datum *n;
	const char *key;
	json_t *value;
	size_t i;

	switch (json_typeof(j)) {
	case JSON_NULL:
		return sonde_datum__new(cx, SONDE_NULL);
	case JSON_TRUE:
	case JSON_FALSE:
		return sonde_datum__bool(cx, json_is_true(j));
	case JSON_INTEGER:
		return sonde_datum__int(cx, json_integer_value(j));
	case JSON_REAL:
		return sonde_datum__float(cx, json_real_value(j));
	case JSON_STRING:
		return sonde_datum__string(cx, sonde_ctx__dup(cx, text_of(j)));
	case JSON_ARRAY:
		n = sonde_datum__new(cx, SONDE_LIST);
		json_array_foreach(j, i, value) sonde_datum__push(cx, n, to_node(cx, value));
		return n;
	default:
		break;
	}
	n = tagged(cx, j);
	if (n)
		return n;
	n = sonde_datum__new(cx, SONDE_MAP);
	json_object_foreach((json_t *)j, key, value)
		sonde_datum__set(cx, n, sonde_datum__text(cx, key), to_node(cx, value));
	return n;
}

/* Same type, same value, same order. */
static bool same(const struct sonde_datum *a, const struct sonde_datum *b)
{
	uint32_t i;

	if (!a || !b || a->kind != b->kind)
		return false;
	if (a->kind == SONDE_FLOAT)
		return (a->f == b->f && signbit(a->f) == signbit(b->f)) ||
		       (isnan(a->f) && isnan(b->f));
	if (sonde_datum__is_scalar(a))
		return sonde_datum__equal(a, b);
	if (a->seq.nr != b->seq.nr)
		return false;
	for (i = 0; i < a->seq.nr; i++) {
		if (a->kind == SONDE_MAP && !same(a->seq.at[i]->key, b->seq.at[i]->key))
			return false;
		if (!same(a->seq.at[i], b->seq.at[i]))
			return false;
	}
	return true;
}

/* `<CONFIGS>` in every string of an expectation. */
static struct sonde_str expand(struct test *t, struct sonde_str s)
{
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < s.n;) {
		if (i + 9 <= s.n && memcmp(s.p + i, "<CONFIGS>", 9) == 0) {
			sonde_buf_puts(&b, t->run->configs);
			i += 9;
		} else {
			sonde_buf_putc(&b, s.p[i++]);
		}
	}
	return sonde_ctx__take(&t->cx, &b);
}

static void expand_node(struct test *t, struct sonde_datum *n)
{
	uint32_t i;

	if (n->kind == SONDE_STRING)
		n->s = expand(t, n->s);
	if (!sonde_datum__is_container(n))
		return;
	for (i = 0; i < n->seq.nr; i++)
		expand_node(t, n->seq.at[i]);
}

static void show(const struct sonde_datum *n, char *out, size_t cap)
{
	struct sonde_buf b = {0};

	if (n)
		sonde_override__value_text(&b, n);
	snprintf(out, cap, "%.600s", b.p ? b.p : "(nothing)");
	sonde_buf_release(&b);
}

static bool expect_node(
	struct test *t, const char *what, const json_t *expected, const struct sonde_datum *got)
{
	struct sonde_datum *e = to_node(&t->cx, expected);
	char want[700], have[700];

	expand_node(t, e);
	if (same(e, got))
		return true;
	show(e, want, sizeof(want));
	show(got, have, sizeof(have));
	return bad(t, "%s: expected %s, got %s", what, want, have);
}

static bool expect_text(
	struct test *t, const char *what, struct sonde_str expected, struct sonde_str got)
{
	expected = expand(t, expected);
	if (sonde_str_eq(expected, got))
		return true;
	return bad(t, "%s: expected '%.*s', got '%.*s'", what, SONDE_STR_ARG(expected),
		SONDE_STR_ARG(got));
}

/* Failures. */

static bool is_library_error(struct sonde_str type)
{
	return sonde_str_is(type, "ParserError") || sonde_str_is(type, "ScannerError") ||
	       sonde_str_is(type, "ConstructorError") || sonde_str_is(type, "ComposerError") ||
	       sonde_str_is(type, "ReaderError");
}

static struct sonde_str tail_lines(struct sonde_str s)
{
	size_t n = sonde_str_find(s, '\n');

	return (struct sonde_str){s.p + n, s.n - n};
}

/* A syntax error of the override grammar is compared by kind only. */
static bool expect_override_error(struct test *t, struct sonde_str expected, struct sonde_str got)
{
	static const char see[] =
		"\nSee https://hydra.cc/docs/1.2/advanced/override_grammar/basic for details";
	size_t n = sizeof(see) - 1;

	if (sonde_str_ends(expected, see))
		expected.n -= n;
	if (sonde_str_ends(got, see))
		got.n -= n;
	if (sonde_str_starts(expected, "LexerNoViable") ||
		memmem(expected.p, expected.n, " while evaluating ", 18))
		return expect_text(t, "message", expected, got);
	return !sonde_str_starts(got, "LexerNoViable");
}

static bool expect_error(struct test *t, const json_t *e)
{
	struct sonde_str type = field(e, "type"), msg = field(e, "message");
	struct sonde_str cause = expand(t, field(e, "cause")), got = t->cx.fail.cause;

	if (!t->cx.fail.code)
		return bad(t, "expected %.*s, but it succeeded", SONDE_STR_ARG(type));
	if (is_library_error(type))
		return true;
	if (!sonde_str_is(type, t->cx.fail.type))
		return bad(t, "expected %.*s, got %s: %.*s", SONDE_STR_ARG(type), t->cx.fail.type,
			SONDE_STR_ARG(t->cx.fail.msg));
	if (sonde_str_is(type, "OverrideParseException"))
		return expect_override_error(t, msg, t->cx.fail.msg);
	if (sonde_str_is(type, "GrammarParseError"))
		return true;
	if (!expect_text(t, "message", msg, t->cx.fail.msg))
		return false;
	if (!json_object_get(e, "cause_type"))
		return t->cx.fail.cause_type ? bad(t, "unexpected cause") : true;
	if (!t->cx.fail.cause_type || !sonde_str_is(field(e, "cause_type"), t->cx.fail.cause_type))
		return bad(t, "cause type is %s", t->cx.fail.cause_type);
	if (sonde_str_is(field(e, "cause_type"), "GrammarParseError"))
		return expect_text(t, "cause", tail_lines(cause), tail_lines(got));
	return expect_text(t, "cause", cause, got);
}

/* Either an expectation or an error. */
static bool failed_as_expected(struct test *t, bool *done)
{
	const json_t *e = json_object_get(t->json, "error");

	*done = true;
	if (e)
		return expect_error(t, e);
	if (t->cx.fail.code)
		return bad(t, "%s: %.*s | %.*s", t->cx.fail.type, SONDE_STR_ARG(t->cx.fail.msg),
			SONDE_STR_ARG(t->cx.fail.cause));
	*done = false;
	return true;
}

/* hydra-override-parse */

static struct sonde_datum *sweep_json(struct test *t, const json_t *j)
{
	struct sonde_datum *n = NULL;
	const json_t *inner, *tags = json_object_get(j, "tags");
	static const char *const range[] = {"start", "stop", "step"};
	static const char *const interval[] = {"start", "end"};
	static const char *const glob[] = {"include", "exclude"};
	size_t i;

	if ((inner = json_object_get(j, "$choice"))) {
		n = to_node(&t->cx, inner);
		n->kind = SONDE_CHOICE;
		n->simple = json_is_true(json_object_get(j, "simple"));
	} else if ((inner = json_object_get(j, "$range"))) {
		n = sonde_datum__new(&t->cx, SONDE_RANGE);
		for (i = 0; i < 3; i++)
			sonde_datum__push(
				&t->cx, n, to_node(&t->cx, json_object_get(inner, range[i])));
	} else if ((inner = json_object_get(j, "$interval"))) {
		n = sonde_datum__new(&t->cx, SONDE_INTERVAL);
		for (i = 0; i < 2; i++)
			sonde_datum__push(
				&t->cx, n, to_node(&t->cx, json_object_get(inner, interval[i])));
	} else if ((inner = json_object_get(j, "$glob"))) {
		n = sonde_datum__new(&t->cx, SONDE_GLOB);
		for (i = 0; i < 2; i++)
			sonde_datum__push(
				&t->cx, n, to_node(&t->cx, json_object_get(inner, glob[i])));
	}
	if (!n)
		return to_node(&t->cx, j);
	n->shuffle = json_is_true(json_object_get(j, "shuffle"));
	n->tags = tags ? to_node(&t->cx, tags) : NULL;
	return n;
}

static bool same_quotes(struct test *t, const json_t *j, const struct sonde_datum *n)
{
	uint32_t i;
	const json_t *inner = json_object_get(j, "$choice") ? json_object_get(j, "$choice") : j;
	struct sonde_str quote = field(j, "quote");

	if (json_object_get(j, "$quoted"))
		return n->kind == SONDE_STRING && sonde_str_eq(n->s, field(j, "$quoted")) &&
		       n->quote == (sonde_str_is(quote, "single") ? '\'' : '"');
	if (sonde_datum__is_scalar(n))
		return !n->quote;
	for (i = 0; i < n->seq.nr; i++) {
		const json_t *item = json_is_array(inner) ? json_array_get(inner, i) : NULL;

		if (json_is_object(inner) && n->kind == SONDE_MAP &&
			!json_object_get(inner, "$map"))
			item = json_object_getn(
				inner, n->seq.at[i]->key->s.p, n->seq.at[i]->key->s.n);
		if (item && !same_quotes(t, item, n->seq.at[i]))
			return bad(t, "quoting differs");
	}
	return true;
}

static bool expect_sweep(struct test *t, const json_t *e, const struct sonde_override *o)
{
	struct sonde_datum *values, *list = sonde_datum__new(&t->cx, SONDE_LIST);
	struct sonde_str error = field(e, "sweep_error");
	uint32_t i;

	values = sonde_override__expand(&t->cx, o->value);
	if (error.n)
		return t->cx.fail.code &&
				       memmem(error.p, error.n, t->cx.fail.msg.p, t->cx.fail.msg.n)
			       ? true
			       : bad(t, "sweep error differs");
	for (i = 0; values && i < values->seq.nr; i++) {
		struct sonde_buf b = {0};

		sonde_buf_str(&b, sonde_override__key_element(&t->cx, o));
		sonde_buf_putc(&b, '=');
		sonde_override__value_text(&b, values->seq.at[i]);
		sonde_datum__push(
			&t->cx, list, sonde_datum__string(&t->cx, sonde_ctx__take(&t->cx, &b)));
	}
	return expect_node(t, "sweep", json_object_get(e, "sweep"), list);
}

static const char *value_type(const struct sonde_datum *n)
{
	if (!sonde_datum__is_sweep(n))
		return "ELEMENT";
	if (n->kind == SONDE_CHOICE)
		return n->simple ? "SIMPLE_CHOICE_SWEEP" : "CHOICE_SWEEP";
	return n->kind == SONDE_RANGE	   ? "RANGE_SWEEP"
	       : n->kind == SONDE_INTERVAL ? "INTERVAL_SWEEP"
					   : "GLOB_CHOICE_SWEEP";
}

static bool expect_value(struct test *t, const json_t *e, const struct sonde_override *o)
{
	const json_t *raw = json_object_get(e, "raw_value");
	struct sonde_datum *want = sweep_json(t, json_object_get(e, "value"));
	struct sonde_buf b = {0};

	if (!o->value)
		return json_is_null(json_object_get(e, "value_type")) ? true : bad(t, "no value");
	if (!sonde_str_is(field(e, "value_type"), value_type(o->value)))
		return bad(t, "value type is %s", value_type(o->value));
	if (!same(want, o->value))
		return expect_node(t, "value", json_object_get(e, "value"), o->value);
	if (want->simple != o->value->simple || want->shuffle != o->value->shuffle ||
		(want->tags ? !same(want->tags, o->value->tags)
			    : o->value->tags && o->value->tags->seq.nr))
		return bad(t, "sweep flags differ");
	if (!same_quotes(t, raw ? raw : json_object_get(e, "value"), o->value))
		return false;
	if (json_object_get(e, "value_str")) {
		sonde_override__value_text(&b, o->value);
		if (!expect_text(
			    t, "value_str", field(e, "value_str"), sonde_ctx__take(&t->cx, &b)))
			return false;
	}
	if (json_object_get(e, "sweep") || json_object_get(e, "sweep_error"))
		return expect_sweep(t, e, o);
	return true;
}

static bool run_parse(struct test *t)
{
	static const char *const kinds[] = {"CHANGE", "ADD", "FORCE_ADD", "DEL"};
	const json_t *e = json_object_get(t->json, "expect"),
		     *err = json_object_get(t->json, "error");
	struct sonde_override o;

	sonde_override__parse(&o, &t->cx, field(t->json, "input"));
	if (err)
		return t->cx.fail.code
			       ? expect_override_error(t, field(err, "message"), t->cx.fail.msg)
			       : bad(t, "expected an error");
	if (t->cx.fail.code)
		return bad(t, "%.*s", SONDE_STR_ARG(t->cx.fail.msg));
	if (json_object_get(e, "degenerate"))
		return true;
	if (!sonde_str_is(field(e, "type"), kinds[o.kind]))
		return bad(t, "type is %s", kinds[o.kind]);
	if (o.has_package == json_is_null(json_object_get(e, "package")))
		return bad(t, "package differs");
	return expect_text(t, "key", field(e, "key"), o.key) &&
	       expect_text(t, "package", field(e, "package"), o.package) && expect_value(t, e, &o);
}

/* Compositions. */

static void set_environment(const json_t *env)
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

static void add_dir(struct test *t, struct sonde_search *s, const char *key, const char *provider)
{
	struct sonde_str dir = field(t->json, key);

	if (!dir.n)
		return;
	if (sonde_str_starts(dir, "configs/"))
		dir = sonde_ctx__printf(&t->cx, "%s/%s", t->run->configs, dir.p + 8);
	sonde_search__add(s, SONDE_SOURCE_DIR, provider, dir);
}

static void prepare(struct test *t, struct sonde_compose *c)
{
	*c = (struct sonde_compose){.cx = &t->cx,
		.name = field(t->json, "config_name"),
		.job_name = "app",
		.version = "1.3.2",
		.now = 1700000000,
		.skip_missing = json_is_true(json_object_get(t->json, "skip_missing"))};
	c->search.cx = &t->cx;
	set_environment(json_object_get(t->json, "env"));
	sonde_search__add(&c->search, SONDE_SOURCE_BUILTIN, "hydra", (struct sonde_str){0});
	add_dir(t, &c->search, "config_dir", "main");
	add_dir(t, &c->search, "extra_config_dir", "command-line");
	sonde_search__add(&c->search, SONDE_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
}

static void add_overrides(struct test *t, struct sonde_compose *c, const json_t *list)
{
	json_t *line;
	size_t i;

	json_array_foreach(list, i, line) if (!t->cx.fail.code)
		sonde_compose__override(c, text_of(line));
}

static bool expect_defaults(struct test *t, const json_t *expected, struct sonde_compose *c)
{
	struct sonde_datum *list = sonde_datum__new(&t->cx, SONDE_LIST), *pair;
	size_t i;

	for (i = 0; i < c->defaults.list.nr; i++) {
		const struct sonde_default *d = &c->defaults.list.at[i];

		if (sonde_str_starts(d->config_path, "hydra/"))
			continue;
		pair = sonde_datum__new(&t->cx, SONDE_LIST);
		sonde_datum__push(&t->cx, pair, sonde_datum__string(&t->cx, d->config_path));
		sonde_datum__push(&t->cx, pair, sonde_datum__string(&t->cx, d->package));
		sonde_datum__push(&t->cx, list, pair);
	}
	return expect_node(t, "defaults", expected, list);
}

static bool expect_choices(struct test *t, const json_t *expected, struct sonde_compose *c)
{
	struct sonde_datum *map = sonde_datum__copy(&t->cx, c->defaults.known);
	uint32_t i;

	for (i = map->seq.nr; i-- > 0;)
		if (sonde_str_starts(map->seq.at[i]->key->s, "hydra/"))
			sonde_datum__remove(map, i);
	return expect_node(t, "choices", expected, map);
}

static bool expect_resolved(struct test *t, const json_t *e, struct sonde_compose *c)
{
	struct sonde_lookup sc = sonde_compose__scope(c);
	struct sonde_datum *copy = sonde_datum__copy(&t->cx, c->job);
	const json_t *error = json_object_get(e, "resolve_error");
	const json_t *want = json_object_get(e, "resolved");

	sonde_interp__resolve_tree(&sc, copy);
	if (error)
		return expect_error(t, error);
	if (t->cx.fail.code)
		return bad(t, "resolve: %s %.*s", t->cx.fail.type, SONDE_STR_ARG(t->cx.fail.msg));
	if (!want && json_is_true(json_object_get(e, "resolved_same")))
		want = json_object_get(e, "config");
	return want ? expect_node(t, "resolved", want, copy) : true;
}

static bool expect_hydra(struct test *t, const json_t *e, struct sonde_compose *c)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(e, "hydra"), key,
		value) if (!expect_node(t, key, value,
				   sonde_datum__path_get(c->root, key))) return false;
	return true;
}

static bool expect_warnings(struct test *t, const json_t *e)
{
	const json_t *want = json_object_get(e, "warnings");
	struct sonde_datum *list = sonde_datum__new(&t->cx, SONDE_LIST);
	size_t i;

	for (i = 0; i < t->notes.texts.nr; i++)
		sonde_datum__push(
			&t->cx, list, sonde_datum__string(&t->cx, t->notes.texts.keys[i]));
	if (!want)
		return list->seq.nr ? bad(t, "unexpected warning") : true;
	return expect_node(t, "warnings", want, list);
}

static bool check_compose(struct test *t, struct sonde_compose *c)
{
	const json_t *e = json_object_get(t->json, "expect");
	struct sonde_buf yaml = {0};
	bool done, ok;

	ok = failed_as_expected(t, &done);
	if (done)
		return ok;
	sonde_yaml__dump(&yaml, c->job);
	return expect_node(t, "config", json_object_get(e, "config"), c->job) &
		       expect_text(t, "yaml", field(e, "yaml"), sonde_ctx__take(&t->cx, &yaml)) &&
	       expect_defaults(t, json_object_get(e, "defaults"), c) &&
	       expect_choices(t, json_object_get(e, "choices"), c) &&
	       expect_text(t, "override_dirname", field(e, "override_dirname"),
		       sonde_compose__dirname(c)) &&
	       expect_hydra(t, e, c) && expect_resolved(t, e, c) && expect_warnings(t, e);
}

static bool run_compose(struct test *t)
{
	struct sonde_compose c;
	bool ok;

	prepare(t, &c);
	add_overrides(t, &c, json_object_get(t->json, "overrides"));
	sonde_compose__run(&c);
	ok = check_compose(t, &c);
	sonde_compose__release(&c);
	return ok;
}

/* hydra-sweep */

static bool check_job(struct test *t, struct sonde_compose *master, const struct sonde_datum *lines,
	const json_t *e, uint32_t num)
{
	struct sonde_compose c;
	struct sonde_lookup sc;
	struct sonde_datum *subdir;
	uint32_t i;
	size_t k;
	bool ok;

	prepare(t, &c);
	for (k = 0; k < master->overrides.nr; k++)
		if (sonde_override__is_hydra(&master->overrides.at[k]))
			sonde_compose__override(&c, master->overrides.at[k].line);
	for (i = 0; i < lines->seq.nr; i++)
		sonde_compose__override(&c, lines->seq.at[i]->s);
	sonde_compose__run(&c);
	if (t->cx.fail.code) {
		sonde_compose__release(&c);
		return false;
	}
	sonde_datum__setz(&t->cx, sonde_datum__path_get(c.root, "hydra.job"), "num",
		sonde_datum__int(&t->cx, num));
	sc = sonde_compose__scope(&c);
	subdir = sonde_interp__deref(&sc, sonde_datum__path_get(c.root, "hydra.sweep.subdir"));
	ok = subdir != NULL;
	if (ok && e) {
		struct sonde_buf b = {0};

		if (subdir->kind == SONDE_STRING)
			sonde_buf_str(&b, subdir->s);
		else
			sonde_override__value_text(&b, subdir);
		ok = expect_node(t, "overrides", json_object_get(e, "overrides"), lines) &&
		     expect_text(t, "dirname", field(e, "override_dirname"),
			     sonde_compose__dirname(&c)) &&
		     expect_text(t, "subdir", field(e, "subdir"), sonde_ctx__take(&t->cx, &b)) &&
		     expect_node(t, "config", json_object_get(e, "config"), c.job);
	}
	sonde_compose__release(&c);
	return ok;
}

static bool check_batches(struct test *t, const json_t *want, uint32_t batch, size_t nr_jobs)
{
	json_t *size;
	size_t i, left = nr_jobs;

	json_array_foreach(want, i, size)
	{
		size_t n = batch && batch < left ? batch : left;

		if ((size_t)json_integer_value(size) != n)
			return bad(t, "batch %zu has %zu jobs", i, n);
		left -= n;
	}
	return true;
}

static bool check_jobs(struct test *t, struct sonde_compose *master)
{
	const json_t *want = json_object_get(json_object_get(t->json, "expect"), "jobs");
	struct sonde_datum *jobs = NULL;
	uint32_t i, batch = 0;
	bool done, ok;

	if (!t->cx.fail.code)
		jobs = sonde_sweep__plan(master, &batch);
	if (jobs && want && json_array_size(want) != jobs->seq.nr)
		return bad(t, "%u jobs", jobs->seq.nr);
	for (i = 0; jobs && i < jobs->seq.nr; i++) {
		ok = check_job(t, master, jobs->seq.at[i], json_array_get(want, i), i);
		if (t->cx.fail.code)
			break;
		if (!ok)
			return false;
	}
	ok = failed_as_expected(t, &done);
	if (done)
		return ok;
	return check_batches(t, json_object_get(json_object_get(t->json, "expect"), "batches"),
		batch, jobs->seq.nr);
}

static bool run_sweep(struct test *t)
{
	struct sonde_compose c;
	bool ok;

	prepare(t, &c);
	c.multirun = true;
	add_overrides(t, &c, json_object_get(t->json, "overrides"));
	sonde_compose__run(&c);
	ok = check_jobs(t, &c);
	sonde_compose__release(&c);
	return ok;
}

/* hydra-defaults */

static bool tree_text_field(
	struct test *t, const json_t *e, const char *key, bool has, struct sonde_str s)
{
	if (!json_object_get(e, key))
		return has && strcmp(key, "package") == 0 ? bad(t, "a package too many") : true;
	return expect_text(t, key, field(e, key), s);
}

static bool check_tree(struct test *t, const json_t *e, struct sonde_item *it)
{
	static const char *const kinds[] = {"root", "self", "config", "group"};
	const json_t *children = json_object_get(e, "children"), *child;
	size_t i;

	if (!sonde_str_is(field(e, "kind"), kinds[it->kind]) ||
		json_array_size(children) != it->nr_children)
		return bad(t, "tree: a %s with %u children", kinds[it->kind], it->nr_children);
	if (it->kind == SONDE_ITEM_GROUP || it->kind == SONDE_ITEM_CONFIG) {
		if (!tree_text_field(t, e, it->kind == SONDE_ITEM_GROUP ? "group" : "path", true,
			    it->path) ||
			!tree_text_field(t, e, "final_package", true,
				sonde_item__final_package(&t->cx, it)) ||
			!tree_text_field(t, e, "package", it->has_package, it->package))
			return false;
		if (json_is_true(json_object_get(e, "deleted")) != it->deleted ||
			json_is_true(json_object_get(e, "optional")) != it->optional)
			return bad(t, "tree: deleted or optional");
	}
	if (it->kind == SONDE_ITEM_GROUP &&
		(!expect_node(t, "value", json_object_get(e, "value"), it->value) ||
			!tree_text_field(
				t, e, "override_key", true, sonde_item__override_key(&t->cx, it))))
		return false;
	json_array_foreach(
		children, i, child) if (!check_tree(t, child, it->children[i])) return false;
	return true;
}

static bool check_list(struct test *t, const json_t *want, const struct sonde_defaults *d)
{
	json_t *e;
	size_t i;

	if (json_array_size(want) != d->list.nr)
		return bad(t, "list has %zu entries", d->list.nr);
	json_array_foreach(want, i, e)
	{
		const struct sonde_default *got = &d->list.at[i];

		if (!expect_text(t, "config_path", field(e, "config_path"), got->config_path) ||
			!expect_text(t, "package", field(e, "package"), got->package) ||
			!expect_text(t, "parent", field(e, "parent"), got->parent))
			return false;
		if (json_is_true(json_object_get(e, "is_self")) != got->is_self)
			return bad(t, "is_self");
	}
	return true;
}

static bool check_defaults(struct test *t, struct sonde_defaults *d)
{
	const json_t *e = json_object_get(t->json, "expect");
	struct sonde_buf b = {0};
	bool done, ok = failed_as_expected(t, &done);

	if (done)
		return ok;
	sonde_defaults__print(d, &b);
	return check_list(t, json_object_get(e, "defaults"), d) &&
	       expect_node(t, "choices", json_object_get(e, "choices"), d->known) &&
	       check_tree(t, json_object_get(e, "tree"), d->root) &&
	       expect_text(t, "tree_text", field(e, "tree_text"), sonde_ctx__take(&t->cx, &b));
}

static bool run_defaults(struct test *t)
{
	struct sonde_compose c;
	struct sonde_defaults *d = &c.defaults;
	struct sonde_str name;
	bool ok;

	prepare(t, &c);
	c.search.sources.nr = 0;
	add_dir(t, &c.search, "config_dir", "test");
	sonde_search__add(&c.search, SONDE_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
	add_overrides(t, &c, json_object_get(t->json, "overrides"));
	d->cx = &t->cx;
	d->search = &c.search;
	d->skip_missing = c.skip_missing;
	name = c.name.n ? c.name : SONDE_STR(SONDE_DUMMY_CONFIG);
	if (!t->cx.fail.code)
		sonde_defaults__build(d, name, c.overrides.at, c.overrides.nr,
			json_is_true(json_object_get(t->json, "prepend_hydra")));
	ok = check_defaults(t, d);
	sonde_compose__release(&c);
	return ok;
}

/* omegaconf-* */

static struct sonde_datum *helpers(
	struct sonde_lookup *sc, struct sonde_str name, struct sonde_datum *args)
{
	if (sonde_str_is(name, "test") || sonde_str_is(name, "ns1.ns2.test"))
		return args->seq.nr == 1 ? args->seq.at[0] : args;
	if (sonde_str_is(name, "first") && args->seq.nr &&
		sonde_datum__is_container(args->seq.at[0]) && args->seq.at[0]->seq.nr)
		return args->seq.at[0]->kind == SONDE_MAP ? args->seq.at[0]->seq.at[0]->key
							  : args->seq.at[0]->seq.at[0];
	(void)sc;
	return NULL;
}

static bool run_grammar(struct test *t)
{
	struct sonde_lookup sc = {.cx = &t->cx, .extra = helpers};
	struct sonde_datum *root = to_node(&t->cx, json_object_get(t->run->file, "config")), *n;
	struct sonde_str text = sonde_ctx__dup(&t->cx, field(t->json, "text"));
	bool done, ok;

	set_environment(NULL);
	n = sonde_datum__string(&t->cx, text);
	if (sonde_str_is(field(t->json, "rule"), "singleElement"))
		n = sonde_interp__eval_element(&sc, text, root, NULL);
	else if (n->interp)
		n = sonde_interp__eval(&sc, text, root, NULL);
	ok = failed_as_expected(t, &done);
	if (done)
		return ok;
	return expect_node(t, "value", json_object_get(t->json, "expect"), n);
}

static struct sonde_datum *load_yaml(struct test *t, const json_t *text)
{
	static const struct sonde_from from = {.name = {"case.yaml", 9}};
	struct sonde_datum *n = NULL;

	sonde_yaml__load_config(&n, &t->cx, &from, sonde_ctx__dup(&t->cx, text_of(text)));
	return n;
}

static bool run_yaml_load(struct test *t)
{
	struct sonde_datum *n = load_yaml(t, json_object_get(t->json, "yaml"));
	bool done, ok;

	if (t->cx.fail.code && !sonde_ctx__is_type(&t->cx, "OSError"))
		t->cx.fail.msg.n = sonde_str_find(t->cx.fail.msg, '\n');
	ok = failed_as_expected(t, &done);
	return done ? ok : expect_node(t, "value", json_object_get(t->json, "expect"), n);
}

static bool run_merge(struct test *t)
{
	const json_t *yaml = json_object_get(t->json, "yaml");
	struct sonde_lookup sc = {.cx = &t->cx};
	struct sonde_datum *dest = load_yaml(t, json_array_get(yaml, 0));
	struct sonde_datum *src = load_yaml(t, json_array_get(yaml, 1));
	bool done, ok;

	if (dest && src)
		sonde_merge__into(&sc, dest, src, false);
	ok = failed_as_expected(t, &done);
	return done ? ok : expect_node(t, "value", json_object_get(t->json, "expect"), dest);
}

static bool run_yaml_dump(struct test *t)
{
	struct sonde_buf b = {0};

	sonde_yaml__dump(&b, to_node(&t->cx, json_object_get(t->json, "value")));
	return expect_text(t, "yaml", field(t->json, "yaml"), sonde_ctx__take(&t->cx, &b));
}

static const struct {
	const char *format;
	bool (*run)(struct test *t);
} formats[] = {
	{"hydra-override-parse/1", run_parse},
	{"hydra-defaults/1", run_defaults},
	{"hydra-compose/1", run_compose},
	{"hydra-sweep/1", run_sweep},
	{"omegaconf-grammar/1", run_grammar},
	{"omegaconf-yaml-load/1", run_yaml_load},
	{"omegaconf-merge/1", run_merge},
	{"omegaconf-yaml-dump/1", run_yaml_dump},
};

static void run_case(struct runner *r, const json_t *json, size_t i, bool (*fn)(struct test *))
{
	struct test t = {.run = r, .json = json};
	const char *id = json_string_value(json_object_get(json, "id"));
	char number[32];

	t.cx = (struct sonde_ctx){.arena = &t.arena, .notes = &t.notes};
	snprintf(number, sizeof(number), "#%zu", i);
	if (fn(&t)) {
		r->passed++;
	} else {
		r->failed++;
		printf("%s: %s\n", id ? id : number, t.why);
	}
	sonde_arena_release(&t.arena);
	sonde_notes_release(&t.notes);
}

/* Integers beyond 64 bits as {"$int": "…"}: the JSON library refuses them. */
static void tame_integers(struct sonde_buf *out, struct sonde_str s)
{
	bool in_string = false;
	size_t i, n;

	for (i = 0; i < s.n; i += n) {
		n = 1;
		if (s.p[i] == '"')
			in_string = !in_string;
		if (in_string && s.p[i] == '\\')
			n = 2;
		if (!in_string && (s.p[i] == '-' || (s.p[i] >= '0' && s.p[i] <= '9'))) {
			while (i + n < s.n && strchr("0123456789.eE+-", s.p[i + n]) && s.p[i + n])
				n++;
			if (n > 18 && !memchr(s.p + i, '.', n) && !memchr(s.p + i, 'e', n) &&
				!memchr(s.p + i, 'E', n)) {
				sonde_buf_puts(out, "{\"$int\": \"");
				sonde_buf_add(out, s.p + i, n);
				sonde_buf_puts(out, "\"}");
				continue;
			}
		}
		sonde_buf_add(out, s.p + i, n);
	}
}

static json_t *load_json(const char *path)
{
	struct sonde_mapping m;
	struct sonde_err err = {0};
	struct sonde_buf text = {0};
	json_error_t json_err;
	json_t *doc;

	if (sonde_mapping_open(&m, path, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return NULL;
	}
	tame_integers(&text, m.data);
	doc = json_loadb(text.p ? text.p : "", text.n, JSON_ALLOW_NUL, &json_err);
	if (!doc)
		fprintf(stderr, "%s:%d: %s\n", path, json_err.line, json_err.text);
	sonde_buf_release(&text);
	sonde_mapping_release(&m);
	return doc;
}

static bool run_file(struct runner *r, const char *path)
{
	json_t *doc = load_json(path), *json;
	struct sonde_str format = doc ? field(doc, "format") : (struct sonde_str){0};
	size_t i, k;

	for (k = 0; k < sizeof(formats) / sizeof(formats[0]); k++)
		if (sonde_str_is(format, formats[k].format))
			break;
	if (k == sizeof(formats) / sizeof(formats[0])) {
		fprintf(stderr, "%s: unknown format '%.*s'\n", path, SONDE_STR_ARG(format));
		json_decref(doc);
		return false;
	}
	r->file = doc;
	r->passed = r->failed = 0;
	json_array_foreach(json_object_get(doc, "cases"), i, json)
		run_case(r, json, i, formats[k].run);
	printf("%s: %u passed, %u failed\n", path, r->passed, r->failed);
	r->all_passed += r->passed;
	r->all_failed += r->failed;
	json_decref(doc);
	return true;
}

/* Absolute before the working directory changes to the configs'. */
static char *absolute(const char *path)
{
	char *full = realpath(path, NULL);

	if (!full)
		fprintf(stderr, "%s: no such file\n", path);
	return full;
}

int main(int argc, char **argv)
{
	struct runner r = {0};
	char *configs = NULL, **files;
	int i, first = 1;
	bool ok = true;

	if (argc > 2 && strcmp(argv[1], "--configs") == 0) {
		configs = absolute(argv[2]);
		first = 3;
	}
	files = calloc((size_t)argc + 1, sizeof(*files));
	for (i = first; files && i < argc; i++) {
		files[i] = absolute(argv[i]);
		ok &= files[i] != NULL;
	}
	for (i = first; ok && files && i < argc; i++) {
		char beside[PATH_MAX + 16];
		char *copy = strdup(files[i]);

		snprintf(beside, sizeof(beside), "%s/../configs", dirname(copy));
		free(copy);
		r.configs = configs ? configs : realpath(beside, NULL);
		ok &= r.configs && chdir(r.configs) == 0 && run_file(&r, files[i]);
		if (!configs)
			free((char *)r.configs);
	}
	for (i = first; files && i < argc; i++)
		free(files[i]);
	free(files);
	free(configs);
	printf("%u passed, %u failed\n", r.all_passed, r.all_failed);
	return ok ? 0 : 2;
}
