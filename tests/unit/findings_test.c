/* Programs with one planted problem each: the first finding is that problem, at the right region. */
#include "treed.h"

#include "read/records.h"
#include "tree/findings.h"
#include "tree/idle.h"

#include <math.h>
#include <stdio.h>

#define US	 1000u
#define NR_STEPS 12
#define DATA	 "tests/data/first/"

/*
 * A simulated program: the host launches and waits, and each stream works in order, independently of the others. The clocks
 * are those of the synthetic capture.
 */
struct program {
	struct made m;
	struct run run;
	uint64_t now_us;	/* of the host */
	uint64_t free_us[3];	/* when each stream has nothing to do */
	uint32_t open[8];	/* ranges, outermost first */
	size_t nr_open;
	int step; /* number of the step that runs */
};

static void begin(struct program *p)
{
	*p = (struct program){.now_us = 100};
	made_init(&p->m);
	p->m.r->has_record_times = p->m.r->has_range_times = true;
	p->m.r->processes.at[p->m.process].has_calls = true;
}

static void push(struct program *p, const char *label)
{
	uint32_t parent = p->nr_open ? p->open[p->nr_open - 1] : MADE_ROOT, range = made_push(&p->m, parent, label);

	p->m.r->ranges.at[range].time.begin_ns = p->now_us * US;
	p->open[p->nr_open++] = range;
	p->now_us++;
}

static void pop(struct program *p)
{
	p->m.r->ranges.at[p->open[--p->nr_open]].time.end_ns = p->now_us * US;
	p->now_us++;
}

static void host(struct program *p, uint64_t us)
{
	p->now_us += us;
}

/* Adds work to a stream: the launch takes 4 µs of the host; the work starts 3 µs later, or when the stream is free. */
static struct sonde_record *work(struct program *p, unsigned stream, const char *name, double us)
{
	uint64_t start = p->now_us + 3 > p->free_us[stream] ? p->now_us + 3 : p->free_us[stream];
	struct sonde_record *rec;

	made_launch(&p->m, name, p->nr_open ? 1 : 0, &p->open[p->nr_open ? p->nr_open - 1 : 0]);
	made_set_stream(&p->m, p->m.r->records.nr - 1, stream);
	made_metric(&p->m, TIME, us * US);
	rec = &p->m.r->records.at[p->m.r->records.nr - 1];
	rec->call_ns = p->now_us * US;
	rec->time = (struct sonde_record_time){start * US, start * US + (uint64_t)(us * US)};
	p->free_us[stream] = start + (uint64_t)(us + 0.999);
	p->now_us += 4;
	return rec;
}

static void kernel(struct program *p, const char *name, double us)
{
	work(p, 0, name, us);
}

static void call(struct program *p, uint8_t kind, uint64_t us)
{
	struct sonde_call *c = sonde_push(&p->m.r->arena, &p->m.r->calls);

	assert_non_null(c);
	*c = (struct sonde_call){.begin_ns = p->now_us * US,
		.end_ns = (p->now_us + us) * US,
		.thread = p->m.thread,
		.stream = SONDE_NONE,
		.process = p->m.process,
		.kind = kind};
	p->now_us += us;
}

/* Waits for a stream, and then for `more_us` microseconds. */
static void wait(struct program *p, unsigned stream, uint64_t more_us)
{
	uint64_t until = p->free_us[stream] > p->now_us ? p->free_us[stream] - p->now_us : 0;

	call(p, SONDE_CALL_SYNC_STREAM, until + more_us);
}

/* A copy that runs so long; its call takes `call_us` before that. */
static void copy(struct program *p, unsigned stream, const char *name, double us, double bytes, uint64_t call_us)
{
	uint64_t called = p->now_us;

	call(p, SONDE_CALL_COPY, call_us);
	work(p, stream, name, us)->kind = SONDE_RESULT_MEMCPY;
	made_metric(&p->m, "memory__bytes.sum", bytes);
	p->m.r->records.at[p->m.r->records.nr - 1].call_ns = called * US;
}

/* --- programs ------------------------------------------------------------------------------------- */

static void launch_bound(struct program *p)
{
	int i;

	for (i = 0; i < 25; i++) {
		kernel(p, "short", 8);
		host(p, 30);
	}
	wait(p, 0, 0);
}

static void launch_bound_optimizer(struct program *p)
{
	int i;

	push(p, "forward");
	kernel(p, "gemm", 200);
	pop(p);
	push(p, "optimizer");
	wait(p, 0, 0);
	for (i = 0; i < 20; i++) {
		kernel(p, "adam", 7);
		host(p, 40);
	}
	pop(p);
	wait(p, 0, 0);
}

static void syncs(struct program *p)
{
	int i;

	for (i = 0; i < 5; i++) {
		kernel(p, "layer", 40);
		wait(p, 0, 150);
	}
	kernel(p, "last", 40);
	wait(p, 0, 0);
}

static void syncs_in_log(struct program *p)
{
	kernel(p, "gemm", 300);
	push(p, "log");
	kernel(p, "loss", 20);
	wait(p, 0, 500);
	kernel(p, "reset", 20);
	pop(p);
	kernel(p, "gemm", 300);
	wait(p, 0, 0);
}

static void copies_block(struct program *p)
{
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
	copy(p, 0, "[CUDA memcpy Device-to-Host]", 20, 4e6, 900);
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
}

