/* Prints a configuration: as YAML, with origins, its defaults lists, its search path. */
#include "hydra/hydra_int.h"

#include "base/secret.h"
#include "hydra/keys_int.h"
#include "hydra/pytext.h"
#include "hydra/yaml.h"

#include <string.h>

static int failed(struct hydra_config *c, struct sonde_err *err)
{
	int code = hydra_config__report(c, err);

	hydra_ctx__clear(&c->cx);
	return code;
}

/* A copy of the part, so that it can be resolved in place. */
static struct hydra_datum *part_of(struct hydra_config *c, enum hydra_part part)
{
	struct hydra_datum *n = hydra_datum__copy(
		&c->cx, part == HYDRA_PART_JOB ? c->compose.job : c->compose.root);
	uint32_t i;

	if (!n || part == HYDRA_PART_JOB)
		return n;
	hydra_datum__drop(hydra_datum__path_get(n, "hydra.help"));
	hydra_datum__drop(hydra_datum__path_get(n, "hydra.hydra_help"));
	for (i = n->seq.nr; part == HYDRA_PART_HYDRA && i-- > 0;)
		if (!sonde_str_is(n->seq.at[i]->key->s, "hydra"))
			hydra_datum__drop(n->seq.at[i]);
	return n;
}

static int not_found(struct sonde_err *err, const char *package)
{
	return sonde_err_set(err, SONDE_ERR_NOTFOUND, "package '%s' not found in config", package);
}

/* Masks values whose key names a secret, and secrets in the words of command lines and overrides. */
static int mask_secrets(struct hydra_ctx *cx, struct hydra_datum *n)
{
	struct sonde_secret s = {0};
	uint32_t i;

	for (i = 0; i < n->seq.nr && !cx->fail.code; i++) {
		struct hydra_datum *child = n->seq.at[i];
		struct sonde_str key = child->key ? child->key->s : (struct sonde_str){0};
		struct sonde_buf masked = {0};

		if (hydra_datum__is_container(child))
			mask_secrets(cx, child);
		if (child->kind != HYDRA_STRING || child->interp || !child->s.n)
			continue;
		if (n->kind != HYDRA_LIST) /* only the items of a list may be the words of one command line */
			s = (struct sonde_secret){0};
		if (key.n && sonde_secret_is_name(key.p, key.n))
			sonde_buf_puts(&masked, SONDE_SECRET_MASK);
		else
			sonde_secret_mask(&s, &masked, child->s);
		child->s = hydra_ctx__take(cx, &masked);
	}
	return cx->fail.code;
}

/* The node to write: the package, or the whole part, from a copy that is resolved and masked as `how` says. */
static struct hydra_datum *prepare(struct hydra_config *c, const struct hydra_dump *how, bool whole)
{
	struct hydra_lookup sc = hydra_compose__scope(&c->compose);
	/* A single value of the hydra node may refer to any key, so the copy must have all keys. */
	struct hydra_datum *root =
		part_of(c, how->part == HYDRA_PART_HYDRA && !whole ? HYDRA_PART_ALL : how->part);

	sc.keeps_env = how->resolve == HYDRA_RESOLVED_NO_ENV;
	if (root && how->resolve != HYDRA_AS_WRITTEN && hydra_interp__resolve_tree(&sc, root))
		return NULL;
	if (root && how->masks_secrets && mask_secrets(&c->cx, root))
		return NULL;
	if (root && !whole)
		root = hydra_interp__select(&sc, root, sonde_str_from(how->package), false);
	return root;
}

int hydra_config_dump(struct hydra_config *c, struct sonde_sink *out, const struct hydra_dump *how,
	struct sonde_err *err)
{
	bool whole = !how->package || strcmp(how->package, "_global_") == 0;
	struct hydra_datum *n = prepare(c, how, whole);
	struct sonde_buf b = {0};

	if (c->cx.fail.code)
		return failed(c, err);
	if (!n)
		return not_found(err, how->package);
	if (!hydra_datum__is_container(n)) {
		hydra_pytext__str(&b, n);
		sonde_buf_putc(&b, '\n');
	} else {
		if (!whole)
			sonde_buf_printf(&b, "# @package %s\n", how->package);
		hydra_yaml__dump(&b, n);
	}
	if (b.failed)
		hydra_ctx__nomem(&c->cx);
	sonde_sink_str(out, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return c->cx.fail.code ? failed(c, err) : 0;
}

static void dump_line(struct sonde_sink *out, struct sonde_buf *key, const struct hydra_datum *n)
{
	struct sonde_buf value = {0}, origin = {0};
	size_t i;

	hydra_yaml__dump(&value, n);
	while (value.n && value.p[value.n - 1] == '\n')
		value.n--;
	for (i = 0; i < value.n; i++)
		if (value.p[i] == '\n')
			value.p[i] = ' ';
	hydra_config__put_origin(&origin, n);
	sonde_sink_str(out, sonde_buf_view(key));
	sonde_sink_puts(out, ": ");
	sonde_sink_str(out, sonde_buf_view(&value));
	sonde_sink_puts(out, "  # ");
	sonde_sink_str(out, sonde_buf_view(&origin));
	sonde_sink_putc(out, '\n');
	sonde_buf_release(&value);
	sonde_buf_release(&origin);
}

static void dump_deep(struct sonde_sink *out, struct sonde_buf *key, const struct hydra_datum *n)
{
	size_t before = key->n;
	uint32_t i;

	if (!hydra_datum__is_container(n) || n->seq.nr == 0) {
		dump_line(out, key, n);
		return;
	}
	for (i = 0; i < n->seq.nr; i++) {
		if (n->kind == HYDRA_LIST) {
			sonde_buf_printf(key, "[%u]", i);
		} else {
			if (before)
				sonde_buf_putc(key, '.');
			hydra_pytext__str(key, n->seq.at[i]->key);
		}
		dump_deep(out, key, n->seq.at[i]);
		key->n = before;
	}
}

int hydra_config_dump_origins(
	struct hydra_config *c, struct sonde_sink *out, enum hydra_part part, struct sonde_err *err)
{
	struct hydra_datum *n = part_of(c, part);
	struct sonde_buf key = {0};

