#include "fold/parts.h"

#include <stdlib.h>
#include <string.h>

void sonde_parts_release(struct sonde_parts *parts)
{
	size_t i;

	for (i = 0; i < parts->at.nr; i++)
		sonde_cells_free(parts->at.at[i]);
	sonde_vec_release(&parts->at);
}

/* Must not depend on the chosen metrics: parts of the same input have the same identity. */
uint64_t sonde_part_identity(const struct sonde_cells *c)
{
	uint64_t sums[4] = {
		c->inputs.nr ? c->inputs.at[0].created_s : 0, c->tally.nr_launches, 0, 0};
	size_t i;

	for (i = 0; i < c->processes.nr; i++) {
		const struct sonde_process *p = &c->processes.at[i];
		uint64_t key[5] = {
			sums[2], p->pid, sonde_hash(p->host.p, p->host.n), p->nr_launches, p->trail};

		sums[2] = sonde_hash(key, sizeof(key));
	}
	for (i = 0; i < c->sums.nr; i++) {
		uint64_t key[2] = {sums[2], 0};

		memcpy(&key[1], &c->sums.at[i].time_ns, sizeof(key[1]));
		sums[2] = sonde_hash(key, sizeof(key));
	}
	for (i = 0; i < c->visits.nr; i++)
		sums[3] += c->visits.at[i].instances;
	return sonde_hash(sums, sizeof(sums));
}

static struct sonde_str path_of(const struct sonde_cells *c)
{
	return c->inputs.nr ? c->inputs.at[0].path : SONDE_STR("");
}

/* Whether a part holds folded scopes. Such parts come after all others. */
static bool is_rest(const struct sonde_cells *c)
{
	return c->inputs.nr && c->inputs.at[0].nr_folded;
}

static uint32_t nr_kept(const struct sonde_cells *c)
{
	return c->kits.nr ? c->kits.at[0].nr : 0;
}

/* By path, then identity; of parts of the same input the one that keeps the most metrics comes first. */
static int by_input(const void *pa, const void *pb)
{
	const struct sonde_cells *a = *(const struct sonde_cells *const *)pa;
	const struct sonde_cells *b = *(const struct sonde_cells *const *)pb;
	int c = sonde_cmp(is_rest(a), is_rest(b));

	c = c ? c : sonde_str_cmp(path_of(a), path_of(b));
	if (c == 0) {
		uint64_t x = sonde_part_identity(a), y = sonde_part_identity(b);

		c = sonde_cmp(x, y);
	}
	return c ? c : sonde_cmp(nr_kept(b), nr_kept(a));
}

void sonde_parts_note_double(struct sonde_notes *notes, const struct sonde_cells *c)
{
	sonde_note(notes, "%.*s was given more than once; it is counted once", SONDE_STR_ARG(path_of(c)));
}

/* Invariant 2. Parts are ordered by what they were made of, never by when they came. */
void sonde_parts_sort(struct sonde_cells **at, size_t *nr, struct sonde_notes *doubled)
{
	size_t i, left = 0;

	if (*nr > 1)
		qsort(at, *nr, sizeof(*at), by_input);
	for (i = 0; i < *nr; i++) {
		struct sonde_cells *last = left ? at[left - 1] : NULL;

		if (last && sonde_str_eq(path_of(last), path_of(at[i])) &&
			sonde_part_identity(last) == sonde_part_identity(at[i]) && !is_rest(last)) {
			sonde_parts_note_double(doubled, at[i]);
			sonde_cells_free(at[i]);
		} else {
			at[left++] = at[i];
		}
	}
	*nr = left;
}

bool sonde_selection_is_same(const struct sonde_selection *a, const struct sonde_selection *b)
{
	return a->stack_only == b->stack_only && a->own_threads == b->own_threads &&
	       a->no_origins == b->no_origins && sonde_words_are_same(a->labels, b->labels) &&
	       sonde_words_are_same(a->nvtx_include, b->nvtx_include) &&
	       sonde_words_are_same(a->nvtx_exclude, b->nvtx_exclude) &&
	       sonde_words_are_same(a->kernel_include, b->kernel_include) &&
	       sonde_words_are_same(a->kernel_exclude, b->kernel_exclude);
}

bool sonde_selection_is_usual(const struct sonde_selection *s)
{
	const char *const known = "known";
	const struct sonde_selection none = {0}, usual = {.labels = {&known, 1}};

	return sonde_selection_is_same(s, &none) || sonde_selection_is_same(s, &usual);
}

static bool has_traces(const struct sonde_cells *c)
{
	size_t i;

	for (i = 0; i < c->inputs.nr; i++)
		if (sonde_str_is(c->inputs.at[i].source, "kineto"))
			return true;
	return false;
}

/* Whether two parts were folded with the same settings. `kineto_regions` matters only if both have traces. */
static bool are_alike(const struct sonde_cells *a, const struct sonde_cells *b)
{
	return sonde_selection_is_same(&a->selection, &b->selection) &&
	       (a->read.kineto_regions == b->read.kineto_regions || !has_traces(a) || !has_traces(b));
}

int sonde_parts_check(struct sonde_cells *const *at, size_t nr, struct sonde_err *err)
{
	size_t i;

	for (i = 1; i < nr; i++)
		if (!are_alike(at[0], at[i]))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"%.*s and %.*s were made with different settings (selection of "
				"ranges or kernels, nesting, threads, origins or labels), but all inputs of a "
				"report need the same: make the partial reports again with the same settings, or "
				"give these settings with the captures",
				SONDE_STR_ARG(path_of(at[0])), SONDE_STR_ARG(path_of(at[i])));
	return 0;
}
