#include "aggregate/store.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define TIME	  "gpu__time_duration.sum"
#define MAX_BYTES (4ull << 30) /* of accumulators; beyond it the user must choose metrics */

static struct sonde_mode *mode_slot(struct sonde_arena *arena, struct sonde_modes *m)
{
	struct sonde_mode *at;

	if (m->nr == m->cap) {
		if (!arena || m->cap >= SONDE_MAX_MODES)
			return NULL;
		at = sonde_arena_calloc(arena, m->cap ? m->cap * 4 : 1, sizeof(*at));
		if (!at)
			return NULL;
		if (m->nr)
			memcpy(at, m->at, m->nr * sizeof(*at));
		m->at = at;
		m->cap = m->cap ? m->cap * 4 : 1;
	}
	return &m->at[m->nr++];
}

static void add_mode(
	struct sonde_arena *arena, struct sonde_modes *m, const struct sonde_mode *mode)
{
	struct sonde_mode *slot;
	uint32_t i;

	for (i = 0; i < m->nr; i++)
		if (m->at[i].v == mode->v && m->at[i].is_text == mode->is_text) {
			m->at[i].count += mode->count;
			return;
		}
	slot = mode_slot(arena, m);
	if (slot)
		*slot = *mode;
	else
		m->other += mode->count;
}

static void add_fact(struct sonde_store *s, struct sonde_acc *acc, double v, bool is_text)
{
	struct sonde_mode mode = {.v = v, .count = 1, .is_text = is_text};

	if (!acc->modes)
		acc->modes = sonde_arena_calloc(&s->arena, 1, sizeof(*acc->modes));
	if (acc->modes)
		add_mode(&s->arena, acc->modes, &mode);
	if (!is_text) {
		acc->a = acc->nr == 0 || v < acc->a ? v : acc->a;
		acc->b = acc->nr == 0 || v > acc->b ? v : acc->b;
	}
	acc->nr++;
}

static void add_weighed(
	const struct sonde_plan *p, struct sonde_acc *acc, double v, const double *num, double t)
{
	double w = p->weight[0] == SONDE_NONE ? NAN : num[p->weight[0]];

	if (p->weight[1] != SONDE_NONE)
		w *= num[p->weight[1]];
	if (w >= 0) {
		acc->a += w * v;
		acc->w += w;
		acc->nr_weighed++;
	}
	if (t >= 0) {
		acc->b += t * v;
		acc->t += t;
	}
	acc->top = acc->nr == 0 || v > acc->top ? v : acc->top;
	acc->nr++;
}

static void add_number(struct sonde_store *s, const struct sonde_plan *p, struct sonde_acc *acc,
	double v, const struct sonde_values *values)
{
	double t = s->time_metric == SONDE_NONE ? NAN : values->num[s->time_metric];

	switch (p->method) {
	case SONDE_METHOD_SUM:
	case SONDE_METHOD_LOWER:
	case SONDE_METHOD_UPPER:
		acc->b = acc->nr == 0 || v > acc->b ? v : acc->b;
		acc->a += v;
		acc->nr++;
		break;
	case SONDE_METHOD_MAX:
		acc->a = acc->nr == 0 || v > acc->a ? v : acc->a;
		acc->nr++;
		break;
	case SONDE_METHOD_MEAN:
	case SONDE_METHOD_PEAK:
		add_weighed(p, acc, v, values->num, t);
		break;
	default:
		add_fact(s, acc, v, false);
		break;
	}
}

static void add_values(
	struct sonde_store *s, struct sonde_cell *cell, const struct sonde_values *values)
{
	const struct sonde_kit *kit = sonde_store_kit(s, cell->scope);
	size_t i;

	for (i = 0; i < kit->list.nr; i++) {
		uint32_t slot = kit->list.at[i];
		const struct sonde_plan *p = &s->plans.at[slot];
		double v = values->num[p->metric];

		if (!isnan(v))
			add_number(s, p, &cell->acc[slot], v, values);
	}
	for (i = 0; i < values->nr_texts; i++) {
		uint32_t slot = kit->slots[values->texts[i].metric], text;

		if (slot == SONDE_NONE || s->plans.at[slot].method < SONDE_METHOD_SAME)
			continue; /* words where a number belongs: missing */
		text = sonde_map_add(&s->texts, values->texts[i].text, NULL);
		if (text != SONDE_NONE)
			add_fact(s, &cell->acc[slot], text, true);
	}
}

