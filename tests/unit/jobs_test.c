/* Which processes belong to one job: their captures are added up unasked, others are not. */
#include "read/jobs.h"
#include "unit.h"

#include <stdio.h>

#define SECOND 1000000000ull
#define NOW    (1700000000ull * SECOND)
#define DAY    86400ull

/* A process, as its own file describes it. */
struct seen {
	const char *file, *host, *program, *gpu;
	uint64_t pid, at_s, for_s; /* at_s: seconds after NOW; for_s 0 = its time is not known */
	int rank, size;		   /* size 0 = none */
	uint64_t made_s;	   /* only when the file was made, after NOW */
	const char *command;
};

#define KNOWN(f, h, p, g, n)		 {.file = f, .host = h, .program = p, .gpu = g, .pid = n}
#define RAN(f, h, p, g, n, t, d)	 {.file = f, .host = h, .program = p, .gpu = g, .pid = n, .at_s = t, .for_s = d}
#define RANK(f, h, p, g, n, t, d, r, s) {.file = f, .host = h, .program = p, .gpu = g, .pid = n, .at_s = t, .for_s = d, .rank = r, .size = s}
#define MADE(f, h, p, g, n, t, c)	 {.file = f, .host = h, .program = p, .gpu = g, .pid = n, .made_s = t, .command = c}

static int check(const struct seen *seen, size_t nr, struct sonde_err *err)
{
	struct sonde_jobs jobs = {0};
	size_t i;
	int rc;

	for (i = 0; i < nr; i++) {
		const struct seen *s = &seen[i];
		const struct sonde_input in = {.path = sonde_str_from(s->file),
			.created_s = s->made_s ? NOW / SECOND + s->made_s : 0,
			.command = sonde_str_from(s->command)};
		const struct sonde_process p = {.pid = s->pid, .host = sonde_str_from(s->host),
			.name = sonde_str_from(s->program), .has_rank = s->size, .rank = (uint32_t)s->rank,
			.world_size = (uint32_t)s->size, .first_ns = s->for_s ? NOW + s->at_s * SECOND : 0,
			.last_ns = s->for_s ? NOW + (s->at_s + s->for_s) * SECOND : 0};
		const struct sonde_device d = {.name = sonde_str_from(s->gpu)};

		sonde_jobs_add(&jobs, &(struct sonde_found){s->file, &in, &p, 0, 1, &d, 1});
	}
	rc = sonde_jobs_check(&jobs, "dir", err);
	sonde_jobs_release(&jobs);
	return rc;
}

#define ONE_JOB(...)                                                                               \
	do {                                                                                       \
		const struct seen all[] = {__VA_ARGS__};                                           \
		struct sonde_err err = {0};                                                        \
                                                                                                   \
		if (check(all, sizeof(all) / sizeof(*all), &err))                                  \
			fail_msg("line %d: %s", __LINE__, err.msg);                                \
	} while (0)
