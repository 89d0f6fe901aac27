/*
 * What the runs of each side say of themselves, and one thing that only a comparison shows: ranks
 * that some runs of a job have and others lack. One run alone may be of chosen ranks.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"

#define MOST_RANKS (1u << 24) /* a job of more is not looked at */
#define MOST_NAMED 8

/* Which ranks of a job of `size` are there; bytes NULL = it has none, or several jobs. */
struct ranks {
	uint32_t size;
	bool *is_there;
};

/* Rank `i` of a run, those that are added up behind the others. */
static bool rank_at(const struct sonde_cells *c, size_t i, uint32_t *rank, uint32_t *size)
{
	const struct sonde_folded_scope *f;

	if (i < c->processes.nr) {
		*rank = c->processes.at[i].rank;
		*size = c->processes.at[i].world_size;
		return c->processes.at[i].has_rank && *rank < *size;
	}
	f = &c->folded_scopes.at[i - c->processes.nr];
	*rank = f->rank;
	*size = f->world_size;
	return f->has_rank && *rank < *size;
}

/* False: no memory. */
static bool find_ranks(struct ranks *out, const struct sonde_cells *c)
{
	size_t i, nr = c->processes.nr + c->folded_scopes.nr;
	uint32_t rank, size;

	for (i = 0; i < nr; i++) {
		if (!rank_at(c, i, &rank, &size) || size > MOST_RANKS)
			continue;
		if (!out->is_there) {
			out->size = size;
			out->is_there = sonde_calloc(size, sizeof(*out->is_there));
			if (!out->is_there)
				return false;
		}
		if (size != out->size) {
			sonde_free(out->is_there);
			*out = (struct ranks){0};
			return true;
		}
		out->is_there[rank] = true;
	}
	return true;
}

/* Ranks of `all`, jobs of the same size, that `one` lacks; nothing where it lacks none. */
static void say_missing(struct sonde_notes *notes, const struct ranks *one, const struct ranks *all, size_t nr)
{
	struct sonde_buf names = {0};
	size_t i, missing = 0;
	uint32_t rank;

	for (rank = 0; rank < one->size; rank++) {
		bool is_known = one->is_there[rank];

		for (i = 0; i < nr && !is_known; i++)
			if (all[i].size == one->size && all[i].is_there[rank])
				break;
		if (is_known || i == nr)
			continue;
		if (missing < MOST_NAMED)
			sonde_buf_printf(&names, "%s%u", missing ? ", " : "", rank);
		missing++;
	}
	if (missing)
		sonde_note_loss(notes, "%zu rank%s of the job %s missing that other runs have: %s%s", missing,
			missing == 1 ? "" : "s", missing == 1 ? "is" : "are", names.failed ? "" : names.p,
			missing > MOST_NAMED ? " \u2026" : "");
	sonde_buf_release(&names);
}

static struct sonde_notes *notes_of(struct sonde_diff *d, const struct sonde_diff__match *m, size_t run)
{
	return run < m->nr_base ? &d->base_notes : &d->new_notes;
}

bool sonde_diff__take_notes(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	struct ranks *ranks = sonde_calloc(m->nr_runs + 1, sizeof(*ranks));
	bool ok = ranks;
	size_t i;

	for (i = 0; i < m->nr_runs; i++)
		sonde_notes_add(notes_of(d, m, i), &m->trees[i]->notes);
	for (i = 0; i < m->nr_runs && ok; i++)
		ok = find_ranks(&ranks[i], m->trees[i]->cells);
	for (i = 0; i < m->nr_runs && ok; i++)
		if (ranks[i].is_there)
			say_missing(notes_of(d, m, i), &ranks[i], ranks, m->nr_runs);
	for (i = 0; i < m->nr_runs && ranks; i++)
		sonde_free(ranks[i].is_there);
	sonde_free(ranks);
	return ok;
}
