/* A directory of native captures: one file per process. */
#include "format/capture.h"
#include "read/source_int.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int is_capture(const struct dirent *e)
{
	return sonde_str_ends(sonde_str_from(e->d_name), SONDE_CAPTURE_SUFFIX);
}

int sonde_native__list(
	char ***out, size_t *nr, struct sonde_arena *arena, const char *path, struct sonde_err *err)
{
	struct dirent **found = NULL;
	int i, n = scandir(path, &found, is_capture, versionsort);
	bool failed = false;

	*out = NULL;
	*nr = 0;
	if (n < 0)
		return sonde_err_set(err, SONDE_ERR_IO, "%s: %s", path, strerror(errno));
	if (n)
		*out = sonde_arena_calloc(arena, (size_t)n, sizeof(**out));
	for (i = 0; i < n; i++) {
		struct sonde_str name = {NULL, 0};

		if (*out)
			name = sonde_arena_printf(arena, "%s/%s", path, found[i]->d_name);
		failed |= !name.p;
		if (name.p)
			(*out)[i] = (char *)(uintptr_t)name.p;
		free(found[i]);
	}
	free(found);
	if (failed)
		return sonde_err_nomem(err);
	*nr = (size_t)n;
	if (!n)
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: no native captures (*" SONDE_CAPTURE_SUFFIX ") in this directory",
			path);
	return 0;
}
