#include "cli/run_int.h"
#include "cli/settings.h"
#include "export/export.h"

#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct sonde_words words(struct sonde_list first, struct sonde_list second)
{
	return first.nr ? (struct sonde_words){first.at, first.nr}
			: (struct sonde_words){second.at, second.nr};
}

/*
 * Names that ncu compared with something else than sonde would are not compared
 * again: `regex:` over function names.
 */
static struct sonde_words kernel_words(const struct sonde_capture_settings *set)
{
	const struct sonde_list none = {NULL, 0};
	bool is_demangled =
		set->ncu.kernel_name_base && strcmp(set->ncu.kernel_name_base, "demangled") == 0;
	size_t i;

	for (i = 0; i < set->ncu.kernel_name.nr && !is_demangled; i++)
		if (strncmp(set->ncu.kernel_name.at[i], "regex:", 6) == 0)
			return words(set->report_kernel_include, none);
	return words(set->report_kernel_include, set->ncu.kernel_name);
}

static struct sonde_selection selection_of(const struct sonde_capture_settings *set, bool is_ncu)
{
	const struct sonde_list none = {NULL, 0};

	return (struct sonde_selection){
		.nvtx_include = words(set->report_nvtx_include, is_ncu ? set->nvtx_include : none),
		.nvtx_exclude = words(set->report_nvtx_exclude, is_ncu ? set->nvtx_exclude : none),
		.kernel_include =
			is_ncu ? kernel_words(set) : words(set->report_kernel_include, none),
		.kernel_exclude =
			words(set->report_kernel_exclude, is_ncu ? set->kernel_exclude : none),
		.stack_only = set->nesting && strcmp(set->nesting, "stack") == 0};
}

static struct sonde_choice choice_of(const struct sonde_capture_settings *set, bool is_ncu)
{
	const struct sonde_list none = {NULL, 0};
	bool is_own = set->report_metrics.nr || set->report_sections.nr;

	return (struct sonde_choice){
		.metrics = words(set->report_metrics, is_ncu && !is_own ? set->ncu.metrics : none),
		.sections =
			words(set->report_sections, is_ncu && !is_own ? set->ncu.sections : none),
		.metrics_by_default = !is_own,
		.sections_by_default = !is_own,
		.no_aggregate = !set->aggregate};
}

static int print_tree(
	const struct sonde_tree *t, const struct sonde_export_options *o, struct sonde_err *err)
{
	struct sonde_sink out;
	int rc;

	sonde_sink_init_fd(&out, STDOUT_FILENO);
	rc = sonde_export_text(t, o, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

static int write_markdown(struct sonde_run *r, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_err *err)
{
	const char *path = sonde_run_path(r, "report.md");
	struct sonde_sink out;
	int rc = path ? sonde_sink_open(&out, path, err) : sonde_err_nomem(err);

	if (rc)
		return rc;
	rc = sonde_export_markdown(t, o, &out, err);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

static int export_all(struct sonde_run *r, const struct sonde_tree *t, const char *dir,
	bool is_shown, struct sonde_err *err)
{
	char now[32] = "";
	time_t seconds = time(NULL);
	struct tm tm;
	struct sonde_export_options o = {.max_regions = sonde_limit_of(r->set.max_regions),
		.max_kernels = sonde_limit_of(r->set.max_kernels),
		.sort = sonde_sort_named(sonde_str_from(r->set.sort)),
		.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.more_at = "report.json"};
	int rc;

	if (!r->set.deterministic && gmtime_r(&seconds, &tm))
		strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &tm);
	o.generated_at = now[0] ? now : NULL;
	rc = sonde_export_dir(t, &o, dir, err);
	if (rc == 0 && is_shown)
		rc = write_markdown(r, t, &o, err);
	o.is_coloured = isatty(STDOUT_FILENO);
	o.max_kernels = 0;
	if (rc == 0 && is_shown)
		rc = print_tree(t, &o, err);
	return rc;
}

int sonde_run_report(struct sonde_run *r, const char *stage, bool is_shown, struct sonde_err *err)
{
	bool is_ncu = strcmp(stage, "ncu") == 0;
	const struct sonde_selection selection = selection_of(&r->set, is_ncu);
	const struct sonde_choice choice = choice_of(&r->set, is_ncu);
	const char *from = sonde_run_path(r, "%s", stage),
		   *to = sonde_run_path(r, "%s/regions", stage);
	struct sonde_records *records = NULL;
	struct sonde_launches *launches = NULL;
	struct sonde_tree *tree = NULL;
	int rc = from && to ? 0 : sonde_err_nomem(err);

	if (rc == 0)
		rc = sonde_records_open(&records, &from, 1, err);
	if (rc == 0) {
		sonde_notes_add(&records->notes, &r->notes);
		rc = sonde_launches_build(&launches, records, &selection, err);
	}
	if (rc == 0)
		rc = sonde_tree_build(&tree, launches, &choice, err);
	if (rc == 0 && launches->nr_taken == 0 && records->records.nr)
		sonde_note(&tree->notes,
			"no launch lies in a selected region: nothing region-specific "
			"was profiled");
	if (rc == 0)
		rc = export_all(r, tree, to, is_shown, err);
	sonde_tree_free(tree);
	sonde_launches_free(launches);
	sonde_records_free(records);
	return rc;
}
