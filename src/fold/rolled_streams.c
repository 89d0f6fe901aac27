/*
 * Files of one capture, added up: the streams of visits. They lie side by side behind their visits, so
 * they are taken apart, added up and laid down again.
 */
#include "fold/rolled_add_int.h"

#include <stdlib.h>

/* The streams of what is there, under its own numbers. */
bool sonde_adding__know_streams(struct sonde_adding *a)
{
	const struct sonde_cells *to = a->to;
	size_t i;
	uint32_t k;

	for (i = 0; i < to->visits.nr; i++)
		for (k = 0; k < to->visits.at[i].nr_streams; k++) {
			const struct sonde_visit *v = &to->visits.at[i];

			if (!sonde_vec_put(&a->streams, (struct sonde_adding_stream){v->scope, v->region,
							to->streams.at[v->first_stream + k]}))
				return false;
		}
	return true;
}

bool sonde_adding__streams(struct sonde_adding *a, const struct sonde_visit *from)
{
	uint32_t scope = a->scope_of[from->scope], region = a->region_of[from->region], i;

	for (i = 0; i < from->nr_streams; i++) {
		struct sonde_adding_stream *s = sonde_vec_push(&a->streams);

		if (!s)
			return false;
		*s = (struct sonde_adding_stream){scope, region, a->from->streams.at[from->first_stream + i]};
		if (a->sign > 0)
			continue;
		s->sums.launches = 0 - s->sums.launches;
		s->sums.time_ns = -s->sums.time_ns;
		s->sums.busy_ns = -s->sums.busy_ns;
	}
	return true;
}

static int by_stream(const void *a, const void *b)
{
	const struct sonde_adding_stream *x = a, *y = b;
	int c = sonde_cmp(x->scope, y->scope);

	c = c ? c : sonde_cmp(x->region, y->region);
	c = c ? c : sonde_cmp(x->sums.context, y->sums.context);
	return c ? c : sonde_cmp(x->sums.stream, y->sums.stream);
}

static int by_busy(const void *a, const void *b)
{
	const struct sonde_adding_stream *x = a, *y = b;

	if (x->scope == y->scope && x->region == y->region && x->sums.busy_ns != y->sums.busy_ns)
		return x->sums.busy_ns > y->sums.busy_ns ? -1 : 1;
	return by_stream(a, b);
}

/* Puts the streams of visits together, and hands them out, busiest first. */
bool sonde_adding__settle_streams(struct sonde_adding *a)
{
	struct sonde_cells *to = a->to;
	struct sonde_adding_stream *at = a->streams.at;
	size_t i, k, nr = 0;

	if (a->streams.nr > 1)
		qsort(at, a->streams.nr, sizeof(*at), by_stream);
	for (i = 0; i < a->streams.nr; i++) {
		if (nr && by_stream(&at[nr - 1], &at[i]) == 0) {
			at[nr - 1].sums.launches += at[i].sums.launches;
			at[nr - 1].sums.time_ns += at[i].sums.time_ns;
			at[nr - 1].sums.busy_ns += at[i].sums.busy_ns;
		} else {
			at[nr++] = at[i];
		}
	}
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_busy);
	to->streams.nr = 0;
	if (!sonde_vec_reserve(&to->streams, nr + 1))
		return false;
	for (i = k = 0; i < to->visits.nr; i++) {
		struct sonde_visit *v = &to->visits.at[i];

		v->first_stream = (uint32_t)to->streams.nr;
		while (k < nr && (at[k].scope < v->scope || (at[k].scope == v->scope && at[k].region < v->region)))
			k++; /* of a region that was dropped */
		for (; k < nr && at[k].scope == v->scope && at[k].region == v->region; k++)
			if (at[k].sums.launches)
				to->streams.at[to->streams.nr++] = at[k].sums;
		v->nr_streams = (uint32_t)to->streams.nr - v->first_stream;
	}
	return true;
}
