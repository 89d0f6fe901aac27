/* The table of keys and the search path, handed to the composer. */
#include "config/config_int.h"

#include <string.h>

bool sonde_config__is_trust(const char *override)
{
	return strncmp(override + strspn(override, "+"), SONDE_TRUST, strlen(SONDE_TRUST)) == 0;
}

int sonde_config_open(
	struct hydra_config **out, const struct sonde_config_request *req, struct sonde_err *err)
{
	struct sonde_config_sources sources = {0};

	sonde_config__find_sources(&sources, req);
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
			.keeps_env = req->is_recorded,
			.raw = req->raw},
		err);
}

struct hydra_dump sonde_config_record(
	const struct hydra_config *c, enum hydra_part part, const char *package)
{
	return (struct hydra_dump){.part = part,
		.package = package,
		.resolve = hydra_config_bool(c, "sonde.record_env") ? HYDRA_RESOLVED
								    : HYDRA_RESOLVED_NO_ENV,
		.masks_secrets = true};
}
