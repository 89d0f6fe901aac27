#include "unit.h"

#include "launch_env.h"

#include "capture/rank.h"
#include "capture/rank_list.h"

#include <sys/utsname.h>

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
	/* Ranks on another host find the same name of the job. */
	a = job_of("WORLD_SIZE=4 MASTER_ADDR=node1");
	assert_string_equal(a, "29500.node1.none");
}

static void test_rank__a_slurm_step_is_no_part_of_other_launchers_names(void **state)
{
	const char *a;

	(void)state;
	/* mpirun starts the ranks on its own host itself, those on other hosts by a Slurm step. */
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

static void test_rank__a_batch_script_is_no_rank_and_a_step_has_its_own_size(void **state)
{
	struct sonde_rank r;

	(void)state;
	set("SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_JOB_ID=77");
	sonde_rank_find(&r);
	assert_false(r.is_parallel);
	set("SLURM_STEP_ID=0");
	sonde_rank_find(&r);
	assert_true(r.is_parallel);
	assert_int_equal(r.size, 16);
	set("SLURM_STEP_NUM_TASKS=4");
	sonde_rank_find(&r);
	assert_int_equal(r.size, 4);
	set("SLURM_STEP_NUM_TASKS=1"); /* the shell of salloc */
	sonde_rank_find(&r);
	assert_false(r.is_parallel);
}

static void test_rank__mpich_on_many_hosts_is_named_by_its_batch_job(void **state)
{
	(void)state;
	assert_string_equal(job_of("PMI_RANK=0 PMI_SIZE=4 MPI_LOCALNRANKS=2 PBS_JOBID=12.srv"),
		"batch.12.srv");
	assert_null(strstr(job_of("MPI_LOCALNRANKS=4"), "12.srv")); /* all here: by its process */
	assert_string_equal(job_of("MPI_LOCALNRANKS=2 PMI_JOBID=mine"), "mine.");
}

static void test_rank__pods_of_an_indexed_job_have_one_name(void **state)
{
	struct utsname u;
	const char *a;

	(void)state;
	assert_int_equal(uname(&u), 0);
	a = job_of("JOB_COMPLETION_INDEX=3"); /* this host is not one of the job's pods */
	assert_int_equal(strncmp(a, u.nodename, strlen(a)), 0);
	a = job_of("JOB_NAME=train");
	assert_string_equal(a, "train");
	assert_string_equal(a, job_of("JOB_COMPLETION_INDEX=4 WORLD_SIZE=8"));
}

static void print_list(char out[64], const struct sonde_rank_list *l)
{
	struct sonde_buf b = {0};

	sonde_rank_list_print(l, &b);
	snprintf(out, 64, "%s", b.p ? b.p : "");
	sonde_buf_release(&b);
}

static void test_rank_list__spans_are_joined_and_counted_once(void **state)
{
	const struct sonde_str words[] = {SONDE_STR("64"), SONDE_STR("4-7"), SONDE_STR("0-3"),
		SONDE_STR("2"), SONDE_STR("64")};
	struct sonde_arena arena = {0};
	struct sonde_rank_list l;
	struct sonde_err err = {0};
	char text[64];

	(void)state;
	assert_int_equal(sonde_rank_list_read(&l, &arena, words, 5, &err), 0);
	print_list(text, &l);
	assert_string_equal(text, "0-7,64");
	assert_int_equal(sonde_rank_list_count(&l), 9);
	assert_true(sonde_rank_list_has(&l, 7) && sonde_rank_list_has(&l, 64));
	assert_false(sonde_rank_list_has(&l, 8) || sonde_rank_list_has(&l, 63));
	assert_int_equal(sonde_rank_list_check(&l, 65, &err), 0);
	assert_int_equal(sonde_rank_list_check(&l, 0, &err), 0);
	assert_int_equal(sonde_rank_list_check(&l, 64, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "there is no rank 64: the job has 64 ranks, 0 to 63"));
	assert_int_equal(sonde_rank_list_read(&l, &arena, NULL, 0, &err), 0);
	assert_true(sonde_rank_list_has(&l, 5));
	sonde_arena_release(&arena);
}

static void test_rank_list__other_words_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "a", "-1", "3-", "-", "7-4", "1.5", "0x1", "99999999999", "1-2-3"};
	struct sonde_arena arena = {0};
	struct sonde_rank_list l;
	struct sonde_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sonde_str word = sonde_str_from(bad[i]);

		err = (struct sonde_err){0};
		assert_int_equal(
			sonde_rank_list_read(&l, &arena, &word, 1, &err), SONDE_ERR_USAGE);
		assert_non_null(strstr(err.msg, "ranks=[0,8]"));
	}
	sonde_arena_release(&arena);
}

#define TEST(name) cmocka_unit_test_setup(name, no_launcher)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rank__job_names_are_those_of_the_launch),
		TEST(test_rank__a_slurm_step_is_no_part_of_other_launchers_names),
		TEST(test_rank__long_ids_are_told_apart),
		TEST(test_rank__a_batch_script_is_no_rank_and_a_step_has_its_own_size),
		TEST(test_rank__mpich_on_many_hosts_is_named_by_its_batch_job),
		TEST(test_rank__pods_of_an_indexed_job_have_one_name),
		TEST(test_rank_list__spans_are_joined_and_counted_once),
		TEST(test_rank_list__other_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
