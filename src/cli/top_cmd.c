#include "base/escape.h"
#include "base/json_out.h"
#include "capture/kernel_list.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/messages.h"
#include "cli/newest_run.h"
#include "cli/overrides.h"
#include "cli/terminal.h"
#include "export/export.h"
#include "lib/pipeline.h"
#include "read/ranking.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct request {
	struct sonde_word_list nvtx_include;
	struct sonde_argv overrides;
	const char *output, *format;
	size_t topk, width;
	int sort;
	bool full_names, together;
};

#define ENDINGS(X) X(".txt", "text") X(".yaml", "yaml") X(".yml", "yaml") X(".json", "json") X(".csv", "csv")
#define ENDING(ending, name) "|" ending

/* The format that the user asks for, else the one that the ending of the file means, else text. */
static const char *format_of(const struct request *q)
{
#define PAIR(ending, name) {ending, name},
	static const char *const endings[][2] = {ENDINGS(PAIR)};
#undef PAIR
	size_t i;

	for (i = 0; !q->format && q->output && i < sizeof(endings) / sizeof(*endings); i++)
		if (sonde_str_ends(sonde_output_stem(q->output), endings[i][0]))
			return endings[i][1];
	return q->format ? q->format : "text";
}

static int write_list(const struct sonde_ranking *ranking, const struct request *q,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_kernel_list list = {0};
	char text[128];
	size_t i, nr = 0;
	int rc = 0;

	for (i = 0; i < ranking->kernels.nr && nr < q->topk && rc == 0; i++) {
		const struct sonde_ranked *k = &ranking->kernels.at[i];

		if (k->is_copy)
			continue;
		nr++;
		snprintf(text, sizeof(text), "%.1f %% of the time, %.0f ns, %" PRIu64 " %s",
			k->time_pct, k->time_ns, k->calls, k->calls == 1 ? "call" : "calls");
		if (!sonde_kernel_list_add(&list, k->name, NULL, text))
			rc = sonde_err_nomem(err);
	}
	if (rc == 0 && !nr)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "top: there is no kernel to list: all GPU work is copies, which -f text shows");
	if (rc == 0)
		sonde_kernel_list_write(&list, to);
	sonde_kernel_list_release(&list);
	return rc;
}

static int write_json(const struct sonde_ranking *ranking, const struct request *q,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_json w = {.sink = to};
	size_t i, nr = ranking->kernels.nr < q->topk ? ranking->kernels.nr : q->topk;

	(void)err;
	sonde_json_open(&w, NULL, '{', false);
	sonde_json_array(&w, "kernels", false, i, nr)
	{
		const struct sonde_ranked *k = &ranking->kernels.at[i];

		sonde_json_open(&w, NULL, '{', true);
		sonde_json_str(&w, "name", k->name);
		sonde_json_z(&w, "kind", k->is_copy ? "copy" : "kernel");
		sonde_json_number(&w, "launches", k->calls ? (double)k->calls : NAN);
		sonde_json_number(&w, "time_ns", k->time_ns);
		sonde_json_number(&w, "time_pct", k->time_pct);
		sonde_json_close(&w, '}');
	}
	sonde_json_close(&w, '}');
	sonde_sink_putc(to, '\n');
	return 0;
}

static int write_csv(const struct sonde_ranking *ranking, const struct request *q,
	struct sonde_sink *to, struct sonde_err *err)
{
	size_t i;

	(void)err;
	sonde_sink_puts(to, "name,launches,time_ns,time_pct,kind\n");
	for (i = 0; i < ranking->kernels.nr && i < q->topk; i++) {
		const struct sonde_ranked *k = &ranking->kernels.at[i];

		sonde_escape_csv(&to->buf, k->name);
		sonde_sink_putc(to, ',');
		if (k->calls)
			sonde_sink_printf(to, "%" PRIu64, k->calls);
		sonde_sink_printf(to, ",%.0f,%.2f,%s\n", k->time_ns, k->time_pct, k->is_copy ? "copy" : "kernel");
	}
	return 0;
}

static int write_table(const struct sonde_ranking *ranking, const struct request *q,
	struct sonde_sink *to, struct sonde_err *err)
{
	const struct sonde_export_options o = {.max_kernels = q->topk,
		.full_names = q->full_names,
		.width = q->width ? q->width : sonde_terminal_width(),
		.is_utf8 = sonde_terminal_is_utf8(),
		.is_coloured = !q->output && sonde_terminal_is_coloured(SONDE_COLOUR_AUTO)};

	return sonde_export_ranking(ranking, &o, to, err);
}

/* Takes all kernels and copies of the run, in whichever regions they are. */
static int take_kernels(
	struct sonde_ranking *ranking, const struct sonde_tree *t, const struct sonde_report *r)
{
	uint32_t i;

	for (i = 0; i < r->nr_flat_kernels; i++) {
		const struct sonde_kernel *k = &r->kernels.at[r->flat_first_kernel + i];

		if (!sonde_vec_put(&ranking->kernels,
			    (struct sonde_ranked){sonde_tree_str(t, k->name), k->calls, isnan(k->time_ns) ? 0 : k->time_ns, NAN,
				    sonde_kernel_is_copy(t, r, k)}))
			return SONDE_ERR_NOMEM;
	}
	return 0;
}

