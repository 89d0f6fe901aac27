#include "export/stall_tables.h"

#include "catalogue/stall_reasons.h"
#include "export/source_text.h"
#include "tree/hot_lines.h"
#include "tree/stall_profile.h"

#define MOST_REASONS 4
#define LEAST_SHARE  0.05 /* share of a reason with a row; the first reason has one in any case */
#define MOST_KERNELS 10
#define MOST_CALLERS 8
#define LEAST_LAST   16

struct sonde_str sonde_lacks_lines(const struct sonde_tree *tree)
{
	size_t i;

	for (i = 0; i < tree->notes.texts.nr; i++)
		if (sonde_str_has(tree->notes.texts.keys[i], SONDE_HAS_BAD_LINES, NULL))
			return SONDE_STR("No sample has a line: the line table of the code cannot be read (see the notes).");
	return SONDE_STR("No sample has a line: compile with -lineinfo (nvcc), and keep the cubins/ beside the capture.");
}

static bool is_issue(struct sonde_str reason)
{
	const struct sonde_stall_reason *r = sonde_stall_reason_find(reason);

	return r && r->is_issue;
}

static void put_empty(struct sonde_table *t, size_t nr)
{
	while (nr--)
		sonde_table_words(t, "");
}

static void put_reason(struct sonde_table *t, const struct sonde_stall_share *s)
{
	sonde_table_number(t, 100 * s->share, 1, "%");
	sonde_table_text(t, sonde_stall_reason_words(s->name), SONDE_STYLE_PLAIN);
}

/* Writes the cells after the name, and rows for further reasons. */
static void put_profile(struct sonde_table *t, const struct sonde_stall_profile *p)
{
	double issued = 0;
	size_t i, nr = 0;

	for (i = 0; i < p->at.nr; i++)
		issued += is_issue(p->at.at[i].name) ? p->at.at[i].share : 0;
	sonde_table_number(t, p->samples, 0, "");
	sonde_table_words(t, sonde_stall_profile_is_exact(p) ? "exact" : "by time");
	sonde_table_number(t, 100 * issued, 1, "%");
	for (i = 0; i < p->at.nr && nr < MOST_REASONS; i++) {
		const struct sonde_stall_share *s = &p->at.at[i];

		if (is_issue(s->name) || (nr && s->share < LEAST_SHARE))
			continue;
		put_empty(t, nr++ ? 5 : 0);
		put_reason(t, s);
	}
	put_empty(t, nr ? 0 : 2);
}

/* The time of a row's launches: of a region or, without a listing, of a kernel. */
static double row_ms(const struct sonde_report *r, const struct sonde_listing *l, size_t row)
{
	return (l ? r->nodes.at[l->at[row]].time_ns : r->kernels.at[r->flat_first_kernel + row].time_ns) / 1e6;
}

void sonde_stall_table_fill(struct sonde_table *t, const struct sonde_tree *tree, const struct sonde_report *r,
	const struct sonde_export_options *o, const struct sonde_listing *l)
{
	static const char *const heads[] = {">1samples", "0split", ">0issued", ">0share", "0waits", NULL};
	size_t i, max = o->max_kernels ? o->max_kernels : MOST_KERNELS, nr = r->nr_flat_kernels < max ? r->nr_flat_kernels : max;
	struct sonde_stall_profile p = {0};
	struct sonde_scale ms = {0};

	nr = l ? l->nr : nr;
	for (i = 0; i < nr; i++)
		sonde_scale_add(&ms, row_ms(r, l, i));
	sonde_scale_choose(&ms, ms.most, t->is_utf8);
	sonde_table_column(t, l ? SONDE_STR("region") : SONDE_STR("kernel"), false, 0);
	sonde_scale_column(t, &ms, l ? SONDE_STR("incl ms") : SONDE_STR("total ms"), 2);
	sonde_table_heads(t, heads);
	t->least_last = LEAST_LAST;
	for (i = 0; i < nr; i++) {
		uint32_t index = l ? l->at[i] : r->flat_first_kernel + (uint32_t)i;

		t->failed |= !sonde_stall_profile_make(&p, tree, r, l ? SONDE_PART_INCLUSIVE : SONDE_PART_KERNEL, index);
		if (t->failed || !p.at.nr)
			continue;
		if (l)
			sonde_table_region(t, sonde_node_region(tree, &r->nodes.at[index])->id,
				sonde_node_region(tree, &r->nodes.at[index])->kind);
		else
			sonde_table_name(t, sonde_kernel_name(tree, o, r->kernels.at[index].name));
		sonde_table_put(t, SONDE_STYLE_BOLD);
		sonde_scale_put(t, &ms, row_ms(r, l, i));
		put_profile(t, &p);
	}
	sonde_stall_profile_release(&p);
}

