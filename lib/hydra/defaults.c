/*
 * Builds the tree of configs from the defaults lists. Each list takes three passes: first its overrides are
 * registered, forward; then its items are built, backward; last come the items whose names are
 * interpolations, because these may refer to all the others.
 */
#include "hydra/defaults_int.h"

#include "hydra/pytext.h"

/* One defaults list while it is processed. */
struct listing {
	struct hydra_item *node;
	struct sonde_str path; /* config path of the node */
	SONDE_VEC(struct hydra_item *) items;
	SONDE_VEC(struct hydra_item *) children; /* the built items, last one first */
	bool interpolated;			 /* the node is below an item whose name is an interpolation */
};

static int build(struct hydra_defaults *d, struct hydra_item *it, bool is_root, bool interpolated);

/* The steps of one list. */

static int add_to(void *vec_push_result, struct hydra_item *it, struct hydra_ctx *cx)
{
	struct hydra_item **slot = vec_push_result;

	if (!slot || !it)
		return hydra_ctx__nomem(cx);
	*slot = it;
	return 0;
}

static int check_self(struct hydra_defaults *d, struct listing *l, const struct hydra_loaded *file)
{
	bool has_self = false, has_other = false;
	size_t i;

	for (i = 0; i < l->items.nr; i++) {
		has_other |= !l->items.at[i]->override;
		if (l->items.at[i]->kind != HYDRA_ITEM_SELF)
			continue;
		if (has_self)
			return hydra_ctx__fail(d->cx, "ConfigCompositionException",
				"Duplicate _self_ defined in %.*s", SONDE_STR_ARG(l->path));
		has_self = true;
	}
	if ((has_self || !has_other) && l->items.nr)
		return 0;
	if (l->node->primary && file->config->kind == HYDRA_MAP && file->config->seq.nr &&
		has_other && d->cx->notes)
		sonde_note(d->cx->notes,
			"In '%.*s': Defaults list is missing `_self_`. See "
			"https://hydra.cc/docs/1.2/upgrades/1.0_to_1.1/default_composition_order "
			"for more information",
			SONDE_STR_ARG(l->path));
	return add_to(
		sonde_vec_push(&l->items), hydra_item__config(d->cx, SONDE_STR("_self_")), d->cx);
}

static int load_items(
	struct hydra_defaults *d, struct listing *l, const struct hydra_loaded *file, bool is_root)
{
	struct hydra_item **items;
	uint32_t nr, i;

	if (hydra_item__parse_list(&items, &nr, d->cx, file, l->path))
		return d->cx->fail.code;
	for (i = 0; i < nr; i++)
		if (add_to(sonde_vec_push(&l->items), items[i], d->cx))
			return d->cx->fail.code;
	if ((nr || (is_root && d->append.nr)) && check_self(d, l, file))
		return d->cx->fail.code;
	for (i = 0; is_root && i < d->append.nr; i++)
		if (add_to(sonde_vec_push(&l->items), d->append.at[i], d->cx))
			return d->cx->fail.code;
	return 0;
}

static int register_override(struct hydra_defaults *d, struct listing *l, struct hydra_item *it)
{
	struct sonde_str key = hydra_item__override_key(d->cx, it);
	struct hydra_group_choice *c;

	if (l->interpolated)
		return hydra_ctx__fail(d->cx, "ConfigCompositionException",
			"%.*s: Default List Overrides are not allowed in the subtree\nof an in "
			"interpolated config group (override %.*s=%.*s).\n",
			SONDE_STR_ARG(l->path), SONDE_STR_ARG(key),
			SONDE_STR_ARG(hydra_item__name(it)));
	if (hydra_defaults__choice(d, key))
		return d->cx->fail.code;
	c = sonde_vec_push(&d->choices);
	if (!c)
		return hydra_ctx__nomem(d->cx);
	*c = (struct hydra_group_choice){.key = key, .value = it->value, .config = l->path};
	return d->cx->fail.code;
}

/* First pass, forward: registers the overrides of this list. */
static int register_overrides(struct hydra_defaults *d, struct listing *l)
{
	struct hydra_item *last = NULL;
	size_t i;

	for (i = 0; i < l->items.nr; i++) {
		struct hydra_item *it = l->items.at[i];

		if (it->kind == HYDRA_ITEM_SELF)
			continue;
		hydra_item__set_parent(d->cx, it, l->node);
		if (last && !it->override && !it->external) {
			struct sonde_str before = hydra_item__override_key(d->cx, last);
			struct sonde_str here = it->kind == HYDRA_ITEM_GROUP
							? hydra_item__override_key(d->cx, it)
							: hydra_item__config_path(d->cx, it);

			return hydra_ctx__fail(d->cx, "ConfigCompositionException",
				"In %.*s: Override '%.*s : %.*s' is defined before '%.*s: "
				"%.*s'.\nOverrides must be at the end of the defaults list",
				SONDE_STR_ARG(l->path), SONDE_STR_ARG(before),
				SONDE_STR_ARG(hydra_item__name(last)), SONDE_STR_ARG(here),
				SONDE_STR_ARG(hydra_item__name(it)));
		}
		if (!it->override)
			continue;
		last = it;
		if (register_override(d, l, it))
			return d->cx->fail.code;
	}
	return d->cx->fail.code;
}

