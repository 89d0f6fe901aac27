#include "cli/command.h"
#include "cli/option.h"
#include "check/validate.h"

#include <stdio.h>
#include <unistd.h>

static const struct sonde_usage usage = {.synopsis = "sonde validate FILE...",
	.about = "Checks report.json files against the schema sonde.report/1 and against the arithmetic\n"
		 "a report must keep: regions depth-first, inclusive = exclusive + children, kernels and\n"
		 "scopes that sum up. Comparisons (`sonde diff -f json`) are checked against sonde.diff/1.\n"
		 "Names the first violation with its JSON path. Exit status: 0 all good, 1 a violation or\n"
		 "an unreadable file, 2 wrong usage.",
	.examples = {{"a report just written", "sonde validate out/report.json"},
		{"and those of its regions", "sonde validate out/*/report.json"}}};

static int validate_all(
	const struct sonde_word_list *files, struct sonde_sink *out, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < files->nr && rc == 0; i++) {
		rc = sonde_validate_file(files->at[i], err);
		if (rc == 0)
			sonde_sink_printf(out, "%s: valid\n", files->at[i]);
	}
	return rc;
}

int sonde_cmd_validate(int argc, char **argv)
{
	struct sonde_args args = {0};
	struct sonde_err err = {0};
	struct sonde_sink out;
	int rc = sonde_options_read(&args, &usage, NULL, argc, argv, &err);

	if (rc == 0 && args.operands.nr == 0)
		rc = sonde_err_set(&err, SONDE_ERR_USAGE, "validate: no file: name a report.json (`sonde report -o DIR` writes one)");
	if (rc == 0) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		rc = validate_all(&args.operands, &out, &err);
		if (rc)
			sonde_sink_close(&out, NULL); /* this prints which files were valid */
		else
			rc = sonde_sink_close(&out, &err);
	}
	sonde_args_release(&args);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
