/*
 * Hardware counters of captures whose oldest files were folded (capture.keep): the intervals of figures contain the true
 * counts, as those of one long file do, and samples that no file needs any more are removed.
 *
 * Two processes run on one GPU, each with a capture of NR_FILES files. The first launches `small` in region A and `large` in B
 * in each step, the second `other` in region C. A sampler counts instructions, in as many files.
 */
#include "capture_make.h"
#include "unit.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/sink.h"
#include "fold/sampled.h"
#include "format/samples.h"
#include "merge/rolling.h"
#include "read/rolled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NR_FILES  6
#define NR_STEPS  100 /* steps per file */
#define STEP_NS	  200000u
#define FILE_NS	  ((uint64_t)NR_STEPS * STEP_NS)
#define SAMPLE_NS 50000u
#define AHEAD_NS  250 /* how long before its timestamps work is done: docs/counters-internals.md */

enum { SMALL, LARGE, OTHER, NR_KERNELS };
static const struct {
	const char *name, *region;
	uint64_t ns;
	double count; /* count per launch */
} kernels[NR_KERNELS] = {{"small", "A", 8000, 1e6}, {"large", "B", 12000, 2e6}, {"other", "C", 9000, 4e6}};

struct launched {
	uint64_t start, end;
	double count;
};

struct run {
	char dir[64];
	char paths[3][96]; /* the two captures, the samples */
	struct launched at[NR_FILES * NR_STEPS * NR_KERNELS];
	size_t nr;
	uint64_t seed;
};

static uint64_t random_ns(struct run *r, uint64_t most)
{
	r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
	return (r->seed >> 33) % most;
}

static void put(struct sonde_buf *to, struct sonde_event_base *base, const struct sonde_event *e)
{
	uint8_t bytes[4096];

	sonde_buf_add(to, bytes, (size_t)(sonde_event_put(bytes, base, e) - bytes));
}

static void begin(struct capture *c, unsigned file, const char *meta)
{
	char text[256];
	int n = snprintf(text, sizeof(text), file ? "%spart=%u\n" : "%s", meta, file);

	capture_begin(c);
	capture_block(c, SONDE_BLOCK_META, text, (size_t)n);
	capture_clock(c, file * FILE_NS);
}

static void end(struct run *r, struct capture *c, unsigned of, unsigned file)
{
	char name[128];

	if (file == NR_FILES - 1) {
		capture_clock(c, NR_FILES * FILE_NS);
		capture_block(c, SONDE_BLOCK_END, NULL, 0);
	}
	snprintf(name, sizeof(name), file ? "%s.%u" : "%s", r->paths[of], file);
	assert_int_equal(sonde_file_write(name, sonde_buf_view(&c->file), NULL), 0);
	capture_release(c);
}

/* Writes a file of a process: kernels `first` to `last` in each step, each in its region. */
static void write_capture(struct run *r, unsigned of, unsigned file, unsigned first, unsigned last)
{
	struct sonde_event_base host = {.ticks = file * FILE_NS}, gpu = host;
	struct sonde_buf works = {0};
	struct capture c;
	unsigned i, k;

	begin(&c, file, "host=node7\nexe=/bin/made\n");
	for (k = 0; k < NR_KERNELS; k++) {
		capture_string(&c, 1 + k, SONDE_STRING_LABEL, 0, kernels[k].region);
		capture_string(&c, 11 + k, SONDE_STRING_KERNEL, 0, kernels[k].name);
	}
	capture_string(&c, 20, SONDE_STRING_NAME, 0, "made GPU");
	event_base(&c, host.ticks, 0, 0);
	put(&works, &gpu, &(struct sonde_event){.type = SONDE_EVENT_GPU_CLOCK, .ticks = gpu.ticks, .field = {gpu.ticks}});
	if (!file)
		put(&works, &gpu, &(struct sonde_event){.type = SONDE_EVENT_DEVICE, .label.number = 20, .field = {0, 9, 0, 132}});
	for (i = 0; i < NR_STEPS; i++) {
		uint64_t at = file * FILE_NS + i * STEP_NS + (of ? 110000u : 1000u) + random_ns(r, 30000);

		for (k = first; k <= last; k++) {
			uint64_t start = at + 3000 + random_ns(r, 5000), id = (file * NR_STEPS + i) * NR_KERNELS + k + 1;

			put(&c.events, &host, &(struct sonde_event){.type = SONDE_EVENT_PUSH, .ticks = at, .label.number = 1 + k});
			put(&c.events, &host, &(struct sonde_event){.type = SONDE_EVENT_LAUNCH, .ticks = at + 1000, .field = {id}});
			put(&c.events, &host, &(struct sonde_event){.type = SONDE_EVENT_POP, .ticks = at + 2000});
			put(&works, &gpu,
				&(struct sonde_event){.type = SONDE_EVENT_KERNEL,
					.label.number = 11 + k,
					.field = {start, kernels[k].ns, id, [SONDE_GPU_STREAM] = 7}});
			r->at[r->nr++] = (struct launched){start - AHEAD_NS, start + kernels[k].ns - AHEAD_NS, kernels[k].count};
			at = start + kernels[k].ns + 1000;
		}
	}
	capture_chunk(&c, 0, file, 77);
	event_base(&c, file * FILE_NS, 0, 0);
	sonde_buf_str(&c.events, sonde_buf_view(&works));
	capture_chunk(&c, 1, file, 78);
	sonde_buf_release(&works);
	end(r, &c, of, file);
}

