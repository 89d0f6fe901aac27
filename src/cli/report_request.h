/*
 * What the command line of `sonde report` said: inputs, output and format, and
 * everything else as overrides of the configuration.
 */
#ifndef SONDE_CLI_REPORT_REQUEST_H
#define SONDE_CLI_REPORT_REQUEST_H

#include "cli/option.h"
#include "cli/overrides.h"
#include "export/format.h"

struct sonde_report_request {
	struct sonde_args args;
	struct sonde_word_list nvtx_include, nvtx_exclude, kernel_include, kernel_exclude;
	struct sonde_word_list metrics, sections, scopes;
	struct sonde_word_list inputs;
	struct sonde_argv overrides;
	const char *output, *config_dir, *config_name;
	const char *sort, *nesting, *by;
	const char *format_name;
	const struct sonde_format *format; /* NULL: text on stdout, a directory with -o */
	int colour;
	size_t max_regions, max_kernels, width, cores;
	bool together, no_aggregate, per_scope, deterministic, strict, lists_metrics, is_export, partial;
	bool entries, flat, full_names, shows_idle, shows_memory, shows_ranks;
	struct sonde_buf command; /* as typed, quoted for a shell */
};

/* 0, more than 0 when it was a call for help, or an error. Release it in any case. */
int sonde_report_request_read(
	struct sonde_report_request *q, int argc, char **argv, struct sonde_err *err);
void sonde_report_request_release(struct sonde_report_request *q);
/* With --export: replaces reports of Nsight Systems among the inputs by exports it makes of them. */
int sonde_report_request_export(struct sonde_report_request *q, struct sonde_err *err);
/* Whether a directory of all formats is asked for, not one file. */
bool sonde_report_request_writes_dir(const struct sonde_report_request *q);

#endif
