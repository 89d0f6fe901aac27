#include "capture/rank.h"

#include "base/md5.h"
#include "capture/proc.h"
#include "format/launcher.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/*
 * `ids` are the variables that name the job on all its hosts; they count if the first one is set. For torchrun that is
 * the port where its ranks meet: its run id is "none" for everybody who chose none. `local` is the number of ranks on
 * this host.
 */
static const struct launcher {
	const char *local, *ids[3];
} launchers[SONDE_NR_LAUNCHERS] = {
	[SONDE_OPEN_MPI] = {NULL, {"PMIX_NAMESPACE"}},
	[SONDE_PMI] = {"MPI_LOCALNRANKS", {"PMI_JOBID", "SLURM_STEP_ID"}},
	[SONDE_TORCHRUN] = {"LOCAL_WORLD_SIZE",
		{"MASTER_PORT", "MASTER_ADDR", "TORCHELASTIC_RUN_ID"}},
	[SONDE_SLURM] = {NULL, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
	[SONDE_KUBERNETES] = {NULL, {"JOB_NAME"}},
};

/* The id of the batch system names a job on many hosts whose launcher gives it no id. */
static const char *const batch_ids[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};

static bool number(const char *name, unsigned *out)
{
	const char *text = name ? getenv(name) : NULL;
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

static bool has_variable(long pid, const char *name)
{
	struct sonde_buf value = {0};
	bool has_it = sonde_proc_variable(&value, pid, name);

	sonde_buf_release(&value);
	return has_it;
}

/*
 * Finds the process that started the ranks of this host: the nearest ancestor that is no rank itself. Usually that is
 * the parent, but a launcher may run a script that runs sonde.
 */
static bool find_launcher(struct sonde_proc *out, const struct launcher *l)
{
	const char *mark = l->local && getenv(l->local) ? l->local
							 : sonde_launchers[l - launchers].rank;
	struct sonde_proc above;

	if (!sonde_proc_find(out, (long)getppid()))
		return false;
	while (out->pid > 1 && has_variable(out->pid, mark) && sonde_proc_find(&above, out->parent))
		*out = above;
	return true;
}

static time_t time_of(const struct sonde_proc *p)
{
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return now.tv_sec - up.tv_sec + (time_t)(p->start / (unsigned long)sysconf(_SC_CLK_TCK));
}

/*
 * Names a job on one host by its launcher's process and the time when that started: a later process with the same
 * number differs.
 */
static void add_process(struct sonde_buf *name, const struct sonde_proc *p)
{
	const char *restart = getenv("TORCHELASTIC_RESTART_COUNT");
	struct utsname u;

	sonde_buf_printf(name, "%s.%ld.%llu", uname(&u) == 0 ? u.nodename : "", p->pid, p->start);
	if (restart)
		sonde_buf_printf(name, ".%s", restart);
}

static const char *find_batch_id(void)
{
	const char *id = NULL;
	size_t i;

	for (i = 0; i < sizeof(batch_ids) / sizeof(*batch_ids) && !id; i++)
		id = getenv(batch_ids[i]);
	return id;
}

/* Names a job on many hosts: only by what the launcher says to all ranks. */
static void add_ids(struct sonde_buf *name, const struct launcher *l)
{
	size_t i;

	for (i = 0; i < sizeof(l->ids) / sizeof(*l->ids) && l->ids[i]; i++) {
		const char *id = getenv(l->ids[i]);

		sonde_buf_printf(name, "%s%s", i ? "." : "", id ? id : "");
	}
}

/*
 * Names an indexed job by its pods, whose host names are NAME-INDEX. Pods start whenever there is room for them, so the
 * start of this one says nothing about the others.
 */
static void add_pod(struct sonde_buf *name, const struct sonde_rank *rank)
{
	char index[16];
	struct utsname u;
	size_t n, end;

	if (uname(&u) < 0)
		return;
	n = strlen(u.nodename);
	end = (size_t)snprintf(index, sizeof(index), "-%u", rank->rank);
	if (n > end && strcmp(u.nodename + n - end, index) == 0)
		n -= end;
	sonde_buf_add(name, u.nodename, n);
}

static void name_job(struct sonde_rank *out, const struct launcher *l)
{
	const char *id = getenv(l->ids[0]);
	struct sonde_proc p = {.pid = (long)getppid()};
	struct sonde_buf name = {0};
	bool is_one_host;
	unsigned nr_local;
	char *c;

	if (l != &launchers[SONDE_KUBERNETES] && find_launcher(&p, l))
		out->begin = time_of(&p);
	is_one_host = number(l->local, &nr_local) && nr_local == out->size;
	if (l == &launchers[SONDE_KUBERNETES] && !(id && *id))
		add_pod(&name, out);
	else if (id && *id && !is_one_host)
		add_ids(&name, l);
	else if (l == &launchers[SONDE_PMI] && l->local && getenv(l->local) && !is_one_host &&
		 find_batch_id())
		sonde_buf_printf(&name, "batch.%s", find_batch_id());
	else
		add_process(&name, &p);
	if (name.n < sizeof(out->job))
		snprintf(out->job, sizeof(out->job), "%s", name.failed ? "" : name.p);
	else /* cut off, the name could be that of another job */
		sonde_md5(out->job, sonde_buf_view(&name));
	sonde_buf_release(&name);
	for (c = out->job; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			*c = '_';
}

void sonde_rank_find(struct sonde_rank *out)
{
	size_t i;

	*out = (struct sonde_rank){0};
	for (i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const struct sonde_launcher *says = &sonde_launchers[i];
		const struct launcher *l = &launchers[i];

		if (!number(says->rank, &out->rank) || (says->mark && !getenv(says->mark)))
			continue;
		if (!number(says->step_size, &out->size) && !number(says->size, &out->size))
			out->size = 0;
		out->is_parallel = out->size != 1;
		if (out->is_parallel)
			name_job(out, l);
		return;
	}
}
