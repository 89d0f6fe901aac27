/* Programs of a few classes that run one after the other, and the solution for them. */
#ifndef TESTS_UNMIX_SOLVED_H
#define TESTS_UNMIX_SOLVED_H

#include "unit.h"

#include "unmix_made.h"

#define STEPS	 400
#define INTERVAL 50000

static inline struct sonde_unmixed *solve(const struct made *m)
{
	struct sonde_unmix_input in = made_input(m);
	struct sonde_unmixed *u;
	struct sonde_err err = {0};

	if (sonde_unmix_solve(&u, &in, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return u;
}

static inline void assert_near(double value, double truth, double part)
{
	if (!(fabs(value - truth) <= part * truth))
		fail_msg("%g is not within %g %% of %g", value, 100 * part, truth);
}

/* Starts a program of `nr` classes with 1000·(class+1) counts, of 5 µs and more, one after the other with pauses. */
static inline void start_program(struct made *m, uint32_t nr, uint32_t nr_counters)
{
	uint32_t k, c;

	*m = (struct made){.seed = 1, .nr_counters = nr_counters};
	for (k = 0; k < nr; k++) {
		made_class(m, k, k, SONDE_UNMIX_NONE);
		for (c = 0; c < nr_counters; c++)
			m->count[k][c] = 1000.0 * (k + 1) * (c + 1);
	}
	made_samples(m, 0, INTERVAL, (size_t)STEPS * nr * 20000 / INTERVAL + 20);
}

static inline void run_program(struct made *m, uint32_t nr)
{
	int64_t at = 3 * INTERVAL;
	uint32_t step, k;

	for (step = 0; step < STEPS; step++) {
		for (k = 0; k < nr; k++) {
			made_launch(m, k, at, 5000 + 500 * k, 0, 1);
			at += 5000 + 500 * k + (int64_t)made_uniform(m, 1000, 10000);
		}
	}
}

#endif
