#include "export/time_scale.h"

#include <math.h>

void sonde_extent_add(struct sonde_extent *e, double ms)
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
static uint8_t decimals(const struct sonde_extent *e, double per_ms)
{
	double least = e->least * per_ms, most = e->most * per_ms;
	uint8_t n = per_ms > 1 ? 1 : 3;

	while (n < 6 && least > 0 && least < pow(10, 2 - n) && most < pow(10, 5 - n))
		n++;
	while (n > 1 && most >= pow(10, 8 - n))
		n--;
	return n;
}

static double unit_of(double most_ms)
{
	return most_ms >= 10000 ? 1e-3 : most_ms > 0 && most_ms < 1 ? 1e3 : 1;
}

struct sonde_scale sonde_scale_choose(const struct sonde_extent *e, double most_ms, bool is_utf8)
{
	struct sonde_scale s = {.per_ms = unit_of(most_ms)};

	s.unit = s.per_ms < 1 ? "s" : s.per_ms == 1 ? "ms" : is_utf8 ? "\u00b5s" : "us";
	s.decimals = decimals(e, s.per_ms);
	return s;
}

void sonde_scale_print(struct sonde_buf *to, const struct sonde_scale *s, double ms)
{
	if (isnan(ms))
		sonde_buf_putc(to, '-');
	else
		sonde_buf_printf(to, "%.*f", s->decimals, ms * s->per_ms);
}

void sonde_scale_put(struct sonde_table *t, const struct sonde_scale *s, double ms)
{
	sonde_scale_print(&t->cell, s, ms);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

void sonde_scale_column(
	struct sonde_table *t, const struct sonde_scale *s, struct sonde_str head, unsigned drop)
{
	struct sonde_buf name = {0};

	sonde_buf_add(&name, head.p, sonde_str_ends(head, "ms") ? head.n - 2 : head.n);
	sonde_buf_puts(&name, sonde_str_ends(head, "ms") ? s->unit : "");
	sonde_table_column(t, sonde_buf_view(&name), true, drop);
	t->failed |= name.failed;
	sonde_buf_release(&name);
}
