/* Every unit test includes this: cmocka, and the headers that must come before it. */
#ifndef SONDE_TESTS_UNIT_H
#define SONDE_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/steps.h"

#include <stdlib.h>

/* For a test that cannot run here: tests/run prints the reason, and a skip without a reason fails. */
#define skip_because(why)                                                                          \
	do {                                                                                       \
		print_message("skip %s: %s\n", __func__, why);                                     \
		skip();                                                                            \
	} while (0)

/*
 * Checks that 8 times as much input does not take 64 times the steps: `few` and `many`
 * are counts of sonde_steps() for n and 8 n.
 */
static inline void assert_linear(const char *what, uint64_t few, uint64_t many)
{
	if (many > 24 * few)
		fail_msg("%s: %llu steps, of 8 times as much %llu", what, (unsigned long long)few,
			(unsigned long long)many);
}
#define skip_without_steps()                                                                       \
	do {                                                                                       \
		if (!sonde_steps())                                                                \
			skip_because("this build does not count steps; make test's does");         \
	} while (0)

/* Runs a single test, whose name `tests/run build NAME` passes. */
static inline void unit_filter(void)
{
	const char *name = getenv("SONDE_TEST");

	if (name)
		cmocka_set_test_filter(name);
}
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
	(unit_filter(), _cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]), \
				setup, teardown))
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
	(unit_filter(), _cmocka_run_group_tests(                                                   \
				name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown))

#endif
