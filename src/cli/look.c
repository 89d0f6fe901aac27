#include "cli/look.h"

#include "capture/native_env.h"

int sonde_look_open(
	struct sonde_look *out, const char *const *paths, size_t nr_paths, struct sonde_err *err)
{
	static const char *const raw = "raw";
	const struct sonde_selection all = {.stack_only = true,
		.own_threads = true,
		.no_origins = true,
		.labels = {&raw, 1}};
	int rc = sonde_records_open(&out->records, paths, nr_paths, err);

	out->launches = NULL;
	if (rc == 0) {
		sonde_records_note(out->records);
		rc = sonde_launches_build(&out->launches, out->records, &all, err);
	}
	if (rc)
		sonde_look_release(out);
	return rc;
}

int sonde_look_open_run(struct sonde_look *out, const char *dir, struct sonde_err *err)
{
	int rc = sonde_look_open(out, &dir, 1, err);
	char fault[512] = "it uses neither NVTX nor CUDA, or clears its environment";

	if (rc == SONDE_ERR_IO && !sonde_native_is_there(dir)) {
		sonde_native_fault(fault, sizeof(fault), dir);
		sonde_err_set(err, rc, "the program left no native capture: %s", fault);
	}
	return rc;
}

void sonde_look_release(struct sonde_look *look)
{
	sonde_launches_free(look->launches);
	sonde_records_free(look->records);
	*look = (struct sonde_look){0};
}
