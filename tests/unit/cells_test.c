/*
 * Cells: a report of captures and a report of their partial reports have the same bytes,
 * in any order and any grouping; a damaged partial report is an error.
 */
#include "base/alloc.h"
#include "export/format.h"
#include "cellfile/cellfile.h"
#include "merge/merging.h"
#include "tree/tree.h"

#include "folded.h"
#include "made.h"
#include "unit.h"

#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct sonde_fold_request usual;

/* Returns the bytes of a report of the parts, and releases the parts. */
static struct sonde_buf report_of(struct sonde_parts *parts)
{
	const struct sonde_export_options options = {0};
	struct sonde_cells *c = NULL;
	struct sonde_tree *t = NULL;
	struct sonde_err err = {0};
	struct sonde_sink to;

	if (sonde_parts_unite(&c, parts, &err) || sonde_tree_build(&t, c, &usual.choice, &err))
		fail_msg("%s", err.msg);
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_export_json(t, &options, &to, NULL), 0);
	assert_false(to.buf.failed);
	sonde_tree_free(t);
	sonde_cells_free(c);
	return to.buf;
}

static void open_all(struct sonde_parts *parts, const char *const *paths, size_t nr)
{
	struct sonde_err err = {0};

	if (sonde_parts_open(parts, paths, nr, &usual, &err))
		fail_msg("%s", err.msg);
}

/* Returns the parts as a partial report, and releases the parts. */
static struct sonde_buf written(struct sonde_parts *parts)
{
	struct sonde_sink to;

	sonde_sink_init_string(&to);
	assert_int_equal(sonde_cellfile_write(parts, &to, NULL), 0);
	assert_false(to.buf.failed);
	sonde_parts_release(parts);
	return to.buf;
}

static void read_back(struct sonde_parts *parts, const struct sonde_buf *file)
{
	struct sonde_err err = {0};

	if (sonde_cellfile_read(parts, sonde_buf_view(file), "x.sondecells", &err))
		fail_msg("%s", err.msg);
}

/* Two partial reports as one, in this order. */
static struct sonde_buf joined(const struct sonde_buf *a, const struct sonde_buf *b)
{
	struct sonde_parts parts = {0};

	read_back(&parts, a);
	read_back(&parts, b);
	return written(&parts);
}

static void same(struct sonde_buf *want, struct sonde_buf got, const char *what, const char *path)
{
	if (got.n != want->n || memcmp(got.p, want->p, got.n) != 0)
		fail_msg("%s of %s and what follows differs", what, path);
	sonde_buf_release(&got);
}

/* Compares a report of the files with reports of their partial reports. */
static void check_files(const char *const *paths, const struct sonde_buf *partials, size_t nr)
{
	struct sonde_parts parts = {0};
	struct sonde_buf want, left, right;
	const char *turned[3];
	size_t i;

	open_all(&parts, paths, nr);
	want = report_of(&parts);
	for (i = 0; i < nr; i++)
		turned[i] = paths[nr - 1 - i];
	open_all(&parts, turned, nr);
	same(&want, report_of(&parts), "the other order", paths[0]);
	for (i = 0; i < nr; i++)
		read_back(&parts, &partials[i]);
	same(&want, report_of(&parts), "the partial report", paths[0]);
	for (i = nr; i-- > 0;)
		read_back(&parts, &partials[i]);
	same(&want, report_of(&parts), "the other order of partial reports", paths[0]);
	left = joined(&partials[0], &partials[1]);
	right = joined(&partials[nr - 1], &partials[nr - 2]);
	read_back(&parts, &left);
	if (nr == 3)
		read_back(&parts, &partials[2]);
	same(&want, report_of(&parts), "the first two together", paths[0]);
	if (nr == 3)
		open_all(&parts, paths, 1);
	read_back(&parts, &right);
	same(&want, report_of(&parts), "the last two together", paths[0]);
	sonde_buf_release(&left);
	sonde_buf_release(&right);
	sonde_buf_release(&want);
}

static void make_nsys(char *path)
{
	struct sonde_buf sql = {0};
	char block[4096];
	FILE *f = fopen("tests/data/nsys/small.sql", "r");
	sqlite3 *db = NULL;
	size_t n;

	assert_non_null(f);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		sonde_buf_add(&sql, block, n);
	fclose(f);
	close(mkstemps(path, 7));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql.p, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	sonde_buf_release(&sql);
}

