/* PC samples: from a capture's events to cells, partial reports and profiles. */
#include "treed.h"

#include "base/file.h"
#include "cellfile/cellfile.h"
#include "check/validate.h"
#include "export/format.h"
#include "exported.h"
#include "merge/parts_sum.h"
#include "native_open.h"
#include "exported.h"
#include "tree/stall_profile.h"

#include <fcntl.h>
#include <sys/stat.h>

#define LONG  "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
#define SHORT "smsp__pcsamp_warps_issue_stalled_short_scoreboard"
#define ISSUE "smsp__pcsamp_warps_issue_stalled_selected"

static void launch(struct made *m, const char *kernel, uint32_t range, uint64_t start, uint64_t end)
{
	uint32_t at = made_launch(m, kernel, range != SONDE_NONE, &range);

	m->r->records.at[at].time = (struct sonde_record_time){start, end};
	made_metric(m, TIME, (double)(end - start));
}

static void batch(struct made *m, const char *symbol, uint64_t begin, uint64_t end)
{
	struct sonde_records *r = m->r;
	uint32_t name = sonde_records__string(r, sonde_str_from(symbol));

	sonde_put(&r->arena, &r->pc_batches, (struct sonde_pc_batch){.begin_ns = begin, .end_ns = end, .cubin = 0xc0de,
		.process = m->process, .device = m->device, .symbol = name, .name = name, .first = (uint32_t)r->pc_samples.nr});
}

static void sample(struct made *m, uint32_t pc, const char *reason, uint32_t samples)
{
	struct sonde_records *r = m->r;

	sonde_put(&r->arena, &r->pc_samples,
		(struct sonde_pc_sample){pc, sonde_records__string(r, sonde_str_from(reason)), samples, samples / 2, 0});
	r->pc_batches.at[r->pc_batches.nr - 1].nr++;
}

/*
 * In the first interval, `gemm` runs in A for 300 and in B for 100; in the second, it runs in B only. `copy` runs in A only.
 * `helper` is never launched. Half of `sum` is outside of any range.
 */
static void make(struct made *m)
{
	uint32_t a, b;

	made_init(m);
	m->r->has_record_times = m->r->has_range_times = true;
	a = made_push(m, MADE_ROOT, "A");
	b = made_push(m, a, "B");
	m->r->ranges.at[a].time = (struct sonde_range_time){1000, 9000, 0};
	m->r->ranges.at[b].time = (struct sonde_range_time){1500, 3000, 0};
	launch(m, "gemm", a, 1100, 1400);
	launch(m, "gemm", b, 1600, 1700);
	launch(m, "gemm", b, 2100, 2400);
	launch(m, "copy", a, 2500, 2900);
	launch(m, "sum", a, 5100, 5200);
	launch(m, "sum", SONDE_NONE, 5300, 5400);
	batch(m, "gemm", 1000, 2000);
	sample(m, 0x10, LONG, 60);
	sample(m, 0x20, ISSUE, 20);
	batch(m, "helper", 1000, 2000);
	sample(m, 0, LONG, 7);
	batch(m, "gemm", 2000, 3000);
	sample(m, 0x10, LONG, 10);
	sample(m, 0x10, SHORT, 30);
	batch(m, "copy", 2000, 3000);
	sample(m, 0x40, SHORT, 5);
	batch(m, "copy", 3000, 4000); /* decoded late: nothing ran in this interval */
	sample(m, 0x40, LONG, 15);
	batch(m, "sum", 5000, 6000);
	sample(m, 0x50, LONG, 8);
	sonde_put(&m->r->arena, &m->r->pc_sources, (struct sonde_pc_source){m->process, 32768, 3, 0});
}

static void profile(struct run *run, struct sonde_stall_profile *p, enum sonde_part part, const char *id)
{
	const struct sonde_report *r = &run->t->reports.at[0];

	assert_true(sonde_stall_profile_make(p, run->t, r, part, id ? (uint32_t)(node_named(run, r, id) - r->nodes.at) : 0));
}

static const struct sonde_stall_share *share(const struct sonde_stall_profile *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->at.nr; i++)
		if (sonde_str_is(p->at.at[i].name, name))
			return &p->at.at[i];
	fail_msg("no %s", name);
	return NULL;
}

