#include "unit.h"

#include "base/md5.h"
#include "base/argv.h"
#include "capture/child.h"
#include "capture/ncu_args.h"
#include "capture/ncu_log.h"
#include "capture/plan.h"
#include "capture/tool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct sonde_ncu_log read_log(const char *path, size_t chunk)
{
	struct sonde_ncu_log log = {.program_status = -1};
	struct sonde_buf text = {0};
	size_t i;

	assert_true(sonde_file_slurp(&text, path));
	for (i = 0; i < text.n; i += chunk)
		sonde_ncu_log_feed(&log,
			(struct sonde_str){text.p + i, text.n - i < chunk ? text.n - i : chunk});
	sonde_ncu_log_finish(&log);
	sonde_buf_release(&text);
	return log;
}

static void test_ncu_log__counts_kernels_and_passes_however_it_is_cut(void **state)
{
	size_t chunk;

	(void)state;
	for (chunk = 1; chunk < 5000; chunk = chunk * 3 + 1) {
		struct sonde_ncu_log log = read_log("tests/data/ncu/log_kernel_replay.txt", chunk);

		assert_int_equal(log.nr_results, 29);
		assert_int_equal(log.nr_passes, 29 * 9);
		assert_int_equal(log.nr_processes, 1);
		assert_int_equal(log.seen, 0);
		assert_string_equal(log.current, "reduce_sum");
		sonde_ncu_log_release(&log);
	}
}

static void test_ncu_log__recorded_empty_run_is_explained(void **state)
{
	struct sonde_ncu_log log = read_log("tests/data/ncu/log_no_kernels_profiled.txt", 64);

	(void)state;
	assert_true(sonde_ncu_log_should_tell(&log, SONDE_WHEN_NOTHING));
	assert_true(sonde_ncu_log_should_tell(&log, SONDE_WHEN_ONLY_START_END));
	assert_false(sonde_ncu_log_has_failure(&log));
	sonde_ncu_log_release(&log);
}

static void test_ncu_log__cause_is_named_and_consequences_are_not(void **state)
{
	struct sonde_ncu_log log = {.program_status = -1};
	struct sonde_buf text = {0};

	(void)state;
	sonde_ncu_log_feed(
		&log, SONDE_STR("==ERROR== Unsupported API during capture (cuKernelSetAttribute)\n"
				"==ERROR== The application returned an error code (9).\n"
				"==WARNING== No kernels were profiled.\n"));
	assert_true(sonde_ncu_log_is_range_limit(&log));
	assert_int_equal(log.program_status, 9);
	assert_true(sonde_ncu_log_has_failure(&log));
	assert_true(sonde_ncu_log_should_tell(&log, SONDE_WHEN_UNSUPPORTED_API));
	sonde_advice_say(&text, SONDE_WHEN_UNSUPPORTED_API,
		log.details[SONDE_WHEN_UNSUPPORTED_API]);
	assert_true(sonde_str_ends(sonde_buf_view(&text), "calls cuKernelSetAttribute"));
	assert_true(sonde_ncu_log_has(&log, SONDE_WHEN_NOTHING));
	assert_false(sonde_ncu_log_should_tell(&log, SONDE_WHEN_NOTHING));
	assert_false(sonde_ncu_log_should_tell(&log, SONDE_WHEN_PROGRAM_FAILED));
	sonde_buf_release(&text);
	sonde_ncu_log_release(&log);
}

/* Checks the words of a command line between `from` and the program, joined to one line. */
static void args_say(const struct sonde_ncu_request *q, const char *from, const char *want)
{
	const struct sonde_tool ncu = {.path = "ncu", .major = 2025};
	char *program[] = {"prog", NULL};
	struct sonde_argv argv = {0};
	struct sonde_buf line = {0};
	size_t i = 0;

	sonde_ncu_args_build(&argv, &ncu, q, program);
	assert_false(argv.failed);
	while (strcmp(argv.words.at[i], from) != 0)
		i++;
	for (; strcmp(argv.words.at[i], "prog") != 0; i++)
		sonde_buf_printf(&line, "%s%s", line.n ? " " : "", argv.words.at[i]);
	assert_string_equal(line.p, want);
	sonde_buf_release(&line);
	sonde_argv_release(&argv);
}

