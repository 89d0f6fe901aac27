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
static void scale_cell(struct sonde_windowed_place *p, struct sonde_cell *cell)
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

/* Parts of `was` become parts of `is`, rounded so that they still add up: the next one, given those so far. */
static uint64_t share_out(uint64_t part, uint64_t sums[2], uint64_t was, uint64_t is)
{
	uint64_t given = sums[1];

	sums[0] += part;
	sums[1] = (uint64_t)llround((double)sums[0] / (double)was * (double)is);
	return sums[1] - given;
}

/* Launches outside any range, by cause and by thread. */
static void scale_outside(struct sonde_cells *c)
{
	uint64_t was = c->tally.nr_outside, is = 0, sums[2] = {0};
	size_t i;

	for (i = 0; i < c->cells.nr; i++)
		is += c->places.at[c->cells.at[i].place].nr ? 0 : c->cells.at[i].launches;
	for (i = 0; was && i < sizeof(c->tally.nr_outside_by) / sizeof(*c->tally.nr_outside_by); i++)
		c->tally.nr_outside_by[i] = share_out(c->tally.nr_outside_by[i], sums, was, is);
	sums[0] = sums[1] = 0;
	for (i = 0; was && i < c->strays.nr; i++)
		c->strays.at[i].launches = share_out(c->strays.at[i].launches, sums, was, is);
	c->tally.nr_outside = is;
}

bool sonde_windowed__scale(
	struct sonde_windowed *w, struct sonde_cells *c, const struct sonde_plans *plans)
{
	uint64_t adopted = 0;
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		struct sonde_cell *cell = &c->cells.at[i];
		struct sonde_windowed_place *p = sonde_windowed__place(w, cell->scope, cell->place);
		size_t kit = (size_t)(sonde_cells_kit(c, cell->scope) - c->kits.at);

		if (!p)
			return false;
		if (p->scale != 1) {
			scale_cell(p, cell);
			scale_values(plans, &plans->kits[kit], cell, p->scale);
		}
		adopted += cell->adopted;
	}
	c->tally.nr_adopted = adopted;
	scale_outside(c);
	for (i = 0; i < w->places.nr; i++) { /* of the scopes, selected or not */
		const struct sonde_windowed_place *p = &w->places.at[i];
		uint32_t scope;
		uint64_t nr = p->nr_calls ? p->nr_works : p->nr_untimed;

		memcpy(&scope, w->keys.keys[i].p, sizeof(scope));
		if (p->scale == 1)
			continue;
		c->sums.at[scope].launches += (uint64_t)llround((double)nr * p->scale) - nr;
		c->sums.at[scope].time_ns += p->time_ns * (p->scale - 1);
	}
	return true;
}