static void test_stalls__are_split_by_time_and_exact_in_one_region(void **state)
{
	struct sonde_stall_profile p = {0};
	struct made m;
	struct run run;

	(void)state;
	make(&m);
	aggregate(&run, m.r, NULL);
	/* B: a quarter of the first interval, and all of the second. */
	profile(&run, &p, SONDE_PART_EXCLUSIVE, "A/B");
	near(p.samples, 80.0 / 4 + 40);
	near(p.exact, 40);
	assert_false(sonde_stall_profile_is_exact(&p));
	near(share(&p, "long_scoreboard")->samples, 60.0 / 4 + 10);
	near(share(&p, "short_scoreboard")->samples, 30);
	near(share(&p, "selected")->not_issued, 10.0 / 4);
	near(share(&p, "short_scoreboard")->share, 30 / 60.0);
	near(p.sampled_ns, 400);
	/* A by itself: gemm 300 ns, copy 400, sum 100 with half of its samples. */
	profile(&run, &p, SONDE_PART_EXCLUSIVE, "A");
	near(p.samples, 60 + 20 + 4);
	near(p.exact, 20);
	near(share(&p, "long_scoreboard")->share, (300 * 45 / 60.0 + 400 * 15 / 20.0 + 100) / 800);
	assert_string_equal(p.at.at[0].name.p, "long_scoreboard");
	/* Inclusive = exclusive + children. */
	profile(&run, &p, SONDE_PART_INCLUSIVE, "A");
	near(p.samples, 84 + 60);
	near(p.exact, 60);
	profile(&run, &p, SONDE_PART_OUTSIDE, NULL);
	near(p.samples, 4);
	assert_int_equal(run.c->stall_sources.nr, 1);
	assert_int_equal(run.c->stall_sources.at[0].samples, 80 + 7 + 40 + 20 + 8);
	assert_int_equal(run.c->stall_sources.at[0].unplaced, 7);
	assert_int_equal(run.c->stall_sources.at[0].dropped, 3);
	sonde_stall_profile_release(&p);
	release(&run);
	made_release(&m);
}

/*
 * A launch that runs during all others: to examine all running launches in each interval would take too long. So samples are
 * divided among all regions of the function, and are not exact.
 */
static void test_stalls__of_launches_that_overlap_much_are_split_over_all(void **state)
{
	const uint32_t nr = 400;
	double samples = 0, exact = 0;
	struct sonde_cells *part = NULL;
	const struct sonde_fold_request request = {0};
	struct made m;
	uint32_t range[2], i;

	(void)state;
	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	range[0] = made_push(&m, MADE_ROOT, "A");
	range[1] = made_push(&m, MADE_ROOT, "B");
	for (i = 0; i < 2; i++)
		m.r->ranges.at[range[i]].time = (struct sonde_range_time){1000, 900000, 0};
	launch(&m, "gemm", range[0], 1000, 900000);
	for (i = 1; i < nr; i++)
		launch(&m, "gemm", range[1], 1000 + 10 * i, 1001 + 10 * i);
	for (i = 0; i < nr; i++) {
		batch(&m, "gemm", 100000 + 100 * i, 100100 + 100 * i); /* only the long launch runs then */
		sample(&m, 0x10, LONG, 10);
	}
	sonde_put(&m.r->arena, &m.r->pc_sources, (struct sonde_pc_source){m.process, 32768, 0, 0});
	assert_int_equal(sonde_cells_fold_records(&part, m.r, &request, NULL), 0);
	for (i = 0; i < part->cells.nr; i++)
		exact += part->cells.at[i].exact_stalls;
	for (i = 0; i < part->stalls.nr; i++)
		samples += part->stalls.at[i].samples;
	near(samples, 10.0 * nr);
	assert_true(exact >= 10 && exact <= 10 * 32 + 10); /* from the batches that could be examined, with 16 launches each */
	sonde_cells_free(part);
	made_release(&m);
}

/* Samples that come late go to the launch before. That is exact if the function ran nowhere else, otherwise a guess. */
static void test_stalls__that_come_late_are_exact_in_one_region_only(void **state)
{
	struct sonde_stall_profile p = {0};
	struct made m;
	struct run run;

	(void)state;
	make(&m);
	batch(&m, "gemm", 3000, 4000); /* gemm ran last in B, and also in A */
	sample(&m, 0x10, LONG, 50);
	aggregate(&run, m.r, NULL);
	profile(&run, &p, SONDE_PART_EXCLUSIVE, "A/B");
	near(p.samples, 80.0 / 4 + 40 + 50);
	near(p.exact, 40);
	profile(&run, &p, SONDE_PART_EXCLUSIVE, "A"); /* copy ran only there */
	near(p.exact, 20);
	sonde_stall_profile_release(&p);
	release(&run);
	made_release(&m);
}

/* Kernels that were not selected take their share of the samples with them. */
static void test_stalls__of_kernels_that_are_not_selected_are_left_out(void **state)
{
	struct sonde_fold_request request = {.selection.nvtx_include = {(const char *[]){"B"}, 1}};
	struct sonde_cells *part = NULL;
	double samples = 0;
	struct made m;
	size_t i;

	(void)state;
	make(&m);
	assert_int_equal(sonde_cells_fold_records(&part, m.r, &request, NULL), 0);
	for (i = 0; i < part->stalls.nr; i++)
		samples += part->stalls.at[i].samples;
	near(samples, 60);
	sonde_cells_free(part);
	made_release(&m);
}

