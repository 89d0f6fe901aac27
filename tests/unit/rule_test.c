#include "fold/rule.h"

#include "unit.h"

#define TIME "gpu__time_duration.sum"

static void test_rule__every_form_has_the_specified_method(void **state)
{
	static const struct {
		const char *name;
		int method, weight;
	} want[] = {
		{TIME, SONDE_METHOD_SUM, SONDE_WEIGHT_NONE},
		{"sm__cycles_active.avg", SONDE_METHOD_SUM, SONDE_WEIGHT_NONE},
		{"sm__cycles_active.max", SONDE_METHOD_UPPER, SONDE_WEIGHT_NONE},
		{"sm__cycles_active.min", SONDE_METHOD_LOWER, SONDE_WEIGHT_NONE},
		{"dram__bytes.sum.per_second", SONDE_METHOD_MEAN, SONDE_WEIGHT_TIME},
		{"sm__inst_executed.avg.per_cycle_elapsed", SONDE_METHOD_MEAN,
			SONDE_WEIGHT_ELAPSED},
		{"sm__warps_active.avg.per_cycle_active", SONDE_METHOD_MEAN, SONDE_WEIGHT_ACTIVE},
		{"sm__warps_active.avg.pct_of_peak_sustained_active", SONDE_METHOD_MEAN,
			SONDE_WEIGHT_ACTIVE},
		{"dram__throughput.avg.pct_of_peak_sustained_elapsed", SONDE_METHOD_PEAK,
			SONDE_WEIGHT_ELAPSED},
		{"smsp__warps_active.avg.peak_sustained", SONDE_METHOD_SAME, SONDE_WEIGHT_NONE},
		{"sm__inst_executed.sum.peak_sustained_elapsed", SONDE_METHOD_SUM,
			SONDE_WEIGHT_NONE},
		{"lts__t_sector_hit_rate.pct", SONDE_METHOD_MEAN, SONDE_WEIGHT_DENOMINATOR},
		{"smsp__thread_inst_executed_per_inst_executed.ratio", SONDE_METHOD_MEAN,
			SONDE_WEIGHT_DENOMINATOR},
		{"smsp__thread_inst_executed_per_inst_executed.max_rate", SONDE_METHOD_MAX,
			SONDE_WEIGHT_NONE},
		{"launch__grid_size", SONDE_METHOD_SUM, SONDE_WEIGHT_NONE},
		{"launch__registers_per_thread", SONDE_METHOD_MODE, SONDE_WEIGHT_NONE},
		{"smsp__pcsamp_sample_count", SONDE_METHOD_SUM, SONDE_WEIGHT_NONE},
		{"smsp__pcsamp_interval_cycles", SONDE_METHOD_MODE, SONDE_WEIGHT_NONE},
		{"sass__inst_executed_per_opcode", SONDE_METHOD_SUM, SONDE_WEIGHT_NONE},
		{"sass__size", SONDE_METHOD_MODE, SONDE_WEIGHT_NONE},
		{"derived__avg_thread_executed_true", SONDE_METHOD_MODE, SONDE_WEIGHT_NONE},
		{"derived__smsp__inst_executed_pipe_xu", SONDE_METHOD_MODE, SONDE_WEIGHT_NONE},
		{"derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained", SONDE_METHOD_SAME, SONDE_WEIGHT_NONE},
		{"device__attribute_chip", SONDE_METHOD_MODE, SONDE_WEIGHT_NONE},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct sonde_rule *rule = sonde_rule_for(sonde_str_from(want[i].name));

		if (rule->method != want[i].method || rule->weight != want[i].weight)
			fail_msg("%s: method %d, weight %d", want[i].name, rule->method,
				rule->weight);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule__every_form_has_the_specified_method),
	};

	return cmocka_run_group_tests_name("rule", tests, NULL, NULL);
}
