/*
 * The arguments of entries: those in the label and those given to the entry itself,
 * as one list; and the sums of tokens and batches of a region.
 *
 * Tokens per second are the tokens of all entries that have some, divided by the time in which
 * at least one of these entries was under way. Requests that are served at the same time
 * share that time; the times of entries one after the other add up.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"
#include "read/arguments.h"

#include <math.h>
#include <stdlib.h>

/* Joins the arguments of a range: its own, then those of its label that it does not have itself. */
static uint32_t join_lists(struct sonde_folding *f, struct sonde_str own, struct sonde_str of_label)
{
	struct sonde_buf list = {0};
	struct sonde_argument a;
	uint32_t n;
	int nr = 0;

	while (nr < SONDE_MAX_ARGUMENTS && sonde_arguments_next(&own, &a)) {
		sonde_arguments_put(&list, a.name, a.digits);
		nr++;
	}
	while (nr < SONDE_MAX_ARGUMENTS && sonde_arguments_next(&of_label, &a)) {
		char name[64];

		if (a.name.n >= sizeof(name))
			continue;
		memcpy(name, a.name.p, a.name.n);
		name[a.name.n] = '\0';
		if (isnan(sonde_arguments_number(sonde_buf_view(&list), name))) {
			sonde_arguments_put(&list, a.name, a.digits);
			nr++;
		}
	}
	n = list.failed ? SONDE_NONE : sonde_map_keep(&f->c->strings, &f->c->arena, sonde_buf_view(&list), NULL);
	sonde_buf_release(&list);
	return n;
}

bool sonde_fold__arguments(struct sonde_folding *f)
{
	const struct sonde_records *r = f->r;
	uint32_t *of_label, last = SONDE_NONE;
	size_t i, next = 0;

	if (!r->arguments.nr && !f->l->arguments_of)
		return true;
	f->arguments_of = sonde_arena_alloc(&f->scratch, (r->ranges.nr + 1) * sizeof(*f->arguments_of));
	of_label = sonde_arena_calloc(&f->scratch, r->strings.nr + 1, sizeof(*of_label)); /* number plus one; 0 = not kept yet */
	if (!f->arguments_of || !of_label)
		return false;
	for (i = 0; i < r->ranges.nr; i++) {
		uint32_t label = r->ranges.at[i].label, *of = &f->arguments_of[i];
		struct sonde_str list = f->l->arguments_of ? f->l->arguments_of[label] : (struct sonde_str){NULL, 0};

		*of = SONDE_NONE;
		while (next < r->arguments.nr && r->arguments.at[next].range < i)
			next++;
		if (next < r->arguments.nr && r->arguments.at[next].range == i) {
			*of = join_lists(f, sonde_records_str(r, r->arguments.at[next++].list), list);
			last = *of;
		} else if (list.n) {
			if (!of_label[label])
				of_label[label] = sonde_map_keep(&f->c->strings, &f->c->arena, list, NULL) + 1;
			last = *of = of_label[label] - 1;
		} else {
			continue;
		}
		if (last == SONDE_NONE)
			return false;
	}
	return true;
}

/* --- tokens and batches of regions --------------------------------------------------------------- */

/* The time of an entry with tokens. */
struct stretch {
	uint64_t begin_ns, end_ns;
	uint32_t visit;
};

/* Tokens and batch of a list; NaN = the list has none. There are few distinct lists, so each is parsed once. */
struct token_numbers {
	double tokens, batch;
	bool is_read;
};

struct sonde_throughput {
	struct token_numbers *of; /* by string number of the list */
	size_t nr;
	SONDE_VEC(struct stretch) stretches;
};

bool sonde_throughput__begin(struct sonde_throughput **out, const struct sonde_folding *f)
{
	*out = NULL;
	if (!f->arguments_of)
		return true;
	*out = sonde_calloc(1, sizeof(**out));
	if (!*out)
		return false;
	(*out)->nr = f->c->strings.nr;
	(*out)->of = sonde_calloc((*out)->nr + 1, sizeof(*(*out)->of));
	return (*out)->of != NULL;
}

void sonde_throughput__free(struct sonde_throughput *t)
{
	if (!t)
		return;
	sonde_vec_release(&t->stretches);
	sonde_free(t->of);
	sonde_free(t);
}

/* Adds `v` to a number that may still be NaN. */
static void add_known(double *to, double v)
{
	*to = isnan(*to) ? v : *to + v;
}

bool sonde_throughput__add(struct sonde_throughput *t, const struct sonde_folding *f, size_t range, uint64_t wall_ns)
{
	uint32_t list = t ? f->arguments_of[range] : SONDE_NONE, visit = f->visit_of[range];
	struct sonde_times *times = &f->c->visits.at[visit].times;
	uint64_t begin_ns = f->r->ranges.at[range].time.begin_ns;
	struct token_numbers *s;

	if (list == SONDE_NONE || list >= t->nr)
		return true;
	s = &t->of[list];
	if (!s->is_read) {
		s->is_read = true;
		s->tokens = sonde_arguments_number(f->c->strings.keys[list], SONDE_ARGUMENT_TOKENS);
		s->batch = sonde_arguments_number(f->c->strings.keys[list], SONDE_ARGUMENT_BATCH);
	}
	if (s->batch >= 0) {
		add_known(&times->batches, s->batch);
		add_known(&times->nr_batches, 1);
	}
	if (!(s->tokens >= 0))
		return true;
	add_known(&times->tokens, s->tokens);
	if (wall_ns == SONDE_NO_WALL)
		return true;
	return sonde_vec_put(&t->stretches, (struct stretch){begin_ns, begin_ns + wall_ns, visit});
}

static int by_visit(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->visit != y->visit ? sonde_cmp(x->visit, y->visit) : sonde_cmp(x->begin_ns, y->begin_ns);
}

/* Sets tokens_ns of each visit to the union of its entries with tokens. */
void sonde_throughput__end(struct sonde_throughput *t, struct sonde_cells *c)
{
	uint64_t until_ns = 0;
	size_t i;

	if (!t)
		return;
	sonde_vec_sort(&t->stretches, by_visit);
	for (i = 0; i < t->stretches.nr; i++) {
		const struct stretch *s = &t->stretches.at[i];
		uint64_t from_ns = s->begin_ns;

		if (i && s[-1].visit == s->visit && until_ns > from_ns)
			from_ns = until_ns;
		else
			until_ns = from_ns;
		add_known(&c->visits.at[s->visit].times.tokens_ns, s->end_ns > from_ns ? (double)(s->end_ns - from_ns) : 0);
		until_ns = s->end_ns > until_ns ? s->end_ns : until_ns;
	}
}
