/* Which reports of a tree an output shows, and in which order. */
#include "export/shown_reports.h"

#include "base/glob.h"
#include "tree/findings.h"
#include "tree/judge.h"

#define CAUTION                                                                                     \
	"each figure covers the whole range, including launch gaps and nested ranges, and cannot be " \
	"split. Do not compare it with sums over kernels."

const char *sonde_report_caution(const struct sonde_report *r)
{
	static const char *const cautions[] = {[SONDE_MEASURED_RANGE] = "Replayed ranges: " CAUTION,
		[SONDE_MEASURED_APP_RANGE] = "Replayed ranges (app-range replay): " CAUTION};

	return cautions[r->measured];
}

const struct sonde_scope *sonde_report_scope(const struct sonde_tree *t, const struct sonde_report *r)
{
	const struct sonde_scope *s = r->scope == SONDE_NONE ? NULL : &t->cells->scopes.at[r->scope];

	return s && !s->nr_folded ? s : NULL;
}

bool sonde_report_is_shown(const struct sonde_report *r, const struct sonde_export_options *o)
{
	size_t i;

	for (i = 0; i < o->scopes.nr; i++)
		if (sonde_str_glob(r->name, sonde_str_from(o->scopes.at[i])))
			return true;
	return o->scopes.nr == 0;
}

bool sonde_report_is_printed(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	size_t i;

	if (o->scopes.nr || o->per_scope || r->is_aggregate)
		return sonde_report_is_shown(r, o);
	for (i = sonde_tree_first_aggregate(t); i < t->reports.nr; i++) {
		const struct sonde_report *other = &t->reports.at[i];

		if (other->measured == r->measured && other->nr_scopes > 1)
			return false;
	}
	return true;
}

bool sonde_report_is_doubled(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	size_t i;

	if (r->nr_scopes > 1 || !r->is_aggregate)
		return false;
	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *other = &t->reports.at[i];

		if (!other->is_aggregate && other->measured == r->measured &&
			sonde_report_is_shown(other, o))
			return true;
	}
	return false;
}

bool sonde_report_comes_first(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	return r->is_aggregate && !sonde_report_is_doubled(t, r, o);
}

const struct sonde_report *sonde_report_main(
	const struct sonde_tree *t, const struct sonde_export_options *o)
{
	const struct sonde_report *first = NULL;
	size_t i;

	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (!sonde_report_is_shown(r, o))
			continue;
		if (r->is_aggregate)
			return r;
		first = first ? first : r;
	}
	return first;
}

static bool scope_matches(const struct sonde_tree *t, const char *word)
{
	const struct sonde_export_options one = {.scopes = {&word, 1}};
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (sonde_report_is_shown(&t->reports.at[i], &one))
			return true;
	return false;
}

int sonde_export_check_scopes(
	const struct sonde_tree *t, const struct sonde_export_options *o, struct sonde_err *err)
{
	struct sonde_buf names = {0};
	size_t i, k;
	int rc = 0;

	for (i = 0; i < o->scopes.nr && rc == 0; i++) {
		if (scope_matches(t, o->scopes.at[i]))
			continue;
		for (k = 0; k < t->reports.nr; k++)
			sonde_buf_printf(&names, "%s%.*s", k ? ", " : "",
				SONDE_STR_ARG(t->reports.at[k].name));
		rc = sonde_err_set(err, SONDE_ERR_USAGE, "no scope matches '%s'; there are: %s",
			o->scopes.at[i], names.p ? names.p : "none");
	}
	sonde_buf_release(&names);
	return rc;
}

bool sonde_selects_nothing(const struct sonde_tree *t)
{
	struct sonde_coverage kernels, ranges;

	sonde_coverage_build(&kernels, t, false);
	sonde_coverage_build(&ranges, t, true);
	if (kernels.total + ranges.total == 0) /* there are host times only */
		return t->cells->regions.nr && !t->cells->tally.takes_range;
	return kernels.not_selected + ranges.not_selected == kernels.total + ranges.total;
}

void sonde_say_nothing_selected(struct sonde_buf *out, const struct sonde_tree *t, const char *strong)
{
	if (!sonde_selects_nothing(t))
		return;
	sonde_buf_printf(out, "%s%s is selected%s: the notes say why.", strong, sonde_has_regions(t) ? "No kernel" : "Nothing",
		strong);
	if (t->findings && t->findings->at.nr)
		sonde_buf_puts(out, " Host times and idle times do not depend on the kernels that are selected.");
}

bool sonde_has_regions(const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (t->reports.at[i].nodes.nr)
			return true;
	return false;
}
