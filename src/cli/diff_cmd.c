#include "check/validate.h"
#include "cli/command.h"
#include "cli/diff_request.h"
#include "cli/messages.h"
#include "cli/terminal.h"
#include "compare/report_in.h"
#include "lib/pipeline.h"

#define STATUS_ALARMS 3 /* of --self-test: more than there may be */

/* All runs, the base's first, and their trees in a row. */
struct runs {
	SONDE_VEC(struct sonde_pipeline *) at;
	SONDE_VEC(const struct sonde_tree *) trees;
};

static void release_runs(struct runs *runs)
{
	size_t i;

	for (i = 0; i < runs->at.nr; i++)
		sonde_pipeline_free(runs->at.at[i]);
	sonde_vec_release(&runs->at);
	sonde_vec_release(&runs->trees);
}

/* A finished report is checked and taken as it is. */
static int read_report(struct sonde_pipeline *p, const char *path, struct sonde_err *err)
{
	int rc = sonde_report_check_schema(path, err);

	if (rc == 0)
		rc = sonde_validate_file(path, err);
	return rc ? rc : sonde_report_read(&p->cells, &p->tree, path, err);
}

static int read_input(struct sonde_pipeline *p, const char *path, struct hydra_config *config,
	struct sonde_err *err)
{
	int rc;

	if (sonde_pipeline_add_input(p, path))
		return sonde_err_nomem(err);
	rc = sonde_pipeline_configure_by(p, config, err);
	p->settings.fold.choice.headline_only = true;
	p->settings.fold.choice.no_aggregate = false; /* it is what is compared */
	p->settings.fold.keep = 0; /* entries of all scopes are compared */
	if (rc == 0)
		rc = sonde_pipeline_fold(p, err);
	if (rc == 0)
		rc = sonde_pipeline_arrange(p, err);
	return rc;
}

static int open_run(
	struct runs *runs, const char *path, struct hydra_config *config, struct sonde_err *err)
{
	struct sonde_pipeline **slot = sonde_vec_push(&runs->at), *p;
	const struct sonde_tree **tree = sonde_vec_push(&runs->trees);
	int rc;

	if (!slot || !tree)
		return sonde_err_nomem(err);
	*slot = p = sonde_pipeline_new();
	if (!p)
		return sonde_err_nomem(err);
	rc = sonde_report_is_json(path) ? read_report(p, path, err)
					: read_input(p, path, config, err);
	*tree = p->tree;
	return rc;
}

static int open_runs(struct runs *runs, const struct sonde_word_list *paths,
	struct hydra_config *config, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < paths->nr && rc == 0; i++)
		rc = open_run(runs, paths->at[i], config, err);
	return rc;
}

static int write_diff(
	const struct sonde_diff *d, const struct sonde_diff_request *q, struct sonde_err *err)
{
	sonde_diff_writer *write = sonde_diff_writer_named(q->format ? q->format : "text");
	const struct sonde_diff_out o = {.base = {q->base.at, q->base.nr},
		.new_side = {q->new_side.at, q->new_side.nr},
		.width = q->width ? q->width : sonde_terminal_width(),
		.max_regions = q->max_regions,
		.is_coloured = !q->output && sonde_terminal_is_coloured(q->colour),
		.is_utf8 = sonde_terminal_is_utf8()};
	struct sonde_sink out;
	int rc = sonde_output_open(&out, q->output, err);

	if (rc)
		return rc;
	return sonde_sink_finish(&out, write(d, &o, &out, err), err);
}

static int refuse(const struct sonde_diff *d, struct sonde_err *err)
{
	sonde_say_notes(&d->reasons);
	return sonde_err_set(err, SONDE_ERR_FORMAT,
		"diff: the sides are not comparable; --force compares them all the same");
}

/* A gate that compared nothing, or a part only, says why, whatever the format has. */
static int say_reasons(const struct sonde_diff *d, struct sonde_err *err)
{
	if (d->gate == SONDE_GATE_NOT_COMPARED || d->gate == SONDE_GATE_DAMAGED)
		sonde_say_notes(&d->gate_reasons);
	if (d->gate != SONDE_GATE_DAMAGED)
		return 0;
	return sonde_err_set(err, SONDE_ERR_FORMAT,
		"diff: a gate needs whole inputs: copy or capture them again, or ask it about what is "
		"there with --partial-inputs");
}

static int compare(const struct runs *runs, const struct sonde_diff_request *q, int *status,
	struct sonde_err *err)
{
	const struct sonde_diff_side base = {runs->trees.at, q->base.nr},
				     new_side = {runs->trees.at + q->base.nr, q->new_side.nr};
	struct sonde_diff *d = NULL;
	int rc = sonde_diff_build(&d, &base, &new_side, &q->options, err);

	if (rc == 0 && !d->is_comparable && !q->is_forced)
		rc = refuse(d, err);
	if (rc == 0)
		rc = write_diff(d, q, err);
	if (rc == 0) {
		*status = sonde_diff_status(d);
		rc = say_reasons(d, err);
	}
	sonde_diff_free(d);
	return rc;
}

static int test_self(const struct runs *runs, const struct sonde_diff_request *q, int *status,
	struct sonde_err *err)
{
	const struct sonde_diff_side side = {runs->trees.at, runs->trees.nr};
	uint32_t rounds = q->rounds && q->rounds < 1000000 ? (uint32_t)q->rounds : 200;
	struct sonde_diff_selftest t;
	struct sonde_sink out;
	int rc = sonde_diff_selftest(&t, &side, &q->options, rounds, err);

	if (rc == 0)
		rc = sonde_output_open(&out, q->output, err);
	if (rc)
		return rc;
	sonde_sink_printf(&out,
		"%u regions have enough entries to be split; of %u random splits into two sides "
		"that do not differ, %u (%.1f %%) would have named one\n",
		t.regions, t.rounds, t.alarms, 100.0 * t.alarms / t.rounds);
	*status = t.alarms > 0.05 * t.rounds ? STATUS_ALARMS : 0;
	return sonde_sink_close(&out, err);
}

/* config → read … tree → compare → export */
static int run_diff(struct sonde_diff_request *q, int *status, struct sonde_err *err)
{
	const struct sonde_config_request want = {
		.overrides = (const char *const *)q->overrides.words.at, .nr_overrides = q->overrides.words.nr};
	struct hydra_config *config = NULL;
	struct runs runs = {0};
	int rc = sonde_settings_compose(&config, &want, false, err);

	if (rc == 0)
		rc = open_runs(&runs, &q->base, config, err);
	if (rc == 0)
		rc = open_runs(&runs, &q->new_side, config, err);
	if (rc == 0)
		rc = q->is_selftest ? test_self(&runs, q, status, err)
				    : compare(&runs, q, status, err);
	release_runs(&runs);
	hydra_config_free(config);
	return rc;
}

int sonde_cmd_diff(int argc, char **argv)
{
	struct sonde_diff_request q;
	struct sonde_err err = {0};
	int status = 0, rc = sonde_diff_request_read(&q, argc, argv, &err);

	if (rc == 0)
		rc = run_diff(&q, &status, &err);
	sonde_diff_request_release(&q);
	return rc < 0 ? sonde_cmd_fail(&err) : status;
}
