#include "base/arena.h"
#include "base/secret.h"

#include "unit.h"

#include <stdio.h>

static void test_secret__names_in_capitals_contain_the_word_small_ones_end_with_it(void **state)
{
	static const char *const secrets[] = {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD",
		"AWS_ACCESS_KEY_ID", "api_key", "db.password", "hf-token", "secret", "Api-Key",
		"apikey", "passwd", "auth", "basic-auth", "HTTP_AUTH", "DB_PASS", "GITHUB_PAT", "MYSQL_PWD",
		"passphrase", "bearer"};
	static const char *const others[] = {
		"", "PATH", "tokenizer", "max_tokens", "key_dim", "monkey", "keys", "turkey",
		"AUTHOR", "author", "SSH_AUTH_SOCK", "XAUTHORITY", "auth_type", "PWD", "OLDPWD", "pass",
		"COMPASS", "PATH_PATTERN", "no-auth", "COPAT"};
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
		{"p --env=MY_SECRET=x", "p --env=MY_SECRET=***"}, {"", ""}, {"=", "="},
		{"p --auth=u:p --auth u:p x --no-auth y", "p --auth=*** --auth *** x --no-auth y"},
		{"p Authorization: Bearer x y", "p Authorization: Bearer *** y"},
		{"p authorization: x y", "p authorization: *** y"},
		{"p token: x y", "p token: *** y"}, {"p X-Api-Key: x y", "p X-Api-Key: *** y"},
		{"p key: x cache: y tokens: z", "p key: x cache: y tokens: z"},
		{"curl -u me:pw -U a:b http://h:80/a@b", "curl -u me:*** -U a:*** http://h:80/a@b"},
		{"/usr/bin/curl --user me:pw -ume:pw2 -u me", "/usr/bin/curl --user me:*** -ume:*** -u me"},
		{"python -u a:b.py", "python -u a:b.py"},
		{"docker run -u 1000:1000 a:b@sha256:0", "docker run -u 1000:1000 a:b@sha256:0"},
		{"mysql -ppw db", "mysql -p*** db"}, {"mysql -p db", "mysql -p db"},
		{"sshpass -p pw ssh h", "sshpass -p *** ssh h"}, {"mkdir -p a", "mkdir -p a"}};
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