struct inputs {
	SONDE_VEC(const char *) paths;
	SONDE_VEC(struct sonde_buf) partials;
	glob_t found;
	char nsys[40];
};

/*
 * Every file of the test data that is a capture, and its partial report. Samples are split among the
 * launches of their directory, so these are one input, the directory.
 */
static void find_inputs(struct inputs *in)
{
	size_t i;

	*in = (struct inputs){.nsys = "/tmp/sonde_cells_XXXXXX.sqlite"};
	make_nsys(in->nsys);
	assert_int_equal(glob("tests/data/*/*", 0, NULL, &in->found), 0);
	assert_int_equal(glob("tests/data/sampled_capture", GLOB_APPEND, NULL, &in->found), 0);
	for (i = 0; i <= in->found.gl_pathc; i++) {
		const char *path = i ? in->found.gl_pathv[i - 1] : in->nsys;
		struct sonde_parts parts = {0};

		if (!strstr(path, "sampled_capture/") &&
			sonde_parts_open(&parts, &path, 1, &usual, NULL) == 0) {
			*(const char **)sonde_vec_push(&in->paths) = path;
			*(struct sonde_buf *)sonde_vec_push(&in->partials) = written(&parts);
		}
		sonde_parts_release(&parts);
	}
}

static void release_inputs(struct inputs *in)
{
	size_t i;

	for (i = 0; i < in->partials.nr; i++)
		sonde_buf_release(&in->partials.at[i]);
	sonde_vec_release(&in->partials);
	sonde_vec_release(&in->paths);
	globfree(&in->found);
	unlink(in->nsys);
}

/* Tests every file with its neighbours; with SONDE_ALL_PAIRS in the environment, every pair of files. */
static void test_cells__partial_reports_are_as_good_as_their_captures(void **state)
{
	struct inputs in;
	size_t i, k, nr;

	(void)state;
	find_inputs(&in);
	nr = in.paths.nr;
	assert_true(nr > 40);
	for (i = 0; i + 1 < nr; i++) {
		size_t last = getenv("SONDE_ALL_PAIRS") ? nr - 1 : i + 1;

		for (k = i + 1; k <= last; k++)
			check_files((const char *const[]){in.paths.at[i], in.paths.at[k]},
				(const struct sonde_buf[]){in.partials.at[i], in.partials.at[k]}, 2);
		if (i % 3 == 0)
			check_files(
				(const char *const[]){in.paths.at[i], in.paths.at[i + 1],
					in.paths.at[(i + nr / 2) % (nr - 2)]},
				(const struct sonde_buf[]){in.partials.at[i], in.partials.at[i + 1],
					in.partials.at[(i + nr / 2) % (nr - 2)]},
				(i + nr / 2) % (nr - 2) == i || (i + nr / 2) % (nr - 2) == i + 1 ? 2 : 3);
	}
	release_inputs(&in);
}

static void test_cells__samples_are_named_in_any_order(void **state)
{
	static const char *const named[] = {"tests/data/sampled_capture/samples-gpu0.sonde",
		"tests/data/sampled_capture/decode.sonde", "tests/data/sampled_capture/samples-gpu0.sonde"};
	const char *directory = "tests/data/sampled_capture";
	struct sonde_parts parts = {0};
	struct sonde_buf want;

	(void)state;
	open_all(&parts, &directory, 1);
	want = report_of(&parts);
	open_all(&parts, named, 2);
	same(&want, report_of(&parts), "samples before their capture", named[0]);
	open_all(&parts, named + 1, 2);
	same(&want, report_of(&parts), "samples behind their capture", named[1]);
	sonde_buf_release(&want);
}

static void test_partial__written_again_it_is_the_same(void **state)
{
	struct inputs in;
	size_t i;

	(void)state;
	find_inputs(&in);
	for (i = 0; i < in.partials.nr; i++) {
		struct sonde_parts parts = {0};

		read_back(&parts, &in.partials.at[i]);
		same(&in.partials.at[i], written(&parts), "the copy", in.paths.at[i]);
	}
	release_inputs(&in);
}