static struct sonde_buf written(struct sonde_parts *parts)
{
	struct sonde_sink to;

	sonde_sink_init_string(&to);
	assert_int_equal(sonde_cellfile_write(parts, &to, NULL), 0);
	sonde_parts_release(parts);
	return to.buf;
}

static struct sonde_buf part_of(const struct made *m)
{
	const struct sonde_fold_request request = {0};
	struct sonde_parts parts = {0};
	struct sonde_cells *part = NULL;

	assert_int_equal(sonde_cells_fold_records(&part, m->r, &request, NULL), 0);
	/* Lines come from cubins; here they are made by hand, the second inlined in the first. */
	assert_true(sonde_vec_put(&part->lines, (struct sonde_line){part->stall_reasons.at[0], 7, SONDE_NONE}));
	assert_true(sonde_vec_put(&part->lines, (struct sonde_line){part->stall_reasons.at[0], 9, 0}));
	part->stalls.at[0].line = 1;
	assert_true(sonde_vec_put(&parts.at, part));
	return written(&parts);
}

static void test_stalls__partial_reports_have_them_all(void **state)
{
	struct sonde_parts parts = {0};
	struct sonde_buf first, again;
	struct made m;
	size_t i;

	(void)state;
	make(&m);
	first = part_of(&m);
	assert_int_equal(sonde_cellfile_read(&parts, sonde_buf_view(&first), "x", NULL), 0);
	assert_int_equal(parts.at.at[0]->stalls.nr, 9);
	assert_int_equal(parts.at.at[0]->lines.at[1].caller, 0);
	again = written(&parts);
	assert_int_equal(first.n, again.n);
	assert_memory_equal(first.p, again.p, first.n);
	for (i = 0; i < first.n; i++) { /* each byte matters */
		first.p[i] ^= 0x41;
		assert_int_equal(sonde_cellfile_read(&parts, sonde_buf_view(&first), "x", NULL), SONDE_ERR_FORMAT);
		first.p[i] ^= 0x41;
	}
	sonde_parts_release(&parts);
	sonde_buf_release(&first);
	sonde_buf_release(&again);
	made_release(&m);
}

/* Two inputs: symbols, reasons and lines that both have are merged, and each cell keeps its stalls. */
static void test_stalls__parts_are_put_side_by_side(void **state)
{
	struct sonde_cells *parts[2] = {NULL, NULL}, *c = NULL;
	const struct sonde_fold_request request = {0};
	double samples = 0;
	struct made m[2];
	size_t i, k;

	(void)state;
	for (i = 0; i < 2; i++) {
		make(&m[i]);
		m[i].r->inputs.at[0].path = i ? SONDE_STR("b.sonde") : SONDE_STR("a.sonde");
		m[i].r->processes.at[0].pid = 100 + i;
		assert_int_equal(sonde_cells_fold_records(&parts[i], m[i].r, &request, NULL), 0);
	}
	assert_int_equal(sonde_cells_unite(&c, parts, 2, NULL), 0);
	assert_int_equal(c->symbols.nr, 4);
	assert_int_equal(c->stall_reasons.nr, 3);
	assert_int_equal(c->stall_sources.nr, 2);
	assert_int_equal(c->stall_sources.at[1].process, 1);
	for (i = 0; i < c->cells.nr; i++)
		for (k = 0; k < c->cells.at[i].nr_stalls; k++) {
			const struct sonde_stall *s = &c->stalls.at[c->cells.at[i].first_stall + k];

			assert_true(sonde_str_eq(sonde_cells_str(c, c->cells.at[i].kernel),
				sonde_cells_str(c, c->symbols.at[s->symbol].name)));
			samples += s->samples;
		}
	near(samples, 2 * (80 + 40 + 20 + 8));
	sonde_cells_free(c);
	made_release(&m[0]);
	made_release(&m[1]);
}

