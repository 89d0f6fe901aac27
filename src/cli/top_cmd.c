#include "capture/kernel_list.h"
#include "cli/command.h"
#include "cli/option.h"
#include "read/ranking.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct request {
	const char *output;
	size_t topk;
	int sort;
};

static int build(struct sonde_kernel_list *out, const char *input, const struct request *q,
	struct sonde_err *err)
{
	struct sonde_ranking ranking;
	char text[128];
	size_t i;
	int rc = sonde_ranking_open(&ranking, input, err);

	if (rc)
		return rc;
	for (i = 0; i < ranking.kernels.nr && i < q->topk && rc == 0; i++) {
		const struct sonde_ranked *k = &ranking.kernels.at[i];

		snprintf(text, sizeof(text), "%.1f %% of the time, %.0f ns, %" PRIu64 " %s",
			k->time_pct, k->time_ns, k->calls, k->calls == 1 ? "call" : "calls");
		if (!sonde_kernel_list_add(out, k->name, NULL, text))
			rc = sonde_err_nomem(err);
	}
	if (rc == 0 && i == 0)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%s: no kernel in it", input);
	sonde_ranking_release(&ranking);
	return rc;
}

static int write_list(const char *input, const struct request *q, struct sonde_err *err)
{
	struct sonde_kernel_list list = {0};
	struct sonde_sink out;
	int rc = build(&list, input, q, err);

	if (rc == 0 && q->output)
		rc = sonde_sink_open(&out, q->output, err);
	else
		sonde_sink_init_fd(&out, STDOUT_FILENO);
	if (rc == 0) {
		sonde_kernel_list_write(&list, &out);
		rc = sonde_sink_close(&out, err);
	}
	sonde_kernel_list_release(&list);
	return rc;
}

int sonde_cmd_top(int argc, char **argv)
{
	struct request q = {.topk = 10};
	const struct sonde_option options[] = {
		{'k', "topk", "K", "how many kernels (10; all)", SONDE_OPTION_LIMIT, &q.topk},
		{0, "sort-by", "time_pct|time_ns", "both rank by total time (time_pct)",
			SONDE_OPTION_CHOICE, &q.sort},
		{'o', "output", "FILE", "write there instead of printing", SONDE_OPTION_WORD,
			&q.output},
	};
	const struct sonde_usage usage = {"sonde top INPUT [options]",
		"The kernels that take the most time, as a list that `sonde kernels "
		"--kernel-config`\n"
		"reads: name, an exact regular expression, a description. INPUT is a kernel "
		"summary of\n"
		"Nsight Systems (CSV), or any capture or run directory sonde reads.",
		options, sizeof(options) / sizeof(*options),
		{{"the ten longest kernels of a summary",
			 "sonde top stats_cuda_gpu_kern_sum.csv -o top.yaml"},
			{"the three longest of a run",
				"sonde top tmp/profile-output/20260131-120000 --topk 3"}}};
	struct sonde_args args = {0};
	struct sonde_err err = {0};
	struct sonde_sink out;
	int rc = sonde_options_parse(&args, &usage, argc, argv, &err);

	if (rc == 0 && args.wants_help) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		sonde_usage_print(&usage, &args, &out);
		rc = sonde_sink_close(&out, &err);
	} else if (rc == 0 && args.operands.nr != 1) {
		rc = sonde_err_set(&err, SONDE_ERR_USAGE, "top: one input is needed");
	} else if (rc == 0) {
		rc = write_list(args.operands.at[0], &q, &err);
	}
	sonde_args_release(&args);
	return rc ? sonde_cmd_fail(&err) : 0;
}
