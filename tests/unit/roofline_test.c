/* The roofline: operations and bytes, and what is reported when they are only partly known. */
#include "tree/roofline.h"

#include "treed.h"

#include <stdio.h>

static void test_roofline__counts_two_per_fused_multiply_add(void **state)
{
	struct sonde_roofline point;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 10);
	made_metric(&m, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 100);
	made_metric(&m, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 100);
	made_metric(&m, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 50);
	made_metric(&m, "dram__bytes_read.sum", 30);
	made_metric(&m, "dram__bytes_write.sum", 20);
	aggregate(&run, m.r, NULL);
	figure(&run, 0, SONDE_PART_INCLUSIVE, 0, TIME);
	point = sonde_roofline_of(run.t, &run.f, 10);
	near(point.flop, 250);
	near(point.intensity, 5);
	near(point.flop_per_s, 25e9);
	release(&run);
	made_release(&m);
}

/* HADD2 and HFMA2 work on two values at once. */
static void test_roofline__counts_half_precision_in_pairs(void **state)
{
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 10);
	made_metric(&m, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 100);
	made_metric(&m, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 10);
	made_metric(&m, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 1);
	aggregate(&run, m.r, NULL);
	figure(&run, 0, SONDE_PART_INCLUSIVE, 0, TIME);
	near(sonde_roofline_of(run.t, &run.f, 10).flop, 224);
	release(&run);
	made_release(&m);
}

/* Metrics by instruction and metrics of parts of these: only the former are counted, and integers are not. */
static void test_roofline__counts_tensor_operations_once(void **state)
{
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 10);
	made_metric(&m, "sm__ops_path_tensor_op_hgmma_src_fp16.sum", 3000);
	made_metric(&m, "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum", 3000);
	made_metric(&m, "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum", 50);
	made_metric(&m, "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_on.sum", 7);
	made_metric(&m, "sm__ops_path_tensor_op_imma_src_int8.sum", 1000000);
	aggregate(&run, m.r, NULL);
	figure(&run, 0, SONDE_PART_INCLUSIVE, 0, TIME);
	near(sonde_roofline_of(run.t, &run.f, 10).flop, 3057);
	assert_string_equal(sonde_roofline_of(run.t, &run.f, 10).at_least, SONDE_SCALAR_UNCOUNTED);
	release(&run);
	made_release(&m);
}

/* Tensor cores worked, but their operations were not counted; the metric that shows it is not in the report. */
static void test_roofline__is_a_lower_bound_without_tensor_operations(void **state)
{
	static const char *words[] = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
		"dram__bytes.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum"};
	struct sonde_choice choice = {.metrics = {words, 2}};
	struct made m;
	struct run run;
	uint32_t a;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		made_init(&m);
		a = made_push(&m, MADE_ROOT, "A");
		made_launch(&m, "k", 1, &a);
		made_metric(&m, TIME, 10);
		made_metric(&m, words[0], 100);
		made_metric(&m, words[1], 30);
		made_metric(&m, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
			1); /* half precision outside the tensor cores also does that */
		made_metric(&m,
			"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
			i ? 1 : 0);
		if (i == 2)
			made_metric(&m, words[2], 5000);
		choice.metrics.nr = i == 2 ? 3 : 2;
		aggregate(&run, m.r, &choice);
		sonde_tree_values(run.t, &run.t->reports.at[0], SONDE_PART_INCLUSIVE, 0, &run.f);
		assert_int_equal(sonde_roofline_of(run.t, &run.f, 10).at_least != NULL, i == 1);
		near(sonde_roofline_of(run.t, &run.f, 10).flop, i == 2 ? 5200 : 200);
		release(&run);
		made_release(&m);
	}
}

#define FFMA "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"

