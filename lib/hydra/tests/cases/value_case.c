#include "case.h"

#include "hydra/merge.h"
#include "hydra/yaml.h"

/* omegaconf-* */

static struct hydra_datum *helpers(
	struct hydra_lookup *sc, struct sonde_str name, struct hydra_datum *args)
{
	if (sonde_str_is(name, "test") || sonde_str_is(name, "ns1.ns2.test"))
		return args->seq.nr == 1 ? args->seq.at[0] : args;
	if (sonde_str_is(name, "first") && args->seq.nr &&
		hydra_datum__is_container(args->seq.at[0]) && args->seq.at[0]->seq.nr)
		return args->seq.at[0]->kind == HYDRA_MAP ? args->seq.at[0]->seq.at[0]->key
							  : args->seq.at[0]->seq.at[0];
	(void)sc;
	return NULL;
}

bool case_run_grammar(struct hydra_case *t)
{
	struct hydra_lookup sc = {.cx = &t->cx, .extra = helpers};
	struct hydra_datum *root = case_value(&t->cx, json_object_get(t->run->file, "config")), *n;
	struct sonde_str text = hydra_ctx__dup(&t->cx, case_field(t->json, "text"));
	bool done, ok;

	case_environment(NULL);
	n = hydra_datum__string(&t->cx, text);
	if (sonde_str_is(case_field(t->json, "rule"), "singleElement"))
		n = hydra_interp__eval_element(&sc, text, root, NULL);
	else if (n->interp)
		n = hydra_interp__eval(&sc, text, root, NULL);
	ok = case_failed(t, &done);
	if (done)
		return ok;
	return case_expect(t, "value", json_object_get(t->json, "expect"), n);
}

static struct hydra_datum *load_yaml(struct hydra_case *t, const json_t *text)
{
	static const struct hydra_from from = {.name = {"case.yaml", 9}};
	struct hydra_datum *n = NULL;

	hydra_yaml__load_config(&n, &t->cx, &from, hydra_ctx__dup(&t->cx, case_text(text)));
	return n;
}

bool case_run_yaml_load(struct hydra_case *t)
{
	struct hydra_datum *n = load_yaml(t, json_object_get(t->json, "yaml"));
	bool done, ok;

	if (t->cx.fail.code && !hydra_ctx__is_type(&t->cx, "OSError"))
		t->cx.fail.msg.n = sonde_str_find(t->cx.fail.msg, '\n');
	ok = case_failed(t, &done);
	return done ? ok : case_expect(t, "value", json_object_get(t->json, "expect"), n);
}

bool case_run_merge(struct hydra_case *t)
{
	const json_t *yaml = json_object_get(t->json, "yaml");
	struct hydra_lookup sc = {.cx = &t->cx};
	struct hydra_datum *dest = load_yaml(t, json_array_get(yaml, 0));
	struct hydra_datum *src = load_yaml(t, json_array_get(yaml, 1));
	bool done, ok;

	if (dest && src)
		hydra_merge__into(&sc, dest, src, false);
	ok = case_failed(t, &done);
	return done ? ok : case_expect(t, "value", json_object_get(t->json, "expect"), dest);
}

bool case_run_yaml_dump(struct hydra_case *t)
{
	struct sonde_buf b = {0};

	hydra_yaml__dump(&b, case_value(&t->cx, json_object_get(t->json, "value")));
	return case_expect_text(
		t, "yaml", case_field(t->json, "yaml"), hydra_ctx__take(&t->cx, &b));
}
