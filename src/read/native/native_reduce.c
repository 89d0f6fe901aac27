/*
 * What must stay of files whose launches were folded, so that those behind them are understood: chunks
 * with devices and nodes of graphs, with the beginnings of ranges that are open at the cut, the last
 * work of each and of each device, with launches whose work is still to come, with memory that is still allocated, and the
 * clocks around these moments. Chunks stay as they are: what else is in them is read again with each of
 * the files before and behind, and goes out as a difference (fold/rolling.c). The most that was held is no
 * sum: allocations in them whose end is in a chunk that goes have their end written again.
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "read/native/native_reduce_int.h"

#define AWAITED_NS 60000000000u /* how long the work of a launch is waited for */

bool sonde_native__is_lasting(unsigned type)
{
	return type == SONDE_EVENT_NODE || type == SONDE_EVENT_NODE_COPY ||
	       type == SONDE_EVENT_DEVICE || type == SONDE_EVENT_ATTRIBUTE ||
	       type == SONDE_EVENT_UUID;
}

bool *sonde_reducing__kept(const struct reducing *x, uint64_t at)
{
	size_t low = 0;

	sonde_bisect(low, x->n->pieces.nr, mid, x->by_place[mid].key <= at);
	return &x->n->kept[low ? x->by_place[low - 1].index : x->n->pieces.nr];
}

static void keep_moment(struct reducing *x, uint64_t ns)
{
	struct sonde_keyed *m = sonde_vec_push(&x->moments);

	x->no_memory |= !m;
	if (m)
		*m = (struct sonde_keyed){ns, 0};
}

static void keep_launch(struct reducing *x, uint32_t launch)
{
	const struct native_launch *l = &x->n->launches.at[launch];

	x->n->kept[l->piece] = true;
	keep_moment(x, l->ns);
}

static bool find_places(struct reducing *x)
{
	const struct native *n = x->n;
	size_t i;

	x->by_place = sonde_malloc((n->pieces.nr + 1) * sizeof(*x->by_place));
	for (i = 0; x->by_place && i < n->pieces.nr; i++)
		x->by_place[i] = (struct sonde_keyed){
			(uint64_t)(n->pieces.at[i].data - (const uint8_t *)n->src->file.data.p),
			(uint32_t)i};
	return x->by_place && sonde_keysort(x->by_place, n->pieces.nr);
}

static bool is_open(const struct native *n, uint32_t range)
{
	return !n->r->ranges.at[range].time.end_ns;
}

static void keep_work(struct reducing *x, const struct sonde_record *rec)
{
	*sonde_reducing__kept(x, rec->payload) = true;
	if (rec->call != SONDE_NONE)
		keep_launch(x, rec->call);
}

/* The work that ended last on each device: nothing ran from there to the next. */
static void keep_last(struct reducing *x)
{
	const struct sonde_records *r = x->n->r;
	struct sonde_map devices = {0};
	SONDE_VEC(uint32_t) last = {0}; /* by number of a device */
	size_t i;

	for (i = x->n->first_record; i < r->records.nr && !x->no_memory; i++) {
		const struct sonde_record *rec = &r->records.at[i];
		bool is_new;
		uint32_t device = sonde_record_queue(r, rec)->device,
			 number = sonde_map_keep(&devices, &x->n->r->arena, SONDE_BYTES(device), &is_new),
			 *slot = sonde_map_slot(&last, number);

		x->no_memory |= !slot;
		if (slot && (is_new || rec->time.end_ns >= r->records.at[*slot].time.end_ns))
			*slot = (uint32_t)i;
	}
	for (i = 0; i < last.nr && !x->no_memory; i++)
		keep_work(x, &r->records.at[last.at[i]]);
	sonde_vec_release(&last);
	sonde_map_release(&devices);
}

