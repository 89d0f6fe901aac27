/*
 * Handles each part that comes: holds it, or adds it to a rest and frees it.
 *
 * Choosing sorts all held parts, so it waits until there are twice as many as may stay: then each part is
 * sorted only a few times, however many parts there are.
 */
#include "merge/scopes_kept.h"

#include "base/alloc.h"
#include "merge/scopes_rest.h"

#include <stdlib.h>
#include <string.h>

/* --- choosing the parts to keep: the slowest, the fastest, those that wait least, the first, the median --- */

/* Slowest first. */
static int by_time(const void *a, const void *b, void *keeper)
{
	const struct sonde_candidate *at = ((const struct sonde_keeper *)keeper)->candidates.at;
	const struct sonde_candidate *x = &at[*(const uint32_t *)a], *y = &at[*(const uint32_t *)b];

	return x->work_ns != y->work_ns ? sonde_cmp(y->work_ns, x->work_ns) : sonde_cmp(x->id, y->id);
}

/* Those that wait least first, those that do not communicate last. */
static int by_comm(const void *a, const void *b, void *keeper)
{
	const struct sonde_candidate *at = ((const struct sonde_keeper *)keeper)->candidates.at;
	const struct sonde_candidate *x = &at[*(const uint32_t *)a], *y = &at[*(const uint32_t *)b];
	int c = sonde_cmp(y->comm_ns > 0, x->comm_ns > 0);

	c = c ? c : sonde_cmp(x->comm_ns, y->comm_ns);
	return c ? c : sonde_cmp(x->id, y->id);
}

static int compare_ranks(const struct sonde_cells *a, const struct sonde_cells *b)
{
	const struct sonde_process *p = &a->processes.at[a->scopes.at[0].process];
	const struct sonde_process *q = &b->processes.at[b->scopes.at[0].process];
	int c = sonde_cmp(q->has_rank, p->has_rank);

	if (c == 0 && p->has_rank)
		c = sonde_cmp(p->rank, q->rank);
	return c ? c : sonde_str_cmp(a->inputs.at[0].path, b->inputs.at[0].path);
}

/* Lowest ranks first; before them the parts that cannot go to the rest. */
static int by_first(const void *a, const void *b, void *keeper)
{
	const struct sonde_candidate *at = ((const struct sonde_keeper *)keeper)->candidates.at;
	const struct sonde_held_part *x = a, *y = b;
	int c;

	if (x->number == SONDE_NONE || y->number == SONDE_NONE)
		return (y->number == SONDE_NONE) - (x->number == SONDE_NONE);
	c = compare_ranks(x->part, y->part);
	return c ? c : sonde_cmp(at[x->number].id, at[y->number].id);
}

/* Returns by number in `candidates` the index in `held`, SONDE_NONE = not held. Returns NULL: no memory. */
static uint32_t *find_held(struct sonde_keeper *k)
{
	uint32_t *at = sonde_malloc((k->candidates.nr + 1) * sizeof(*at));
	size_t i;

	if (at)
		memset(at, 0xff, (k->candidates.nr + 1) * sizeof(*at));
	for (i = 0; at && i < k->held.nr; i++)
		if (k->held.at[i].number != SONDE_NONE)
			at[k->held.at[i].number] = (uint32_t)i;
	return at;
}

/*
 * Marks held parts: the `slow` slowest, the `fast` fastest, and the `comm` ones with the least communication. A part
 * that is not marked cannot be among so many, or fewer, of all parts.
 */
static void mark_by_time(struct sonde_keeper *k, size_t slow, size_t fast, size_t comm)
{
	uint32_t *where = find_held(k), *at = sonde_malloc((k->held.nr + 1) * sizeof(*at));
	size_t i, nr = 0;

	k->failed |= !where || !at;
	for (i = 0; !k->failed && i < k->held.nr; i++)
		if (k->held.at[i].number != SONDE_NONE)
			at[nr++] = k->held.at[i].number;
	if (!k->failed && nr > 1)
		qsort_r(at, nr, sizeof(*at), by_time, k);
	for (i = 0; !k->failed && i < nr; i++)
		if (i < slow || nr - i <= fast)
			k->held.at[where[at[i]]].is_kept = true;
	if (!k->failed && nr > 1 && k->has_comm)
		qsort_r(at, nr, sizeof(*at), by_comm, k);
	for (i = 0; !k->failed && k->has_comm && i < nr && i < comm; i++)
		if (k->candidates.at[at[i]].comm_ns > 0)
			k->held.at[where[at[i]]].is_kept = true;
	sonde_free(where);
	sonde_free(at);
}