/* `group: [a, b]` adds one config per option. */
static int add_options(struct hydra_defaults *d, struct listing *l, struct hydra_item *it)
{
	uint32_t i;

	for (i = it->value->seq.nr; i-- > 0;) {
		struct hydra_item *child = hydra_ctx__alloc(d->cx, 1, sizeof(*child));

		if (!child)
			return d->cx->fail.code;
		if (it->value->seq.at[i]->interp)
			return hydra_ctx__fail(d->cx, "ConfigCompositionException",
				"In '%.*s': Defaults List interpolation is not supported in "
				"options list items",
				SONDE_STR_ARG(l->path));
		*child = (struct hydra_item){.kind = HYDRA_ITEM_CONFIG,
			.path = HYDRA_JOIN(
				d->cx, it->path, SONDE_STR("/"), it->value->seq.at[i]->s),
			.package = it->package,
			.has_package = it->has_package,
			.optional = it->optional};
		hydra_item__set_parent(d->cx, child, l->node);
		if (build(d, child, false, l->interpolated) ||
			add_to(sonde_vec_push(&l->children), child, d->cx))
			return d->cx->fail.code;
	}
	return 0;
}

static int process_item(struct hydra_defaults *d, struct listing *l, struct hydra_item *it)
{
	struct hydra_group_choice *c;

	if (it->override)
		return 0;
	if (it->kind == HYDRA_ITEM_SELF) {
		it->parent = l->node;
		return add_to(sonde_vec_push(&l->children), it, d->cx);
	}
	hydra_item__set_parent(d->cx, it, l->node);
	if (it->kind == HYDRA_ITEM_GROUP) {
		c = hydra_defaults__choice(d, hydra_item__override_key(d->cx, it));
		if (c) {
			it->value = c->value;
			c->used = true;
			if (c->external)
				it->file.n = 0;
		}
		if (it->value->kind == HYDRA_LIST)
			return add_options(d, l, it);
	}
	if (!hydra_defaults__is_interpolation(it) && build(d, it, false, l->interpolated))
		return d->cx->fail.code;
	return d->cx->fail.code ? d->cx->fail.code
				: add_to(sonde_vec_push(&l->children), it, d->cx);
}

static int process_deferred(struct hydra_defaults *d, struct listing *l)
{
	size_t i;

	for (i = 0; i < l->children.nr; i++) {
		struct hydra_item *it = l->children.at[i];

		if (it->kind == HYDRA_ITEM_SELF || !hydra_defaults__is_interpolation(it))
			continue;
		if (hydra_defaults__resolve(d, it))
			return d->cx->fail.code;
		hydra_item__set_parent(d->cx, it, l->node);
		if (build(d, it, false, true))
			return d->cx->fail.code;
	}
	return 0;
}

static int keep_children(struct hydra_defaults *d, struct listing *l)
{
	size_t i;

	if (!l->children.nr)
		return 0;
	l->node->children = hydra_ctx__alloc(d->cx, l->children.nr, sizeof(struct hydra_item *));
	if (!l->node->children)
		return d->cx->fail.code;
	for (i = 0; i < l->children.nr; i++)
		l->node->children[i] = l->children.at[l->children.nr - 1 - i];
	l->node->nr_children = (uint32_t)l->children.nr;
	return 0;
}

static int build_list(
	struct hydra_defaults *d, struct listing *l, const struct hydra_loaded *file, bool is_root)
{
	size_t i;

	if (load_items(d, l, file, is_root) || register_overrides(d, l))
		return d->cx->fail.code;
	for (i = l->items.nr; i-- > 0;)
		if (process_item(d, l, l->items.at[i]))
			return d->cx->fail.code;
	if (process_deferred(d, l))
		return d->cx->fail.code;
	return keep_children(d, l);
}

/* One node of the tree. */

static int know_choice(struct hydra_defaults *d, struct hydra_item *it)
{
	struct sonde_str key = hydra_item__override_key(d->cx, it);
	struct sonde_str group = hydra_item__group_path(d->cx, it);
	struct hydra_datum *known = hydra_datum__get(d->known, key), *keys;

	if (known && !hydra_datum__equal(known, it->value)) {
		struct sonde_str shown = hydra_pytext__show(d->cx, known);

		return hydra_ctx__fail(d->cx, "ConfigCompositionException",
			"Multiple values for %.*s. To override a value use 'override %.*s: %.*s'",
			SONDE_STR_ARG(key), SONDE_STR_ARG(key), SONDE_STR_ARG(shown));
	}
	if (!known)
		hydra_datum__set(d->cx, d->known, hydra_datum__string(d->cx, key),
			hydra_datum__copy(d->cx, it->value));
	keys = hydra_datum__get(d->by_group, group);
	if (!keys) {
		keys = hydra_datum__new(d->cx, HYDRA_LIST);
		hydra_datum__set(d->cx, d->by_group, hydra_datum__string(d->cx, group), keys);
	}
	return hydra_datum__push_sorted(d->cx, keys, hydra_datum__string(d->cx, key));
}

