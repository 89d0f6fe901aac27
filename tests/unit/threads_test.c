/* Two pipelines in two threads: they share nothing, and both give the same result as a single one. */
#include "base/str.h"
#include "sonde.h"

#include "unit.h"

#include <pthread.h>

#define ROUNDS 3

/* Makes the JSON report of captures, with a metric of every region behind it. The caller releases the bytes. */
static struct sonde_buf report(void)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	struct sonde_buf text = {0};
	const struct sonde_view *v;
	const char *json = "";
	size_t i, n = 0;

	sonde_pipeline_add_input(p, "tests/data/ncu/mpi2_kernel.ncu-rep");
	sonde_pipeline_add_input(p, "tests/data/ncu/seed_kernel.raw.csv");
	sonde_pipeline_set(p, "report.nvtx.exclude=['regex:^A','decode*']");
	sonde_pipeline_set(p, "report.deterministic=true");
	if (sonde_pipeline_run(p, NULL) == 0 && sonde_pipeline_json(p, &json, &n, NULL) == 0)
		sonde_buf_add(&text, json, n);
	v = sonde_pipeline_main_view(p);
	for (i = 0; v && i < sonde_view_nr_regions(v); i++)
		sonde_buf_printf(&text, "%s %a\n", sonde_view_name(v, i),
			sonde_view_metric(v, i, "gpu__time_duration.sum"));
	sonde_pipeline_free(p);
	return text;
}

static void *run(void *want)
{
	const struct sonde_buf *w = want;
	intptr_t nr = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct sonde_buf got = report();

		nr += got.n == w->n && memcmp(got.p, w->p, got.n) == 0;
		sonde_buf_release(&got);
	}
	return (void *)nr;
}

static void test_threads__two_pipelines_do_not_meet(void **state)
{
	struct sonde_buf want = report();
	pthread_t threads[2];
	void *nr;
	int i;

	(void)state;
	assert_true(want.n > 1000);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, &want), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &nr), 0);
		assert_int_equal((intptr_t)nr, ROUNDS);
	}
	sonde_buf_release(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads__two_pipelines_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
