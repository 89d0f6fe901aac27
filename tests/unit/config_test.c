#include "base/alloc.h"
#include "base/file.h"
#include "config/config.h"

#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of configs made for one test. */
struct tree {
	char dir[64];
};

static void setup_tree(struct tree *t)
{
	strncpy(t->dir, "/tmp/sonde-config-XXXXXX", sizeof(t->dir) - 1);
	assert_non_null(mkdtemp(t->dir));
}

static void put_bytes(struct tree *t, const char *name, const void *data, size_t n)
{
	char path[PATH_MAX], *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(sonde_dir_make(path, NULL), 0);
	*slash = '/';
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

static void put(struct tree *t, const char *name, const char *text)
{
	put_bytes(t, name, text, strlen(text));
}

static void remove_tree(struct tree *t)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", t->dir);
	assert_int_equal(system(command), 0);
}

/* Opens the primary `name` of the tree with up to three overrides. */
static struct sonde_config *open_tree(struct tree *t, const char *name, bool any_keys,
	struct sonde_err *err, const char *const *overrides)
{
	struct sonde_config_request req = {
		.config_dir = t->dir, .config_name = name, .any_keys = any_keys};
	struct sonde_config *c = NULL;

	req.overrides = overrides;
	while (overrides && overrides[req.nr_overrides])
		req.nr_overrides++;
	if (sonde_config_open(&c, &req, err) == 0)
		assert_non_null(c);
	else
		assert_null(c);
	return c;
}

/* One line, says `what`, and is the user's mistake. */
static void assert_refused(struct tree *t, const char *name, const char *override, const char *what)
{
	const char *overrides[] = {override, NULL};
	struct sonde_err err = {0};
	struct sonde_config *c = open_tree(t, name, true, &err, override ? overrides : NULL);

	assert_null(c);
	if (err.code != SONDE_ERR_USAGE || !strstr(err.msg, what) || strchr(err.msg, '\n'))
		fail_msg("code %d, message '%s' lacks '%s'", err.code, err.msg, what);
}

static struct sonde_config *open_shipped(const char *const *overrides, size_t nr)
{
	struct sonde_config_request req = {.overrides = overrides, .nr_overrides = nr};
	struct sonde_err err = {0};
	struct sonde_config *c;

	if (sonde_config_open(&c, &req, &err))
		fail_msg("%s", err.msg);
	return c;
}

static void test_config__shipped_tree_composes_with_the_documented_defaults(void **state)
{
	const struct sonde_str *items;
	struct sonde_config *c = open_shipped(NULL, 0);

	(void)state;
	assert_true(sonde_config_bool(c, "report.aggregate"));
	assert_int_equal(sonde_config_int(c, "report.max_kernels"), 20);
	assert_true(sonde_str_is(sonde_config_str(c, "report.nesting"), "label"));
	assert_true(sonde_str_is(sonde_config_str(c, "pipeline.ncu.ncu_cli.set"), "roofline"));
	assert_int_equal(sonde_config_list(c, "pipeline.ncu.ncu_cli.sections", &items), 4);
	assert_true(sonde_str_is(items[0], "SpeedOfLight"));
	assert_int_equal(sonde_config_list(c, "report.metrics", &items), 0);
	assert_true(sonde_config_is_null(c, "pipeline.native.enable"));
	assert_int_equal(sonde_config_notes(c)->texts.nr, 0);
	sonde_config_free(c);
}

static void test_config__overrides_of_the_python_tool_are_accepted_as_they_are(void **state)
{
	static const char *const lines[] = {"pipeline.nsys.enable=true", "pipeline.ncu.enable=true",
		"pipeline.ncu.ncu_cli.nvtx.include=[LLM@*,prefill*,decode*]",
		"pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]",
		"profiling/ncu@pipeline.ncu=ncu.rtx3090.compute",
		"model/dummy_shallow_resnet/arch@model=dummy_shallow_resnet.tiny", "device=cuda:1",
		"hydra.run.dir=/tmp/here", "hydra.job.chdir=true"};
	const struct sonde_str *items;
	struct sonde_config *c = open_shipped(lines, sizeof(lines) / sizeof(*lines));

	(void)state;
	assert_true(sonde_config_bool(c, "pipeline.ncu.enable"));
	assert_int_equal(sonde_config_list(c, "pipeline.ncu.ncu_cli.nvtx.include", &items), 3);
	assert_true(sonde_str_is(items[0], "LLM@*"));
	assert_int_equal(sonde_config_list(c, "pipeline.ncu.ncu_cli.metrics", &items), 1);
	assert_int_equal(sonde_config_int(c, "model.channels"), 8);
	assert_true(sonde_str_is(sonde_config_run_dir(c), "/tmp/here"));
	assert_true(sonde_config_bool(c, "hydra.job.chdir"));
	sonde_config_free(c);
}