static void test_ncu_args__kernel_names_go_to_ncu_as_given(void **state)
{
	static const struct {
		const char *name, *base, *want;
	} cases[] = {
		{"gemm", "function", "--nvtx --kernel-name-base function -k gemm"},
		{"gemm", "demangled", "--nvtx --kernel-name-base demangled -k gemm"},
		{"_Z4gemmPf", "mangled", "--nvtx --kernel-name-base mangled -k _Z4gemmPf"},
		{"void gemm<2>(int *)", "demangled", "--nvtx --kernel-name-base demangled -k void gemm<2>(int *)"},
		{"regex:^void", "demangled", "--nvtx --kernel-name-base demangled -k regex:^void"},
		{"regex:^_Z.*", "mangled", "--nvtx --kernel-name-base mangled -k regex:^_Z.*"},
		{"gemm*", "demangled", "--nvtx --kernel-name-base function -k regex:^gemm.*$"},
		{"a.b?", "mangled", "--nvtx --kernel-name-base mangled -k regex:^a\\.b.$"},
		{NULL, "demangled", "--nvtx"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		args_say(&(struct sonde_ncu_request){.kernel_name = cases[i].name,
				 .kernel_name_base = cases[i].base,
				 .launch_skip = -1,
				 .launch_count = -1},
			"--nvtx", cases[i].want);
}

static void test_argv__shown_line_is_safe_to_paste(void **state)
{
	char *words[] = {"ncu", "a b", "it's", "", "$HOME", "x\ny", NULL};
	struct sonde_buf b = {0};

	(void)state;
	sonde_argv_show(&b, words);
	assert_string_equal(b.p, "ncu 'a b' 'it'\\''s' '' '$HOME' 'x\ny'");
	sonde_buf_release(&b);
}

static void test_child__ends_are_told_apart(void **state)
{
	char *fails[] = {"/bin/sh", "-c", "exit 7", NULL},
	     *dies[] = {"/bin/sh", "-c", "kill -9 $$", NULL};
	char *sleeps[] = {"/bin/sleep", "60", NULL}, *missing[] = {"/nonexistent/x", NULL};
	struct sonde_child_spec spec = {.argv = fails, .is_helper = true, .out_fd = -1};
	struct sonde_child_end end;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_child_run(&end, &spec, &err), 0);
	assert_int_equal(end.status, 7);
	spec.argv = dies;
	assert_int_equal(sonde_child_run(&end, &spec, &err), 0);
	assert_int_equal(end.status, 128 + 9);
	spec.argv = sleeps;
	spec.timeout_ms = 200;
	assert_int_equal(sonde_child_run(&end, &spec, &err), 0);
	assert_true(end.is_timed_out);
	spec.argv = missing;
	assert_int_equal(sonde_child_run(&end, &spec, &err), SONDE_ERR_NOTFOUND);
	assert_string_equal(err.msg, "/nonexistent/x: no such program: check the name");
}

/* Some shells and supervisors start programs with SIGCHLD ignored; the kernel then reaps children by itself. */
static void test_child__status_is_kept_when_sigchld_is_ignored(void **state)
{
	char *fails[] = {"/bin/sh", "-c", "exit 7", NULL};
	/* Finds bit 16: the signal is still ignored in the child. */
	char *looks[] = {"grep", "-q", "SigIgn:.*[13579bdf]....$", "/proc/self/status", NULL};
	struct sonde_child_spec spec = {.argv = fails, .is_helper = true, .out_fd = -1};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old, after;
	struct sonde_child_end end, look;
	struct sonde_err err = {0};

	(void)state;
	sigaction(SIGCHLD, &ignore, &old);
	assert_int_equal(sonde_child_run(&end, &spec, &err), 0);
	spec.argv = looks;
	assert_int_equal(sonde_child_run(&look, &spec, &err), 0);
	sigaction(SIGCHLD, &old, &after);
	assert_int_equal(end.status, 7);
	assert_int_equal(look.status, 0);
	assert_true(after.sa_handler == SIG_IGN);
}

static void test_tool__helper_has_three_descriptors(void **state)
{
	/* The descriptors of ls, and the one it opens for the folder. */
	char *lists[] = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l", NULL};
	struct sonde_buf out = {0};
	struct sonde_err err = {0};
	int fd, status = -1;

	(void)state;
	for (fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC); /* this descriptor is not from sonde */
	assert_int_equal(sonde_tool_output(&out, &status, lists, 10000, &err), 0);
	assert_string_equal(out.p, "4\n");
	sonde_buf_release(&out);
}

static void test_tool__name_too_long_is_not_cut_to_another(void **state)
{
	char name[2048] = "/bin/", path[1024];

	(void)state;
	memset(name + 5, '/', 1016);
	snprintf(name + 1021, sizeof(name) - 1021, "sh-of-another-kind");
	assert_false(sonde_tool_find(path, name));
	assert_string_equal(path, "");
	name[1023] = '\0';
	assert_true(sonde_tool_find(path, name));
}

static void test_md5__is_md5(void **state)
{
	char out[33];

	(void)state;
	sonde_md5(out, SONDE_STR(""));
	assert_string_equal(out, "d41d8cd98f00b204e9800998ecf8427e");
	sonde_md5(out,
		SONDE_STR("12345678901234567890123456789012345678901234567890123456789012345678901"
			  "234567890"));
	assert_string_equal(out, "57edf4a22be3c955ac49da2e2107b67a");
}

static void test_plan__levels_of_words(void **state)
{
	static const char *const words[] = {"A/", "A::A1/", "B/", "A/C"};
	static const size_t word_of[] = {0, 1, 2, 3};
	const struct sonde_plan_request q = {.replay_mode = "range",
		.include = {words, 4},
		.words = {words, 4},
		.word_of = word_of,
		.chip = "GH100"};
	struct sonde_plan p;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_plan_build(&p, &q, &err), 0);
	assert_int_equal(p.captures.nr, 2);
	assert_int_equal(p.captures.at[0].include.nr, 2);
	assert_string_equal(p.captures.at[0].include.at[1], "B/");
	assert_string_equal(p.captures.at[1].name, "range.level1");
	sonde_plan_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ncu_log__counts_kernels_and_passes_however_it_is_cut),
		cmocka_unit_test(test_ncu_log__recorded_empty_run_is_explained),
		cmocka_unit_test(test_ncu_log__cause_is_named_and_consequences_are_not),
		cmocka_unit_test(test_ncu_args__kernel_names_go_to_ncu_as_given),
		cmocka_unit_test(test_argv__shown_line_is_safe_to_paste),
		cmocka_unit_test(test_child__ends_are_told_apart),
		cmocka_unit_test(test_child__status_is_kept_when_sigchld_is_ignored),
		cmocka_unit_test(test_tool__helper_has_three_descriptors),
		cmocka_unit_test(test_tool__name_too_long_is_not_cut_to_another),
		cmocka_unit_test(test_md5__is_md5),
		cmocka_unit_test(test_plan__levels_of_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
