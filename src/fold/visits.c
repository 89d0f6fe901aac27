/* What each scope knows of each region: first which regions it knows, and how often it was there. */
#include "fold/fold_int.h"

#include "base/quantile.h"

#include <math.h>
#include <string.h>

/* The regions of a scope's presences and those around them, in order. */
static size_t find_known(const struct sonde_launches *l, const struct sonde_presence *at, size_t nr,
	uint32_t *known, bool *is_known)
{
	size_t nr_known = 0, i;
	uint32_t region;

	for (i = 0; i < nr; i++)
		for (region = at[i].region; region != SONDE_NONE && !is_known[region];
			region = l->regions.at[region].parent) {
			is_known[region] = true;
			known[nr_known++] = region;
		}
	sonde_sort_u32(known, nr_known);
	for (i = 0; i < nr_known; i++)
		is_known[known[i]] = false;
	return nr_known;
}

void sonde_waits_forget(struct sonde_waits *w)
{
	size_t i;

	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		w->by[i] = NAN;
	w->tail_ns = w->queue_ns = w->comm_ns = w->exposed_ns = NAN;
}

void sonde_visit_list_times(struct sonde_visit *v, double **at)
{
	double *const times[] = {&v->busy_ns, &v->span_ns, &v->idle_ns, &v->host_ns, &v->cpu_ns,
		&v->waits.tail_ns, &v->waits.queue_ns, &v->waits.comm_ns, &v->waits.exposed_ns,
		&v->memory.allocated, &v->memory.freed, &v->memory.left, &v->memory.peak, &v->timed,
		&v->time_error_ns, &v->launch_error};
	size_t nr = sizeof(times) / sizeof(*times), i;

	_Static_assert(sizeof(times) / sizeof(*times) + SONDE_NR_IDLE_CAUSES == SONDE_NR_VISIT_TIMES,
		"all of them");
	memcpy(at, times, sizeof(times));
	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		at[nr + i] = &v->waits.by[i];
}

static bool add_scope(struct sonde_folding *f, const struct sonde_presence *at, size_t nr,
	uint32_t *known, bool *is_known)
{
	size_t nr_known = find_known(f->l, at, nr, known, is_known), i, k = 0;

	for (i = 0; i < nr_known; i++) {
		struct sonde_visit *v = sonde_cells_add_visit(f->c, at->scope, known[i]);

		if (!v)
			return false;
		v->is_present = k < nr && at[k].region == known[i];
		if (v->is_present) {
			v->instances = at[k].instances;
			v->first_instances = at[k++].first_instances;
		}
	}
	return true;
}

bool sonde_fold__visits(struct sonde_folding *f)
{
	const struct sonde_launches *l = f->l;
	uint32_t *known = sonde_arena_alloc(&f->scratch, (l->regions.nr + 1) * sizeof(*known));
	bool *is_known = sonde_arena_calloc(&f->scratch, l->regions.nr + 1, sizeof(*is_known));
	bool ok = known && is_known;
	size_t i, end;

	for (i = 0; ok && i < l->presences.nr; i = end) {
		for (end = i; end < l->presences.nr &&
			      l->presences.at[end].scope == l->presences.at[i].scope;
			end++)
			;
		ok = add_scope(f, &l->presences.at[i], end - i, known, is_known);
	}
	return ok && sonde_fold__times(f);
}
