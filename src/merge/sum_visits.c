/* What a part knows of each region into what the sum does. */
#include "merge/sum_int.h"

#include <math.h>

/* Counts a part that has something. Files that are taken out are in what was put in, so that it stays. */
static void meet(const struct sonde_sum_part *p, uint64_t *to, bool is_so)
{
	if (p->sign > 0 || !p->sum->is_of_files)
		sonde_sum__count(p, to, is_so);
}

/* Sums may come from a file, where a span may be any number. */
static uint64_t whole_ns(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

/* From the first start, which is that of the first file, to the last end. */
static void add_span(struct sonde_sum_visit *to, const struct sonde_visit *from)
{
	uint64_t end;

	if (isnan(from->span_ns))
		return;
	end = from->first_ns + whole_ns(from->span_ns);
	if (isnan(to->span_ns)) {
		to->first_ns = from->first_ns;
		to->span_ns = from->span_ns;
	} else if (end > to->first_ns + whole_ns(to->span_ns)) {
		to->span_ns = (double)(end - to->first_ns);
	}
}

/*
 * Of several scopes a span means nothing, and the peak of memory is that of the fullest. A file that is
 * taken out did not know all that had been freed: its peak was none.
 */
static bool add_times(const struct sonde_sum_part *p, struct sonde_sum_visit *to, struct sonde_visit *v)
{
	double *times[SONDE_NR_VISIT_TIMES];
	size_t i;

	sonde_visit_list_times(v, times);
	for (i = 0; i < SONDE_NR_VISIT_TIMES; i++) {
		if (isnan(*times[i]) || times[i] == &v->span_ns)
			continue;
		if (times[i] == &v->memory.peak) {
			if (p->sign > 0 && !(to->peak >= v->memory.peak))
				to->peak = v->memory.peak;
			continue;
		}
		meet(p, &to->nr_known[i], true);
		if (!sonde_sum__add(p, &to->times[i], *times[i]))
			return false;
	}
	return true;
}

static struct sonde_sum_visit *find_visit(const struct sonde_sum_part *p, const struct sonde_visit *from)
{
	struct sonde_sum *s = p->sum;
	const uint32_t key[2] = {p->of.scope[from->scope], p->of.region[from->region]};
	bool is_new;
	uint32_t at = sonde_map_keep(&s->visit_keys, &s->arena, SONDE_BYTES(key), &is_new);

	if (at == SONDE_NONE || (is_new && !sonde_vec_put(&s->visits,
						  (struct sonde_sum_visit){.scope = key[0],
							  .region = key[1],
							  .peak = NAN,
							  .span_ns = NAN})))
		return NULL;
	return &s->visits.at[at];
}

bool sonde_sum__add_visit(const struct sonde_sum_part *p, struct sonde_visit v)
{
	struct sonde_sum_visit *to = find_visit(p, &v);

	if (!to)
		return false;
	meet(p, &to->nr, true);
	meet(p, &to->nr_present, v.is_present);
	meet(p, &to->nr_open, v.is_open);
	sonde_sum__count(p, &to->instances, v.instances);
	sonde_sum__count(p, &to->first_instances, v.first_instances);
	sonde_sum__count(p, &to->nr_queued, v.waits.nr_queued);
	if (p->sum->is_of_files && p->sign > 0)
		add_span(to, &v);
	return add_times(p, to, &v);
}
