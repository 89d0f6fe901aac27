/* Sets the environment variables of a launcher, for tests of ranks. */
#ifndef SONDE_TESTS_LAUNCH_ENV_H
#define SONDE_TESTS_LAUNCH_ENV_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	"PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "PMI_JOBID", "RANK", "WORLD_SIZE",
	"LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
	"TORCHELASTIC_RESTART_COUNT", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID",
	"SLURM_STEP_ID", "SLURM_RESTART_COUNT", "JOB_COMPLETION_INDEX", "JOB_NAME",
	"SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS", "PBS_JOBID", "LSB_JOBID"};

static inline int no_launcher(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	return 0;
}

/* Sets NAME=VALUE… in the environment. */
static inline void set(const char *words)
{
	char copy[512], *word, *rest = copy;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');

		assert_non_null(value);
		*value = '\0';
		setenv(word, value + 1, 1);
	}
}

#endif
