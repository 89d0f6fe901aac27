#include "case.h"

#include "config/merge.h"
#include "config/yaml.h"

/* omegaconf-* */

static struct sonde_datum *helpers(
	struct sonde_lookup *sc, struct sonde_str name, struct sonde_datum *args)
{
	if (sonde_str_is(name, "test") || sonde_str_is(name, "ns1.ns2.test"))
		return args->seq.nr == 1 ? args->seq.at[0] : args;
	if (sonde_str_is(name, "first") && args->seq.nr &&
		sonde_datum__is_container(args->seq.at[0]) && args->seq.at[0]->seq.nr)
		return args->seq.at[0]->kind == SONDE_MAP ? args->seq.at[0]->seq.at[0]->key
							  : args->seq.at[0]->seq.at[0];
	(void)sc;
	return NULL;
}

bool case_run_grammar(struct hydra_case *t)
{
	struct sonde_lookup sc = {.cx = &t->cx, .extra = helpers};
	struct sonde_datum *root = case_value(&t->cx, json_object_get(t->run->file, "config")), *n;
	struct sonde_str text = sonde_ctx__dup(&t->cx, case_field(t->json, "text"));
	bool done, ok;

	case_environment(NULL);
	n = sonde_datum__string(&t->cx, text);
	if (sonde_str_is(case_field(t->json, "rule"), "singleElement"))
		n = sonde_interp__eval_element(&sc, text, root, NULL);
	else if (n->interp)
		n = sonde_interp__eval(&sc, text, root, NULL);
	ok = case_failed(t, &done);
	if (done)
		return ok;
	return case_expect(t, "value", json_object_get(t->json, "expect"), n);
}

static struct sonde_datum *load_yaml(struct hydra_case *t, const json_t *text)
{
	static const struct sonde_from from = {.name = {"case.yaml", 9}};
	struct sonde_datum *n = NULL;

	sonde_yaml__load_config(&n, &t->cx, &from, sonde_ctx__dup(&t->cx, case_text(text)));
	return n;
}

bool case_run_yaml_load(struct hydra_case *t)
{
	struct sonde_datum *n = load_yaml(t, json_object_get(t->json, "yaml"));
	bool done, ok;

	if (t->cx.fail.code && !sonde_ctx__is_type(&t->cx, "OSError"))
		t->cx.fail.msg.n = sonde_str_find(t->cx.fail.msg, '\n');
	ok = case_failed(t, &done);
	return done ? ok : case_expect(t, "value", json_object_get(t->json, "expect"), n);
}

bool case_run_merge(struct hydra_case *t)
{
	const json_t *yaml = json_object_get(t->json, "yaml");
	struct sonde_lookup sc = {.cx = &t->cx};
	struct sonde_datum *dest = load_yaml(t, json_array_get(yaml, 0));
	struct sonde_datum *src = load_yaml(t, json_array_get(yaml, 1));
	bool done, ok;

	if (dest && src)
		sonde_merge__into(&sc, dest, src, false);
	ok = case_failed(t, &done);
	return done ? ok : case_expect(t, "value", json_object_get(t->json, "expect"), dest);
}

bool case_run_yaml_dump(struct hydra_case *t)
{
	struct sonde_buf b = {0};

	sonde_yaml__dump(&b, case_value(&t->cx, json_object_get(t->json, "value")));
	return case_expect_text(
		t, "yaml", case_field(t->json, "yaml"), sonde_ctx__take(&t->cx, &b));
}
