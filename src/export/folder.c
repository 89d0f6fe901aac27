#include "export/folder.h"

#include "base/alloc.h"
#include "catalogue/formats.h"

#include <inttypes.h>
#include <string.h>

#define HASH_BYTES 9 /* "-0123abcd" */

static void add_byte(struct sonde_buf *out, char c)
{
	bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '.' || c == '-';

	c = is_plain ? c : '_';
	if (c == '_' && out->n >= 2 && out->p[out->n - 1] == '_' && out->p[out->n - 2] == '_')
		return;
	sonde_buf_putc(out, c);
}

static void add_label(struct sonde_buf *out, struct sonde_str label)
{
	size_t i;

	/* Stop early: the rest of a long label would be cut anyway. */
	for (i = 0; i < label.n && out->n <= SONDE_FOLDER_MAX; i++)
		add_byte(out, label.p[i]); /* so "::" becomes "__" */
}

static struct sonde_str without_parent(struct sonde_str label, struct sonde_str parent)
{
	if (parent.n && label.n > parent.n + 2 && memcmp(label.p, parent.p, parent.n) == 0 &&
		memcmp(label.p + parent.n, "::", 2) == 0)
		return (struct sonde_str){label.p + parent.n + 2, label.n - parent.n - 2};
	return label;
}

bool sonde_folder_name(struct sonde_buf *out, const struct sonde_str *labels, size_t nr)
{
	size_t i;

	sonde_buf_clear(out);
	for (i = 0; i < nr && out->n <= SONDE_FOLDER_MAX; i++) {
		if (i) {
			add_byte(out, '_');
			add_byte(out, '_');
		}
		add_label(out, i ? without_parent(labels[i], labels[i - 1]) : labels[i]);
	}
	if (out->failed)
		return false;
	if (out->n > SONDE_FOLDER_MAX) {
		out->n = SONDE_FOLDER_MAX - HASH_BYTES;
		out->p[out->n] = '\0';
		return true;
	}
	if (!out->n || strcmp(out->p, ".") == 0 || strcmp(out->p, "..") == 0) {
		sonde_buf_clear(out);
		sonde_buf_putc(out, '_');
		return true;
	}
	return false;
}

static void append_hash(struct sonde_buf *name, const struct sonde_region *region, unsigned round)
{
	uint64_t h = sonde_hash(region->id.p, region->id.n) + region->kind + (uint64_t)round * 2;

	if (name->n > SONDE_FOLDER_MAX - HASH_BYTES)
		name->n = SONDE_FOLDER_MAX - HASH_BYTES;
	sonde_buf_printf(name, "-%08" PRIx32, (uint32_t)(h ^ h >> 32));
}

/* Takes the name; if another region has it, appends different hashes until it is free. */
static int claim_name(struct sonde_folders *f, size_t node, struct sonde_buf *name, bool is_hashed,
	const struct sonde_region *region)
{
	size_t plain = name->n;
	unsigned round;

	for (round = is_hashed ? 1 : 0; !name->failed; round++) {
		bool is_new;

		if (round) {
			name->n = plain;
			append_hash(name, region, round - 1);
		}
		if (sonde_map_find(&f->names, sonde_buf_view(name)) != SONDE_NONE)
			continue;
		f->at[node] = sonde_arena_dup(&f->arena, sonde_buf_view(name));
		if (!f->at[node].p || sonde_map_add(&f->names, f->at[node], &is_new) == SONDE_NONE)
			break;
		return 0;
	}
	return SONDE_ERR_NOMEM;
}

static int name_all(struct sonde_folders *f, const struct sonde_tree *t,
	const struct sonde_report *r, struct sonde_str *labels)
{
	struct sonde_buf name = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < r->nodes.nr && rc == 0; i++) {
		const struct sonde_node *n = &r->nodes.at[i];
		bool is_hashed;

		labels[n->depth] = sonde_node_label(t, n); /* nodes are depth-first: the labels of the parents are there */
		is_hashed = sonde_folder_name(&name, labels, n->depth + 1);
		rc = name.failed ? SONDE_ERR_NOMEM
				 : claim_name(f, i, &name, is_hashed, sonde_node_region(t, n));
	}
	sonde_buf_release(&name);
	return rc;
}

int sonde_folders_build(struct sonde_folders *out, const struct sonde_tree *t,
	const struct sonde_report *r, struct sonde_err *err)
{
#define FILE_NAME(name, extensions, flags) "report." #name,
	static const char *const ours[] = {SONDE_DIR_FORMATS(FILE_NAME) "icicle.svg",
		"roofline.svg", "scopes", SONDE_REST_FILE};
#undef FILE_NAME
	struct sonde_str *labels;
	uint32_t depth = 0;
	size_t i;
	int rc = 0;

	*out = (struct sonde_folders){.nr = r->nodes.nr};
	for (i = 0; i < r->nodes.nr; i++)
		depth = r->nodes.at[i].depth > depth ? r->nodes.at[i].depth : depth;
	for (i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (sonde_map_add(&out->names, sonde_str_from(ours[i]), NULL) == SONDE_NONE)
			rc = SONDE_ERR_NOMEM;
	labels = sonde_calloc((size_t)depth + 1, sizeof(*labels));
	out->at = sonde_calloc(r->nodes.nr + 1, sizeof(*out->at));
	if (rc || !labels || !out->at || name_all(out, t, r, labels)) {
		sonde_folders_release(out);
		rc = sonde_err_nomem(err);
	}
	sonde_free(labels);
	return rc;
}

void sonde_folders_release(struct sonde_folders *f)
{
	sonde_map_release(&f->names);
	sonde_arena_release(&f->arena);
	sonde_free(f->at);
	*f = (struct sonde_folders){0};
}

struct sonde_str sonde_folder_list_find(
	const struct sonde_folder_list *l, const struct sonde_report *r, uint32_t node)
{
	size_t i;

	for (i = 0; l && i < l->of.nr; i++) {
		const struct sonde_report *of = l->of.at[i].report;

		/* The aggregate of a single scope is that scope again, node by node. */
		if (of == r || (of->measured == r->measured && of->is_aggregate && of->nr_scopes == 1))
			return l->of.at[i].at[node];
	}
	return (struct sonde_str){NULL, 0};
}
