#include "capture/rank_list.h"

#include "base/vec.h"


#define MAX_RANK 10000000u

static bool read_rank(struct sonde_str text, unsigned *out)
{
	uint64_t v;
	bool is_rank = sonde_str_u64(text, &v) && v <= MAX_RANK;

	*out = is_rank ? (unsigned)v : 0;
	return is_rank;
}

static bool read_span(struct sonde_str text, struct sonde_rank_span *out)
{
	struct sonde_str last, first = sonde_str_cut(text, '-', &last);

	if (!read_rank(first, &out->first))
		return false;
	if (first.n == text.n) {
		out->last = out->first;
		return true;
	}
	return read_rank(last, &out->last) && out->first <= out->last;
}

static int by_first(const void *a, const void *b)
{
	const struct sonde_rank_span *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Joins spans that touch, so that no rank is counted twice. */
static void join_spans(struct sonde_rank_list *l)
{
	size_t i, nr = 0;

	sonde_vec_sort(l, by_first);
	for (i = 0; i < l->nr; i++) {
		if (nr && l->at[i].first <= l->at[nr - 1].last + 1) {
			if (l->at[i].last > l->at[nr - 1].last)
				l->at[nr - 1].last = l->at[i].last;
		} else {
			l->at[nr++] = l->at[i];
		}
	}
	l->nr = nr;
}

int sonde_rank_list_read(struct sonde_rank_list *out, struct sonde_arena *arena,
	const struct sonde_str *words, size_t nr, struct sonde_err *err)
{
	*out = (struct sonde_rank_list){.at = sonde_arena_calloc(arena, nr + 1, sizeof(*out->at))};
	if (!out->at)
		return sonde_err_nomem(err);
	for (; out->nr < nr; out->nr++)
		if (!read_span(sonde_str_trim(words[out->nr]), &out->at[out->nr]))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"ranks: '%.*s' is not a rank: write numbers and spans, such as "
				"ranks=[0,8] or ranks=[0-7,64]",
				SONDE_STR_ARG(words[out->nr]));
	join_spans(out);
	return 0;
}

bool sonde_rank_list_has(const struct sonde_rank_list *l, unsigned rank)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (rank >= l->at[i].first && rank <= l->at[i].last)
			return true;
	return l->nr == 0;
}

unsigned sonde_rank_list_count(const struct sonde_rank_list *l)
{
	unsigned nr = 0;
	size_t i;

	for (i = 0; i < l->nr; i++)
		nr += l->at[i].last - l->at[i].first + 1;
	return nr;
}

int sonde_rank_list_check(const struct sonde_rank_list *l, unsigned size, struct sonde_err *err)
{
	unsigned last = l->nr ? l->at[l->nr - 1].last : 0;

	if (!size || last < size)
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"ranks: there is no rank %u: the job has %u ranks, 0 to %u; name some of these, "
		"or start more",
		last, size, size - 1);
}

void sonde_rank_list_print(const struct sonde_rank_list *l, struct sonde_buf *out)
{
	size_t i;

	for (i = 0; i < l->nr; i++) {
		sonde_buf_printf(out, "%s%u", i ? "," : "", l->at[i].first);
		if (l->at[i].last > l->at[i].first)
			sonde_buf_printf(out, "-%u", l->at[i].last);
	}
}
