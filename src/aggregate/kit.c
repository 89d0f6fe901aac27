/*
 * What is accumulated, and with which weights.
 *
 * Each input is planned from its own metrics alone, so that a scope's figures
 * are the same whatever other inputs are given beside it.
 */
#include "aggregate/store.h"

#include "base/alloc.h"

#include <string.h>

#define MAX_CONSTITUENTS 512
#define MAX_LOOKED_AT	 1000 /* results of an input, for its breakdowns */

const struct sonde_kit *sonde_store_kit(const struct sonde_store *s, uint32_t scope)
{
	uint32_t process = s->launches->scopes.at[scope].process;

	return &s->kits.at[s->kit_of[s->records->processes.at[process].input]];
}

/* What an input must share with another: the metrics, and the device that decides constituents. */
static void describe(struct sonde_buf *out, const struct sonde_records *r, uint32_t input)
{
	const struct sonde_input *in = &r->inputs.at[input];
	size_t nr = in->has.nr, i;

	sonde_buf_clear(out);
	while (nr && !in->has.at[nr - 1])
		nr--;
	for (i = 0; i < nr; i++)
		sonde_buf_putc(out, in->has.at[i] ? '1' : '0');
	for (i = 0; i < r->devices.nr; i++) {
		if (r->processes.at[r->devices.at[i].process].input != input)
			continue;
		sonde_buf_str(out, r->devices.at[i].name);
		break;
	}
}

/* Metrics of an input that list constituents: `breakdown:X`, for a throughput X. */
static size_t count_breakdowns(const struct sonde_capture *c)
{
	size_t i, nr = 0;

	for (i = 0; i < c->records->metrics.nr; i++)
		nr += sonde_input_has(c->input, (uint32_t)i) &&
		      sonde_str_starts(c->records->metrics.at[i].name, "breakdown:");
	return nr;
}

/* The first result that lists the constituents of a throughput tells for all of its kit. */
static void read_breakdowns(struct sonde_kit *kit, struct sonde_values *v)
{
	const struct sonde_records *r = kit->capture.records;
	size_t missing = count_breakdowns(&kit->capture), looked = 0, i, k;

	for (i = 0; i < r->records.nr && looked < MAX_LOOKED_AT && missing; i++) {
		uint32_t input = r->processes.at[r->records.at[i].process].input;

		if (&r->inputs.at[input] != kit->capture.input)
			continue;
		looked++;
		if (sonde_records_values(r, (uint32_t)i, v, NULL) != 0)
			continue;
		for (k = 0; k < v->nr_texts; k++) {
			struct sonde_str name = r->metrics.at[v->texts[k].metric].name;
			uint32_t metric;

			if (!sonde_str_starts(name, "breakdown:"))
				continue;
			name = (struct sonde_str){name.p + 10, name.n - 10};
			metric = sonde_map_find(&r->metric_names, name);
			if (metric == SONDE_NONE || kit->breakdowns[metric].p)
				continue;
			kit->breakdowns[metric] = v->texts[k].text;
			missing--;
		}
	}
}

static bool add_kit(struct sonde_store *s, uint32_t input, struct sonde_values *v)
{
	struct sonde_kit *kit = sonde_vec_push(&s->kits);
	size_t nr = s->records->metrics.nr;

	if (!kit)
		return false;
	kit->capture = (struct sonde_capture){
		.records = s->records, .input = &s->records->inputs.at[input]};
	kit->breakdowns = sonde_arena_calloc(&s->arena, nr, sizeof(*kit->breakdowns));
	kit->slots = sonde_arena_calloc(&s->arena, nr, sizeof(*kit->slots));
	if (!kit->breakdowns || !kit->slots)
		return false;
	memset(kit->slots, 0xff, nr * sizeof(*kit->slots));
	read_breakdowns(kit, v);
	return true;
}

static bool add_kits(struct sonde_store *s, struct sonde_values *v)
{
	struct sonde_map keys = {0};
	struct sonde_buf key = {0};
	struct sonde_str copy;
	bool is_good = true, is_new;
	uint32_t i;

	for (i = 0; i < s->records->inputs.nr && is_good; i++) {
		describe(&key, s->records, i);
		copy = key.failed ? (struct sonde_str){NULL, 0}
				  : sonde_arena_dup(&s->arena, sonde_buf_view(&key));
		s->kit_of[i] = copy.p ? sonde_map_add(&keys, copy, &is_new) : SONDE_NONE;
		is_good = s->kit_of[i] != SONDE_NONE && (!is_new || add_kit(s, i, v));
	}
	sonde_buf_release(&key);
	sonde_map_release(&keys);
	return is_good;
}