static void copies_are_of_a_word(struct program *p)
{
	int i;

	push(p, "h2d");
	for (i = 0; i < 10; i++)
		copy(p, 0, "[CUDA memcpy Host-to-Device, pageable]", 150, 4, 5);
	pop(p);
	kernel(p, "gemm", 100);
	wait(p, 0, 0);
}

static void copies_are_pageable(struct program *p)
{
	push(p, "h2d");
	copy(p, 0, "[CUDA memcpy Host-to-Device, pageable]", 1500, 12e6, 5);
	pop(p);
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
}

/* They are launched like kernels, and no memory of the host is in them. */
static void copies_are_on_the_device(struct program *p)
{
	int i;

	for (i = 0; i < 10; i++)
		copy(p, 0, "[CUDA memcpy Device-to-Device]", 5, 1e6, 40);
	kernel(p, "gemm", 100);
	wait(p, 0, 0);
}

static void copies_are_small(struct program *p)
{
	int i;

	for (i = 0; i < 60; i++)
		copy(p, 0, "[CUDA memcpy Host-to-Device]", 5, 4096, 1);
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
}

static void copies_are_exposed(struct program *p)
{
	copy(p, 0, "[CUDA memcpy Host-to-Device]", 1500, 80e6, 2);
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
}

static void metrics(struct program *p, double sm, double memory)
{
	made_metric(&p->m, "sm__throughput.avg.pct_of_peak_sustained_elapsed", sm);
	made_metric(&p->m, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", memory);
}

static void part(struct program *p, const char *counter, double pct)
{
	char name[100];

	snprintf(name, sizeof(name), "%s.avg.pct_of_peak_sustained_elapsed", counter);
	made_metric(&p->m, name, pct);
}

/* Copies during which kernels run are not a problem. */
static void copies_are_hidden(struct program *p)
{
	copy(p, 1, "[CUDA memcpy Host-to-Device]", 900, 50e6, 2);
	kernel(p, "add", 1000);
	metrics(p, 20, 92);
	part(p, "gpu__dram_throughput", 92);
	wait(p, 0, 0);
}

static void allocates(struct program *p)
{
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
	call(p, SONDE_CALL_ALLOC, 500);
	kernel(p, "gemm", 100);
	wait(p, 0, 0);
	call(p, SONDE_CALL_FREE, 300);
	kernel(p, "gemm", 100);
	wait(p, 0, 0);
}

static void host_works_inside(struct program *p)
{
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
	host(p, 900);
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
}

static void host_works_in_a_range_inside(struct program *p)
{
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
	push(p, "prepare");
	host(p, 900);
	pop(p);
	kernel(p, "gemm", 200);
	wait(p, 0, 0);
}

static void loads_first(struct program *p)
{
	host(p, 1500);
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
}

static void loads_first_in_a_range(struct program *p)
{
	push(p, "data");
	host(p, 1500);
	pop(p);
	push(p, "train");
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
	pop(p);
}

static void works_afterwards(struct program *p)
{
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
	host(p, 1500);
}

static void logs_afterwards(struct program *p)
{
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
	push(p, "log");
	host(p, 1500);
	pop(p);
}

/* One graph: its kernels start one after the other, whatever the host does. */
static void graph_of(struct program *p, int nr, const char *name, double us, uint64_t gap_us)
{
	uint64_t called = p->now_us;
	int i;

	for (i = 0; i < nr; i++) {
		struct sonde_record *rec = work(p, 0, name, us);

		rec->call_ns = called * US;
		p->now_us = called + 1;
		p->free_us[0] += gap_us;
	}
	host(p, 10);
}

static void tiny_graph(struct program *p)
{
	graph_of(p, 200, "tiny", 1, 1);
	wait(p, 0, 0);
}

static void tiny_in_the_optimizer(struct program *p)
{
	push(p, "forward");
	kernel(p, "gemm", 100);
	pop(p);
	push(p, "optimizer");
	graph_of(p, 200, "adam", 2, 1);
	pop(p);
	wait(p, 0, 0);
}

/* One kernel takes all the time; its counters say what limits it. */
static void kernel_with(struct program *p, double sm, double memory, const char *counter, double pct)
{
	kernel(p, "setup", 50);
	metrics(p, 50, 50);
	kernel(p, "main_kernel", 1000);
	metrics(p, sm, memory);
	if (counter)
		part(p, counter, pct);
	wait(p, 0, 0);
}

static void limited_by_dram(struct program *p)
{
	kernel_with(p, 20, 92, "gpu__dram_throughput", 92);
}

static void limited_by_l2(struct program *p)
{
	kernel_with(p, 20, 88, "lts__throughput", 88);
}

static void limited_by_l1(struct program *p)
{
	kernel_with(p, 30, 80, "l1tex__data_pipe_lsu_wavefronts", 80);
	made_metric(&p->m, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 0.8);
}

static void limited_by_shared(struct program *p)
{
	kernel_with(p, 30, 85, "l1tex__data_pipe_lsu_wavefronts_mem_shared", 85);
}

static void limited_by_tensor(struct program *p)
{
	kernel_with(p, 90, 40, "sm__pipe_tensor_cycles_active", 90);
}

static void limited_by_fma(struct program *p)
{
	kernel_with(p, 85, 30, "sm__inst_executed_pipe_fma", 85);
}

static void limited_by_few_warps(struct program *p)
{
	kernel_with(p, 20, 25, "sm__cycles_active", 99);
	made_metric(&p->m, "sm__warps_active.avg.pct_of_peak_sustained_active", 12);
}

static void limited_by_few_blocks(struct program *p)
{
	kernel_with(p, 6, 8, NULL, 0);
	made_metric(&p->m, "launch__waves_per_multiprocessor", 0.12);
	made_metric(&p->m, "sm__warps_active.avg.pct_of_peak_sustained_active", 60);
}

/* SM throughput alone does not show what limits a kernel. */
static void limited_by_nobody_knows(struct program *p)
{
	kernel(p, "main_kernel", 1000);
	made_metric(&p->m, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 70);
	wait(p, 0, 0);
}

static void communicates(struct program *p)
{
	kernel(p, "gemm", 400);
	push(p, "reduce");
	p->free_us[1] = p->free_us[0];
	work(p, 1, "ncclDevKernel_AllReduce_Sum_f32", 900);
	pop(p);
	wait(p, 1, 0);
}

/* The second kernel waits for an event of a stream that a host function holds up. */
static void waits_for_an_event(struct program *p)
{
	kernel(p, "gemm", 100);
	p->free_us[0] += 900;
	kernel(p, "gemm", 100);
	wait(p, 0, 0);
}

/* All is launched ahead, on one stream: the GPU starts each kernel 20 µs after the one before. */
static void starts_late(struct program *p)
{
	int i;

	kernel(p, "gemm", 300);
	for (i = 0; i < 25; i++) {
		p->free_us[0] += 20;
		kernel(p, "gemm", 40);
	}
	wait(p, 0, 0);
}

static void busy(struct program *p)
{
	kernel(p, "gemm", 400);
	wait(p, 0, 0);
}

/* --- what is around the steps --------------------------------------------------------------------- */

static void nothing(struct program *p)
{
	(void)p;
}

static void load_outside(struct program *p)
{
	host(p, 1500);
}

static void load_in_a_range(struct program *p)
{
	push(p, "load");
	host(p, 1500);
	pop(p);
}

static void sync_outside(struct program *p)
{
	wait(p, 0, 1500);
}

static void work_outside(struct program *p)
{
	kernel(p, "unmarked", 1500);
	wait(p, 0, 0);
}

/* A start-up of 300 ms, idle for all of it. */
static void start_up(struct program *p)
{
	push(p, "startup");
	kernel(p, "first", 10);
	wait(p, 0, 0);
	host(p, 300000);
	kernel(p, "second", 10);
	wait(p, 0, 0);
	pop(p);
}

static void open_epoch(struct program *p)
{
	push(p, "epoch");
}

static const struct planted {
	const char *name;
	void (*step)(struct program *p);
	void (*before)(struct program *p), (*between)(struct program *p);
	const char *cause, *where, *kernel;
} planted[] = {
	{"short kernels, slowly launched", launch_bound, nothing, nothing, "launch", "step", NULL},
	{"an optimizer of many launches", launch_bound_optimizer, nothing, nothing, "launch", "step/optimizer", NULL},
	{"a start-up, then short kernels", launch_bound, start_up, nothing, "launch", "step", NULL},
	{"a synchronisation per layer", syncs, nothing, nothing, "sync", "step", NULL},
	{"a synchronisation to log", syncs_in_log, nothing, nothing, "sync", "step/log", NULL},
	{"a synchronisation between steps", busy, nothing, sync_outside, "sync", "step", NULL},
	{"a blocking copy", copies_block, nothing, nothing, "copy", "step", NULL},
	{"copies of a word from pageable memory", copies_are_of_a_word, nothing, nothing, "small_copies", "step/h2d", NULL},
	{"copies from pageable memory", copies_are_pageable, nothing, nothing, "pageable_copies", "step/h2d", NULL},
	{"many small copies", copies_are_small, nothing, nothing, "small_copies", "step", NULL},
	{"copies within the GPU", copies_are_on_the_device, nothing, nothing, "device_copies", "step", NULL},
	{"large copies in line with kernels", copies_are_exposed, nothing, nothing, "copies", "step", NULL},
	{"copies beside kernels", copies_are_hidden, nothing, nothing, "dram", "step", "add"},
	{"memory allocated in each step", allocates, nothing, nothing, "alloc", "step", NULL},
	{"work of the host between kernels", host_works_inside, nothing, nothing, "host", "step", NULL},
	{"the same in a range", host_works_in_a_range_inside, nothing, nothing, "host", "step/prepare", NULL},
	{"data loaded first", loads_first, nothing, nothing, "head", "step", NULL},
	{"the same in a range", loads_first_in_a_range, nothing, nothing, "head", "step/data", NULL},
	{"data loaded between steps", busy, nothing, load_outside, "between", "step", NULL},
	{"the same in a range", busy, nothing, load_in_a_range, "between", "load", NULL},
	{"the same in an epoch", busy, open_epoch, load_in_a_range, "between", "epoch/load", NULL},
	{"the host works after the last launch", works_afterwards, nothing, nothing, "tail", "step", NULL},
	{"the same in a range", logs_afterwards, nothing, nothing, "tail", "step/log", NULL},
	{"a graph of tiny kernels", tiny_graph, nothing, nothing, "tiny_kernels", "step", NULL},
	{"tiny kernels of an optimizer", tiny_in_the_optimizer, nothing, nothing, "tiny_kernels", "step/optimizer", NULL},
	{"DRAM is busy", limited_by_dram, nothing, nothing, "dram", "step", "main_kernel"},
	{"L2 is busy", limited_by_l2, nothing, nothing, "l2", "step", "main_kernel"},
	{"L1 is busy and DRAM is not", limited_by_l1, nothing, nothing, "l1", "step", "main_kernel"},
	{"shared memory is busy", limited_by_shared, nothing, nothing, "shared", "step", "main_kernel"},
	{"the tensor cores are busy", limited_by_tensor, nothing, nothing, "tensor", "step", "main_kernel"},
	{"the FMA pipe is busy", limited_by_fma, nothing, nothing, "fma", "step", "main_kernel"},
	{"few warps", limited_by_few_warps, nothing, nothing, "occupancy", "step", "main_kernel"},
	{"few blocks", limited_by_few_blocks, nothing, nothing, "waves", "step", "main_kernel"},
	{"too few counters", limited_by_nobody_knows, nothing, nothing, "not_known", "step", "main_kernel"},
	{"communication", communicates, nothing, nothing, "exposed_comm", "step/reduce", NULL},
	{"an event of another stream", waits_for_an_event, nothing, nothing, "queued", "step", NULL},
	{"one stream whose kernels start late", starts_late, nothing, nothing, "stream_gaps", "step", NULL},
	{"work outside any range", busy, nothing, work_outside, "outside", "outside any range", NULL},
};

static void run_program(struct program *p, const struct planted *of)
{
	int i;

	begin(p);
	of->before(p);
	for (i = 0; i < NR_STEPS; i++) {
		p->step = i;
		push(p, "step");
		of->step(p);
		pop(p);
		of->between(p);
	}
	while (p->nr_open)
		pop(p);
	aggregate(&p->run, p->m.r, NULL);
}

static void done(struct program *p)
{
	release(&p->run);
	made_release(&p->m);
}

/* Whether the planted problem is the first finding; prints the first finding if not. */
static bool is_first(const struct sonde_tree *t, const char *name, const struct planted *of)
{
	const struct sonde_findings *f = t->findings;
	const struct sonde_finding *first = f && f->at.nr ? &f->at.at[0] : NULL;
	bool ok = first && strcmp(sonde_causes[first->cause].name, of->cause) == 0 && sonde_str_is(first->where, of->where) &&
		  (!of->kernel || sonde_str_is(sonde_tree_str(t, first->kernel), of->kernel));
	size_t i;

	for (i = 0; f && f->step != SONDE_NONE && i < f->at.nr; i++) { /* regions of the step cost time of the step, but for what only slow entries do */
		uint32_t node = f->at.at[i].node;

		while (node != SONDE_NONE && node != f->step)
			node = f->report->nodes.at[node].parent;
		assert_true(node == SONDE_NONE || f->at.at[i].is_in_step || f->nr_left_out);
	}
	if (ok)
		return true;
	print_error("%s: %s in %s is expected, not\n", name, of->cause, of->where);
	for (i = 0; f && i < f->at.nr && i < 4; i++)
		print_error("   %s in %.*s: %.*s\n", sonde_causes[f->at.at[i].cause].name, SONDE_STR_ARG(f->at.at[i].where),
			SONDE_STR_ARG(f->at.at[i].says));
	return false;
}

static void test_findings__a_planted_problem_comes_first(void **state)
{
	size_t i, nr_wrong = 0, nr = sizeof(planted) / sizeof(*planted);
	struct program p;

	(void)state;
	assert_true(nr >= 30);
	for (i = 0; i < nr; i++) {
		run_program(&p, &planted[i]);
		nr_wrong += !is_first(p.run.t, planted[i].name, &planted[i]);
		done(&p);
	}
	assert_int_equal(nr_wrong, 0);
}

static void open_trace(struct run *run, const char *name)
{
	char path[200];
	const char *at = path;
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};

	snprintf(path, sizeof(path), DATA "%s.json.gz", name);
	assert_int_equal(sonde_records_open(&r, &at, 1, NULL, &err), 0);
	aggregate(run, r, NULL);
	sonde_records_free(r);
}

