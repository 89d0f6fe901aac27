/* From a hostile report to the region tree and to every format: the work grows only with the size of the file. */
#include "attribute/launches.h"
#include "merge/merging.h"
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
	if (rc && rc != SONDE_ERR_LIMIT) /* regions × metrics is limited, and the error says that */
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

		/*
		 * Metrics are the exception: each result is decoded into a row of all metrics
		 * there are.
		 */
		if (hostile[i].make != many_metrics && hostile[i].make != many_of_everything)
			assert_linear(hostile[i].name, few, steps_to_build(hostile[i].make, 20000));
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

/* A trace of launches, each in a region, by very many processes, threads, devices, streams … */
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

/* Counts the steps up to the tree, and then those of each format. */
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
		count_formats(&crowds[i], 300, few);
		count_formats(&crowds[i], 2400, many);
		for (k = 0; k <= sonde_nr_formats; k++) {
			snprintf(what, sizeof(what), "%s, %s", crowds[i].name,
				k < sonde_nr_formats ? sonde_formats[k].name : "the tree");
			assert_linear(what, few[k], many[k]);
		}
	}
}

/* A trace of nested ranges, each with its own label of `length` bytes, and a kernel in the innermost. */
static void make_deep(struct sonde_buf *b, int levels, int length)
{
	int i;

	sonde_buf_puts(b, "{\"traceEvents\":[");
	for (i = 0; i < levels; i++)
		sonde_buf_printf(b, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%0*d\",\"pid\":9,\"tid\":1,\"ts\":%d,\"dur\":%d},",
			length, i, i, 3 * levels - 2 * i);
	sonde_buf_printf(b, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"c\",\"pid\":9,\"tid\":1,\"ts\":%d,\"dur\":1,"
			    "\"args\":{\"correlation\":1}},"
			    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":2,"
			    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}]}",
		levels + 1, levels + 3);
}

/* Ids are whole paths: 300 KB of such ranges would have 75 MB of ids, and a report three times that. */
static void test_hostile__ids_of_deep_regions_take_a_share_of_the_capture(void **state)
{
	const size_t levels = 500, length = 600;
	struct sonde_cells *cells = NULL;
	struct sonde_tree *tree = NULL;
	struct sonde_buf text = {0};
	struct sonde_err err = {0};
	const struct sonde_report *r;
	size_t i, nr_bytes = 0;

	(void)state;
	make_deep(&text, (int)levels, (int)length);
	assert_int_equal(whole_way_tree(&cells, &tree, text.p, text.n, &err), 0);
	for (i = 0; i < cells->regions.nr; i++)
		nr_bytes += cells->regions.at[i].id.n;
	assert_in_range(nr_bytes, 1u << 24, (1u << 24) + 16 * (levels * length + 4 * levels) + 4096);
	r = &tree->reports.at[0];
	assert_true(r->nodes.nr < levels);
	for (i = 0; i < r->nodes.nr; i++) { /* nothing counts twice, and the kernel in all that is left */
		assert_int_equal(r->nodes.at[i].instances, 1);
		assert_int_equal(r->nodes.at[i].launches, 1);
		assert_true(r->nodes.at[i].times.host_ns == 1000.0 * (double)(3 * levels - 2 * i));
	}
	assert_non_null(strstr(cells->notes.texts.keys[0].p, "ranges are nested too deep for their long names"));
	if (whole_way_export(tree, sonde_format_named(SONDE_STR("json")), &err))
		fail_msg("%s", err.msg);
	sonde_tree_free(tree);
	sonde_cells_free(cells);
	sonde_buf_release(&text);
}

static uint64_t steps_to_tree(const struct sonde_buf *text)
{
	struct sonde_cells *cells = NULL;
	struct sonde_tree *tree = NULL;
	struct sonde_err err = {0};
	uint64_t start = sonde_steps();

	assert_int_equal(whole_way_tree(&cells, &tree, text->p, text->n, &err), 0);
	sonde_tree_free(tree);
	sonde_cells_free(cells);
	return sonde_steps() - start;
}

/* A label that names very many regions around itself; with `all`, all of these regions exist. */
static uint64_t steps_for_colons(int nr, bool all)
{
	struct sonde_buf text = {0};
	uint64_t steps;
	int i, k;

	sonde_buf_puts(&text, "{\"traceEvents\":[");
	for (i = all ? 1 : nr; i <= nr; i++) {
		sonde_buf_printf(&text, "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"pid\":9,\"tid\":1,\"ts\":%d,\"dur\":5,\"name\":\"a",
			text.n > 20 ? "," : "", 10 * i);
		for (k = 1; k < i; k++)
			sonde_buf_puts(&text, "::a");
		sonde_buf_puts(&text, "\"}");
	}
	sonde_buf_puts(&text, "]}");
	steps = steps_to_tree(&text);
	sonde_buf_release(&text);
	return steps;
}

static void test_hostile__work_for_labels_that_name_regions_grows_with_their_length(void **state)
{
	(void)state;
	skip_without_steps();
	assert_linear("one long label", steps_for_colons(4000, false), steps_for_colons(32000, false));
	assert_linear("labels in labels", steps_for_colons(100, true), steps_for_colons(283, true)); /* 8 times the bytes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile__work_for_the_tree_grows_with_the_size_of_the_report),
		cmocka_unit_test(
			test_hostile__work_for_the_tree_grows_with_the_size_of_the_capture),
		cmocka_unit_test(test_hostile__ids_of_deep_regions_take_a_share_of_the_capture),
		cmocka_unit_test(test_hostile__work_for_labels_that_name_regions_grows_with_their_length),
		cmocka_unit_test(test_hostile__work_for_every_format_grows_with_the_number_of_everything),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