/* The cell a launch counts in, made when new. */
static int find_cell(struct sonde_cell **out, struct sonde_store *s,
	const struct sonde_launch *launch, struct sonde_err *err)
{
	uint32_t key[3] = {launch->scope, launch->place, launch->kernel}, number;
	struct sonde_str bytes = {(const char *)key, sizeof(key)};
	struct sonde_cell *cell = NULL;

	if (s->last_cell < s->cells.nr) { /* launches of a kind come in a row */
		cell = &s->cells.at[s->last_cell];
		*out = cell;
		if (cell->scope == key[0] && cell->place == key[1] && cell->kernel == key[2])
			return 0;
		cell = NULL;
	}
	number = s->last_cell = sonde_map_find(&s->cell_keys, bytes);
	if (number != SONDE_NONE) {
		*out = &s->cells.at[number];
		return 0;
	}
	if ((s->cells.nr + 1) * s->plans.nr * sizeof(*cell->acc) > MAX_BYTES)
		return sonde_err_set(err, SONDE_ERR_LIMIT,
			"%zu metrics over %zu combinations of region and kernel need more than "
			"4 GiB; choose fewer with --metrics",
			s->plans.nr, s->cells.nr);
	bytes = sonde_arena_dup(&s->arena, bytes);
	if (bytes.p && sonde_map_add(&s->cell_keys, bytes, NULL) != SONDE_NONE)
		cell = sonde_vec_push(&s->cells);
	if (!cell)
		return sonde_err_nomem(err);
	cell->scope = key[0];
	cell->place = key[1];
	cell->kernel = key[2];
	cell->acc = sonde_arena_calloc(&s->arena, s->plans.nr, sizeof(*cell->acc));
	*out = cell;
	return cell->acc ? 0 : sonde_err_nomem(err);
}

static void add_copy(const struct sonde_store *s, struct sonde_cell *cell,
	const struct sonde_values *v, double t)
{
	double bytes = s->bytes_metric == SONDE_NONE ? NAN : v->num[s->bytes_metric];

	cell->copies++;
	cell->copy_ns += isnan(t) ? 0 : t;
	cell->copy_bytes += isnan(bytes) ? 0 : bytes;
}

static int add_launch(struct sonde_store *s, const struct sonde_launch *launch,
	struct sonde_values *v, struct sonde_err *err)
{
	struct sonde_scope_sum *sum = &s->scopes[launch->scope];
	struct sonde_err damage; /* filled in on failure only: a kilobyte a launch is dear */
	struct sonde_cell *cell = NULL;
	double t;
	int rc;

	damage.msg[0] = '\0';
	if (sonde_records_values(s->records, launch->record, v, &damage) != 0) {
		if (s->nr_damaged++ == 0)
			sonde_note(&s->notes,
				"%s; what could be decoded of that result is reported", damage.msg);
	}
	t = s->time_metric == SONDE_NONE ? NAN : v->num[s->time_metric];
	s->nr_untimed += s->time_metric != SONDE_NONE && isnan(t);
	sum->launches++;
	sum->time_ns += isnan(t) ? 0 : t;
	if (launch->state == SONDE_LAUNCH_NOT_SELECTED)
		return 0;
	rc = find_cell(&cell, s, launch, err);
	if (rc)
		return rc;
	cell->launches++;
	cell->time_ns += isnan(t) ? 0 : t;
	if (s->records->records.at[launch->record].kind == SONDE_RESULT_MEMCPY)
		add_copy(s, cell, v, t);
	add_values(s, cell, v);
	return 0;
}

/* Size of a device for weighing percentages across different ones: its multiprocessors. */
static double device_capacity(const struct sonde_device *d)
{
	size_t i;

	for (i = 0; d && i < d->nr_attributes; i++)
		if (sonde_str_is(d->attributes[i].name, "device__attribute_multiprocessor_count") &&
			d->attributes[i].value > 0)
			return d->attributes[i].value;
	return 1;
}