int sonde_store_init(struct sonde_store *s, struct sonde_err *err)
{
	size_t nr = s->records->metrics.nr;
	struct sonde_values v = {0};
	int rc;

	s->slot_of = sonde_malloc(nr * sizeof(*s->slot_of));
	s->kit_of = sonde_calloc(s->records->inputs.nr, sizeof(*s->kit_of));
	if (!s->slot_of || !s->kit_of)
		return sonde_err_nomem(err);
	memset(s->slot_of, 0xff, nr * sizeof(*s->slot_of));
	rc = sonde_values_init(&v, s->records, err);
	if (rc == 0 && !add_kits(s, &v))
		rc = sonde_err_nomem(err);
	sonde_values_release(&v);
	return rc;
}

/* `breakdown:X` lists the constituents of throughput X, separated by commas. */
static bool list_constituents(
	struct sonde_plan *p, const struct sonde_capture *c, struct sonde_str list)
{
	uint32_t metric, *at;

	while (list.n) {
		metric = sonde_map_find(
			&c->records->metric_names, sonde_str_trim(sonde_str_cut(list, ',', &list)));
		if (metric == p->metric)
			continue;
		if (!sonde_input_has(c->input, metric) ||
			p->constituents.nr == MAX_CONSTITUENTS) {
			p->constituents.nr = 0; /* of some the maximum is not known */
			return true;
		}
		at = sonde_vec_push(&p->constituents);
		if (!at)
			return false;
		*at = metric;
	}
	if (p->constituents.nr)
		p->says[0] = "max over its constituents of their weighted means";
	return true;
}

static bool is_same(const struct sonde_plan *a, const struct sonde_plan *b)
{
	return a->weight[0] == b->weight[0] && a->weight[1] == b->weight[1] &&
	       a->per_instance == b->per_instance && a->quality == b->quality &&
	       sonde_plan_same_constituents(a, b);
}

/* The slot for a plan: that of an equal one, or a new one at the end of the metric's chain. */
static uint32_t find_slot(struct sonde_store *s, struct sonde_plan *plan)
{
	uint32_t *link = &s->slot_of[plan->metric], slot = (uint32_t)s->plans.nr;
	struct sonde_plan *at;

	while (*link != SONDE_NONE && !is_same(&s->plans.at[*link], plan))
		link = &s->plans.at[*link].next;
	if (*link != SONDE_NONE) {
		sonde_vec_release(&plan->constituents);
		return *link;
	}
	*link = slot; /* before the vector may move */
	at = sonde_vec_push(&s->plans);
	if (!at) {
		sonde_vec_release(&plan->constituents);
		return SONDE_NONE;
	}
	*at = *plan;
	return slot;
}

static bool add_to_kit(struct sonde_store *s, struct sonde_kit *kit, uint32_t metric)
{
	struct sonde_plan plan = sonde_plan_for(&kit->capture, metric, &s->arena);
	uint32_t *item = sonde_vec_push(&kit->list);

	if (!item || (plan.method == SONDE_METHOD_PEAK &&
			     !list_constituents(&plan, &kit->capture, kit->breakdowns[metric]))) {
		sonde_vec_release(&plan.constituents);
		return false;
	}
	*item = kit->slots[metric] = find_slot(s, &plan);
	return *item != SONDE_NONE;
}

bool sonde_store_add(struct sonde_store *s, uint32_t metric)
{
	size_t i;

	if (s->slot_of[metric] != SONDE_NONE)
		return true;
	for (i = 0; i < s->kits.nr; i++)
		if (sonde_input_has(s->kits.at[i].capture.input, metric) &&
			!add_to_kit(s, &s->kits.at[i], metric))
			return false;
	return true;
}

/* Every constituent weighs by its own unit's cycles; the weakest quality among them counts. */
static void settle_peak(const struct sonde_store *s, struct sonde_plan *p)
{
	uint8_t quality = SONDE_QUALITY_EXACT;
	size_t i;

	for (i = 0; i < p->constituents.nr; i++) {
		const struct sonde_plan *c = &s->plans.at[s->slot_of[p->constituents.at[i]]];

		if (c->quality > quality)
			quality = c->quality;
	}
	if (p->constituents.nr)
		p->quality = quality;
}

int sonde_store_complete(struct sonde_store *s, struct sonde_err *err)
{
	size_t i, k;

	for (i = 0; i < s->plans.nr; i++) { /* grows meanwhile */
		if (s->plans.at[i].sibling != SONDE_NONE &&
			!sonde_store_add(s, s->plans.at[i].sibling))
			return sonde_err_nomem(err);
		for (k = 0; k < s->plans.at[i].constituents.nr; k++)
			if (!sonde_store_add(s, s->plans.at[i].constituents.at[k]))
				return sonde_err_nomem(err);
	}
	for (i = 0; i < s->plans.nr; i++)
		settle_peak(s, &s->plans.at[i]);
	return 0;
}