/* Two launches, the first of 1,000 ns at 2 GHz: a rate is multiplied by the cycles or the seconds. */
static void test_roofline__counts_operations_from_their_rates(void **state)
{
	static const struct {
		const char *name;
		double first, second;
	} metrics[] = {
		{FFMA ".per_cycle_elapsed", 10, 40},			      /* 20,000 and 4,000 */
		{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 7, 8}, /* counted */
		{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", 1, 1},
		{"sm__sass_thread_inst_executed_op_dmul_pred_on.sum.per_second", 1e9, 5e9}, /* 1,000 and 500 */
		{"sm__ops_path_tensor_src_fp16.sum.per_cycle_elapsed", 100, 0},	      /* 200,000 */
		{"sm__ops_path_tensor_src_fp16_sparsity_off.sum.per_cycle_elapsed", 100, 0},
		{"sm__ops_path_tensor_src_int8.sum.per_cycle_elapsed", 1000, 0},
		{"sm__cycles_elapsed.avg.per_second", 2e9, 1e9},
		{"dram__bytes_read.sum.per_second", 3e9, 0},
		{"dram__bytes_write.sum.per_second", 1e9, 0},
	};
	struct sonde_roofline point;
	struct made m;
	struct run run;
	uint32_t a;
	size_t i, k;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	for (i = 0; i < 2; i++) {
		made_launch(&m, "k", 1, &a);
		made_metric(&m, TIME, i ? 100 : 1000);
		for (k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++)
			made_metric(&m, metrics[k].name, i ? metrics[k].second : metrics[k].first);
	}
	aggregate(&run, m.r, NULL);
	figure(&run, 0, SONDE_PART_INCLUSIVE, 0, TIME);
	point = sonde_roofline_of(run.t, &run.f, 1100);
	near(point.flop, 2 * 24000 + 15 + 1500 + 200000);
	near(point.dram_bytes, 4000);
	assert_null(point.at_least);
	release(&run);
	made_release(&m);
}

static const char *const kinds[] = {"fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma"};

/* The first `nr` kinds of operations, and those of the tensor cores, were counted as 0: the other kinds are not known. */
static double flop_of_none(size_t nr, const char *form, bool is_tensor_counted, const char **at_least)
{
	struct sonde_roofline point;
	struct made m;
	struct run run;
	char name[128];
	uint32_t a;
	size_t i;

	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 10);
	made_metric(&m, "dram__bytes.sum", 30);
	if (is_tensor_counted)
		made_metric(&m, "sm__ops_path_tensor_src_fp16.sum", *at_least ? 50 : 0);
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "smsp__sass_thread_inst_executed_op_%s_pred_on.sum%s", kinds[i], form);
		made_metric(&m, name, 0);
	}
	aggregate(&run, m.r, NULL);
	figure(&run, 0, SONDE_PART_INCLUSIVE, 0, TIME);
	point = sonde_roofline_of(run.t, &run.f, 10);
	*at_least = point.at_least;
	assert_int_equal(isnan(point.intensity), isnan(point.flop));
	assert_int_equal(isnan(point.flop_per_s), isnan(point.flop));
	release(&run);
	made_release(&m);
	return point.flop;
}

static void test_roofline__is_not_zero_where_operations_were_not_captured(void **state)
{
	const char *at_least = NULL;

	(void)state;
	near(flop_of_none(9, "", true, &at_least), 0);
	assert_null(at_least);
	assert_true(isnan(flop_of_none(8, "", true, &at_least)));
	assert_true(isnan(flop_of_none(9, "", false, &at_least)));
	assert_true(isnan(flop_of_none(0, "", true, &at_least)));
	assert_true(isnan(flop_of_none(9, ".per_cycle_elapsed", true, &at_least))); /* of how many cycles? */
	assert_null(at_least);
	at_least = "tensor cores worked";
	near(flop_of_none(0, "", true, &at_least), 50);
	assert_string_equal(at_least, SONDE_SCALAR_UNCOUNTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roofline__counts_two_per_fused_multiply_add),
		cmocka_unit_test(test_roofline__counts_half_precision_in_pairs),
		cmocka_unit_test(test_roofline__counts_tensor_operations_once),
		cmocka_unit_test(test_roofline__is_a_lower_bound_without_tensor_operations),
		cmocka_unit_test(test_roofline__counts_operations_from_their_rates),
		cmocka_unit_test(test_roofline__is_not_zero_where_operations_were_not_captured),
	};

	return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
