/* `sonde report --export`: reports of Nsight Systems, which only nsys reads, as SQLite beside them. */
#include "base/argv.h"
#include "capture/capture_settings.h" /* brings nsys and its command lines */
#include "cli/report_request.h"
#include "cli/messages.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".nsys-rep"

/* The name of the export; in the request's arena. */
static const char *export_name(struct sonde_report_request *q, const char *report)
{
	int stem = (int)(strlen(report) - strlen(SUFFIX));

	return sonde_arena_printf(&q->overrides.arena, "%.*s.sqlite", stem, report).p;
}

static int run_export(const struct sonde_tool *nsys, const char *report, const char *sqlite,
	struct sonde_err *err)
{
	struct sonde_argv argv = {0};
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	int rc;

	sonde_nsys_export_args(&argv, nsys, report, sqlite);
	rc = sonde_tool_text(&text, &argv, &why);
	if (rc == 0 && access(sqlite, R_OK) != 0)
		rc = sonde_err_set(&why, SONDE_ERR_IO, "nsys wrote nothing: %.600s",
			text.n ? text.p : "and said nothing");
	if (rc)
		sonde_err_set(err, rc, "%s: cannot be exported: %s", report, why.msg);
	sonde_buf_release(&text);
	sonde_argv_release(&argv);
	return rc;
}

int sonde_report_request_export(struct sonde_report_request *q, struct sonde_err *err)
{
	const char *program = getenv("SONDE_NSYS");
	struct sonde_tool nsys = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < q->inputs.nr && rc == 0 && q->is_export; i++) {
		const char *report = q->inputs.at[i], *sqlite;

		if (!sonde_str_ends(sonde_str_from(report), SUFFIX))
			continue;
		if (!nsys.path[0])
			rc = sonde_tool_open(&nsys, program ? program : "nsys", err);
		sqlite = rc ? NULL : export_name(q, report);
		if (rc == 0)
			rc = sqlite ? run_export(&nsys, report, sqlite, err) : sonde_err_nomem(err);
		if (rc)
			break;
		sonde_say("%s: exported to %s", report, sqlite);
		q->inputs.at[i] = sqlite;
	}
	return rc;
}
