#include "base/arena.h"
#include "base/secret.h"

#include "unit.h"

static void test_secret__names_in_capitals_contain_the_word_small_ones_end_with_it(void **state)
{
	static const char *const secrets[] = {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD",
		"AWS_ACCESS_KEY_ID", "api_key", "db.password", "hf-token", "secret", "Api-Key",
		"apikey", "passwd"};
	static const char *const others[] = {
		"", "PATH", "tokenizer", "max_tokens", "key_dim", "monkey", "keys", "turkey"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(secrets) / sizeof(*secrets); i++)
		if (!sonde_secret_is_name(secrets[i], strlen(secrets[i])))
			fail_msg("%s is not taken for a secret", secrets[i]);
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (sonde_secret_is_name(others[i], strlen(others[i])))
			fail_msg("%s is taken for a secret", others[i]);
}

static void test_secret__lines_keep_everything_but_values(void **state)
{
	static const char *const lines[][2] = {{"a b  c", "a b  c"},
		{"p --token=x --token y z", "p --token=*** --token *** z"},
		{"p --token --verbose x", "p --token --verbose x"},
		{"env A_KEY=1 +e.B_TOKEN=2=3 ", "env A_KEY=*** +e.B_TOKEN=*** "},
		{"p --env=MY_SECRET=x", "p --env=MY_SECRET=***"}, {"", ""}, {"=", "="}};
	struct sonde_arena arena = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sonde_str s = sonde_secret_mask_line(&arena, sonde_str_from(lines[i][0]));

		if (!sonde_str_is(s, lines[i][1]))
			fail_msg("'%s' gave '%.*s'", lines[i][0], SONDE_STR_ARG(s));
	}
	sonde_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_secret__names_in_capitals_contain_the_word_small_ones_end_with_it),
		cmocka_unit_test(test_secret__lines_keep_everything_but_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
