/* Operations, bytes and what is known of them. */
#include "tree/roofline.h"

#include "treed.h"

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

/* By instruction and in parts: the wholes count, integers do not. */
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
	assert_false(sonde_roofline_of(run.t, &run.f, 10).is_least);
	release(&run);
	made_release(&m);
}

/* Tensor cores worked, nobody counted their operations; the metric that tells is not reported. */
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
			1); /* half precision outside the tensor cores does that too */
		made_metric(&m,
			"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
			i ? 1 : 0);
		if (i == 2)
			made_metric(&m, words[2], 5000);
		choice.metrics.nr = i == 2 ? 3 : 2;
		aggregate(&run, m.r, &choice);
		sonde_tree_values(run.t, &run.t->reports.at[0], SONDE_PART_INCLUSIVE, 0, &run.f);
		assert_int_equal(sonde_roofline_of(run.t, &run.f, 10).is_least, i == 1);
		near(sonde_roofline_of(run.t, &run.f, 10).flop, i == 2 ? 5200 : 200);
		release(&run);
		made_release(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roofline__counts_two_per_fused_multiply_add),
		cmocka_unit_test(test_roofline__counts_half_precision_in_pairs),
		cmocka_unit_test(test_roofline__counts_tensor_operations_once),
		cmocka_unit_test(test_roofline__is_a_lower_bound_without_tensor_operations),
	};

	return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
