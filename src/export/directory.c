#include "export/csv.h"
#include "export/folder.h"
#include "export/format.h"
#include "export/json_int.h"
#include "export/markdown_int.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/number.h"

#include <stdio.h>
#include <string.h>

#define MAX_FOLDERS 1000 /* of four files each; report.folders sets another limit */

/*
 * The directory that is being written. The writers of a region are prepared once per directory: some look at the whole
 * tree for that, and there may be many regions.
 */
struct disk {
	const struct sonde_tree *tree;
	const struct sonde_export_options *options;
	const struct sonde_report *report; /* the report whose regions are being written */
	const struct sonde_listing *rest;  /* its regions that get no folder */
	sonde_exporter *export;		   /* writer of the whole report */
	struct sonde_json_export json;
	struct sonde_markdown markdown;
	struct sonde_figures figures;
	struct sonde_buf path;
	size_t root; /* bytes of `path` that are the directory itself */
	struct sonde_folder_list folders;
	struct sonde_err *err;
};

typedef int (*writer)(struct disk *d, uint32_t node, struct sonde_sink *to);

static int open_writers(struct disk *d)
{
	int rc = sonde_json__init(&d->json, d->tree, d->options, NULL, d->err);

	if (rc == 0)
		rc = sonde_markdown__init(&d->markdown, d->tree, d->options, NULL, d->err);
	return rc ? rc : sonde_figures_init(&d->figures, d->tree, d->err);
}

static void close_writers(struct disk *d)
{
	sonde_json__release(&d->json);
	sonde_markdown__release(&d->markdown);
	sonde_figures_release(&d->figures);
}

static int write_json(struct disk *d, uint32_t node, struct sonde_sink *to)
{
	const struct sonde_node *nodes = d->report->nodes.at;
	struct sonde_json_export *x = &d->json;
	uint32_t at = node;

	x->w = (struct sonde_json){.sink = to};
	for (; at != SONDE_NONE; at = nodes[at].parent)
		x->stack[nodes[at].depth] = at;
	sonde_json_open(&x->w, NULL, '{', false);
	sonde_json_z(&x->w, "schema", "sonde.region/1");
	sonde_json_str(&x->w, "scope", d->report->name);
	sonde_json_z(&x->w, "measured", sonde_measured_name(d->report->measured));
	x->tells_all = true;
	sonde_json__write_region(x, d->report, node);
	sonde_json_close(&x->w, '}');
	sonde_sink_putc(to, '\n');
	return 0;
}

static int write_markdown(struct disk *d, uint32_t node, struct sonde_sink *to)
{
	d->markdown.to = to;
	memset(d->markdown.is_named, 0, d->tree->cells->strings.nr * sizeof(*d->markdown.is_named));
	sonde_markdown__write_region(&d->markdown, d->report, node, 1);
	sonde_markdown__write_legend(&d->markdown, 2);
	sonde_sink_putc(to, '\n');
	sonde_markdown__write_head(&d->markdown);
	return d->markdown.cell.failed ? sonde_err_nomem(d->err) : 0;
}

static int write_kernels(struct disk *d, uint32_t node, struct sonde_sink *to)
{
	sonde_csv__write_kernels(to, d->tree, d->report, &d->report->nodes.at[node], &d->figures);
	return 0;
}

/* Writes a metric in sections.txt: name, figure, unit. */
static void write_section_line(struct sonde_sink *to, const struct sonde_column *c, const struct sonde_figure *f)
{
	char number[SONDE_NUMBER_MAX];

	sonde_sink_puts(to, "  ");
	sonde_escape_terminal(&to->buf, c->name, true);
	sonde_sink_printf(to, "%*s  ", (int)(c->name.n < 64 ? 64 - c->name.n : 0), "");
	if (c->is_text) {
		sonde_escape_terminal(&to->buf, f->text, true);
	} else {
		sonde_number_format(number, f->v);
		sonde_sink_printf(to, "%s%s", sonde_figure_mark(f, true), number);
		if (f->error > 0) {
			sonde_number_format(number, f->error);
			sonde_sink_printf(to, " ± %s", number);
		}
		sonde_sink_printf(to, " %s", c->unit);
	}
	sonde_sink_putc(to, '\n');
}

