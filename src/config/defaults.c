#include "config/defaults.h"

#include "config/interp.h"
#include "config/pytext.h"

#include <string.h>

/* One defaults list while it is processed. */
struct listing {
	struct sonde_item *node;
	struct sonde_str path; /* its config path */
	SONDE_VEC(struct sonde_item *) items;
	SONDE_VEC(struct sonde_item *) children; /* in reverse */
	bool interpolated;			 /* below an interpolated item */
};

static int build(struct sonde_defaults *d, struct sonde_item *it, bool is_root, bool interpolated);

static struct sonde_group_choice *find_choice(struct sonde_defaults *d, struct sonde_str key)
{
	size_t i;

	for (i = 0; i < d->choices.nr; i++)
		if (sonde_str_eq(d->choices.at[i].key, key))
			return &d->choices.at[i];
	return NULL;
}

/* Overrides from the command line. */

static int take_choice(struct sonde_defaults *d, const struct sonde_override *o)
{
	struct sonde_str key = sonde_override__key_element(d->cx, o);
	struct sonde_group_choice *c = find_choice(d, key);

	if (!c)
		c = sonde_vec_push(&d->choices);
	if (!c)
		return sonde_ctx__nomem(d->cx);
	*c = (struct sonde_group_choice){.key = key, .value = o->value, .external = true};
	return d->cx->fail.code;
}

static int take_append(struct sonde_defaults *d, const struct sonde_override *o)
{
	struct sonde_item *it = sonde_ctx__alloc(d->cx, 1, sizeof(*it));
	struct sonde_item **slot = it ? sonde_vec_push(&d->append) : NULL;

	if (!slot)
		return sonde_ctx__nomem(d->cx);
	*it = (struct sonde_item){.kind = SONDE_ITEM_GROUP,
		.path = o->key,
		.value = o->value,
		.package = o->package,
		.has_package = o->has_package,
		.external = true};
	if (sonde_str_is(it->package, "_here_"))
		it->package = SONDE_STR("");
	*slot = it;
	return 0;
}

static int take_deletion(struct sonde_defaults *d, const struct sonde_override *o)
{
	struct sonde_str key = sonde_override__key_element(d->cx, o);
	struct sonde_deletion *del = NULL;
	size_t i;

	if (o->value && o->value->kind != SONDE_STRING && o->value->kind != SONDE_NULL)
		return sonde_ctx__fail(d->cx, "ValueError",
			"Config group override deletion value must be a string : %.*s",
			SONDE_STR_ARG(o->line));
	key.p++, key.n--; /* the ~ */
	for (i = 0; i < d->deletions.nr; i++)
		if (sonde_str_eq(d->deletions.at[i].key, key))
			del = &d->deletions.at[i];
	if (!del)
		del = sonde_vec_push(&d->deletions);
	if (!del)
		return sonde_ctx__nomem(d->cx);
	*del = (struct sonde_deletion){.key = key};
	if (o->value && o->value->kind == SONDE_STRING) {
		del->has_name = true;
		del->name = o->value->s;
	}
	return d->cx->fail.code;
}

static int take_override(struct sonde_defaults *d, const struct sonde_override *o)
{
	const struct sonde_override **slot;

	if (sonde_datum__is_sweep(o->value))
		return 0;
	if ((o->value && o->value->kind == SONDE_MAP) ||
		!sonde_search__has_group(d->search, o->key)) {
		slot = sonde_vec_push(&d->config_overrides);
		if (!slot)
			return sonde_ctx__nomem(d->cx);
		*slot = o;
		return d->cx->fail.code;
	}
	if (o->kind == SONDE_OVERRIDE_FORCE_ADD)
		return sonde_ctx__fail(d->cx, "ConfigCompositionException",
			"force-add of config groups is not supported: '%.*s'",
			SONDE_STR_ARG(o->line));
	if (o->kind == SONDE_OVERRIDE_DEL)
		return take_deletion(d, o);
	if (o->value->kind != SONDE_STRING && o->value->kind != SONDE_LIST)
		return sonde_ctx__fail(d->cx, "ValueError",
			"Config group override must be a string or a list. Got %s",
			sonde_datum__type_name(o->value));
	return o->kind == SONDE_OVERRIDE_ADD ? take_append(d, o) : take_choice(d, o);
}