/* Marks the first parts: with `counts_marked` until `most` parts are marked in all, else the first `most` parts. */
static void mark_first(struct sonde_keeper *k, size_t most, bool counts_marked)
{
	size_t i, nr = 0;

	for (i = 0; counts_marked && i < k->held.nr; i++)
		nr += k->held.at[i].is_kept;
	if (k->held.nr > 1)
		qsort_r(k->held.at, k->held.nr, sizeof(*k->held.at), by_first, k);
	for (i = 0; i < k->held.nr && nr < most; i++) {
		struct sonde_held_part *h = &k->held.at[i];

		if (h->number == SONDE_NONE || (counts_marked && h->is_kept))
			continue;
		h->is_kept = true;
		nr++;
	}
}

/* The number of the part with the median time, held or not; SONDE_NONE = none. */
static uint32_t find_median(struct sonde_keeper *k)
{
	uint32_t *at = sonde_malloc((k->candidates.nr + 1) * sizeof(*at)), i, median = SONDE_NONE;

	k->failed |= !at;
	for (i = 0; at && i < k->candidates.nr; i++)
		at[i] = i;
	if (at && k->candidates.nr) {
		qsort_r(at, k->candidates.nr, sizeof(*at), by_time, k);
		median = at[k->candidates.nr / 2];
	}
	sonde_free(at);
	return median;
}

static int by_order(const void *a, const void *b)
{
	const struct sonde_held_part *x = a, *y = b;

	return sonde_cmp(x->order, y->order);
}

/* --- the rest ---------------------------------------------------------------------------------- */

/* Returns the number of the rest for a part's kind, creating it if new; SONDE_NONE: no memory. */
static uint32_t rest_for(struct sonde_keeper *k, const struct sonde_cells *part)
{
	struct sonde_buf key = {0};
	struct sonde_rest *rest;
	uint32_t number = SONDE_NONE;
	bool is_new = false;

	if (sonde_rest__describe(&key, part))
		number = sonde_map_keep(&k->kinds, &k->arena, sonde_buf_view(&key), &is_new);
	if (is_new) {
		rest = sonde_rest__new(part);
		k->failed |= !rest || !sonde_vec_put(&k->rests, rest);
	}
	sonde_buf_release(&key);
	return k->failed ? SONDE_NONE : number;
}

static void add_to_rest(struct sonde_keeper *k, struct sonde_held_part *h)
{
	struct sonde_candidate *candidate = &k->candidates.at[h->number];
	const struct sonde_rest_part p = {h->part, h->number, candidate->id};

	candidate->rest = rest_for(k, h->part);
	k->failed |= candidate->rest == SONDE_NONE || !sonde_rest__add(k->rests.at[candidate->rest], &p);
	k->nr_folded += h->part->scopes.nr;
	k->nr_notes += h->part->notes.texts.nr;
	k->nr_losses += h->part->notes.nr_losses;
	sonde_cells_free(h->part);
	h->part = NULL;
}

/* By input; of several parts of one input the one that keeps the most metrics comes first. */
static int by_number(const void *a, const void *b)
{
	const struct sonde_held_part *x = a, *y = b;
	int c = sonde_cmp(x->number, y->number);

	if (c == 0 && x->number != SONDE_NONE)
		c = sonde_cmp(y->part->kits.at[0].nr, x->part->kits.at[0].nr);
	return c ? c : by_order(a, b);
}

static void drop_doubles(struct sonde_keeper *k)
{
	size_t i, nr = 0;

	sonde_vec_sort(&k->held, by_number);
	for (i = 0; i < k->held.nr; i++) {
		struct sonde_held_part h = k->held.at[i];

		if (nr && h.number != SONDE_NONE && k->held.at[nr - 1].number == h.number) {
			sonde_parts_note_double(&k->notes, h.part);
			sonde_cells_free(h.part);
		} else {
			k->held.at[nr++] = h;
		}
	}
	k->held.nr = nr;
}