static void test_findings__a_planted_problem_comes_first_in_traces(void **state)
{
	static const struct planted traces[] = {
		{.name = "loaderout", .cause = "between", .where = "step"},
		{.name = "loaderrange", .cause = "between", .where = "load"},
		{.name = "loaderfirst", .cause = "head", .where = "iter/data"},
		{.name = "tail", .cause = "tail", .where = "step"},
		{.name = "tinybusy", .cause = "tiny_kernels", .where = "step"},
		{.name = "copybusy", .cause = "pageable_copies", .where = "step/h2d"},
		{.name = "comm", .cause = "exposed_comm", .where = "step/reduce"},
	};
	size_t i, nr_wrong = 0;
	struct run run;

	(void)state;
	for (i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		open_trace(&run, traces[i].name);
		nr_wrong += !is_first(run.t, traces[i].name, &traces[i]);
		release(&run);
	}
	assert_int_equal(nr_wrong, 0);
}

/* Four ranks, one of which has three times as much work. With collectives, the others wait in them. */
static void run_ranks(struct program *p, bool has_collectives)
{
	uint32_t rank;
	int i;

	begin(p);
	for (rank = 0; rank < 4; rank++) {
		struct sonde_process *process;
		double us = rank == 2 ? 900 : 300;

		if (rank)
			made_input(&p->m, "native", 100 + rank);
		p->m.device = rank;
		process = &p->m.r->processes.at[p->m.process];
		process->has_rank = process->has_calls = true;
		process->rank = rank;
		process->world_size = 4;
		p->now_us = 1000;
		p->free_us[0] = p->free_us[1] = 0;
		for (i = 0; i < NR_STEPS; i++) {
			push(p, "step");
			push(p, "fwd");
			kernel(p, "gemm", us);
			pop(p);
			if (has_collectives) {
				p->free_us[1] = p->free_us[0];
				work(p, 1, "ncclDevKernel_AllReduce_Sum_f32", 1000 - us);
			}
			wait(p, has_collectives, 0);
			pop(p);
		}
	}
	aggregate(&p->run, p->m.r, NULL);
}