static void write_samples(struct run *r, unsigned file)
{
	struct sonde_counter_set *set = calloc(1, sizeof(*set));
	struct sonde_samples_out out;
	struct sonde_buf b = {0};
	struct capture c;
	uint64_t at;
	size_t i;

	begin(&c, file, "kind=samples\nhost=node7\n");
	assert_non_null(set);
	set->interval_ns = SAMPLE_NS;
	set->nr = 1;
	set->at[0] = (struct sonde_counter_name){SONDE_STR("sm.instructions"), SONDE_STR("x.sum"), 0};
	if (!file) {
		sonde_counters_put(&b, set);
		capture_block(&c, SONDE_BLOCK_COUNTERS, b.p, b.n);
		sonde_buf_clear(&b);
	}
	sonde_samples_begin(&out, &b, set, file * FILE_NS);
	for (at = file * FILE_NS; at < (file + 1) * FILE_NS; at += SAMPLE_NS) {
		double sum = 0;

		for (i = 0; i < r->nr; i++) {
			const struct launched *l = &r->at[i];
			double from = fmax((double)l->start, (double)at), to = fmin((double)l->end, (double)(at + SAMPLE_NS));

			sum += to > from ? l->count * (to - from) / (double)(l->end - l->start) : 0;
		}
		sonde_samples_put(&out, at, at + SAMPLE_NS, &sum);
	}
	capture_block(&c, SONDE_BLOCK_SAMPLES, b.p, b.n);
	sonde_buf_release(&b);
	free(set);
	end(r, &c, 2, file);
}

static void make_run(struct run *r, bool has_other)
{
	static const char *const names[] = {"1.0.sonde", "2.0.sonde", "samples-node7-gpu0.3.sonde"};
	unsigned i;

	*r = (struct run){.dir = "/tmp/rolled_counters.XXXXXX", .seed = 7};
	assert_non_null(mkdtemp(r->dir));
	for (i = 0; i < 3; i++)
		snprintf(r->paths[i], sizeof(r->paths[i]), "%s/%s", r->dir, names[i]);
	for (i = 0; i < NR_FILES; i++) {
		write_capture(r, 0, i, SMALL, LARGE);
		if (has_other)
			write_capture(r, 1, i, OTHER, OTHER);
	}
	for (i = 0; i < NR_FILES; i++)
		write_samples(r, i);
}

static size_t count_files(const struct run *r, unsigned of)
{
	char name[128];
	size_t nr = 0;
	unsigned k;

	for (k = 0; k < NR_FILES; k++) {
		snprintf(name, sizeof(name), k ? "%s.%u" : "%s", r->paths[of], k);
		nr += access(name, F_OK) == 0;
	}
	return nr;
}

static void remove_run(const struct run *r)
{
	char name[128];
	unsigned i, k;

	for (i = 0; i < 3; i++)
		for (k = 0; k < NR_FILES; k++) {
			snprintf(name, sizeof(name), k ? "%s.%u" : "%s", r->paths[i], k);
			unlink(name);
		}
	assert_int_equal(rmdir(r->dir), 0);
}

/* Folds the oldest file of a capture, as `sonde run` does. */
static void roll(const struct run *r, unsigned of, bool has_other)
{
	const char *all[3] = {r->paths[0], r->paths[2], r->paths[1]};
	const struct sonde_fold_request request = {.cores = 1};
	struct sonde_beside b;
	struct sonde_err err = {0};

	assert_int_equal(sonde_beside_open(&b, all, has_other ? 3 : 2, r->paths[of], &err), 0);
	if (sonde_roll(&b, r->paths[of], 1, &request, &err) || sonde_beside_trim(&b, &err))
		fail_msg("%s", err.msg);
	sonde_beside_release(&b);
}

static struct sonde_cells *read_run(const struct run *r)
{
	const struct sonde_fold_request request = {.cores = 1};
	const char *dir = r->dir;
	struct sonde_parts parts = {0};
	struct sonde_cells *c = NULL;
	struct sonde_err err = {0};

	if (sonde_parts_open(&parts, &dir, 1, &request, &err) || sonde_parts_unite(&c, &parts, &err))
		fail_msg("%s", err.msg);
	sonde_parts_release(&parts);
	return c;
}

/* The instructions of the kernels whose names are in `of`. */
static struct sonde_unmix_figure figure_of(const struct sonde_cells *c, const char *of)
{
	uint32_t *cells = calloc(c->cells.nr + 1, sizeof(*cells));
	struct sonde_unmix_figure f;
	size_t metric = 0, nr = 0, i;

