/*
 * Measures how long it takes to compose the shipped configuration with 20 overrides.
 *
 *   build/bench/compose_bench [ROUNDS]
 *
 * Prints the median and the longest of ROUNDS compositions (default 200), each
 * from the files on disk to a checked, frozen config. The limit is 5 ms.
 */
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const overrides[] = {"profiling/ncu@pipeline.ncu=ncu.high",
	"model/dummy_shallow_resnet/arch@model=dummy_shallow_resnet.tiny", "report=full",
	"+report/metrics@report=memory", "pipeline.ncu.enable=true",
	"pipeline.ncu.ncu_cli.nvtx.include=[LLM@*,prefill*,decode*]",
	"pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum,dram__bytes_read.sum]",
	"pipeline.ncu.ncu_cli.replay_mode=kernel", "pipeline.ncu.ncu_cli.launch_count=100",
	"pipeline.nsys.enable=true", "pipeline.nsys.trace=[cuda,nvtx]", "device=cuda:1",
	"report.sections=[SpeedOfLight,Occupancy]", "report.kernels.include=['regex:gemm']",
	"report.aggregate=false", "report.sort=time", "model.channels=32", "infer.batch_size=4",
	"+pipeline.workload.env.OMP_NUM_THREADS='4'", "hydra.run.dir=tmp/bench"};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct sonde_config_request req = {
		.overrides = overrides, .nr_overrides = sizeof(overrides) / sizeof(*overrides)};
	size_t i, rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	double *times = calloc(rounds ? rounds : 1, sizeof(*times));
	struct sonde_err err = {0};
	struct hydra_config *c;

	for (i = 0; times && i < rounds; i++) {
		double start = now_ms();

		if (sonde_config_open(&c, &req, &err)) {
			fprintf(stderr, "compose_bench: %s\n", err.msg);
			free(times);
			return 1;
		}
		hydra_config_free(c);
		times[i] = now_ms() - start;
	}
	if (times && rounds) {
		qsort(times, rounds, sizeof(*times), compare);
		printf("compose, %zu overrides: median %.3f ms, worst %.3f ms of %zu (bar 5 ms: "
		       "%.2f of it)\n",
			req.nr_overrides, times[rounds / 2], times[rounds - 1], rounds,
			times[rounds / 2] / 5);
	}
	free(times);
	return 0;
}