static void test_findings__a_late_rank_is_the_one_that_slow_names(void **state)
{
	static const struct planted late = {"", NULL, NULL, NULL, "late_rank", "step", NULL};
	struct sonde_str slow;
	struct program p;
	size_t i;

	(void)state;
	run_ranks(&p, true);
	assert_non_null(p.run.t->ranks);
	assert_true(is_first(p.run.t, "a late rank", &late));
	for (i = 0; i < p.run.t->findings->at.nr; i++) /* the same time is not told twice */
		assert_int_not_equal(p.run.t->findings->at.at[i].cause, SONDE_CAUSE_IMBALANCE);
	slow = p.run.t->ranks->stragglers.at[0].sentence;
	assert_true(sonde_str_ends(p.run.t->findings->at.at[0].says, slow.p));
	done(&p);
}

static void test_findings__ranks_that_do_not_meet_are_uneven(void **state)
{
	static const struct planted uneven = {"", NULL, NULL, NULL, "imbalance", "step/fwd", NULL};
	struct program p;

	(void)state;
	run_ranks(&p, false);
	assert_true(is_first(p.run.t, "uneven ranks", &uneven));
	done(&p);
}

static void about(double a, double b)
{
	if (fabs(a - b) > 0.02 * b)
		fail_msg("%g is not about %g", a, b);
}

