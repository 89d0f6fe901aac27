/* Ranks side by side on the terminal: who is slow, and who waits for whom. */
#include "export/rank_tables.h"
#include "export/text_int.h"

#define MOST_SENTENCES 3

void sonde_text__write_stragglers(struct sonde_text_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	for (i = 0; r && i < r->stragglers.nr && i < MOST_SENTENCES; i++)
		sonde_text__write_wrapped(x, i ? "also: " : "slow: ", r->stragglers.at[i].sentence);
}

int sonde_text__write_ranks(struct sonde_text_export *x, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	if (!x->tree->ranks)
		sonde_sink_puts(x->to, "\nThere are not two ranks of one job to compare.\n");
	for (i = 0; x->tree->ranks && i < SONDE_NR_RANK_TABLES && rc == 0; i++) {
		struct sonde_table t = sonde_text__table(x->options, 24);

		sonde_rank_table_fill(&t, (enum sonde_rank_table)i, x->tree);
		if (t.columns.nr)
			rc = sonde_text__finish(x, &t, err);
		else
			sonde_table_release(&t);
	}
	return rc;
}
