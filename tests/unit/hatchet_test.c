/* The reader of Hatchet literals: damaged and odd ones. */
#include "unit.h"

#include "read_bytes.h"

#include <stdlib.h>

static const char small[] =
	"[{\"children\":[{\"children\":[{\"children\":[],\"frame\":{\"name\":\"k\\u00e9\"},"
	"\"metrics\":{\"count\":3,\"device_id\":\"1\",\"device_type\":\"CUDA\",\"time (us)\":2.5,"
	"\"time (inc)\":9,\"x\":NaN}}],\"frame\":{\"name\":\"scope\"},\"metrics\":{\"bytes\":64}}],"
	"\"frame\":{\"name\":\"ROOT\"},\"metrics\":{\"count\":0}},"
	"{\"CUDA\":{\"1\":{\"arch\":\"90\",\"num_sms\":132,\"bus_width\":6144}}}]";

static void test_hatchet__scopes_are_ranges_and_leaves_what_ran(void **state)
{
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, small, sizeof(small) - 1, &err), 0);
	assert_int_equal(r->ranges.nr, 1);
	assert_true(sonde_str_is(sonde_records_str(r, r->ranges.at[0].label), "scope"));
	assert_int_equal(r->records.nr, 2);
	assert_true(metric_of(r, 0, "bytes.sum") == 64);
	assert_true(sonde_str_is(sonde_records_str(r, sonde_record_function(r, &r->records.at[1])->name), "k\xc3\xa9"));
	assert_true(metric_of(r, 1, "gpu__time_duration.sum") == 2500);
	assert_true(metric_of(r, 1, "count.sum") == 3);
	assert_int_equal(sonde_record_launches(&r->records.at[1]), 3);
	assert_int_equal(sonde_record_launches(&r->records.at[0]), 0); /* the scope's own bytes */
	assert_int_equal(sonde_record_queue(r, &r->records.at[1])->device, 1);
	assert_int_equal(r->devices.at[0].cc_major, 9);
	assert_int_equal(sonde_records_metric(r, "time (inc).sum"), SONDE_NONE);
	sonde_records_free(r);
}

static void test_hatchet__survives_truncation_and_damage_anywhere(void **state)
{
	static const char bytes[] = {'"', '{', '}', '[', ',', '\\', '\0', '9', (char)0xff};
	char text[sizeof(small)];
	size_t i, b;

	(void)state;
	for (i = 1; i < sizeof(small) - 1; i++)
		survive(small, i);
	for (i = 0; i < sizeof(small) - 1; i++)
		for (b = 0; b < sizeof(bytes); b++) {
			memcpy(text, small, sizeof(small));
			text[i] = bytes[b];
			survive(text, sizeof(small) - 1);
		}
}

static void test_hatchet__nesting_without_end_is_refused(void **state)
{
	static const char level[] = "{\"frame\":{\"name\":\"a\"},\"children\":[";
	size_t depth = 100000, n = 1, i;
	char *text = malloc(depth * sizeof(level));
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_non_null(text);
	text[0] = '[';
	for (i = 0; i < depth; i++, n += sizeof(level) - 1)
		memcpy(text + n, level, sizeof(level) - 1);
	if (read_bytes(&r, text, n, &err) == 0)
		assert_true(r->ranges.nr <= 600); /* with a note */
	sonde_records_free(r);
	free(text);
}

static void test_hatchet__survives_every_failed_allocation(void **state)
{
	(void)state;
	survive_failed_allocations(small, sizeof(small) - 1, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hatchet__scopes_are_ranges_and_leaves_what_ran),
		cmocka_unit_test(test_hatchet__survives_truncation_and_damage_anywhere),
		cmocka_unit_test(test_hatchet__nesting_without_end_is_refused),
		cmocka_unit_test(test_hatchet__survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
