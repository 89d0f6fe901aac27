/* `sonde whatif`: makes a replay from a capture, and computes the gain of changes. */
#include "lib/whatif.h"
#include "base/alloc.h"
#include "unit.h"

#include <math.h>

static const char *const resnet[] = {"tests/data/whatif/resnet.sonde"};
static const struct sonde_whatif_source source = {.paths = resnet, .nr_paths = 1};

static void test_whatif__gains_are_told_one_by_one(void **state)
{
	static const char *const changes[] = {"kernel:conv2d=0.5x", "graph:nowhere", "no change",
		"kernel:conv2d=roofline", "remove:residual",
		"ahead:residual"};
	struct sonde_gain gains[6];
	struct sonde_whatif *w;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_whatif_open(&w, &source, &err), 0);
	sonde_whatif_gains(w, gains, changes, 6);
	assert_true(gains[0].ns > 1.5e6 && gains[0].ns < 1.8e6);
	assert_true(
		gains[0].low_ns < gains[0].ns && gains[0].ns < gains[0].high_ns);
	assert_true(isnan(gains[1].ns) && isnan(gains[1].low_ns) && gains[1].why.n);
	assert_true(isnan(gains[2].ns) && gains[2].why.n);
	assert_non_null(strstr(gains[3].why.p, "roofline"));
	assert_true(isnan(gains[4].ns)); /* this is not a fix */
	assert_true(gains[5].is_most && strstr(gains[5].why.p, "upper bound"));
	assert_false(gains[0].is_most);
	sonde_whatif_free(w);
}

static void test_whatif__what_cannot_be_replayed_says_why(void **state)
{
	static const char *const paths[] = {"tests/data/ncu/seed_kernel.ncu-rep"};
	const struct sonde_whatif_source ncu = {.paths = paths, .nr_paths = 1},
					 far = {.paths = resnet,
						 .nr_paths = 1,
						 .step = "no such step"};
	struct sonde_whatif *w;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_whatif_open(&w, &ncu, &err), SONDE_ERR_NOTFOUND);
	assert_null(w);
	assert_non_null(strstr(err.msg, "nothing to replay"));
	assert_int_equal(sonde_whatif_open(&w, &far, &err), SONDE_ERR_NOTFOUND);
	assert_non_null(strstr(err.msg, "no such step"));
}

static void test_whatif__the_step_can_be_chosen(void **state)
{
	const struct sonde_whatif_source head = {.paths = resnet, .nr_paths = 1, .step = "head"};
	struct sonde_whatif *w;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_whatif_open(&w, &head, &err), 0);
	assert_true(sonde_str_is(sonde_whatif_region_id(w, sonde_whatif_summary(w)->step), "head"));
	assert_null(sonde_whatif_refusal(w));
	sonde_whatif_free(w);
}

/* A process that never enters the step does not count in the prediction for the step. */
static void test_whatif__processes_without_the_step_are_left_out(void **state)
{
	static const char *const paths[] = {"tests/data/whatif/resnet.sonde", "tests/data/sampled_capture/decode.sonde"},
				 *const change[] = {"graph:layer0/attn"};
	const struct sonde_whatif_source both = {.paths = paths, .nr_paths = 2, .step = "decode/step"},
					 alone = {.paths = paths + 1, .nr_paths = 1, .step = "decode/step"};
	struct sonde_gain one, of_both;
	struct sonde_whatif *w;
	struct sonde_err err = {0};
	uint64_t n;
	int rc = -1;

	(void)state;
	assert_int_equal(sonde_whatif_open(&w, &alone, &err), 0);
	assert_int_equal(sonde_whatif_ask(w, &one, change, 1, &err), 0);
	sonde_whatif_free(w);
	for (n = 1; rc < 0 && n < 1u << 24; n += 1 + n / 3) {
		sonde_alloc_fail_at(n);
		err = (struct sonde_err){0};
		rc = sonde_whatif_open(&w, &both, &err);
		sonde_alloc_fail_at(0);
		assert_true(rc == 0 || err.code);
		if (rc == 0)
			sonde_whatif_free(w);
	}
	assert_int_equal(sonde_whatif_open(&w, &both, &err), 0);
	assert_int_equal(sonde_whatif_ask(w, &of_both, change, 1, &err), 0);
	assert_true(of_both.ns == one.ns);
	sonde_whatif_free(w);
}

static void test_whatif__every_failing_allocation_is_an_error(void **state)
{
	static const char *const change[] = {"remove:block.conv1"};
	struct sonde_whatif_offer offers[4];
	struct sonde_whatif_wait wait;
	struct sonde_gain gain;
	struct sonde_whatif *w;
	struct sonde_err err;
	uint64_t n;
	int rc = -1;

	(void)state;
	for (n = 1; rc < 0; n += 1 + n / 64) {
		err = (struct sonde_err){0};
		sonde_alloc_fail_at(n);
		rc = sonde_whatif_open(&w, &source, &err);
		if (rc == 0) {
			rc = sonde_whatif_ask(w, &gain, change, 1, &err);
			if (rc == 0)
				rc = sonde_whatif_offers(w, offers, 4, &err);
			if (rc >= 0)
				rc = sonde_whatif_find_wait(w, &wait, &err);
			sonde_whatif_free(w);
		}
		sonde_alloc_fail_at(0);
		assert_true(rc >= 0 || err.code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whatif__gains_are_told_one_by_one),
		cmocka_unit_test(test_whatif__what_cannot_be_replayed_says_why),
		cmocka_unit_test(test_whatif__the_step_can_be_chosen),
		cmocka_unit_test(test_whatif__processes_without_the_step_are_left_out),
		cmocka_unit_test(test_whatif__every_failing_allocation_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
