/* Resolves options and configs whose names are interpolations. These may refer to the groups that are already known. */
#include "hydra/defaults_int.h"

#include "hydra/interp.h"

#include <string.h>

bool hydra_defaults__is_interpolation(const struct hydra_item *it)
{
	if (it->kind == HYDRA_ITEM_GROUP)
		return it->value->kind == HYDRA_STRING && it->value->interp;
	return it->path.n && memmem(it->path.p, it->path.n, "${", 2);
}

static int refuse_interpolation(struct hydra_defaults *d, struct sonde_str text)
{
	struct sonde_buf b = {0};
	struct sonde_str keys;
	uint32_t i;

	hydra_ctx__clear(d->cx);
	for (i = 0; i < d->known->seq.nr; i++) {
		sonde_buf_puts(&b, b.n ? ", " : ", possible interpolation keys: ");
		sonde_buf_str(&b, d->known->seq.at[i]->key->s);
	}
	keys = hydra_ctx__take(d->cx, &b);
	return hydra_ctx__fail(d->cx, "ConfigCompositionException",
		"Error resolving interpolation '%.*s'%.*s", SONDE_STR_ARG(text),
		SONDE_STR_ARG(keys));
}

static int resolve_name(struct hydra_defaults *d, struct sonde_str text, struct sonde_str *out)
{
	struct hydra_lookup sc = {.cx = d->cx};
	struct hydra_datum *n = hydra_interp__eval(&sc, text, d->known, NULL);

	if (n && n->kind == HYDRA_STRING) {
		*out = n->s;
		return 0;
	}
	if (d->cx->fail.code && !hydra_ctx__is_user_error(d->cx))
		return d->cx->fail.code;
	return refuse_interpolation(d, text);
}

int hydra_defaults__resolve(struct hydra_defaults *d, struct hydra_item *it)
{
	struct sonde_str out, text, key;

	if (it->kind != HYDRA_ITEM_GROUP) {
		/* In a nested config the directory appears twice in the path, as in Hydra. */
		text = hydra_item__config_path(d->cx, it);
		return resolve_name(d, text, &it->path);
	}
	text = it->value->s;
	if (sonde_str_starts(text, "${defaults.") && text.n > 12 && text.p[11] >= '0' &&
		text.p[11] <= '9' && text.p[12] == '.') {
		key = hydra_item__override_key(d->cx, it);
		return hydra_ctx__fail(d->cx, "ConfigCompositionException",
			"\nDefaults list element '%.*s=%.*s' is using a deprecated interpolation "
			"form.\nSee http://hydra.cc/docs/1.1/upgrades/1.0_to_1.1/"
			"defaults_list_interpolation for migration information.",
			SONDE_STR_ARG(key), SONDE_STR_ARG(text));
	}
	if (resolve_name(d, text, &out))
		return d->cx->fail.code;
	it->value = hydra_datum__string(d->cx, out);
	return d->cx->fail.code;
}
