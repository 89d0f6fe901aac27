/* Overrides of groups from the command line, and the messages for groups and configs that cannot be found. */
#include "hydra/defaults_int.h"

struct hydra_group_choice *hydra_defaults__choice(struct hydra_defaults *d, struct sonde_str key)
{
	size_t i;

	for (i = 0; i < d->choices.nr; i++)
		if (sonde_str_eq(d->choices.at[i].key, key))
			return &d->choices.at[i];
	return NULL;
}

/* Overrides from the command line. */

static int take_choice(struct hydra_defaults *d, const struct hydra_override *o)
{
	struct sonde_str key = hydra_override__key_element(d->cx, o);
	struct hydra_group_choice *c = hydra_defaults__choice(d, key);

	if (!c)
		c = sonde_vec_push(&d->choices);
	if (!c)
		return hydra_ctx__nomem(d->cx);
	*c = (struct hydra_group_choice){.key = key, .value = o->value, .external = true};
	return d->cx->fail.code;
}

static int take_append(struct hydra_defaults *d, const struct hydra_override *o)
{
	struct hydra_item *it = hydra_ctx__alloc(d->cx, 1, sizeof(*it));
	struct hydra_item **slot = it ? sonde_vec_push(&d->append) : NULL;

	if (!slot)
		return hydra_ctx__nomem(d->cx);
	*it = (struct hydra_item){.kind = HYDRA_ITEM_GROUP,
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

static int take_deletion(struct hydra_defaults *d, const struct hydra_override *o)
{
	struct sonde_str key = hydra_override__key_element(d->cx, o);
	struct hydra_deletion *del = NULL;
	size_t i;

	if (o->value && o->value->kind != HYDRA_STRING && o->value->kind != HYDRA_NULL)
		return hydra_ctx__fail(d->cx, "ValueError",
			"Config group override deletion value must be a string : %.*s",
			SONDE_STR_ARG(o->line));
	key.p++, key.n--; /* the ~ */
	for (i = 0; i < d->deletions.nr; i++)
		if (sonde_str_eq(d->deletions.at[i].key, key))
			del = &d->deletions.at[i];
	if (!del)
		del = sonde_vec_push(&d->deletions);
	if (!del)
		return hydra_ctx__nomem(d->cx);
	*del = (struct hydra_deletion){.key = key};
	if (o->value && o->value->kind == HYDRA_STRING) {
		del->has_name = true;
		del->name = o->value->s;
	}
	return d->cx->fail.code;
}

bool hydra_defaults__is_deleted(struct hydra_defaults *d, struct hydra_item *it)
{
	struct sonde_str key = hydra_item__override_key(d->cx, it);
	size_t i;

	for (i = 0; i < d->deletions.nr; i++) {
		struct hydra_deletion *del = &d->deletions.at[i];

		if (!sonde_str_eq(del->key, key))
			continue;
		if (del->has_name && !sonde_str_eq(del->name, hydra_item__name(it)))
			continue;
		del->used = true;
		it->deleted = true;
		return true;
	}
	return false;
}

int hydra_defaults__take(struct hydra_defaults *d, const struct hydra_override *o)
{
	const struct hydra_override **slot;

	if (hydra_datum__is_sweep(o->value))
		return 0;
	if ((o->value && o->value->kind == HYDRA_MAP) ||
		!hydra_search__has_group(d->search, o->key)) {
		slot = sonde_vec_push(&d->config_overrides);
		if (!slot)
			return hydra_ctx__nomem(d->cx);
		*slot = o;
		return d->cx->fail.code;
	}
	if (o->kind == HYDRA_OVERRIDE_FORCE_ADD)
		return hydra_ctx__fail(d->cx, "ConfigCompositionException",
			"force-add of config groups is not supported: '%.*s'",
			SONDE_STR_ARG(o->line));
	if (o->kind == HYDRA_OVERRIDE_DEL)
		return take_deletion(d, o);
	if (o->value->kind != HYDRA_STRING && o->value->kind != HYDRA_LIST)
		return hydra_ctx__fail(d->cx, "ValueError",
			"Config group override must be a string or a list. Got %s",
			hydra_datum__type_name(o->value));
	return o->kind == HYDRA_OVERRIDE_ADD ? take_append(d, o) : take_choice(d, o);
}

/* Not-found messages. */

/* The options of a group, one per line. */
static void put_options(struct hydra_defaults *d, struct sonde_buf *b, struct sonde_str group)
{
	struct hydra_datum *options = hydra_search__options(d->search, group);
	uint32_t i;

	for (i = 0; options && i < options->seq.nr; i++) {
		sonde_buf_puts(b, "\n\t");
		sonde_buf_str(b, options->seq.at[i]->s);
	}
}

/* Records that a config was not found. The message lists the options of `group`, unless that is empty. */
static int no_config(struct hydra_defaults *d, struct sonde_str head, struct sonde_str group)
{
	struct sonde_buf options = {0}, path = {0};

	if (group.n)
		put_options(d, &options, group);
	hydra_search__describe(d->search, &path);
	hydra_ctx__fail(d->cx, "MissingConfigException", "%.*s%s%.*s%s%s\nConfig search path:%s",
		SONDE_STR_ARG(head), options.n ? "\nAvailable options in '" : "",
		SONDE_STR_ARG(options.n ? group : SONDE_STR("")), options.n ? "':" : "",
		options.p ? options.p : "", path.p ? path.p : "");
	sonde_buf_release(&options);
	sonde_buf_release(&path);
	return d->cx->fail.code;
}

int hydra_defaults__not_found(struct hydra_defaults *d, struct hydra_item *it)
{
	struct sonde_str path = hydra_item__config_path(d->cx, it), group = {0}, head;
	struct sonde_str parent = {0};

	if (it->parent && it->parent->kind != HYDRA_ITEM_ROOT)
		parent = hydra_item__config_path(d->cx, it->parent);
	if (it->kind == HYDRA_ITEM_GROUP)
		group = hydra_item__group_path(d->cx, it),
		head = hydra_ctx__printf(d->cx, "In '%.*s': Could not find '%.*s'\n",
			SONDE_STR_ARG(parent), SONDE_STR_ARG(path));
	else if (parent.n)
		head = hydra_ctx__printf(d->cx, "In '%.*s': Could not load '%.*s'.\n",
			SONDE_STR_ARG(parent), SONDE_STR_ARG(path));
	else
		head = hydra_ctx__printf(d->cx, "Could not load '%.*s'.\n", SONDE_STR_ARG(path));
	if (d->cx->fail.code)
		return d->cx->fail.code;
	no_config(d, head, group);
	if (it->file.n)
		d->cx->fail.where =
			hydra_ctx__printf(d->cx, "%.*s:%u", SONDE_STR_ARG(it->file), it->line);
	return d->cx->fail.code;
}

int hydra_defaults__must_specify(struct hydra_defaults *d, struct hydra_item *it)
{
	struct sonde_buf b = {0};
	struct sonde_str key;

	if (it->kind != HYDRA_ITEM_GROUP)
		return hydra_ctx__fail(
			d->cx, "ValueError", "Missing ConfigDefault is not supported");
	key = hydra_item__override_key(d->cx, it);
	put_options(d, &b, hydra_item__group_path(d->cx, it));
	hydra_ctx__fail(d->cx, "ConfigCompositionException",
		"You must specify '%.*s', e.g, %.*s=<OPTION>\nAvailable options:%s",
		SONDE_STR_ARG(key), SONDE_STR_ARG(key), b.p ? b.p : "");
	sonde_buf_release(&b);
	return d->cx->fail.code;
}

int hydra_defaults__no_primary(struct hydra_defaults *d, struct sonde_str name)
{
	struct sonde_str head = hydra_ctx__printf(d->cx,
		"Cannot find primary config '%.*s'. Check that it's in your config search path.\n",
		SONDE_STR_ARG(name));

	return d->cx->fail.code ? d->cx->fail.code : no_config(d, head, (struct sonde_str){0});
}