/* If there are more scopes than are kept, the others are added up, with their stalls. */
static void test_stalls__of_scopes_that_are_added_up(void **state)
{
	struct sonde_sum sum = {0};
	struct sonde_cells *parts[2] = {NULL, NULL}, *c;
	const struct sonde_fold_request request = {0};
	struct sonde_numbers n = {0};
	struct made m[2];
	double samples = 0;
	size_t i, k;

	(void)state;
	for (i = 0; i < 2; i++) {
		make(&m[i]);
		assert_int_equal(sonde_cells_fold_records(&parts[i], m[i].r, &request, NULL), 0);
	}
	assert_true(sonde_sum__init(&sum, parts[0], &parts[0]->inputs.at[0], &parts[0]->processes.at[0]));
	for (i = 0; i < 4; i++) { /* both, then one of them again, which is then subtracted */
		struct sonde_sum_part p = {.sum = &sum, .c = parts[i % 2], .sign = i == 3 ? -1 : 1};

		p.c = i >= 2 ? parts[0] : p.c;
		assert_true(sonde_sum__enter(&p) && sonde_sum__move(&p));
		sonde_arena_release(&p.arena);
	}
	c = sonde_sum__finish(&sum, NULL, &n);
	assert_non_null(c);
	assert_int_equal(c->stalls.nr, parts[0]->stalls.nr);
	assert_int_equal(c->stall_sources.at[0].samples, 2 * (80 + 7 + 40 + 20 + 8));
	assert_int_equal(c->stall_sources.at[0].period, 32768);
	for (i = 0; i < c->cells.nr; i++)
		for (k = 0; k < c->cells.at[i].nr_stalls; k++) {
			const struct sonde_stall *s = &c->stalls.at[c->cells.at[i].first_stall + k];

			assert_true(sonde_str_eq(sonde_cells_str(c, c->cells.at[i].kernel),
				sonde_cells_str(c, c->symbols.at[s->symbol].name)));
			samples += s->samples;
		}
	near(samples, 2 * (80 + 40 + 20 + 8));
	near(c->cells.at[0].exact_stalls, 2 * parts[0]->cells.at[0].exact_stalls);
	sonde_cells_free(c);
	sonde_sum__release(&sum);
	for (i = 0; i < 2; i++) {
		sonde_cells_free(parts[i]);
		made_release(&m[i]);
	}
}

/* Instructions beyond the limit of a sum are not kept apart: all samples are still there, and subtraction works. */
static void test_stalls__of_many_instructions_are_added_up_without_them(void **state)
{
	const struct sonde_fold_request request = {0};
	struct sonde_cells *parts[2] = {NULL, NULL}, *c;
	struct sonde_numbers n = {0};
	struct sonde_sum sum = {0};
	double samples = 0;
	struct made m;
	size_t i;

	(void)state;
	make(&m);
	for (i = 0; i < 2; i++)
		assert_int_equal(sonde_cells_fold_records(&parts[i], m.r, &request, NULL), 0);
	assert_true(sonde_sum__init(&sum, parts[0], &parts[0]->inputs.at[0], &parts[0]->processes.at[0]));
	sum.max_stalls = 5; /* of nine */
	for (i = 0; i < 3; i++) {
		struct sonde_sum_part p = {.sum = &sum, .c = parts[i % 2], .sign = i == 2 ? -1 : 1};

		assert_true(sonde_sum__enter(&p) && sonde_sum__move(&p));
		sonde_arena_release(&p.arena);
	}
	c = sonde_sum__finish(&sum, NULL, &n);
	assert_non_null(c);
	for (i = 0; i < c->stalls.nr; i++) {
		assert_int_equal(c->stalls.at[i].pc, SONDE_PC_REST);
		samples += c->stalls.at[i].samples;
	}
	near(samples, 80 + 40 + 20 + 8);
	assert_int_equal(c->notes.texts.nr, 1);
	assert_non_null(strstr(c->notes.texts.keys[0].p, "without instructions"));
	sonde_cells_free(c);
	sonde_sum__release(&sum);
	sonde_cells_free(parts[0]);
	sonde_cells_free(parts[1]);
	made_release(&m);
}

/* The stalls of a report add up, and the validator detects when they do not. */
static void test_stalls__in_json_add_up(void **state)
{
	static const char is[] = "\"samples\": 84,", other[] = "\"samples\": 85,";
	struct sonde_err err = {0};
	struct sonde_buf json;
	struct made m;
	char *at;

	(void)state;
	make(&m);
	json = exported(&m, sonde_export_json, NULL);
	if (sonde_validate_text(sonde_buf_view(&json), "x.json", &err))
		fail_msg("%s", err.msg);
	assert_non_null(strstr(json.p, "\"method\": \"by time\""));
	at = strstr(json.p, is); /* the exclusive part of region A */
	assert_non_null(at);
	memcpy(at, other, sizeof(other) - 1);
	assert_int_not_equal(sonde_validate_text(sonde_buf_view(&json), "x.json", &err), 0);
	assert_non_null(strstr(err.msg, "exclusive.stalls.reasons: do not add up to samples"));
	sonde_buf_release(&json);
	made_release(&m);
}

/* --- from events -------------------------------------------------------------------------------------- */

