/* Tests of the composer: hostile files, sweeps, tables of keys. cases/ tests the language. */
#include "base/alloc.h"
#include "hydra/hydra.h"

#include "config_tree.h"
#include "unit.h"

#include <unistd.h>

static struct hydra_config *open_tree(struct tree *t, const char *name,
	const struct hydra_key *keys, struct sonde_err *err, const char *const *overrides)
{
	const struct hydra_source where = {.provider = "main", .dir = t->dir};
	struct hydra_request req = {.sources = &where,
		.nr_sources = 1,
		.config_name = name,
		.keys = keys,
		.overrides = overrides};
	struct hydra_config *c = NULL;

	while (overrides && overrides[req.nr_overrides])
		req.nr_overrides++;
	if (hydra_config_open(&c, &req, err) == 0)
		assert_non_null(c);
	else
		assert_null(c);
	return c;
}

/* Opening fails with SONDE_ERR_USAGE, and the message is one line that contains `what`. */
static void assert_refused(struct tree *t, const char *name, const char *override, const char *what)
{
	const char *overrides[] = {override, NULL};
	struct sonde_err err = {0};
	struct hydra_config *c = open_tree(t, name, NULL, &err, override ? overrides : NULL);

	assert_null(c);
	if (err.code != SONDE_ERR_USAGE || !strstr(err.msg, what) || strchr(err.msg, '\n'))
		fail_msg("code %d, message '%s' lacks '%s'", err.code, err.msg, what);
}

static void test_hydra__malformed_yaml_names_file_and_line(void **state)
{
	struct tree t;

	(void)state;
	setup_tree(&t);
	put(&t, "bracket.yaml", "a: [1, 2\nb: }\n");
	put(&t, "tab.yaml", "a:\n\tb: 1\n");
	put(&t, "twice.yaml", "a: 1\nb: 2\na: 3\n");
	put(&t, "docs.yaml", "a: 1\n---\nb: 2\n");
	put(&t, "grammar.yaml", "x: 1\na: ${b\n");
	put_bytes(&t, "bytes.yaml", "a: 1\nb: \xff\xfe\n", 11);
	put_bytes(&t, "nul.yaml", "a: 1\nb: \0x\n", 11);
	assert_refused(&t, "bracket", NULL, "bracket.yaml:2: ");
	assert_refused(&t, "tab", NULL, "tab.yaml:2: ");
	assert_refused(&t, "twice", NULL, "twice.yaml:3: found duplicate key 'a'");
	assert_refused(&t, "docs", NULL, "docs.yaml:2: ");
	assert_refused(&t, "grammar", NULL, "grammar.yaml:2: ");
	assert_refused(&t, "bytes", NULL, "bytes.yaml:2: byte 0xff is not valid UTF-8");
	assert_refused(&t, "nul", NULL, "nul.yaml:2: ");
	put(&t, "tag.yaml", "x: 1\na: !!python/tuple [1]\n");
	put(&t, "handle.yaml", "%TAG ! tag:yaml.org,2002:\n---\na: !str 1\n");
	assert_refused(&t, "tag", NULL, "tag.yaml:2: tag not understood here");
	assert_refused(&t, "handle", NULL, "handle.yaml:1: tag handles are not known here");
	remove_tree(&t);
}

static char *repeat(const char *piece, size_t nr, const char *tail)
{
	struct sonde_buf b = {0};

	while (nr--)
		sonde_buf_puts(&b, piece);
	sonde_buf_puts(&b, tail);
	assert_false(b.failed);
	return b.p;
}

static void test_hydra__deep_nesting_is_refused(void **state)
{
	struct tree t;
	char *deep = repeat("[", 10000, ""), *maps = repeat("{a: ", 10000, "");
	char *line = repeat("[", 10000, ""), *key = repeat("a.", 10000, "b=1");
	struct sonde_buf block = {0};
	int i;

	(void)state;
	setup_tree(&t);
	put(&t, "lists.yaml", deep);
	put(&t, "maps.yaml", maps);
	for (i = 0; i < 3000; i++)
		sonde_buf_printf(&block, "%*sa:\n", i, "");
	put(&t, "blocks.yaml", block.p);
	put(&t, "flat.yaml", "a: 1\n");
	assert_refused(&t, "lists", NULL, "lists.yaml:1: ");
	assert_refused(&t, "maps", NULL, "maps.yaml:1: ");
	assert_refused(&t, "blocks", NULL, "nested deeper than");
	memcpy(line, "a=", 2);
	assert_refused(&t, "flat", line, "deeper than");
	memcpy(key, "+a", 2);
	assert_refused(&t, "flat", key, "more than");
	sonde_free(deep);
	sonde_free(maps);
	sonde_free(line);
	sonde_free(key);
	sonde_buf_release(&block);
	remove_tree(&t);
}