/* --- lines --------------------------------------------------------------------------------------- */

/* Writes a cell with the text of a line; empty if its file is not there. */
static void put_source(struct sonde_table *t, struct sonde_source_texts *sources, const struct sonde_line *line)
{
	struct sonde_str text;

	if (sonde_source_text(sources, line, &text) == SONDE_SOURCE_CHANGED)
		sonde_table_words(t, "(the file has changed)");
	else
		sonde_table_text(t, text, SONDE_STYLE_PLAIN);
}

static void put_place(struct sonde_table *t, const char *before, const struct sonde_cells *c, const struct sonde_line *line)
{
	sonde_buf_puts(&t->cell, before);
	sonde_table_name(t, sonde_cells_str(c, line->file));
	sonde_buf_printf(&t->cell, ":%u", line->line);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

/* Writes a line, and a row for each line that it was inlined in. */
static void put_line(struct sonde_table *t, struct sonde_source_texts *sources, const struct sonde_hot_line *hot, double all)
{
	const struct sonde_cells *c = sources->c;
	const struct sonde_line *line = &c->lines.at[hot->line];
	size_t i;

	put_place(t, "  ", c, line);
	sonde_table_number(t, 100 * hot->samples / all, 1, "%");
	if (hot->reason == SONDE_NONE)
		sonde_table_words(t, "issued only");
	else
		sonde_table_text(t, sonde_stall_reason_words(sonde_cells_str(c, c->stall_reasons.at[hot->reason])), SONDE_STYLE_PLAIN);
	put_source(t, sources, line);
	for (i = 0; line->caller != SONDE_NONE && i < MOST_CALLERS; i++) {
		line = &c->lines.at[line->caller];
		put_place(t, "    inlined at ", c, line);
		put_empty(t, 2);
		put_source(t, sources, line);
	}
}

void sonde_line_table_fill(struct sonde_table *t, const struct sonde_tree *tree, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	static const char *const heads[] = {"0kernel, line", ">0share", "0mostly", "1source", NULL};
	size_t i, k, left = o->max_kernels ? o->max_kernels : MOST_KERNELS;
	struct sonde_hot_lines lines = {0};
	struct sonde_source_texts sources;

	sonde_source_texts_open(&sources, tree->cells);
	sonde_table_heads(t, heads);
	t->least_last = LEAST_LAST;
	for (i = 0; i < r->nr_flat_kernels && left; i++) {
		uint32_t index = r->flat_first_kernel + (uint32_t)i;

		t->failed |= !sonde_hot_lines_make(&lines, tree, r, SONDE_PART_KERNEL, index);
		if (t->failed || !lines.at.nr)
			continue;
		left--;
		sonde_table_text(t, sonde_kernel_name(tree, o, r->kernels.at[index].name), SONDE_STYLE_BOLD);
		put_empty(t, 3);
		for (k = 0; k < lines.at.nr && k < o->max_lines; k++)
			put_line(t, &sources, &lines.at.at[k], lines.samples);
	}
	t->failed |= sources.arena.failed;
	sonde_source_texts_release(&sources);
	sonde_hot_lines_release(&lines);
}