/* The host works for 1500 µs between the steps: the costs must be the planted ones. */
static void test_findings__costs_are_per_step_and_of_the_run(void **state)
{
	static const struct planted of = {"", busy, nothing, load_outside, "between", "step", NULL};
	const struct sonde_finding *first;
	struct program p;

	(void)state;
	run_program(&p, &of);
	first = &p.run.t->findings->at.at[0];
	assert_int_equal(p.run.t->findings->nr_entries, NR_STEPS);
	assert_true(first->is_in_step);
	near(first->run_ns, (NR_STEPS - 1) * 1501.0 * US); /* there is none after the last step */
	near(first->step_ns, 1501.0 * US);
	assert_true(first->share > 0.7 && first->share < 0.8);
	assert_true(isnan(first->gain.ns) && first->gain.why.n);
	done(&p);
}

/* The list of gaps gives the reason that the finding gives, at the end of a step, between two steps and at the begin of one. */
static void test_findings__gaps_between_steps_have_the_words_of_the_finding(void **state)
{
	static const struct planted of[] = {{"", busy, nothing, load_outside, "between", "step", NULL},
		{"", busy, nothing, sync_outside, "sync", "step", NULL}, {"", works_afterwards, nothing, nothing, "tail", "step", NULL},
		{"", loads_first, nothing, nothing, "head", "step", NULL}};
	struct program p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		run_program(&p, &of[i]);
		assert_true(is_first(p.run.t, "words", &of[i]));
		assert_true(p.run.c->gaps.nr > 0);
		assert_string_equal(sonde_gap_words(p.run.t, &p.run.c->gaps.at[0]), sonde_causes[p.run.t->findings->at.at[0].cause].why);
		done(&p);
	}
}

/* The figures of a finding must be in the row that it names. */
static void test_findings__evidence_is_in_the_rows(void **state)
{
	static const struct planted of = {"", launch_bound_optimizer, nothing, nothing, "launch", "step/optimizer", NULL};
	const struct sonde_finding *first;
	const struct sonde_node *n;
	struct program p;

	(void)state;
	run_program(&p, &of);
	first = &p.run.t->findings->at.at[0];
	n = node_named(&p.run, p.run.t->findings->report, "step/optimizer");
	assert_true(first->nr_evidence >= 2);
	assert_true(sonde_str_is(first->evidence[0].figure, "idle.launch_ms"));
	assert_ptr_equal(&p.run.t->findings->report->nodes.at[first->evidence[0].node], n);
	near(first->evidence[0].value, n->times.idle_by[SONDE_IDLE_LAUNCH] / 1e6);
	assert_non_null(first->evidence[0].method);
	assert_true(sonde_str_is(first->change, "graph:step/optimizer"));
	done(&p);
}

static void test_findings__the_user_may_choose_the_step(void **state)
{
	static const struct planted of = {"", launch_bound_optimizer, nothing, load_in_a_range, "", "", NULL};
	struct sonde_choice choice = {.step = "step/forward"};
	struct sonde_tree *t = NULL;
	struct sonde_err err = {0};
	struct program p;

	(void)state;
	run_program(&p, &of);
	assert_int_equal(sonde_tree_build(&t, p.run.c, &choice, &err), 0);
	assert_ptr_equal(&t->findings->report->nodes.at[t->findings->step], node_named(&p.run, t->findings->report, "step/forward"));
	sonde_tree_free(t);
	choice.step = "setp";
	assert_int_equal(sonde_tree_build(&t, p.run.c, &choice, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "setp"));
	done(&p);
}

