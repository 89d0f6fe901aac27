/* `ranks=[0,8]`: these ranks of a job are profiled, the others run their program as it is. */
#include "capture/child.h"
#include "cli/run_int.h"

#include <string.h>

static int refuse(const struct sonde_run *r, const char *why, struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_USAGE, "ranks=[%s]: %s", r->chosen, why);
}

/* Ranks wait for each other: all of them must run the program equally often. */
static int check_stages(const struct sonde_run *r, struct sonde_err *err)
{
	const struct sonde_capture_settings *s = &r->set;

	if (s->native_enable + s->torch_enable + s->nsys_enable + s->ncu_enable > 1)
		return refuse(r,
			"several pipelines would run the program several times in these ranks and "
			"once in the others, which would wait for each other: enable one pipeline",
			err);
	if (s->ncu_enable && strcmp(s->ncu.replay_mode, "kernel") != 0)
		return refuse(r,
			"only kernel replay runs the program once, as the other ranks do: set "
			"pipeline.ncu.ncu_cli.replay_mode=kernel",
			err);
	if (s->chdir && !s->workload_dir)
		return refuse(r,
			"the other ranks have no run directory to run in (hydra.job.chdir=true): "
			"set pipeline.workload.cwd=DIR instead",
			err);
	return 0;
}

/*
 * Without a launcher around sonde, the program itself may be one: then the injected library decides in each process,
 * which only the native capture can do.
 */
static int check_alone(const struct sonde_run *r, struct sonde_err *err)
{
	return r->set.native_enable && !r->set.ncu_enable && !r->set.nsys_enable &&
			       !r->set.torch_enable
		       ? 0
		       : refuse(r,
				 "no launcher has given this process a rank: start sonde in every "
				 "rank (`mpirun -n 16 sonde run ranks=[0,8] -- PROGRAM`)",
				 err);
}

int sonde_run_choose_rank(struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_buf words = {0};
	struct sonde_rank rank;
	int rc;

	if (!r->set.ranks.nr)
		return 0;
	sonde_rank_list_print(&r->set.ranks, &words);
	r->chosen = sonde_arena_take(&r->arena, &words);
	if (!r->chosen)
		return sonde_err_nomem(err);
	sonde_rank_find(&rank);
	if (!rank.is_parallel)
		return check_alone(r, err);
	rc = sonde_rank_list_check(&r->set.ranks, rank.size, err);
	r->is_bystander = !sonde_rank_list_has(&r->set.ranks, rank.rank);
	return rc ? rc : check_stages(r, err);
}

/* A run among several, or one with a time limit, must be watched, so this process cannot become the program. */
int sonde_run_bystander(struct sonde_run *r, struct sonde_err *err)
{
	const struct sonde_child_spec spec = sonde_run_spec(r, r->program);

	return r->job || r->request.hides_report || r->set.timeout_s ? sonde_run_child(r, &spec, err)
							     : sonde_child_become(&spec, err);
}
