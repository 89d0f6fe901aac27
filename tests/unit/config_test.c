#include "base/alloc.h"
#include "capture/capture_settings.h"
#include "config/config_int.h"

#include "hydra/tests/config_tree.h"

#include <sys/stat.h>
#include <unistd.h>

/* Opens the primary config `name` of the tree, with up to three overrides. */
static struct hydra_config *open_tree(struct tree *t, const char *name, bool any_keys,
	struct sonde_err *err, const char *const *overrides)
{
	struct sonde_config_request req = {
		.config_dir = t->dir, .config_name = name, .any_keys = any_keys};
	struct hydra_config *c = NULL;

	req.overrides = overrides;
	while (overrides && overrides[req.nr_overrides])
		req.nr_overrides++;
	if (sonde_config_open(&c, &req, err) == 0)
		assert_non_null(c);
	else
		assert_null(c);
	return c;
}

static struct hydra_config *open_shipped(const char *const *overrides, size_t nr)
{
	struct sonde_config_request req = {.overrides = overrides, .nr_overrides = nr};
	struct sonde_err err = {0};
	struct hydra_config *c;

	if (sonde_config_open(&c, &req, &err))
		fail_msg("%s", err.msg);
	return c;
}

static void test_config__shipped_tree_composes_with_the_documented_defaults(void **state)
{
	const struct sonde_str *items;
	struct hydra_config *c = open_shipped(NULL, 0);

	(void)state;
	assert_true(hydra_config_bool(c, "report.aggregate"));
	assert_int_equal(hydra_config_int(c, "report.max_kernels"), 20);
	assert_true(sonde_str_is(hydra_config_str(c, "report.nesting"), "label"));
	assert_true(sonde_str_is(hydra_config_str(c, "pipeline.ncu.ncu_cli.set"), "roofline"));
	assert_int_equal(hydra_config_list(c, "pipeline.ncu.ncu_cli.sections", &items), 4);
	assert_true(sonde_str_is(items[0], "SpeedOfLight"));
	assert_int_equal(hydra_config_list(c, "report.metrics", &items), 0);
	assert_true(hydra_config_is_null(c, "pipeline.native.enable"));
	assert_int_equal(hydra_config_notes(c)->texts.nr, 0);
	hydra_config_free(c);
}

/* Only the table of keys: no file, no override. */
static struct hydra_config *open_table(void)
{
	struct hydra_request req = {.config_name = "", .keys = sonde_keys};
	struct sonde_err err = {0};
	struct hydra_config *c;

	if (hydra_config_open(&c, &req, &err))
		fail_msg("%s", err.msg);
	return c;
}

static void assert_same_value(
	const struct hydra_config *a, const struct hydra_config *b, const char *key)
{
	const struct sonde_str *x, *y;
	size_t i, nr = hydra_config_list(a, key, &x);

	if (!sonde_str_eq(hydra_config_str(a, key), hydra_config_str(b, key)) ||
		hydra_config_is_null(a, key) != hydra_config_is_null(b, key) ||
		nr != hydra_config_list(b, key, &y))
		fail_msg("conf/ and the table of keys differ on the default of %s", key);
	for (i = 0; i < nr; i++)
		if (!sonde_str_eq(x[i], y[i]))
			fail_msg("conf/ and the table of keys differ on the default of %s", key);
}

/* The table is the source of defaults: the shipped tree changes none, except by the presets that it chooses. */
static void test_config__conf_changes_no_default_of_the_table(void **state)
{
	struct hydra_config *table = open_table(), *conf = open_shipped(NULL, 0);
	const struct hydra_key *k;

	(void)state;
	for (k = sonde_keys; k->key; k++)
		if (k->type != HYDRA_KEY_FREE)
			assert_same_value(table, conf, k->key);
	hydra_config_free(table);
	hydra_config_free(conf);
}

/* This holds for any files: for the shipped tree, and for a tree that has none of sonde's keys. */
static void test_config__every_key_of_the_table_can_be_overridden_without_a_plus(void **state)
{
	static const char *const lines[] = {"report.sort=time", "pipeline.nsys.stats=false", NULL};
	struct sonde_err err = {0};
	struct tree t;
	struct hydra_config *c;

	(void)state;
	setup_tree(&t);
	put(&t, "bare.yaml", "device: ${report.sort}\n");
	c = open_tree(&t, "bare", false, &err, lines);
	assert_non_null(c);
	assert_true(sonde_str_is(hydra_config_str(c, "report.sort"), "time"));
	assert_true(sonde_str_is(hydra_config_str(c, "device"), "time"));
	assert_true(sonde_str_is(hydra_config_origin(c, "report.sort"), "override 'report.sort=time'"));
	assert_true(sonde_str_is(hydra_config_origin(c, "report.scope"), "the default"));
	assert_false(hydra_config_bool(c, "pipeline.nsys.stats"));
	hydra_config_free(c);
	c = open_tree(&t, "bare", false, &err, (const char *const[]){"+report.sort=name", NULL});
	assert_non_null(c);
	assert_true(sonde_str_is(hydra_config_str(c, "report.sort"), "name"));
	hydra_config_free(c);
	remove_tree(&t);
}