/* Not-found messages. */

static int not_found(struct sonde_defaults *d, const char *head, struct sonde_str options_of)
{
	struct sonde_buf b = {0};
	struct sonde_datum *options = NULL;
	uint32_t i;
	int rc;

	sonde_buf_puts(&b, head);
	if (options_of.n)
		options = sonde_search__options(d->search, options_of);
	if (options && options->seq.nr) {
		sonde_buf_puts(&b, "\nAvailable options in '");
		sonde_buf_str(&b, options_of);
		sonde_buf_puts(&b, "':");
		for (i = 0; i < options->seq.nr; i++) {
			sonde_buf_puts(&b, "\n\t");
			sonde_buf_str(&b, options->seq.at[i]->s);
		}
	}
	sonde_buf_puts(&b, "\nConfig search path:");
	sonde_search__describe(d->search, &b);
	rc = sonde_ctx__fail(d->cx, "MissingConfigException", "%s", b.p ? b.p : "");
	sonde_buf_release(&b);
	return rc;
}

static int config_not_found(struct sonde_defaults *d, struct sonde_item *it)
{
	struct sonde_str path = sonde_item__config_path(d->cx, it), group = {0}, head;
	struct sonde_str parent = {0};

	if (it->parent && it->parent->kind != SONDE_ITEM_ROOT)
		parent = sonde_item__config_path(d->cx, it->parent);
	if (it->kind == SONDE_ITEM_GROUP)
		group = sonde_item__group_path(d->cx, it);
	if (it->kind == SONDE_ITEM_GROUP)
		head = sonde_ctx__printf(d->cx, "In '%.*s': Could not find '%.*s'\n",
			SONDE_STR_ARG(parent), SONDE_STR_ARG(path));
	else if (parent.n)
		head = sonde_ctx__printf(d->cx, "In '%.*s': Could not load '%.*s'.\n",
			SONDE_STR_ARG(parent), SONDE_STR_ARG(path));
	else
		head = sonde_ctx__printf(
			d->cx, "Could not load '%.*s'.\n", SONDE_STR_ARG(path));
	return d->cx->fail.code ? d->cx->fail.code : not_found(d, head.p, group);
}

static int must_specify(struct sonde_defaults *d, struct sonde_item *it)
{
	struct sonde_datum *options;
	struct sonde_buf b = {0};
	struct sonde_str key;
	uint32_t i;
	int rc;

	if (it->kind != SONDE_ITEM_GROUP)
		return sonde_ctx__fail(d->cx, "ValueError", "Missing ConfigDefault is not supported");
	key = sonde_item__override_key(d->cx, it);
	options = sonde_search__options(d->search, sonde_item__group_path(d->cx, it));
	for (i = 0; options && i < options->seq.nr; i++) {
		sonde_buf_puts(&b, "\n\t");
		sonde_buf_str(&b, options->seq.at[i]->s);
	}
	rc = sonde_ctx__fail(d->cx, "ConfigCompositionException",
		"You must specify '%.*s', e.g, %.*s=<OPTION>\nAvailable options:%s",
		SONDE_STR_ARG(key), SONDE_STR_ARG(key), b.p ? b.p : "");
	sonde_buf_release(&b);
	return rc;
}

/* The steps of one list. */

static int add_to(void *vec_push_result, struct sonde_item *it, struct sonde_ctx *cx)
{
	struct sonde_item **slot = vec_push_result;

	if (!slot)
		return sonde_ctx__nomem(cx);
	*slot = it;
	return 0;
}

