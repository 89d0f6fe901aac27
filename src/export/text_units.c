/* How times are printed: one unit per table, as many decimals as a column needs. */
#include "export/text_int.h"

#include <math.h>

void sonde_text__extend(struct sonde_extent *e, double ms)
{
	if (ms >= 1e-6 && (e->least == 0 || ms < e->least))
		e->least = ms;
	if (ms > e->most)
		e->most = ms;
}

/*
 * Three digits of the smallest, as long as the largest does not become unreadable: more decimals
 * than usual only up to six digits, so that wide columns leave room for the metrics.
 */
uint8_t sonde_text__decimals(const struct sonde_text_export *x, const struct sonde_extent *e)
{
	double least = e->least * x->per_ms, most = e->most * x->per_ms;
	uint8_t n = x->per_ms > 1 ? 1 : 3;

	while (n < 6 && least > 0 && least < pow(10, 2 - n) && most < pow(10, 5 - n))
		n++;
	while (n > 1 && most >= pow(10, 8 - n))
		n--;
	return n;
}

void sonde_text__choose_unit(struct sonde_text_export *x, double most_ms)
{
	bool is_short = most_ms > 0 && most_ms < 1, is_long = most_ms >= 10000;

	x->per_ms = is_short ? 1e3 : is_long ? 1e-3 : 1;
	x->unit = is_long ? "s" : !is_short ? "ms" : x->options->is_utf8 ? "\u00b5s" : "us";
}

void sonde_text__time_column(struct sonde_text_export *x, struct sonde_table *t,
	struct sonde_str head, unsigned drop)
{
	sonde_buf_add(&x->cell, head.p, sonde_str_ends(head, "ms") ? head.n - 2 : head.n);
	sonde_buf_puts(&x->cell, sonde_str_ends(head, "ms") ? x->unit : "");
	sonde_table_column(t, sonde_buf_view(&x->cell), true, drop);
	sonde_buf_clear(&x->cell);
}
