/* The table of kernels, wherever they were launched. */
#include "export/text_int.h"

#include "base/escape.h"

#define LEAST_KERNEL 30
#define MAX_KERNELS  30
#define NR_COLUMNS   6 /* before the metrics */

static void kernel_row(struct sonde_text_export *x, struct sonde_table *t,
	const struct sonde_report *r, uint32_t kernel)
{
	const struct sonde_kernel *k = &r->kernels.at[kernel];
	double pct = 100 * k->time_ns / (r->time_ns + r->outside_time_ns);

	sonde_escape_terminal(&x->cell, sonde_kernel_name(x->tree, x->options, k->name),
		x->options->is_utf8);
	sonde_text__put(x, t, SONDE_STYLE_BOLD);
	sonde_buf_printf(&x->cell, "%.0f", (double)k->calls);
	sonde_text__put(x, t, SONDE_STYLE_PLAIN);
	sonde_buf_printf(&x->cell, "%.*f", x->decimals[0], k->time_ns / 1e6 * x->per_ms);
	sonde_text__put(x, t, SONDE_STYLE_PLAIN);
	sonde_buf_printf(&x->cell, "%.*f", x->decimals[1],
		k->time_ns / 1e6 / (double)k->calls * x->per_ms);
	sonde_text__put(x, t, SONDE_STYLE_PLAIN);
	sonde_buf_printf(&x->cell, "%.1f%%", pct);
	sonde_text__put(x, t, SONDE_STYLE_PLAIN);
	sonde_text__bar(x, t, pct);
	sonde_tree_values(x->tree, r, SONDE_PART_KERNEL, kernel, &x->figures);
	sonde_text__metric_cells(x, t, SONDE_STYLE_PLAIN);
}

int sonde_text__flat(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	static const char *const heads[NR_COLUMNS] = {
		"kernel", "launches", "total ms", "mean ms", "share", ""};
	struct sonde_table t = {.is_utf8 = x->options->is_utf8,
		.is_coloured = x->options->is_coloured,
		.least_name = LEAST_KERNEL};
	uint32_t max = x->options->max_kernels ? (uint32_t)x->options->max_kernels : MAX_KERNELS;
	struct sonde_extent total = {0}, mean = {0};
	uint32_t i;
	int rc;

	for (i = 0; i < r->nr_flat_kernels && i < max; i++) {
		const struct sonde_kernel *k = &r->kernels.at[r->flat_first_kernel + i];

		sonde_text__extend(&total, k->time_ns / 1e6);
		sonde_text__extend(&mean, k->time_ns / 1e6 / (double)k->calls);
	}
	sonde_text__choose_unit(x, total.most);
	x->decimals[0] = sonde_text__decimals(x, &total);
	x->decimals[1] = sonde_text__decimals(x, &mean);
	for (i = 0; i < NR_COLUMNS; i++) {
		if (i == 2 || i == 3)
			sonde_text__time_column(x, &t, sonde_str_from(heads[i]), 0);
		else
			sonde_table_column(&t, sonde_str_from(heads[i]), i > 0 && i < 5,
				i == 5 ? SONDE_DROP_BAR : 0);
	}
	sonde_text__metric_columns(x, &t);
	for (i = 0; i < r->nr_flat_kernels && i < max; i++)
		kernel_row(x, &t, r, r->flat_first_kernel + i);
	rc = sonde_text__print(x, &t, NR_COLUMNS, err);
	if (rc == 0 && r->nr_flat_kernels > max)
		sonde_sink_printf(x->to, "%s and %u more kernels\n",
			x->options->is_utf8 ? "\u2026" : "...", r->nr_flat_kernels - max);
	sonde_table_release(&t);
	return rc;
}
