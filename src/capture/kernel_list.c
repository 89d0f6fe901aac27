#include "capture/kernel_list.h"

#include "hydra/hydra.h"

#include <stdio.h>
#include <string.h>

/* Appends a regular expression that matches exactly this name. */
static void add_exactly(struct sonde_buf *out, struct sonde_str name)
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
		add_exactly(&b, name);
	e->name = sonde_arena_z(&l->arena, name);
	e->regex = sonde_arena_take(&l->arena, &b);
	if (description)
		e->description = sonde_arena_z(&l->arena, sonde_str_from(description));
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

/* The text at `kernels.I.KEY`, copied; NULL when there is none. */
static const char *member(
	struct sonde_kernel_list *l, const struct hydra_config *c, size_t i, const char *key)
{
	char path[64];
	struct sonde_str text;

	snprintf(path, sizeof(path), "kernels.%zu.%s", i, key);
	text = hydra_config_str(c, path);
	return text.n ? sonde_arena_z(&l->arena, text) : NULL;
}

static int take_entry(struct sonde_kernel_list *l, const struct hydra_config *c, size_t i,
	const char *path, struct sonde_err *err)
{
	const char *name = member(l, c, i, "name"), *regex = member(l, c, i, "regex");

	if (!name && !regex)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: entry %zu of the list 'kernels' has neither a name nor a regex",
			path, i + 1);
	return sonde_kernel_list_add(l, sonde_str_from(name ? name : regex), regex,
		       member(l, c, i, "description"))
		       ? 0
		       : sonde_err_nomem(err);
}

int sonde_kernel_list_open(struct sonde_kernel_list *out, const char *path, struct sonde_err *err)
{
	const struct sonde_str *items;
	struct hydra_config *c = NULL;
	size_t nr = 0, i;
	int rc = hydra_config_file_open(&c, path, err);

	*out = (struct sonde_kernel_list){0};
	if (rc == 0)
		nr = hydra_config_list(c, "kernels", &items);
	if (rc == 0 && (hydra_config_is_null(c, "kernels") || hydra_config_str(c, "kernels").n))
		rc = sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: it has no list 'kernels'; `sonde top` writes such files", path);
	for (i = 0; i < nr && rc == 0; i++)
		rc = take_entry(out, c, i, path, err);
	hydra_config_free(c);
	if (rc)
		sonde_kernel_list_release(out);
	return rc;
}

int sonde_yaml_strings(const char *const **out, const char *path, const char *key,
	struct sonde_arena *arena, struct sonde_err *err)
{
	const struct sonde_str *items;
	struct hydra_config *c;
	const char **at = NULL;
	size_t nr, i;
	int rc = hydra_config_file_open(&c, path, err);

	if (rc)
		return rc;
	nr = hydra_config_list(c, key, &items);
	at = sonde_arena_calloc(arena, nr + 1, sizeof(*at));
	for (i = 0; at && i < nr; i++)
		at[i] = sonde_arena_z(arena, items[i]);
	hydra_config_free(c);
	*out = at;
	return at && !arena->failed ? 0 : sonde_err_nomem(err);
}
