/* A valid report that tests damage in one place, and the validator's answer to it. */
#ifndef SONDE_TESTS_VALIDATED_H
#define SONDE_TESTS_VALIDATED_H

#include "check/validate.h"

#include "exported.h"

#include <jansson.h>

/* A valid report, which a test then damages in one place. */
static inline json_t *good(void)
{
	struct made m;
	struct sonde_buf b;
	json_t *document;

	small_run(&m, "A::A1");
	b = exported(&m, sonde_export_json, NULL);
	document = json_loadb(b.p, b.n, 0, NULL);
	assert_non_null(document);
	sonde_buf_release(&b);
	made_release(&m);
	return document;
}

static inline void rejects(json_t *document, const char *where, const char *what)
{
	char *text = json_dumps(document, 0);
	struct sonde_err err = {0};

	assert_int_equal(sonde_validate_text(sonde_str_from(text), "t", &err), SONDE_ERR_FORMAT);
	if (!strstr(err.msg, where) || !strstr(err.msg, what))
		fail_msg("'%s' has no '%s' or no '%s'", err.msg, where, what);
	free(text);
	json_decref(document);
}

static inline void accepts(json_t *document)
{
	char *text = json_dumps(document, 0);
	struct sonde_err err = {0};

	if (sonde_validate_text(sonde_str_from(text), "t", &err))
		fail_msg("%s", err.msg);
	free(text);
	json_decref(document);
}

/* Follows keys and indices: at(d, "aggregate", "regions", "1", NULL). */
static inline json_t *at(json_t *v, ...)
{
	const char *key;
	va_list ap;

	va_start(ap, v);
	while ((key = va_arg(ap, const char *)))
		v = json_is_array(v) ? json_array_get(v, (size_t)(key[0] - '0'))
				     : json_object_get(v, key);
	va_end(ap);
	assert_non_null(v);
	return v;
}

#endif
