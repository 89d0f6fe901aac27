/* What the command line of `sonde diff` said. */
#ifndef SONDE_CLI_DIFF_REQUEST_H
#define SONDE_CLI_DIFF_REQUEST_H

#include "cli/overrides.h"
#include "compare/diff.h"
#include "export/diff_out.h"

struct sonde_diff_request {
	struct sonde_args args;
	struct sonde_word_list
		words; /* argv with `--base` and `--new` before each of their inputs */
	struct sonde_word_list base, new_side;
	struct sonde_word_list limit_words;
	SONDE_VEC(struct sonde_diff_limit) limits;
	struct sonde_argv overrides;
	struct sonde_diff_options options;
	const char *output, *min_effect, *format; /* format NULL = text */
	int colour;
	size_t width, max_regions, rounds;
	bool together, is_forced, is_selftest;
};

/* 0, more than 0 when it was a call for help, or an error. Release it in any case. */
int sonde_diff_request_read(
	struct sonde_diff_request *q, int argc, char **argv, struct sonde_err *err);
void sonde_diff_request_release(struct sonde_diff_request *q);

#endif