static int check_self(struct sonde_defaults *d, struct listing *l, const struct sonde_loaded *file)
{
	bool has_self = false, has_other = false;
	size_t i;

	for (i = 0; i < l->items.nr; i++) {
		has_other |= !l->items.at[i]->override;
		if (l->items.at[i]->kind != SONDE_ITEM_SELF)
			continue;
		if (has_self)
			return sonde_ctx__fail(d->cx, "ConfigCompositionException",
				"Duplicate _self_ defined in %.*s", SONDE_STR_ARG(l->path));
		has_self = true;
	}
	if ((has_self || !has_other) && l->items.nr)
		return 0;
	if (l->node->primary && file->config->kind == SONDE_MAP && file->config->seq.nr &&
		has_other && d->cx->notes)
		sonde_note(d->cx->notes,
			"In '%.*s': Defaults list is missing `_self_`. See "
			"https://hydra.cc/docs/1.2/upgrades/1.0_to_1.1/default_composition_order for "
			"more information",
			SONDE_STR_ARG(l->path));
	return add_to(
		sonde_vec_push(&l->items), sonde_item__config(d->cx, SONDE_STR("_self_")), d->cx);
}

static int load_items(struct sonde_defaults *d, struct listing *l, const struct sonde_loaded *file,
	bool is_root)
{
	struct sonde_item **items;
	uint32_t nr, i;

	if (sonde_item__parse_list(&items, &nr, d->cx, file, l->path))
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

static int register_override(struct sonde_defaults *d, struct listing *l, struct sonde_item *it)
{
	struct sonde_str key = sonde_item__override_key(d->cx, it);
	struct sonde_group_choice *c;

	if (l->interpolated)
		return sonde_ctx__fail(d->cx, "ConfigCompositionException",
			"%.*s: Default List Overrides are not allowed in the subtree\nof an in "
			"interpolated config group (override %.*s=%.*s).\n",
			SONDE_STR_ARG(l->path), SONDE_STR_ARG(key),
			SONDE_STR_ARG(sonde_item__name(it)));
	if (find_choice(d, key))
		return d->cx->fail.code;
	c = sonde_vec_push(&d->choices);
	if (!c)
		return sonde_ctx__nomem(d->cx);
	*c = (struct sonde_group_choice){.key = key, .value = it->value, .config = l->path};
	return d->cx->fail.code;
}

/* First pass, forward: the overrides this list asks for. */
static int register_overrides(struct sonde_defaults *d, struct listing *l)
{
	struct sonde_item *last = NULL;
	size_t i;

	for (i = 0; i < l->items.nr; i++) {
		struct sonde_item *it = l->items.at[i];

		if (it->kind == SONDE_ITEM_SELF)
			continue;
		sonde_item__set_parent(d->cx, it, l->node);
		if (last && !it->override && !it->external) {
			struct sonde_str before = sonde_item__override_key(d->cx, last);
			struct sonde_str here = it->kind == SONDE_ITEM_GROUP
							? sonde_item__override_key(d->cx, it)
							: sonde_item__config_path(d->cx, it);

			return sonde_ctx__fail(d->cx, "ConfigCompositionException",
				"In %.*s: Override '%.*s : %.*s' is defined before '%.*s: "
				"%.*s'.\nOverrides must be at the end of the defaults list",
				SONDE_STR_ARG(l->path), SONDE_STR_ARG(before),
				SONDE_STR_ARG(sonde_item__name(last)), SONDE_STR_ARG(here),
				SONDE_STR_ARG(sonde_item__name(it)));
		}
		if (!it->override)
			continue;
		last = it;
		if (register_override(d, l, it))
			return d->cx->fail.code;
	}
	return d->cx->fail.code;
}

static bool is_interpolation(const struct sonde_item *it)
{
	if (it->kind == SONDE_ITEM_GROUP)
		return it->value->kind == SONDE_STRING && it->value->interp;
	return it->path.n && memmem(it->path.p, it->path.n, "${", 2);
}

/* `group: [a, b]`: each option is a config of its own. */
static int add_options(struct sonde_defaults *d, struct listing *l, struct sonde_item *it)
{
	uint32_t i;

	for (i = it->value->seq.nr; i-- > 0;) {
		struct sonde_str option = it->value->seq.at[i]->s;
		struct sonde_item *child = sonde_ctx__alloc(d->cx, 1, sizeof(*child));
		struct sonde_buf b = {0};

		if (!child)
			return d->cx->fail.code;
		if (it->value->seq.at[i]->interp)
			return sonde_ctx__fail(d->cx, "ConfigCompositionException",
				"In '%.*s': Defaults List interpolation is not supported in options "
				"list items",
				SONDE_STR_ARG(l->path));
		sonde_buf_str(&b, it->path);
		sonde_buf_putc(&b, '/');
		sonde_buf_str(&b, option);
		*child = (struct sonde_item){.kind = SONDE_ITEM_CONFIG,
			.path = sonde_ctx__take(d->cx, &b),
			.package = it->package,
			.has_package = it->has_package,
			.optional = it->optional};
		sonde_item__set_parent(d->cx, child, l->node);
		if (build(d, child, false, l->interpolated) ||
			add_to(sonde_vec_push(&l->children), child, d->cx))
			return d->cx->fail.code;
	}
	return 0;
}

static int process_item(struct sonde_defaults *d, struct listing *l, struct sonde_item *it)
{
	struct sonde_group_choice *c;

	if (it->override)
		return 0;
	if (it->kind == SONDE_ITEM_SELF) {
		it->parent = l->node;
		return add_to(sonde_vec_push(&l->children), it, d->cx);
	}
	sonde_item__set_parent(d->cx, it, l->node);
	if (it->kind == SONDE_ITEM_GROUP) {
		c = find_choice(d, sonde_item__override_key(d->cx, it));
		if (c) {
			it->value = c->value;
			c->used = true;
		}
		if (it->value->kind == SONDE_LIST)
			return add_options(d, l, it);
	}
	if (!is_interpolation(it) && build(d, it, false, l->interpolated))
		return d->cx->fail.code;
	return d->cx->fail.code ? d->cx->fail.code
				: add_to(sonde_vec_push(&l->children), it, d->cx);
}

/* Interpolated options, against the groups known by now. */

static int bad_interpolation(struct sonde_defaults *d, struct sonde_str text)
{
	struct sonde_buf b = {0};
	uint32_t i;
	int rc;

	sonde_ctx__clear(d->cx);
	for (i = 0; i < d->known->seq.nr; i++) {
		sonde_buf_puts(&b, b.n ? ", " : ", possible interpolation keys: ");
		sonde_buf_str(&b, d->known->seq.at[i]->key->s);
	}
	rc = sonde_ctx__fail(d->cx, "ConfigCompositionException",
		"Error resolving interpolation '%.*s'%s", SONDE_STR_ARG(text), b.p ? b.p : "");
	sonde_buf_release(&b);
	return rc;
}

static int resolve_name(struct sonde_defaults *d, struct sonde_str text, struct sonde_str *out)
{
	struct sonde_lookup sc = {.cx = d->cx};
	struct sonde_datum *n = sonde_interp__eval(&sc, text, d->known, NULL);

	if (n && n->kind == SONDE_STRING) {
		*out = n->s;
		return 0;
	}
	if (d->cx->fail.code && !sonde_ctx__is_user_error(d->cx))
		return d->cx->fail.code;
	return bad_interpolation(d, text);
}

static int resolve_item(struct sonde_defaults *d, struct sonde_item *it)
{
	struct sonde_str out, text, key;

	if (it->kind != SONDE_ITEM_GROUP) {
		/* The directory comes in twice in a nested config, as in the reference. */
		text = sonde_item__config_path(d->cx, it);
		return resolve_name(d, text, &it->path);
	}
	text = it->value->s;
	if (sonde_str_starts(text, "${defaults.") && text.n > 12 && text.p[11] >= '0' &&
		text.p[11] <= '9' && text.p[12] == '.') {
		key = sonde_item__override_key(d->cx, it);
		return sonde_ctx__fail(d->cx, "ConfigCompositionException",
			"\nDefaults list element '%.*s=%.*s' is using a deprecated interpolation "
			"form.\nSee http://hydra.cc/docs/1.1/upgrades/1.0_to_1.1/"
			"defaults_list_interpolation for migration information.",
			SONDE_STR_ARG(key), SONDE_STR_ARG(text));
	}
	if (resolve_name(d, text, &out))
		return d->cx->fail.code;
	it->value = sonde_datum__string(d->cx, out);
	return d->cx->fail.code;
}

static int process_deferred(struct sonde_defaults *d, struct listing *l)
{
	size_t i;

	for (i = 0; i < l->children.nr; i++) {
		struct sonde_item *it = l->children.at[i];

		if (it->kind == SONDE_ITEM_SELF || !is_interpolation(it))
			continue;
		if (resolve_item(d, it))
			return d->cx->fail.code;
		sonde_item__set_parent(d->cx, it, l->node);
		if (build(d, it, false, true))
			return d->cx->fail.code;
	}
	return 0;
}

static int keep_children(struct sonde_defaults *d, struct listing *l)
{
	size_t i;

	if (!l->children.nr)
		return 0;
	l->node->children = sonde_ctx__alloc(d->cx, l->children.nr, sizeof(struct sonde_item *));
	if (!l->node->children)
		return d->cx->fail.code;
	for (i = 0; i < l->children.nr; i++)
		l->node->children[i] = l->children.at[l->children.nr - 1 - i];
	l->node->nr_children = (uint32_t)l->children.nr;
	return 0;
}

static int build_list(struct sonde_defaults *d, struct listing *l, const struct sonde_loaded *file,
	bool is_root)
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

static bool is_deleted(struct sonde_defaults *d, struct sonde_item *it)
{
	struct sonde_str key = sonde_item__override_key(d->cx, it);
	size_t i;

	for (i = 0; i < d->deletions.nr; i++) {
		struct sonde_deletion *del = &d->deletions.at[i];

		if (!sonde_str_eq(del->key, key))
			continue;
		if (del->has_name && !sonde_str_eq(del->name, sonde_item__name(it)))
			continue;
		del->used = true;
		it->deleted = true;
		return true;
	}
	return false;
}

static int know_choice(struct sonde_defaults *d, struct sonde_item *it)
{
	struct sonde_str key = sonde_item__override_key(d->cx, it);
	struct sonde_str group = sonde_item__group_path(d->cx, it);
	struct sonde_datum *known = sonde_datum__get(d->known, key), *keys;
	struct sonde_datum *name = sonde_datum__string(d->cx, key);

	if (!name)
		return d->cx->fail.code;
	if (known && !sonde_datum__equal(known, it->value)) {
		struct sonde_buf b = {0};
		int rc;

		sonde_pytext__str(&b, known);
		rc = sonde_ctx__fail(d->cx, "ConfigCompositionException",
			"Multiple values for %.*s. To override a value use 'override %.*s: %s'",
			SONDE_STR_ARG(key), SONDE_STR_ARG(key), b.p ? b.p : "");
		sonde_buf_release(&b);
		return rc;
	}
	if (!known)
		sonde_datum__set(d->cx, d->known, name, sonde_datum__copy(d->cx, it->value));
	keys = sonde_datum__get(d->by_group, group);
	if (!keys) {
		keys = sonde_datum__new(d->cx, SONDE_MAP);
		sonde_datum__set(d->cx, d->by_group, sonde_datum__string(d->cx, group), keys);
	}
	return sonde_datum__set(d->cx, keys, name, sonde_datum__new(d->cx, SONDE_NULL));
}

static bool is_missing(struct sonde_defaults *d, struct sonde_item *it)
{
	return sonde_str_ends(sonde_item__config_path(d->cx, it), "???");
}

static int check_cycle(struct sonde_defaults *d, struct sonde_item *it, struct sonde_str path)
{
	struct sonde_item *up;

	for (up = it->parent; up && up->kind != SONDE_ITEM_ROOT; up = up->parent)
		if (sonde_str_eq(sonde_item__config_path(d->cx, up), path))
			return sonde_ctx__fail(d->cx, "ConfigCompositionException",
				"In '%.*s': the defaults lists include '%.*s' in itself",
				SONDE_STR_ARG(sonde_item__config_path(d->cx, it->parent)),
				SONDE_STR_ARG(path));
	if (d->depth > SONDE_MAX_DEPTH)
		return sonde_ctx__limit(d->cx, "defaults lists are nested deeper than %d levels",
			SONDE_MAX_DEPTH);
	return d->cx->fail.code;
}

static int build_node(struct sonde_defaults *d, struct sonde_item *it, bool is_root,
	bool interpolated)
{
	struct listing l = {.node = it, .interpolated = interpolated};
	const struct sonde_loaded *file = NULL;
	bool is_null = it->kind == SONDE_ITEM_GROUP && it->value->kind == SONDE_NULL;

	l.path = sonde_item__config_path(d->cx, it);
	if (!is_null && !is_missing(d, it)) {
		file = sonde_search__load(d->search, l.path);
		if (file && file->has_header && !it->has_header) {
			it->has_header = true;
			it->header = file->header;
		}
	}
	if (d->cx->fail.code)
		return d->cx->fail.code;
	if (it->kind == SONDE_ITEM_GROUP && (is_deleted(d, it) || know_choice(d, it)))
		return d->cx->fail.code;
	if (is_null)
		return d->cx->fail.code;
	if (is_missing(d, it))
		return d->skip_missing ? 0 : must_specify(d, it);
	if (!file && !it->optional)
		return d->cx->fail.code ? d->cx->fail.code : config_not_found(d, it);
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

static int build(struct sonde_defaults *d, struct sonde_item *it, bool is_root, bool interpolated)
{
	int rc;

	if (d->cx->fail.code)
		return d->cx->fail.code;
	d->depth++;
	rc = build_node(d, it, is_root, interpolated);
	d->depth--;
	return rc;
}

/* The flat list. */

static int emit(struct sonde_defaults *d, struct sonde_item *it, struct sonde_item *owner)
{
	struct sonde_default *out = sonde_vec_push(&d->list);
	struct sonde_item *parent = owner->parent;

	if (!out)
		return sonde_ctx__nomem(d->cx);
	out->config_path = sonde_item__config_path(d->cx, owner);
	out->package = sonde_item__final_package(d->cx, owner);
	out->is_self = it->kind == SONDE_ITEM_SELF;
	out->primary = owner->primary;
	if (owner->kind == SONDE_ITEM_GROUP && !out->is_self)
		out->override_key = sonde_item__override_key(d->cx, owner);
	if (parent && parent->kind == SONDE_ITEM_ROOT)
		out->parent = SONDE_STR("<root>");
	else if (parent)
		out->parent = sonde_item__config_path(d->cx, parent);
	return d->cx->fail.code;
}

static int flatten(struct sonde_defaults *d, struct sonde_item *it)
{
	uint32_t i;

	for (i = 0; i < it->nr_children; i++) {
		struct sonde_item *child = it->children[i];

		if (child->kind == SONDE_ITEM_SELF ? emit(d, child, it) : flatten(d, child))
			return d->cx->fail.code;
	}
	if (it->nr_children || it->kind == SONDE_ITEM_ROOT || it->deleted)
		return 0;
	if (it->kind == SONDE_ITEM_GROUP && it->value->kind == SONDE_NULL)
		return 0;
	if (is_missing(d, it))
		return 0;
	return emit(d, it, it);
}

static void drop_dummy(struct sonde_defaults *d)
{
	size_t i, kept = 0;

	for (i = 0; i < d->list.nr; i++)
		if (!sonde_str_is(d->list.at[i].config_path, SONDE_DUMMY_CONFIG))
			d->list.at[kept++] = d->list.at[i];
	d->list.nr = kept;
}

static int check_duplicates(struct sonde_defaults *d)
{
	struct sonde_map seen = {0};
	bool is_new;
	size_t i;
	int rc = 0;

	for (i = 0; i < d->list.nr && !rc; i++) {
		struct sonde_str key = d->list.at[i].override_key;

		if (!key.n)
			continue;
		if (sonde_map_add(&seen, key, &is_new) == SONDE_NONE)
			rc = sonde_ctx__nomem(d->cx);
		else if (!is_new)
			rc = sonde_ctx__fail(d->cx, "ConfigCompositionException",
				"%.*s appears more than once in the final defaults list",
				SONDE_STR_ARG(key));
	}
	sonde_map_release(&seen);
	return rc;
}

/* "Did you mean": the override keys of the same group, sorted. */
static void add_candidates(struct sonde_defaults *d, struct sonde_str key, struct sonde_buf *b)
{
	struct sonde_str rest;
	struct sonde_datum *keys = sonde_datum__get(d->by_group, sonde_str_cut(key, '@', &rest));
	uint32_t i, k;

	if (!keys || !keys->seq.nr) {
		sonde_buf_puts(b, " No match in the defaults list.");
		return;
	}
	for (i = 1; i < keys->seq.nr; i++)
		for (k = i; k > 0 && sonde_str_cmp(keys->seq.at[k]->key->s,
					     keys->seq.at[k - 1]->key->s) < 0;
			k--) {
			struct sonde_datum *t = keys->seq.at[k];

			keys->seq.at[k] = keys->seq.at[k - 1];
			keys->seq.at[k - 1] = t;
		}
	sonde_buf_printf(b, "\nDid you mean to override %s", keys->seq.nr > 1 ? "one of " : "");
	for (i = 0; i < keys->seq.nr; i++) {
		sonde_buf_puts(b, i ? ", " : "");
		sonde_buf_str(b, keys->seq.at[i]->key->s);
	}
	sonde_buf_putc(b, '?');
}

static int unused_choice(struct sonde_defaults *d, const struct sonde_group_choice *c)
{
	struct sonde_buf b = {0};
	int rc;

	if (!c->external)
		sonde_buf_printf(&b, "In '%.*s': ", SONDE_STR_ARG(c->config));
	sonde_buf_printf(&b, "Could not override '%.*s'.", SONDE_STR_ARG(c->key));
	add_candidates(d, c->key, &b);
	if (c->external) {
		sonde_buf_printf(
			&b, "\nTo append to your default list use +%.*s=", SONDE_STR_ARG(c->key));
		sonde_pytext__str(&b, c->value);
	}
	rc = sonde_ctx__fail(d->cx, "ConfigCompositionException", "%s", b.p ? b.p : "");
	sonde_buf_release(&b);
	return rc;
}

static int check_used(struct sonde_defaults *d)
{
	size_t i;

	for (i = 0; i < d->choices.nr; i++)
		if (!d->choices.at[i].used)
			return unused_choice(d, &d->choices.at[i]);
	for (i = 0; i < d->deletions.nr; i++) {
		const struct sonde_deletion *del = &d->deletions.at[i];

		if (!del->used)
			return sonde_ctx__fail(d->cx, "ConfigCompositionException",
				"Could not delete '%.*s%s%.*s'. No match in the defaults list",
				SONDE_STR_ARG(del->key), del->has_name ? "=" : "",
				SONDE_STR_ARG(del->name));
	}
	return 0;
}

static struct sonde_item *root_item(struct sonde_defaults *d, struct sonde_item *primary)
{
	struct sonde_item *root = sonde_ctx__alloc(d->cx, 1, sizeof(*root));
	struct sonde_item *hydra = sonde_item__config(d->cx, SONDE_STR("hydra/config"));

	if (!root || !hydra)
		return NULL;
	root->kind = SONDE_ITEM_ROOT;
	root->children = sonde_ctx__alloc(d->cx, 2, sizeof(struct sonde_item *));
	if (!root->children)
		return NULL;
	root->children[0] = hydra;
	root->children[1] = primary;
	root->nr_children = 2;
	hydra->parent = primary->parent = root;
	return root;
}

static int build_tree(struct sonde_defaults *d, struct sonde_str name, bool with_hydra)
{
	struct sonde_item *primary = sonde_item__config(d->cx, name);
	struct sonde_str head;

	if (!primary)
		return d->cx->fail.code;
	primary->primary = true;
	d->root = with_hydra ? root_item(d, primary) : primary;
	if (!d->root)
		return d->cx->fail.code;
	if (!sonde_search__load(d->search, name)) {
		head = sonde_ctx__printf(d->cx,
			"Cannot find primary config '%.*s'. Check that it's in your config search "
			"path.\n",
			SONDE_STR_ARG(name));
		return d->cx->fail.code ? d->cx->fail.code
					: not_found(d, head.p, (struct sonde_str){0});
	}
	if (build(d, primary, true, false))
		return d->cx->fail.code;
	return with_hydra ? build(d, d->root->children[0], false, false) : 0;
}

int sonde_defaults__build(struct sonde_defaults *d, struct sonde_str primary,
	const struct sonde_override *overrides, size_t nr, bool with_hydra)
{
	size_t i;

	d->known = sonde_datum__new(d->cx, SONDE_MAP);
	d->by_group = sonde_datum__new(d->cx, SONDE_MAP);
	if (!d->known || !d->by_group)
		return d->cx->fail.code;
	for (i = 0; i < nr; i++)
		if (take_override(d, &overrides[i]))
			return d->cx->fail.code;
	if (build_tree(d, primary, with_hydra) || flatten(d, d->root))
		return d->cx->fail.code;
	if (check_duplicates(d) || check_used(d))
		return d->cx->fail.code;
	drop_dummy(d);
	return d->cx->fail.code;
}

void sonde_defaults__release(struct sonde_defaults *d)
{
	sonde_vec_release(&d->choices);
	sonde_vec_release(&d->deletions);
	sonde_vec_release(&d->append);
	sonde_vec_release(&d->config_overrides);
	sonde_vec_release(&d->list);
}

static void print(struct sonde_defaults *d, struct sonde_item *it, struct sonde_buf *b, int level)
{
	uint32_t i;

	sonde_buf_printf(b, "%*s", level * 2, "");
	if (it->kind == SONDE_ITEM_ROOT)
		sonde_buf_puts(b, "<root>");
	else if (it->kind == SONDE_ITEM_SELF)
		sonde_buf_puts(b, "_self_");
	else if (it->kind == SONDE_ITEM_CONFIG)
		sonde_buf_str(b, sonde_item__config_path(d->cx, it));
	else {
		sonde_buf_str(b, sonde_item__override_key(d->cx, it));
		sonde_buf_puts(b, ": ");
		if (it->value->kind == SONDE_NULL)
			sonde_buf_puts(b, "null");
		else
			sonde_pytext__str(b, it->value);
	}
	sonde_buf_puts(b, it->nr_children ? ":\n" : "\n");
	for (i = 0; i < it->nr_children; i++)
		print(d, it->children[i], b, level + 1);
}

void sonde_defaults__print(struct sonde_defaults *d, struct sonde_buf *b)
{
	print(d, d->root, b, 0);
}
