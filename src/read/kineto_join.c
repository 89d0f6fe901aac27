/* GPU work and the host calls that asked for it, by correlation id; both by sorting. */
#include "base/alloc.h"
#include "read/kineto_int.h"

/* Moves the element `order[i].index` to place i, for all i; `order` is used up. */
static void permute(char *a, size_t size, struct sonde_keyed *order, size_t nr, char *spare)
{
	size_t i, j, next;

	for (i = 0; i < nr; i++) {
		if (order[i].index == i)
			continue;
		memcpy(spare, a + i * size, size);
		for (j = i; (next = order[j].index) != i; j = next) {
			memcpy(a + j * size, a + next * size, size);
			order[j].index = (uint32_t)j;
		}
		memcpy(a + j * size, spare, size);
		order[j].index = (uint32_t)j;
	}
}

/* Of several calls with one id, a runtime call and the driver call in it, the earliest. */
static uint32_t earliest(const struct kineto *k, const struct sonde_keyed *calls, size_t from)
{
	uint32_t best = calls[from].index;
	size_t i;

	for (i = from; i < k->calls.nr && calls[i].key == calls[from].key; i++)
		if (k->calls.at[calls[i].index].ns < k->calls.at[best].ns)
			best = calls[i].index;
	return best;
}

/* Until it is placed, `call` is the thread of the call. */
static void match(struct kineto *k, const struct sonde_keyed *works, const struct sonde_keyed *calls)
{
	size_t nr = k->r->records.nr - k->first_record, i, c = 0;
	uint64_t last = 0;
	uint32_t best = SONDE_NONE;

	for (i = 0; i < nr; i++) {
		struct sonde_record *rec = &k->r->records.at[k->first_record + works[i].index];

		if (works[i].key != last) {
			while (c < k->calls.nr && calls[c].key < works[i].key)
				c++;
			last = works[i].key;
			best = c < k->calls.nr && calls[c].key == last ? earliest(k, calls, c)
								       : SONDE_NONE;
		}
		rec->call = best == SONDE_NONE ? SONDE_NONE : k->calls.at[best].thread;
		rec->call_ns = best == SONDE_NONE ? 0 : k->calls.at[best].ns;
		k->counts.no_call += best == SONDE_NONE;
	}
}

static bool match_calls(struct kineto *k)
{
	size_t nr = k->r->records.nr - k->first_record, i;
	struct sonde_keyed *works = sonde_malloc((nr + 1) * sizeof(*works));
	struct sonde_keyed *calls = sonde_malloc((k->calls.nr + 1) * sizeof(*calls));
	bool ok = works && calls;

	for (i = 0; i < nr && ok; i++)
		works[i] = (struct sonde_keyed){
			k->r->records.at[k->first_record + i].call_ns, (uint32_t)i};
	for (i = 0; i < k->calls.nr && ok; i++)
		calls[i] = (struct sonde_keyed){k->calls.at[i].correlation, (uint32_t)i};
	ok = ok && sonde_keysort(works, nr) && sonde_keysort(calls, k->calls.nr);
	if (ok)
		match(k, works, calls);
	sonde_free(works);
	sonde_free(calls);
	return ok;
}

/* By the call, or the start of what has none; what one call made, by its start. */
static bool order_records(struct kineto *k)
{
	size_t nr = k->r->records.nr - k->first_record, i;
	struct sonde_record *at = nr ? &k->r->records.at[k->first_record] : NULL, spare;
	struct sonde_keyed *t = sonde_malloc((nr + 1) * sizeof(*t));
	bool ok = t;

	for (i = 0; i < nr && ok; i++)
		t[i] = (struct sonde_keyed){at[i].time.start_ns, (uint32_t)i};
	ok = ok && sonde_keysort(t, nr);
	for (i = 0; i < nr && ok; i++)
		t[i].key = at[t[i].index].call_ns ? at[t[i].index].call_ns
						  : at[t[i].index].time.start_ns;
	ok = ok && sonde_keysort(t, nr);
	if (ok)
		permute((char *)at, sizeof(*at), t, nr, (char *)&spare);
	sonde_free(t);
	return ok;
}

bool sonde_kineto__sort_spans(struct kineto_span *at, size_t nr)
{
	struct sonde_keyed *t = sonde_malloc((nr + 1) * sizeof(*t));
	struct kineto_span spare;
	bool ok = t;
	size_t i;

	for (i = 0; i < nr && ok; i++)
		t[i] = (struct sonde_keyed){~at[i].end_ns, (uint32_t)i};
	ok = ok && sonde_keysort(t, nr);
	for (i = 0; i < nr && ok; i++)
		t[i].key = at[t[i].index].begin_ns;
	ok = ok && sonde_keysort(t, nr);
	if (ok)
		permute((char *)at, sizeof(*at), t, nr, (char *)&spare);
	sonde_free(t);
	return ok;
}

int sonde_kineto__join(struct kineto *k)
{
	if (k->r->records.nr >= SONDE_NONE || k->calls.nr >= SONDE_NONE ||
		k->ranges.nr >= SONDE_NONE || k->ops.nr >= SONDE_NONE)
		return sonde_err_set(k->err, SONDE_ERR_LIMIT, 
			"%s: more than 4 billion events: record a shorter time",
			k->src->path);
	if (!match_calls(k))
		return sonde_err_nomem(k->err);
	sonde_vec_release(&k->calls);
	return order_records(k) ? 0 : sonde_err_nomem(k->err);
}