static void test_config__what_a_capture_takes_is_what_the_table_says(void **state)
{
	struct hydra_config *table = open_table();
	struct sonde_capture_settings s = {0};
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_capture_settings_read(&s, table, &err), 0);
	assert_true(s.native_enable && !s.ncu_enable && !s.nsys_enable);
	assert_true(s.ncu_fallback && s.ncu_csv && s.ncu.force_overwrite && s.nsys_sqlite);
	assert_string_equal(s.ncu.replay_mode, "kernel");
	assert_string_equal(s.ncu.target_processes, "all");
	assert_string_equal(s.nsys.trace, "cuda,nvtx,osrt");
	assert_string_equal(s.native_graphs, "nodes");
	assert_int_equal(s.native_buffer_mb, 64);
	assert_int_equal(s.ncu.sections.nr, 4);
	assert_int_equal(s.ncu.launch_count, -1);
	sonde_capture_settings_release(&s);
	hydra_config_free(table);
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
	struct hydra_config *c = open_shipped(lines, sizeof(lines) / sizeof(*lines));

	(void)state;
	assert_true(hydra_config_bool(c, "pipeline.ncu.enable"));
	assert_int_equal(hydra_config_list(c, "pipeline.ncu.ncu_cli.nvtx.include", &items), 3);
	assert_true(sonde_str_is(items[0], "LLM@*"));
	assert_int_equal(hydra_config_list(c, "pipeline.ncu.ncu_cli.metrics", &items), 1);
	assert_int_equal(hydra_config_int(c, "model.channels"), 8);
	assert_true(sonde_str_is(hydra_config_run_dir(c), "/tmp/here"));
	assert_true(hydra_config_bool(c, "hydra.job.chdir"));
	hydra_config_free(c);
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
		hydra_config_free(open_shipped(&presets[i], 1));
}

static void test_config__origins_name_file_and_line_or_the_override(void **state)
{
	static const char *const lines[] = {"report.sort=time", "report=ci"};
	struct hydra_config *c = open_shipped(lines, 2);

	(void)state;
	assert_true(
		sonde_str_is(hydra_config_origin(c, "report.sort"), "override 'report.sort=time'"));
	assert_true(
		sonde_str_ends(hydra_config_origin(c, "report.formats"), "report/ci.yaml:5"));
	assert_true(sonde_str_is(hydra_config_origin(c, "report.nesting"), "the default"));
	hydra_config_free(c);
}

static void test_config__unknown_key_names_the_nearest(void **state)
{
	static const char *const typo[] = {"report.metrcs=[a]", NULL};
	static const char *const added[] = {"+report.metrcs=[a]", NULL};
	struct tree t;
	struct sonde_err err = {0};
	struct hydra_config *c;

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
	hydra_config_free(c);
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
	struct hydra_config *c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sonde_config_request req = {.overrides = lines[i], .nr_overrides = 1};

		assert_int_equal(sonde_config_open(&c, &req, &err), SONDE_ERR_USAGE);
		if (!strstr(err.msg, lines[i][1]) || !strstr(err.msg, lines[i][0]))
			fail_msg("%s: %s", lines[i][0], err.msg);
	}
}

static void test_config__sweep_jobs_come_in_order_with_their_own_directories(void **state)
{
	static const char *const lines[] = {
		"report.max_kernels=1,2", "report.sort=time,name", "hydra.sweep.dir=out"};
	struct sonde_config_request req = {.overrides = lines, .nr_overrides = 3, .multirun = true};
	struct sonde_err err = {0};
	struct hydra_config *master, *job;

	(void)state;
	assert_int_equal(sonde_config_open(&master, &req, &err), 0);
	assert_int_equal(hydra_config_nr_jobs(master), 4);
	assert_int_equal(hydra_config_job_open(&job, master, 1, &err), 0);
	assert_int_equal(hydra_config_int(job, "report.max_kernels"), 1);
	assert_true(sonde_str_is(hydra_config_str(job, "report.sort"), "name"));
	assert_true(sonde_str_is(hydra_config_run_dir(job), "out/1"));
	hydra_config_free(job);
	hydra_config_free(master);
}

/* Folders for ./conf, the working directory of the test: `mine` is safe, others may write to `open`. */
static void put_conf(struct tree *t)
{
	umask(022);
	setup_tree(t);
	put(t, "mine/config.yaml", "defaults: [report: a, _self_]\npipeline: {workload: {env: {A: own}}}\n");
	put(t, "mine/report/a.yaml", "sort: time\n");
	put(t, "open/config.yaml", "defaults: [report: a, _self_]\npipeline: {workload: {env: {A: evil}}}\n");
	put(t, "open/a.yaml", "sort: name\n");
	put(t, "open/report/a.yaml", "sort: name\n");
	assert_int_equal(chdir(t->dir), 0);
	assert_int_equal(chmod("open", 0777), 0);
	assert_int_equal(chmod("open/config.yaml", 0666), 0);
}

