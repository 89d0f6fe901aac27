/* Private to the room: pieces of Markdown that the report and the region folders share. */
#ifndef SONDE_EXPORT_MARKDOWN_INT_H
#define SONDE_EXPORT_MARKDOWN_INT_H

#include "export/field.h"
#include "export/table.h"

struct sonde_markdown {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_export_options *options;
	struct sonde_figures figures, own;
	struct sonde_buf cell; /* scratch */
	/* The columns of the table of regions that is being made, and whether its last one is the bound. */
	const struct sonde_field *columns[64];
	size_t nr_columns;
	bool has_bounds;
	bool *is_named; /* by string: whether the kernel was listed */
};

int sonde_markdown__init(struct sonde_markdown *m, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err);
void sonde_markdown__release(struct sonde_markdown *m);

/* Writes the lines about captures and coverage, and the notes. */
void sonde_markdown__write_head(struct sonde_markdown *m);
/* Writes one region: parent, instances, metrics, sections, kernels. Its heading has `level` number signs. */
void sonde_markdown__write_region(
	struct sonde_markdown *m, const struct sonde_report *r, uint32_t node, unsigned level);
/* Writes `name` escaped, or `""` when it is empty. */
void sonde_markdown__write_name(struct sonde_markdown *m, struct sonde_str name);
/* The headline metrics: adds their columns to a table; writes their cells with the figures in m->figures. */
void sonde_markdown__add_headline_columns(struct sonde_markdown *m, struct sonde_table *t);
void sonde_markdown__write_headline(struct sonde_markdown *m, struct sonde_table *t);
/* Prints the table and releases it; prints nothing for a table without rows. */
void sonde_markdown__finish(struct sonde_markdown *m, struct sonde_table *t);
/* Writes a line below a table that was cut: how many rows are not in it, and where all of them are. */
void sonde_markdown__write_more(struct sonde_markdown *m, size_t nr, const char *what);
/* Writes the full names of the kernels that were listed by short ones; nothing if all names are whole. */
void sonde_markdown__write_legend(struct sonde_markdown *m, unsigned level);
/* Writes a table of at most max_kernels kernels. */
void sonde_markdown__write_kernels(
	struct sonde_markdown *m, const struct sonde_report *r, uint32_t first, uint32_t nr);

#endif
