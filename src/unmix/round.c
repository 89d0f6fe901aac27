/*
 * A round: from a plan to a factorised matrix. Classes found to be the same are
 * joined on the way and the round begins again; so it does with classes pooled by
 * name when the factor would be too large.
 */
#include "unmix/unmix_int.h"

#include <math.h>

#define SAME_PART   0.1	  /* of a column: what explains less of another is not part of it */
#define MOST_WORK   2e11  /* multiplications of one factorisation: a minute or two */
#define MOST_VALUES 2.5e8 /* of a factor: 2 GB */

/* A column is explained by others: their classes run side by side. */
static void join_same(struct sonde_unmix__watch *watch, uint32_t column)
{
	uint32_t p, own = watch->class_of[column];

	if (own == SONDE_UNMIX_NONE)
		return;
	for (p = 0; p < watch->envelope->place[column]; p++) {
		uint32_t other = watch->class_of[watch->envelope->order[p]];

		if (other == SONDE_UNMIX_NONE || fabs(watch->coefficients[p]) < SAME_PART)
			continue;
		watch->nr_joined +=
			sonde_unmix__plan_join(watch->plan, own, other, SONDE_UNMIX_MERGED);
	}
}

static int factorise(
	uint32_t *nr_joined, struct sonde_unmix__round *r, struct sonde_unmix__plan *plan)
{
	struct sonde_unmix__watch watch = {
		.found = join_same, .envelope = &r->envelope, .plan = plan};
	size_t columns = r->gram.nr;
	uint32_t k, b;

	r->factor = sonde_arena_alloc(&r->arena, r->envelope.nr_values * sizeof(*r->factor));
	watch.coefficients = sonde_arena_alloc(&r->arena, columns * sizeof(*watch.coefficients));
	watch.class_of = sonde_arena_alloc(&r->arena, columns * sizeof(*watch.class_of));
	if (r->arena.failed)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < columns; k++)
		watch.class_of[k] = SONDE_UNMIX_NONE;
	for (k = 0; k < r->in->nr_classes; k++) {
		if (plan->unknown[k] == SONDE_UNMIX_NONE)
			continue;
		for (b = 0; b < plan->unknowns[plan->unknown[k]].nr_bins; b++)
			watch.class_of[plan->unknowns[plan->unknown[k]].column + b] = k;
	}
	r->condition =
		1 / sonde_unmix__envelope_factor(r->factor, &r->envelope, &r->gram, NULL, &watch);
	*nr_joined = watch.nr_joined;
	return 0;
}

static int find_leverage(struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	size_t i, j;

	r->leverage = sonde_arena_alloc(&r->arena, m->nr_rows * sizeof(*r->leverage));
	if (r->leverage == NULL)
		return SONDE_ERR_NOMEM;
	for (i = 0; i < m->nr_rows; i++) {
		double sum = 0;

		for (j = m->row[i]; j < m->row[i + 1]; j++) {
			double part = m->value[j] / r->gram.scale[m->column[j]];

			sum += part * part;
		}
		r->leverage[i] = sum < 1 ? sum : 1;
	}
	return 0;
}

static bool is_too_large(const struct sonde_unmix__envelope *e)
{
	return e->work > MOST_WORK || (double)e->nr_values > MOST_VALUES;
}

/* One attempt; `*nr_joined` > 0 asks for another. */
static int try_round(uint32_t *nr_joined, struct sonde_unmix__round *r,
	struct sonde_unmix__plan *plan, int64_t offset_ns)
{
	*nr_joined = 0;
	if (sonde_unmix__plan_lay(plan, &r->arena, r->in, r->windows, offset_ns) < 0 ||
		sonde_unmix__matrix_build(&r->matrix, &r->arena, plan, r->windows) < 0 ||
		sonde_unmix__gram_build(&r->gram, &r->arena, &r->matrix, plan) < 0 ||
		sonde_unmix__envelope_build(
			&r->envelope, &r->arena, &r->gram, r->matrix.nr_background) < 0)
		return SONDE_ERR_NOMEM;
	if (is_too_large(&r->envelope)) {
		if (sonde_unmix__pool_names(nr_joined, plan, &r->arena, r->in) < 0)
			return SONDE_ERR_NOMEM;
		return *nr_joined > 0 ? 0 : SONDE_ERR_LIMIT;
	}
	if (factorise(nr_joined, r, plan) < 0)
		return SONDE_ERR_NOMEM;
	return *nr_joined > 0 ? 0 : find_leverage(r);
}

void sonde_unmix__round_release(struct sonde_unmix__round *r)
{
	sonde_vec_release(&r->gram.at);
	sonde_arena_release(&r->arena);
}

int sonde_unmix__round_build(
	struct sonde_unmix__round *r, struct sonde_unmix__plan *plan, int64_t offset_ns)
{
	uint32_t nr_joined;
	int rc;

	/* Every attempt after the first has fewer unknowns, so this ends. */
	do {
		sonde_unmix__round_release(r);
		r->plan = plan;
		rc = try_round(&nr_joined, r, plan, offset_ns);
	} while (rc == 0 && nr_joined > 0);
	return rc;
}
