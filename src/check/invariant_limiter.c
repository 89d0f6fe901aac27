/*
 * What limits kernels: a level of the memory or a pipe that is named must have a figure in the row, and no other one of
 * its kind may be busier.
 */
#include "check/validate_int.h"

#include "catalogue/metrics.h"

#include <math.h>
#include <string.h>

/* The words for limiters, with the figures that show them. */
static const struct limiter_row {
	const char *word, *kind;     /* kind: of words with the same kind, the busiest is named; NULL = none */
	enum sonde_metric_role role; /* … its metrics, starting at number `from` */
	size_t from;
} limiters[] = {
	{"dram", "memory", SONDE_ROLE_MEMORY, 1}, /* the first metric is that of the whole memory */
	{"l2", "memory", SONDE_ROLE_L2, 0},
	{"l1", "memory", SONDE_ROLE_L1, 0},
	{"shared", "memory", SONDE_ROLE_SHARED, 0},
	{"issue", "pipe", SONDE_ROLE_ISSUE, 0},
	{"tensor", "pipe", SONDE_ROLE_TENSOR, 0},
	{"fma", "pipe", SONDE_ROLE_FMA, 0},
	{"alu", "pipe", SONDE_ROLE_ALU, 0},
	{"fp64", "pipe", SONDE_ROLE_FP64, 0},
	{"memory", NULL, SONDE_ROLE_MEMORY, 0},
	{"compute", NULL, SONDE_ROLE_SM, 0},
	{"latency", NULL, SONDE_ROLE_MEMORY, 0},
};
#define NR_LIMITERS (sizeof(limiters) / sizeof(*limiters))

static const struct limiter_row *find_limiter(const char *word)
{
	size_t i;

	for (i = 0; word && i < NR_LIMITERS; i++)
		if (strcmp(limiters[i].word, word) == 0)
			return &limiters[i];
	return NULL;
}

/* The figure that shows how busy a limiter is; NaN = the row has none. */
static double figure_of(const json_t *metrics, const struct limiter_row *l)
{
	const struct sonde_role_metric *m = sonde_metric_roles[l->role].at;
	double figure = NAN;
	size_t i;

	for (i = l->from; i < SONDE_ROLE_METRICS && m[i].name && isnan(figure); i++)
		figure = sonde_invariant__number(metrics, m[i].name);
	return figure;
}

bool sonde_invariant__is_limiter(const char *word)
{
	return find_limiter(word) != NULL;
}

int sonde_invariant__check_limiter(struct sonde_validation *v, const json_t *of, const char *key, const char *word)
{
	const struct limiter_row *l = find_limiter(word);
	const json_t *metrics = json_object_get(of, "metrics");
	double figure;
	size_t i;

	if (!l)
		return 0;
	figure = figure_of(metrics, l);
	if (isnan(figure))
		return sonde_invariant__fail(v, key, "names a limiter without a figure in the row");
	for (i = 0; l->kind && i < NR_LIMITERS; i++)
		if (limiters[i].kind && strcmp(limiters[i].kind, l->kind) == 0 &&
			sonde_invariant__exceeds(figure_of(metrics, &limiters[i]), figure))
			return sonde_invariant__fail(v, key, "is not the busiest part in the row");
	return 0;
}
