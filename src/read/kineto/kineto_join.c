/* GPU work and the host calls that asked for it, by correlation id; both by sorting. */
#include "base/alloc.h"
#include "read/kineto/kineto_int.h"

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
	size_t nr = k->r->records.nr - k->first_record;
	const struct sonde_record *at = nr ? &k->r->records.at[k->first_record] : NULL;
	struct sonde_keyed *works = sonde_order_by_field(at, nr, call_ns); /* the correlation still */
	struct sonde_keyed *calls = sonde_order_by_field(k->calls.at, k->calls.nr, correlation);
	bool ok = works && calls;

	if (ok)
		match(k, works, calls);
	sonde_free(works);
	sonde_free(calls);
	return ok;
}

static uint64_t start_of(const void *records, uint32_t i)
{
	return ((const struct sonde_record *)records)[i].time.start_ns;
}

static uint64_t time_of(const void *records, uint32_t i)
{
	const struct sonde_record *rec = (const struct sonde_record *)records + i;

	return rec->call_ns ? rec->call_ns : rec->time.start_ns;
}

/* By the call, or the start of what has none; what one call made, by its start. */
static bool order_records(struct kineto *k)
{
	static sonde_key_fn *const keys[] = {start_of, time_of};
	size_t nr = k->r->records.nr - k->first_record;
	struct sonde_record *at = nr ? &k->r->records.at[k->first_record] : NULL;

	return sonde_order_apply(sonde_order_by(at, nr, keys, 2), at, nr, sizeof(*at));
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
