/* Metrics as plain lists of lines: those of a capture, to choose from, and those of a region, section by section. */
#include "base/escape.h"
#include "base/number.h"
#include "export/export.h"
#include "export/field.h"

/*
 * For people who want to choose some: name, unit, how they roll up, and `default` where a report has them unless
 * others were chosen.
 */
int sonde_export_metric_list(
	const struct sonde_tree *t, struct sonde_sink *to, bool is_utf8, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		const struct sonde_column *c = &t->columns.at[i];

		sonde_escape_terminal(&to->buf, c->name, is_utf8);
		sonde_sink_putc(to, '\t');
		sonde_escape_terminal(&to->buf, sonde_str_from(c->unit), is_utf8);
		sonde_sink_printf(
			to, "\t%s%s\n", c->methods[0], c->is_default ? "\tdefault" : "");
	}
	return to->buf.failed ? sonde_err_nomem(err) : 0;
}

/* A metric of a section: name, figure, unit. */
static void write_line(struct sonde_sink *to, const struct sonde_column *c, const struct sonde_figure *f)
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

void sonde_sections_print(struct sonde_sink *to, const struct sonde_tree *t,
	const struct sonde_report *r, uint32_t node, struct sonde_figures *f)
{
	const struct sonde_region *g = sonde_node_region(t, &r->nodes.at[node]);
	size_t i, k;

	sonde_tree_values(t, r, SONDE_PART_INCLUSIVE, node, f);
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
				write_line(to, &t->columns.at[s->columns.at[k]],
					&f->at[s->columns.at[k]]);
	}
}