static void test_stalls__are_read_from_a_capture(void **state)
{
	struct sonde_status status = {.nr_pc_dropped = 12};
	const char meta[] = "pc_period=32768\n";
	struct sonde_records *r;
	struct capture c;

	(void)state;
	kernels(&c);
	capture_string(&c, 5, SONDE_STRING_NAME, 0, LONG);
	capture_block(&c, SONDE_BLOCK_META, meta, sizeof(meta) - 1);
	capture_block(&c, SONDE_BLOCK_STATUS, &status, sizeof(status));
	event_base(&c, 1000, 0, 0);
	/* ticks since the base; device, cubin, ticks before the drain, period, whether there is code; label */
	event(&c, SONDE_EVENT_PC_FUNCTION, 7, 500, 0, 0xabc, 300, 15, 1, 4);
	event(&c, SONDE_EVENT_PC, 4, 0x70, 5, 11, 3);
	event(&c, SONDE_EVENT_PC, 4, 0x80, 5, 2, 0);
	event(&c, SONDE_EVENT_PC_FUNCTION, 7, 400, 0, 0xabc, 400, 15, 0, 4);
	event(&c, SONDE_EVENT_PC, 4, 0x70, 5, 1, 1);
	capture_chunk(&c, 3, 0, 80);
	r = open_capture(&c);
	assert_int_equal(r->pc_batches.nr, 2);
	assert_int_equal(r->pc_batches.at[0].begin_ns, EPOCH + 1200);
	assert_int_equal(r->pc_batches.at[0].end_ns, EPOCH + 1500);
	assert_int_equal(r->pc_batches.at[0].cubin, 0xabc);
	assert_int_equal(r->pc_batches.at[0].nr, 2);
	assert_true(r->pc_batches.at[0].has_code && !r->pc_batches.at[1].has_code);
	assert_int_equal(r->pc_batches.at[1].first, 2);
	assert_true(is(r, r->pc_batches.at[0].symbol, "_Z9gemm_tileILi2EEvPKfS1_Pfi"));
	assert_int_equal(r->pc_batches.at[0].name, sonde_record_function(r, &r->records.at[0])->full_name);
	assert_int_equal(r->pc_samples.at[0].pc, 0x70);
	assert_int_equal(r->pc_samples.at[0].samples, 11);
	assert_int_equal(r->pc_samples.at[0].not_issued, 3);
	assert_int_equal(r->pc_sources.at[0].period, 32768);
	assert_int_equal(r->pc_sources.at[0].dropped, 12);
	sonde_records_free(r);
}

/* Samples before the first function of their chunk are damage; only the chunk is lost. */
static void test_stalls__without_a_function_are_damage(void **state)
{
	struct sonde_records *r;
	struct capture c;

	(void)state;
	kernels(&c);
	capture_string(&c, 5, SONDE_STRING_NAME, 0, LONG);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PC_FUNCTION, 7, 500, 0, 0xabc, 300, 15, 1, 4);
	capture_chunk(&c, 3, 0, 80);
	event_base(&c, 2000, 0, 0);
	event(&c, SONDE_EVENT_PC, 4, 0x70, 5, 11, 3);
	capture_chunk(&c, 3, 1, 80);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PC_FUNCTION, 7, 500, 0, 0xabc, 1600, 15, 1, 4); /* the interval began before time itself */
	capture_chunk(&c, 4, 0, 81);
	r = open_capture(&c);
	assert_int_equal(r->pc_batches.nr, 1);
	assert_int_equal(r->pc_samples.nr, 0);
	assert_int_equal(r->records.nr, 3);
	assert_non_null(strstr(r->notes.texts.keys[0].p, "damaged"));
	sonde_records_free(r);
}

/* A folder with a capture of samples in the kernel `first` of tests/data/cubin/, and with the cubin. */
struct lined {
	char dir[64], capture[96], cubins[96], cubin[160];
};

static void write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void make_lined(struct lined *l)
{
	struct sonde_buf cubin = {0};
	struct capture c;

	*l = (struct lined){.dir = "/tmp/sonde-lines-XXXXXX"};
	assert_non_null(mkdtemp(l->dir));
	snprintf(l->capture, sizeof(l->capture), "%s/1.0.sonde", l->dir);
	snprintf(l->cubins, sizeof(l->cubins), "%s/cubins", l->dir);
	snprintf(l->cubin, sizeof(l->cubin), "%s/0000000000000abc.cubin", l->cubins);
	assert_int_equal(mkdir(l->cubins, 0700), 0);
	assert_true(sonde_file_slurp(&cubin, "tests/data/cubin/nested.cubin"));
	write_file(l->cubin, cubin.p, cubin.n);
	sonde_buf_release(&cubin);
	kernels(&c);
	capture_string(&c, 5, SONDE_STRING_NAME, 0, LONG);
	capture_string(&c, 6, SONDE_STRING_KERNEL, 0, "first");
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PC_FUNCTION, 7, 500, 0, 0xabc, 300, 15, 1, 6);
	event(&c, SONDE_EVENT_PC, 4, 0x90, 5, 11, 3);  /* line 2, inlined at 6, at 10, at 15 */
	event(&c, SONDE_EVENT_PC, 4, 0x10, 5, 2, 0);   /* line 14 */
	event(&c, SONDE_EVENT_PC, 4, 0x80, 5, 1, 0);   /* as the first */
	event(&c, SONDE_EVENT_PC, 4, 0x9000, 5, 1, 0); /* behind the function */
	event(&c, SONDE_EVENT_PC_FUNCTION, 7, 400, 0, 0xdef, 400, 15, 1, 6);
	event(&c, SONDE_EVENT_PC, 4, 0x10, 5, 1, 1); /* its cubin was not kept */
	capture_chunk(&c, 3, 0, 80);
	capture_block(&c, SONDE_BLOCK_END, NULL, 0);
	write_file(l->capture, c.file.p, c.file.n);
	capture_release(&c);
}

