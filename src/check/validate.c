#include "check/validate_int.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

size_t sonde_validation__key(struct sonde_validation *v, const char *key)
{
	size_t mark = v->path.n;
	bool is_word = *key && key[strspn(key, "abcdefghijklmnopqrstuvwxyz_")] == '\0';

	sonde_buf_printf(&v->path, is_word ? ".%s" : "[\"%s\"]", key);
	return mark;
}

size_t sonde_validation__index(struct sonde_validation *v, size_t index)
{
	size_t mark = v->path.n;

	sonde_buf_printf(&v->path, "[%zu]", index);
	return mark;
}

void sonde_validation__leave(struct sonde_validation *v, size_t mark)
{
	v->path.n = mark;
	if (v->path.p)
		v->path.p[mark] = '\0';
}

int sonde_validation__fail(struct sonde_validation *v, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return sonde_err_set(
		v->err, SONDE_ERR_FORMAT, "%s: %s: %s", v->name, v->path.p ? v->path.p : "$", what);
}

/* jansson's integers end at 2^63; where a file has greater ones (thread ids), all are read as reals. */
static json_t *load(struct sonde_str text, json_error_t *where)
{
	size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
	json_t *document = json_loadb(text.p ? text.p : "", text.n, flags, where);

	if (!document && json_error_code(where) == json_error_numeric_overflow)
		document = json_loadb(
			text.p, text.n, flags | JSON_DECODE_INT_AS_REAL, where);
	return document;
}

static bool is_comparison(const json_t *document)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));

	return schema && strcmp(schema, "sonde.diff/1") == 0;
}

int sonde_validate_text(struct sonde_str text, const char *name, struct sonde_err *err)
{
	struct sonde_validation v = {.name = name, .err = err};
	struct sonde_str schema_text;
	json_error_t where;
	json_t *document = load(text, &where);
	bool is_diff = document && is_comparison(document);
	json_t *schema;
	int rc;

	if (!document && text.n && json_error_code(&where) == json_error_premature_end_of_input)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: truncated after %zu bytes; copy it again", name, text.n);
	if (!document)
		return sonde_err_set(err, SONDE_ERR_FORMAT, "%s: byte %d: not JSON: %s", name,
			where.position, where.text);
	schema_text = sonde_schema_text(is_diff);
	schema = json_loadb(schema_text.p, schema_text.n, 0, &where);
	sonde_buf_puts(&v.path, "$");
	rc = schema ? sonde_schema__check(&v, schema, schema, document) : sonde_err_nomem(err);
	if (rc == 0)
		rc = is_diff ? sonde_invariant__diff(&v, document)
			     : sonde_invariant__check(&v, document);
	if (rc == 0 && v.path.failed)
		rc = sonde_err_nomem(err);
	json_decref(schema);
	json_decref(document);
	sonde_buf_release(&v.path);
	return rc;
}

int sonde_validate_file(const char *path, struct sonde_err *err)
{
	struct sonde_mapping m;
	int rc = sonde_mapping_open_inflated(&m, path, err);

	if (rc)
		return rc;
	rc = sonde_validate_text(m.data, path, err);
	sonde_mapping_release(&m);
	return rc;
}
