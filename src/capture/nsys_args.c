#include "capture/nsys_args.h"

#include <inttypes.h>
#include <string.h>

static void option(struct sonde_argv *a, const char *name, const char *value)
{
	if (value && *value)
		sonde_argv_printf(a, "--%s=%s", name, value);
}

void sonde_nsys_args_build(struct sonde_argv *out, const struct sonde_tool *nsys,
	const struct sonde_nsys_request *q, char *const *program)
{
	bool is_gated = q->capture_range && strcmp(q->capture_range, "none") != 0;
	size_t i;

	sonde_argv_pair(out, nsys->path, "profile");
	option(out, "trace", q->trace);
	option(out, "sample", q->sample);
	if (is_gated) {
		option(out, "capture-range", q->capture_range);
		option(out, "capture-range-end", q->capture_range_end);
		if (strcmp(q->capture_range, "nvtx") == 0) {
			option(out, "nvtx-capture", q->nvtx_capture);
			sonde_argv_add(out, "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0");
		}
	}
	if (q->delay_s)
		sonde_argv_printf(out, "--delay=%" PRIu64, q->delay_s);
	if (q->duration_s)
		sonde_argv_printf(out, "--duration=%" PRIu64, q->duration_s);
	if (q->force_overwrite)
		sonde_argv_add(out, "--force-overwrite=true");
	sonde_argv_pair(out, "-o", q->report);
	for (i = 0; i < q->extra.nr; i++)
		sonde_argv_add(out, q->extra.at[i]);
	sonde_argv_all(out, program);
}

void sonde_nsys_export_args(struct sonde_argv *out, const struct sonde_tool *nsys,
	const char *report, const char *sqlite)
{
	sonde_argv_pair(out, nsys->path, "export");
	sonde_argv_add(out, "--type=sqlite");
	sonde_argv_add(out, "--force-overwrite=true");
	sonde_argv_pair(out, "-o", sqlite);
	sonde_argv_add(out, report);
}

void sonde_nsys_stats_args(struct sonde_argv *out, const struct sonde_tool *nsys, const char *table,
	const char *report, const char *prefix)
{
	sonde_argv_pair(out, nsys->path, "stats");
	sonde_argv_pair(out, "--report", table);
	sonde_argv_pair(out, "--format", "csv");
	sonde_argv_add(out, "--force-export=true");
	sonde_argv_pair(out, "--output", prefix);
	sonde_argv_add(out, report);
}
