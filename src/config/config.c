#include "config/config_int.h"

int sonde_config_open(
	struct hydra_config **out, const struct sonde_config_request *req, struct sonde_err *err)
{
	struct sonde_config_sources sources = {0};

	sonde_config__find_sources(&sources, req->config_dir);
	return hydra_config_open(out,
		&(struct hydra_request){.sources = sources.at,
			.nr_sources = sources.nr,
			.overrides = req->overrides,
			.nr_overrides = req->nr_overrides,
			.config_name = req->config_name,
			.job_name = "sonde",
			.keys = req->any_keys ? NULL : sonde_keys,
			.keys_hint = "'sonde config --help' lists the keys",
			.multirun = req->multirun,
			.raw = req->raw},
		err);
}
