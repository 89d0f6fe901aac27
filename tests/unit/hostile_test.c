/* The whole way from a hostile report to the region tree and to every format: work grows with the size of the file. */
#include "attribute/launches.h"
#include "fold/fold.h"
#include "tree/tree.h"
#include "read/records.h"

#include "unit.h"

#include <stdlib.h>

#include "native_hostile.h"
#include "ncu_hostile.h"
#include "whole_way.h"

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

/* A trace of launches in a region each by very many processes, threads, devices, streams … */
struct crowd {
	const char *name;
	bool pids, tids, devices, streams, labels, facts;
};

static void make_crowd(struct sonde_buf *b, const struct crowd *c, int nr)
{
	int i, k;

	sonde_buf_puts(b, "{\"traceEvents\":[");
	for (i = 1; i <= nr; i++) {
		int pid = c->pids ? i : 9, tid = c->tids ? i : 7;

		sonde_buf_printf(b, "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"A%d\",\"pid\":%d,\"tid\":%d,"
				    "\"ts\":%d,\"dur\":5},",
			i == 1 ? "" : ",", c->labels ? i : 0, pid, tid, 10 * i);
		sonde_buf_printf(b, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
				    "\"dur\":1,\"args\":{\"correlation\":%d}}",
			pid, tid, 10 * i + 1, i);
		for (k = 0; k < 3; k++) /* with gaps between them */
			sonde_buf_printf(b, ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":1,"
					    "\"args\":{\"device\":%d,\"stream\":%d,\"correlation\":%d}}",
				10 * i + 3 + 2 * k, c->devices ? i : 0, c->streams ? i : 7, i);
	}
	sonde_buf_puts(b, "],\"deviceProperties\":[");
	for (i = 1; i <= nr && c->facts; i++)
		sonde_buf_printf(b, "%s{\"id\":%d,\"name\":\"g%d\",\"numSms\":10}", i == 1 ? "" : ",", i, i % 7);
	sonde_buf_puts(b, "]}");
}

/* Steps to the tree, and then for each format. */
static void count_formats(const struct crowd *c, int nr, uint64_t *steps)
{
	struct sonde_cells *cells = NULL;
	struct sonde_tree *tree = NULL;
	struct sonde_buf text = {0};
	struct sonde_err err = {0};
	uint64_t start;
	size_t i;

	make_crowd(&text, c, nr);
	start = sonde_steps();
	assert_int_equal(whole_way_tree(&cells, &tree, text.p, text.n, &err), 0);
	steps[sonde_nr_formats] = sonde_steps() - start;
	for (i = 0; i < sonde_nr_formats; i++) {
		start = sonde_steps();
		if (whole_way_export(tree, &sonde_formats[i], &err))
			fail_msg("%s", err.msg);
		steps[i] = sonde_steps() - start;
	}
	sonde_tree_free(tree);
	sonde_cells_free(cells);
	sonde_buf_release(&text);
}

static void test_hostile__work_for_every_format_grows_with_the_number_of_everything(void **state)
{
	static const struct crowd crowds[] = {{.name = "processes", .pids = true}, {.name = "threads", .tids = true},
		{.name = "devices", .devices = true, .facts = true}, {.name = "streams", .streams = true},
		{.name = "labels", .labels = true}, {.name = "processes on devices", .pids = true, .devices = true}};
	uint64_t few[16], many[16];
	char what[64];
	size_t i, k;

	(void)state;
	skip_without_steps();
	assert_true(sonde_nr_formats < 16);
	for (i = 0; i < sizeof(crowds) / sizeof(*crowds); i++) {
		count_formats(&crowds[i], 500, few);
		count_formats(&crowds[i], 4000, many);
		for (k = 0; k <= sonde_nr_formats; k++) {
			snprintf(what, sizeof(what), "%s, %s", crowds[i].name,
				k < sonde_nr_formats ? sonde_formats[k].name : "the tree");
			assert_linear(what, few[k], many[k]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile__work_for_the_tree_grows_with_the_size_of_the_report),
		cmocka_unit_test(
			test_hostile__work_for_the_tree_grows_with_the_size_of_the_capture),
		cmocka_unit_test(test_hostile__work_for_every_format_grows_with_the_number_of_everything),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
