/*
 * A file is checked in two steps: first its shape, by the schema, then its arithmetic, whose rules rely on the shape.
 * The first violation is reported with its path ($.aggregate.regions[3].total_ms).
 */
#include "check/validate_int.h"

#include "base/file.h"

#include <math.h>
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

/* --- functions for all invariants ------------------------------------------------------------- */

double sonde_invariant__number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

bool sonde_invariant__is_word(const json_t *object, const char *key, const char *word)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && strcmp(value, word) == 0;
}

bool sonde_invariant__is_ranges(const json_t *report)
{
	return json_object_get(report, "measured") &&
	       !sonde_invariant__is_word(report, "measured", "kernel");
}

struct sonde_str sonde_invariant__id(const json_t *region)
{
	const json_t *id = json_object_get(region, "id");

	return (struct sonde_str){json_string_value(id), json_string_length(id)};
}

bool sonde_invariant__is_close(double a, double b)
{
	double scale = fmax(fabs(a), fabs(b));

	return a == b || fabs(a - b) <= SONDE_TOLERANCE * scale || scale < 1e-15;
}

bool sonde_invariant__exceeds(double a, double b)
{
	return a > b && !sonde_invariant__is_close(a, b);
}

bool sonde_invariant__differs(double a, double b)
{
	return sonde_invariant__exceeds(a, b) || sonde_invariant__exceeds(b, a);
}

int sonde_invariant__fail(struct sonde_validation *v, const char *key, const char *what)
{
	sonde_validation__key(v, key);
	return sonde_validation__fail(v, "%s", what);
}

/* The sum of a member over the objects of a list. */
static double sum_list(const json_t *list, const char *key)
{
	double sum = json_is_array(list) ? 0 : NAN;
	const json_t *element;
	size_t i;

	json_array_foreach(list, i, element)
	{
		sum += sonde_invariant__number(element, key);
	}
	return sum;
}

static double sum_members(const json_t *object)
{
	double sum = object ? 0 : NAN;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		sum += json_number_value(value);
	}
	return sum;
}

static double length_of(const json_t *list)
{
	return json_is_array(list) ? (double)json_array_size(list) : NAN;
}

#define MOST_KEY 48 /* more bytes than any key in our own terms has */

static double single_term(const json_t *of, struct sonde_str term)
{
	struct sonde_str key, owner = sonde_str_cut(term, '.', &key);
	char in[MOST_KEY], member[MOST_KEY];

	if (!key.n) {
		snprintf(member, sizeof(member), "%.*s", SONDE_STR_ARG(term));
		return *member == '#' ? length_of(json_object_get(of, member + 1))
				      : sonde_invariant__number(of, member);
	}
	snprintf(member, sizeof(member), "%.*s", SONDE_STR_ARG(key));
	snprintf(in, sizeof(in), "%.*s", SONDE_STR_ARG(owner));
	if (sonde_str_ends(owner, "[]")) {
		in[owner.n - 2] = '\0';
		return sum_list(json_object_get(of, in), member);
	}
	of = json_object_get(of, in);
	return strcmp(member, "*") == 0 ? sum_members(of) : sonde_invariant__number(of, member);
}

double sonde_invariant__term(const json_t *of, const char *term)
{
	struct sonde_str rest = sonde_str_from(term);
	double sum = 0;

	while (rest.n)
		sum += single_term(of, sonde_str_trim(sonde_str_cut(rest, '+', &rest)));
	return sum;
}

bool sonde_invariant__is_slower_by(const json_t *of, const char *ms)
{
	return !sonde_invariant__differs(100 + sonde_invariant__number(of, "slower_pct"),
		100 * sonde_invariant__number(of, ms) / sonde_invariant__number(of, "others_ms"));
}

/* Follows a path like "entries.host" and appends its words to v->path; NULL when there is no such object. */
static const json_t *enter_path(struct sonde_validation *v, const json_t *of, const char *path)
{
	struct sonde_str rest = sonde_str_from(path ? path : "");
	char key[32];

	while (rest.n && of) {
		struct sonde_str word = sonde_str_cut(rest, '.', &rest);

		snprintf(key, sizeof(key), "%.*s", SONDE_STR_ARG(word));
		sonde_validation__key(v, key);
		of = json_object_get(of, key);
	}
	return of;
}

static bool holds(const struct sonde_relation *r, const json_t *of)
{
	double left = sonde_invariant__term(of, r->left), right = sonde_invariant__term(of, r->right);

	if (*r->is == '<')
		return !sonde_invariant__exceeds(left, right);
	return *r->is == '~' ? !sonde_invariant__differs(left, right) : isnan(left) || left == right;
}

int sonde_invariant__check_relations(
	struct sonde_validation *v, const json_t *of, const struct sonde_relation *rows, size_t nr)
{
	size_t i, mark = v->path.n;

	for (i = 0; i < nr; i++) {
		const json_t *object = enter_path(v, of, rows[i].in);

		if (object && !holds(&rows[i], object)) {
			sonde_validation__key(v, rows[i].at ? rows[i].at : rows[i].left);
			return rows[i].says ? sonde_validation__fail(v, "%s", rows[i].says)
					    : sonde_validation__fail(v, "is more than %s", rows[i].right);
		}
		sonde_validation__leave(v, mark);
	}
	return 0;
}

int sonde_invariant__in(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with)
{
	const json_t *member = json_object_get(of, key);
	size_t mark = v->path.n;
	int rc = 0;

	if (!member)
		return 0;
	sonde_validation__key(v, key);
	rc = rule(v, member, with);
	if (rc == 0)
		sonde_validation__leave(v, mark);
	return rc;
}

int sonde_invariant__each(struct sonde_validation *v, const json_t *of, const char *key,
	sonde_rule rule, const json_t *with)
{
	size_t i, mark = sonde_validation__key(v, key);
	const json_t *element;

	json_array_foreach(json_object_get(of, key), i, element)
	{
		size_t inner = sonde_validation__index(v, i);
		int rc = rule(v, element, with);

		if (rc)
			return rc;
		sonde_validation__leave(v, inner);
	}
	sonde_validation__leave(v, mark);
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* jansson's integers end at 2^63. If a file has greater ones (thread ids), all integers are read as reals. */
static json_t *load_json(struct sonde_str text, json_error_t *where)
{
	size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
	json_t *document = json_loadb(text.p ? text.p : "", text.n, flags, where);

	if (!document && json_error_code(where) == json_error_numeric_overflow)
		document = json_loadb(
			text.p, text.n, flags | JSON_DECODE_INT_AS_REAL, where);
	return document;
}

int sonde_validate_text(struct sonde_str text, const char *name, struct sonde_err *err)
{
	struct sonde_validation v = {.name = name, .err = err};
	struct sonde_str schema_text;
	json_error_t where;
	json_t *document = load_json(text, &where);
	bool is_diff = document && sonde_invariant__is_word(document, "schema", "sonde.diff/1");
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
		rc = is_diff ? sonde_invariant__check_diff(&v, document)
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