/* Adds parts that are not marked to the rest, and removes all marks. */
static void fold_others(struct sonde_keeper *k)
{
	size_t i, nr = 0;

	for (i = 0; i < k->held.nr; i++) {
		struct sonde_held_part h = k->held.at[i];

		if (!h.is_kept && h.number != SONDE_NONE && !k->failed)
			add_to_rest(k, &h);
		h.is_kept = false;
		if (h.part)
			k->held.at[nr++] = h;
	}
	k->held.nr = nr;
}

/*
 * Folds away parts that cannot be kept. For each criterion it keeps the largest number that choose_kept may need, as it
 * is not known yet whether the job communicates.
 */
static void make_room(struct sonde_keeper *k)
{
	size_t most = k->request->keep;

	drop_doubles(k);
	mark_by_time(k, (most + 1) / 2, most / 4, most / 4);
	if (!k->failed)
		mark_first(k, most, false);
	fold_others(k);
}

/* --- the median -------------------------------------------------------------------------------- */

/* The identity of a part; a copy of it at another path is another input. */
static uint64_t id_of(const struct sonde_cells *part)
{
	struct sonde_str path = part->inputs.at[0].path;
	uint64_t key[2] = {sonde_hash(path.p, path.n), sonde_part_identity(part)};

	return sonde_hash(key, sizeof(key));
}

/* Reads a part that was folded away again, and takes it out of the rest. */
static void read_back(struct sonde_keeper *k, uint32_t number)
{
	struct sonde_candidate *candidate = &k->candidates.at[number];
	struct sonde_parts again = {0};
	size_t i;

	if (sonde_parts_read(&again, candidate->file.p, k->request, NULL) != 0)
		again.at.nr = 0;
	for (i = 0; i < again.at.nr && id_of(again.at.at[i]) != candidate->id; i++)
		;
	if (i == again.at.nr) {
		sonde_note(&k->notes, "%.*s changed while it was being read: it is shown only in the sum; run the report again",
			SONDE_STR_ARG(candidate->file));
	} else {
		const struct sonde_rest_part p = {again.at.at[i], number, candidate->id};

		k->failed |= !sonde_rest__take_out(k->rests.at[candidate->rest], &p);
		candidate->rest = SONDE_NONE;
		k->nr_folded -= p.c->scopes.nr;
		k->nr_notes -= p.c->notes.texts.nr;
		k->nr_losses -= p.c->notes.nr_losses;
		if (sonde_vec_put(&k->held,
			    (struct sonde_held_part){again.at.at[i], candidate->order, number, true}))
			again.at.at[i] = NULL;
		else
			k->failed = true;
	}
	sonde_parts_release(&again);
}

/* Keeps the part with the median time. Usually it was folded away, before all times were known. */
static void keep_median(struct sonde_keeper *k)
{
	uint32_t median = find_median(k);
	size_t i;

	for (i = 0; i < k->held.nr && median != SONDE_NONE; i++)
		if (k->held.at[i].number == median) {
			k->held.at[i].is_kept = true;
			return;
		}
	if (median != SONDE_NONE && !k->failed)
		read_back(k, median);
}

/* --- the functions of the header ---------------------------------------------------------------------------------- */

/* Sums the times of a part over all its scopes. */
static void find_times(const struct sonde_cells *part, struct sonde_candidate *candidate)
{
	size_t i;

	for (i = 0; i < part->cells.nr; i++) {
		const struct sonde_cell *cell = &part->cells.at[i];

		if (sonde_kernel_communicates(part->strings.keys[cell->kernel]))
			candidate->comm_ns += cell->time_ns;
		else
			candidate->work_ns += cell->time_ns;
	}
}

/*
 * Gives a part its number in `candidates`. False: the caller frees the part, because its input is in the rest already, or no
 * memory.
 */
static bool note_part(struct sonde_keeper *k, struct sonde_held_part *h, const char *file)
{
	struct sonde_candidate candidate = {.id = id_of(h->part),
		.order = h->order,
		.file = sonde_arena_dup(&k->arena, sonde_str_from(file)),
		.rest = SONDE_NONE};
	bool is_new = false;

	h->number = sonde_map_keep(&k->ids, &k->arena, SONDE_BYTES(candidate.id), &is_new);
	if (h->number != SONDE_NONE && !is_new) {
		if (k->candidates.at[h->number].rest == SONDE_NONE)
			return true; /* both are held; drop_doubles, or uniting the parts, removes one of them */
		sonde_parts_note_double(&k->notes, h->part);
		return false;
	}
	find_times(h->part, &candidate);
	k->has_comm |= candidate.comm_ns > 0;
	k->failed |= h->number == SONDE_NONE || !sonde_vec_put(&k->candidates, candidate);
	return !k->failed;
}