/* Gains that a replay has computed count more than costs in the order of findings. */
static void test_findings__gains_rank_before_costs(void **state)
{
	static const struct planted of = {"", launch_bound_optimizer, nothing, load_in_a_range, "", "", NULL};
	const struct sonde_gain gain = {9e4, 8e4, 10e4, 18e4, false, SONDE_STR("replayed")};
	struct sonde_buf words = {0};
	struct sonde_findings *f;
	struct program p;

	(void)state;
	run_program(&p, &of);
	f = p.run.t->findings;
	assert_true(f->at.nr >= 2);
	assert_int_equal(f->at.at[0].cause, SONDE_CAUSE_BETWEEN);
	sonde_finding_set_gain(f, &f->at.at[0], &gain);
	sonde_findings_rank(f);
	assert_int_equal(f->at.at[0].cause, SONDE_CAUSE_LAUNCH);
	near(f->at.at[1].gain.ns, 9e4);
	sonde_finding_say_gain(&words, f, &f->at.at[1], true);
	assert_non_null(strstr(words.p, "saves 0.090 of 0.180 ms of each step, 50% (0.080 to 0.100)"));
	sonde_buf_release(&words);
	done(&p);
}

/* What saves nothing comes last. Its figures have no sign, however small a loss they round to. */
static void test_findings__a_change_that_saves_nothing_comes_last(void **state)
{
	static const struct planted of = {"", launch_bound_optimizer, nothing, load_in_a_range, "", "", NULL};
	const struct sonde_gain none = {-1e2, -2e2, 3e2, 18e5, false, SONDE_STR("replayed")};
	struct sonde_buf words = {0};
	struct sonde_findings *f;
	struct program p;

	(void)state;
	run_program(&p, &of);
	f = p.run.t->findings;
	assert_true(f->at.nr >= 2);
	sonde_finding_set_gain(f, &f->at.at[0], &none);
	sonde_findings_rank(f);
	assert_int_equal(f->at.at[f->at.nr - 1].cause, SONDE_CAUSE_BETWEEN);
	sonde_finding_say_gain(&words, f, &f->at.at[f->at.nr - 1], true);
	assert_non_null(strstr(words.p, "saves nothing (0.000 to 0.000 ms of each step)"));
	sonde_buf_release(&words);
	done(&p);
}

/* If a change that only resembles the advice saves little, the gain of the advice is not known, and the stake decides. */
static void test_findings__a_change_that_is_only_near_the_advice_cannot_rule_it_out(void **state)
{
	static const struct planted of = {"", launch_bound_optimizer, nothing, load_in_a_range, "", "", NULL};
	const struct sonde_gain none = {-22e3, -24e3, -7e3, 18e5, false, SONDE_STR("replayed")}, most = {9e4, 8e4, 10e4, 18e5, true, SONDE_STR("replayed")};
	struct sonde_buf words = {0};
	struct sonde_findings *f;
	struct program p;

	(void)state;
	run_program(&p, &of);
	f = p.run.t->findings;
	f->at.at[0].cause = SONDE_CAUSE_COPIES; /* its change is async-copy, but its advice is another stream */
	sonde_finding_set_gain(f, &f->at.at[0], &none);
	sonde_finding_set_gain(f, &f->at.at[1], &most);
	sonde_findings_rank(f);
	assert_int_equal(f->at.at[0].cause, SONDE_CAUSE_COPIES);
	sonde_finding_say_gain(&words, f, &f->at.at[0], true);
	assert_non_null(strstr(words.p, "not known: sonde can replay only a change like it, which saves -0.022 ms"));
	sonde_finding_say_gain(&words, f, &f->at.at[1], true);
	assert_non_null(strstr(words.p, "saves at most 0.090 of 1.800 ms of each step, 5% (0.080 to 0.100)"));
	sonde_buf_release(&words);
	done(&p);
}

static void loads_in_data(struct program *p)
{
	push(p, "load_batch");
	host(p, 900);
	pop(p);
	kernel(p, "void at::native::elementwise", 400);
	wait(p, 0, 0);
}

static void works_in_a_norm(struct program *p)
{
	push(p, "BatchNorm2d");
	kernel(p, "void at::native::elementwise", 100);
	wait(p, 0, 0);
	host(p, 900);
	kernel(p, "void at::native::elementwise", 100);
	pop(p);
	wait(p, 0, 0);
}

/* An optimizer or a layer does not load data. */
static void test_findings__a_dataloader_is_advised_where_data_is_loaded(void **state)
{
	static const struct {
		struct planted of;
		bool is_loading;
	} cases[] = {
		{{"", loads_in_data, nothing, nothing, "head", "step/load_batch", NULL}, true},
		{{"", works_in_a_norm, nothing, nothing, "host", "step/BatchNorm2d", NULL}, false},
		{{"", works_in_a_norm, nothing, load_in_a_range, "between", "load", NULL}, true},
	};
	struct program p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		run_program(&p, &cases[i].of);
		assert_true(is_first(p.run.t, "advice", &cases[i].of));
		assert_int_equal(sonde_str_has(p.run.t->findings->at.at[0].action, "DataLoader", NULL), cases[i].is_loading);
		done(&p);
	}
}