	if (!n)
		return failed(c, err);
	dump_deep(out, &key, n);
	sonde_buf_release(&key);
	return 0;
}

void hydra_config_print_kept(const struct hydra_config *c, struct sonde_buf *out)
{
	if (c->req.keys && c->frozen)
		hydra_keys__list_kept(c->req.keys, c->frozen, out);
}

/* Tables as Hydra prints them: padded, with a ruler above and below the heads and at the end. */

#define MAX_COLUMNS 4
struct row {
	struct sonde_str cell[MAX_COLUMNS]; /* NUL-terminated */
};

static void print_ruler(struct sonde_sink *out, const size_t *width, size_t nr_columns)
{
	size_t i, n = 1;

	for (i = 0; i < nr_columns; i++)
		n += width[i] + 3;
	while (n--)
		sonde_sink_putc(out, '-');
	sonde_sink_putc(out, '\n');
}

static void print_table(
	struct sonde_sink *out, const struct row *rows, size_t nr, size_t nr_columns)
{
	size_t width[MAX_COLUMNS] = {0}, r, i;

	for (r = 0; r < nr; r++)
		for (i = 0; i < nr_columns; i++)
			width[i] = rows[r].cell[i].n > width[i] ? rows[r].cell[i].n : width[i];
	for (r = 0; r < nr; r++) {
		if (r < 2)
			print_ruler(out, width, nr_columns);
		for (i = 0; i < nr_columns; i++)
			sonde_sink_printf(out, "| %-*s ", (int)width[i],
				rows[r].cell[i].p ? rows[r].cell[i].p : "");
		sonde_sink_puts(out, "|\n");
	}
	print_ruler(out, width, nr_columns);
}

static void print_defaults(struct hydra_config *c, struct sonde_sink *out)
{
	size_t nr = c->compose.defaults.list.nr, i;
	struct row *rows = hydra_ctx__alloc(&c->cx, nr + 1, sizeof(*rows));

	if (!rows)
		return;
	rows[0] = (struct row){{SONDE_STR("Config path"), SONDE_STR("Package"), SONDE_STR("_self_"),
		SONDE_STR("Parent")}};
	for (i = 0; i < nr; i++) {
		const struct hydra_default *d = &c->compose.defaults.list.at[i];

		rows[i + 1].cell[0] = hydra_ctx__dup(&c->cx, d->config_path);
		rows[i + 1].cell[1] = hydra_ctx__dup(&c->cx, d->package);
		rows[i + 1].cell[2] = d->is_self ? SONDE_STR("True") : SONDE_STR("False");
		rows[i + 1].cell[3] = hydra_ctx__dup(&c->cx, d->parent);
	}
	sonde_sink_puts(out, "\nDefaults List\n*************\n");
	print_table(out, rows, nr + 1, 4);
}

static void print_searchpath(struct hydra_config *c, struct sonde_sink *out)
{
	size_t nr = c->compose.search.sources.nr, i;
	struct row *rows = hydra_ctx__alloc(&c->cx, nr + 1, sizeof(*rows));

	if (!rows)
		return;
	rows[0] = (struct row){{SONDE_STR("Provider"), SONDE_STR("Search path")}};
	for (i = 0; i < nr; i++) {
		struct sonde_buf b = {0};

		hydra_search__location(&c->compose.search.sources.at[i], &b);
		rows[i + 1].cell[0] = c->compose.search.sources.at[i].provider;
		rows[i + 1].cell[1] = hydra_ctx__take(&c->cx, &b);
	}
	sonde_sink_puts(out, "\nConfig search path\n******************\n");
	print_table(out, rows, nr + 1, 2);
}

int hydra_config_print_info(
	struct hydra_config *c, struct sonde_sink *out, enum hydra_info info, struct sonde_err *err)
{
	struct sonde_buf b = {0};

	if (info == HYDRA_INFO_DEFAULTS) {
		print_defaults(c, out);
	} else if (info == HYDRA_INFO_SEARCHPATH) {
		print_searchpath(c, out);
	} else {
		hydra_defaults__print(&c->compose.defaults, &b);
		sonde_sink_puts(out, "\nDefaults Tree\n*************\n");
		sonde_sink_str(out, sonde_buf_view(&b));
		sonde_buf_release(&b);
	}
	return c->cx.fail.code ? failed(c, err) : 0;
}