/* A small run with facts, words, weights, times and streams. */
static void make_small(struct made *m)
{
	uint32_t a, b, i;

	made_init(m);
	a = made_push(m, MADE_ROOT, "A");
	b = made_push(m, a, "B/b");
	for (i = 0; i < 4; i++) {
		uint32_t n = made_launch(m, i % 2 ? "gemm" : "axpy", 1, i < 3 ? &a : &b);

		made_metric(m, "gpu__time_duration.sum", 100 + i);
		made_metric(m, "sm__cycles_elapsed.avg", 1000.5 * i);
		made_metric(m, "sm__inst_executed.avg.pct_of_peak_sustained_elapsed", 10.25 + i);
		made_metric(m, "launch__registers_per_thread", 32 + i);
		made_text(m, "launch__func_cache_config", i ? "CachePreferNone" : "CachePreferL1");
		m->r->records.at[n].time = (struct sonde_record_time){1000 + 100 * i, 1090 + 100 * i};
	}
	for (i = 0; i < 3; i++) { /* collectives, the second in no region */
		uint32_t n = made_launch(m, "ncclDevKernel_AllReduce_Sum_f32", i != 1, &a);

		made_metric(m, "gpu__time_duration.sum", 20);
		made_metric(m, "nccl__bytes.sum", 4096 << i);
		made_text(m, "nccl__group", i < 2 ? "0" : "1");
		m->r->records.at[n].time = (struct sonde_record_time){1500 + 100 * i, 1520 + 100 * i};
	}
	made_launch(m, "fill", 0, NULL);
	m->r->has_record_times = m->r->has_range_times = true;
	m->r->ranges.at[0].time = (struct sonde_range_time){900, 2000, 500};
}

static struct sonde_cells *fold_small(const struct made *m, const struct sonde_selection *s)
{
	struct sonde_fold_request request = {.selection = *s};
	struct sonde_launches *l = NULL;
	struct sonde_cells *part = NULL;

	assert_int_equal(sonde_launches_build(&l, m->r, s, NULL), 0);
	assert_int_equal(sonde_cells_fold(&part, l, &request, NULL), 0);
	sonde_launches_free(l);
	return part;
}

static struct sonde_buf write_small(void)
{
	const struct sonde_selection all = {0};
	struct sonde_parts parts = {0};
	struct made m;

	make_small(&m);
	*(struct sonde_cells **)sonde_vec_push(&parts.at) = fold_small(&m, &all);
	made_release(&m);
	return written(&parts);
}

static void test_partial__cut_off_anywhere_is_an_error(void **state)
{
	struct sonde_buf file = write_small();
	size_t i;

	(void)state;
	for (i = 0; i < file.n; i++) {
		struct sonde_parts parts = {0};
		struct sonde_err err = {0};
		char *copy = malloc(i ? i : 1); /* so that AddressSanitizer detects a read beyond the end */

		memcpy(copy, file.p, i);
		assert_int_equal(sonde_cellfile_read(&parts, (struct sonde_str){copy, i}, "x", &err),
			SONDE_ERR_FORMAT);
		assert_non_null(strstr(err.msg, "x: "));
		assert_int_equal(parts.at.nr, 0);
		sonde_parts_release(&parts);
		free(copy);
	}
	sonde_buf_release(&file);
}

static void test_partial__a_changed_byte_is_an_error(void **state)
{
	struct sonde_buf file = write_small();
	struct sonde_parts parts = {0};
	size_t i;

	(void)state;
	for (i = 0; i < file.n; i++) {
		file.p[i] ^= 0x41;
		assert_int_equal(sonde_cellfile_read(&parts, sonde_buf_view(&file), "x", NULL),
			SONDE_ERR_FORMAT);
		file.p[i] ^= 0x41;
	}
	sonde_parts_release(&parts);
	sonde_buf_release(&file);
}

static void test_partial__every_failing_allocation_is_an_error(void **state)
{
	struct sonde_buf file = write_small();
	uint64_t n;
	int rc = SONDE_ERR_NOMEM;

	(void)state;
	for (n = 1; rc != 0; n++) {
		struct sonde_parts parts = {0};
		struct sonde_cells *c = NULL;
		struct sonde_sink to;

		sonde_sink_init_string(&to);
		sonde_alloc_fail_at(n);
		rc = sonde_cellfile_read(&parts, sonde_buf_view(&file), "x", NULL);
		if (rc == 0)
			rc = sonde_cellfile_write(&parts, &to, NULL);
		if (rc == 0)
			rc = to.buf.failed ? SONDE_ERR_NOMEM : 0;
		if (rc == 0)
			rc = sonde_parts_unite(&c, &parts, NULL);
		sonde_alloc_fail_at(0);
		assert_true(rc == 0 || rc == SONDE_ERR_NOMEM);
		sonde_sink_abort(&to);
		sonde_cells_free(c);
		sonde_parts_release(&parts);
	}
	assert_true(n > 50);
	sonde_buf_release(&file);
}

