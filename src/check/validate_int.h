/* Private to the validator: the path to the current value, the failure, and the rules. */
#ifndef SONDE_CHECK_VALIDATE_INT_H
#define SONDE_CHECK_VALIDATE_INT_H

#include "check/validate.h"

#include <jansson.h>

struct sonde_validation {
	const char *name;
	struct sonde_buf path; /* the value that is being checked: "$.scopes[0].regions[2]" */
	struct sonde_err *err;
};

/* Append a member or an element to the path. They return a mark, with which `leave` removes it again. */
size_t sonde_validation__key(struct sonde_validation *v, const char *key);
size_t sonde_validation__index(struct sonde_validation *v, size_t index);
void sonde_validation__leave(struct sonde_validation *v, size_t mark);
/* Reports what is wrong at the current path; returns SONDE_ERR_FORMAT. */
int sonde_validation__fail(struct sonde_validation *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

int sonde_schema__check(
	struct sonde_validation *v, const json_t *root, const json_t *schema, const json_t *value);
/*
 * The arithmetic. The schema was checked before these are called. The first violation ends the check: a rule
 * leaves its path only on success.
 *
 * A rule that compares two terms is a row of a table (struct sonde_relation); other rules are functions.
 *
 *   invariant_document.c   the whole file: coverage, ranks, scopes and aggregates
 *   invariant_report.c     one report: the order of its regions, and the figures that sum up over them
 *   invariant_region.c     one region: its place in the tree, its kernels, times, entries and figures
 *   invariant_limiter.c    what limits kernels, against the figures of the row
 *   invariant_findings.c   findings, against the rows that are their evidence
 *   invariant_diff.c       comparisons
 */
int sonde_invariant__check(struct sonde_validation *v, const json_t *document);
int sonde_invariant__check_report(struct sonde_validation *v, const json_t *report,
	const json_t *metric_info, bool is_aggregate);
int sonde_invariant__check_region(struct sonde_validation *v, const json_t *region);
int sonde_invariant__check_kernels(struct sonde_validation *v, const json_t *region);
int sonde_invariant__check_figures(
	struct sonde_validation *v, const json_t *region, const json_t *totals);
int sonde_invariant__check_ranges(struct sonde_validation *v, const json_t *of);
/* Whether the word is a limiter: "dram". Checks it against the metrics of a row; other words and NULL: 0. */
bool sonde_invariant__is_limiter(const char *word);
int sonde_invariant__check_limiter(struct sonde_validation *v, const json_t *of, const char *key, const char *word);
int sonde_invariant__check_findings(struct sonde_validation *v, const json_t *document);
int sonde_invariant__check_diff(struct sonde_validation *v, const json_t *document);

/* --- functions for all invariants ------------------------------------------------------------- */

#define SONDE_TOLERANCE 1e-9 /* relative */
double sonde_invariant__number(const json_t *object, const char *key); /* NaN = null or absent */
bool sonde_invariant__is_word(const json_t *object, const char *key, const char *word);
bool sonde_invariant__is_ranges(const json_t *report); /* whether its figures were measured over replayed ranges */
/* Whether two numbers are equal except for rounding. */
bool sonde_invariant__is_close(double a, double b);
/* The id of a region, which is the same in every scope; valid as long as the document. */
struct sonde_str sonde_invariant__id(const json_t *region);
/* Whether a is greater than b, or differs from it, by more than rounding; false when one of them is NaN. */
bool sonde_invariant__exceeds(double a, double b);
bool sonde_invariant__differs(double a, double b);
/* Reports what is wrong with member `key` at the current path; returns SONDE_ERR_FORMAT. */
int sonde_invariant__fail(struct sonde_validation *v, const char *key, const char *what);

/*
 * The value of a term: a number of the object ("busy_ms"), or of an object in it ("ranges.launches_total"); the length of
 * a list ("#per_stream"); the sum over a list ("per_stream[].total_ms") or over all members of an object ("idle.*").
 * Several may be added up: "busy_ms + idle_ms". NaN = any part is null or absent.
 */
double sonde_invariant__term(const json_t *of, const char *term);

/* Whether "slower_pct" is by how many percent the member `ms` exceeds "others_ms". */
bool sonde_invariant__is_slower_by(const json_t *of, const char *ms);

/*
 * A rule as a row of a table: how two terms of an object compare. The rule holds when the left term is missing. A row
 * without `at` and `says` reports that the left term "is more than" the right one.
 */
struct sonde_relation {
	const char *in; /* path of the object that has the terms, such as "entries.host"; NULL = `of` itself */
	const char *left;
	const char *is; /* "<=" or "~" (equal), both except for rounding; "=" is exact */
	const char *right;
	const char *at, *says; /* the member that is reported, and the message */
};
#define SONDE_AT_MOST(in, less, more)                                                              \
	{                                                                                          \
		in, less, "<=", more, NULL, NULL                                                   \
	}
int sonde_invariant__check_relations(
	struct sonde_validation *v, const json_t *of, const struct sonde_relation *rows, size_t nr);
#define SONDE_RELATIONS(v, of, rows)                                                               \
	sonde_invariant__check_relations(v, of, rows, sizeof(rows) / sizeof(*(rows)))

/* A rule for a value `of`, which may be compared with `with`. */
typedef int (*sonde_rule)(struct sonde_validation *v, const json_t *of, const json_t *with);
/* Apply a rule to the member `key`, or to each element of the list `key`. No such member: nothing to check, 0. */
int sonde_invariant__in(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with);
int sonde_invariant__each(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with);

#endif
