#include "tree/stall_profile.h"

#include "base/alloc.h"

#include <stdlib.h>

/* Sums for one stall reason: of the current kernel, and of all kernels so far. */
struct sum {
	double samples, not_issued; /* samples of the current kernel */
	double all, all_not_issued;
	double weight; /* Σ over kernels: time · share */
};

struct summing {
	const struct sonde_cells *c;
	struct sum *by; /* by reason */
	double ns, samples; /* time and samples of the current kernel */
	struct sonde_stall_profile *out;
};

/* All cells of a kernel are added up: its shares count by its time. */
static void end_kernel(struct summing *s)
{
	size_t i;

	for (i = 0; i < s->c->stall_reasons.nr && s->samples > 0; i++) {
		struct sum *r = &s->by[i];

		r->weight += s->ns * r->samples / s->samples;
		r->all += r->samples;
		r->all_not_issued += r->not_issued;
		r->samples = r->not_issued = 0;
	}
	if (s->samples > 0) {
		s->out->samples += s->samples;
		s->out->sampled_ns += s->ns;
	}
	s->ns = s->samples = 0;
}

static void add_cell(struct summing *s, const struct sonde_cell *cell)
{
	uint32_t i;

	s->ns += cell->time_ns > 0 ? cell->time_ns : 0;
	s->out->exact += cell->exact_stalls;
	for (i = 0; i < cell->nr_stalls; i++) {
		const struct sonde_stall *stall = &s->c->stalls.at[cell->first_stall + i];

		s->by[stall->reason].samples += stall->samples;
		s->by[stall->reason].not_issued += stall->not_issued;
		s->samples += stall->samples;
	}
}

static int by_kernel(const void *a, const void *b, void *cells)
{
	const struct sonde_cell *at = cells;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return at[x].kernel != at[y].kernel ? sonde_cmp(at[x].kernel, at[y].kernel) : sonde_cmp(x, y);
}

static int by_share(const void *a, const void *b)
{
	const struct sonde_stall_share *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return sonde_str_cmp(x->name, y->name);
}

static bool list_shares(const struct summing *s)
{
	struct sonde_stall_profile *p = s->out;
	uint32_t i;

	for (i = 0; i < s->c->stall_reasons.nr; i++) {
		const struct sum *r = &s->by[i];

		if (!(r->all > 0) && !(r->all_not_issued > 0))
			continue;
		if (!sonde_vec_put(&p->at, (struct sonde_stall_share){i, sonde_cells_str(s->c, s->c->stall_reasons.at[i]),
						   r->all, r->all_not_issued,
						   p->sampled_ns > 0 ? r->weight / p->sampled_ns : r->all / p->samples}))
			return false;
	}
	sonde_vec_sort(&p->at, by_share);
	return true;
}

bool sonde_stall_profile_make(struct sonde_stall_profile *out, const struct sonde_tree *t,
	const struct sonde_report *r, enum sonde_part part, uint32_t index)
{
	const struct sonde_cells *c = t->cells;
	struct summing s = {.c = c, .out = out};
	uint32_t nr, i, *sorted;
	const uint32_t *cells = sonde_tree_cells(r, part, index, &nr);
	bool ok;

	out->at.nr = 0;
	out->samples = out->exact = out->sampled_ns = 0;
	if (!sonde_tree_has_stalls(t) || !nr)
		return true;
	sorted = sonde_malloc(nr * sizeof(*sorted));
	s.by = sonde_calloc(c->stall_reasons.nr + 1, sizeof(*s.by));
	ok = sorted && s.by;
	if (ok) {
		memcpy(sorted, cells, nr * sizeof(*sorted));
		qsort_r(sorted, nr, sizeof(*sorted), by_kernel, c->cells.at);
		for (i = 0; i < nr; i++) {
			if (i && c->cells.at[sorted[i]].kernel != c->cells.at[sorted[i - 1]].kernel)
				end_kernel(&s);
			add_cell(&s, &c->cells.at[sorted[i]]);
		}
		end_kernel(&s);
		ok = list_shares(&s);
	}
	sonde_free(sorted);
	sonde_free(s.by);
	return ok;
}

void sonde_stall_profile_release(struct sonde_stall_profile *p)
{
	sonde_vec_release(&p->at);
}
