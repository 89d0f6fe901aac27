/*
 * Fuzzes filters: the first line of the input is the filter, the others are labels, both of a
 * stack and of start/end ranges.
 */
#include "attribute/filter.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LABELS 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_nvtx(struct sonde_words words, const struct sonde_open_ranges *open)
{
	struct sonde_nvtx_filter *f = NULL;
	struct sonde_words none = {NULL, 0};
	struct sonde_err err = {0};
	bool included, excluded;

	if (sonde_nvtx_filter_build(&f, words, none, &err)) {
		if (f || err.code != SONDE_ERR_USAGE || !err.msg[0])
			abort();
		return;
	}
	included = sonde_nvtx_filter_takes(f, open);
	sonde_nvtx_filter_free(f);
	if (sonde_nvtx_filter_build(&f, none, words, NULL))
		abort();
	excluded = !sonde_nvtx_filter_takes(f, open);
	sonde_nvtx_filter_free(f);
	if (included != excluded)
		abort();
}

static void use_names(struct sonde_words words, struct sonde_str a, struct sonde_str b)
{
	struct sonde_name_filter *kernels = NULL;
	struct sonde_name_filter *names = NULL;
	struct sonde_words none = {NULL, 0};

	if (sonde_kernel_filter_build(&kernels, words, none, NULL) == 0)
		sonde_kernel_filter_takes(kernels, a, b);
	if (sonde_name_filter_build(&names, words, NULL) == 0 &&
		sonde_name_filter_takes(names, a) != sonde_name_filter_word_takes(names, 0, a))
		abort();
	sonde_name_filter_free(kernels);
	sonde_name_filter_free(names);
}

/* An expression that is translated for ncu must be in ncu's grammar, and stay as it is when translated again. */
static void use_translation(const char *word)
{
	struct sonde_buf once = {0}, twice = {0};
	struct sonde_str rest, line;

	if (strlen(word) < 1000 && !strpbrk(word, ";\\") &&
		sonde_nvtx_filter_translate(&once, word, NULL) == 0) {
		for (rest = sonde_buf_view(&once); rest.n;) {
			char *copy;

			line = sonde_str_cut(rest, '\n', &rest);
			copy = strndup(line.p, line.n);
			if (sonde_nvtx_filter_translate(&twice, copy, NULL))
				abort();
			free(copy);
		}
		if (!sonde_str_eq(sonde_buf_view(&once), sonde_buf_view(&twice)))
			abort();
	}
	sonde_buf_release(&once);
	sonde_buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_str rest = {(const char *)data, size},
			 first = sonde_str_cut(rest, '\n', &rest);
	struct sonde_str labels[MAX_LABELS];
	struct sonde_open_stack stacks[2] = {{{NULL, 0}, labels, 0}, {{"libA", 4}, labels, 0}};
	struct sonde_open_start starts[MAX_LABELS];
	struct sonde_open_ranges open = {stacks, 2, starts, 0};
	char *word = strndup(first.n ? first.p : "", first.n);
	const char *at[] = {word};
	struct sonde_words words = {at, 1};

	while (rest.n && open.nr_starts < MAX_LABELS) {
		struct sonde_str label = sonde_str_cut(rest, '\n', &rest);

		starts[open.nr_starts] = (struct sonde_open_start){{NULL, 0}, label};
		labels[open.nr_starts++] = label;
	}
	stacks[0].nr = stacks[1].nr = open.nr_starts;
	use_nvtx(words, &open);
	use_names(words, open.nr_starts ? labels[0] : first, first);
	use_translation(word);
	free(word);
	return 0;
}
