/*
 * The fit without samples that lack something.
 *
 * Sometimes the record of a hardware unit is lost on its way, and a sample has much less
 * of a counter than its launches have elsewhere, and its neighbours do not have the rest. Such a
 * sample is left out for this counter, by replacing its value with the one the fit expects, several
 * times, until both agree. A kernel that sometimes has little to do looks the same, but then it has
 * less of everything. So a sample is only left out if other counters are complete in it, and
 * therefore the survey of all counters comes first.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <string.h>

#define ROUNDS	  3    /* the most rounds of marking samples that lack something */
#define FILLS	  3    /* in each round: times that their values are replaced */
#define LOST_SIZE 8.0  /* the least size of a loss, in usual deviations */
#define LOST_MOST 0.05 /* if a larger share of samples lacks something, these are not losses */
#define COMPLETE  2    /* number of counters that must be complete in a sample that lacks another */

/* Returns those of the lanes in `low` that have lost something in the current sample of `w`. */
static uint8_t find_lost(
	const struct sonde_unmix__set *set, const struct sonde_unmix__walk *w, uint32_t low)
{
	uint32_t lane, lost = 0;

	for (lane = 0; lane < set->nr; lane++) {
		double left;

		if (!(low >> lane & 1))
			continue;
		left = sonde_unmix__fit_lasting(w, lane);
		if (sonde_unmix__fit_is_low(w, lane, left) &&
			left < -LOST_SIZE * set->usual[lane] * sqrt(w->here->noise[lane]))
			lost |= 1u << lane;
	}
	return (uint8_t)lost;
}

/* The survey marked all low values; keeps the marks only where something was lost. */
static void choose_lost(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	uint8_t *lost = f->set->lost;
	struct sonde_unmix__walk w = {0};
	size_t i;

	for (i = 0; i < r->windows->nr; i++) {
		if (lost[i] == 0)
			continue;
		if (f->nr_complete[i] < COMPLETE) {
			lost[i] = 0;
			continue;
		}
		sonde_unmix__fit_step(&w, f, r, i);
		lost[i] = find_lost(f->set, &w, lost[i]);
	}
}

/*
 * Counts the lost samples of each lane. If there are more than LOST_MOST, the counter is just like that: all
 * its samples are used, and its lane is removed from `marking`. Returns the lanes with lost samples.
 */
static uint32_t count_lost(
	struct sonde_unmix__set *set, const struct sonde_unmix__round *r, uint32_t *marking)
{
	uint32_t lane, lossy = 0;
	size_t i;

	memset(set->nr_lost, 0, sizeof(set->nr_lost));
	for (i = 0; i < r->windows->nr; i++) {
		for (lane = 0; set->lost[i] != 0 && lane < set->nr; lane++)
			set->nr_lost[lane] += set->lost[i] >> lane & 1;
	}
	for (lane = 0; lane < set->nr; lane++) {
		if ((double)set->nr_lost[lane] > LOST_MOST * (double)r->windows->nr) {
			*marking &= ~(1u << lane);
			set->nr_lost[lane] = 0;
		}
		lossy |= set->nr_lost[lane] > 0 ? 1u << lane : 0;
	}
	for (i = 0; i < r->windows->nr; i++)
		set->lost[i] &= (uint8_t)lossy;
	return lossy;
}

/* Makes the right-hand sides in which lost values are replaced by the expected ones. */
static void fill_in(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	const uint8_t *lost = f->set->lost;
	struct sonde_unmix__look look;
	uint32_t lane;
	size_t i, j;

	memcpy(f->rhs, f->set->rhs, (size_t)r->gram.nr * LANES * sizeof(*f->rhs));
	for (i = 0; i < m->nr_rows; i++) {
		double more[LANES] = {0};

		if (lost[i] == 0)
			continue;
		sonde_unmix__fit_look(&look, f, r, i);
		for (lane = 0; lane < LANES; lane++)
			more[lane] = lost[i] >> lane & 1 ? -look.residual[lane] : 0;
		for (j = m->row[i]; j < m->row[i + 1]; j++)
			lanes_add_scaled(f->rhs + (size_t)m->column[j] * LANES, more,
				m->value[j] / r->gram.scale[m->column[j]]);
	}
}

/* Judges the fit by the samples it uses. Marks lost samples of the lanes in `marking` anew;
 * returns whether any mark changed. */
static bool walk_through(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t marking)
{
	struct sonde_unmix__tally t = {0};
	struct sonde_unmix__walk w = {0};
	bool is_new = false;
	size_t i;

	for (i = 0; i < r->windows->nr; i++) {
		uint8_t *lost = &f->set->lost[i], before = *lost;

		sonde_unmix__fit_step(&w, f, r, i);
		if (marking != 0 && f->nr_complete[i] >= COMPLETE)
			*lost = find_lost(f->set, &w, marking);
		is_new |= *lost != before;
		sonde_unmix__fit_tally(&t, w.here, *lost);
	}
	sonde_unmix__fit_judge(f->set, &t);
	return is_new;
}

void sonde_unmix__fit_counters(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	uint32_t marking = (1u << f->set->nr) - 1, lossy, was_lossy = 0, round, fill;

	choose_lost(f, r);
	for (round = 0; round < ROUNDS; round++) {
		lossy = count_lost(f->set, r, &marking);
		was_lossy |= lossy;
		if (was_lossy == 0)
			return;
		for (fill = 0; fill < FILLS; fill++) {
			fill_in(f, r);
			sonde_unmix__solve_nonneg(f, r, was_lossy, true);
		}
		/* In the last round the marks do not change, as the fit has left out exactly these samples. */
		if (!walk_through(f, r, round + 1 < ROUNDS ? marking : 0))
			return;
	}
}
