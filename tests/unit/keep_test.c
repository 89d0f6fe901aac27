#include "unit.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cellfile/cellfile.h"
#include "merge/merging.h"

#include <stdio.h>
#include <unistd.h>

static const char *const paths[] = {"tests/data/ncu/deep_kernel.ncu-rep",
	"tests/data/ncu/domains_kernel.ncu-rep", "tests/data/ncu/overlap_kernel.ncu-rep",
	"tests/data/ncu/none_kernel.ncu-rep", "tests/data/ncu/graph_kernel.ncu-rep"};
#define NR_PATHS (sizeof(paths) / sizeof(*paths))

static int open_some(struct sonde_cells **out, const char *const *from, size_t nr, size_t keep,
	struct sonde_err *err)
{
	const struct sonde_fold_request request = {.keep = keep, .cores = 1};
	struct sonde_parts parts = {0};
	int rc = sonde_parts_open(&parts, from, nr, &request, err);

	*out = NULL;
	if (rc == 0)
		rc = sonde_parts_unite(out, &parts, err);
	sonde_parts_release(&parts);
	return rc;
}

static int open_all(struct sonde_cells **out, size_t keep, struct sonde_err *err)
{
	return open_some(out, paths, NR_PATHS, keep, err);
}

static uint64_t count_launches(const struct sonde_cells *c)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < c->cells.nr; i++)
		nr += c->cells.at[i].launches;
	return nr;
}

static void test_keep__what_is_added_up_is_all_there(void **state)
{
	struct sonde_cells *all, *few;
	struct sonde_err err = {0};
	size_t i, nr_folded = 0;

	(void)state;
	assert_int_equal(open_all(&all, 0, &err), 0);
	assert_int_equal(open_all(&few, 2, &err), 0);
	for (i = 0; i < few->scopes.nr; i++)
		nr_folded += few->scopes.at[i].nr_folded;
	assert_int_equal(all->scopes.nr, 5);
	assert_int_equal(nr_folded, 3);
	assert_true(few->scopes.at[few->scopes.nr - 1].nr_folded > 0); /* behind the others */
	assert_int_equal(count_launches(few), count_launches(all));
	assert_int_equal(few->tally.nr_launches, all->tally.nr_launches);
	assert_int_equal(few->tally.nr_taken, all->tally.nr_taken);
	assert_int_equal(few->regions.nr, all->regions.nr);
	sonde_cells_free(all);
	sonde_cells_free(few);
}

static void test_keep__as_many_as_there_are_stay_as_they_are(void **state)
{
	struct sonde_cells *c;
	struct sonde_err err = {0};
	size_t i;

	(void)state;
	assert_int_equal(open_all(&c, NR_PATHS, &err), 0);
	for (i = 0; i < c->scopes.nr; i++)
		assert_int_equal(c->scopes.at[i].nr_folded, 0);
	sonde_cells_free(c);
}

static void test_keep__one_of_a_kind_stays_by_itself(void **state)
{
	const char *const mixed[] = {"tests/data/diff/train.sonde.gz", paths[0],
		"tests/data/diff/graph.sonde.gz", "tests/data/diff/eager.sonde.gz"};
	struct sonde_cells *c;
	struct sonde_err err = {0};
	size_t i, nr_odd = 0;

	(void)state;
	assert_int_equal(open_some(&c, mixed, 4, 1, &err), 0);
	for (i = 0; i < c->scopes.nr; i++) {
		const struct sonde_process *p = &c->processes.at[c->scopes.at[i].process];
		bool is_odd = !sonde_str_is(c->inputs.at[p->input].source, "native");

		nr_odd += is_odd;
		assert_true(!is_odd || c->scopes.at[i].nr_folded == 0);
	}
	assert_int_equal(nr_odd, 1);
	assert_int_equal(c->scopes.nr, 3);
	assert_int_equal(c->scopes.at[c->scopes.nr - 1].nr_folded, 2);
	sonde_cells_free(c);
}

/* Writes a partial report of a capture in which `nr` launches have no time. */
static void write_untimed(const char *capture, uint64_t nr, const char *path)
{
	const struct sonde_fold_request request = {.cores = 1};
	struct sonde_parts parts = {0};
	struct sonde_sink to;

	assert_int_equal(sonde_parts_open(&parts, &capture, 1, &request, NULL), 0);
	parts.at.at[0]->nr_untimed = nr;
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_cellfile_write(&parts, &to, NULL), 0);
	assert_int_equal(sonde_file_write(path, sonde_buf_view(&to.buf), NULL), 0);
	sonde_sink_abort(&to);
	sonde_parts_release(&parts);
}

static void test_keep__launches_that_were_not_timed_are_all_counted(void **state)
{
	const char *const captures[] = {"tests/data/diff/train.sonde.gz", "tests/data/diff/graph.sonde.gz",
		"tests/data/diff/eager.sonde.gz"};
	char dir[] = "/tmp/keep_test.XXXXXX", names[3][64];
	const char *const partials[] = {names[0], names[1], names[2]};
	struct sonde_cells *c;
	struct sonde_err err = {0};
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%s/%zu.sondecells", dir, i);
		write_untimed(captures[i], 1u << i, names[i]);
	}
	assert_int_equal(open_some(&c, partials, 3, 1, &err), 0);
	assert_int_equal(c->scopes.at[c->scopes.nr - 1].nr_folded, 2);
	assert_int_equal(c->nr_untimed, 7);
	sonde_cells_free(c);
	for (i = 0; i < 3; i++)
		unlink(names[i]);
	assert_int_equal(rmdir(dir), 0);
}

/* Whichever allocation fails, it is an error and nothing is left behind. */
static void test_keep__memory_may_end_anywhere(void **state)
{
	struct sonde_cells *c;
	struct sonde_err err = {0};
	uint64_t before = sonde_alloc_count(), nr, at;

	(void)state;
	assert_int_equal(open_all(&c, 2, &err), 0);
	sonde_cells_free(c);
	nr = sonde_alloc_count() - before;
	for (at = 1; at < nr; at += 1 + nr / 400) {
		sonde_alloc_fail_at(at);
		if (open_all(&c, 2, &err) == 0)
			sonde_cells_free(c);
		sonde_alloc_fail_at(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep__what_is_added_up_is_all_there),
		cmocka_unit_test(test_keep__as_many_as_there_are_stay_as_they_are),
		cmocka_unit_test(test_keep__one_of_a_kind_stays_by_itself),
		cmocka_unit_test(test_keep__launches_that_were_not_timed_are_all_counted),
		cmocka_unit_test(test_keep__memory_may_end_anywhere),
	};

	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