static void weigh_devices(struct sonde_store *s)
{
	const struct sonde_device *first = NULL, *d;
	size_t i;

	for (i = 0; i < s->launches->scopes.nr; i++) {
		const struct sonde_scope *scope = &s->launches->scopes.at[i];

		d = sonde_records_device(s->records, scope->process, scope->device);
		s->scopes[i].capacity = device_capacity(d);
		if (d && first && !sonde_str_eq(d->name, first->name))
			s->is_mixed = true;
		first = d ? d : first;
	}
	if (s->is_mixed)
		sonde_note(&s->notes,
			"devices of different kinds: percentages in the aggregate are weighted "
			"by multiprocessors × elapsed cycles, an approximation");
	for (i = 0; i < s->launches->scopes.nr && !s->is_mixed; i++)
		s->scopes[i].capacity = 1;
}

int sonde_store_fill(struct sonde_store *s, struct sonde_err *err)
{
	struct sonde_values v = {0};
	size_t i;
	int rc;

	s->time_metric = sonde_records_metric(s->records, TIME);
	s->bytes_metric = sonde_records_metric(s->records, "memory__bytes.sum");
	s->scopes = sonde_calloc(s->launches->scopes.nr, sizeof(*s->scopes));
	rc = s->scopes ? sonde_values_init(&v, s->records, err) : sonde_err_nomem(err);
	if (rc == 0)
		weigh_devices(s);
	for (i = 0; rc == 0 && i < s->launches->launches.nr; i++)
		rc = add_launch(s, &s->launches->launches.at[i], &v, err);
	if (s->nr_damaged > 1)
		sonde_note(&s->notes, "%llu results have damaged metrics",
			(unsigned long long)s->nr_damaged);
	if (s->nr_untimed)
		sonde_note(&s->notes, "%llu results have no " TIME " and count as 0 ns",
			(unsigned long long)s->nr_untimed);
	sonde_values_release(&v);
	return rc;
}

void sonde_store_free(struct sonde_store *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->plans.nr; i++)
		sonde_vec_release(&s->plans.at[i].constituents);
	for (i = 0; i < s->kits.nr; i++)
		sonde_vec_release(&s->kits.at[i].list);
	sonde_vec_release(&s->kits);
	sonde_vec_release(&s->plans);
	sonde_vec_release(&s->cells);
	sonde_map_release(&s->cell_keys);
	sonde_map_release(&s->texts);
	sonde_notes_release(&s->notes);
	sonde_arena_release(&s->arena);
	sonde_free(s->slot_of);
	sonde_free(s->kit_of);
	sonde_free(s->scopes);
	sonde_free(s);
}

/* A scratch cell is one block: the cell, its accumulators, and full-size mode tables. */
struct sonde_cell *sonde_cell_scratch(const struct sonde_store *s)
{
	size_t nr = s->plans.nr, facts = 0, i;
	struct sonde_cell *cell;
	struct sonde_modes *modes;
	struct sonde_mode *at;

	for (i = 0; i < nr; i++)
		facts += s->plans.at[i].method >= SONDE_METHOD_SAME;
	cell = sonde_calloc(1, sizeof(*cell) + nr * sizeof(*cell->acc) +
				       facts * (sizeof(*modes) + SONDE_MAX_MODES * sizeof(*at)));
	if (!cell)
		return NULL;
	cell->acc = (struct sonde_acc *)(cell + 1);
	modes = (struct sonde_modes *)(cell->acc + nr);
	at = (struct sonde_mode *)(modes + facts);
	for (i = 0; i < nr; i++) {
		if (s->plans.at[i].method < SONDE_METHOD_SAME)
			continue;
		modes->cap = SONDE_MAX_MODES;
		modes->at = at;
		cell->acc[i].modes = modes++;
		at += SONDE_MAX_MODES;
	}
	return cell;
}

void sonde_cell_clear(const struct sonde_store *s, struct sonde_cell *scratch)
{
	size_t i;

	scratch->launches = 0;
	scratch->time_ns = 0;
	for (i = 0; i < s->plans.nr; i++) {
		bool is_fact = s->plans.at[i].method >= SONDE_METHOD_SAME;
		struct sonde_modes *modes = is_fact ? scratch->acc[i].modes : NULL;

		scratch->acc[i] = (struct sonde_acc){.modes = modes};
		if (is_fact)
			modes->nr = 0, modes->other = 0;
	}
}