/* Ranges that are open, and the work that ended last in each. */
static void keep_open(struct reducing *x)
{
	struct native *n = x->n;
	const struct sonde_records *r = n->r;
	size_t nr = r->ranges.nr - n->first_range, i;
	uint32_t *last = sonde_malloc((nr + 1) * sizeof(*last)), k, range;

	x->no_memory |= !last || n->piece_of.nr < nr;
	for (i = 0; i < nr && !x->no_memory; i++) {
		last[i] = SONDE_NONE;
		if (!is_open(n, n->first_range + (uint32_t)i))
			continue;
		n->kept[n->piece_of.at[i]] = true;
		keep_moment(x, r->ranges.at[n->first_range + i].time.begin_ns);
	}
	for (i = n->first_record; i < r->records.nr && !x->no_memory; i++) {
		const struct sonde_set *set = &r->sets.at[r->records.at[i].open];

		for (k = 0; k < set->nr; k++)
			for (range = r->members.at[set->first + k]; range != SONDE_NONE;
				range = r->ranges.at[range].parent) {
				uint32_t *to = &last[range - n->first_range];

				if (is_open(n, range) &&
					(*to == SONDE_NONE || r->records.at[i].time.end_ns >=
									r->records.at[*to].time.end_ns))
					*to = (uint32_t)i;
			}
	}
	for (i = 0; i < nr && !x->no_memory; i++)
		if (last[i] != SONDE_NONE)
			keep_work(x, &r->records.at[last[i]]);
	sonde_free(last);
}

/* Launches whose work is not there; of long ago there will be none any more. */
static void keep_awaited(struct reducing *x)
{
	struct native *n = x->n;
	bool *has_work = sonde_native__have_work(n);
	uint64_t last_ns = 0;
	size_t i;

	x->no_memory |= !has_work;
	for (i = 0; i < n->launches.nr; i++)
		last_ns = n->launches.at[i].ns > last_ns ? n->launches.at[i].ns : last_ns;
	for (i = 0; i < n->launches.nr && has_work; i++)
		if (!has_work[i] && last_ns - n->launches.at[i].ns < AWAITED_NS)
			keep_launch(x, (uint32_t)i);
	sonde_free(has_work);
}

/* False when memory is short. */
static bool find_ends(struct reducing *x)
{
	struct native *n = x->n;
	struct sonde_keyed *order = sonde_native__order_memory(n);
	struct sonde_map addresses = {0};
	SONDE_VEC(uint32_t) last = {0}; /* by number of an address */
	bool ok = order != NULL;
	size_t i;

	x->ends = sonde_malloc((n->memory.nr + 1) * sizeof(*x->ends));
	for (i = 0; i < n->memory.nr && ok && x->ends; i++) {
		uint32_t at = order[i].index, number, *slot;
		bool is_new;

		number = sonde_map_keep(
			&addresses, &n->r->arena, SONDE_BYTES(n->memory.at[at].memory.address), &is_new);
		slot = sonde_map_slot(&last, number);
		ok = slot != NULL;
		if (ok && !is_new)
			x->ends[*slot] = at;
		if (ok)
			*slot = at;
		x->ends[at] = SONDE_NONE;
	}
	sonde_free(order);
	sonde_vec_release(&last);
	sonde_map_release(&addresses);
	return ok && x->ends;
}

/* Memory that is allocated, with the calls that did it. */
static void keep_memory(struct reducing *x)
{
	const struct native *n = x->n;
	size_t i;

	x->no_memory |= !find_ends(x);
	for (i = 0; i < n->memory.nr && !x->no_memory; i++) {
		if (n->memory.at[i].memory.is_free || x->ends[i] != SONDE_NONE)
			continue;
		*sonde_reducing__kept(x, n->memory.at[i].at) = true;
		if (n->memory.at[i].launch != SONDE_NONE)
			keep_launch(x, n->memory.at[i].launch);
	}
}

int sonde_native__reduce(struct native *n, struct sonde_buf *out, struct sonde_err *err)
{
	struct reducing x = {.n = n, .out = out};

	x.no_memory = !find_places(&x);
	if (!x.no_memory)
		keep_open(&x);
	if (!x.no_memory)
		keep_last(&x);
	if (!x.no_memory)
		keep_awaited(&x);
	if (!x.no_memory)
		keep_memory(&x);
	if (n->pieces.nr)
		n->kept[n->late[0].to_ns] = n->kept[n->late[1].to_ns] = true;
	x.no_memory |= !sonde_keysort(x.moments.at, x.moments.nr);
	if (!x.no_memory)
		sonde_reducing__write(&x);
	sonde_free(x.by_place);
	sonde_free(x.ends);
	sonde_vec_release(&x.moments);
	return x.no_memory || out->failed ? sonde_err_nomem(err) : 0;
}
