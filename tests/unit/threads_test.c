/* Two pipelines in two threads: nothing is shared, and both give what one alone gives. */
#include "export/format.h"
#include "fold/fold.h"
#include "tree/tree.h"

#include "unit.h"

#include <pthread.h>

#define ROUNDS 3

static const char *const inputs[] = {
	"tests/data/ncu/mpi2_kernel.ncu-rep", "tests/data/ncu/seed_kernel.raw.csv"};

/* Captures to JSON. The bytes are yours; empty on failure. */
static struct sonde_buf report(void)
{
	const char *const words[] = {"regex:^A", "decode*"};
	const struct sonde_fold_request request = {.selection = {.nvtx_exclude = {words, 2}}};
	const struct sonde_export_options options = {0};
	struct sonde_parts parts = {0};
	struct sonde_cells *c = NULL;
	struct sonde_tree *t = NULL;
	struct sonde_sink to;
	int rc = sonde_parts_open(&parts, inputs, 2, &request, NULL);

	sonde_sink_init_string(&to);
	if (rc == 0)
		rc = sonde_parts_unite(&c, &parts, NULL);
	if (rc == 0)
		rc = sonde_tree_build(&t, c, &request.choice, NULL);
	if (rc == 0)
		rc = sonde_export_json(t, &options, &to, NULL);
	sonde_tree_free(t);
	sonde_cells_free(c);
	sonde_parts_release(&parts);
	return to.buf;
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
