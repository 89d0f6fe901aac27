#include "capture/kernel_list.h"

#include "base/file.h"

#include <libfyaml.h>
#include <stdio.h>
#include <string.h>

void sonde_regex_exact(struct sonde_buf *out, struct sonde_str name)
{
	size_t i;

	sonde_buf_putc(out, '^');
	for (i = 0; i < name.n; i++) {
		if (name.p[i] && strchr("^$.|()[]{}*+?\\", name.p[i]))
			sonde_buf_putc(out, '\\');
		sonde_buf_putc(out, name.p[i]);
	}
	sonde_buf_putc(out, '$');
}

bool sonde_kernel_list_add(struct sonde_kernel_list *l, struct sonde_str name, const char *regex,
	const char *description)
{
	struct sonde_kernel_entry *e = sonde_vec_push(&l->kernels);
	struct sonde_buf b = {0};

	if (!e)
		return false;
	if (regex)
		sonde_buf_puts(&b, regex);
	else
		sonde_regex_exact(&b, name);
	e->name = sonde_arena_z(&l->arena, name);
	e->regex = b.failed ? NULL : sonde_arena_z(&l->arena, sonde_buf_view(&b));
	if (description)
		e->description = sonde_arena_z(&l->arena, sonde_str_from(description));
	sonde_buf_release(&b);
	return e->name && e->regex && !l->arena.failed;
}

static void write_text(struct sonde_sink *to, const char *text)
{
	const unsigned char *c;

	sonde_sink_putc(to, '"');
	for (c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			sonde_sink_printf(to, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			sonde_sink_printf(to, "\\x%02x", *c);
		else
			sonde_sink_putc(to, (char)*c);
	}
	sonde_sink_puts(to, "\"\n");
}

void sonde_kernel_list_write(const struct sonde_kernel_list *l, struct sonde_sink *to)
{
	size_t i;

	sonde_sink_puts(to, l->kernels.nr ? "kernels:\n" : "kernels: []\n");
	for (i = 0; i < l->kernels.nr; i++) {
		const struct sonde_kernel_entry *e = &l->kernels.at[i];

		sonde_sink_puts(to, "  - name: ");
		write_text(to, e->name);
		sonde_sink_puts(to, "    regex: ");
		write_text(to, e->regex);
		if (e->description) {
			sonde_sink_puts(to, "    description: ");
			write_text(to, e->description);
		}
	}
}

void sonde_kernel_list_release(struct sonde_kernel_list *l)
{
	sonde_vec_release(&l->kernels);
	sonde_arena_release(&l->arena);
}

static struct fy_document *load(const char *path, struct sonde_err *err)
{
	struct sonde_mapping file;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_DEFAULT_DOC};
	struct fy_document *doc;

	if (sonde_mapping_open(&file, path, err))
		return NULL;
	doc = file.data.n > 4 << 20
		      ? NULL
		      : fy_document_build_from_malloc_string(&cfg,
				strndup(file.data.p ? file.data.p : "", file.data.n), file.data.n);
	sonde_mapping_release(&file);
	if (!doc)
		sonde_err_set(err, SONDE_ERR_FORMAT, "%s: not YAML", path);
	return doc;
}

static const char *member(struct fy_node *map, const char *key, struct sonde_arena *arena)
{
	struct fy_node *n = fy_node_mapping_lookup_by_string(map, key, strlen(key));
	size_t size = 0;
	const char *text = n && fy_node_is_scalar(n) ? fy_node_get_scalar(n, &size) : NULL;

	return text ? sonde_arena_z(arena, (struct sonde_str){text, size}) : NULL;
}

static int take_entry(
	struct sonde_kernel_list *l, struct fy_node *item, const char *path, struct sonde_err *err)
{
	const char *name, *regex;

	if (!fy_node_is_mapping(item))
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: entry %zu of 'kernels' is not a map with a name", path,
			l->kernels.nr + 1);
	name = member(item, "name", &l->arena);
	regex = member(item, "regex", &l->arena);
	if (!name && !regex)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: entry %zu of 'kernels' has neither name nor regex", path,
			l->kernels.nr + 1);
	return sonde_kernel_list_add(l, sonde_str_from(name ? name : regex), regex,
		       member(item, "description", &l->arena))
		       ? 0
		       : sonde_err_nomem(err);
}

int sonde_kernel_list_open(struct sonde_kernel_list *out, const char *path, struct sonde_err *err)
{
	struct fy_document *doc = load(path, err);
	struct fy_node *list, *item;
	void *iter = NULL;
	int rc = 0;

	*out = (struct sonde_kernel_list){0};
	if (!doc)
		return err ? err->code : SONDE_ERR_FORMAT;
	list = fy_node_by_path(fy_document_root(doc), "/kernels", FY_NT, FYNWF_DONT_FOLLOW);
	if (!list || !fy_node_is_sequence(list))
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%s: no list 'kernels' in it", path);
	while (rc == 0 && (item = fy_node_sequence_iterate(list, &iter)))
		rc = take_entry(out, item, path, err);
	fy_document_destroy(doc);
	if (rc)
		sonde_kernel_list_release(out);
	return rc;
}

static const char *scalar(struct fy_node *n, struct sonde_arena *arena)
{
	size_t size = 0;
	const char *text = fy_node_is_scalar(n) ? fy_node_get_scalar(n, &size) : NULL;

	return text ? sonde_arena_z(arena, (struct sonde_str){text, size}) : NULL;
}

int sonde_yaml_strings(const char *const **out, const char *path, const char *key,
	struct sonde_arena *arena, struct sonde_err *err)
{
	struct fy_document *doc = load(path, err);
	struct fy_node *n, *item;
	const char **at;
	char where[256];
	void *iter = NULL;
	size_t nr = 0, i;

	if (!doc)
		return err ? err->code : SONDE_ERR_FORMAT;
	snprintf(where, sizeof(where), "/%s", key);
	for (i = 0; where[i]; i++)
		if (where[i] == '.')
			where[i] = '/';
	n = fy_node_by_path(fy_document_root(doc), where, FY_NT, FYNWF_DONT_FOLLOW);
	at = sonde_arena_calloc(arena,
		n && fy_node_is_sequence(n) ? (size_t)fy_node_sequence_item_count(n) + 1 : 2,
		sizeof(*at));
	if (at && n && fy_node_is_scalar(n) && scalar(n, arena))
		at[nr++] = scalar(n, arena);
	while (at && n && fy_node_is_sequence(n) && (item = fy_node_sequence_iterate(n, &iter)))
		if (scalar(item, arena))
			at[nr++] = scalar(item, arena);
	fy_document_destroy(doc);
	*out = at;
	return at ? 0 : sonde_err_nomem(err);
}
