/* `sonde kernels`: what was asked for (kernels_cmd.c), and doing it (kernels_run.c). */
#ifndef SONDE_CLI_KERNELS_INT_H
#define SONDE_CLI_KERNELS_INT_H

#include "capture/kernel_list.h"
#include "capture/ncu_args.h"
#include "cli/option.h"

struct sonde_kernels_request {
	const char *kernel_config, *kernel_regex, *ncu_config, *output;
	struct sonde_word_list sections;
	size_t topk, profile;
	const char *skip;
	bool force;
	char **program;
	struct sonde_args args;
};

/* The work in hand. */
struct sonde_kernels_job {
	const struct sonde_kernels_request *q;
	struct sonde_tool ncu;
	struct sonde_ncu_request ncu_request;
	struct sonde_word_list sections; /* of the preset and those asked for */
	struct sonde_kernel_list list;
	struct sonde_arena arena;
	char dir[2048];
	int status;
	bool is_stopped;
	struct sonde_err *err;
};

/* Writes down what made the directory. */
int sonde_kernels__provenance(struct sonde_kernels_job *j, char **argv);
/* Profiles one kernel of the list into a directory of its own. */
int sonde_kernels__profile(
	struct sonde_kernels_job *j, const struct sonde_kernel_entry *k, size_t rank);

#endif