static int check_cycle(struct hydra_defaults *d, struct hydra_item *it, struct sonde_str path)
{
	struct hydra_item *up;

	for (up = it->parent; up && up->kind != HYDRA_ITEM_ROOT; up = up->parent)
		if (sonde_str_eq(hydra_item__config_path(d->cx, up), path))
			return hydra_ctx__fail(d->cx, "ConfigCompositionException",
				"In '%.*s': the defaults lists include '%.*s' in itself",
				SONDE_STR_ARG(hydra_item__config_path(d->cx, it->parent)),
				SONDE_STR_ARG(path));
	if (d->depth > HYDRA_MAX_DEPTH)
		return hydra_ctx__limit(
			d->cx, "defaults lists are nested deeper than %d levels", HYDRA_MAX_DEPTH);
	return d->cx->fail.code;
}

static int build_node(
	struct hydra_defaults *d, struct hydra_item *it, bool is_root, bool interpolated)
{
	struct listing l = {.node = it, .interpolated = interpolated};
	const struct hydra_loaded *file = NULL;
	bool is_null = it->kind == HYDRA_ITEM_GROUP && it->value->kind == HYDRA_NULL;

	l.path = hydra_item__config_path(d->cx, it);
	if (!is_null && !hydra_item__is_missing(d->cx, it)) {
		file = hydra_search__load(d->search, l.path);
		if (file && file->has_header && !it->has_header) {
			it->has_header = true;
			it->header = file->header;
		}
	}
	if (d->cx->fail.code)
		return d->cx->fail.code;
	if (it->kind == HYDRA_ITEM_GROUP &&
		(hydra_defaults__is_deleted(d, it) || know_choice(d, it)))
		return d->cx->fail.code;
	if (is_null)
		return d->cx->fail.code;
	if (hydra_item__is_missing(d->cx, it))
		return d->skip_missing ? 0 : hydra_defaults__must_specify(d, it);
	if (!file && !it->optional)
		return d->cx->fail.code ? d->cx->fail.code : hydra_defaults__not_found(d, it);
	if (!file) {
		it->deleted = true;
		return 0;
	}
	if (check_cycle(d, it, l.path))
		return d->cx->fail.code;
	build_list(d, &l, file, is_root);
	sonde_vec_release(&l.items);
	sonde_vec_release(&l.children);
	return d->cx->fail.code;
}

static int build(struct hydra_defaults *d, struct hydra_item *it, bool is_root, bool interpolated)
{
	int rc;

	if (d->cx->fail.code)
		return d->cx->fail.code;
	d->depth++;
	rc = build_node(d, it, is_root, interpolated);
	d->depth--;
	return rc;
}

static struct hydra_item *root_item(struct hydra_defaults *d, struct hydra_item *primary)
{
	struct hydra_item *root = hydra_ctx__alloc(d->cx, 1, sizeof(*root));
	struct hydra_item *hydra = hydra_item__config(d->cx, SONDE_STR("hydra/config"));

	if (!root || !hydra)
		return NULL;
	root->kind = HYDRA_ITEM_ROOT;
	root->children = hydra_ctx__alloc(d->cx, 2, sizeof(struct hydra_item *));
	if (!root->children)
		return NULL;
	root->children[0] = hydra;
	root->children[1] = primary;
	root->nr_children = 2;
	hydra->parent = primary->parent = root;
	return root;
}

static int build_tree(struct hydra_defaults *d, struct sonde_str name, bool with_hydra)
{
	struct hydra_item *primary = hydra_item__config(d->cx, name);

	if (!primary)
		return d->cx->fail.code;
	primary->primary = true;
	d->root = with_hydra ? root_item(d, primary) : primary;
	if (!d->root)
		return d->cx->fail.code;
	if (!hydra_search__load(d->search, name))
		return d->cx->fail.code ? d->cx->fail.code : hydra_defaults__no_primary(d, name);
	if (build(d, primary, true, false))
		return d->cx->fail.code;
	return with_hydra ? build(d, d->root->children[0], false, false) : 0;
}

int hydra_defaults__build(struct hydra_defaults *d, struct sonde_str primary,
	const struct hydra_override *overrides, size_t nr, bool with_hydra)
{
	size_t i;

	d->known = hydra_datum__new(d->cx, HYDRA_MAP);
	d->by_group = hydra_datum__new(d->cx, HYDRA_MAP);
	if (!d->known || !d->by_group)
		return d->cx->fail.code;
	for (i = 0; i < nr; i++)
		if (hydra_defaults__take(d, &overrides[i]))
			return d->cx->fail.code;
	if (build_tree(d, primary, with_hydra))
		return d->cx->fail.code;
	return hydra_defaults__flatten(d);
}

void hydra_defaults__release(struct hydra_defaults *d)
{
	sonde_vec_release(&d->choices);
	sonde_vec_release(&d->deletions);
	sonde_vec_release(&d->append);
	sonde_vec_release(&d->config_overrides);
	sonde_vec_release(&d->list);
}