static void remove_lined(const struct lined *l)
{
	unlink(l->cubin);
	unlink(l->capture);
	rmdir(l->cubins);
	assert_int_equal(rmdir(l->dir), 0);
}

static struct sonde_records *open_lined(const struct lined *l, struct sonde_err *err)
{
	const char *path = l->capture;
	struct sonde_records *r = NULL;

	if (sonde_records_open(&r, &path, 1, NULL, err))
		assert_null(r);
	return r;
}

static void test_stalls__have_the_lines_of_the_cubin_beside_the_capture(void **state)
{
	static const uint32_t chain[] = {2, 6, 10, 15};
	struct sonde_err err = {0};
	struct sonde_records *r;
	struct lined l;
	uint32_t at;
	size_t i;

	(void)state;
	make_lined(&l);
	r = open_lined(&l, &err);
	assert_non_null(r);
	assert_int_equal(r->pc_samples.nr, 5);
	at = r->pc_samples.at[0].line;
	assert_int_equal(at, r->pc_samples.at[2].line);
	for (i = 0; i < 4; i++, at = r->pc_lines.at[at - 1].caller + 1) {
		assert_int_equal(r->pc_lines.at[at - 1].line, chain[i]);
		assert_true(is(r, r->pc_lines.at[at - 1].file, "/opt/demo/nested.cu"));
	}
	assert_int_equal(at, 0); /* the kernel's own line is not inlined */
	assert_int_equal(r->pc_lines.at[r->pc_samples.at[1].line - 1].line, 14);
	assert_int_equal(r->pc_samples.at[3].line, 0);
	assert_int_equal(r->pc_samples.at[4].line, 0);
	assert_true(noted(r, "1 of 2 cubins"));
	sonde_records_free(r);
	remove_lined(&l);
}

static void test_stalls__short_memory_for_lines_is_an_error(void **state)
{
	struct sonde_err err = {0};
	struct sonde_records *r = NULL;
	struct lined l;
	uint64_t nth;

	(void)state;
	make_lined(&l);
	for (nth = 1; !r && nth < 10000; nth++) {
		sonde_alloc_fail_at(nth);
		r = open_lined(&l, &err);
		sonde_alloc_fail_at(0);
		assert_true(r || err.code == SONDE_ERR_NOMEM);
	}
	assert_non_null(r);
	assert_true(r->pc_samples.at[0].line && r->pc_samples.at[1].line);
	sonde_records_free(r);
	remove_lined(&l);
}

/* --- tables -------------------------------------------------------------------------------------------- */

#define SOURCE "/tmp/sonde-stalls-source.cu"

/* `gemm` waits at line 2, which is inlined at 4, and at 3; the samples at 0x20 have no line. */
static void plant_lines(struct made *m, const char *path)
{
	struct sonde_records *r = m->r;
	uint32_t file = sonde_records__string(r, sonde_str_from(path));
	size_t i;

	sonde_put(&r->arena, &r->pc_lines, (struct sonde_pc_line){file, 4, SONDE_NONE});
	sonde_put(&r->arena, &r->pc_lines, (struct sonde_pc_line){file, 2, 0});
	sonde_put(&r->arena, &r->pc_lines, (struct sonde_pc_line){file, 3, SONDE_NONE});
	for (i = 0; i < r->pc_samples.nr; i++)
		r->pc_samples.at[i].line = r->pc_samples.at[i].pc == 0x10 ? 2 : r->pc_samples.at[i].pc == 0x40 ? 3 : 0;
}

static void shows(const struct made *m, exporter f, struct sonde_export_options o, const char *want)
{
	struct sonde_buf b = exported(m, f, &o);

	sonde_buf_putc(&b, '\0');
	if (!strstr(b.p, want))
		print_error("wanted:\n%s\nin:\n", want), puts(b.p), fail();
	sonde_buf_release(&b);
}

