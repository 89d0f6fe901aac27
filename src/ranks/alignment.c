/*
 * Finds which ranks share a clock, and aligns clocks with each other.
 *
 * Native captures have the real time of their host, so all ranks of a host share a clock. Other sources do not name
 * their host, or count from the start of the recording: each of their captures has its own clock.
 *
 * No rank leaves a collective before the last one has entered it, and then all leave within microseconds. So the ends of
 * collectives are moments that two clocks have in common. Clocks also run at different speeds (10 ppm are 1 ms in 100
 * s), so the offset changes with time, as a line.
 */
#include "ranks/ranks_int.h"

#include "base/alloc.h"
#include "base/quantile.h"

#include <math.h>

#define LEAST_FOR_DRIFT 8   /* with fewer moments … */
#define LEAST_SPAN_NS	1e9 /* … or over a shorter time, drift cannot be seen and is taken as 0 */

/* The median slope over pairs of moments that are half the run apart. */
static double find_drift(const struct sonde_moment *at, size_t nr, double *scratch)
{
	size_t half = nr / 2, i, n = 0;

	if (nr < LEAST_FOR_DRIFT || at[nr - 1].from - at[0].from < LEAST_SPAN_NS)
		return 0;
	for (i = 0; i + half < nr; i++) {
		double span = at[i + half].from - at[i].from;

		if (span > 0)
			scratch[n++] = ((at[i].to - at[i].from) - (at[i + half].to - at[i + half].from)) /
				       span;
	}
	return n ? sonde_median(scratch, n) : 0;
}

bool sonde_clock__fit(struct sonde_clock_fit *out, const struct sonde_moment *at, size_t nr)
{
	double *scratch = sonde_malloc((nr + 1) * sizeof(*scratch));
	size_t i;

	if (!scratch)
		return false;
	out->at_ns = nr ? at[nr / 2].from : 0;
	out->drift = find_drift(at, nr, scratch);
	for (i = 0; i < nr; i++)
		scratch[i] = at[i].to - at[i].from + out->drift * (at[i].from - out->at_ns);
	out->shift_ns = nr ? sonde_median(scratch, nr) : 0;
	for (i = 0; i < nr; i++)
		scratch[i] = fabs(at[i].to - sonde_clock__map(out, at[i].from));
	sonde_sort_numbers(scratch, nr);
	out->error_ns = nr ? sonde_quantile(scratch, nr, 0.95) : 0;
	sonde_free(scratch);
	return true;
}

double sonde_ranks__since(const struct sonde_ranks *r, uint32_t row, uint64_t ns)
{
	return (double)(int64_t)(ns - r->clocks.at[r->rows.at[row].clock].base_ns);
}

double sonde_ranks__time(const struct sonde_ranks *r, uint32_t row, uint64_t ns)
{
	const struct sonde_rank_clock *k = &r->clocks.at[r->rows.at[row].clock];
	double since = sonde_ranks__since(r, row, ns);

	return since + k->shift_ns - k->drift * (since - k->at_ns);
}

/* Ranks share a clock if this name is the same. */
static void name_clock(struct sonde_buf *key, const struct sonde_cells *c, const struct sonde_rank_row *row)
{
	const struct sonde_input *in = &c->inputs.at[c->processes.at[c->scopes.at[row->scope].process].input];

	if (sonde_str_is(in->source, "native") && row->process->host.n)
		sonde_buf_printf(key, "host %.*s", SONDE_STR_ARG(row->process->host));
	else
		sonde_buf_str(key, row->folded_scope == SONDE_NONE ? in->path : c->folded_scopes.at[row->folded_scope].path);
}

bool sonde_clocks__find(struct sonde_ranks_build *x)
{
	struct sonde_ranks *r = x->r;
	struct sonde_map names = {0};
	struct sonde_buf key = {0};
	struct sonde_rank_clock *k;
	bool ok = true, is_new;
	size_t i;

	for (i = 0; i < r->rows.nr && ok; i++) {
		struct sonde_str name;

		sonde_buf_clear(&key);
		name_clock(&key, x->c, &r->rows.at[i]);
		name = sonde_arena_dup(&r->arena, sonde_buf_view(&key));
		r->rows.at[i].clock = name.p ? sonde_map_add(&names, name, &is_new) : SONDE_NONE;
		ok = r->rows.at[i].clock != SONDE_NONE && !key.failed;
		if (ok && is_new)
			sonde_put(&r->arena, &r->clocks, (struct sonde_rank_clock){.name = name, .base_ns = UINT64_MAX});
		ok &= !r->arena.failed;
		if (ok)
			r->clocks.at[r->rows.at[i].clock].nr_ranks++;
	}
	for (i = 0; i < x->c->collectives.nr && ok; i++) {
		const struct sonde_collective *at = &x->c->collectives.at[i];

		if (sonde_ranks__row_of(x, at) == SONDE_NONE)
			continue;
		k = &r->clocks.at[r->rows.at[sonde_ranks__row_of(x, at)].clock];
		k->base_ns = at->start_ns < k->base_ns ? at->start_ns : k->base_ns;
	}
	if (ok && r->clocks.nr) /* the only clock, or the one that the others are aligned with */
		r->clocks.at[0].is_aligned = true;
	sonde_map_release(&names);
	sonde_buf_release(&key);
	return ok;
}

