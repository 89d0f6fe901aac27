#include "case.h"

#include <string.h>

/* hydra-defaults */

static bool tree_text_field(
	struct hydra_case *t, const json_t *e, const char *key, bool has, struct sonde_str s)
{
	if (!json_object_get(e, key))
		return has && strcmp(key, "package") == 0 ? case_bad(t, "a package too many")
							  : true;
	return case_expect_text(t, key, case_field(e, key), s);
}

static bool check_tree(struct hydra_case *t, const json_t *e, struct hydra_item *it)
{
	static const char *const kinds[] = {"root", "self", "config", "group"};
	const json_t *children = json_object_get(e, "children"), *child;
	size_t i;

	if (!sonde_str_is(case_field(e, "kind"), kinds[it->kind]) ||
		json_array_size(children) != it->nr_children)
		return case_bad(t, "tree: a %s with %u children", kinds[it->kind], it->nr_children);
	if (it->kind == HYDRA_ITEM_GROUP || it->kind == HYDRA_ITEM_CONFIG) {
		if (!tree_text_field(t, e, it->kind == HYDRA_ITEM_GROUP ? "group" : "path", true,
			    it->path) ||
			!tree_text_field(t, e, "final_package", true,
				hydra_item__final_package(&t->cx, it)) ||
			!tree_text_field(t, e, "package", it->has_package, it->package))
			return false;
		if (json_is_true(json_object_get(e, "deleted")) != it->deleted ||
			json_is_true(json_object_get(e, "optional")) != it->optional)
			return case_bad(t, "tree: deleted or optional");
	}
	if (it->kind == HYDRA_ITEM_GROUP &&
		(!case_expect(t, "value", json_object_get(e, "value"), it->value) ||
			!tree_text_field(
				t, e, "override_key", true, hydra_item__override_key(&t->cx, it))))
		return false;
	json_array_foreach(
		children, i, child) if (!check_tree(t, child, it->children[i])) return false;
	return true;
}

static bool check_list(struct hydra_case *t, const json_t *want, const struct hydra_defaults *d)
{
	json_t *e;
	size_t i;

	if (json_array_size(want) != d->list.nr)
		return case_bad(t, "list has %zu entries", d->list.nr);
	json_array_foreach(want, i, e)
	{
		const struct hydra_default *got = &d->list.at[i];

		if (!case_expect_text(
			    t, "config_path", case_field(e, "config_path"), got->config_path) ||
			!case_expect_text(t, "package", case_field(e, "package"), got->package) ||
			!case_expect_text(t, "parent", case_field(e, "parent"), got->parent))
			return false;
		if (json_is_true(json_object_get(e, "is_self")) != got->is_self)
			return case_bad(t, "is_self");
	}
	return true;
}

static bool check_defaults(struct hydra_case *t, struct hydra_defaults *d)
{
	const json_t *e = json_object_get(t->json, "expect");
	struct sonde_buf b = {0};
	bool done, ok = case_failed(t, &done);

	if (done)
		return ok;
	hydra_defaults__print(d, &b);
	return check_list(t, json_object_get(e, "defaults"), d) &&
	       case_expect(t, "choices", json_object_get(e, "choices"), d->known) &&
	       check_tree(t, json_object_get(e, "tree"), d->root) &&
	       case_expect_text(
		       t, "tree_text", case_field(e, "tree_text"), hydra_ctx__take(&t->cx, &b));
}

bool case_run_defaults(struct hydra_case *t)
{
	struct hydra_compose c;
	struct hydra_defaults *d = &c.defaults;
	struct sonde_str name;
	bool ok;

	case_prepare(t, &c);
	c.search.sources.nr = 0;
	case_add_dir(t, &c.search, "config_dir", "test");
	hydra_search__add(&c.search, HYDRA_SOURCE_SCHEMA, "schema", (struct sonde_str){0});
	case_overrides(t, &c, json_object_get(t->json, "overrides"));
	d->cx = &t->cx;
	d->search = &c.search;
	d->skip_missing = c.skip_missing;
	name = c.name.n ? c.name : SONDE_STR(HYDRA_DUMMY_CONFIG);
	if (!t->cx.fail.code)
		hydra_defaults__build(d, name, c.overrides.at, c.overrides.nr,
			json_is_true(json_object_get(t->json, "prepend_hydra")));
	ok = check_defaults(t, d);
	hydra_compose__release(&c);
	return ok;
}
