#include "cli/look.h"

#include <dirent.h>
#include <string.h>

bool sonde_look_is_in(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		found = dot && strcmp(dot, ".sonde") == 0;
	}
	if (d)
		closedir(d);
	return found;
}

int sonde_look_open(
	struct sonde_look *out, const char *const *paths, size_t nr_paths, struct sonde_err *err)
{
	const struct sonde_selection all = {.stack_only = true};
	int rc = sonde_records_open(&out->records, paths, nr_paths, err);

	out->launches = NULL;
	if (rc == 0)
		rc = sonde_launches_build(&out->launches, out->records, &all, err);
	if (rc)
		sonde_look_release(out);
	return rc;
}

int sonde_look_open_run(struct sonde_look *out, const char *dir, struct sonde_err *err)
{
	int rc = sonde_look_open(out, &dir, 1, err);

	if (rc == SONDE_ERR_IO && !sonde_look_is_in(dir))
		sonde_err_set(err, rc,
			"it left no native capture: it uses neither NVTX nor CUDA, or clears its "
			"environment");
	return rc;
}

void sonde_look_release(struct sonde_look *look)
{
	sonde_launches_free(look->launches);
	sonde_records_free(look->records);
	*look = (struct sonde_look){0};
}
