/* What the command line says about groups, and the messages for what cannot be found. */
#include "config/defaults_int.h"

struct sonde_group_choice *sonde_defaults__choice(struct sonde_defaults *d, struct sonde_str key)
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
	struct sonde_group_choice *c = sonde_defaults__choice(d, key);

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

int sonde_defaults__take(struct sonde_defaults *d, const struct sonde_override *o)
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

static int no_config(struct sonde_defaults *d, const char *head, struct sonde_str options_of)
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

int sonde_defaults__not_found(struct sonde_defaults *d, struct sonde_item *it)
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
		head = sonde_ctx__printf(d->cx, "Could not load '%.*s'.\n", SONDE_STR_ARG(path));
	if (d->cx->fail.code)
		return d->cx->fail.code;
	no_config(d, head.p, group);
	if (it->file.n)
		d->cx->fail.where =
			sonde_ctx__printf(d->cx, "%.*s:%u", SONDE_STR_ARG(it->file), it->line);
	return d->cx->fail.code;
}

int sonde_defaults__must_specify(struct sonde_defaults *d, struct sonde_item *it)
{
	struct sonde_datum *options;
	struct sonde_buf b = {0};
	struct sonde_str key;
	uint32_t i;
	int rc;

	if (it->kind != SONDE_ITEM_GROUP)
		return sonde_ctx__fail(
			d->cx, "ValueError", "Missing ConfigDefault is not supported");
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

int sonde_defaults__no_primary(struct sonde_defaults *d, struct sonde_str name)
{
	struct sonde_str head = sonde_ctx__printf(d->cx,
		"Cannot find primary config '%.*s'. Check that it's in your config search path.\n",
		SONDE_STR_ARG(name));

	return d->cx->fail.code ? d->cx->fail.code : no_config(d, head.p, (struct sonde_str){0});
}