/* Two captures that have nothing to do with each other: neither waits for the other. */
static void test_findings__captures_that_are_no_ranks_are_not_uneven(void **state)
{
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	run_ranks(&p, false);
	assert_true(p.run.t->reports.at[p.run.t->reports.nr - 1].has_ranks);
	for (i = 0; i < p.m.r->processes.nr; i++)
		p.m.r->processes.at[i].has_rank = false;
	aggregate(&run, p.m.r, NULL);
	assert_null(run.t->ranks);
	assert_false(run.t->reports.at[run.t->reports.nr - 1].has_ranks);
	for (i = 0; i < run.t->findings->at.nr; i++)
		assert_int_not_equal(run.t->findings->at.at[i].cause, SONDE_CAUSE_IMBALANCE);
	release(&run);
	done(&p);
}

/* Without the limiter there is no advice that could gain. If the user chose metrics, the capture may have it. */
static void test_findings__without_a_limiter_no_gain_is_asked_for(void **state)
{
	static const struct planted of = {"", limited_by_dram, nothing, nothing, "dram", "step", "main_kernel"};
	const char *const chosen[] = {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"};
	struct sonde_choice choice = {.metrics = {chosen, 1}};
	const struct sonde_finding *first;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &of);
	assert_true(is_first(p.run.t, "all metrics", &of));
	aggregate(&run, p.m.r, &choice);
	first = &run.t->findings->at.at[0];
	assert_int_equal(first->cause, SONDE_CAUSE_UNLIMITED);
	assert_true(first->change.n == 0 && sonde_str_starts(first->action, "leave out --metrics"));
	assert_true(sonde_str_is(first->next, "sonde report RUN"));
	release(&run);
	done(&p);
}

/* Sentences have labels as the program wrote them: an id would escape the slash. */
static void test_findings__labels_are_as_the_program_wrote_them(void **state)
{
	struct program p;
	uint32_t i;

	(void)state;
	begin(&p);
	for (i = 0; i < 4; i++) {
		uint32_t range = made_range(&p.m, MADE_ROOT, "LLM", "decode/step@1", SONDE_PUSH_POP);

		p.m.r->ranges.at[range].time = (struct sonde_range_time){p.now_us * US, (p.now_us + 500) * US, 0};
		p.open[p.nr_open++] = range;
		kernel(&p, "gemm", 400);
		p.nr_open--;
		p.now_us += 1000;
	}
	aggregate(&p.run, p.m.r, NULL);
	assert_true(sonde_str_is(p.run.t->findings->at.at[0].where, "LLM@decode/step@1"));
	assert_true(sonde_str_is(p.run.t->findings->each, "each step"));
	done(&p);
}

/* --- slow entries --------------------------------------------------------------------------------- */

static void compiles_first(struct program *p)
{
	host(p, p->step == 0 ? 300000 : 0);
	copies_are_pageable(p);
}

static void compiles_in_the_first(struct program *p)
{
	kernel(p, "gemm", 100);
	host(p, p->step < 2 ? 200000 : 0);
	syncs(p);
}

static void writes_once(struct program *p)
{
	loads_first(p);
	host(p, p->step == 7 ? 200000 : 0);
}

static void loads_after_a_slow_start(struct program *p)
{
	host(p, p->step == 0 ? 300000 : 0);
	loads_first_in_a_range(p);
}

static void loads_slowly_at_first(struct program *p)
{
	host(p, p->step == 0 ? 300000 : 1500);
}

static void evaluates_now_and_then(struct program *p)
{
	busy(p);
	host(p, p->step % 4 == 3 ? 4000 : 0);
}

static void launches_every_other_time(struct program *p)
{
	if (p->step % 2)
		host(p, 1907);
	else
		loads_first(p);
}

/* Costs are those of the usual entries. What only the slow ones have is a cost of the run, and comes after. */
static void test_findings__slow_entries_do_not_decide(void **state)
{
	static const struct {
		struct planted of;
		uint64_t nr_left_out;
		double cost_us, step_us;
		const char *rare; /* cause of the finding about the slow entries; NULL = none */
	} cases[] = {
		{{"compiles first", compiles_first, nothing, nothing, "pageable_copies", "step/h2d", NULL}, 1, 1500, 1925, "head"},
		{{"compiles in the first", compiles_in_the_first, nothing, nothing, "sync", "step", NULL}, 2, 750, 1100, "host"},
		{{"writes once", writes_once, nothing, nothing, "head", "step", NULL}, 1, 1504, 1907, "tail"},
		{{"loads", loads_after_a_slow_start, nothing, nothing, "head", "step/data", NULL}, 1, 1507, 1913, NULL},
		{{"between", busy, nothing, loads_slowly_at_first, "between", "step", NULL}, 1, 1501, 1906, NULL},
		{{"half", launches_every_other_time, nothing, nothing, "head", "step", NULL}, 0, 1706, 1907, NULL},
		{{"often", evaluates_now_and_then, nothing, nothing, "tail", "step", NULL}, 0, 1000, 1407, NULL},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sonde_findings *f;
		const struct sonde_finding *last;
		struct program p;

		run_program(&p, &cases[i].of);
		f = p.run.t->findings;
		assert_true(is_first(p.run.t, cases[i].of.name, &cases[i].of));
		assert_int_equal(f->nr_left_out, cases[i].nr_left_out);
		about(f->at.at[0].step_ns, cases[i].cost_us * US);
		about(f->step_ns + f->between_ns, cases[i].step_us * US);
		near(f->at.at[0].share, f->at.at[0].step_ns / (f->step_ns + f->between_ns));
		last = &f->at.at[f->at.nr - 1];
		assert_true(!cases[i].rare || (!last->is_in_step && strcmp(sonde_causes[last->cause].name, cases[i].rare) == 0 &&
						      sonde_str_has(last->says, "of 12 entries", NULL)));
		done(&p);
	}
}

