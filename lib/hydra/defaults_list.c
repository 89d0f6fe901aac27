/* Turns the tree of defaults into the flat list, checks the list, and prints the tree. */
#include "hydra/defaults_int.h"

#include "hydra/pytext.h"

/* The flat list. */

static int emit(struct hydra_defaults *d, struct hydra_item *it, struct hydra_item *owner)
{
	struct hydra_default *out = sonde_vec_push(&d->list);
	struct hydra_item *parent = owner->parent;

	if (!out)
		return hydra_ctx__nomem(d->cx);
	out->config_path = hydra_item__config_path(d->cx, owner);
	out->package = hydra_item__final_package(d->cx, owner);
	out->is_self = it->kind == HYDRA_ITEM_SELF;
	out->primary = owner->primary;
	if (owner->kind == HYDRA_ITEM_GROUP && !out->is_self)
		out->override_key = hydra_item__override_key(d->cx, owner);
	if (parent && parent->kind == HYDRA_ITEM_ROOT)
		out->parent = SONDE_STR("<root>");
	else if (parent)
		out->parent = hydra_item__config_path(d->cx, parent);
	return d->cx->fail.code;
}

static int flatten(struct hydra_defaults *d, struct hydra_item *it)
{
	uint32_t i;

	for (i = 0; i < it->nr_children; i++) {
		struct hydra_item *child = it->children[i];

		if (child->kind == HYDRA_ITEM_SELF ? emit(d, child, it) : flatten(d, child))
			return d->cx->fail.code;
	}
	if (it->nr_children || it->kind == HYDRA_ITEM_ROOT || it->deleted)
		return 0;
	if (it->kind == HYDRA_ITEM_GROUP && it->value->kind == HYDRA_NULL)
		return 0;
	if (hydra_item__is_missing(d->cx, it))
		return 0;
	return emit(d, it, it);
}

static void drop_dummy(struct hydra_defaults *d)
{
	size_t i, kept = 0;

	for (i = 0; i < d->list.nr; i++)
		if (!sonde_str_is(d->list.at[i].config_path, HYDRA_DUMMY_CONFIG))
			d->list.at[kept++] = d->list.at[i];
	d->list.nr = kept;
}

static int check_duplicates(struct hydra_defaults *d)
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
			rc = hydra_ctx__nomem(d->cx);
		else if (!is_new)
			rc = hydra_ctx__fail(d->cx, "ConfigCompositionException",
				"%.*s appears more than once in the final defaults list",
				SONDE_STR_ARG(key));
	}
	sonde_map_release(&seen);
	return rc;
}

/* "Did you mean": the override keys of the same group, sorted. */
static void add_candidates(struct hydra_defaults *d, struct sonde_str key, struct sonde_buf *b)
{
	struct sonde_str rest;
	struct hydra_datum *keys = hydra_datum__get(d->by_group, sonde_str_cut(key, '@', &rest));
	uint32_t i;

	if (!keys || !keys->seq.nr) {
		sonde_buf_puts(b, " No match in the defaults list.");
		return;
	}
	sonde_buf_printf(b, "\nDid you mean to override %s", keys->seq.nr > 1 ? "one of " : "");
	for (i = 0; i < keys->seq.nr; i++) {
		sonde_buf_puts(b, i ? ", " : "");
		sonde_buf_str(b, keys->seq.at[i]->s);
	}
	sonde_buf_putc(b, '?');
}

static int unused_choice(struct hydra_defaults *d, const struct hydra_group_choice *c)
{
	struct sonde_buf b = {0};
	struct sonde_str msg;

	if (!c->external)
		sonde_buf_printf(&b, "In '%.*s': ", SONDE_STR_ARG(c->config));
	sonde_buf_printf(&b, "Could not override '%.*s'.", SONDE_STR_ARG(c->key));
	add_candidates(d, c->key, &b);
	if (c->external) {
		sonde_buf_printf(
			&b, "\nTo append to your default list use +%.*s=", SONDE_STR_ARG(c->key));
		hydra_pytext__str(&b, c->value);
	}
	msg = hydra_ctx__take(d->cx, &b);
	return hydra_ctx__fail(d->cx, "ConfigCompositionException", "%.*s", SONDE_STR_ARG(msg));
}

static int check_used(struct hydra_defaults *d)
{
	size_t i;

	for (i = 0; i < d->choices.nr; i++)
		if (!d->choices.at[i].used)
			return unused_choice(d, &d->choices.at[i]);
	for (i = 0; i < d->deletions.nr; i++) {
		const struct hydra_deletion *del = &d->deletions.at[i];

		if (!del->used)
			return hydra_ctx__fail(d->cx, "ConfigCompositionException",
				"Could not delete '%.*s%s%.*s'. No match in the defaults list",
				SONDE_STR_ARG(del->key), del->has_name ? "=" : "",
				SONDE_STR_ARG(del->name));
	}
	return 0;
}

int hydra_defaults__flatten(struct hydra_defaults *d)
{
	if (flatten(d, d->root) || check_duplicates(d) || check_used(d))
		return d->cx->fail.code;
	drop_dummy(d);
	return 0;
}

static void print(struct hydra_defaults *d, struct hydra_item *it, struct sonde_buf *b, int level)
{
	uint32_t i;

	sonde_buf_printf(b, "%*s", level * 2, "");
	if (it->kind == HYDRA_ITEM_ROOT)
		sonde_buf_puts(b, "<root>");
	else if (it->kind == HYDRA_ITEM_SELF) {
		/* In front of it goes the folder from which its config was included, as in Hydra. */
		if (it->parent && it->parent->base_dir.n)
			sonde_buf_printf(b, "%.*s/", SONDE_STR_ARG(it->parent->base_dir));
		sonde_buf_puts(b, "_self_");
	} else if (it->kind == HYDRA_ITEM_CONFIG)
		sonde_buf_str(b, hydra_item__config_path(d->cx, it));
	else {
		sonde_buf_str(b, hydra_item__override_key(d->cx, it));
		sonde_buf_puts(b, ": ");
		if (it->value->kind == HYDRA_NULL)
			sonde_buf_puts(b, "null");
		else
			hydra_pytext__str(b, it->value);
	}
	sonde_buf_puts(b, it->nr_children ? ":\n" : "\n");
	for (i = 0; i < it->nr_children; i++)
		print(d, it->children[i], b, level + 1);
}

void hydra_defaults__print(struct hydra_defaults *d, struct sonde_buf *b)
{
	print(d, d->root, b, 0);
}
