/*
 * Whether all ranks of a job are in the inputs: perhaps only chosen ones were profiled, or some
 * were lost.
 */
#include "base/alloc.h"
#include "base/quantile.h"
#include "fold/fold_int.h"

#define MAX_SPANS 8 /* in words; the rest is "…" */

/* Sorted, each once. */
static size_t drop_doubles(uint32_t *ranks, size_t nr)
{
	size_t i, kept = 0;

	sonde_sort_u32(ranks, nr);
	for (i = 0; i < nr; i++)
		if (!kept || ranks[kept - 1] != ranks[i])
			ranks[kept++] = ranks[i];
	return kept;
}

/* `0-7, 64` */
static void print_spans(struct sonde_buf *out, const uint32_t *ranks, size_t nr)
{
	size_t i, first;
	unsigned nr_spans;

	for (i = 0, nr_spans = 0; i < nr; i++, nr_spans++) {
		if (nr_spans == MAX_SPANS) {
			sonde_buf_puts(out, " …");
			return;
		}
		for (first = i; i + 1 < nr && ranks[i + 1] == ranks[i] + 1; i++)
			;
		sonde_buf_printf(out, "%s%u", nr_spans ? ", " : "", ranks[first]);
		if (i > first)
			sonde_buf_printf(out, "-%u", ranks[i]);
	}
}

/* Turns the ranks that are there into those that are not. Only where these are the fewer. */
static size_t invert(uint32_t *ranks, size_t nr, uint32_t size)
{
	uint32_t *missing = sonde_calloc(size - nr + 1, sizeof(*missing)), rank;
	size_t i = 0, k = 0;

	for (rank = 0; rank < size && missing; rank++) {
		if (i < nr && ranks[i] == rank)
			i++;
		else
			missing[k++] = rank;
	}
	for (i = 0; i < k; i++)
		ranks[i] = missing[i];
	sonde_free(missing);
	return k;
}

static void note_missing(struct sonde_notes *notes, uint32_t *ranks, size_t nr, uint32_t size)
{
	bool is_missing = nr > size / 2;
	struct sonde_buf words = {0};

	print_spans(&words, ranks, is_missing ? invert(ranks, nr, size) : nr);
	if (words.n && !words.failed)
		sonde_note(notes, "%zu of the job's %u ranks %s here: %s%s", nr, size,
			nr == 1 ? "is" : "are", is_missing ? "all but " : "", words.p);
	sonde_buf_release(&words);
}

/* Rank `i` of all there are, those that are added up behind the others; false: it has none. */
static bool rank_at(const struct sonde_cells *c, size_t i, struct sonde_folded_scope *out)
{
	const struct sonde_process *p;

	if (i >= c->processes.nr) {
		*out = c->folded_scopes.at[i - c->processes.nr];
		return out->has_rank;
	}
	p = &c->processes.at[i];
	*out = (struct sonde_folded_scope){.rank = p->rank, .world_size = p->world_size};
	return p->has_rank;
}

void sonde_cells__explain_ranks(const struct sonde_cells *c, struct sonde_notes *notes)
{
	size_t i, nr = 0, all = c->processes.nr + c->folded_scopes.nr;
	uint32_t size = 0, *ranks = sonde_calloc(all + 1, sizeof(*ranks));
	struct sonde_folded_scope p;

	for (i = 0; i < all && ranks; i++) {
		if (!rank_at(c, i, &p))
			continue;
		if (!p.world_size || p.rank >= p.world_size || (size && p.world_size != size))
			break; /* not known, or of several jobs */
		size = p.world_size;
		ranks[nr++] = p.rank;
	}
	if (ranks && i == all) {
		nr = drop_doubles(ranks, nr);
		if (nr && nr < size)
			note_missing(notes, ranks, nr, size);
	}
	sonde_free(ranks);
}