/* Replaces `name`, whatever it is, atomically by a link to `target`. */
static void put_link(const char *name, const char *target)
{
	assert_int_equal(symlink(target, "next"), 0);
	assert_int_equal(rename("next", name), 0);
}

/* Finds the sources, changes the link `name`, and then composes from these sources. */
static int compose_flipped(const char *name, const char *safe, const char *other,
	struct hydra_config **c, struct sonde_err *err)
{
	struct sonde_config_request req = {.takes_project = true};
	struct sonde_config_sources sources = {0};

	put_link(name, safe);
	sonde_config__find_sources(&sources, &req); /* checks ./conf */
	assert_string_equal(sources.at[0].provider, "project");
	put_link(name, other);
	return hydra_config_open(c,
		&(struct hydra_request){.sources = sources.at,
			.nr_sources = sources.nr,
			.keys = sonde_keys},
		err);
}

static void test_config__what_is_read_is_what_was_checked(void **state)
{
	static const char *const flips[][4] = {
		{"conf", "mine", "open", "conf"},
		{"mine/config.yaml", "own.yaml", "../open/config.yaml", "conf/config.yaml"},
		{"mine/report", "../own", "../open", "conf/report"},
	};
	struct sonde_err err = {0};
	struct hydra_config *c;
	struct tree t;
	char cwd[PATH_MAX], why[PATH_MAX];
	size_t i;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	put_conf(&t);
	put_link("conf", "mine");
	assert_int_equal(rename("mine/config.yaml", "mine/own.yaml"), 0);
	assert_int_equal(rename("mine/report", "own"), 0);
	put_link("mine/config.yaml", "own.yaml");
	put_link("mine/report", "../own");
	for (i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
		assert_int_equal(compose_flipped(flips[i][0], flips[i][1], flips[i][1], &c, &err), 0);
		assert_true(sonde_str_is(hydra_config_str(c, "pipeline.workload.env.A"), "own"));
		assert_true(sonde_str_is(hydra_config_str(c, "report.sort"), "time"));
		hydra_config_free(c);
		assert_int_equal(compose_flipped(flips[i][0], flips[i][1], flips[i][2], &c, &err),
			SONDE_ERR_USAGE);
		snprintf(why, sizeof(why), "others may write to %s;", flips[i][3]);
		if (!strstr(err.msg, why) || !strstr(err.msg, "sonde.trust=true"))
			fail_msg("%s", err.msg);
		put_link(flips[i][0], flips[i][1]);
	}
	assert_int_equal(chdir(cwd), 0);
	remove_tree(&t);
}

static void test_config__survives_every_failing_allocation(void **state)
{
	static const char *const lines[] = {"report.metrics=[a,'b']", "+x={y: ${device}}",
		"profiling/ncu@pipeline.ncu=ncu.high", "report.max_kernels=3"};
	struct sonde_config_request req = {.overrides = lines, .nr_overrides = 4};
	struct sonde_err err = {0};
	struct hydra_config *c;
	uint64_t i, total, before = sonde_alloc_count();

	(void)state;
	assert_int_equal(sonde_config_open(&c, &req, &err), 0);
	hydra_config_free(c);
	total = sonde_alloc_count() - before;
	for (i = 1; i <= total; i += i < 300 ? 1 : total / 400 + 1) {
		err = (struct sonde_err){0};
		sonde_alloc_fail_at(i);
		if (sonde_config_open(&c, &req, &err) == 0)
			hydra_config_free(c);
		else
			assert_null(c);
		sonde_alloc_fail_at(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config__shipped_tree_composes_with_the_documented_defaults),
		cmocka_unit_test(test_config__conf_changes_no_default_of_the_table),
		cmocka_unit_test(
			test_config__every_key_of_the_table_can_be_overridden_without_a_plus),
		cmocka_unit_test(test_config__what_a_capture_takes_is_what_the_table_says),
		cmocka_unit_test(
			test_config__overrides_of_the_python_tool_are_accepted_as_they_are),
		cmocka_unit_test(test_config__every_preset_passes_the_table_of_keys),
		cmocka_unit_test(test_config__origins_name_file_and_line_or_the_override),
		cmocka_unit_test(test_config__unknown_key_names_the_nearest),
		cmocka_unit_test(test_config__wrong_types_and_ranges_are_refused),
		cmocka_unit_test(test_config__sweep_jobs_come_in_order_with_their_own_directories),
		cmocka_unit_test(test_config__what_is_read_is_what_was_checked),
		cmocka_unit_test(test_config__survives_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
