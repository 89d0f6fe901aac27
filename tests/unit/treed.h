/* Runs the pipeline up to the tree, for tests of its figures. */
#ifndef SONDE_TESTS_TREED_H
#define SONDE_TESTS_TREED_H

#include "tree/tree.h"

#include "folded.h"
#include "made.h"

#include <math.h>

#define TIME "gpu__time_duration.sum"

struct run {
	struct sonde_cells *c;
	struct sonde_tree *t;
	struct sonde_figures f;
};

static inline void aggregate(
	struct run *run, const struct sonde_records *r, const struct sonde_choice *choice)
{
	struct sonde_choice any = {0};
	struct sonde_err err = {0};

	run->c = folded(r, choice);
	assert_int_equal(sonde_tree_build(&run->t, run->c, choice ? choice : &any, &err), 0);
	assert_int_equal(sonde_figures_init(&run->f, run->t, &err), 0);
}

static inline void release(struct run *run)
{
	sonde_figures_release(&run->f);
	sonde_tree_free(run->t);
	sonde_cells_free(run->c);
}

static inline const struct sonde_figure *figure(
	struct run *run, size_t report, enum sonde_part part, uint32_t index, const char *metric)
{
	uint32_t column = sonde_tree_column(run->t, sonde_str_from(metric));

	assert_int_not_equal(column, SONDE_NONE);
	sonde_tree_values(run->t, &run->t->reports.at[report], part, index, &run->f);
	return &run->f.at[column];
}

static inline void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * (fabs(a) > fabs(b) ? fabs(a) : fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

static inline const struct sonde_node *node_named(
	const struct run *run, const struct sonde_report *r, const char *id)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		if (sonde_str_is(run->c->regions.at[r->nodes.at[i].region].id, id))
			return &r->nodes.at[i];
	fail_msg("no region %s", id);
	return NULL;
}

/* Adds a launch with values of the metrics of `small`. */
static inline void small_launch(struct made *m, const char *kernel, uint32_t range, const double *values)
{
	static const char *const names[] = {TIME, "sm__cycles_elapsed.avg", "sm__inst_executed.sum",
		"sm__inst_executed.avg", "sm__inst_executed.max", "sm__inst_executed.min",
		"sm__pipe_x.avg.pct_of_peak_sustained_elapsed", "launch__block_size"};
	size_t i;

	made_launch(m, kernel, 1, &range);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		made_metric(m, names[i], values[i]);
}

/* Region A with two launches, B nested in it with one. */
static inline void small(struct made *m)
{
	uint32_t a, b;

	made_init(m);
	a = made_push(m, MADE_ROOT, "A");
	b = made_push(m, a, "B");
	small_launch(m, "k1", a, (const double[]){100, 1000, 10, 1, 4, 0, 10, 128});
	small_launch(m, "k2", a, (const double[]){300, 5000, 20, 7, 9, 2, 40, 128});
	small_launch(m, "k1", b, (const double[]){50, 500, 5, 1, 1, 1, 90, 64});
}

#endif
