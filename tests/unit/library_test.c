/* The public API: includes sonde.h and no other header of sonde. */
#include "sonde.h"

#include "unit.h"

#include <math.h>
#include <unistd.h>

#define CAPTURE "tests/data/ncu/seed_kernel.ncu-rep"
#define TIME	"gpu__time_duration.sum"

static struct sonde_pipeline *run_on(const char *input, const char *setting)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	struct sonde_err err = {0};

	assert_non_null(p);
	assert_int_equal(sonde_pipeline_add_input(p, input), 0);
	assert_int_equal(sonde_pipeline_set(p, "report.deterministic=true"), 0);
	if (setting)
		assert_int_equal(sonde_pipeline_set(p, setting), 0);
	if (sonde_pipeline_run(p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static void test_library__regions_have_names_launches_times_and_metrics(void **state)
{
	struct sonde_pipeline *p = run_on(CAPTURE, NULL);
	const struct sonde_view *v = sonde_pipeline_main_view(p);

	(void)state;
	assert_non_null(v);
	assert_true(sonde_view_is_aggregate(v));
	assert_string_equal(sonde_view_scope(v), "aggregate");
	assert_true(sonde_view_nr_regions(v) > 2);
	assert_string_equal(sonde_view_name(v, 0), "A");
	assert_string_equal(sonde_view_name(v, 1), "A::A1");
	assert_int_equal(sonde_view_depth(v, 1), 1);
	assert_int_equal(sonde_view_parent(v, 1), 0);
	assert_true(sonde_view_parent(v, 0) == SONDE_NO_REGION);
	assert_int_equal(sonde_view_launches(v, 0), 18);
	assert_true(sonde_view_own_launches(v, 0) < 18);
	assert_true(sonde_view_time_ns(v, 0) == 413504);
	assert_true(sonde_view_metric(v, 0, TIME) == 413504);
	assert_string_equal(sonde_view_metric_quality(v, 0, TIME), "exact");
	assert_true(isnan(sonde_view_metric_error(v, 0, TIME)));
	assert_ptr_equal(sonde_view_name(v, 0), sonde_view_name(v, 0)); /* kept once */
	sonde_pipeline_free(p);
}

static void test_library__figures_follow_the_region_that_is_asked_for(void **state)
{
	struct sonde_pipeline *p = run_on(CAPTURE, NULL);
	const struct sonde_view *v = sonde_pipeline_main_view(p), *scope = sonde_pipeline_view(p, 0);
	size_t i;

	(void)state;
	assert_ptr_not_equal(v, scope);
	for (i = 0; i < sonde_view_nr_regions(v); i++) {
		assert_true(sonde_view_metric(v, i, TIME) == sonde_view_time_ns(v, i));
		assert_true(sonde_view_metric(scope, i, TIME) == sonde_view_time_ns(scope, i));
	}
	sonde_pipeline_free(p);
}

static void test_library__what_is_not_there_is_null_nan_or_0(void **state)
{
	struct sonde_pipeline *p = run_on(CAPTURE, NULL), *fresh = sonde_pipeline_new();
	const struct sonde_view *v = sonde_pipeline_main_view(p);

	(void)state;
	assert_null(sonde_view_name(v, 100000));
	assert_null(sonde_view_id(v, SONDE_NO_REGION));
	assert_int_equal(sonde_view_launches(v, 100000), 0);
	assert_true(isnan(sonde_view_time_ns(v, 100000)));
	assert_true(isnan(sonde_view_metric(v, 100000, TIME)));
	assert_true(isnan(sonde_view_metric(v, 0, "no_such.metric")));
	assert_null(sonde_view_metric_quality(v, 0, "no_such.metric"));
	assert_null(sonde_pipeline_view(p, 100000));
	assert_null(sonde_pipeline_metric(p, 100000));
	assert_null(sonde_pipeline_note(p, 100000));
	assert_null(sonde_pipeline_main_view(fresh));
	assert_int_equal(sonde_pipeline_nr_metrics(fresh), 0);
	sonde_pipeline_free(p);
	sonde_pipeline_free(fresh);
	sonde_pipeline_free(NULL);
}

static void test_library__settings_are_those_of_the_command(void **state)
{
	struct sonde_pipeline *p = run_on(CAPTURE, "report.nvtx.include=[B]");
	const struct sonde_view *v = sonde_pipeline_main_view(p);

	(void)state;
	assert_int_equal(sonde_view_nr_regions(v), 1);
	assert_string_equal(sonde_view_name(v, 0), "B");
	sonde_pipeline_free(p);
}

static void test_library__mistakes_are_errors_with_a_sentence(void **state)
{
	struct sonde_pipeline *p = sonde_pipeline_new();
	struct sonde_err err = {0};
	const char *json;
	size_t n;

	(void)state;
	assert_int_equal(sonde_pipeline_run(p, &err), SONDE_ERR_USAGE); /* no input */
	assert_int_equal(sonde_pipeline_json(p, &json, &n, &err), SONDE_ERR_USAGE);
	assert_string_equal(err.msg, "this pipeline has not run yet: call sonde_pipeline_run first");
	sonde_pipeline_add_input(p, "tests/data/ncu/none_such.ncu-rep");
	assert_int_equal(sonde_pipeline_run(p, &err), SONDE_ERR_IO);
	assert_non_null(strstr(err.msg, "none_such"));
	sonde_pipeline_free(p);

	p = run_on(CAPTURE, NULL);
	assert_int_equal(sonde_pipeline_run(p, &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_pipeline_export(p, "docx", "x", &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "docx"));
	sonde_pipeline_free(p);

	p = sonde_pipeline_new();
	sonde_pipeline_add_input(p, CAPTURE);
	sonde_pipeline_set(p, "report.sort=backwards");
	assert_int_not_equal(sonde_pipeline_run(p, &err), 0);
	assert_non_null(strstr(err.msg, "report.sort"));
	sonde_pipeline_free(p);
}

static void test_library__partial_reports_are_inputs(void **state)
{
	struct sonde_pipeline *p = sonde_pipeline_new(), *direct = run_on(CAPTURE, NULL), *back;
	char path[] = "/tmp/sonde_library_XXXXXX";
	const char *a, *b;
	size_t na, nb;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	sonde_pipeline_add_input(p, CAPTURE);
	assert_int_equal(sonde_pipeline_write_partial(p, path, NULL), 0);
	back = run_on(path, NULL);
	assert_int_equal(sonde_pipeline_json(direct, &a, &na, NULL), 0);
	assert_int_equal(sonde_pipeline_json(back, &b, &nb, NULL), 0);
	assert_int_equal(na, nb);
	assert_memory_equal(a, b, na);
	unlink(path);
	sonde_pipeline_free(p);
	sonde_pipeline_free(direct);
	sonde_pipeline_free(back);
}

static void test_library__runs_are_compared(void **state)
{
	struct sonde_pipeline *a = run_on(CAPTURE, NULL), *b = run_on(CAPTURE, NULL), *fresh;
	struct sonde_comparison *c = NULL;
	struct sonde_err err = {0};
	char path[] = "/tmp/sonde_library_XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	fresh = sonde_pipeline_new();
	assert_int_equal(sonde_comparison_open(&c, &a, 1, &fresh, 1, &err), SONDE_ERR_USAGE);
	assert_null(c);
	assert_int_equal(sonde_comparison_open(&c, &a, 1, &b, 1, &err), 0);
	assert_true(sonde_comparison_nr_regions(c) > 2);
	assert_string_equal(sonde_comparison_id(c, 0), "A");
	assert_non_null(sonde_comparison_verdict(c, 0));
	assert_string_not_equal(sonde_comparison_verdict(c, 0), "slower");
	assert_true(sonde_comparison_low(c, 0) <= sonde_comparison_high(c, 0));
	assert_null(sonde_comparison_verdict(c, 100000));
	assert_true(isnan(sonde_comparison_ratio(c, 100000)));
	assert_null(sonde_comparison_sentence(c, 100000));
	assert_int_equal(sonde_comparison_export(c, "docx", path, &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_comparison_export(c, "json", path, &err), 0);
	assert_true(lseek(fd, 0, SEEK_END) == 0 && access(path, R_OK) == 0); /* replaced as a whole */
	close(fd);
	unlink(path);
	sonde_comparison_free(c);
	sonde_comparison_free(NULL);
	sonde_pipeline_free(a);
	sonde_pipeline_free(b);
	sonde_pipeline_free(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library__regions_have_names_launches_times_and_metrics),
		cmocka_unit_test(test_library__figures_follow_the_region_that_is_asked_for),
		cmocka_unit_test(test_library__what_is_not_there_is_null_nan_or_0),
		cmocka_unit_test(test_library__settings_are_those_of_the_command),
		cmocka_unit_test(test_library__mistakes_are_errors_with_a_sentence),
		cmocka_unit_test(test_library__partial_reports_are_inputs),
		cmocka_unit_test(test_library__runs_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
