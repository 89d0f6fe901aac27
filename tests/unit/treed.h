/* The pipeline up to the tree, for tests of its figures. */
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
	uint32_t column = sonde_tree_column(run->t, metric);

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

/* Region A with two launches, B nested in it with one. */
static inline void small(struct made *m)
{
	uint32_t a, b;

	made_init(m);
	a = made_push(m, MADE_ROOT, "A");
	b = made_push(m, a, "B");
	made_launch(m, "k1", 1, &a);
	made_metric(m, TIME, 100);
	made_metric(m, "sm__cycles_elapsed.avg", 1000);
	made_metric(m, "sm__inst_executed.sum", 10);
	made_metric(m, "sm__inst_executed.avg", 1);
	made_metric(m, "sm__inst_executed.max", 4);
	made_metric(m, "sm__inst_executed.min", 0);
	made_metric(m, "sm__pipe_x.avg.pct_of_peak_sustained_elapsed", 10);
	made_metric(m, "launch__block_size", 128);
	made_launch(m, "k2", 1, &a);
	made_metric(m, TIME, 300);
	made_metric(m, "sm__cycles_elapsed.avg", 5000);
	made_metric(m, "sm__inst_executed.sum", 20);
	made_metric(m, "sm__inst_executed.avg", 7);
	made_metric(m, "sm__inst_executed.max", 9);
	made_metric(m, "sm__inst_executed.min", 2);
	made_metric(m, "sm__pipe_x.avg.pct_of_peak_sustained_elapsed", 40);
	made_metric(m, "launch__block_size", 128);
	made_launch(m, "k1", 1, &b);
	made_metric(m, TIME, 50);
	made_metric(m, "sm__cycles_elapsed.avg", 500);
	made_metric(m, "sm__inst_executed.sum", 5);
	made_metric(m, "sm__inst_executed.avg", 1);
	made_metric(m, "sm__inst_executed.max", 1);
	made_metric(m, "sm__inst_executed.min", 1);
	made_metric(m, "sm__pipe_x.avg.pct_of_peak_sustained_elapsed", 90);
	made_metric(m, "launch__block_size", 64);
}

#endif
