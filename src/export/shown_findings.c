#include "export/shown_findings.h"

#include "export/shown_reports.h"

#define LONG_NAME 60 /* bytes; longer ones are cut: it is a sentence */

size_t sonde_findings_shown(const struct sonde_tree *t, const struct sonde_export_options *o)
{
	const struct sonde_findings *f = t->findings;
	size_t max = o->max_findings ? o->max_findings : SONDE_FEW_FINDINGS;

	if (!f || o->no_findings || !sonde_report_is_shown(f->report, o) || o->is_flat ||
		(o->view != SONDE_VIEW_COST && o->view != SONDE_VIEW_IDLE))
		return 0;
	return f->at.nr < max ? f->at.nr : max;
}

static struct sonde_str end_of(struct sonde_str name)
{
	size_t from = name.n > LONG_NAME ? name.n - LONG_NAME : 0;

	while (from < name.n && from && (name.p[from] & 0xc0) == 0x80)
		from++;
	return (struct sonde_str){name.p + from, name.n - from};
}

void sonde_finding_say(struct sonde_buf *out, const struct sonde_finding *f)
{
	struct sonde_str where = end_of(f->where);

	sonde_buf_puts(out, where.n < f->where.n ? "..." : "");
	sonde_buf_str(out, where);
	sonde_buf_puts(out, ": ");
	sonde_buf_str(out, f->says);
	if (!sonde_str_ends(f->says, "."))
		sonde_buf_putc(out, '.');
}

void sonde_finding_say_next(struct sonde_buf *out, const struct sonde_findings *all, const struct sonde_finding *f)
{
	sonde_buf_puts(out, "Do: ");
	sonde_buf_str(out, f->action);
	sonde_buf_puts(out, ". Gain: ");
	sonde_finding_say_gain(out, all, f);
	sonde_buf_puts(out, ". More: `");
	sonde_buf_str(out, f->next);
	sonde_buf_puts(out, "`");
}

void sonde_findings_say_rest(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o)
{
	size_t nr = sonde_findings_shown(t, o);

	if (nr && nr < t->findings->at.nr)
		sonde_buf_printf(out, "%zu more: --findings all", t->findings->at.nr - nr);
}

bool sonde_findings_name(const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_export_options *o, uint32_t node)
{
	size_t i, k, nr = sonde_findings_shown(t, o);
	uint32_t region = r->nodes.at[node].region;

	for (i = 0; i < nr; i++) {
		const struct sonde_finding *f = &t->findings->at.at[i];
		const struct sonde_node *nodes = t->findings->report->nodes.at;

		if (f->node != SONDE_NONE && nodes[f->node].region == region)
			return true;
		for (k = 0; k < f->nr_evidence; k++)
			if (f->evidence[k].node != SONDE_NONE && nodes[f->evidence[k].node].region == region)
				return true;
	}
	return false;
}