/* Words as a program gets them: they may contain blanks and quotes. */
static void test_secret__shapes_inside_a_word_are_found(void **state)
{
	static const char *const words[][2] = {
		{"https://user:PW@host/x?a=1", "https://user:***@host/x?a=1"},
		{"--index=https://u:p@ss@host:8080/x", "--index=https://u:***@host:8080/x"},
		{"postgres://u:a/b#c@host/db", "postgres://u:***@host/db"},
		{"https://host:8080/path@v1", "https://host:8080/path@v1"},
		{"https://user:@host", "https://user:@host"}, {"ssh://git@host/x", "ssh://git@host/x"},
		{"https://h/?token=abc&n=5", "https://h/?token=***&n=5"},
		{"Authorization: Bearer abc", "Authorization: Bearer ***"},
		{"Authorization: Basic a=b, c", "Authorization: Basic ***"},
		{"Proxy-Authorization: abc", "Proxy-Authorization: ***"}, {"Cookie: a=b; c=d", "Cookie: ***"},
		{"{\"password\": \"a b\\\"c\", \"n\": 5}", "{\"password\": \"***\", \"n\": 5}"},
		{"{'api_key':'x','key':'y'}", "{'api_key':'***','key':'y'}"},
		{"{\\\"token\\\": \\\"x\\\", \\\"n\\\": 1}", "{\\\"token\\\": \\\"***\\\", \\\"n\\\": 1}"},
		{"{\"secret\": 12, \"n\": 5}", "{\"secret\": ***, \"n\": 5}"},
		{"+db={password: x, n: 5}", "+db={password: ***, n: 5}"},
		{"Server=a;Pwd=b;Database=c", "Server=a;Pwd=***;Database=c"},
		{"Server=a;User Id=u;Password=\"b;c\";D=c", "Server=a;User Id=u;Password=\"***\";D=c"},
		{"Pwd=b;Server=a", "Pwd=***;Server=a"}, {"--pwd=/work", "--pwd=/work"}, {"PWD=/work", "PWD=/work"},
		{"--password=a;b c", "--password=***"},
		{"A=1 HF_TOKEN=x python --api-key y 'z'", "A=1 HF_TOKEN=*** python --api-key *** 'z'"},
		{"curl -H 'Authorization: Bearer x' -u a:b h", "curl -H 'Authorization: Bearer ***' -u a:*** h"},
		{"export DB_PASSWORD='a b'; run", "export DB_PASSWORD='***'; run"},
		{"what is the secret token of life", "what is the secret token of life"},
		{"--t=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", "--t=hf_***"},
		{"ghp_abcdefghijklmnopqrstuvwxyzABCDEF0123", "ghp_***"},
		{"github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "github_pat_***"},
		{"x=nvapi-abcdefghijkABCDEFGHIJK_0123456789-abcd", "x=nvapi-***"},
		{"sk-proj-abcdefghijklmnopqrstuvwxyzABCDEF0123", "sk-***"},
		{"AKIAIOSFODNN7EXAMPLE", "AKIA***"}, {"AKIA", "AKIA"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_123", "eyJ***"},
		{"hf_transfer", "hf_transfer"}, {"hf_hub_download_everything_from_there", "hf_hub_download_everything_from_there"},
		{"task-learn-random-forest-classifier-42A", "task-learn-random-forest-classifier-42A"},
		{"sk-learn-random-forest-classifier-model", "sk-learn-random-forest-classifier-model"},
		{"eos_tokens=5", "eos_tokens=5"}, {"model:tokenizer", "model:tokenizer"}, {"12:30", "12:30"},
		{"a::b::key", "a::b::key"}, {"C:\\keys", "C:\\keys"}};
	struct sonde_buf b = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct sonde_secret s = {0};

		sonde_buf_clear(&b);
		sonde_secret_mask(&s, &b, sonde_str_from(words[i][0]));
		if (!sonde_str_is(sonde_buf_view(&b), words[i][1]))
			fail_msg("'%s' gave '%s', not '%s'", words[i][0], b.p, words[i][1]);
	}
	sonde_buf_release(&b);
}

/* For any bytes, spans are inside the word and in order. */
static void test_secret__spans_lie_in_the_word(void **state)
{
	static const char alphabet[] = "aA0 =:@/\"'\\;&?{}.-_\n\xff";
	static const char *const pieces[] = {"token", "://", "password", "Authorization:", "hf_", "curl -u"};
	char word[64];
	uint64_t seed = 1;
	unsigned round, i;

	(void)state;
	for (round = 0; round < 200000; round++) {
		struct sonde_secret s = {.is_value = round % 3 == 0, .program = round % 4};
		size_t n = 0, from, to, last = 0;

		while (n < 40) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			i = (unsigned)(seed >> 33);
			if (i % 8)
				word[n++] = alphabet[i / 8 % (sizeof(alphabet) - 1)];
			else
				n += (size_t)snprintf(word + n, sizeof(word) - n, "%s", pieces[i / 8 % 6]);
		}
		sonde_secret_word(&s, word, n);
		while (sonde_secret_next(&s, &from, &to)) {
			assert_true(last <= from && from < to && to <= n);
			last = to;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_secret__names_in_capitals_contain_the_word_small_ones_end_with_it),
		cmocka_unit_test(test_secret__lines_keep_everything_but_values),
		cmocka_unit_test(test_secret__shapes_inside_a_word_are_found),
		cmocka_unit_test(test_secret__spans_lie_in_the_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
