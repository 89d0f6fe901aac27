/*
 * The metrics of a capture, for people who want to choose some: name, unit, how they roll up,
 * and `default` where a report has them unless told otherwise.
 */
#include "base/escape.h"
#include "export/export.h"

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