static void test_stalls__are_a_table_of_regions(void **state)
{
	struct sonde_export_options o = {.view = SONDE_VIEW_STALLS, .width = 120, .no_findings = true};
	struct made m;

	(void)state;
	make(&m);
	/* B: 25 of 60 samples wait for memory, 30 for shared memory, 5 are issued. */
	shows(&m, sonde_export_text, o,
		"\nregion  incl us  samples  split    issued  share  waits\n"
		"A         1.200      144  by time    9.7%  67.4%  waits for memory (long scoreboard)\n"
		"                                           22.9%  waits for shared memory or special functions (short scoreboard)\n"
		"A/B       0.400       60  by time    8.3%  50.0%  waits for shared memory or special functions (short scoreboard)\n"
		"                                           41.7%  waits for memory (long scoreboard)\n");
	shows(&m, sonde_export_md, o, "| by time | 8.3% | 50.0% | waits for shared memory");
	o.is_flat = true;
	shows(&m, sonde_export_text, o,
		"copy       0.400       20  exact      0.0%   75.0%  waits for memory (long scoreboard)\n"
		"                                             25.0%  waits for shared memory");
	made_release(&m);
	small_run(&m, "B");
	shows(&m, sonde_export_text, o, "\nStalls are not in this capture: `sonde run --lines -- COMMAND` takes PC samples");
	made_release(&m);
}

static void test_stalls__hot_lines_have_their_callers_and_old_source(void **state)
{
	static const char text[] = "int a;\n\tx = load(p);\n\ty = 2;\n\tcall(p);\n";
	struct sonde_export_options o = {.max_lines = 5, .width = 120, .no_findings = true};
	struct timespec old[2] = {{1000, 0}, {1000, 0}};
	struct made m;

	(void)state;
	write_file(SOURCE, text, sizeof(text) - 1);
	assert_int_equal(utimensat(AT_FDCWD, SOURCE, old, 0), 0);
	make(&m);
	plant_lines(&m, SOURCE);
	m.r->processes.at[0].first_ns = 2000ull * 1000000000;
	/* 70 + 30 of 120 samples. */
	shows(&m, sonde_export_text, o,
		"\nkernel, line                                   share  mostly                              source\n"
		"gemm\n"
		"  " SOURCE ":2                83.3%  waits for memory (long scoreboard)  x = load(p);\n"
		"    inlined at " SOURCE ":4                                              call(p);\n"
		"copy\n"
		"  " SOURCE ":3               100.0%  waits for memory (long scoreboard)  y = 2;\n");
	shows(&m, sonde_export_md, o, "| call(p); |");
	old[1].tv_sec = 2001; /* the file was changed after the capture: the line may differ */
	assert_int_equal(utimensat(AT_FDCWD, SOURCE, old, 0), 0);
	shows(&m, sonde_export_text, o, SOURCE ":2                83.3%  waits for memory (long scoreboard)  (the file has changed)\n");
	unlink(SOURCE);
	shows(&m, sonde_export_text, o, SOURCE ":2                83.3%  waits for memory (long scoreboard)\n");
	made_release(&m);
}

/* A kernel that is limited by latency waits at some line: the finding names it. */
static void test_stalls__findings_name_the_line(void **state)
{
	struct sonde_export_options o = {.max_findings = SONDE_NO_LIMIT, .width = 1000};
	uint32_t a;
	struct made m;

	(void)state;
	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	a = made_push(&m, MADE_ROOT, "A");
	m.r->ranges.at[a].time = (struct sonde_range_time){1000, 9000000, 0};
	launch(&m, "gemm", a, 2000, 8000000);
	made_metric(&m, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 20);
	made_metric(&m, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 10);
	batch(&m, "gemm", 1000, 9000000);
	sample(&m, 0x10, LONG, 60);
	sample(&m, 0x20, ISSUE, 40);
	sonde_put(&m.r->arena, &m.r->pc_sources, (struct sonde_pc_source){m.process, 32768, 0, 0});
	shows(&m, sonde_export_text, o, "of its peak). 60% of its PC samples: waits for memory (long scoreboard).");
	plant_lines(&m, SOURCE);
	shows(&m, sonde_export_text, o,
		"of its peak). 60% of its PC samples are at sonde-stalls-source.cu:2, inlined in sonde-stalls-source.cu:4, mostly: waits for memory (long scoreboard).");
	shows(&m, sonde_export_json, o, "\"figure\": \"stalls.samples\", \"value\": 100,");
	made_release(&m);
}

