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
/* The arithmetic: of one region, of one report, of the whole document. The schema holds. */
int sonde_invariant__region(struct sonde_validation *v, const json_t *region);
int sonde_invariant__times(struct sonde_validation *v, const json_t *region);
int sonde_invariant__memory(struct sonde_validation *v, const json_t *region);
/* Of quantities that have no exclusive part; `parent` of a root is SIZE_MAX. */
int sonde_invariant__parts(struct sonde_validation *v, const json_t *const *regions,
	const size_t *parent, size_t nr);
int sonde_invariant__figures(
	struct sonde_validation *v, const json_t *region, const json_t *totals);
int sonde_invariant__ranges(struct sonde_validation *v, const json_t *of);
int sonde_invariant__report(struct sonde_validation *v, const json_t *report,
	const json_t *metric_info, bool is_aggregate);
/* Ranks side by side: of a region, and of the document. */
int sonde_invariant__spread(struct sonde_validation *v, const json_t *region);
int sonde_invariant__ranks(struct sonde_validation *v, const json_t *document);
int sonde_invariant__check(struct sonde_validation *v, const json_t *document);
/* Of a comparison: verdicts that follow from their figures, and totals that count them. */
int sonde_invariant__diff(struct sonde_validation *v, const json_t *document);

#define SONDE_TOLERANCE 1e-9
double sonde_invariant__number(const json_t *object, const char *key); /* NaN = null or absent */
bool sonde_invariant__is_ranges(const json_t *report); /* its figures are of replayed ranges */
/* Whether `a` is more than `b` by more than rounding; no when one of them is missing. */
bool sonde_invariant__exceeds(double a, double b);
int sonde_invariant__fail(struct sonde_validation *v, const char *key, const char *what);
/* What makes a region the same in every scope: kind, domain, id. */
void sonde_invariant__key(struct sonde_buf *out, const json_t *region);

#endif
