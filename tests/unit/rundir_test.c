#include "unit.h"

#include "launch_env.h"

#include "capture/rundir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char dir[64], wanted[4096];
};

static struct place make_place(const char *name)
{
	struct place p = {.dir = "/tmp/sonde-rundir-XXXXXX"};

	assert_non_null(mkdtemp(p.dir));
	snprintf(p.wanted, sizeof(p.wanted), "%s/%s", p.dir, name);
	return p;
}

static void remove_place(const struct place *p)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	assert_int_equal(system(command), 0);
}

static struct sonde_rundir open_rank(const struct place *p, const char *rank)
{
	struct sonde_rundir d;
	struct sonde_err err = {0};

	setenv("RANK", rank, 1);
	if (sonde_rundir_open(&d, p->wanted, &err))
		fail_msg("%s", err.msg);
	return d;
}

/* Writes a configuration, as every run does at its beginning. */
static void write_config(const struct sonde_rundir *d)
{
	struct sonde_err err = {0};

	assert_int_equal(sonde_rundir_write(d, "config.yaml", SONDE_STR("a: 1\n"), &err), 0);
}

static void test_rundir__ranks_share_one_and_the_last_knows(void **state)
{
	struct place p = make_place("20260131-120000");
	struct sonde_rundir a, b;

	(void)state;
	set("WORLD_SIZE=2");
	a = open_rank(&p, "0");
	write_config(&a);
	b = open_rank(&p, "1");
	assert_true(a.is_first);
	assert_false(b.is_first);
	assert_string_equal(a.path, b.path);
	assert_false(sonde_rundir_finish(&b));
	assert_true(sonde_rundir_finish(&a));
	b = open_rank(&p, "1");
	assert_true(b.is_first); /* there is no link any more */
	assert_string_not_equal(a.path, b.path);
	remove_place(&p);
}

static void test_rundir__a_job_after_one_that_lost_a_rank_is_by_itself(void **state)
{
	struct place p = make_place("20260131-120000");
	struct sonde_rundir old, a, b;

	(void)state;
	set("WORLD_SIZE=2 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none");
	old = open_rank(&p, "0");
	write_config(&old);
	assert_false(sonde_rundir_finish(&old));
	a = open_rank(&p, "0");
	assert_string_not_equal(old.path, a.path);
	assert_false(sonde_rundir_finish(&a));
	b = open_rank(&p, "1");
	assert_string_equal(a.path, b.path);
	assert_true(sonde_rundir_finish(&b));
	remove_place(&p);
}

static void test_rundir__a_link_older_than_the_launch_is_not_followed(void **state)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct place p = make_place("20260131-120000");
	struct sonde_rundir old, a, b;
	char link[4400];

	(void)state;
	set("WORLD_SIZE=2 MASTER_PORT=29500");
	old = open_rank(&p, "0");
	write_config(&old);
	sonde_rundir_finish(&old);
	snprintf(link, sizeof(link), "%s/.job-%s", p.dir, old.rank.job);
	assert_int_equal(utimensat(AT_FDCWD, link, long_ago, AT_SYMLINK_NOFOLLOW), 0);
	b = open_rank(&p, "1"); /* the rank that was missing comes first */
	assert_string_not_equal(old.path, b.path);
	a = open_rank(&p, "0");
	assert_string_equal(a.path, b.path);
	assert_false(sonde_rundir_finish(&a));
	assert_true(sonde_rundir_finish(&b));
	remove_place(&p);
}

static void test_rundir__only_one_rank_is_the_last(void **state)
{
	struct place p = make_place("20260131-120000");
	struct sonde_rundir a, b;
	char path[4096];
	FILE *f;

	(void)state;
	set("WORLD_SIZE=2");
	a = open_rank(&p, "0");
	b = open_rank(&p, "1");
	snprintf(path, sizeof(path), "%s/.done.rank1", a.path);
	f = fopen(path, "w"); /* the other process has made its mark, but not looked at the marks yet */
	assert_non_null(f);
	fclose(f);
	assert_int_equal(sonde_rundir_finish(&a) + sonde_rundir_finish(&b), 1);
	remove_place(&p);
}

/* A launcher runs a script with two runs in it: ranks do not proceed at the same speed. */
static void test_rundir__two_runs_of_one_job_are_kept_apart(void **state)
{
	struct place p = make_place("20260131-120000");
	struct sonde_rundir a0, a1, b0, b1;

	(void)state;
	set("WORLD_SIZE=2");
	a0 = open_rank(&p, "0");
	a1 = open_rank(&p, "1");
	assert_false(sonde_rundir_finish(&a0));
	b0 = open_rank(&p, "0"); /* while the other is still in the first run */
	assert_string_not_equal(a0.path, b0.path);
	assert_true(sonde_rundir_finish(&a1));
	b1 = open_rank(&p, "1");
	assert_string_equal(b0.path, b1.path);
	assert_false(sonde_rundir_finish(&b1));
	assert_true(sonde_rundir_finish(&b0));
	remove_place(&p);
}

static void test_rundir__a_chosen_name_is_refused_to_the_next_job(void **state)
{
	struct place p = make_place("mine");
	struct sonde_rundir d;
	struct sonde_err err = {0};

	(void)state;
	set("WORLD_SIZE=2");
	d = open_rank(&p, "0");
	write_config(&d);
	assert_int_equal(sonde_rundir_open(&d, p.wanted, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "already contains a run"));
	remove_place(&p);
}

static void test_rundir__a_name_like_a_pattern_is_a_name(void **state)
{
	struct place p = make_place("lr=[1,2]*");
	struct sonde_rundir a, b;

	(void)state;
	set("WORLD_SIZE=2");
	a = open_rank(&p, "0");
	b = open_rank(&p, "1");
	assert_false(sonde_rundir_finish(&a));
	assert_true(sonde_rundir_finish(&b));
	remove_place(&p);
}

static void test_rundir__a_long_name_is_not_cut_for_other_ranks(void **state)
{
	struct place p = make_place("");
	struct sonde_rundir a, b;
	size_t i;

	(void)state;
	for (i = strlen(p.wanted); i < 2500; i++)
		p.wanted[i] = i % 200 ? 'x' : '/';
	p.wanted[i] = '\0';
	set("WORLD_SIZE=2");
	a = open_rank(&p, "0");
	b = open_rank(&p, "1");
	assert_string_equal(a.path, b.path);
	remove_place(&p);
}

#define TEST(name) cmocka_unit_test_setup(name, no_launcher)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rundir__ranks_share_one_and_the_last_knows),
		TEST(test_rundir__a_job_after_one_that_lost_a_rank_is_by_itself),
		TEST(test_rundir__a_link_older_than_the_launch_is_not_followed),
		TEST(test_rundir__only_one_rank_is_the_last),
		TEST(test_rundir__two_runs_of_one_job_are_kept_apart),
		TEST(test_rundir__a_chosen_name_is_refused_to_the_next_job),
		TEST(test_rundir__a_name_like_a_pattern_is_a_name),
		TEST(test_rundir__a_long_name_is_not_cut_for_other_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
