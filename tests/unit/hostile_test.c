/* The whole way from a hostile report to the region tree: time grows with the size of the file. */
#include "attribute/launches.h"
#include "fold/fold.h"
#include "tree/tree.h"
#include "attribute/launches.h"
#include "read/records.h"

#include "unit.h"

#include <stdlib.h>

#include "native_hostile.h"
#include "ncu_hostile.h"

static uint64_t steps_to_build(make_hostile *make, uint32_t n)
{
	const struct sonde_fold_request request = {0};
	struct sonde_launches *launches = NULL;
	struct sonde_cells *part = NULL, *cells = NULL;
	struct sonde_records *records = NULL;
	struct sonde_tree *tree = NULL;
	struct sonde_buf file = {0};
	struct sonde_err err = {0};
	uint64_t start;
	int rc;

	make(&file, n);
	start = sonde_steps();
	rc = open_bytes(&records, file.p, file.n, &err);
	if (rc == 0)
		rc = sonde_launches_build(&launches, records, &request.selection, &err);
	if (rc == 0)
		rc = sonde_cells_fold(&part, launches, &request, &err);
	if (rc == 0)
		rc = sonde_cells_unite(&cells, &part, 1, &err);
	if (rc == 0)
		rc = sonde_tree_build(&tree, cells, &request.choice, &err);
	if (rc && rc != SONDE_ERR_LIMIT) /* regions × metrics has an upper bound, and says so */
		fail_msg("%s", err.msg);
	sonde_tree_free(tree);
	sonde_cells_free(cells);
	sonde_launches_free(launches);
	sonde_records_free(records);
	sonde_buf_release(&file);
	return sonde_steps() - start;
}

static void test_hostile__work_for_the_tree_grows_with_the_size_of_the_report(void **state)
{
	size_t i;

	(void)state;
	skip_without_steps();
	for (i = 0; i < NR_HOSTILE; i++) {
		uint64_t few = steps_to_build(hostile[i].make, 2500);
		uint64_t many = steps_to_build(hostile[i].make, 20000);

		/*
		 * Metrics are the exception: each result is decoded into a row of all metrics
		 * there are.
		 */
		if (hostile[i].make == many_metrics || hostile[i].make == many_of_everything)
			continue;
		assert_linear(hostile[i].name, few, many);
	}
}

static void test_hostile__work_for_the_tree_grows_with_the_size_of_the_capture(void **state)
{
	size_t i;

	(void)state;
	skip_without_steps();
	for (i = 0; i < NR_NATIVE_HOSTILE; i++) {
		uint64_t few = steps_to_build(native_hostile[i].make, 2500);
		uint64_t many = steps_to_build(native_hostile[i].make, 20000);

		assert_linear(native_hostile[i].name, few, many);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile__work_for_the_tree_grows_with_the_size_of_the_report),
		cmocka_unit_test(
			test_hostile__work_for_the_tree_grows_with_the_size_of_the_capture),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
