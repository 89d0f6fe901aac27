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
 *   invariant_document.c   the whole file: coverage, ranks, scopes and aggregates
 *   invariant_report.c     one report: the order of its regions, and what sums up over them
 *   invariant_region.c     one region: what it says about itself, its kernels, times, entries and figures
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
int sonde_invariant__check_diff(struct sonde_validation *v, const json_t *document);

/* --- what they share -------------------------------------------------------------------------- */

#define SONDE_TOLERANCE 1e-9
double sonde_invariant__number(const json_t *object, const char *key); /* NaN = null or absent */
bool sonde_invariant__is_word(const json_t *object, const char *key, const char *word);
bool sonde_invariant__is_ranges(const json_t *report); /* its figures are of replayed ranges */
/* The same but for rounding. */
bool sonde_invariant__is_close(double a, double b);
/* The key of a region, the same in every scope; lives as long as the document. */
struct sonde_str sonde_invariant__id(const json_t *region);
/* More than by rounding; no when one of them is missing. */
bool sonde_invariant__exceeds(double a, double b);
bool sonde_invariant__differs(double a, double b);
int sonde_invariant__fail(struct sonde_validation *v, const char *key, const char *what);

/* Σ of a member over a list, and of all members of an object. */
double sonde_invariant__sum_over(const json_t *list, const char *key);
double sonde_invariant__sum_members(const json_t *object);
/* Whether "slower_pct" is the member `ms` against `others_ms`. */
bool sonde_invariant__is_slower_by(const json_t *of, const char *ms);

/* One member is at most another. Nothing is said where one of them is missing. */
struct sonde_limit {
	const char *in; /* the object that has both, as "entries.host"; NULL = `of` itself */
	const char *less, *more;
};
int sonde_invariant__check_limits(
	struct sonde_validation *v, const json_t *of, const struct sonde_limit *limits, size_t nr);
#define SONDE_LIMITS(v, of, limits)                                                                \
	sonde_invariant__check_limits(v, of, limits, sizeof(limits) / sizeof(*(limits)))

/* A rule for what a member, or each element of a list, says; `with` is what it is compared to. */
typedef int (*sonde_rule)(struct sonde_validation *v, const json_t *of, const json_t *with);
/* Nothing where there is no such member. */
int sonde_invariant__in(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with);
int sonde_invariant__each(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with);

#endif
