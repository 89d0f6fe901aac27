/* Ranks side by side in Markdown: who is slow, and who waits for whom. */
#include "export/markdown_int.h"
#include "export/rank_tables.h"

#include "base/escape.h"

void sonde_markdown__write_stragglers(struct sonde_markdown *m)
{
	const struct sonde_ranks *r = m->tree->ranks;
	size_t i;

	for (i = 0; r && i < r->stragglers.nr; i++) {
		sonde_sink_puts(m->to, i ? "**Also slow**: " : "**Slow**: ");
		sonde_escape_markdown(&m->to->buf, r->stragglers.at[i].sentence);
		sonde_sink_puts(m->to, "\n\n");
	}
}

void sonde_markdown__write_ranks(struct sonde_markdown *m)
{
	size_t i;

	if (!m->tree->ranks)
		return;
	sonde_sink_printf(m->to, "\n## %u ranks\n", m->tree->ranks->nr);
	for (i = 0; i < SONDE_NR_RANK_TABLES; i++) {
		struct sonde_table t = {.escape = sonde_escape_markdown};

		sonde_rank_table_fill(&t, (enum sonde_rank_table)i, m->tree);
		sonde_markdown__finish(m, &t);
	}
}

void sonde_markdown__write_spread(struct sonde_markdown *m, const struct sonde_node *n)
{
	const struct sonde_rank_spread *s = sonde_ranks_spread(m->tree->ranks, n->region);

	if (!s || s->nr < 2)
		return;
	sonde_sink_printf(m->to, "- kernels without communication on %u ranks: %.4f to %.4f ms, median %.4f ms; slowest ",
		s->nr, s->min_ns / 1e6, s->max_ns / 1e6, s->median_ns / 1e6);
	sonde_markdown__write_name(m, sonde_rank_name(m->tree->ranks, s->slowest));
	sonde_sink_printf(m->to, ", %.1f%% above the others", 100 * (s->max_ns / s->others_ns - 1));
	if (s->is_slow)
		sonde_sink_printf(m->to, " (by its %s)", sonde_slow_cause_name(s->cause));
	sonde_sink_putc(m->to, '\n');
}
