/* What is known of an input's metrics before its launches are folded: what throughputs consist of. */
#include "fold/fold_int.h"

#define MAX_LOOKED_AT 1000 /* results of an input, for its breakdowns */

/* Metrics of an input that list constituents: `breakdown:X`, for a throughput X. */
static size_t count_breakdowns(const struct sonde_records *r, const struct sonde_input *in)
{
	size_t i, nr = 0;

	for (i = 0; i < r->metrics.nr; i++)
		nr += sonde_input_has(in, (uint32_t)i) &&
		      sonde_str_starts(r->metrics.at[i].name, "breakdown:");
	return nr;
}

/* Takes the constituents one result lists; false: no memory. */
static bool take_breakdowns(struct sonde_cells *c, const struct sonde_values *v,
	struct sonde_kit *kit, size_t *missing)
{
	size_t i;

	for (i = 0; i < v->nr_texts; i++) {
		struct sonde_str name = c->metric_names.keys[v->texts[i].metric];
		uint32_t metric;

		if (!sonde_str_starts(name, "breakdown:"))
			continue;
		name = (struct sonde_str){name.p + 10, name.n - 10};
		metric = sonde_map_find(&c->metric_names, name);
		if (metric == SONDE_NONE || kit->breakdowns[metric].p)
			continue;
		kit->breakdowns[metric] = v->texts[i].text;
		if (!sonde_cells_keep(c, &kit->breakdowns[metric]))
			return false;
		--*missing;
	}
	return true;
}

/* The first result that lists the constituents of a throughput tells for the whole input. */
static bool add_kit(struct sonde_folding *f, struct sonde_values *values, uint32_t input)
{
	const struct sonde_records *r = f->r;
	struct sonde_cells *c = f->c;
	struct sonde_kit *kit = sonde_vec_push(&c->kits);
	uint32_t *kit_of = sonde_vec_push(&c->kit_of);
	size_t missing = count_breakdowns(r, &r->inputs.at[input]), looked = 0, i;

	if (!kit || !kit_of)
		return false;
	*kit_of = kit->input = input;
	kit->breakdowns =
		sonde_arena_calloc(&c->arena, r->metrics.nr + 1, sizeof(*kit->breakdowns));
	if (!kit->breakdowns)
		return false;
	for (i = 0; i < r->records.nr && looked < MAX_LOOKED_AT && missing; i++) {
		uint32_t process = sonde_record_caller(r, &r->records.at[i])->process;

		if (r->processes.at[process].input != input)
			continue;
		looked++;
		if (sonde_records_values(r, (uint32_t)i, values, NULL) == 0 &&
			!take_breakdowns(c, values, kit, &missing))
			return false;
	}
	return true;
}

bool sonde_fold__kits(struct sonde_folding *f, struct sonde_values *values)
{
	uint32_t i;

	for (i = 0; i < f->r->inputs.nr; i++)
		if (!add_kit(f, values, i))
			return false;
	return true;
}
