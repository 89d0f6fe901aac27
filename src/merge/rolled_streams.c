/*
 * Files of one capture, added up: the streams of visits. They lie side by side behind their visits, so
 * they are taken apart, added up and laid down again.
 */
#include "merge/rolled_int.h"

static bool add_part(struct sonde_stream_rows *to, const struct sonde_cells *c, const struct sonde_sum_part *p)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < p->c->visits.nr; i++) {
		const struct sonde_visit *from = &p->c->visits.at[i];
		const struct sonde_visit *v =
			sonde_cells_visit(c, p->of.scope[from->scope], p->of.region[from->region]);

		for (k = 0; v && k < from->nr_streams; k++) {
			struct sonde_stream s = p->c->streams.at[from->first_stream + k];

			s.launches = p->sign > 0 ? s.launches : 0 - s.launches;
			s.time_ns *= p->sign;
			s.busy_ns *= p->sign;
			if (!sonde_vec_put(to, (struct sonde_stream_row){(size_t)(v - c->visits.at), s}))
				return false;
		}
	}
	return true;
}

static int by_stream(const void *a, const void *b)
{
	const struct sonde_stream_row *x = a, *y = b;
	int c = sonde_cmp(x->visit, y->visit);

	c = c ? c : sonde_cmp(x->sums.context, y->sums.context);
	return c ? c : sonde_cmp(x->sums.stream, y->sums.stream);
}

/* One row for each stream of a visit that did something. */
static void settle(struct sonde_stream_rows *rows)
{
	size_t i, nr = 0;

	sonde_vec_sort(rows, by_stream);
	for (i = 0; i < rows->nr; i++) {
		struct sonde_stream_row *last = nr ? &rows->at[nr - 1] : NULL;

		if (last && by_stream(last, &rows->at[i]) == 0) {
			last->sums.launches += rows->at[i].sums.launches;
			last->sums.time_ns += rows->at[i].sums.time_ns;
			last->sums.busy_ns += rows->at[i].sums.busy_ns;
		} else {
			rows->at[nr++] = rows->at[i];
		}
	}
	rows->nr = nr;
	sonde_vec_filter(rows, k, rows->at[k].sums.launches);
}

bool sonde_rolled__add_streams(struct sonde_cells *c, const struct sonde_sum_part *parts)
{
	struct sonde_stream_rows rows = {0};
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < SONDE_NR_ROLLED; i++)
		ok = add_part(&rows, c, &parts[i]);
	if (ok)
		settle(&rows);
	ok = ok && sonde_streams_hand_out(&rows, c->visits.at, c);
	sonde_vec_release(&rows);
	return ok;
}
