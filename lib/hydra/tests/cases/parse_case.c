#include "case.h"

#include "hydra/override.h"

#include <string.h>

/* hydra-override-parse */

static struct hydra_datum *sweep_json(struct hydra_case *t, const json_t *j)
{
	struct hydra_datum *n = NULL;
	const json_t *inner, *tags = json_object_get(j, "tags");
	static const char *const range[] = {"start", "stop", "step"};
	static const char *const interval[] = {"start", "end"};
	static const char *const glob[] = {"include", "exclude"};
	size_t i;

	if ((inner = json_object_get(j, "$choice"))) {
		n = case_value(&t->cx, inner);
		n->kind = HYDRA_CHOICE;
		n->simple = json_is_true(json_object_get(j, "simple"));
	} else if ((inner = json_object_get(j, "$range"))) {
		n = hydra_datum__new(&t->cx, HYDRA_RANGE);
		for (i = 0; i < 3; i++)
			hydra_datum__push(
				&t->cx, n, case_value(&t->cx, json_object_get(inner, range[i])));
	} else if ((inner = json_object_get(j, "$interval"))) {
		n = hydra_datum__new(&t->cx, HYDRA_INTERVAL);
		for (i = 0; i < 2; i++)
			hydra_datum__push(
				&t->cx, n, case_value(&t->cx, json_object_get(inner, interval[i])));
	} else if ((inner = json_object_get(j, "$glob"))) {
		n = hydra_datum__new(&t->cx, HYDRA_GLOB);
		for (i = 0; i < 2; i++)
			hydra_datum__push(
				&t->cx, n, case_value(&t->cx, json_object_get(inner, glob[i])));
	}
	if (!n)
		return case_value(&t->cx, j);
	n->shuffle = json_is_true(json_object_get(j, "shuffle"));
	n->tags = tags ? case_value(&t->cx, tags) : NULL;
	return n;
}

static bool same_quotes(struct hydra_case *t, const json_t *j, const struct hydra_datum *n)
{
	uint32_t i;
	const json_t *inner = json_object_get(j, "$choice") ? json_object_get(j, "$choice") : j;
	struct sonde_str quote = case_field(j, "quote");

	if (json_object_get(j, "$quoted"))
		return n->kind == HYDRA_STRING && sonde_str_eq(n->s, case_field(j, "$quoted")) &&
		       n->quote == (sonde_str_is(quote, "single") ? '\'' : '"');
	if (hydra_datum__is_scalar(n))
		return !n->quote;
	for (i = 0; i < n->seq.nr; i++) {
		const json_t *item = json_is_array(inner) ? json_array_get(inner, i) : NULL;

		if (json_is_object(inner) && n->kind == HYDRA_MAP &&
			!json_object_get(inner, "$map"))
			item = json_object_getn(
				inner, n->seq.at[i]->key->s.p, n->seq.at[i]->key->s.n);
		if (item && !same_quotes(t, item, n->seq.at[i]))
			return case_bad(t, "quoting differs");
	}
	return true;
}

static bool expect_sweep(struct hydra_case *t, const json_t *e, const struct hydra_override *o)
{
	struct hydra_datum *values, *list = hydra_datum__new(&t->cx, HYDRA_LIST);
	struct sonde_str error = case_field(e, "sweep_error");
	uint32_t i;

	values = hydra_override__expand(&t->cx, o->value);
	if (error.n)
		return t->cx.fail.code &&
				       memmem(error.p, error.n, t->cx.fail.msg.p, t->cx.fail.msg.n)
			       ? true
			       : case_bad(t, "sweep error differs");
	for (i = 0; values && i < values->seq.nr; i++) {
		struct sonde_buf b = {0};

		sonde_buf_str(&b, hydra_override__key_element(&t->cx, o));
		sonde_buf_putc(&b, '=');
		hydra_override__value_text(&b, values->seq.at[i]);
		hydra_datum__push(
			&t->cx, list, hydra_datum__string(&t->cx, hydra_ctx__take(&t->cx, &b)));
	}
	return case_expect(t, "sweep", json_object_get(e, "sweep"), list);
}

static const char *value_type(const struct hydra_datum *n)
{
	if (!hydra_datum__is_sweep(n))
		return "ELEMENT";
	if (n->kind == HYDRA_CHOICE)
		return n->simple ? "SIMPLE_CHOICE_SWEEP" : "CHOICE_SWEEP";
	return n->kind == HYDRA_RANGE	   ? "RANGE_SWEEP"
	       : n->kind == HYDRA_INTERVAL ? "INTERVAL_SWEEP"
					   : "GLOB_CHOICE_SWEEP";
}

static bool expect_value(struct hydra_case *t, const json_t *e, const struct hydra_override *o)
{
	const json_t *raw = json_object_get(e, "raw_value");
	struct hydra_datum *want = sweep_json(t, json_object_get(e, "value"));
	struct sonde_buf b = {0};

	if (!o->value)
		return json_is_null(json_object_get(e, "value_type")) ? true
								      : case_bad(t, "no value");
	if (!sonde_str_is(case_field(e, "value_type"), value_type(o->value)))
		return case_bad(t, "value type is %s", value_type(o->value));
	if (!case_same(want, o->value))
		return case_expect(t, "value", json_object_get(e, "value"), o->value);
	if (want->simple != o->value->simple || want->shuffle != o->value->shuffle ||
		(want->tags ? !case_same(want->tags, o->value->tags)
			    : o->value->tags && o->value->tags->seq.nr))
		return case_bad(t, "sweep flags differ");
	if (!same_quotes(t, raw ? raw : json_object_get(e, "value"), o->value))
		return false;
	if (json_object_get(e, "value_str")) {
		hydra_override__value_text(&b, o->value);
		if (!case_expect_text(t, "value_str", case_field(e, "value_str"),
			    hydra_ctx__take(&t->cx, &b)))
			return false;
	}
	if (json_object_get(e, "sweep") || json_object_get(e, "sweep_error"))
		return expect_sweep(t, e, o);
	return true;
}

bool case_run_parse(struct hydra_case *t)
{
	static const char *const kinds[] = {"CHANGE", "ADD", "FORCE_ADD", "DEL"};
	const json_t *e = json_object_get(t->json, "expect"),
		     *err = json_object_get(t->json, "error");
	struct hydra_override o;

	hydra_override__parse(&o, &t->cx, case_field(t->json, "input"));
	if (err)
		return t->cx.fail.code ? case_expect_override_error(
						 t, case_field(err, "message"), t->cx.fail.msg)
				       : case_bad(t, "expected an error");
	if (t->cx.fail.code)
		return case_bad(t, "%.*s", SONDE_STR_ARG(t->cx.fail.msg));
	if (json_object_get(e, "degenerate"))
		return true;
	if (!sonde_str_is(case_field(e, "type"), kinds[o.kind]))
		return case_bad(t, "type is %s", kinds[o.kind]);
	if (o.has_package == json_is_null(json_object_get(e, "package")))
		return case_bad(t, "package differs");
	return case_expect_text(t, "key", case_field(e, "key"), o.key) &&
	       case_expect_text(t, "package", case_field(e, "package"), o.package) &&
	       expect_value(t, e, &o);
}