static void test_config__every_preset_passes_the_table_of_keys(void **state)
{
	static const char *const presets[] = {"profiling/ncu@pipeline.ncu=ncu.high",
		"profiling/ncu@pipeline.ncu=ncu.rtx3090",
		"profiling/ncu@pipeline.ncu=ncu.rtx3090.compute",
		"profiling/ncu@pipeline.ncu=ncu.rtx3090.memory",
		"profiling/ncu@pipeline.ncu=ncu.h200", "report=full", "report=ci",
		"+report/metrics@report=memory", "+report/metrics@report=compute",
		"+report/metrics@report=throughput", "+report/sections@report=roofline",
		"+report/sections@report=occupancy", "+report/kernels@report=gemm",
		"+report/kernels@report=no_memset", "+report/formats@report=all",
		"model/dummy_shallow_resnet/infer@infer=dummy_shallow_resnet.once"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(presets) / sizeof(*presets); i++)
		sonde_config_free(open_shipped(&presets[i], 1));
}

static void test_config__origins_name_file_and_line_or_the_override(void **state)
{
	static const char *const lines[] = {"report.sort=time"};
	struct sonde_config *c = open_shipped(lines, 1);

	(void)state;
	assert_true(
		sonde_str_is(sonde_config_origin(c, "report.sort"), "override 'report.sort=time'"));
	assert_true(
		sonde_str_ends(sonde_config_origin(c, "report.nesting"), "report/default.yaml:10"));
	sonde_config_free(c);
}

static void test_config__unknown_key_names_the_nearest(void **state)
{
	static const char *const typo[] = {"report.metrcs=[a]", NULL};
	static const char *const added[] = {"+report.metrcs=[a]", NULL};
	struct tree t;
	struct sonde_err err = {0};
	struct sonde_config *c;

	(void)state;
	setup_tree(&t);
	put(&t, "mine.yaml", "defaults: [config, _self_]\npipeline:\n  ncu:\n    enabel: true\n");
	assert_null(open_tree(&t, "mine", false, &err, NULL));
	assert_non_null(
		strstr(err.msg, "mine.yaml:4: unknown key 'pipeline.ncu.enabel', did you mean "
				"'pipeline.ncu.enable'?"));
	assert_null(open_tree(&t, "config", false, &err, typo));
	assert_non_null(strstr(err.msg, "did you mean 'report.metrics'?"));
	c = open_tree(&t, "config", false, &err, added);
	assert_non_null(c);
	sonde_config_free(c);
	remove_tree(&t);
}

static void test_config__wrong_types_and_ranges_are_refused(void **state)
{
	static const char *const lines[][2] = {{"report.aggregate=maybe", "true or false"},
		{"report.max_kernels=-1", "from 0 to"},
		{"report.sort=tim", "order|time|launches|name"},
		{"report.metrics=[[1]]", "list of strings"}, {"report.kernels=3", "group of keys"},
		{"pipeline.native.buffer_mb=1.5", "integer"}};
	struct sonde_err err = {0};
	struct sonde_config *c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sonde_config_request req = {.overrides = lines[i], .nr_overrides = 1};

		assert_int_equal(sonde_config_open(&c, &req, &err), SONDE_ERR_USAGE);
		if (!strstr(err.msg, lines[i][1]) || !strstr(err.msg, lines[i][0]))
			fail_msg("%s: %s", lines[i][0], err.msg);
	}
}

