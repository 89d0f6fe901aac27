/* Reading a result: figures, sums with their errors, and the fates of classes. */
#include "unmix/unmix_int.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "catalogue/limits.h"

/* Relative difference between a pooled kernel's counts and its share by time: in another layer it is about 0.01, at
 * another size 0.4 (docs/counters-internals.md). */
#define POOLED_SPREAD 0.3

/* The part of an unknown that belongs to a sum. */
struct part {
	uint32_t unknown;
	double weight;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->unknown > y->unknown) - (x->unknown < y->unknown);
}

double sonde_unmix__split_error(const struct sonde_unmixed *u, uint32_t unknown, double weight, double x)
{
	double all = u->state.unknown_weight[unknown], share = weight / all;

	if (u->state.fate[unknown] == SONDE_UNMIX_OWN || share < 1e-9 || share > 1 - 1e-9)
		return 0;
	if (u->state.fate[unknown] == SONDE_UNMIX_POOLED)
		return POOLED_SPREAD * fmin(share, 1 - share) * all * x;
	return 0.5 * fmax(share, 1 - share) * all * x;
}

/* Adds up parts of the same unknown; returns how many parts are left. */
static size_t fold_parts(struct part *parts, size_t nr)
{
	size_t out = 0, i;

	qsort(parts, nr, sizeof(*parts), compare_parts);
	for (i = 0; i < nr; i++) {
		if (out > 0 && parts[out - 1].unknown == parts[i].unknown)
			parts[out - 1].weight += parts[i].weight;
		else
			parts[out++] = parts[i];
	}
	return out;
}

static struct sonde_unmix_figure sum_parts(
	const struct sonde_unmixed *u, const struct part *parts, size_t nr, uint32_t counter)
{
	double deviations[SPREAD_WIDTH] = {0}, variance = 0, value = 0;
	size_t i;
	int d;

	for (i = 0; i < nr; i++) {
		size_t cell = (size_t)parts[i].unknown * u->state.nr_counters + counter;
		const float *moved = u->state.deviations + cell * SPREAD_WIDTH;
		double split = sonde_unmix__split_error(u, parts[i].unknown, parts[i].weight, u->state.x[cell]);

		value += parts[i].weight * u->state.x[cell];
		variance += split * split;
		for (d = 0; d < SPREAD_WIDTH; d++)
			deviations[d] += parts[i].weight * (double)moved[d];
	}
	for (d = 0; d < SPREAD_WIDTH; d++)
		variance += deviations[d] * deviations[d];
	return (struct sonde_unmix_figure){value, sqrt(variance)};
}

struct sonde_unmix_figure sonde_unmixed_sum(
	const struct sonde_unmixed *u, const uint32_t *classes, size_t nr, uint32_t counter)
{
	struct sonde_unmix_figure none = {NAN, NAN}, f;
	struct part one = {0}, *parts = nr == 1 ? &one : sonde_malloc((nr + 1) * sizeof(*parts));
	double time = 0;
	size_t nr_parts = 0, i;

	if (parts == NULL)
		return none;
	for (i = 0; i < nr; i++) {
		const struct sonde_unmix_class_result *c = &u->state.classes[classes[i]];

		if (c->fate == SONDE_UNMIX_UNSEEN)
			continue;
		parts[nr_parts++] = (struct part){c->unknown, u->state.weight[classes[i]]};
		time += u->state.time[classes[i]];
	}
	nr_parts = fold_parts(parts, nr_parts);
	f = sum_parts(u, parts, nr_parts, counter);
	if (parts != &one)
		sonde_free(parts);
	if (nr_parts == 0 || u->state.counters[counter].refused != NULL)
		return none;
	/* The figure is more than the device can do in that time, by more than its error: no figure. */
	if (u->state.limits[counter] > 0 &&
		f.value - 2 * f.error > SONDE_LIMIT_SLACK * u->state.limits[counter] * time)
		return none;
	return f;
}

struct sonde_unmix_figure sonde_unmixed_figure(
	const struct sonde_unmixed *u, uint32_t class, uint32_t counter)
{
	return sonde_unmixed_sum(u, &class, 1, counter);
}

struct sonde_unmix_line sonde_unmixed_line(
	const struct sonde_unmixed *u, uint32_t class, uint32_t counter)
{
	const struct sonde_unmix_class_result *c = &u->state.classes[class];
	double x, trend;

	if (c->fate == SONDE_UNMIX_UNSEEN || u->state.counters[counter].refused != NULL || u->trend == NULL)
		return (struct sonde_unmix_line){0, 0};
	x = u->state.x[(size_t)c->unknown * u->state.nr_counters + counter];
	trend = u->trend[(size_t)c->unknown * u->state.nr_counters + counter];
	if (c->fate == SONDE_UNMIX_OWN)
		return (struct sonde_unmix_line){x - trend, trend / u->length[c->unknown]};
	if (c->fate == SONDE_UNMIX_ENTRY) /* the trend depends on the length of the entry, not of the launch */
		return (struct sonde_unmix_line){0, x / u->length[c->unknown]};
	return (struct sonde_unmix_line){-trend, (x + trend) / u->length[c->unknown]};
}

const struct sonde_unmix_class_result *sonde_unmixed_class(
	const struct sonde_unmixed *u, uint32_t class)
{
	return &u->state.classes[class];
}

const struct sonde_unmix_counter_result *sonde_unmixed_counter(
	const struct sonde_unmixed *u, uint32_t counter)
{
	return &u->state.counters[counter];
}

const struct sonde_unmix_quality *sonde_unmixed_quality(const struct sonde_unmixed *u)
{
	return &u->quality;
}

struct sonde_unmix_state sonde_unmixed_state(struct sonde_unmixed *u)
{
	return u->state;
}

struct sonde_unmixed *sonde_unmixed_new(
	uint32_t nr_classes, uint32_t nr_counters, uint32_t nr_unknowns)
{
	struct sonde_unmixed *u = sonde_calloc(1, sizeof(*u));
	size_t cells = (size_t)nr_unknowns * nr_counters + 1;

	if (u == NULL)
		return NULL;
	u->state.nr_classes = nr_classes;
	u->state.nr_counters = nr_counters;
	u->state.nr_unknowns = nr_unknowns;
	u->state.classes = sonde_arena_calloc(&u->arena, nr_classes, sizeof(*u->state.classes));
	u->state.counters = sonde_arena_calloc(&u->arena, nr_counters, sizeof(*u->state.counters));
	u->state.limits = sonde_arena_calloc(&u->arena, nr_counters, sizeof(*u->state.limits));
	u->state.weight = sonde_arena_calloc(&u->arena, nr_classes, sizeof(*u->state.weight));
	u->state.time = sonde_arena_calloc(&u->arena, nr_classes, sizeof(*u->state.time));
	u->state.unknown_weight =
		sonde_arena_calloc(&u->arena, nr_unknowns, sizeof(*u->state.unknown_weight));
	u->state.fate = sonde_arena_calloc(&u->arena, nr_unknowns, sizeof(*u->state.fate));
	u->state.x = sonde_calloc(cells, sizeof(*u->state.x));
	u->state.deviations = sonde_calloc(cells, SPREAD_WIDTH * sizeof(*u->state.deviations));
	if (!u->arena.failed && u->state.x != NULL && u->state.deviations != NULL)
		return u;
	sonde_unmixed_free(u);
	return NULL;
}

void sonde_unmixed_free(struct sonde_unmixed *u)
{
	if (u == NULL)
		return;
	sonde_free(u->state.x);
	sonde_free(u->state.deviations);
	sonde_arena_release(&u->arena);
	sonde_free(u);
}