/* Counts the launches of all cells, and those of all scopes, beside what was selected. */
static void check_launches(const struct sonde_cells *c, const char *name)
{
	uint64_t nr_in_cells = 0, nr_in_scopes = 0;
	size_t i;

	for (i = 0; i < c->cells.nr; i++)
		nr_in_cells += c->cells.at[i].launches;
	for (i = 0; i < c->sums.nr; i++)
		nr_in_scopes += c->sums.at[i].launches;
	if (nr_in_cells != c->tally.nr_taken + c->tally.nr_outside || nr_in_scopes != c->tally.nr_launches)
		fail_msg("%s: %llu launches in cells", name, (unsigned long long)nr_in_cells);
}

static void test_cells__every_selected_launch_is_in_one_cell(void **state)
{
	const struct sonde_selection all = {0};
	struct sonde_cells *small;
	struct inputs in;
	struct made m;
	size_t i;

	(void)state;
	find_inputs(&in);
	for (i = 0; i < in.paths.nr; i++) {
		struct sonde_parts parts = {0};
		struct sonde_cells *c = NULL;

		open_all(&parts, &in.paths.at[i], 1);
		assert_int_equal(sonde_parts_unite(&c, &parts, NULL), 0);
		check_launches(c, in.paths.at[i]);
		sonde_cells_free(c);
		sonde_parts_release(&parts);
	}
	release_inputs(&in);

	make_small(&m); /* one of its launches has no time */
	small = fold_small(&m, &all);
	made_release(&m);
	assert_int_equal(small->nr_untimed, 1);
	assert_int_equal(small->tally.nr_launches, 8);
	check_launches(small, "a launch without a time");
	sonde_cells_free(small);
}

static void test_cells__different_selections_are_not_united(void **state)
{
	const char *words[] = {"A"};
	const struct sonde_selection all = {0}, some = {.nvtx_include = {words, 1}};
	struct sonde_cells *parts[2], *c = NULL;
	struct sonde_err err = {0};
	struct made m;

	(void)state;
	make_small(&m);
	parts[0] = fold_small(&m, &all);
	parts[1] = fold_small(&m, &some);
	made_release(&m);
	assert_int_equal(sonde_cells_unite(&c, parts, 2, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "different settings"));
	assert_null(c);
}

static void test_cells__an_input_that_is_there_twice_counts_once(void **state)
{
	const char *path = "tests/data/ncu/seed_kernel.ncu-rep";
	struct sonde_parts parts = {0};
	struct sonde_cells *c = NULL;
	uint64_t once;

	(void)state;
	open_all(&parts, &path, 1);
	assert_int_equal(sonde_parts_unite(&c, &parts, NULL), 0);
	once = c->tally.nr_launches;
	sonde_cells_free(c);
	open_all(&parts, &path, 1);
	open_all(&parts, &path, 1);
	assert_int_equal(sonde_parts_unite(&c, &parts, NULL), 0);
	assert_int_equal(c->tally.nr_launches, once);
	assert_int_equal(c->inputs.nr, 1);
	assert_non_null(strstr(c->notes.texts.keys[0].p, "more than once"));
	sonde_cells_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells__partial_reports_are_as_good_as_their_captures),
		cmocka_unit_test(test_cells__every_selected_launch_is_in_one_cell),
		cmocka_unit_test(test_cells__samples_are_named_in_any_order),
		cmocka_unit_test(test_partial__written_again_it_is_the_same),
		cmocka_unit_test(test_partial__cut_off_anywhere_is_an_error),
		cmocka_unit_test(test_partial__a_changed_byte_is_an_error),
		cmocka_unit_test(test_partial__every_failing_allocation_is_an_error),
		cmocka_unit_test(test_cells__different_selections_are_not_united),
		cmocka_unit_test(test_cells__an_input_that_is_there_twice_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