static void test_config__fingerprint_changes_with_numbers_only(void **state)
{
	static const char *const shown[] = {"report.max_kernels=3"};
	static const char *const selected[] = {"report.kernels.include=[gemm*]"};
	struct sonde_config *a = open_shipped(NULL, 0), *b = open_shipped(shown, 1);
	struct sonde_config *c = open_shipped(selected, 1);

	(void)state;
	assert_true(sonde_str_starts(sonde_config_fingerprint(a), "xxh3:"));
	assert_true(sonde_str_eq(sonde_config_fingerprint(a), sonde_config_fingerprint(b)));
	assert_false(sonde_str_eq(sonde_config_fingerprint(a), sonde_config_fingerprint(c)));
	sonde_config_free(a);
	sonde_config_free(b);
	sonde_config_free(c);
}

static void test_config__sweep_jobs_come_in_order_with_their_own_directories(void **state)
{
	static const char *const lines[] = {
		"report.max_kernels=1,2", "report.sort=time,name", "hydra.sweep.dir=out"};
	struct sonde_config_request req = {.overrides = lines, .nr_overrides = 3, .multirun = true};
	struct sonde_err err = {0};
	struct sonde_config *master, *job;

	(void)state;
	assert_int_equal(sonde_config_open(&master, &req, &err), 0);
	assert_int_equal(sonde_config_nr_jobs(master), 4);
	assert_int_equal(sonde_config_job_open(&job, master, 1, &err), 0);
	assert_int_equal(sonde_config_int(job, "report.max_kernels"), 1);
	assert_true(sonde_str_is(sonde_config_str(job, "report.sort"), "name"));
	assert_true(sonde_str_is(sonde_config_run_dir(job), "out/1"));
	sonde_config_free(job);
	sonde_config_free(master);
}

static void test_config__malformed_yaml_names_file_and_line(void **state)
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

static void test_config__deep_nesting_is_refused(void **state)
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

static void test_config__alias_bombs_and_growing_interpolations_are_bounded(void **state)
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

static void test_config__cycles_missing_groups_and_duplicates_are_explained(void **state)
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

static void test_config__huge_files_are_refused(void **state)
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

static void test_config__survives_every_failing_allocation(void **state)
{
	static const char *const lines[] = {"report.metrics=[a,'b']", "+x={y: ${device}}",
		"profiling/ncu@pipeline.ncu=ncu.high", "report.max_kernels=3"};
	struct sonde_config_request req = {.overrides = lines, .nr_overrides = 4};
	struct sonde_err err = {0};
	struct sonde_config *c;
	uint64_t i, total, before = sonde_alloc_count();

	(void)state;
	assert_int_equal(sonde_config_open(&c, &req, &err), 0);
	sonde_config_free(c);
	total = sonde_alloc_count() - before;
	for (i = 1; i <= total; i += i < 300 ? 1 : total / 400 + 1) {
		err = (struct sonde_err){0};
		sonde_alloc_fail_at(i);
		if (sonde_config_open(&c, &req, &err) == 0)
			sonde_config_free(c);
		else
			assert_null(c);
		sonde_alloc_fail_at(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config__shipped_tree_composes_with_the_documented_defaults),
		cmocka_unit_test(
			test_config__overrides_of_the_python_tool_are_accepted_as_they_are),
		cmocka_unit_test(test_config__every_preset_passes_the_table_of_keys),
		cmocka_unit_test(test_config__origins_name_file_and_line_or_the_override),
		cmocka_unit_test(test_config__unknown_key_names_the_nearest),
		cmocka_unit_test(test_config__wrong_types_and_ranges_are_refused),
		cmocka_unit_test(test_config__fingerprint_changes_with_numbers_only),
		cmocka_unit_test(test_config__sweep_jobs_come_in_order_with_their_own_directories),
		cmocka_unit_test(test_config__malformed_yaml_names_file_and_line),
		cmocka_unit_test(test_config__deep_nesting_is_refused),
		cmocka_unit_test(test_config__alias_bombs_and_growing_interpolations_are_bounded),
		cmocka_unit_test(test_config__cycles_missing_groups_and_duplicates_are_explained),
		cmocka_unit_test(test_config__huge_files_are_refused),
		cmocka_unit_test(test_config__survives_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
