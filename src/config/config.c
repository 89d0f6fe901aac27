#include "config/config_int.h"

#include "base/alloc.h"

#include <string.h>

static int open_from(struct hydra_config **out, const struct sonde_config_request *req,
	const char *const *overrides, struct sonde_err *err)
{
	struct sonde_config_sources sources = {0};

	sonde_config__find_sources(&sources, req);
	return hydra_config_open(out,
		&(struct hydra_request){.sources = sources.at,
			.nr_sources = sources.nr,
			.overrides = overrides,
			.nr_overrides = req->nr_overrides,
			.config_name = req->config_name,
			.job_name = "sonde",
			.keys = req->any_keys ? NULL : sonde_keys,
			.keys_hint = "'sonde config --help' lists the keys",
			.multirun = req->multirun,
			.raw = req->raw},
		err);
}

bool sonde_config__is_trust(const char *override)
{
	return strncmp(override, SONDE_TRUST, sizeof(SONDE_TRUST) - 1) == 0;
}

/* sonde.trust is asked for, not configured: a config.yaml of the user's need not know the key. */
int sonde_config_open(
	struct hydra_config **out, const struct sonde_config_request *req, struct sonde_err *err)
{
	const char **lines = sonde_calloc(req->nr_overrides + 1, sizeof(*lines));
	char added[64] = "++";
	size_t i;
	int rc;

	*out = NULL;
	if (!lines)
		return sonde_err_nomem(err);
	for (i = 0; i < req->nr_overrides; i++) {
		lines[i] = req->overrides[i];
		if (!sonde_config__is_trust(lines[i]) || strlen(lines[i]) + 3 > sizeof(added))
			continue;
		memcpy(added + 2, lines[i], strlen(lines[i]) + 1);
		lines[i] = added;
	}
	rc = open_from(out, req, lines, err);
	sonde_free(lines);
	return rc;
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
