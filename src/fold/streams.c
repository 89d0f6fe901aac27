/*
 * How long the GPU was busy with a region, how long its launches waited to start, and what each
 * stream did for it: launches, their time, and how long the stream was busy with them (a union,
 * because nodes of one graph launch may overlap). Only selected launches count, except in spans
 * and in `work_ns`: a region has the same idle time, whatever is selected.
 *
 * A launch adds to one row for every region around it. Launches of one place on one
 * stream add to the same rows, so the rows are looked up once for each pair of place and
 * stream: there are far fewer pairs than launches.
 */
#include "fold/fold_int.h"
#include "fold/timed_scope.h"

#include "base/alloc.h"

#include <string.h>

struct row {
	uint32_t visit;
	size_t last_pair; /* number of the last pair with this row, plus one */
	struct sonde_stream_work sums;
	struct sonde_busy busy, before; /* union of all launches, and of those that were counted before (not SONDE_NOW) */
};

/* Unions of a visit's launches: of the selected ones, and of all. */
struct visit_work {
	struct sonde_busy busy, before, all, all_before;
};

struct pair {
	uint32_t place, stream;
	uint32_t first, nr; /* slice of `members` */
	uint64_t nr_queued, queue_ns;
};

struct work {
	const struct sonde_streams *s;
	const struct sonde_launches *l;
	const struct sonde_timed_scope *timed;
	struct visit_work *visits; /* by visit: the same over all streams */
	struct sonde_map row_keys;  /* {visit, stream} */
	struct sonde_map pair_keys; /* {place, stream} */
	SONDE_VEC(struct row) rows;
	SONDE_VEC(struct pair) pairs;
	SONDE_VEC(uint32_t) members; /* row numbers */
	struct sonde_arena arena;
};

uint32_t sonde_streams__number(struct sonde_streams *s, const struct sonde_queue *q)
{
	const uint64_t key[2] = {q->context, q->stream};

	if (s->last >= s->keys.nr || memcmp(s->keys.keys[s->last].p, key, sizeof(key)) != 0)
		s->last = sonde_map_keep(&s->keys, &s->arena, SONDE_BYTES(key), NULL);
	return s->last;
}

void sonde_streams__release(struct sonde_streams *s)
{
	sonde_map_release(&s->keys);
	sonde_arena_release(&s->arena);
}

/*
 * Adds the row of a region to a pair. A launch counts once in a region, even if several of its homes are inside the
 * region.
 */
static bool pair_join(struct work *w, struct pair *p, uint32_t region)
{
	const uint32_t key[2] = {w->timed->of[region], p->stream};
	uint64_t stream[2];
	uint32_t number;
	bool is_new;

	if (key[0] == SONDE_NONE)
		return true; /* a region that is not selected has no visit */
	number = sonde_map_keep(&w->row_keys, &w->arena, SONDE_BYTES(key), &is_new);
	memcpy(stream, w->s->keys.keys[p->stream].p, sizeof(stream));
	if (number == SONDE_NONE ||
		(is_new && !sonde_vec_put(&w->rows,
				   (struct row){.visit = key[0],
					   .sums = {.context = (uint32_t)stream[0], .stream = stream[1]}})))
		return false;
	if (w->rows.at[number].last_pair == w->pairs.nr)
		return true;
	w->rows.at[number].last_pair = w->pairs.nr;
	p->nr++;
	return sonde_vec_put(&w->members, number);
}

static bool pair_fill(struct work *w, uint32_t number, uint32_t stream)
{
	struct pair *slot = sonde_vec_push(&w->pairs),
		    p = {.place = number, .stream = stream, .first = (uint32_t)w->members.nr};
	uint32_t region;

	if (!slot)
		return false;
	SONDE_EACH_REGION(w->l, number, region)
		if (!pair_join(w, &p, region))
			return false;
	*slot = p;
	return true;
}

/* Returns a pair, creating it if new; NULL: no memory. `last` is the previous launch's pair, which is often the same one. */
static struct pair *find_pair(struct work *w, uint32_t place, uint32_t stream, struct pair *last)
{
	const uint32_t key[2] = {place, stream};
	uint32_t number;
	bool is_new;

	if (last && last->place == place && last->stream == stream)
		return last;
	number = sonde_map_keep(&w->pair_keys, &w->arena, SONDE_BYTES(key), &is_new);
	if (number == SONDE_NONE || (is_new && !pair_fill(w, place, stream)))
		return NULL;
	return &w->pairs.at[number];
}

static void add_to_row(struct work *w, struct row *row, const struct sonde_timed_launch *s)
{
	struct visit_work *v = &w->visits[row->visit];
	bool is_before = w->l->records->records.at[s->launch].when != SONDE_NOW;

	sonde_busy__extend(&v->all, &s->time);
	if (is_before)
		sonde_busy__extend(&v->all_before, &s->time);
	if (w->l->launches.at[s->launch].state != SONDE_LAUNCH_TAKEN)
		return;
	sonde_busy__extend(&row->busy, &s->time);
	sonde_busy__extend(&v->busy, &s->time);
	if (is_before) {
		sonde_busy__extend(&row->before, &s->time);
		sonde_busy__extend(&v->before, &s->time);
		return;
	}
	row->sums.launches++;
	row->sums.time_ns += (double)(s->time.end_ns - s->time.start_ns);
}

