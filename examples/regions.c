/*
 * The regions of a capture with their GPU time and one metric:
 *
 *     cc regions.c $(pkg-config --cflags --libs sonde) -o regions
 *     ./regions h200_transformer.ncu-rep sm__throughput.avg.pct_of_peak_sustained_elapsed
 */
#include <sonde.h>

#include <stdio.h>

static void print_regions(const struct sonde_view *v, const char *metric)
{
	size_t i;

	for (i = 0; i < sonde_view_nr_regions(v); i++) {
		const char *quality = sonde_view_metric_quality(v, i, metric);

		printf("%*s%s: %llu launches, %.3f ms, %.2f (%s)\n",
			2 * (int)sonde_view_depth(v, i), "", sonde_view_name(v, i),
			(unsigned long long)sonde_view_launches(v, i),
			sonde_view_time_ns(v, i) / 1e6, sonde_view_metric(v, i, metric),
			quality ? quality : "not captured");
	}
}

int main(int argc, char **argv)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	struct sonde_err err = {.msg = "usage: regions CAPTURE METRIC"};
	int rc = -1;

	if (p && argc == 3 && sonde_pipeline_add_input(p, argv[1]) == 0 &&
		sonde_pipeline_set(p, "report.metrics=['*']") == 0)
		rc = sonde_pipeline_run(p, &err);
	if (rc)
		fprintf(stderr, "regions: %s\n", err.msg);
	else if (sonde_pipeline_main_view(p))
		print_regions(sonde_pipeline_main_view(p), argv[2]);
	sonde_pipeline_free(p);
	return rc != 0;
}
