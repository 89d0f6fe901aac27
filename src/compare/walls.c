/*
 * The wall time that an entry adds to its run.
 *
 * A host that launches without waiting runs ahead of the GPU. Work is then queued behind that of earlier entries, and
 * the wall time of an entry (struct sonde_entry) grows with the queue. Of two programs, the one that runs further ahead
 * would seem slower. So a comparison counts an entry's time only from the moment when everything that was entered and
 * left before it had ended: the times of consecutive entries then add up to the run.
 */
#include "compare/diff_int.h"

#include <math.h>
#include <stdlib.h>

/* An entry of a scope: when it was entered and left on the host, and when all its work had ended. */
struct timed_entry {
	uint64_t begin_ns, left_ns, end_ns;
	uint32_t entry;
};

struct timed_entries {
	struct timed_entry *at;
	size_t nr, cap;
};

static int by_begin(const void *a, const void *b)
{
	const struct timed_entry *x = a, *y = b;

	return x->begin_ns != y->begin_ns ? sonde_cmp(x->begin_ns, y->begin_ns) : sonde_cmp(x->entry, y->entry);
}

static int by_left(const void *a, const void *b)
{
	const struct timed_entry *x = a, *y = b;

	return x->left_ns != y->left_ns ? sonde_cmp(x->left_ns, y->left_ns) : sonde_cmp(x->entry, y->entry);
}

/* Adds the entries of a visit whose wall time is known. */
static bool add_entries(struct timed_entries *begun, struct timed_entries *left, const struct sonde_cells *c, const struct sonde_visit *v)
{
	uint32_t i;

	for (i = v->first_entry; i < v->first_entry + v->nr_entries; i++) {
		const struct sonde_entry *e = &c->entries.at[i];
		struct timed_entry s = {e->begin_ns, e->begin_ns + e->host_ns, e->begin_ns + e->wall_ns, i};

		if (e->wall_ns != SONDE_NO_WALL && (!sonde_vec_put(begun, s) || !sonde_vec_put(left, s)))
			return false;
	}
	return true;
}

/*
 * Launches on several streams or by several threads need not wait for what came before. So an entry counts at least the
 * time of its launches, but never more than its own wall time.
 */
static void count_walls(double *walls, const struct sonde_cells *c, struct timed_entries *begun, struct timed_entries *left)
{
	uint64_t before = 0;
	size_t i, k = 0;

	sonde_vec_sort(begun, by_begin);
	sonde_vec_sort(left, by_left);
	for (i = 0; i < begun->nr; i++) {
		const struct timed_entry *s = &begun->at[i];
		const struct sonde_entry *e = &c->entries.at[s->entry];
		double least = fmin((double)e->gpu_ns, (double)e->wall_ns), own;

		for (; k < left->nr && left->at[k].left_ns <= s->begin_ns; k++)
			before = left->at[k].end_ns > before ? left->at[k].end_ns : before;
		own = before <= s->begin_ns ? (double)e->wall_ns : before < s->end_ns ? (double)(s->end_ns - before) : 0;
		walls[s->entry] = fmax(own, least);
	}
}

double *sonde_diff__walls(const struct sonde_cells *c, struct sonde_arena *arena)
{
	double *walls = sonde_arena_alloc(arena, (c->entries.nr + 1) * sizeof(*walls));
	struct timed_entries begun = {0}, left = {0};
	bool ok = walls;
	size_t i;

	for (i = 0; ok && i < c->entries.nr; i++)
		walls[i] = NAN;
	for (i = 0; ok && i < c->visits.nr; i++) { /* visits are sorted by scope */
		ok = add_entries(&begun, &left, c, &c->visits.at[i]);
		if (ok && (i + 1 == c->visits.nr || c->visits.at[i + 1].scope != c->visits.at[i].scope)) {
			count_walls(walls, c, &begun, &left);
			begun.nr = left.nr = 0;
		}
	}
	sonde_vec_release(&begun);
	sonde_vec_release(&left);
	return ok ? walls : NULL;
}
