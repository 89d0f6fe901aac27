/*
 * Runs recorded cases of the configuration language.
 *
 *   hydra_cases --configs DIR FILE…
 *
 * Each FILE is the absolute path of a JSON file with a `format` and `cases`; DIR is the folder
 * that contains the config trees of the cases. The program prints the ids of failing cases,
 * then `FORMAT: N passed, N failed` per file and, last, the sum. The exit status
 * is 0 when every file could be read, even if cases failed: the caller
 * decides how many must pass.
 *
 * Values, key order, texts, error types and messages are compared. Where a parser
 * generator words the message (syntax errors of overrides and of interpolations,
 * YAML errors), only the kind of failure is compared.
 */
#include "case.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *format;
	bool (*run)(struct hydra_case *t);
} formats[] = {
	{"hydra-override-parse/1", case_run_parse},
	{"hydra-defaults/1", case_run_defaults},
	{"hydra-compose/1", case_run_compose},
	{"hydra-sweep/1", case_run_sweep},
	{"omegaconf-grammar/1", case_run_grammar},
	{"omegaconf-yaml-load/1", case_run_yaml_load},
	{"omegaconf-merge/1", case_run_merge},
	{"omegaconf-yaml-dump/1", case_run_yaml_dump},
};

static void run_case(
	struct hydra_runner *r, const json_t *json, size_t i, bool (*fn)(struct hydra_case *))
{
	struct hydra_case t = {.run = r, .json = json};
	const char *id = json_string_value(json_object_get(json, "id"));
	char number[32];

	t.cx = (struct hydra_ctx){.arena = &t.arena, .notes = &t.notes};
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

/* Rewrites integers beyond 64 bits as {"$int": "…"}, because the JSON library refuses them. */
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

static bool run_file(struct hydra_runner *r, const char *path)
{
	json_t *doc = load_json(path), *json;
	struct sonde_str format = doc ? case_field(doc, "format") : (struct sonde_str){0};
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

int main(int argc, char **argv)
{
	struct hydra_runner r = {0};
	bool ok = argc > 3 && strcmp(argv[1], "--configs") == 0;
	int i;

	r.configs = ok ? realpath(argv[2], NULL) : NULL;
	ok = r.configs && chdir(r.configs) == 0; /* cases name files relative to it */
	for (i = 3; ok && i < argc; i++)
		ok = run_file(&r, argv[i]);
	free((char *)(uintptr_t)r.configs);
	printf("%u passed, %u failed\n", r.all_passed, r.all_failed);
	return ok ? 0 : 2;
}
