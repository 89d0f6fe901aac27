#include "capture/rank.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Launchers nest (mpirun inside a Slurm job): the innermost one comes first. */
static const struct launcher {
	const char *rank, *size, *job;
} launchers[] = {
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
	{"PMI_RANK", "PMI_SIZE", "PMI_JOBID"},
	{"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
	{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID"},
};

static bool number(const char *name, unsigned *out)
{
	const char *text = getenv(name);
	char *end;
	unsigned long n;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	n = strtoul(text, &end, 10);
	if (*end || n > 10000000)
		return false;
	*out = (unsigned)n;
	return true;
}

static void name_job(struct sonde_rank *out, const char *variable)
{
	const char *text = getenv(variable), *step = getenv("SLURM_STEP_ID");
	char *c;

	if (text && *text)
		snprintf(out->job, sizeof(out->job), "%s.%s", text, step ? step : "0");
	else
		snprintf(out->job, sizeof(out->job), "parent-%ld", (long)getppid());
	for (c = out->job; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			*c = '_';
}

void sonde_rank_find(struct sonde_rank *out)
{
	size_t i;

	*out = (struct sonde_rank){0};
	for (i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const struct launcher *l = &launchers[i];

		if (!number(l->rank, &out->rank))
			continue;
		if (!number(l->size, &out->size))
			out->size = 0;
		out->is_parallel = out->size != 1;
		if (out->is_parallel)
			name_job(out, l->job);
		return;
	}
}
