/*
 * Folds the oldest files of a capture that has several, as `sonde run` does with capture.keep:
 *
 *     capture_roll CAPTURE TIMES [FILES [BESIDE…]]     TIMES times, FILES files at once; BESIDE: other files of its directory
 */
#include "merge/rolling.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static const char *const known = "known";
	struct sonde_fold_request request = {.selection.labels = {&known, 1}};
	struct sonde_err err = {0};
	struct sonde_beside b;
	long i;
	int rc = 0;

	if (argc < 3)
		return 2;
	for (i = 0; i < strtol(argv[2], NULL, 10) && rc == 0; i++) {
		rc = sonde_beside_open(&b, (const char *const *)argv + 4, argc > 4 ? (size_t)argc - 4 : 0, argv[1], &err);
		if (rc == 0)
			rc = sonde_roll(&b, argv[1], argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1, &request, &err);
		if (rc == 0)
			rc = sonde_beside_trim(&b, &err);
		sonde_beside_release(&b);
	}
	if (rc)
		fprintf(stderr, "%s\n", err.msg);
	return rc != 0;
}