#define JOBS(nr, ...)                                                                              \
	do {                                                                                       \
		const struct seen all[] = {__VA_ARGS__};                                           \
		struct sonde_err err = {0};                                                        \
                                                                                                   \
		assert_int_equal(check(all, sizeof(all) / sizeof(*all), &err), SONDE_ERR_USAGE);   \
		if (!strstr(err.msg, "captures of " #nr " jobs"))                                  \
			fail_msg("line %d: %s", __LINE__, err.msg);                                \
	} while (0)

static void test_jobs__processes_that_belong_together_are_added_up(void **state)
{
	(void)state;
	/* Ranks on many nodes, also if windows opened at different times, or the launcher itself was captured. */
	ONE_JOB(RANK("0", "n0", "train", "H200", 10, 0, 60, 0, 4), RANK("1", "n0", "train", "H200", 11, 1, 60, 1, 4),
		RANK("2", "n1", "train", "H200", 10, 0, 60, 2, 4), RANK("3", "n1", "train", "A100", 11, 600, 5, 3, 4),
		RAN("4", "n0", "torchrun", NULL, 9, 0, 70));
	/* A rank and its children, which have its number. */
	ONE_JOB(RANK("0", "n0", "train", "H200", 10, 0, 60, 0, 2), RANK("1", "n0", "worker", NULL, 12, 2, 3, 0, 2),
		RANK("2", "n0", "worker", NULL, 13, 30, 3, 0, 2), RANK("3", "n1", "train", "H200", 10, 0, 60, 1, 2));
	/* Processes without ranks: on one host at a time, or the same program on several. */
	ONE_JOB(RAN("0", "n0", "serve", "H200", 10, 0, 60), RAN("1", "n0", "client", NULL, 11, 20, 5));
	ONE_JOB(RAN("0", "n0", "serve", "H200", 10, 0, 60), RAN("1", "n1", "serve", "H200", 11, 20, 50));
	/* One process whose profiler wrote several traces; torch.profiler does not record the host. */
	ONE_JOB(RAN("0", NULL, "python", "H200", 10, 0, 6), RAN("1", NULL, "python", "H200", 10, 600, 6),
		RAN("2", NULL, "python", "H200", 10, 1200, 6));
	/* Reports of Nsight Compute of the same command, made one after the other; of ranks likewise. */
	ONE_JOB(MADE("0", "n0", "./app", "H200", 10, 60, "ncu -o a ./app 8"),
		MADE("1", "n0", "./app", "H200", 11, 900, "ncu --replay-mode range -o ./app.2 ./app 8"));
	/* Nothing is known. */
	ONE_JOB(KNOWN("0", NULL, NULL, NULL, 0), KNOWN("1", NULL, NULL, NULL, 0), KNOWN("2", NULL, "app", "H200", 4));
	ONE_JOB(KNOWN("0", NULL, "app", NULL, 3), KNOWN("1", NULL, "app", "H200", 4));
}

static void test_jobs__runs_and_programs_of_their_own_are_told_apart(void **state)
{
	(void)state;
	/* A run after the other, of one process or of ranks. */
	JOBS(2, RAN("0", "n0", "train", "H200", 10, 0, 60), RAN("1", "n0", "train", "H200", 11, 90, 60));
	JOBS(2, RANK("0", "n0", "train", "H200", 10, 0, 60, 0, 2), RANK("1", "n1", "train", "H200", 10, 0, 60, 1, 2),
		RANK("2", "n0", "train", "H200", 20, 90, 60, 0, 2), RANK("3", "n1", "train", "H200", 20, 90, 60, 1, 2));
	/* Runs that are days apart, that have other sizes, other programs on other machines, or other GPUs. */
	JOBS(2, RANK("0", "n0", "train", "H200", 10, 0, 60, 0, 2), RANK("1", "n1", "train", "H200", 10, 2 * DAY, 60, 1, 2));
	JOBS(2, RANK("0", "n0", "train", "H200", 10, 0, 60, 0, 2), RANK("1", "n1", "train", "H200", 10, 90, 60, 1, 8));
	JOBS(2, RAN("0", "n0", "train", "H200", 10, 0, 60), RAN("1", "n1", "infer", "H200", 10, 0, 60));
	JOBS(2, RAN("0", "n0", "bench", "H200", 10, 0, 60), RAN("1", "n1", "bench", "A100", 10, 0, 60));
	JOBS(2, RAN("0", NULL, "python", "H200", 10, 0, 6), RAN("1", NULL, "python", "H200", 10, DAY, 6));
	/* Without times, other facts decide. */
	JOBS(2, KNOWN("0", NULL, NULL, "gfx90a", 0), KNOWN("1", NULL, NULL, "H200", 0));
	JOBS(2, MADE("0", "n0", "./app", "H200", 10, 60, "ncu -o a ./app 8"),
		MADE("1", "n0", "./app", "H200", 11, 90, "ncu -o b ./app 9"));
	JOBS(2, MADE("0", "n0", "./app", "H200", 10, 60, "ncu -o a ./app 8"),
		MADE("1", "n0", "./app", "H200", 11, 2 * DAY, "ncu -o b ./app 8"));
}

static void test_jobs__what_to_type_is_said_for_each(void **state)
{
	const struct seen all[] = {RAN("dir/a b.sonde", "n0", "train", "H200", 10, 0, 60),
		RAN("dir/two/x.sonde", "n0", "infer", "H200", 11, 90, 60),
		RAN("dir/two/y.sonde", "n0", "infer", "H200", 12, 90, 60)};
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(check(all, 3, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "sonde report 'dir/a b.sonde'   # train, H200, 2023-11-14 22:13:20 UTC"));
	assert_non_null(strstr(err.msg, "sonde report dir/two   # infer"));
	assert_non_null(strstr(err.msg, "--together"));
}

/* All ranks of a large job, and then twice as many files: each rule sorts the files, and none compares all pairs. */
static void test_jobs__many_ranks_take_no_longer_than_they_must(void **state)
{
	uint64_t steps[2];
	size_t round, i;

	(void)state;
	skip_without_steps();
	for (round = 0; round < 2; round++) {
		size_t nr = round ? 8000 : 1000;
		struct sonde_jobs jobs = {0};

		for (i = 0; i < nr; i++) {
			char path[32], host[32];
			struct sonde_input in = {0};
			struct sonde_process p = {.pid = i, .has_rank = true, .rank = (uint32_t)i,
				.world_size = (uint32_t)nr, .first_ns = NOW, .last_ns = NOW + SECOND};

			snprintf(path, sizeof(path), "job/%zu.sonde", i);
			snprintf(host, sizeof(host), "n%zu", i);
			in.path = sonde_str_from(path);
			p.host = sonde_str_from(host);
			sonde_jobs_add(&jobs, &(struct sonde_found){path, &in, &p, 0, 1, NULL, 0});
		}
		steps[round] = sonde_steps();
		assert_int_equal(sonde_jobs_check(&jobs, "job", NULL), 0);
		steps[round] = sonde_steps() - steps[round];
		sonde_jobs_release(&jobs);
	}
	assert_linear("a job", steps[0], steps[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs__processes_that_belong_together_are_added_up),
		cmocka_unit_test(test_jobs__runs_and_programs_of_their_own_are_told_apart),
		cmocka_unit_test(test_jobs__what_to_type_is_said_for_each),
		cmocka_unit_test(test_jobs__many_ranks_take_no_longer_than_they_must),
	};

	return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
