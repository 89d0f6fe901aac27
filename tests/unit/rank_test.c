#include "unit.h"

#include "launch_env.h"

#include "capture/rank.h"

static const char *job_of(const char *words)
{
	static struct sonde_rank rank[4];
	static unsigned nr;
	struct sonde_rank *r = &rank[nr++ % 4];

	set(words);
	sonde_rank_find(r);
	assert_true(r->is_parallel);
	return r->job;
}

static void test_rank__job_names_are_those_of_the_launch(void **state)
{
	const char *a;

	(void)state;
	a = job_of("RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_PORT=29500 "
		   "TORCHELASTIC_RUN_ID=none");
	assert_null(strstr(a, "none"));
	assert_string_equal(a, job_of("RANK=1"));
	assert_string_not_equal(a, job_of("TORCHELASTIC_RESTART_COUNT=1"));
	/* Another host's ranks know the same of the job. */
	a = job_of("WORLD_SIZE=4 MASTER_ADDR=node1");
	assert_string_equal(a, "29500.node1.none");
}

static void test_rank__a_slurm_step_is_no_part_of_other_launchers_names(void **state)
{
	const char *a;

	(void)state;
	/* mpirun starts the ranks of its own host by itself, those of others by a step. */
	a = job_of("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=job1");
	assert_string_equal(a, job_of("SLURM_STEP_ID=3 SLURM_JOB_ID=77"));
	no_launcher(NULL);
	a = job_of("SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_JOB_ID=77 SLURM_STEP_ID=3");
	assert_string_not_equal(a, job_of("SLURM_STEP_ID=4"));
}

static void test_rank__long_ids_are_told_apart(void **state)
{
	char words[400];
	const char *a;

	(void)state;
	set("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2");
	snprintf(words, sizeof(words), "PMIX_NAMESPACE=%0200d", 1);
	a = job_of(words);
	snprintf(words, sizeof(words), "PMIX_NAMESPACE=%0200d", 2);
	assert_string_not_equal(a, job_of(words));
}

#define TEST(name) cmocka_unit_test_setup(name, no_launcher)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rank__job_names_are_those_of_the_launch),
		TEST(test_rank__a_slurm_step_is_no_part_of_other_launchers_names),
		TEST(test_rank__long_ids_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
