#include "base/alloc.h"
#include "capture/argv.h"
#include "cli/run_int.h"
#include "config/config.h"

#include <ctype.h>

struct sonde_run_config {
	struct sonde_config *config;
};

int sonde_run_config_open(struct sonde_run_config **out, struct sonde_words overrides,
	struct sonde_words dirs, const char *name, struct sonde_err *err)
{
	struct sonde_run_config *c = sonde_calloc(1, sizeof(*c));
	struct sonde_config_request q = {.overrides = overrides.at,
		.nr_overrides = overrides.nr,
		.config_dir = dirs.nr ? dirs.at[dirs.nr - 1] : NULL,
		.config_name = name};
	int rc;

	*out = NULL;
	if (!c)
		return sonde_err_nomem(err);
	rc = sonde_config_open(&c->config, &q, err);
	if (rc) {
		sonde_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

static const char *text(void *of, const char *key)
{
	struct sonde_run_config *c = of;

	return sonde_config_is_null(c->config, key) ? NULL : sonde_config_str(c->config, key).p;
}

static const char *element(void *of, const char *key, size_t i)
{
	struct sonde_run_config *c = of;
	const struct sonde_str *items;
	size_t nr = sonde_config_list(c->config, key, &items);

	return i < nr ? items[i].p : NULL;
}

struct sonde_setting_source sonde_run_config_source(struct sonde_run_config *c)
{
	return (struct sonde_setting_source){text, element, c};
}

int sonde_run_config_yaml(struct sonde_run_config *c, struct sonde_buf *out, struct sonde_err *err)
{
	struct sonde_sink sink;
	int rc;

	sonde_sink_init_string(&sink);
	rc = sonde_config_dump(c->config, &sink, SONDE_CONFIG_JOB, NULL, true, err);
	sonde_buf_str(out, sonde_buf_view(&sink.buf));
	sonde_sink_abort(&sink);
	return rc ? rc : out->failed ? sonde_err_nomem(err) : 0;
}

/* `PREFIX_NAME=value` for every name below `key`. */
static void add_below(
	struct sonde_run_config *c, struct sonde_argv *env, const char *key, const char *prefix)
{
	const struct sonde_str *names;
	size_t nr = sonde_config_keys(c->config, key, &names), i, k;

	for (i = 0; i < nr; i++) {
		struct sonde_buf full = {0}, word = {0};

		sonde_buf_printf(&full, "%s.%.*s", key, SONDE_STR_ARG(names[i]));
		sonde_buf_puts(&word, prefix);
		for (k = 0; k < names[i].n; k++)
			sonde_buf_putc(&word, *prefix ? (char)toupper((unsigned char)names[i].p[k])
						      : names[i].p[k]);
		if (full.failed || word.failed)
			env->failed = true;
		else
			sonde_argv_printf(env, "%s=%.*s", word.p,
				SONDE_STR_ARG(sonde_config_str(c->config, full.p)));
		sonde_buf_release(&full);
		sonde_buf_release(&word);
	}
}

int sonde_run_config_env(struct sonde_run_config *c, struct sonde_argv *env, struct sonde_err *err)
{
	struct sonde_str device = sonde_config_str(c->config, "device");

	add_below(c, env, "model", "SONDE_MODEL_");
	add_below(c, env, "infer", "SONDE_INFER_");
	if (device.n)
		sonde_argv_printf(env, "SONDE_DEVICE=%.*s", SONDE_STR_ARG(device));
	add_below(c, env, "pipeline.workload.env", "");
	return env->failed ? sonde_err_nomem(err) : 0;
}

void sonde_run_config_free(struct sonde_run_config *c)
{
	if (!c)
		return;
	sonde_config_free(c->config);
	sonde_free(c);
}