/* A by itself: gemm takes 300 ns there, 45 of 60 samples at line 2; `sum` has samples without a line. */
static void test_stalls__lines_are_leaves_of_stacks(void **state)
{
	struct sonde_export_options o = {0};
	struct made m;

	(void)state;
	make(&m);
	plant_lines(&m, SOURCE);
	shows(&m, sonde_export_folded, o,
		"A;copy;" SOURCE ":3 400\n"
		"A;gemm;" SOURCE ":2 225\n"
		"A;sum 100\n"
		"A;gemm 75\n"
		"A;B;gemm;" SOURCE ":2 367\n"
		"A;B;gemm 33\n");
	shows(&m, sonde_export_speedscope, o, "{\"name\": \"" SOURCE ":3\"}");
	o.by = "launches";
	shows(&m, sonde_export_folded, o, "A;gemm 1\n");
	made_release(&m);
}

static void test_stalls__lines_in_json_add_up(void **state)
{
	static const char is[] = "\"unlisted_samples\": 20", other[] = "\"unlisted_samples\": 21"; /* of gemm in A */
	struct sonde_err err = {0};
	struct sonde_buf json;
	struct made m;
	char *at;

	(void)state;
	make(&m);
	plant_lines(&m, SOURCE);
	json = exported(&m, sonde_export_json, NULL);
	if (sonde_validate_text(sonde_buf_view(&json), "x.json", &err))
		fail_msg("%s", err.msg);
	sonde_buf_putc(&json, '\0');
	/* `sum` has no line: half of its 8 samples are in A. */
	assert_non_null(strstr(json.p, "\"instructions\": [\n"));
	assert_non_null(strstr(json.p, "{\"function\": \"sum\", \"offset\": 80, \"samples\": 4, \"share_pct\": 100, \"reason\": \"long_scoreboard\"}"));
	assert_non_null(strstr(json.p, "\"reason\": \"long_scoreboard\", \"callers\": [{\"file\": \"" SOURCE "\", \"line\": 4}]"));
	at = strstr(json.p, is);
	assert_non_null(at);
	memcpy(at, other, sizeof(other) - 1);
	json.n--;
	assert_int_not_equal(sonde_validate_text(sonde_buf_view(&json), "x.json", &err), 0);
	assert_non_null(strstr(err.msg, "lines and unlisted_samples do not add up to samples"));
	sonde_buf_release(&json);
	made_release(&m);
}

static void test_stalls__are_in_the_page_by_kernel(void **state)
{
	struct sonde_export_options o = {.is_utf8 = true};
	struct made m;
	struct sonde_buf b;

	(void)state;
	make(&m);
	b = exported(&m, sonde_export_html, &o);
	sonde_buf_putc(&b, '\0');
	/* `copy` alone: 15 of 20 samples wait for memory. */
	assert_non_null(strstr(b.p, "\"stalls\": ["));
	assert_non_null(strstr(b.p, "(long scoreboard)\", 75"));
	/* `copy` has no line, gemm one that is inlined. Each place is written once, with its text if the source file exists. */
	plant_lines(&m, SOURCE);
	sonde_buf_release(&b);
	b = exported(&m, sonde_export_html, &o);
	sonde_buf_putc(&b, '\0');
	assert_non_null(strstr(b.p, "\"places\": [\"" SOURCE ":"));
	assert_non_null(strstr(b.p, "\"texts\": [null,"));
	assert_non_null(strstr(b.p, "\"code\": [[["));
	sonde_buf_release(&b);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls__are_split_by_time_and_exact_in_one_region),
		cmocka_unit_test(test_stalls__that_come_late_are_exact_in_one_region_only),
		cmocka_unit_test(test_stalls__of_launches_that_overlap_much_are_split_over_all),
		cmocka_unit_test(test_stalls__of_many_instructions_are_added_up_without_them),
		cmocka_unit_test(test_stalls__of_kernels_that_are_not_selected_are_left_out),
		cmocka_unit_test(test_stalls__partial_reports_have_them_all),
		cmocka_unit_test(test_stalls__parts_are_put_side_by_side),
		cmocka_unit_test(test_stalls__of_scopes_that_are_added_up),
		cmocka_unit_test(test_stalls__in_json_add_up),
		cmocka_unit_test(test_stalls__are_read_from_a_capture),
		cmocka_unit_test(test_stalls__without_a_function_are_damage),
		cmocka_unit_test(test_stalls__have_the_lines_of_the_cubin_beside_the_capture),
		cmocka_unit_test(test_stalls__short_memory_for_lines_is_an_error),
		cmocka_unit_test(test_stalls__are_a_table_of_regions),
		cmocka_unit_test(test_stalls__hot_lines_have_their_callers_and_old_source),
		cmocka_unit_test(test_stalls__findings_name_the_line),
		cmocka_unit_test(test_stalls__lines_are_leaves_of_stacks),
		cmocka_unit_test(test_stalls__lines_in_json_add_up),
		cmocka_unit_test(test_stalls__are_in_the_page_by_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
