/* With a budget: what was timed in a place comes to stand for all launches there. */
#include "fold/windowed.h"

#include <math.h>
#include <string.h>

/* Sums become those of all launches; means, extremes and facts stay as they are. */
static void scale_values(const struct sonde_plans *plans, const struct sonde_planned *kit,
	struct sonde_cell *cell, double scale)
{
	size_t i;

	for (i = 0; i < kit->list.nr; i++) {
		struct sonde_acc *acc = &cell->acc[kit->list.at[i].at];

		if (acc->nr)
			acc->nr = cell->launches;
		switch (plans->plans.at[kit->list.at[i].slot].method) {
		case SONDE_METHOD_SUM:
		case SONDE_METHOD_LOWER:
		case SONDE_METHOD_UPPER:
			acc->a *= scale;
			break;
		default:
			break;
		}
	}
}

/* All of a cell stays all of it. */
static uint64_t scale_part(uint64_t part, uint64_t was, uint64_t is, double scale)
{
	uint64_t scaled = (uint64_t)llround((double)part * scale);

	return part == was ? is : scaled < is ? scaled : is;
}

/* Kernels of a place share its launches: rounded so that together they have exactly those. */
static void scale_cell(
	struct sonde_windowed_place *p, struct sonde_cell *cell)
{
	uint64_t was = cell->launches;

	p->due += (double)cell->launches * p->scale;
	cell->launches = (uint64_t)llround(p->due) - p->given;
	p->given += cell->launches;
	cell->adopted = scale_part(cell->adopted, was, cell->launches, p->scale);
	cell->copies = scale_part(cell->copies, was, cell->launches, p->scale);
	cell->time_ns *= p->scale;
	cell->copy_ns *= p->scale;
	cell->copy_bytes *= p->scale;
}

bool sonde_windowed__scale(
	struct sonde_windowed *w, struct sonde_cells *c, const struct sonde_plans *plans)
{
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		struct sonde_cell *cell = &c->cells.at[i];
		struct sonde_windowed_place *p = sonde_windowed__place(w, cell->scope, cell->place);
		size_t kit = (size_t)(sonde_cells_kit(c, cell->scope) - c->kits.at);

		if (!p)
			return false;
		if (!p->nr_calls || !p->nr_untimed)
			continue;
		scale_cell(p, cell);
		scale_values(plans, &plans->kits[kit], cell, p->scale);
	}
	for (i = 0; i < w->places.nr; i++) { /* of the scopes, selected or not */
		const struct sonde_windowed_place *p = &w->places.at[i];
		uint32_t scope;

		memcpy(&scope, w->keys.keys[i].p, sizeof(scope));
		if (!p->nr_calls || !p->nr_untimed)
			continue;
		c->sums.at[scope].launches +=
			(uint64_t)llround((double)p->nr_works * p->scale) - p->nr_works;
		c->sums.at[scope].time_ns += p->time_ns * (p->scale - 1);
	}
	return true;
}