void sonde_keeper__add(
	struct sonde_keeper *k, struct sonde_cells *part, uint64_t order, const char *file)
{
	struct sonde_held_part h = {part, order, SONDE_NONE, false};
	size_t most = k->request->keep;

	if (k->failed || (most && sonde_rest__may_take(part) && !note_part(k, &h, file))) {
		sonde_cells_free(part);
		return;
	}
	if (!sonde_vec_put(&k->held, h)) {
		sonde_cells_free(part);
		k->failed = true;
		return;
	}
	if (most && k->candidates.nr > most && k->held.nr > 2 * most + 16)
		make_room(k);
}

/* A rest with a single part is no sum: the part is kept. */
static void read_back_odd(struct sonde_keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->candidates.nr && !k->failed; i++) {
		uint32_t rest = k->candidates.at[i].rest;

		if (rest != SONDE_NONE && sonde_rest__nr_inputs(k->rests.at[rest]) == 1)
			read_back(k, i);
	}
}

static void choose_kept(struct sonde_keeper *k)
{
	size_t most = k->request->keep;

	make_room(k); /* so that the folded parts do not depend on when make_room ran last */
	mark_by_time(k, (most + 1) / 2, k->has_comm ? most / 8 : most / 4, most / 8);
	if (most > 3) /* if fewer parts are kept, the slowest and the first are more useful than the median */
		keep_median(k);
	if (!k->failed)
		mark_first(k, most, true);
	fold_others(k);
	read_back_odd(k);
}

/* Appends the rests after all other parts, whatever the order of their inputs was. */
static bool append_rests(struct sonde_keeper *k)
{
	size_t i;

	for (i = 0; i < k->rests.nr; i++) {
		struct sonde_held_part h = {NULL, UINT64_MAX, 0, true};

		if (!sonde_rest__nr_inputs(k->rests.at[i])) /* all its parts were taken out again */
			continue;
		h.part = sonde_rest__finish(k->rests.at[i]);
		if (!h.part || !sonde_vec_put(&k->held, h)) {
			sonde_cells_free(h.part);
			return false;
		}
	}
	return true;
}

static void note_what_is_kept(struct sonde_keeper *k)
{
	size_t most = k->request->keep, i, nr = k->nr_folded;

	for (i = 0; i < k->held.nr; i++)
		nr += k->held.at[i].part->scopes.nr;
	sonde_note(&k->notes,
		"%llu of %zu scopes are shown only as a sum: a report shows %zu inputs separately "
		"(report.scopes.keep; 0 = all), the slowest, the fastest, the median and the first",
		(unsigned long long)k->nr_folded, nr, most);
	if (k->nr_notes)
		sonde_note(&k->notes,
			"%llu notes about the inputs of these scopes are left out; report.scopes.keep=0 shows all",
			(unsigned long long)k->nr_notes);
	if (k->nr_losses)
		sonde_note_loss(&k->notes,
			"%llu of these notes are about missing or damaged data",
			(unsigned long long)k->nr_losses);
}

int sonde_keeper__finish(struct sonde_keeper *k, struct sonde_err *err)
{
	size_t most = k->request->keep;

	if (most && k->candidates.nr > most && !k->failed)
		choose_kept(k);
	sonde_vec_sort(&k->held, by_order);
	if (k->nr_folded && !k->failed)
		note_what_is_kept(k);
	if (!k->failed)
		k->failed = !append_rests(k);
	return k->failed ? sonde_err_nomem(err) : 0;
}

void sonde_keeper__release(struct sonde_keeper *k)
{
	size_t i;

	for (i = 0; i < k->held.nr; i++)
		sonde_cells_free(k->held.at[i].part);
	for (i = 0; i < k->rests.nr; i++)
		sonde_rest__free(k->rests.at[i]);
	sonde_vec_release(&k->held);
	sonde_vec_release(&k->candidates);
	sonde_vec_release(&k->rests);
	sonde_map_release(&k->ids);
	sonde_map_release(&k->kinds);
	sonde_notes_release(&k->notes);
	sonde_arena_release(&k->arena);
}
