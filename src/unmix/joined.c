/* Results of several stretches of time → one result: figures and their deviations are added. */
#include "unmix/unmix_int.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* The share that a class of the joined result has in an unknown. */
struct share {
	uint32_t unknown, class;
	double weight;
};

struct joining {
	const struct sonde_unmixed *from;
	struct sonde_unmixed *to;
	double *sums; /* sums of deviations, from [(class · nr_counters + counter) · SPREAD_WIDTH] on */
};

static int by_unknown(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->unknown != y->unknown)
		return x->unknown < y->unknown ? -1 : 1;
	return (x->class > y->class) - (x->class < y->class);
}

/* Adds up shares of one class in one unknown; returns how many shares are left. */
static size_t merge_shares(struct share *shares, size_t nr)
{
	size_t out = 0, i;

	qsort(shares, nr, sizeof(*shares), by_unknown);
	for (i = 0; i < nr; i++) {
		if (out > 0 && by_unknown(&shares[out - 1], &shares[i]) == 0)
			shares[out - 1].weight += shares[i].weight;
		else
			shares[out++] = shares[i];
	}
	return out;
}

/* A sign for each deviation, the same on every machine. */
static double sign_of(uint32_t unknown, uint32_t class, int deviation)
{
	uint64_t n = sonde_unmix__hash(((uint64_t)unknown << 32 | class) * SPREAD_WIDTH + (uint64_t)deviation);

	return n & 1 ? 1 : -1;
}

/*
 * Adds one unknown of `from`. How it is split among classes is not known: an excess of one class is missing in the others.
 * So if all its classes are in the joined result, the class with the largest share gets the opposite of the others' split
 * errors, and the sum of all classes has no split error.
 */
static void add_unknown(const struct joining *j, const struct share *shares, size_t nr, uint32_t counter)
{
	size_t from = (size_t)shares->unknown * j->from->state.nr_counters + counter, largest = 0, i;
	double left = j->from->state.unknown_weight[shares->unknown];
	const float *moved = j->from->state.deviations + from * SPREAD_WIDTH;
	double others[SPREAD_WIDTH] = {0}, x = j->from->state.x[from], *sums;
	int d;

	for (i = 0; i < nr; i++) {
		left -= shares[i].weight;
		largest = shares[i].weight > shares[largest].weight ? i : largest;
	}
	if (left > 1e-9 * j->from->state.unknown_weight[shares->unknown])
		largest = nr;
	for (i = 0; i < nr; i++) {
		double split = sonde_unmix__split_error(j->from, shares->unknown, shares[i].weight, x) / sqrt(SPREAD_WIDTH);
		size_t at = (size_t)shares[i].class * j->to->state.nr_counters + counter;

		j->to->state.x[at] += shares[i].weight * x;
		sums = j->sums + at * SPREAD_WIDTH;
		for (d = 0; d < SPREAD_WIDTH; d++) {
			double error = i == largest ? 0 : split * sign_of(shares->unknown, shares[i].class, d);

			sums[d] += shares[i].weight * (double)moved[d] + error;
			others[d] += error;
		}
	}
	if (largest == nr)
		return;
	sums = j->sums + ((size_t)shares[largest].class * j->to->state.nr_counters + counter) * SPREAD_WIDTH;
	for (d = 0; d < SPREAD_WIDTH; d++)
		sums[d] -= others[d];
}

static bool add_result(const struct joining *j, const uint32_t *class_of)
{
	const struct sonde_unmixed *u = j->from;
	struct share *shares = sonde_malloc(((size_t)u->state.nr_classes + 1) * sizeof(*shares));
	size_t nr = 0, i, end;
	uint32_t c;

	for (i = 0; shares && i < u->state.nr_classes; i++) {
		uint32_t to = class_of[i];

		if (to == SONDE_UNMIX_NONE)
			continue;
		if (u->state.classes[i].fate == SONDE_UNMIX_UNSEEN) {
			j->to->state.time[2 * to + 1] += u->state.time[i];
			continue;
		}
		j->to->state.time[2 * to] += u->state.time[i];
		j->to->state.classes[2 * to] = (struct sonde_unmix_class_result){.fate = SONDE_UNMIX_OWN, .unknown = to};
		shares[nr++] = (struct share){u->state.classes[i].unknown, to, u->state.weight[i]};
	}
	nr = shares ? merge_shares(shares, nr) : 0;
	for (i = 0; i < nr; i = end) {
		for (end = i; end < nr && shares[end].unknown == shares[i].unknown; end++)
			;
		for (c = 0; c < u->state.nr_counters; c++)
			add_unknown(j, &shares[i], end - i, c);
	}
	for (c = 0; c < u->state.nr_counters; c++) {
		j->to->state.limits[c] = fmax(j->to->state.limits[c], u->state.limits[c]);
		if (u->state.counters[c].refused)
			j->to->state.counters[c].refused = u->state.counters[c].refused;
	}
	sonde_free(shares);
	return shares != NULL;
}

struct sonde_unmixed *sonde_unmixed_join(
	const struct sonde_unmixed *const *from, const uint32_t *const *class_of, size_t nr, uint32_t nr_classes)
{
	uint32_t nr_counters = from[0]->state.nr_counters, c;
	size_t nr_rows = (size_t)nr_classes * nr_counters, i, d;
	struct joining j = {.to = sonde_unmixed_new(2 * nr_classes, nr_counters, nr_classes),
		.sums = sonde_calloc(nr_rows + 1, SPREAD_WIDTH * sizeof(*j.sums))};
	bool ok = j.to && j.sums;

	for (i = 0; ok && i < 2 * (size_t)nr_classes; i++)
		j.to->state.classes[i] = (struct sonde_unmix_class_result){.fate = SONDE_UNMIX_UNSEEN, .unknown = SONDE_UNMIX_NONE};
	for (i = 0; ok && i < nr; i++) {
		j.from = from[i];
		ok = add_result(&j, class_of[i]);
	}
	for (i = 0; ok && i < nr_classes; i++) {
		j.to->state.fate[i] = SONDE_UNMIX_OWN;
		j.to->state.weight[2 * i] = j.to->state.unknown_weight[i] = 1;
	}
	for (c = 0; ok && c < nr_counters; c++)
		if (j.to->state.counters[c].refused) {
			struct sonde_str why = sonde_arena_dup(&j.to->arena, sonde_str_from(j.to->state.counters[c].refused));

			j.to->state.counters[c].refused = why.p;
			ok = why.p;
			j.to->state.limits[c] = 0;
		}
	for (i = 0; ok && i < nr_rows; i++) {
		float *row = j.to->state.deviations + i * SPREAD_WIDTH;

		for (d = 0; d < SPREAD_WIDTH; d++)
			row[d] = (float)j.sums[i * SPREAD_WIDTH + d];
		sonde_unmix__round_row(row);
	}
	sonde_free(j.sums);
	if (ok)
		return j.to;
	sonde_unmixed_free(j.to);
	return NULL;
}
