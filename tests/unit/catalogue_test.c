#include "catalogue/advice.h"
#include "catalogue/causes.h"
#include "catalogue/attributes.h"
#include "catalogue/metrics.h"
#include "tree/judge.h"

#include "exported.h"

static void test_metrics__every_role_has_a_metric_and_no_metric_two(void **state)
{
	size_t i, k, n, m;

	(void)state;
	for (i = 0; i < SONDE_NR_ROLES; i++) {
		assert_non_null(sonde_metric_roles[i].at[0].name);
		for (k = 0; k < SONDE_ROLE_METRICS && sonde_metric_roles[i].at[k].name; k++)
			for (n = i + 1; n < SONDE_NR_ROLES; n++)
				for (m = 0; m < SONDE_ROLE_METRICS; m++)
					if (sonde_metric_roles[n].at[m].name)
						assert_string_not_equal(
							sonde_metric_roles[n].at[m].name,
							sonde_metric_roles[i].at[k].name);
	}
}

static void test_metrics__heads_and_units_come_from_the_name(void **state)
{
	(void)state;
	assert_string_equal(
		sonde_metric_head(SONDE_STR("dram__throughput.avg.pct_of_peak_sustained_elapsed")).p,
		"DRAM %");
	assert_string_equal(sonde_metric_head(SONDE_STR("x.sum")).p, "x.sum");
	assert_string_equal(sonde_metric_unit(SONDE_STR(SONDE_METRIC_TIME)), "ns");
	assert_string_equal(sonde_metric_unit(SONDE_STR(SONDE_METRIC_COPIED)), "byte");
	assert_string_equal(sonde_metric_unit(SONDE_STR(SONDE_METRIC_SHARED_STATIC)), "byte/block");
	assert_string_equal(SONDE_ATTR_SMS, "device__attribute_multiprocessor_count");
}

/* The limiter uses DRAM if the whole memory system was not measured. */
static void test_metrics__a_role_is_played_by_the_best_there_is(void **state)
{
	struct sonde_buf out;
	struct made m;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "gemm", 1, &a);
	made_metric(&m, SONDE_METRIC_TIME, 1000);
	made_metric(&m, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 50);
	made_metric(&m, "dram__throughput.avg.pct_of_peak_sustained_elapsed", 70);
	out = exported(&m, sonde_export_text, NULL);
	assert_non_null(strstr(out.p, "DRAM %"));
	assert_non_null(strstr(out.p, "dram"));
	sonde_buf_release(&out);
	made_metric(&m, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 45);
	out = exported(&m, sonde_export_text, NULL);
	assert_non_null(strstr(out.p, "Mem %"));
	assert_non_null(strstr(out.p, "compute"));
	sonde_buf_release(&out);
	made_release(&m);
}

static void test_advice__every_situation_has_a_sentence_and_a_next_step(void **state)
{
	unsigned s;

	(void)state;
	for (s = 0; s < SONDE_NR_SITUATIONS; s++) {
		const struct sonde_advice *a = sonde_advice_on(s);

		assert_non_null(a->says);
		assert_non_null(a->next);
		assert_true(a->next[0]);
		assert_false(a->is_cause && a->is_consequence);
	}
}

/* The text of an error can be split again into sentence and next step, which the doctor shows separately. */
static void test_advice__sentence_and_next_step_come_back_from_an_error(void **state)
{
	struct sonde_err err = {0};
	struct sonde_str says, next;

	(void)state;
	assert_int_equal(sonde_advice_err(&err, SONDE_ERR_IO, SONDE_WHEN_SAMPLING_MIG, "x: y"),
		SONDE_ERR_IO);
	says = sonde_advice_split(sonde_str_from(err.msg), &next);
	assert_true(sonde_str_ends(says, "(x: y)"));
	assert_true(sonde_str_is(next, "use a whole GPU"));
	says = sonde_advice_split(SONDE_STR("no advice here"), &next);
	assert_true(sonde_str_is(says, "no advice here"));
	assert_int_equal(next.n, 0);
}

/* Each cause of a finding has its own name, a sentence, an advice and a command. */
static void test_causes__every_cause_has_a_name_words_and_a_next_step(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < SONDE_NR_CAUSES; i++) {
		const struct sonde_cause_row *c = &sonde_causes[i];

		assert_true(c->name[0] && c->why[0] && c->next[0]);
		assert_true(c->action[0] || i == SONDE_CAUSE_OTHER_REGIONS);
		for (k = 0; k < i; k++)
			assert_string_not_equal(c->name, sonde_causes[k].name);
		if (c->limiter && strcmp(c->limiter, c->name) == 0)
			assert_int_equal(sonde_cause_of_limiter(c->limiter), i);
	}
	assert_int_equal(sonde_cause_of_limiter(NULL), SONDE_CAUSE_UNLIMITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes__every_cause_has_a_name_words_and_a_next_step),
		cmocka_unit_test(test_metrics__every_role_has_a_metric_and_no_metric_two),
		cmocka_unit_test(test_metrics__heads_and_units_come_from_the_name),
		cmocka_unit_test(test_metrics__a_role_is_played_by_the_best_there_is),
		cmocka_unit_test(test_advice__every_situation_has_a_sentence_and_a_next_step),
		cmocka_unit_test(test_advice__sentence_and_next_step_come_back_from_an_error),
	};

	return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