	assert_non_null(cells);
	while (strcmp(sonde_sampled_metrics[metric].name, "sm__inst_executed.sum") != 0)
		metric++;
	for (i = 0; i < c->cells.nr; i++) {
		struct sonde_str name = c->strings.keys[c->cells.at[i].kernel];

		if (memmem(of, strlen(of), name.p, name.n))
			cells[nr++] = (uint32_t)i;
	}
	assert_true(nr > 0);
	f = sonde_sampled_figure_of(c, cells, nr, metric);
	free(cells);
	return f;
}

static void holds(const struct sonde_cells *c, const char *of, double truth)
{
	struct sonde_unmix_figure f = figure_of(c, of);

	if (!(fabs(f.value - truth) <= fmax(2.5 * f.error, 0.002 * truth)) || !(f.error < 0.05 * truth))
		fail_msg("%s: %g ± %g is not %g", of, f.value, f.error, truth);
}

static double truth_of(unsigned kernel)
{
	return NR_FILES * NR_STEPS * kernels[kernel].count;
}

static void holds_all(const struct sonde_cells *c, bool has_other)
{
	holds(c, "small", truth_of(SMALL));
	holds(c, "large", truth_of(LARGE));
	holds(c, "small large", truth_of(SMALL) + truth_of(LARGE));
	if (has_other) {
		holds(c, "other", truth_of(OTHER));
		holds(c, "small large other", truth_of(SMALL) + truth_of(LARGE) + truth_of(OTHER));
	}
}

/* Folds one file after the other. The samples of the last two files stay, and those of the last file that was folded. */
static void check_folding(bool has_other)
{
	struct run *r = calloc(1, sizeof(*r));
	struct sonde_unmix_figure whole, folded;
	struct sonde_cells *c;
	unsigned i;

	assert_non_null(r);
	make_run(r, has_other);
	c = read_run(r);
	holds_all(c, has_other);
	whole = figure_of(c, "small large");
	sonde_cells_free(c);
	for (i = 0; i < NR_FILES - 2; i++) {
		roll(r, 0, has_other);
		if (has_other)
			roll(r, 1, has_other);
		c = read_run(r);
		holds_all(c, has_other);
		folded = figure_of(c, "small large");
		assert_true(folded.error < 2 * whole.error + 0.001 * folded.value);
		sonde_cells_free(c);
	}
	assert_int_equal(count_files(r, 0), 3);
	assert_int_equal(count_files(r, 2), 3); /* the samples of the files that stay, and the first file, which describes them */
	remove_run(r);
	free(r);
}

static void test_rolled__counters_are_those_of_one_long_file(void **state)
{
	(void)state;
	check_folding(false);
}

static void test_rolled__counters_of_two_processes_on_one_gpu_stay_apart(void **state)
{
	(void)state;
	check_folding(true);
}

/* If only the files of one process are folded, the samples contain work of another process. */
static void test_rolled__work_of_another_process_is_nobody_elses(void **state)
{
	struct run *r = calloc(1, sizeof(*r));
	struct sonde_cells *c;
	unsigned i;

	(void)state;
	assert_non_null(r);
	make_run(r, true);
	for (i = 0; i < NR_FILES - 2; i++)
		roll(r, 0, true);
	c = read_run(r);
	holds(c, "small", truth_of(SMALL));
	holds(c, "large", truth_of(LARGE));
	sonde_cells_free(c);
	remove_run(r);
	free(r);
}

static void test_rolled__counters_without_memory_are_an_error(void **state)
{
	const struct sonde_fold_request request = {.cores = 1};
	struct run *r = calloc(1, sizeof(*r));
	struct sonde_err err = {0};
	uint64_t nr, at, before;
	int rc;

	(void)state;
	assert_non_null(r);
	make_run(r, false);
	roll(r, 0, false);
	roll(r, 0, false);
	for (at = 0, nr = 1; at < nr; at += 1 + nr / 40) { /* the first time nothing ends */
		const char *all[2] = {r->paths[0], r->paths[2]};
		struct sonde_cells *part = NULL;
		struct sonde_beside b;

		before = sonde_alloc_count();
		sonde_alloc_fail_at(at);
		rc = sonde_beside_open(&b, all, 2, NULL, &err);
		if (rc == 0)
			rc = sonde_beside_fold(&part, &b, all[0], &request, &err);
		sonde_alloc_fail_at(0);
		nr = at ? nr : sonde_alloc_count() - before;
		sonde_beside_release(&b);
		assert_true(rc == (at ? SONDE_ERR_NOMEM : 0) || (at && rc == 0));
		assert_true(rc == 0 ? part != NULL : part == NULL);
		sonde_cells_free(part);
	}
	remove_run(r);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rolled__counters_are_those_of_one_long_file),
		cmocka_unit_test(test_rolled__counters_of_two_processes_on_one_gpu_stay_apart),
		cmocka_unit_test(test_rolled__work_of_another_process_is_nobody_elses),
		cmocka_unit_test(test_rolled__counters_without_memory_are_an_error),
	};

	return cmocka_run_group_tests_name("rolled_counters", tests, NULL, NULL);
}
