/* Runs the pipeline from hand-made records to the bytes of a format. */
#ifndef SONDE_TESTS_EXPORTED_H
#define SONDE_TESTS_EXPORTED_H

#include "export/format.h"

#include "folded.h"
#include "made.h"

#define TIME "gpu__time_duration.sum"

typedef sonde_exporter *exporter;

/* Returns the bytes; the caller releases them with sonde_buf_release. */
static inline struct sonde_buf exported_chosen(const struct made *m, exporter f,
	const struct sonde_export_options *options, struct sonde_choice choice)
{
	const struct sonde_export_options defaults = {.is_utf8 = true};
	struct sonde_cells *c = folded(m->r, &choice);
	struct sonde_tree *t = NULL;
	struct sonde_err err = {0};
	struct sonde_sink to;

	sonde_sink_init_string(&to);
	assert_int_equal(sonde_tree_build(&t, c, &choice, &err), 0);
	assert_int_equal(f(t, options ? options : &defaults, &to, &err), 0);
	assert_false(to.buf.failed);
	sonde_tree_free(t);
	sonde_cells_free(c);
	return to.buf;
}

static inline struct sonde_buf exported(
	const struct made *m, exporter f, const struct sonde_export_options *options)
{
	return exported_chosen(m, f, options, (struct sonde_choice){0});
}

/* Region A with two launches, `inner` below it with one, one launch outside. */
static inline void small_run(struct made *m, const char *inner)
{
	uint32_t a, b;

	made_init(m);
	a = made_push(m, MADE_ROOT, "A");
	b = made_push(m, a, inner);
	made_launch(m, "gemm", 1, &a);
	made_metric(m, TIME, 3000);
	made_launch(m, "gemm", 1, &a);
	made_metric(m, TIME, 1000);
	made_launch(m, "axpy", 1, &b);
	made_metric(m, TIME, 500);
	made_launch(m, "fill", 0, NULL);
	made_metric(m, TIME, 250);
}

#endif
