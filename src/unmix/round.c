/*
 * A round: from a plan to a factorised matrix. Classes with dependent columns are joined
 * on the way, and then the round begins again. If the factor would be too large, the round
 * begins again without time bins, and then with classes pooled by name.
 */
#include "unmix/unmix_int.h"

#include <math.h>

#define SAME_PART      0.1    /* a column with a smaller coefficient does not count as explaining another */
#define FACTORISATIONS 4      /* usual number for each counter */
#define MOST_VALUES    1.25e8 /* the most values of a factor: 1 GB */

/* Joins the classes of a column and of the columns that explain it: they run side by side. A trend is just left out. */
static void join_same(struct sonde_unmix__watch *watch, uint32_t column)
{
	uint32_t p, own = watch->class_of[column];

	if (own == SONDE_UNMIX_NONE || watch->is_trend[column])
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
	struct sonde_unmix__watch watch = {.found = join_same,
		.envelope = &r->envelope,
		.plan = plan,
		.is_trend = r->matrix.is_trend};
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
		uint32_t u = plan->unknown[k];

		if (u == SONDE_UNMIX_NONE)
			continue;
		for (b = 0; b < sonde_unmix__nr_columns(&plan->unknowns[u]); b++)
			watch.class_of[plan->unknowns[u].column + b] = k;
	}
	r->condition = 1 / sonde_unmix__envelope_factor(r->factor, &r->envelope, &r->gram, &watch);
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

static void list_unknowns(struct sonde_unmix__round *r)
{
	uint32_t u, k;

	for (k = 0; k < r->gram.nr; k++)
		r->unknown_of[k] = SONDE_UNMIX_NONE;
	for (u = 0; u < r->plan->nr_unknowns; u++) {
		for (k = 0; k < sonde_unmix__nr_columns(&r->plan->unknowns[u]); k++)
			r->unknown_of[r->plan->unknowns[u].column + k] = u;
	}
}

/*
 * The 97.5 % quantile of Student's t ÷ 1.96, because an error estimated from few clusters is itself uncertain. If there are more clusters than
 * sums, the error is computed from the sums, so their number counts.
 */
static double student_factor(uint32_t nr_clusters)
{
	uint32_t nr = nr_clusters < RESIDUAL_SUMS ? nr_clusters : RESIDUAL_SUMS;
	double n = nr > 2 ? nr - 1 : 1;

	return 1 + 1.25 / n + 2.3 / (n * n);
}

static int count_clusters(struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	uint32_t nr = r->plan->nr_unknowns, u;
	uint32_t *last = sonde_arena_calloc(&r->arena, nr, sizeof(*last));
	uint32_t *seen = sonde_arena_calloc(&r->arena, nr, sizeof(*seen));
	size_t i, j;

	r->unknown_of = sonde_arena_alloc(&r->arena, r->gram.nr * sizeof(*r->unknown_of));
	r->error_growth = sonde_arena_alloc(&r->arena, nr * sizeof(*r->error_growth));
	if (r->arena.failed)
		return SONDE_ERR_NOMEM;
	list_unknowns(r);
	for (i = 0; i < m->nr_rows; i++) {
		uint32_t cluster = r->windows->cluster[i] + 1;

		for (j = m->row[i]; j < m->row[i + 1]; j++) {
			u = r->unknown_of[m->column[j]];
			if (u == SONDE_UNMIX_NONE || last[u] == cluster)
				continue;
			last[u] = cluster;
			seen[u]++;
		}
	}
	for (u = 0; u < nr; u++)
		r->error_growth[u] = student_factor(seen[u]);
	return 0;
}

/* Most counters factorise the matrix again, without the columns that are held at zero. */
static bool is_too_large(const struct sonde_unmix__round *r)
{
	double work = r->envelope.work * (1.0 + FACTORISATIONS * r->in->nr_counters);

	return work > r->most_work || (double)r->envelope.nr_values > MOST_VALUES;
}

static int build_matrix(
	struct sonde_unmix__round *r, struct sonde_unmix__plan *plan, int64_t offset_ns)
{
	int rc;

	if (sonde_unmix__plan_lay(plan, &r->arena, r->in, r->windows, offset_ns) < 0 ||
		sonde_unmix__matrix_build(&r->matrix, &r->arena, plan, r->windows) < 0)
		return SONDE_ERR_NOMEM;
	rc = sonde_unmix__gram_build(&r->gram, &r->arena, &r->matrix, plan);
	if (rc < 0)
		return rc;
	if (sonde_unmix__envelope_build(
		    &r->envelope, &r->arena, &r->gram, r->matrix.nr_background) < 0)
		return SONDE_ERR_NOMEM;
	return is_too_large(r) ? SONDE_ERR_LIMIT : 0;
}

/* Too much work: first removes time bins, then pools classes by name. */
static int simplify_plan(
	uint32_t *nr_joined, struct sonde_unmix__round *r, struct sonde_unmix__plan *plan)
{
	if (!plan->without_bins) {
		plan->without_bins = true;
		*nr_joined = 1;
		return 0;
	}
	if (sonde_unmix__pool_names(nr_joined, plan, &r->arena, r->in) < 0)
		return SONDE_ERR_NOMEM;
	return *nr_joined > 0 ? 0 : SONDE_ERR_LIMIT;
}

/* One attempt. `*nr_joined` > 0: the plan has changed, try again. */
static int try_round(uint32_t *nr_joined, struct sonde_unmix__round *r,
	struct sonde_unmix__plan *plan, int64_t offset_ns)
{
	int rc = build_matrix(r, plan, offset_ns);

	*nr_joined = 0;
	if (rc == SONDE_ERR_LIMIT)
		return simplify_plan(nr_joined, r, plan);
	if (rc < 0 || factorise(nr_joined, r, plan) < 0)
		return SONDE_ERR_NOMEM;
	if (*nr_joined > 0)
		return 0;
	return find_leverage(r) < 0 || count_clusters(r) < 0 ? SONDE_ERR_NOMEM : 0;
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

	/* Every attempt after the first has fewer columns, so this ends. */
	do {
		sonde_unmix__round_release(r);
		r->plan = plan;
		rc = try_round(&nr_joined, r, plan, offset_ns);
	} while (rc == 0 && nr_joined > 0);
	return rc;
}