static void test_hydra__alias_bombs_and_growing_interpolations_are_bounded(void **state)
{
	struct sonde_buf aliases = {0}, texts = {0};
	struct tree t;
	int i;

	(void)state;
	setup_tree(&t);
	sonde_buf_puts(&aliases, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	sonde_buf_puts(&texts, "a0: xxxxxxxxxx\n");
	for (i = 1; i < 12; i++) {
		sonde_buf_printf(&aliases,
			"a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1,
			i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
		sonde_buf_printf(&texts, "a%d: ${a%d}${a%d}${a%d}${a%d}${a%d}${a%d}${a%d}${a%d}\n",
			i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	}
	put(&t, "aliases.yaml", aliases.p);
	put(&t, "texts.yaml", texts.p);
	put(&t, "cycle.yaml", "a: &a [*a]\n");
	assert_refused(&t, "aliases", NULL, "MiB");
	assert_refused(&t, "texts", NULL, "");
	assert_refused(&t, "cycle", NULL, "cycle.yaml:1: ");
	sonde_buf_release(&aliases);
	sonde_buf_release(&texts);
	remove_tree(&t);
}

static void test_hydra__cycles_missing_groups_and_duplicates_are_explained(void **state)
{
	struct tree t;

	(void)state;
	setup_tree(&t);
	put(&t, "self.yaml", "defaults: [self]\n");
	put(&t, "a.yaml", "defaults: [b]\n");
	put(&t, "b.yaml", "defaults: [a]\n");
	put(&t, "ring.yaml", "x: ${y}\ny: ${x}\n");
	put(&t, "group.yaml", "defaults:\n- nogroup: x\n");
	put(&t, "option.yaml", "defaults:\n- db: nosuch\n");
	put(&t, "db/mysql.yaml", "v: 1\n");
	put(&t, "dup.yaml", "defaults:\n- db@x: mysql\n- db@x: mysql\n");
	assert_refused(&t, "self", NULL, "include 'self' in itself");
	assert_refused(&t, "a", NULL, "include 'a' in itself");
	assert_refused(&t, "ring", NULL, "Recursive interpolation detected");
	assert_refused(&t, "group", NULL, "Could not find 'nogroup/x'");
	assert_refused(&t, "option", NULL, "Available options in 'db': mysql");
	assert_refused(&t, "dup", NULL, "db@x appears more than once");
	assert_refused(&t, "nosuch", NULL, "Cannot find primary config 'nosuch'");
	remove_tree(&t);
}

static void test_hydra__a_sweep_inside_a_value_is_refused(void **state)
{
	struct tree t;

	(void)state;
	setup_tree(&t);
	put(&t, "flat.yaml", "a: 1\nb: [1]\n");
	assert_refused(&t, "flat", "+x=[range(1,3)]", "Value 'RangeSweep' is not a supported");
	assert_refused(&t, "flat", "+x={k:choice(1,2)}", "Value 'ChoiceSweep' is not a supported");
	assert_refused(&t, "flat", "b=[choice(1,2)]", "Error merging override b=[choice(1,2)]");
	remove_tree(&t);
}

static void test_hydra__huge_files_are_refused(void **state)
{
	struct tree t;
	char path[PATH_MAX];

	(void)state;
	setup_tree(&t);
	put(&t, "huge.yaml", "a: 1\n");
	snprintf(path, sizeof(path), "%s/huge.yaml", t.dir);
	assert_int_equal(truncate(path, 1l << 32), 0);
	assert_refused(&t, "huge", NULL, "more than 16 MiB");
	remove_tree(&t);
}

static void test_hydra__tables_of_keys_check_and_give_defaults(void **state)
{
	static const struct hydra_key keys[] = {
		{"server.port", HYDRA_KEY_INT, "80", 1, 65535, NULL, "where it listens"},
		{"server.names", HYDRA_KEY_LIST, "[a, b]", 0, 0, NULL, "what it is called"},
		{"mode", HYDRA_KEY_WORD, "fast", 0, 0, "fast|slow", "how"},
		{"colours", HYDRA_KEY_LIST, "[]", 0, 0, "red|blue", "which"}, {0}};
	static const char *const number[] = {"colours=5", NULL}, *const one[] = {"colours=red", NULL};
	static const char *const far[] = {"server.port=70000", NULL};
	const struct sonde_str *names;
	struct sonde_err err = {0};
	struct hydra_config *c;
	struct tree t;

	(void)state;
	setup_tree(&t);
	put(&t, "config.yaml", "server: {port: 8080}\n");
	put(&t, "typo.yaml", "server: {prot: 8080}\n");
	c = open_tree(&t, "config", keys, &err, NULL);
	assert_non_null(c);
	assert_int_equal(hydra_config_int(c, "server.port"), 8080);
	assert_int_equal(hydra_config_list(c, "server.names", &names), 2);
	assert_true(sonde_str_is(hydra_config_str(c, "mode"), "fast"));
	assert_true(sonde_str_is(hydra_config_origin(c, "mode"), "the default"));
	hydra_config_free(c);
	assert_null(open_tree(&t, "typo", keys, &err, NULL));
	assert_non_null(strstr(err.msg, "did you mean 'server.port'?"));
	assert_null(open_tree(&t, "config", keys, &err, far));
	assert_non_null(strstr(err.msg, "an integer from 1 to 65535"));
	assert_null(open_tree(&t, "config", keys, &err, number));
	assert_non_null(strstr(err.msg, "colours must be a list of red|blue, not 5"));
	c = open_tree(&t, "config", keys, &err, one);
	assert_int_equal(hydra_config_list(c, "colours", &names), 1);
	hydra_config_free(c);
	remove_tree(&t);
}

static void test_hydra__a_required_folder_must_exist(void **state)
{
	const struct hydra_source where = {
		.provider = "command-line", .dir = "/nonexistent", .is_required = true};
	struct hydra_request req = {.sources = &where, .nr_sources = 1};
	struct sonde_err err = {0};
	struct hydra_config *c;

	(void)state;
	assert_int_equal(hydra_config_open(&c, &req, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "'/nonexistent' not found"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hydra__malformed_yaml_names_file_and_line),
		cmocka_unit_test(test_hydra__deep_nesting_is_refused),
		cmocka_unit_test(test_hydra__alias_bombs_and_growing_interpolations_are_bounded),
		cmocka_unit_test(test_hydra__cycles_missing_groups_and_duplicates_are_explained),
		cmocka_unit_test(test_hydra__a_sweep_inside_a_value_is_refused),
		cmocka_unit_test(test_hydra__huge_files_are_refused),
		cmocka_unit_test(test_hydra__tables_of_keys_check_and_give_defaults),
		cmocka_unit_test(test_hydra__a_required_folder_must_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
