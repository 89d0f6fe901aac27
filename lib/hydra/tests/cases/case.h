/* Functions and structs shared by the files of the case runner. */
#ifndef HYDRA_TESTS_HYDRA_CASE_H
#define HYDRA_TESTS_HYDRA_CASE_H

#include "base/note.h"
#include "hydra/compose.h"

#include <jansson.h>

struct hydra_runner {
	const char *configs; /* absolute */
	unsigned passed, failed, all_passed, all_failed;
	const json_t *file; /* the whole document */
};

/* One case: its input, and why it failed. */
struct hydra_case {
	struct hydra_runner *run;
	const json_t *json;
	struct sonde_arena arena;
	struct sonde_notes notes;
	struct hydra_ctx cx;
	char why[2000];
};

/* Records why the case failed; returns false. */
bool case_bad(struct hydra_case *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct sonde_str case_text(const json_t *j);
struct sonde_str case_field(const json_t *j, const char *key);
/* Reads a value from JSON, in which tags mark the types that JSON does not have. */
struct hydra_datum *case_value(struct hydra_ctx *cx, const json_t *j);
/* Same type, same value, same order. */
bool case_same(const struct hydra_datum *a, const struct hydra_datum *b);

bool case_expect(struct hydra_case *t, const char *what, const json_t *expected,
	const struct hydra_datum *got);
bool case_expect_text(
	struct hydra_case *t, const char *what, struct sonde_str expected, struct sonde_str got);
bool case_expect_override_error(
	struct hydra_case *t, struct sonde_str expected, struct sonde_str got);
bool case_expect_error(struct hydra_case *t, const json_t *e);
/* Compares errors: `*done` when the case expects an error or got one; the result then is the verdict. */
bool case_failed(struct hydra_case *t, bool *done);

/* Prepare a composition as the case describes it. */
void case_environment(const json_t *env);
void case_prepare(struct hydra_case *t, struct hydra_compose *c);
void case_overrides(struct hydra_case *t, struct hydra_compose *c, const json_t *list);
void case_add_dir(
	struct hydra_case *t, struct hydra_search *s, const char *key, const char *provider);

/* Run a case; one function per format. */
bool case_run_parse(struct hydra_case *t);
bool case_run_defaults(struct hydra_case *t);
bool case_run_compose(struct hydra_case *t);
bool case_run_sweep(struct hydra_case *t);
bool case_run_grammar(struct hydra_case *t);
bool case_run_yaml_load(struct hydra_case *t);
bool case_run_merge(struct hydra_case *t);
bool case_run_yaml_dump(struct hydra_case *t);

#endif