/* Writes the chosen sections of a region as plain text, one metric per line. */
static int write_sections(struct disk *d, uint32_t node, struct sonde_sink *to)
{
	const struct sonde_tree *t = d->tree;
	const struct sonde_region *g = sonde_node_region(t, &d->report->nodes.at[node]);
	size_t i, k;

	sonde_tree_values(t, d->report, SONDE_PART_INCLUSIVE, node, &d->figures);
	sonde_escape_terminal(&to->buf, sonde_region_path(g->id, g->kind), true);
	sonde_sink_puts(to, sonde_region_kind_mark(g->kind));
	sonde_sink_putc(to, '\n');
	if (t->sections.nr == 0)
		sonde_sink_puts(to, "\nNo sections were asked for (--sections).\n");
	for (i = 0; i < t->sections.nr; i++) {
		const struct sonde_chosen_section *s = &t->sections.at[i];

		sonde_sink_putc(to, '\n');
		sonde_escape_terminal(&to->buf, s->id, true);
		sonde_sink_puts(to, ": ");
		sonde_escape_terminal(&to->buf, s->name, true);
		sonde_sink_putc(to, '\n');
		for (k = 0; k < s->columns.nr; k++)
			if (!t->columns.at[s->columns.at[k]].is_chart)
				write_section_line(to, &t->columns.at[s->columns.at[k]], &d->figures.at[s->columns.at[k]]);
	}
	return 0;
}

static int write_rest(struct disk *d, uint32_t node, struct sonde_sink *to)
{
	(void)node;
	sonde_csv__write_regions(to, d->tree, d->report, d->rest, &d->figures);
	return 0;
}

static int write_exported(struct disk *d, uint32_t node, struct sonde_sink *to)
{
	(void)node;
	return d->export(d->tree, d->options, to, d->err);
}

/* Appends `folder` and `below` to d->path; returns the length before, to be given to leave_folder(). */
static size_t enter_folder(struct disk *d, const char *folder, const char *below)
{
	size_t back = d->path.n;

	sonde_buf_printf(&d->path, "/%s%s", folder, below);
	return back;
}

static void leave_folder(struct disk *d, size_t back)
{
	d->path.n = back;
	if (d->path.p)
		d->path.p[back] = '\0';
}

/* Writes DIR/name through `write`; d->path is DIR. */
static int write_file(struct disk *d, const char *name, writer write, uint32_t node)
{
	size_t back = enter_folder(d, "", name);
	struct sonde_sink to;
	int rc = d->path.failed ? sonde_err_nomem(d->err) : sonde_sink_open(&to, d->path.p, d->err);

	if (rc == 0)
		rc = sonde_sink_finish(&to, write(d, node, &to), d->err);
	leave_folder(d, back);
	return rc;
}

/* Writes the files of a region; `*at` becomes the path of its folder, relative to the directory. */
static int write_region(struct disk *d, uint32_t node, struct sonde_str folder, struct sonde_str *at)
{
	static const struct {
		const char *name;
		writer write;
	} files[] = {{"kernels.csv", write_kernels}, {"sections.txt", write_sections},
		{"report.md", write_markdown}, {"report.json", write_json}};
	size_t back = enter_folder(d, "", folder.p), i;
	int rc = d->path.failed ? sonde_err_nomem(d->err) : sonde_dir_make(d->path.p, d->err);

	if (rc == 0)
		*at = sonde_arena_dup(&d->folders.arena,
			(struct sonde_str){d->path.p + d->root + 1, d->path.n - d->root - 1});
	if (rc == 0 && !at->p)
		rc = sonde_err_nomem(d->err);

	for (i = 0; i < sizeof(files) / sizeof(*files) && rc == 0; i++)
		rc = write_file(d, files[i].name, files[i].write, node);
	leave_folder(d, back);
	return rc;
}

/* Lists the regions that get a folder: those that cost most. Their parents are always among them. */
static int list_folders(struct sonde_listing *out, struct disk *d, const struct sonde_report *r)
{
	struct sonde_export_options some = *d->options;

	some.max_regions = some.max_folders ? some.max_folders : MAX_FOLDERS;
	some.sort = SONDE_SORT_ORDER;
	return sonde_listing_build(out, d->tree, r, &some, d->err);
}

/* Writes one folder per region, and one table for the regions that get none. */
static int write_regions(struct disk *d, const struct sonde_report *r)
{
	struct sonde_report_folders all = {
		r, sonde_arena_calloc(&d->folders.arena, r->nodes.nr + 1, sizeof(*all.at))};
	struct sonde_folders folders = {0};
	struct sonde_listing list = {0}, rest = {0};
	size_t i;
	int rc = all.at && sonde_vec_put(&d->folders.of, all) ? list_folders(&list, d, r)
							      : sonde_err_nomem(d->err);

	if (rc == 0)
		rc = sonde_folders_build(&folders, d->tree, r, d->err);
	d->report = r;
	for (i = 0; i < list.nr && rc == 0; i++)
		rc = write_region(d, list.at[i], folders.at[list.at[i]], &all.at[list.at[i]]);
	if (rc == 0 && list.nr_left_out)
		rc = sonde_listing_invert(&rest, &list, r, d->err);
	d->rest = &rest;
	if (rc == 0 && rest.nr)
		rc = sonde_dir_make(d->path.p, d->err);
	if (rc == 0 && rest.nr)
		rc = write_file(d, SONDE_REST_FILE, write_rest, 0);
	sonde_listing_release(&rest);
	sonde_listing_release(&list);
	sonde_folders_release(&folders);
	return rc;
}

