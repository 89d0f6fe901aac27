/* Tables of kernels, wherever they were launched. */
#include "export/text_int.h"

#include "base/alloc.h"
#include "base/cxx_name.h"

#include <math.h>

#define LEAST_KERNEL 30
#define MAX_KERNELS  30
#define NR_COLUMNS   6 /* columns before the metrics */

static double mean_ns(const struct sonde_ranked *k)
{
	return k->calls ? k->time_ns / (double)k->calls : NAN;
}

static size_t nr_listed(const struct sonde_export_options *o, size_t nr)
{
	size_t max = o->max_kernels ? o->max_kernels : MAX_KERNELS;

	return nr < max ? nr : max;
}

/* Adds the columns before the metrics, in units that fit what is listed. */
static void put_columns(
	struct sonde_text_export *x, struct sonde_table *t, const struct sonde_ranked *rows, size_t nr)
{
	static const char *const before[] = {"0kernel", ">0launches", NULL};
	struct sonde_scale *total = &x->scales[0], *mean = &x->scales[1];
	size_t i;

	*total = *mean = (struct sonde_scale){0};
	for (i = 0; i < nr; i++) {
		sonde_scale_add(total, rows[i].time_ns / 1e6);
		sonde_scale_add(mean, mean_ns(&rows[i]) / 1e6);
	}
	sonde_scale_choose(total, total->most, x->options->is_utf8);
	sonde_scale_choose(mean, mean->most, x->options->is_utf8);
	sonde_table_heads(t, before);
	sonde_scale_column(t, total, SONDE_STR("total ms"), 0);
	sonde_scale_column(t, mean, SONDE_STR("mean ms"), 0);
	sonde_table_column(t, SONDE_STR("share"), true, 0);
	sonde_table_column(t, SONDE_STR(""), false, SONDE_DROP_BAR);
}

static void put_row(
	struct sonde_text_export *x, struct sonde_table *t, const struct sonde_ranked *k)
{
	sonde_table_text(t, k->name, SONDE_STYLE_BOLD);
	sonde_table_number(t, k->calls ? (double)k->calls : NAN, 0, "");
	sonde_scale_put(t, &x->scales[0], k->time_ns / 1e6);
	sonde_scale_put(t, &x->scales[1], mean_ns(k) / 1e6);
	sonde_table_number(t, k->time_pct, 1, "%");
	sonde_text__put_bar(t, k->time_pct);
}

/* Prints `nr` of `nr_all` kernels. With a report, they are its first kernels and have its metrics. */
static int print_rows(struct sonde_text_export *x, const struct sonde_ranked *rows, size_t nr,
	size_t nr_all, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_table t = sonde_text__table(x->options, LEAST_KERNEL);
	size_t i;
	int rc;

	put_columns(x, &t, rows, nr);
	if (r)
		sonde_text__add_metric_columns(x, &t);
	for (i = 0; i < nr; i++) {
		put_row(x, &t, &rows[i]);
		if (!r)
			continue;
		sonde_tree_values(x->tree, r, SONDE_PART_KERNEL, r->flat_first_kernel + (uint32_t)i, &x->figures);
		sonde_text__put_metric_cells(x, &t, SONDE_STYLE_PLAIN, true);
	}
	rc = r ? sonde_text__print(x, &t, NR_COLUMNS, err)
	       : sonde_table_print(&t, x->to, x->width, &x->dropped, err);
	if (rc == 0 && nr_all > nr)
		sonde_sink_printf(x->to, "%s and %zu more kernels\n",
			x->options->is_utf8 ? "\u2026" : "...", nr_all - nr);
	sonde_table_release(&t);
	return rc;
}

int sonde_text__write_kernels(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	size_t nr = nr_listed(x->options, r->nr_flat_kernels), i;
	struct sonde_ranked *rows = sonde_calloc(nr + 1, sizeof(*rows));
	int rc;

	for (i = 0; rows && i < nr; i++) {
		const struct sonde_kernel *k = &r->kernels.at[r->flat_first_kernel + i];

		rows[i] = (struct sonde_ranked){sonde_kernel_name(x->tree, x->options, k->name),
			k->calls, k->time_ns, 100 * k->time_ns / (r->time_ns + r->outside_time_ns), false};
	}
	rc = rows ? print_rows(x, rows, nr, r->nr_flat_kernels, r, err) : sonde_err_nomem(err);
	sonde_free(rows);
	return rc;
}

/*
 * Copies the rows with names for people: short names that are distinct among all rows, or full names if the options ask
 * for them.
 */
static bool name_rows(struct sonde_ranked *out, const struct sonde_ranked *rows, size_t nr,
	const struct sonde_export_options *o, struct sonde_arena *arena)
{
	struct sonde_str *names = sonde_calloc(2 * nr + 1, sizeof(*names));
	bool ok = names != NULL;
	size_t i;

	for (i = 0; ok && i < nr; i++)
		names[i] = names[nr + i] = rows[i].name;
	if (ok && !o->full_names)
		ok = sonde_cxx_names_shorten(names, names + nr, nr, arena);
	for (i = 0; ok && i < nr; i++) {
		out[i] = rows[i];
		out[i].name = names[i];
	}
	sonde_free(names);
	return ok;
}

int sonde_export_ranking(const struct sonde_ranking *r, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_text_export x = {.to = to, .options = o, .width = o->width ? o->width : 100};
	size_t nr = r->kernels.nr;
	struct sonde_ranked *named = sonde_calloc(nr + 1, sizeof(*named));
	struct sonde_arena arena = {0};
	int rc = named && name_rows(named, r->kernels.at, nr, o, &arena)
			 ? print_rows(&x, named, nr_listed(o, nr), nr, NULL, err)
			 : sonde_err_nomem(err);

	sonde_arena_release(&arena);
	sonde_buf_release(&x.dropped);
	sonde_free(named);
	return rc;
}
