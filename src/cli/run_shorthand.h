/*
 * Shorthands of `sonde run`: options that stand for keys of the configuration.
 */
#ifndef SONDE_CLI_RUN_SHORTHAND_H
#define SONDE_CLI_RUN_SHORTHAND_H

#include "base/argv.h"
#include "cli/option.h"

struct sonde_run_shorthand {
	const char *out; /* -o: hydra.run.dir, of a sweep hydra.sweep.dir */
	bool has_ncu, has_nsys;
	const char *window; /* --window: capture.window */
	const char *every;  /* --every: capture.every */
	/* For Nsight Compute where it is on (--ncu), else for the report. */
	struct sonde_word_list nvtx_include, metrics;
};

/* Appends the override lines they stand for. */
void sonde_run_shorthand_add(
	struct sonde_argv *lines, const struct sonde_run_shorthand *s, bool is_sweep);
/*
 * Appends an override as typed. A window (capture.window=step[100:110]) is text, though Hydra's
 * grammar would want its brackets, commas and equals signs in quotes.
 */
void sonde_run_shorthand_override(struct sonde_argv *lines, const char *operand);
void sonde_run_shorthand_release(struct sonde_run_shorthand *s);

#endif
