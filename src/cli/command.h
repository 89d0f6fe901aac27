/*
 * A command: one word on the command line, one file in src/cli/.
 *
 * `run` gets the words after `sonde`, its own name first, and returns the exit
 * status: 0 good, 1 failed, 2 wrong usage; `diff` has 3 and 4 for its gate. Only commands print or exit.
 */
#ifndef SONDE_CLI_COMMAND_H
#define SONDE_CLI_COMMAND_H

#include "base/err.h"

#include <stdbool.h>

struct sonde_sharing; /* merge/input_queue.h */

struct sonde_command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
	bool runs_programs; /* it owes its caller the status of the program it runs, even if nobody reads what it prints */
};

int sonde_cmd_attach(int argc, char **argv);
int sonde_cmd_config(int argc, char **argv);
int sonde_cmd_ctl(int argc, char **argv);
int sonde_cmd_report(int argc, char **argv);
/* The same, but other processes fold too (sonde-mpi); NULL = this process alone. */
int sonde_cmd_report_shared(int argc, char **argv, struct sonde_sharing *others);
int sonde_cmd_diff(int argc, char **argv);
/* Checks the words of `sonde diff` before the long run that it will follow. */
int sonde_cmd_diff_check(int argc, char **argv, struct sonde_err *err);
int sonde_cmd_view(int argc, char **argv);
int sonde_cmd_validate(int argc, char **argv);
int sonde_cmd_run(int argc, char **argv);
int sonde_cmd_regions(int argc, char **argv);
int sonde_cmd_kernels(int argc, char **argv);
int sonde_cmd_sample(int argc, char **argv);
int sonde_cmd_top(int argc, char **argv);
int sonde_cmd_whatif(int argc, char **argv);
int sonde_cmd_doctor(int argc, char **argv);
int sonde_cmd_env(int argc, char **argv);

/* Prints `sonde: MESSAGE` to standard error; returns the exit status for it. */
int sonde_cmd_fail(const struct sonde_err *err);

#endif
