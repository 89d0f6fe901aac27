#include "tree/first.h"

#include "tree/findings.h"

/* The aggregate of one scope is that scope again. */
static bool is_about(const struct sonde_findings *f, const struct sonde_report *r)
{
	return f && (f->report == r || (f->report->is_shared && !r->is_aggregate && r->measured == f->report->measured));
}

int sonde_first_say(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_report *r, struct sonde_err *err)
{
	const struct sonde_findings *f = t->findings;

	(void)err;
	if (is_about(f, r) && f->at.nr)
		sonde_buf_printf(line, "%.*s: %.*s. Do: %.*s.", SONDE_STR_ARG(f->at.at[0].where),
			SONDE_STR_ARG(f->at.at[0].says), SONDE_STR_ARG(f->at.at[0].action));
	return 0;
}
