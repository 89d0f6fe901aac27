/* The report of a pipeline as bytes. */
#include "lib/pipeline.h"

static int check_ran(const struct sonde_pipeline *p, struct sonde_err *err)
{
	return p->tree ? 0
		       : sonde_err_set(err, SONDE_ERR_USAGE,
				 "this pipeline has not run yet: call sonde_pipeline_run first");
}

int sonde_pipeline_export(
	struct sonde_pipeline *p, const char *format, const char *path, struct sonde_err *err)
{
	const struct sonde_format *f;
	struct sonde_sink out;
	int rc = check_ran(p, err);

	if (rc)
		return rc;
	if (!format)
		return sonde_export_dir(p->tree, &p->settings.options, path, err);
	f = sonde_format_named(sonde_str_from(format));
	if (!f)
		return sonde_err_set(err, SONDE_ERR_USAGE, "there is no format '%s', only %s",
			format, SONDE_FORMAT_WORDS(SONDE_FORMATS));
	rc = sonde_sink_open(&out, path, err);
	return rc ? rc
		  : sonde_sink_finish(
			    &out, sonde_export(f, p->tree, &p->settings.options, &out, err), err);
}

int sonde_pipeline_json(
	struct sonde_pipeline *p, const char **out, size_t *size, struct sonde_err *err)
{
	int rc = check_ran(p, err);

	if (rc)
		return rc;
	if (!p->json.buf.n) {
		rc = sonde_export_json(p->tree, &p->settings.options, &p->json, err);
		if (rc == 0 && p->json.buf.failed)
			rc = sonde_err_nomem(err);
	}
	*out = rc ? NULL : p->json.buf.p;
	*size = rc ? 0 : p->json.buf.n;
	return rc;
}
