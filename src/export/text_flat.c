/* Tables of kernels, wherever they were launched. */
#include "export/kernel_table.h"
#include "export/text_int.h"

#include "base/alloc.h"
#include "base/cxx_name.h"

#include <math.h>

#define LEAST_KERNEL 30
#define MAX_KERNELS  30
#define NR_COLUMNS   6 /* before the metrics */

static double mean_ns(const struct sonde_kernel_row *k)
{
	return k->calls ? k->time_ns / (double)k->calls : NAN;
}

static size_t nr_listed(const struct sonde_export_options *o, size_t nr)
{
	size_t max = o->max_kernels ? o->max_kernels : MAX_KERNELS;

	return nr < max ? nr : max;
}

/* The columns before the metrics, in units that fit what is listed. */
static void put_columns(struct sonde_text_export *x, struct sonde_table *t,
	const struct sonde_extent *total, const struct sonde_extent *mean)
{
	static const char *const before[] = {"0kernel", ">0launches", NULL};

	x->scales[0] = sonde_scale_choose(total, total->most, x->options->is_utf8);
	x->scales[1] = sonde_scale_choose(mean, mean->most, x->options->is_utf8);
	sonde_table_heads(t, before);
	sonde_scale_column(t, &x->scales[0], SONDE_STR("total ms"), 0);
	sonde_scale_column(t, &x->scales[1], SONDE_STR("mean ms"), 0);
	sonde_table_column(t, SONDE_STR("share"), true, 0);
	sonde_table_column(t, SONDE_STR(""), false, SONDE_DROP_BAR);
}

static void put_row(
	struct sonde_text_export *x, struct sonde_table *t, const struct sonde_kernel_row *k)
{
	sonde_table_text(t, k->name, SONDE_STYLE_BOLD);
	sonde_table_number(t, k->calls ? (double)k->calls : NAN, 0, "");
	sonde_scale_put(t, &x->scales[0], k->time_ns / 1e6);
	sonde_scale_put(t, &x->scales[1], mean_ns(k) / 1e6);
	sonde_table_number(t, k->time_pct, 1, "%");
	sonde_text__bar(t, k->time_pct);
}

static void tell_rest(struct sonde_text_export *x, size_t nr, size_t nr_shown)
{
	if (nr > nr_shown)
		sonde_sink_printf(x->to, "%s and %zu more kernels\n",
			x->options->is_utf8 ? "\u2026" : "...", nr - nr_shown);
}

static struct sonde_kernel_row row_of(
	const struct sonde_text_export *x, const struct sonde_report *r, uint32_t kernel)
{
	const struct sonde_kernel *k = &r->kernels.at[kernel];

	return (struct sonde_kernel_row){sonde_kernel_name(x->tree, x->options, k->name), k->calls,
		k->time_ns, 100 * k->time_ns / (r->time_ns + r->outside_time_ns)};
}

int sonde_text__flat(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	uint32_t i, first = r->flat_first_kernel;
	uint32_t nr = (uint32_t)nr_listed(x->options, r->nr_flat_kernels);
	struct sonde_table t = sonde_text__table(x->options, LEAST_KERNEL);
	struct sonde_extent total = {0}, mean = {0};
	int rc;

	for (i = first; i < first + nr; i++) {
		const struct sonde_kernel_row row = row_of(x, r, i);

		sonde_extent_add(&total, row.time_ns / 1e6);
		sonde_extent_add(&mean, mean_ns(&row) / 1e6);
	}
	put_columns(x, &t, &total, &mean);
	sonde_text__metric_columns(x, &t);
	for (i = first; i < first + nr; i++) {
		const struct sonde_kernel_row row = row_of(x, r, i);

		put_row(x, &t, &row);
		sonde_tree_values(x->tree, r, SONDE_PART_KERNEL, i, &x->figures);
		sonde_text__metric_cells(x, &t, SONDE_STYLE_PLAIN);
	}
	rc = sonde_text__print(x, &t, NR_COLUMNS, err);
	if (rc == 0)
		tell_rest(x, r->nr_flat_kernels, nr);
	sonde_table_release(&t);
	return rc;
}

/* Names for people, by row; full ones where these are asked for. NULL when memory is short. */
static struct sonde_str *name_rows(const struct sonde_kernel_row *rows, size_t nr,
	const struct sonde_export_options *o, struct sonde_arena *arena)
{
	struct sonde_str *names = sonde_calloc(2 * nr + 1, sizeof(*names));
	size_t i;

	for (i = 0; names && i < nr; i++)
		names[i] = names[nr + i] = rows[i].name;
	if (names && !o->full_names && !sonde_cxx_names_shorten(names, names + nr, nr, arena)) {
		sonde_free(names);
		return NULL;
	}
	return names;
}

int sonde_export_kernel_table(const struct sonde_kernel_row *rows, size_t nr,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_text_export x = {.to = to, .options = o, .width = o->width ? o->width : 100};
	struct sonde_table t = sonde_text__table(o, LEAST_KERNEL);
	struct sonde_extent total = {0}, mean = {0};
	struct sonde_arena arena = {0};
	struct sonde_str *names = name_rows(rows, nr, o, &arena);
	size_t i, nr_shown = nr_listed(o, nr);
	int rc = names ? 0 : sonde_err_nomem(err);

	for (i = 0; i < nr_shown; i++) {
		sonde_extent_add(&total, rows[i].time_ns / 1e6);
		sonde_extent_add(&mean, mean_ns(&rows[i]) / 1e6);
	}
	put_columns(&x, &t, &total, &mean);
	for (i = 0; i < nr_shown && rc == 0; i++) {
		struct sonde_kernel_row row = rows[i];

		row.name = names[i];
		put_row(&x, &t, &row);
	}
	if (rc == 0)
		rc = sonde_table_print(&t, to, x.width, &x.dropped, err);
	if (rc == 0)
		tell_rest(&x, nr, nr_shown);
	sonde_table_release(&t);
	sonde_arena_release(&arena);
	sonde_buf_release(&x.dropped);
	sonde_free(names);
	return rc;
}
