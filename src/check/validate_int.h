/* Private to the validator: where we are, and what is wrong there. */
#ifndef SONDE_CHECK_VALIDATE_INT_H
#define SONDE_CHECK_VALIDATE_INT_H

#include "check/validate.h"

#include <jansson.h>

struct sonde_validation {
	const char *name;
	struct sonde_buf path; /* "$.scopes[0].regions[2]" */
	struct sonde_err *err;
};

/* Steps into a member or element; returns what `leave` wants to step out again. */
size_t sonde_validation__key(struct sonde_validation *v, const char *key);
size_t sonde_validation__index(struct sonde_validation *v, size_t index);
void sonde_validation__leave(struct sonde_validation *v, size_t mark);
/* Says what is wrong at the current path; always SONDE_ERR_FORMAT. */
int sonde_validation__fail(struct sonde_validation *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

int sonde_schema__check(
	struct sonde_validation *v, const json_t *root, const json_t *schema, const json_t *value);
/*
 * The arithmetic. The schema holds when these are called, and the first violation ends it all: a
 * path is left on success only.
 *
 * Rules that compare two terms are rows (struct sonde_relation); the others are functions.
 *
 *   invariant_document.c   the whole file: coverage, ranks, scopes and aggregates
 *   invariant_report.c     one report: the order of its regions, and what sums up over them
 *   invariant_region.c     one region: what it says about itself, its kernels, times, entries and figures
 *   invariant_findings.c   findings, against the rows that they rest on
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
int sonde_invariant__check_findings(struct sonde_validation *v, const json_t *document);
int sonde_invariant__check_diff(struct sonde_validation *v, const json_t *document);

/* --- what they share -------------------------------------------------------------------------- */

#define SONDE_TOLERANCE 1e-9
double sonde_invariant__number(const json_t *object, const char *key); /* NaN = null or absent */
bool sonde_invariant__is_word(const json_t *object, const char *key, const char *word);
bool sonde_invariant__is_ranges(const json_t *report); /* its figures were measured over replayed ranges */
/* The same but for rounding. */
bool sonde_invariant__is_close(double a, double b);
/* The key of a region, the same in every scope; lives as long as the document. */
struct sonde_str sonde_invariant__id(const json_t *region);
/* Whether they differ by more than rounding; no where one of them is missing. */
bool sonde_invariant__exceeds(double a, double b);
bool sonde_invariant__differs(double a, double b);
int sonde_invariant__fail(struct sonde_validation *v, const char *key, const char *what);

/*
 * A term: a number of the object ("busy_ms"), or of one in it ("ranges.launches_total"); the length of a list
 * ("#per_stream"); the sum over a list ("per_stream[].total_ms") or over all members of an object ("idle.*"). NaN = some
 * of it is null or absent. Several may be added up: "busy_ms + idle_ms".
 */
double sonde_invariant__term(const json_t *of, const char *term);

/* Whether "slower_pct" is the member `ms` against `others_ms`. */
bool sonde_invariant__is_slower_by(const json_t *of, const char *ms);

/*
 * A rule as a row: how two terms of an object compare. It holds where the left one is missing. A row without `at` and
 * `says` reports the left one, which "is more than" the right one.
 */
struct sonde_relation {
	const char *in; /* the object that has the terms, as "entries.host"; NULL = `of` itself */
	const char *left;
	const char *is; /* "<=" and "~" but for rounding, "=" exactly */
	const char *right;
	const char *at, *says; /* the member that is wrong, and what about it */
};
#define SONDE_AT_MOST(in, less, more)                                                              \
	{                                                                                          \
		in, less, "<=", more, NULL, NULL                                                   \
	}
int sonde_invariant__check_relations(
	struct sonde_validation *v, const json_t *of, const struct sonde_relation *rows, size_t nr);
#define SONDE_RELATIONS(v, of, rows)                                                               \
	sonde_invariant__check_relations(v, of, rows, sizeof(rows) / sizeof(*(rows)))

/* A rule for what a member, or each element of a list, says; `with` is what it is compared to. */
typedef int (*sonde_rule)(struct sonde_validation *v, const json_t *of, const json_t *with);
/* Nothing where there is no such member. */
int sonde_invariant__in(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with);
int sonde_invariant__each(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with);

#endif
