#include "config/config.h"
#include "export/format.h"

#include "unit.h"

#include <stdio.h>

static const struct sonde_format *of(const char *path)
{
	return sonde_format_of_file(sonde_str_from(path));
}

static void test_format__names_and_extensions_lead_to_one_format_each(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sonde_nr_formats; i++)
		assert_ptr_equal(sonde_format_named(sonde_str_from(sonde_formats[i].name)),
			&sonde_formats[i]);
	assert_null(sonde_format_named(SONDE_STR("pdf")));
	assert_string_equal(of("a/run.html")->name, "html");
	assert_string_equal(of("run.db")->name, "sqlite");
	assert_string_equal(of("run.sqlite")->name, "sqlite");
	assert_string_equal(of("run.txt")->name, "text");
	assert_null(of("run.html/"));
	assert_null(of(".json"));
	assert_null(of("out"));
}

static void test_format__list_reads_as_a_sentence(void **state)
{
	struct sonde_buf b = {0};

	(void)state;
	sonde_format_list(&b, SONDE_FORMAT_WIDTHS);
	assert_string_equal(b.p, "svg, speedscope and folded");
	sonde_buf_clear(&b);
	sonde_format_list(&b, SONDE_FORMAT_FILE);
	assert_string_equal(b.p, "sqlite");
	sonde_buf_release(&b);
}

/* The configuration accepts exactly the formats that a directory can have. */
static void test_format__configuration_knows_those_of_a_directory(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sonde_nr_formats; i++) {
		char line[64];
		const char *override = line;
		const struct sonde_config_request want = {.overrides = &override, .nr_overrides = 1};
		struct hydra_config *c = NULL;
		int rc;

		snprintf(line, sizeof(line), "report.formats=[%s]", sonde_formats[i].name);
		rc = sonde_config_open(&c, &want, NULL);
		assert_int_equal(rc == 0, (sonde_formats[i].flags & SONDE_FORMAT_IN_DIR) != 0);
		hydra_config_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format__names_and_extensions_lead_to_one_format_each),
		cmocka_unit_test(test_format__list_reads_as_a_sentence),
		cmocka_unit_test(test_format__configuration_knows_those_of_a_directory),
	};

	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