/* Two findings of one cause: the largest is first, whatever the stakes are. Texts show only that one. */
static void test_findings__the_largest_of_a_cause_stands_for_it(void **state)
{
	static const struct planted of = {"", launch_bound_optimizer, nothing, load_in_a_range, "", "", NULL};
	struct sonde_findings *f;
	struct program p;
	size_t i;

	(void)state;
	run_program(&p, &of);
	f = p.run.t->findings;
	assert_true(f->at.nr >= 2);
	for (i = 0; i < f->at.nr; i++)
		f->at.at[i].savable_ns = (double)i; /* the last one has the most at stake */
	f->at.at[0].cause = f->at.at[f->at.nr - 1].cause = SONDE_CAUSE_WAVES;
	f->at.at[0].run_ns = 9e9;
	sonde_findings_rank(f);
	assert_int_equal(f->at.at[0].cause, SONDE_CAUSE_WAVES);
	near(f->at.at[0].run_ns, 9e9);
	assert_int_equal(f->at.at[1].cause, SONDE_CAUSE_WAVES);
	done(&p);
}

static void busier_than_possible(struct program *p)
{
	kernel_with(p, 30, 331, "gpu__dram_throughput", 331);
}

/* Nothing is busier than its peak: the finding says that the figure is wrong. */
static void test_findings__more_than_the_peak_is_called_wrong(void **state)
{
	static const struct planted of = {"", busier_than_possible, nothing, nothing, "", "", NULL}, possible = {"", limited_by_dram, nothing, nothing, "", "", NULL};
	struct program p;

	(void)state;
	run_program(&p, &of);
	assert_true(sonde_str_has(p.run.t->findings->at.at[0].says, "at 331% of peak, more than is possible", NULL));
	done(&p);
	run_program(&p, &possible);
	assert_true(sonde_str_ends(p.run.t->findings->at.at[0].says, "at 92% of peak"));
	done(&p);
}

/* A label may have signs that mean something to a shell. */
static void test_findings__commands_can_be_pasted_into_a_shell(void **state)
{
	const struct sonde_gain gain = {9e4, 8e4, 10e4, 18e4, false, SONDE_STR("replayed")};
	struct sonde_buf words = {0};
	struct sonde_finding *first;
	struct program p;
	int i;

	(void)state;
	begin(&p);
	for (i = 0; i < 4; i++) {
		push(&p, "load $batch's");
		launch_bound(&p);
		pop(&p);
	}
	aggregate(&p.run, p.m.r, NULL);
	first = &p.run.t->findings->at.at[0];
	assert_true(sonde_str_is(first->change, "graph:load $batch's"));
	assert_true(sonde_str_is(first->gain.why, "run `sonde whatif RUN 'graph:load $batch'\\''s'` to estimate it"));
	sonde_finding_set_gain(p.run.t->findings, first, &gain);
	sonde_finding_say_gain(&words, p.run.t->findings, first, true);
	assert_non_null(strstr(words.p, "replayed ('graph:load $batch'\\''s')"));
	sonde_buf_release(&words);
	done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings__a_planted_problem_comes_first),
		cmocka_unit_test(test_findings__a_planted_problem_comes_first_in_traces),
		cmocka_unit_test(test_findings__a_late_rank_is_the_one_that_slow_names),
		cmocka_unit_test(test_findings__ranks_that_do_not_meet_are_uneven),
		cmocka_unit_test(test_findings__costs_are_per_step_and_of_the_run),
		cmocka_unit_test(test_findings__gaps_between_steps_have_the_words_of_the_finding),
		cmocka_unit_test(test_findings__evidence_is_in_the_rows),
		cmocka_unit_test(test_findings__the_user_may_choose_the_step),
		cmocka_unit_test(test_findings__gains_rank_before_costs),
		cmocka_unit_test(test_findings__a_change_that_saves_nothing_comes_last),
		cmocka_unit_test(test_findings__a_dataloader_is_advised_where_data_is_loaded),
		cmocka_unit_test(test_findings__captures_that_are_no_ranks_are_not_uneven),
		cmocka_unit_test(test_findings__without_a_limiter_no_gain_is_asked_for),
		cmocka_unit_test(test_findings__a_change_that_is_only_near_the_advice_cannot_rule_it_out),
		cmocka_unit_test(test_findings__labels_are_as_the_program_wrote_them),
		cmocka_unit_test(test_findings__slow_entries_do_not_decide),
		cmocka_unit_test(test_findings__the_largest_of_a_cause_stands_for_it),
		cmocka_unit_test(test_findings__more_than_the_peak_is_called_wrong),
		cmocka_unit_test(test_findings__commands_can_be_pasted_into_a_shell),
	};

	return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