/* Aligns the clock of `b` by that of `a`, which is aligned, and the collectives that both took part in. */
static bool align_clock(struct sonde_ranks_build *x, const struct sonde_members *m,
	const struct sonde_member *a, const struct sonde_member *b)
{
	struct sonde_ranks *r = x->r;
	struct sonde_rank_clock *from = &r->clocks.at[r->rows.at[a->rank].clock],
				*to = &r->clocks.at[r->rows.at[b->rank].clock];
	struct sonde_common common[SONDE_NR_COMMON];
	struct sonde_moment moments[SONDE_NR_COMMON];
	struct sonde_clock_fit fit;
	size_t nr = sonde_members__common(x, m, a, b, common), i;

	for (i = 0; i < nr; i++)
		moments[i] = (struct sonde_moment){
			sonde_ranks__since(r, b->rank, common[i].b->end_ns),
			sonde_ranks__time(r, a->rank, common[i].a->end_ns)};
	if (!nr || !sonde_clock__fit(&fit, moments, nr))
		return !nr;
	to->is_aligned = true;
	to->with = from->with;
	to->nr = nr;
	to->shift_ns = fit.shift_ns;
	to->drift = fit.drift;
	to->at_ns = fit.at_ns;
	to->error_ns = fit.error_ns + from->error_ns;
	to->ahead_ns = (double)(int64_t)(to->base_ns - r->clocks.at[to->with].base_ns) - fit.shift_ns;
	return true;
}

static bool is_aligned(const struct sonde_ranks_build *x, const struct sonde_member *m)
{
	return x->r->clocks.at[x->r->rows.at[m->rank].clock].is_aligned;
}

/* Goes from clock to clock, through communicators with ranks of both, until no other clock can be aligned. */
static bool spread_alignment(struct sonde_ranks_build *x, const struct sonde_members *m)
{
	size_t i, k, end;
	bool has_gained = true, ok = true;

	while (has_gained && ok) {
		has_gained = false;
		for (i = 0; i < m->at.nr && ok; i = end) {
			const struct sonde_member *known = NULL;

			for (end = i; end < m->at.nr && m->at.at[end].cluster == m->at.at[i].cluster;
				end++)
				if (!known && is_aligned(x, &m->at.at[end]))
					known = &m->at.at[end];
			for (k = i; known && k < end && ok; k++) {
				if (is_aligned(x, &m->at.at[k]))
					continue;
				ok = align_clock(x, m, known, &m->at.at[k]);
				has_gained |= is_aligned(x, &m->at.at[k]);
			}
		}
	}
	return ok;
}

/*
 * Clocks that are still not aligned have no collectives in common with those that are, even through others: they start a
 * new set. All clocks of a communicator then belong to one set, and only ranks of one communicator are compared.
 */
bool sonde_clocks__align(struct sonde_ranks_build *x, const struct sonde_members *m)
{
	bool ok = spread_alignment(x, m);
	size_t i;

	for (i = 0; i + 1 < m->at.nr && ok; i++) {
		uint32_t clock = x->r->rows.at[m->at.at[i].rank].clock;

		if (is_aligned(x, &m->at.at[i]) || m->at.at[i + 1].cluster != m->at.at[i].cluster)
			continue;
		x->r->clocks.at[clock].is_aligned = true;
		x->r->clocks.at[clock].with = clock;
		ok = spread_alignment(x, m);
	}
	return ok;
}

void sonde_clocks_say(struct sonde_buf *line, const struct sonde_ranks *r)
{
	double error = 0;
	size_t i, nr_left = 0, first_left = 0, nr_aligned = 0, nr_firsts = 0;

	for (i = 0; i < r->clocks.nr; i++) {
		const struct sonde_rank_clock *k = &r->clocks.at[i];

		error = k->is_aligned ? fmax(error, k->error_ns) : error;
		first_left = k->is_aligned || nr_left++ ? first_left : i;
		nr_firsts += k->is_aligned && k->with == i;
		nr_aligned += k->is_aligned && k->with != i;
	}
	if (r->clocks.nr < 2)
		return;
	if (!nr_aligned) {
		sonde_buf_printf(line, "the ranks have %zu clocks and no collective in common to align them by: "
				       "times of different clocks are not compared",
			r->clocks.nr);
		return;
	}
	sonde_buf_printf(line, "%zu clocks were aligned by the ends of collectives, to ±%.1f µs (95 %% of these "
			       "end within this time of each other)",
		nr_aligned + nr_firsts, error / 1e3);
	if (nr_firsts > 1)
		sonde_buf_printf(line, ", in %zu sets that have no collective in common", nr_firsts);
	if (nr_left)
		sonde_buf_printf(line, "; %zu could not be aligned, the first is %.*s: without a collective in "
				       "common, their times are not compared",
			nr_left, SONDE_STR_ARG(r->clocks.at[first_left].name));
}
