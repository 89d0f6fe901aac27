#include "cli/look.h"

#include <dirent.h>
#include <string.h>

/* A folder the program was to leave captures in, and left none. */
static bool is_without_capture(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	bool found = !dir;

	while (dir && !found && (e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');

		found = dot && strcmp(dot, ".sonde") == 0;
	}
	if (dir)
		closedir(dir);
	return !found;
}

int sonde_look_open(
	struct sonde_look *out, const char *const *paths, size_t nr_paths, struct sonde_err *err)
{
	const struct sonde_selection all = {.stack_only = true};
	int rc = sonde_records_open(&out->records, paths, nr_paths, err);

	out->launches = NULL;
	if (rc == SONDE_ERR_IO && nr_paths == 1 && is_without_capture(paths[0]))
		sonde_err_set(err, rc,
			"it left no native capture: it uses neither NVTX nor CUDA, or clears its "
			"environment");
	if (rc == 0)
		rc = sonde_launches_build(&out->launches, out->records, &all, err);
	if (rc)
		sonde_look_release(out);
	return rc;
}

void sonde_look_release(struct sonde_look *look)
{
	sonde_launches_free(look->launches);
	sonde_records_free(look->records);
	*look = (struct sonde_look){0};
}