/* Ranks the kernels of a capture; their names are borrowed from the pipeline. */
static int rank_capture(struct sonde_ranking *ranking, struct sonde_pipeline *p, const char *path,
	struct sonde_err *err)
{
	const struct sonde_view *v;
	int rc = sonde_pipeline_add_input(p, path) ? sonde_err_nomem(err)
						   : sonde_pipeline_configure(p, err);

	if (rc)
		return rc;
	sonde_say_notes(&p->config_notes);
	p->settings.fold.choice.headline_only = true; /* the choice does not matter: times are always there */
	rc = sonde_pipeline_run(p, err);
	if (rc)
		return rc;
	sonde_say_notes(&p->cells->notes); /* which run was read, and what is missing */
	v = sonde_pipeline_main_view(p);
	if (v && !v->report->is_ranges && take_kernels(ranking, p->tree, v->report))
		return sonde_err_nomem(err);
	sonde_ranking_finish(ranking);
	return 0;
}

static int write_ranking(
	const struct sonde_ranking *ranking, const struct request *q, struct sonde_err *err)
{
	static const struct {
		const char *name;
		int (*write)(const struct sonde_ranking *ranking, const struct request *q, struct sonde_sink *to,
			struct sonde_err *err);
	} formats[] = {{"text", write_table}, {"yaml", write_list}, {"json", write_json}, {"csv", write_csv}};
	const char *format = format_of(q);
	struct sonde_sink out;
	size_t i = 0;
	int rc = sonde_output_open(&out, q->output, err);

	if (rc)
		return rc;
	while (strcmp(formats[i].name, format) != 0)
		i++;
	return sonde_sink_finish(&out, formats[i].write(ranking, q, &out, err), err);
}

static int write_top(const char *input, const struct request *q, struct sonde_err *err)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	struct sonde_ranking ranking = {0};
	size_t i;
	int rc = p ? sonde_ranking_open(&ranking, input, err) : sonde_err_nomem(err);

	if (rc == 0 && q->overrides.words.nr)
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"top: %s is a kernel summary, which has no regions and no runs: leave out --nvtx-include and "
			"--together",
			input);
	for (i = 0; rc == SONDE_NO_SUMMARY && i < q->overrides.words.nr; i++)
		if (sonde_pipeline_set(p, q->overrides.words.at[i]))
			rc = sonde_err_nomem(err);
	if (rc == SONDE_NO_SUMMARY)
		rc = rank_capture(&ranking, p, input, err);
	if (rc == 0 && ranking.kernels.nr == 0)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: there is no kernel in it; `sonde report` shows what it has", input);
	if (rc == 0)
		rc = write_ranking(&ranking, q, err);
	sonde_ranking_release(&ranking);
	sonde_pipeline_free(p);
	return rc;
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('k', "topk", "K", LIMIT, topk, "how many kernels (10; all)"),
	SONDE_OPT('f', "format", "text|yaml|json|csv", ONE_OF, format,
		"a table, a list for `sonde kernels` (yaml), or for programs (text; with -o the ending of "
		"FILE says it)"),
	SONDE_OPT_KEY("nvtx-include", "EXPR", WORDS, nvtx_include, "report.nvtx.include",
		"only launches inside these ranges, as for `sonde report`; may be repeated"),
	SONDE_OPT(0, "full-names", NULL, FLAG, full_names,
		"whole C++ names in the table, not short ones"),
	SONDE_OPT(0, "sort-by", "time_pct|time_ns", CHOICE, sort,
		"both rank by total time (time_pct)"),
	SONDE_OPT_KEY("together", NULL, FLAG, together, "report.together=true",
		"of a folder, add up all runs and jobs in it; otherwise take its newest run"),
	SONDE_OPT('o', "output", "FILE", WORD, output, "write there instead of printing"),
	SONDE_OPT_WIDTH(width),
};

static const struct sonde_usage usage = {"sonde top [INPUT] [options]",
	"The kernels and copies that take the most time: a table, or a list of kernels\n"
	"that `sonde kernels --kernel-config` reads: name, an exact regular expression, a\n"
	"description. INPUT is a kernel summary of Nsight Systems (CSV), or any capture or\n"
	"run directory sonde reads. Without INPUT it is the newest run.",
	options, sizeof(options) / sizeof(*options),
	{{"the three longest kernels of a run",
		 "sonde top tmp/profile-output/20260131-120000 --topk 3"},
		{"the ten longest of a summary, as a list",
			"sonde top stats_cuda_gpu_kern_sum.csv -f yaml -o top.yaml"}}};

int sonde_cmd_top(int argc, char **argv)
{
	struct request q = {.topk = 10};
	struct sonde_args args = {0};
	struct sonde_err err = {0};
	const char *input = NULL;
	int rc = sonde_options_read(&args, &usage, &q, argc, argv, &err);

	if (rc == 0 && q.output && !q.format)
		rc = sonde_output_check("top", q.output, ENDINGS(ENDING), &err);
	if (rc == 0 && args.operands.nr > 1)
		rc = sonde_err_set(&err, SONDE_ERR_USAGE,
			"top: name one input: a capture, a run directory or a kernel summary of "
			"nsys");
	else if (rc == 0 && args.operands.nr)
		input = args.operands.at[0];
	else if (rc == 0)
		rc = sonde_newest_run(&input, "top", &args.arena, &err);
	if (rc == 0) {
		sonde_overrides_take(&q.overrides, &args);
		rc = q.overrides.failed ? sonde_err_nomem(&err) : write_top(input, &q, &err);
	}
	sonde_args_release(&args);
	sonde_argv_release(&q.overrides);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
