#include "cli/program_ranges.h"

#include "capture/native_env.h"

int sonde_program_ranges_open(struct sonde_pipeline **out, const char *const *paths, size_t nr_paths, bool together,
	struct sonde_err *err)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	int rc = p ? 0 : SONDE_ERR_NOMEM;
	size_t i;

	*out = NULL;
	if (p)
		p->settings.fold.read.together = together;
	for (i = 0; i < nr_paths && rc == 0; i++)
		rc = sonde_pipeline_add_input(p, paths[i]);
	rc = rc ? sonde_err_nomem(err) : sonde_pipeline_look(p, err);
	if (rc)
		sonde_pipeline_free(p);
	else
		*out = p;
	return rc;
}

int sonde_program_ranges_open_run(struct sonde_pipeline **out, const char *dir, struct sonde_err *err)
{
	int rc = sonde_program_ranges_open(out, &dir, 1, true, err);
	char fault[512] = "it uses neither NVTX nor CUDA, or clears its environment";

	if (rc == SONDE_ERR_IO && !sonde_native_is_there(dir)) {
		sonde_native_fault(fault, sizeof(fault), dir, NULL);
		sonde_err_set(err, rc, "the program left no native capture: %s", fault);
	}
	return rc;
}
