#include "replay/change.h"

#include "base/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct sonde_change_row sonde_changes[SONDE_NR_CHANGES] = {
	[SONDE_CHANGE_GRAPH] = {"graph", "REGION"},
	[SONDE_CHANGE_FUSE] = {"fuse", "REGION"},
	[SONDE_CHANGE_NOSYNC] = {"nosync", "REGION"},
	[SONDE_CHANGE_ASYNC_COPY] = {"async-copy", "REGION"},
	[SONDE_CHANGE_GATHER] = {"gather", "REGION"},
	[SONDE_CHANGE_NOALLOC] = {"noalloc", "REGION"},
	[SONDE_CHANGE_AHEAD] = {"ahead", "REGION"},
	[SONDE_CHANGE_KERNEL] = {"kernel", "NAME=0.5x"},
	[SONDE_CHANGE_OVERLAP_COMM] = {"overlap-comm", "REGION"},
	[SONDE_CHANGE_LEVEL_RANKS] = {"level-ranks", NULL},
	[SONDE_CHANGE_REMOVE] = {"remove", "REGION"},
};

static int refuse_change(struct sonde_err *err, const char *text, const char *why)
{
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"'%.200s': %s; changes are graph:REGION fuse:REGION nosync:REGION "
		"async-copy:REGION gather:REGION noalloc:REGION ahead:REGION "
		"kernel:NAME=0.5x|roofline overlap-comm:REGION level-ranks remove:REGION",
		text, why);
}

/* Reads `NAME=0.5x`. Names of kernels contain no `=`; if one does, the last `=` counts. */
static int read_kernel(struct sonde_change *out, const char *text, struct sonde_err *err)
{
	const char *equal = NULL;
	size_t i;
	char *end;

	for (i = 0; i < out->name.n; i++)
		if (out->name.p[i] == '=')
			equal = out->name.p + i;
	if (!equal || equal == out->name.p)
		return refuse_change(err, text, "say by what the kernel's time is multiplied, as in kernel:gemm*=0.5x");
	out->name.n = (size_t)(equal - out->name.p);
	out->factor = NAN;
	if (strcmp(equal + 1, "roofline") == 0)
		return 0;
	out->factor = strtod(equal + 1, &end);
	if (end == equal + 1 || strcmp(end, "x") != 0 || !(out->factor >= 0 && out->factor <= 1000))
		return refuse_change(err, text, "multiply the kernel's time by a number from 0x to 1000x, or write =roofline");
	return 0;
}

static int refuse_unknown(const char *text, struct sonde_err *err)
{
	struct sonde_str rest, word = sonde_str_cut(sonde_str_from(text), ':', &rest);
	struct sonde_nearest near = {.word = word, .below = 4};
	size_t i;

	for (i = 0; i < SONDE_NR_CHANGES; i++)
		sonde_nearest_offer(&near, sonde_str_from(sonde_changes[i].word));
	if (!near.best.n)
		return refuse_change(err, text, "there is no such change");
	return sonde_err_set(err, SONDE_ERR_USAGE, "'%.200s': there is no such change, did you mean '%s%.200s'?", text, near.best.p,
		text + word.n);
}

int sonde_change_read(struct sonde_change *out, const char *text, struct sonde_err *err)
{
	size_t i, n;

	for (i = 0; i < SONDE_NR_CHANGES; i++) {
		const struct sonde_change_row *row = &sonde_changes[i];

		n = strlen(row->word);
		if (strncmp(text, row->word, n) != 0 || (text[n] && text[n] != ':'))
			continue;
		*out = (struct sonde_change){.kind = (enum sonde_change_kind)i, .factor = 1};
		if (!row->argument)
			return text[n] ? refuse_change(err, text, "this change takes no argument") : 0;
		if (!text[n] || !text[n + 1])
			return refuse_change(err, text,
				i == SONDE_CHANGE_KERNEL ? "name a kernel" : "name a region");
		out->name = sonde_str_from(text + n + 1);
		return i == SONDE_CHANGE_KERNEL ? read_kernel(out, text, err) : 0;
	}
	return refuse_unknown(text, err);
}