/*
 * The report that the folders show: the aggregate, else the only scope there is. NULL = each scope gets folders below
 * scopes/NAME/.
 */
static const struct sonde_report *folder_report(const struct disk *d)
{
	const struct sonde_report *first = NULL;
	size_t i, nr_scopes = 0;

	for (i = 0; i < d->tree->reports.nr; i++) {
		const struct sonde_report *r = &d->tree->reports.at[i];

		if (r->is_aggregate)
			return r;
		first = first ? first : r;
		nr_scopes++;
	}
	return nr_scopes == 1 ? first : NULL;
}

static int write_scope(struct disk *d, const struct sonde_report *r)
{
	struct sonde_buf name = {0};
	size_t back;
	int rc;

	sonde_folder_name(&name, &r->name, 1);
	back = enter_folder(d, "scopes/", name.p ? name.p : "");
	rc = d->path.failed || name.failed ? sonde_err_nomem(d->err) : write_regions(d, r);
	sonde_buf_release(&name);
	leave_folder(d, back);
	return rc;
}

/* Writes folders for what report.json calls the aggregate, then for the reports that are not in it. */
static int write_folders(struct disk *d)
{
	const struct sonde_report *main_report = folder_report(d);
	size_t i;
	int rc = main_report ? write_regions(d, main_report) : 0;

	for (i = 0; i < d->tree->reports.nr && rc == 0; i++) {
		const struct sonde_report *r = &d->tree->reports.at[i];
		bool is_extra = main_report && main_report->is_aggregate ? r->is_aggregate : true;

		if (r != main_report && is_extra)
			rc = write_scope(d, r);
	}
	return rc;
}

/* Writes a file of the whole report, DIR/name. */
static int write_whole(struct disk *d, const char *name, sonde_exporter *export)
{
	d->export = export;
	return write_file(d, name, write_exported, 0);
}

static int write_charts(struct disk *d)
{
	int rc = d->options->links_charts ? write_whole(d, "icicle.svg", sonde_export_icicle) : 0;

	if (rc == 0 && d->options->links_charts && sonde_roofline_exists(d->tree, d->options))
		rc = write_whole(d, "roofline.svg", sonde_export_roofline);
	return rc;
}

static bool wants_format(const struct sonde_export_options *o, const struct sonde_format *f)
{
	size_t i;

	if (!(f->flags & SONDE_FORMAT_IN_DIR))
		return false;
	for (i = 0; i < o->formats.nr; i++)
		if (strcmp(o->formats.at[i], f->name) == 0)
			return true;
	return o->formats.nr == 0 && (f->flags & SONDE_FORMAT_BY_DEFAULT);
}

/* Goes from the end of the table to its beginning, so that report.json comes last: if it exists, so does the rest. */
static int write_wholes(struct disk *d)
{
	char name[64];
	size_t i;
	int rc = 0;

	for (i = sonde_nr_formats; i-- > 0 && rc == 0;) {
		const struct sonde_format *f = &sonde_formats[i];

		snprintf(name, sizeof(name), "report.%s", f->name);
		if (wants_format(d->options, f))
			rc = write_whole(d, name, f->write);
	}
	return rc;
}

int sonde_export_dir(const struct sonde_tree *t, const struct sonde_export_options *o,
	const char *dir, struct sonde_err *err)
{
	struct sonde_export_options options = *o;
	struct disk d = {.tree = t, .options = &options, .err = err};
	int rc;

	options.more_at = "report.json";
	options.links_charts = sonde_has_regions(t);
	sonde_buf_puts(&d.path, dir);
	d.root = d.path.n;
	rc = d.path.failed ? sonde_err_nomem(err) : sonde_dir_make(dir, err);
	if (rc == 0)
		rc = open_writers(&d);
	if (rc == 0 && !o->no_folders)
		rc = write_folders(&d);
	options.folders = &d.folders;
	if (rc == 0)
		rc = write_charts(&d);
	if (rc == 0)
		rc = write_wholes(&d);
	close_writers(&d);
	sonde_vec_release(&d.folders.of);
	sonde_arena_release(&d.folders.arena);
	sonde_buf_release(&d.path);
	return rc;
}