static bool add_launches(struct work *w)
{
	struct pair *p = NULL;
	uint32_t k;
	size_t i;

	for (i = 0; i < w->timed->nr_launches; i++) {
		const struct sonde_timed_launch *s = &w->timed->launches[i];
		const struct sonde_record *rec = &w->l->records->records.at[s->launch];
		const struct sonde_launch *launch = &w->l->launches.at[s->launch];
		uint64_t call_ns = rec->call_ns;

		p = find_pair(w, launch->place, s->stream, p);
		if (!p)
			return false;
		for (k = 0; k < p->nr; k++)
			add_to_row(w, &w->rows.at[w->members.at[p->first + k]], s);
		if (rec->when != SONDE_NOW || launch->state != SONDE_LAUNCH_TAKEN)
			continue;
		p->nr_queued += call_ns != 0;
		p->queue_ns += call_ns && s->time.start_ns > call_ns ? s->time.start_ns - call_ns : 0;
	}
	return true;
}

/* Adds the queue times of a pair to its regions, once for each home inside a region. */
static void add_queue(struct work *w, const struct pair *p)
{
	uint32_t region;

	if (!p->nr_queued)
		return;
	SONDE_EACH_REGION(w->l, p->place, region) {
		struct sonde_visit *v = &w->timed->at[w->timed->of[region]];

		if (!v->nr_queued)
			v->times.queue_ns = 0;
		v->nr_queued += p->nr_queued;
		v->times.queue_ns += (double)p->queue_ns;
	}
}

/* Fills in what does not depend on the stream: busy time, span and queue times. */
static void set_times_of_visits(struct work *w)
{
	size_t i;

	for (i = 0; i < w->pairs.nr; i++)
		add_queue(w, &w->pairs.at[i]);
	for (i = 0; i < w->timed->nr; i++) {
		const struct visit_work *of = &w->visits[i];
		struct sonde_visit *v = &w->timed->at[i];

		if (of->busy.is_used)
			v->times.busy_ns = (double)(of->busy.busy_ns - of->before.busy_ns);
		w->timed->work_ns[i] = of->all.busy_ns - of->all_before.busy_ns;
		if (!of->all.is_used)
			continue;
		v->first_ns = of->all.first_ns;
		v->times.span_ns = (double)(of->all.last_ns - of->all.first_ns);
	}
}

static int by_visit_then_time(const void *a, const void *b)
{
	const struct sonde_stream_row *x = a, *y = b;
	int c = sonde_cmp(x->visit, y->visit);

	c = c ? c : sonde_cmp(y->sums.busy_ns, x->sums.busy_ns);
	c = c ? c : sonde_cmp(x->sums.context, y->sums.context);
	return c ? c : sonde_cmp(x->sums.stream, y->sums.stream);
}

bool sonde_streams_hand_out(struct sonde_stream_rows *rows, struct sonde_visit *visits, struct sonde_cells *c)
{
	size_t i;

	sonde_vec_sort(rows, by_visit_then_time);
	for (i = 0; i < rows->nr; i++) {
		struct sonde_visit *v = &visits[rows->at[i].visit];

		if (!v->nr_streams++)
			v->first_stream = (uint32_t)c->streams.nr;
		if (!sonde_vec_put(&c->streams, rows->at[i].sums))
			return false;
	}
	return true;
}

static bool hand_out_rows(struct work *w, struct sonde_cells *c)
{
	struct sonde_stream_rows rows = {0};
	bool ok = sonde_vec_reserve(&rows, w->rows.nr + 1);
	size_t i;

	for (i = 0; i < w->rows.nr && ok; i++) {
		struct row *row = &w->rows.at[i];

		row->sums.busy_ns = (double)(row->busy.busy_ns - row->before.busy_ns);
		if (row->sums.launches)
			rows.at[rows.nr++] = (struct sonde_stream_row){row->visit, row->sums};
	}
	ok = ok && sonde_streams_hand_out(&rows, w->timed->at, c);
	sonde_vec_release(&rows);
	return ok;
}

bool sonde_streams__scope(const struct sonde_streams *s, const struct sonde_timed_scope *timed)
{
	struct work w = {.s = s, .l = s->f->l, .timed = timed};
	bool ok;

	w.visits = sonde_calloc(timed->nr + 1, sizeof(*w.visits));
	ok = w.visits && add_launches(&w);
	if (ok) {
		set_times_of_visits(&w);
		ok = hand_out_rows(&w, s->f->c);
	}
	sonde_free(w.visits);
	sonde_map_release(&w.row_keys);
	sonde_map_release(&w.pair_keys);
	sonde_vec_release(&w.rows);
	sonde_vec_release(&w.pairs);
	sonde_vec_release(&w.members);
	sonde_arena_release(&w.arena);
	return ok;
}
