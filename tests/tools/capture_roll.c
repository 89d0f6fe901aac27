/*
 * Folds the oldest files of a capture that goes on in several, as `sonde run` does:
 *
 *     capture_roll CAPTURE TIMES [FILES]     so many at once
 */
#include "merge/rolling.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static const char *const known = "known";
	struct sonde_fold_request request = {.selection.labels = {&known, 1}};
	struct sonde_err err = {0};
	long i;

	if (argc < 3)
		return 2;
	for (i = 0; i < strtol(argv[2], NULL, 10); i++)
		if (sonde_roll(argv[1], argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1, &request, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
	return 0;
}
