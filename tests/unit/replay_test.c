/* Replay of synthetic runs, whose times with and without a change can be computed by hand. */
#include "replay/replay.h"
#include "base/vec.h"
#include "unit.h"

#include <math.h>

#define US	1000u
#define NR	40 /* number of steps */
#define LATENCY (5 * US)
#define CALL	(4 * US)
#define GAP	(1 * US)

enum { STEP, WORK, LOG, NR_REGIONS };
enum { STREAM_A, STREAM_B, NR_STREAMS };
enum { SMALL, LARGE, COPY, NR_KERNELS };

/* A run that is being made: one host thread, and streams that are busy until some time. */
struct made {
	SONDE_VEC(struct sonde_replay_op) ops;
	SONDE_VEC(struct sonde_replay_work) works;
	SONDE_VEC(uint32_t) entries;
	uint64_t now;		   /* time of the host */
	uint64_t busy[NR_STREAMS]; /* until when each stream is busy */
	uint64_t event;		   /* when the event is done */
	uint32_t open[8], nr_open; /* open entries */
	uint32_t thread;
	struct sonde_replay_input in;
};

static const uint32_t parents[NR_REGIONS] = {SONDE_REPLAY_NONE, STEP, STEP};

static void put(struct made *m, struct sonde_replay_op op)
{
	op.thread = m->thread;
	assert_true(sonde_vec_put(&m->ops, op));
}

static void enter(struct made *m, uint32_t region)
{
	assert_true(sonde_vec_put(&m->entries, region));
	m->open[m->nr_open++] = (uint32_t)m->entries.nr - 1;
	put(m, (struct sonde_replay_op){m->now, m->now, .entry = (uint32_t)m->entries.nr - 1, .kind = SONDE_REPLAY_ENTER});
}

static void leave(struct made *m)
{
	put(m, (struct sonde_replay_op){m->now, m->now, .entry = m->open[--m->nr_open], .kind = SONDE_REPLAY_LEAVE});
}

static void host(struct made *m, uint64_t us)
{
	m->now += us * US;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Launches a kernel that does not start before `least`. */
static void launch_after(
	struct made *m, uint32_t stream, uint32_t kernel, uint64_t us, uint64_t least)
{
	uint64_t start = max_of(m->now + LATENCY, least);

	if (m->busy[stream])
		start = max_of(start, m->busy[stream] + GAP);
	m->busy[stream] = start + us * US;
	put(m, (struct sonde_replay_op){
		       m->now, m->now + CALL, .first_work = (uint32_t)m->works.nr, .nr_works = 1, .kind = SONDE_REPLAY_LAUNCH});
	assert_true(sonde_vec_put(&m->works, (struct sonde_replay_work){.start_ns = start,
						     .end_ns = m->busy[stream],
						     .stream = stream,
						     .kernel = kernel,
						     .level_ns = NAN}));
	m->now += CALL;
}

static void launch(struct made *m, uint32_t stream, uint32_t kernel, uint64_t us)
{
	launch_after(m, stream, kernel, us, 0);
}

/* A pageable copy: the call ends with it. */
static void copy(struct made *m, uint32_t stream, uint64_t us, uint64_t bytes)
{
	uint64_t begin = m->now;

	launch(m, stream, COPY, us);
	m->works.at[m->works.nr - 1].kind = SONDE_REPLAY_COPY;
	m->works.at[m->works.nr - 1].bytes = bytes;
	m->works.at[m->works.nr - 1].is_of_host = true;
	m->now = m->ops.at[m->ops.nr - 1].end_ns = m->busy[stream];
	assert_true(begin < m->now);
}

static void sync_stream(struct made *m, uint32_t stream)
{
	uint64_t begin = m->now;

	m->now = max_of(m->now + US, m->busy[stream] + 2 * US);
	put(m, (struct sonde_replay_op){
		       begin, m->now, .stream = stream, .event = SONDE_REPLAY_NONE, .kind = SONDE_REPLAY_SYNC_STREAM});
}

static struct sonde_replay *open_made(struct made *m)
{
	struct sonde_replay *r;
	struct sonde_err err = {0};

	m->in.ops = m->ops.at;
	m->in.nr_ops = m->ops.nr;
	m->in.works = m->works.at;
	m->in.nr_works = m->works.nr;
	m->in.entry_regions = m->entries.at;
	m->in.nr_entries = m->entries.nr;
	m->in.parents = parents;
	m->in.nr_regions = NR_REGIONS;
	m->in.nr_threads = 2;
	m->in.nr_streams = NR_STREAMS;
	m->in.nr_events = 1;
	m->in.nr_kernels = NR_KERNELS;
	assert_int_equal(sonde_replay_open(&r, &m->in, &err), 0);
	return r;
}

static struct made *begin_made(void)
{
	static struct made m;

	m = (struct made){.now = 1000 * US,
		.in = {.default_stream = SONDE_REPLAY_NONE, .step = SONDE_REPLAY_NONE}};
	return &m;
}

static void end_made(struct made *m, struct sonde_replay *r)
{
	sonde_replay_free(r);
	sonde_vec_release(&m->ops);
	sonde_vec_release(&m->works);
	sonde_vec_release(&m->entries);
}

/* Predicts the time of a step with these changes, in microseconds, and checks that it is inside its interval. */
static double step_with(
	struct sonde_replay *r, const struct sonde_replay_change *changes, size_t nr)
{
	struct sonde_replay_gain gain;

	assert_int_equal(sonde_replay_predict(r, &gain, changes, nr, false, NULL), 0);
	assert_true(gain.low_ns <= gain.ns && gain.ns <= gain.high_ns);
	return (sonde_replay_summary(r)->base_ns - gain.ns) / US;
}

static struct sonde_replay_change in_region(enum sonde_change_kind kind, uint32_t region)
{
	static bool is_meant[NR_REGIONS][NR_REGIONS];

	is_meant[region][region] = true;
	return (struct sonde_replay_change){kind, is_meant[region], 1};
}

static struct sonde_replay_change of_kernel(uint32_t kernel, double factor)
{
	static bool is_meant[NR_KERNELS][NR_KERNELS];

	is_meant[kernel][kernel] = true;
	return (struct sonde_replay_change){SONDE_CHANGE_KERNEL, is_meant[kernel], factor};
}

static void assert_near(double got, double expected, double by)
{
	if (!(fabs(got - expected) <= by))
		fail_msg("%g is not %g ± %g", got, expected, by);
}

/* --- the run as it was ------------------------------------------------------------------- */

/* 10 launches of 10 µs each on the host, 2 µs on the GPU, and 30 µs besides. */
static struct made *make_launch_bound(void)
{
	struct made *m = begin_made();
	int i, k;

	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		host(m, 20);
		enter(m, WORK);
		for (k = 0; k < 10; k++) {
			launch(m, STREAM_A, SMALL, 2);
			host(m, 6);
		}
		leave(m);
		host(m, 10);
		leave(m);
	}
	return m;
}

static void test_replay__a_run_as_it_was_takes_as_long_as_it_did(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r = open_made(m);
	const struct sonde_replay_summary *s = sonde_replay_summary(r);

	(void)state;
	assert_int_equal(s->step, STEP);
	assert_int_equal(s->nr_steps, NR);
	assert_near(s->measured_ns / US, 130, 0.5);
	assert_near(s->error, 0, 0.001);
	assert_near(s->latency_ns, LATENCY, 1);
	assert_near(sonde_replay_regions(r)[WORK].replayed_ns,
		sonde_replay_regions(r)[WORK].wall_ns, 1);
	assert_int_equal(sonde_replay_regions(r)[STEP].nr_launches, NR * 10);
	end_made(m, r);
}

static void test_replay__the_profilers_time_is_taken_out(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r;

	(void)state;
	m->in.launch_cost_ns = 2 * US;
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 130, 0.5);
	assert_near(sonde_replay_summary(r)->base_ns / US, 110, 0.5);
	end_made(m, r);
}

static void test_replay__time_that_was_not_captured_is_no_steps(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, SMALL, 10);
		host(m, 96);
		leave(m);
		if (i == NR / 2)
			host(m, 1000000); /* between two windows */
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 100, 0.5);
	assert_near(sonde_replay_summary(r)->base_ns / US, 100, 0.5);
	end_made(m, r);
}

/* A loop whose entries `from`, `from` + `every` … work 50 ms longer before they launch: they compile. */
static struct sonde_replay *open_compiling(struct made *m, int from, int every)
{
	int i;

	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		if (i >= from && (i - from) % every == 0)
			host(m, 50000);
		launch(m, STREAM_A, SMALL, 10);
		host(m, 96);
		leave(m);
	}
	return open_made(m);
}

static void test_replay__a_step_unlike_the_others_is_left_out(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay *r = open_compiling(m, 0, NR);
	struct sonde_replay_change ahead = in_region(SONDE_CHANGE_AHEAD, STEP);

	(void)state;
	assert_near(sonde_replay_summary(r)->measured_ns / US, 100, 0.5);
	assert_near(sonde_replay_summary(r)->base_ns / US, 100, 0.5);
	assert_int_equal(sonde_replay_summary(r)->nr_odd, 1);
	assert_int_equal(sonde_replay_summary(r)->nr_steps, NR);
	assert_near(step_with(r, &ahead, 1), 100, 0.5); /* compiling ahead saves nothing of a usual step */
	end_made(m, r);

	m = begin_made();
	r = open_compiling(m, 0, 5); /* every fifth: they belong to the program */
	assert_int_equal(sonde_replay_summary(r)->nr_odd, 0);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 10100, 1);
	end_made(m, r);
}

/* --- changes --------------------------------------------------------------------------------- */

static void test_replay__a_launch_bound_loop_gains_by_a_graph(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r = open_made(m);
	struct sonde_replay_change graph = in_region(SONDE_CHANGE_GRAPH, WORK);

	(void)state;
	/* 30 µs of other host work, and 9 µs for the launch of the graph: the GPU's 30 µs are hidden.
	 */
	assert_near(step_with(r, &graph, 1), 39, 1);
	end_made(m, r);
}

static void launch_often(struct made *m, int nr)
{
	while (nr--) {
		launch(m, STREAM_A, SMALL, 5);
		host(m, 10);
	}
}

/* A graph replaces the launches and the 10 µs between them, but no loading before, between or after them. */
static void test_replay__a_graph_leaves_the_host_its_other_work(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay *r;
	struct sonde_replay_change graph = in_region(SONDE_CHANGE_GRAPH, WORK);
	struct sonde_replay_gain gain;
	struct sonde_err err = {0};
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, WORK);
		host(m, 2000);
		launch_often(m, 20);
		enter(m, LOG);
		host(m, 1000);
		leave(m);
		launch_often(m, 20);
		sync_stream(m, STREAM_A);
		host(m, 700);
		leave(m);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->base_ns / US, 2000 + 1000 + 700 + 40 * 14 + 1, 1);
	/* Each stretch without what the host usually needs; 9 µs to launch the graph; its end is waited for. */
	assert_near(step_with(r, &graph, 1), 1990 + 1000 + 690 + 9 + 1, 3);
	assert_int_equal(sonde_replay_predict(r, &gain, &graph, 1, false, &err), 0);
	assert_true(gain.low_ns > 0 && gain.high_ns < 700 * US);
	end_made(m, r);
}

static void test_replay__fused_kernels_are_one_launch_and_keep_the_hosts_ends(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r = open_made(m);
	struct sonde_replay_change fuse = in_region(SONDE_CHANGE_FUSE, WORK);
	double us = step_with(r, &fuse, 1);

	(void)state;
	/* 30 µs, one call, the 6 µs behind the last launch, and a little of the 90 between. */
	assert_true(us > 40 && us < 46);
	end_made(m, r);
}

static void test_replay__what_is_removed_takes_no_time(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r = open_made(m);
	struct sonde_replay_change gone = in_region(SONDE_CHANGE_REMOVE, WORK);

	(void)state;
	assert_near(step_with(r, &gone, 1), 30, 0.5);
	end_made(m, r);
}

/* A kernel of 100 µs, a wait for it in LOG, then 50 µs of the host. */
static struct made *make_stalled(void)
{
	struct made *m = begin_made();
	int i;

	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 100);
		enter(m, LOG);
		sync_stream(m, STREAM_A);
		leave(m);
		host(m, 50);
		leave(m);
	}
	return m;
}

static void test_replay__without_a_wait_host_and_gpu_work_side_by_side(void **state)
{
	struct made *m = make_stalled();
	struct sonde_replay *r = open_made(m);
	struct sonde_replay_change nosync = in_region(SONDE_CHANGE_NOSYNC, LOG),
				   faster = of_kernel(LARGE, 0.5), both[2];

	(void)state;
	assert_near(sonde_replay_summary(r)->measured_ns / US, 157, 1); /* 5 + 100 + 2 + 50 */
	assert_near(step_with(r, &nosync, 1), 101, 1); /* the time of the GPU, with its gap */
	assert_near(step_with(r, &faster, 1), 107, 1);
	both[0] = nosync;
	both[1] = faster;
	assert_near(
		step_with(r, both, 2), 54, 2); /* now the host's time: together they gain more than either alone */
	end_made(m, r);
}

static void test_replay__a_pageable_copy_that_becomes_asynchronous_lets_the_host_go_on(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change async = in_region(SONDE_CHANGE_ASYNC_COPY, WORK);
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, WORK);
		copy(m, STREAM_A, 1000, 5500000);
		leave(m);
		host(m, 300);
		launch(m, STREAM_A, SMALL, 10);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 1316,
		1); /* the copy follows the kernel of the step before */
	/* 100 µs at 55 GB/s, behind 300 µs of the host. */
	assert_near(step_with(r, &async, 1), 308, 3);
	end_made(m, r);
}

/* 50 copies of 2 KB in 2 us each, from pinned memory, with 6 us of the host behind each; then a kernel. */
static void test_replay__gathered_copies_are_one_call_with_all_bytes(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change gather = in_region(SONDE_CHANGE_GATHER, WORK), async = in_region(SONDE_CHANGE_ASYNC_COPY, WORK);
	struct sonde_replay *r;
	int i, k;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, WORK);
		for (k = 0; k < 50; k++) {
			launch(m, STREAM_A, COPY, 2);
			m->works.at[m->works.nr - 1].kind = SONDE_REPLAY_COPY;
			m->works.at[m->works.nr - 1].bytes = 2000;
			m->works.at[m->works.nr - 1].is_of_host = true;
			host(m, 6);
		}
		leave(m);
		launch(m, STREAM_A, LARGE, 100);
		sync_stream(m, STREAM_A);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 607, 2);
	assert_near(step_with(r, &async, 1), 607, 2); /* they are asynchronous already */
	/* One call, the 6 us behind the last copy, a tenth of 49 times 10 us, and the kernel with its ends. */
	assert_near(step_with(r, &gather, 1), 4 + 6 + 49 + 107, 3);
	end_made(m, r);
}

/* A kernel of 100 us, and an allocation that waits for it and then takes 300 us. */
static void test_replay__memory_from_a_pool_takes_no_time_and_waits_for_nothing(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change noalloc = in_region(SONDE_CHANGE_NOALLOC, WORK), nosync = in_region(SONDE_CHANGE_NOSYNC, WORK);
	struct sonde_replay *r;
	uint64_t begin;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, WORK);
		launch(m, STREAM_A, LARGE, 100);
		begin = m->now;
		m->now = m->busy[STREAM_A] + 300 * US;
		put(m, (struct sonde_replay_op){
			       begin, m->now, .stream = SONDE_REPLAY_NONE, .event = SONDE_REPLAY_NONE, .kind = SONDE_REPLAY_MEMORY});
		leave(m);
		host(m, 50);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 455, 2);
	assert_near(step_with(r, &noalloc, 1), 101, 2); /* the GPU's time: the host's 54 us are hidden */
	assert_true(step_with(r, &nosync, 1) <= 455);
	end_made(m, r);
}

/* The host works for 400 us in the step and 200 behind it, the GPU for 300. */
static struct made *make_starved(void)
{
	struct made *m = begin_made();
	int i;

	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, LOG);
		host(m, 400);
		leave(m);
		launch(m, STREAM_A, LARGE, 300);
		sync_stream(m, STREAM_A);
		leave(m);
		host(m, 200);
	}
	return m;
}

static void test_replay__work_of_the_host_that_is_done_ahead_holds_nothing_up(void **state)
{
	struct made *m = make_starved();
	struct sonde_replay *r = open_made(m);
	struct sonde_replay_change in_log = in_region(SONDE_CHANGE_AHEAD, LOG), in_step = in_region(SONDE_CHANGE_AHEAD, STEP);
	struct sonde_replay_gain gain;

	(void)state;
	assert_near(sonde_replay_summary(r)->measured_ns / US, 907, 6);
	assert_near(step_with(r, &in_log, 1), 507, 6);
	/* The step includes the time between its entries; 10 us of each pause belong to the call before it. */
	assert_near(step_with(r, &in_step, 1), 317, 12);
	/* One thread is no faster than the 600 us that it takes for both. */
	assert_int_equal(sonde_replay_predict(r, &gain, &in_step, 1, false, NULL), 0);
	assert_true(gain.low_ns / US < 907 - 580 && gain.low_ns / US > 907 - 700);
	end_made(m, r);
}

static void test_replay__what_a_launch_needs_of_the_host_is_not_done_ahead(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r = open_made(m);
	struct sonde_replay_change ahead = in_region(SONDE_CHANGE_AHEAD, WORK);

	(void)state;
	assert_near(step_with(r, &ahead, 1), 130, 1);
	end_made(m, r);
}

/* A copy that blocks ends like a wait: what the host does then, 60 µs, is work of its own. */
static void test_replay__what_follows_a_copy_that_blocks_is_done_ahead(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change ahead = in_region(SONDE_CHANGE_AHEAD, WORK);
	const struct sonde_replay_region *work;
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, WORK);
		launch(m, STREAM_A, LARGE, 100);
		copy(m, STREAM_A, 2, 4);
		host(m, 60);
		leave(m);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->base_ns / US, 168, 1); /* 5 + 100 + 1 + 2, then 60 */
	assert_near(step_with(r, &ahead, 1), 118, 1);
	work = &sonde_replay_regions(r)[WORK];
	assert_int_equal(work->nr_waits, NR);
	assert_near(work->read_ns / NR / US, 104, 1);
	assert_near(work->waited_ns, 0, 0.5);
	end_made(m, r);
}

static void order(struct made *m, uint32_t stream, uint8_t kind)
{
	put(m, (struct sonde_replay_op){m->now, m->now + US, .stream = stream, .kind = kind});
	host(m, 1);
}

static void test_replay__a_stream_waits_for_an_event_of_another(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change faster = of_kernel(LARGE, 0.5);
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 200);
		order(m, STREAM_A, SONDE_REPLAY_RECORD);
		order(m, STREAM_B, SONDE_REPLAY_AWAIT);
		launch_after(m, STREAM_B, SMALL, 60, m->busy[STREAM_A]);
		sync_stream(m, STREAM_B);
		leave(m);
	}
	m->in.has_events = true;
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->error, 0, 0.01);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 267, 2);
	assert_near(step_with(r, &faster, 1), 167, 3);
	end_made(m, r);
}

static void test_replay__without_events_the_order_of_streams_is_guessed(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change faster = of_kernel(LARGE, 0.5);
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 200);
		launch(m, STREAM_B, SMALL, 10);
		launch(m, STREAM_B, SMALL, 10);
		if (i % 4 == 0) /* now and then it waits for the other stream */
			launch_after(m, STREAM_B, SMALL, 60, m->busy[STREAM_A] + GAP);
		sync_stream(m, i % 4 ? STREAM_A : STREAM_B);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->error, 0, 0.01);
	assert_near(step_with(r, &faster, 1), sonde_replay_summary(r)->measured_ns / US - 100, 5);
	end_made(m, r);
}

static void test_replay__streams_keep_to_the_rule_of_the_default_stream(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change faster = of_kernel(LARGE, 0.5);
	struct sonde_replay *r;
	int i;

	(void)state;
	m->in.default_stream = STREAM_A;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch_after(m, STREAM_A, LARGE, 200, m->busy[STREAM_B] + GAP);
		launch_after(m, STREAM_B, SMALL, 60, m->busy[STREAM_A] + GAP);
		sync_stream(m, STREAM_B);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->error, 0, 0.01);
	assert_near(step_with(r, &faster, 1), sonde_replay_summary(r)->measured_ns / US - 100, 3);
	end_made(m, r);
	/* The same without the rule: the second stream does not wait, so a single wait must not decide.
	 */
	m = begin_made();
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 20);
		launch(m, STREAM_B, SMALL, 200);
		sync_stream(m, STREAM_B);
		leave(m);
	}
	r = open_made(m);
	assert_near(step_with(r, &faster, 1), sonde_replay_summary(r)->measured_ns / US, 1);
	end_made(m, r);
}

static void test_replay__nodes_of_a_graph_keep_their_order(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change faster = of_kernel(LARGE, 0.5);
	struct sonde_replay *r;
	uint64_t start;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 100);
		start = m->busy[STREAM_A] + US;
		/* Two nodes side by side behind the first. */
		assert_true(sonde_vec_put(&m->works, (struct sonde_replay_work){.start_ns = start,
							     .end_ns = start + 50 * US,
							     .stream = STREAM_A,
							     .kernel = SMALL}));
		assert_true(sonde_vec_put(&m->works, (struct sonde_replay_work){.start_ns = start,
							     .end_ns = start + 30 * US,
							     .stream = STREAM_B,
							     .kernel = SMALL}));
		m->ops.at[m->ops.nr - 1].nr_works = 3;
		m->busy[STREAM_A] = start + 50 * US;
		sync_stream(m, STREAM_A);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->error, 0, 0.01);
	assert_near(step_with(r, &faster, 1), sonde_replay_summary(r)->measured_ns / US - 50, 1);
	assert_int_equal(sonde_replay_regions(r)[STEP].nr_graphs, NR);
	end_made(m, r);
}

/* One launch of a graph with 100 nodes of 2 us, a microsecond apart. */
static void test_replay__the_nodes_of_a_graph_can_be_fused(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change fuse = in_region(SONDE_CHANGE_FUSE, STEP);
	struct sonde_replay *r;
	uint64_t start;
	int i, k;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, SMALL, 2);
		for (k = 1; k < 100; k++) {
			start = m->busy[STREAM_A] + US;
			m->busy[STREAM_A] = start + 2 * US;
			assert_true(sonde_vec_put(&m->works, (struct sonde_replay_work){.start_ns = start,
								     .end_ns = m->busy[STREAM_A], .stream = STREAM_A, .kernel = SMALL}));
		}
		m->ops.at[m->ops.nr - 1].nr_works = 100;
		sync_stream(m, STREAM_A);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 306, 2);
	assert_near(step_with(r, &fuse, 1), 9, 3); /* kernels as short as that consist of their start only */
	end_made(m, r);
}

static void test_replay__a_full_queue_lets_the_host_go_on_when_work_is_done(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change faster = of_kernel(LARGE, 0.5);
	struct sonde_replay *r;
	size_t i, behind = 300;

	(void)state;
	/* Calls take 4 us, kernels 100: soon the host waits in each launch until there is room in the
	 * queue. */
	for (i = 0; i < 2000; i++) {
		if (i % 10 == 0)
			enter(m, STEP);
		launch(m, STREAM_A, LARGE, 100);
		if (i >= behind) {
			m->now = max_of(m->now, m->works.at[i - behind].end_ns + US);
			m->ops.at[m->ops.nr - 1].end_ns = m->now;
		}
		if (i % 10 == 9)
			leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->error, 0, 0.01);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 1010, 10);
	assert_near(step_with(r, &faster, 1), 510, 10);
	end_made(m, r);
}

/*
 * The queue is full, and the host goes on 20 us after a work is done. Most kernels start 1 us after the one before, every
 * fifth 15 us after: how late the host goes on says nothing about these gaps.
 */
static void test_replay__a_full_queue_does_not_change_the_gaps_between_kernels(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay *r;
	size_t i, behind = 300;

	(void)state;
	for (i = 0; i < 2000; i++) {
		if (i % 10 == 0)
			enter(m, STEP);
		launch_after(m, STREAM_A, LARGE, 50, i % 5 ? 0 : m->busy[STREAM_A] + 15 * US);
		if (i >= behind) {
			m->now = max_of(m->now, m->works.at[i - behind].end_ns + 20 * US);
			m->ops.at[m->ops.nr - 1].end_ns = m->now;
		}
		if (i % 10 == 9)
			leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 538, 10);
	assert_near(sonde_replay_summary(r)->error, 0, 0.01);
	end_made(m, r);
}

/* --- ranks ------------------------------------------------------------------------------- */

/* 100 us of work and a collective of 60, of which 40 are for a late rank. */
static void test_replay__collectives_run_beside_the_rest_or_wait_for_nobody(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change beside = in_region(SONDE_CHANGE_OVERLAP_COMM, STEP);
	struct sonde_replay_change level = {SONDE_CHANGE_LEVEL_RANKS, NULL, 1};
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 60);
		m->works.at[m->works.nr - 1].is_collective = true;
		m->works.at[m->works.nr - 1].level_ns = 20 * US;
		launch(m, STREAM_A, SMALL, 100);
		sync_stream(m, STREAM_A);
		leave(m);
	}
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 168, 2);
	assert_near(step_with(r, &level, 1), 128, 2);
	assert_near(step_with(r, &beside, 1), 111, 2);
	end_made(m, r);
}

/* 300 us of work, then collectives of 100 us on a stream that waits for it: they may start when half of the work is done. */
static void test_replay__collectives_may_start_before_all_work_is_done(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change beside = in_region(SONDE_CHANGE_OVERLAP_COMM, STEP);
	struct sonde_replay_gain gain;
	struct sonde_replay *r;
	int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		launch(m, STREAM_A, LARGE, 300);
		order(m, STREAM_A, SONDE_REPLAY_RECORD);
		order(m, STREAM_B, SONDE_REPLAY_AWAIT);
		launch_after(m, STREAM_B, SMALL, 200, m->busy[STREAM_A]);
		m->works.at[m->works.nr - 1].is_collective = true;
		sync_stream(m, STREAM_B);
		leave(m);
	}
	m->in.has_events = true;
	r = open_made(m);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 507, 2);
	assert_near(step_with(r, &beside, 1), 355, 6);
	assert_int_equal(sonde_replay_predict(r, &gain, &beside, 1, false, NULL), 0);
	assert_true(gain.high_ns / US > 190 && gain.low_ns / US < 10); /* at best it starts at the beginning, at worst no earlier than now */
	end_made(m, r);
}

/* --- intervals --------------------------------------------------------------------------- */

/* A synthetic program whose times vary: two runs of it are never equal. */
struct program {
	uint64_t seed;
	double host_us, small_us, large_us, vary;
	unsigned nr_small;
	bool waits, is_faster, is_gone;
};

static double vary(struct program *p, double us)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return us * (1 + p->vary * ((double)(p->seed >> 40) / (1 << 23) - 1));
}

static void run_ns(struct made *m, double us)
{
	m->now += (uint64_t)(us * US);
}

static struct sonde_replay *run_program(struct made *m, struct program p)
{
	unsigned i, k;

	for (i = 0; i < 100; i++) {
		enter(m, STEP);
		run_ns(m, vary(&p, p.host_us));
		enter(m, WORK);
		for (k = 0; k < p.nr_small && !p.is_gone; k++) {
			launch(m, STREAM_A, SMALL, (uint64_t)vary(&p, p.small_us));
			run_ns(m, vary(&p, p.host_us / 8));
		}
		leave(m);
		launch(m, STREAM_A, LARGE,
			(uint64_t)vary(&p, p.is_faster ? p.large_us / 2 : p.large_us));
		enter(m, LOG);
		if (p.waits)
			sync_stream(m, STREAM_A);
		leave(m);
		run_ns(m, vary(&p, p.host_us));
		leave(m);
	}
	return open_made(m);
}

/* The step of a program that has the change, in another run. */
static double step_of(struct program p)
{
	struct made *m = begin_made();
	struct sonde_replay *r = run_program(m, p);
	double us = sonde_replay_summary(r)->measured_ns / US;

	end_made(m, r);
	return us;
}

static void test_replay__intervals_hold_when_the_change_is_made(void **state)
{
	struct sonde_replay_change changes[3] = {of_kernel(LARGE, 0.5),
		in_region(SONDE_CHANGE_NOSYNC, LOG), in_region(SONDE_CHANGE_REMOVE, WORK)};
	struct sonde_replay_gain gains[3];
	unsigned i, k, nr = 0, held = 0;

	(void)state;
	for (i = 0; i < 60; i++) {
		struct program p = {.seed = i + 1,
			.host_us = 10 + i % 7 * 20,
			.small_us = 2 + i % 3 * 10,
			.large_us = 20 + i % 11 * 30,
			.vary = 0.02 + 0.05 * (i % 4),
			.nr_small = 2 + i % 5 * 4,
			.waits = true};
		struct made *m = begin_made();
		struct sonde_replay *r = run_program(m, p);
		double base = sonde_replay_summary(r)->base_ns / US, gained;

		for (k = 0; k < 3; k++)
			assert_int_equal(
				sonde_replay_predict(r, &gains[k], &changes[k], 1, false, NULL), 0);
		end_made(m, r);
		for (k = 0; k < 3; k++) {
			struct program q = p;

			q.seed += 1000;
			q.is_faster = k == 0;
			q.waits = k != 1;
			q.is_gone = k == 2;
			gained = base - step_of(q);
			nr++;
			held += gains[k].low_ns / US <= gained && gained <= gains[k].high_ns / US;
			assert_near(gains[k].ns / US, gained, 0.1 * base);
		}
	}
	if (held < 0.9 * nr)
		fail_msg("%u of %u intervals hold", held, nr);
}

/* --- threads ----------------------------------------------------------------------------- */

static void test_replay__threads_that_take_turns_are_one_relay(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change gone = in_region(SONDE_CHANGE_REMOVE, LOG);
	struct sonde_replay *r;
	int i, k;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		for (k = 0; k < 10; k++)
			launch(m, STREAM_A, SMALL, 1);
		enter(m, LOG); /* another thread does the work, as autograd's does */
		m->thread = 1;
		for (k = 0; k < 10; k++) {
			host(m, 6);
			launch(m, STREAM_A, SMALL, 1);
		}
		m->thread = 0;
		leave(m);
		leave(m);
	}
	r = open_made(m);
	assert_int_equal(sonde_replay_summary(r)->nr_relays, 1);
	assert_near(sonde_replay_summary(r)->measured_ns / US, 140, 1);
	assert_near(step_with(r, &gone, 1), 40, 1);
	end_made(m, r);
}

static void test_replay__threads_side_by_side_are_relays_of_their_own(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay *r;
	int i, k;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		for (k = 0; k < 10; k++) {
			m->thread = 0;
			launch(m, STREAM_A, SMALL, 1);
			m->thread = k % 3 != 0;
			launch(m, STREAM_B, SMALL, 1);
			m->thread = 0;
		}
		leave(m);
	}
	r = open_made(m);
	assert_int_equal(sonde_replay_summary(r)->nr_relays, 2);
	end_made(m, r);
}

/* --- hostile input --------------------------------------------------------------------------- */

static int try_open(struct made *m)
{
	struct sonde_replay *r = NULL;
	int rc = sonde_replay_open(&r, &m->in, NULL);

	sonde_replay_free(r);
	return rc;
}

static void test_replay__input_that_contradicts_itself_is_refused(void **state)
{
	struct made *m = make_launch_bound();
	struct sonde_replay *r = open_made(m);
	uint32_t cycle[NR_REGIONS] = {WORK, STEP, STEP};
	struct sonde_replay_op op = m->ops.at[10];
	struct sonde_replay_work work = m->works.at[3];

	(void)state;
	sonde_replay_free(r);
#define REFUSED(what)                                                                              \
	do {                                                                                       \
		what;                                                                              \
		assert_int_equal(try_open(m), SONDE_ERR_USAGE);                                    \
		m->ops.at[10] = op, m->works.at[3] = work;                                         \
		assert_int_equal(try_open(m), 0);                                                  \
	} while (0)
	REFUSED(m->ops.at[10].end_ns = m->ops.at[10].begin_ns - 1);
	REFUSED(m->ops.at[10].begin_ns = m->ops.at[10].end_ns = 0);
	REFUSED(m->ops.at[10].thread = 99);
	REFUSED(m->ops.at[10].kind = 99);
	REFUSED((m->ops.at[10].kind = SONDE_REPLAY_LAUNCH, m->ops.at[10].first_work = 0,
		m->ops.at[10].nr_works = UINT32_MAX));
	REFUSED((m->ops.at[10].kind = SONDE_REPLAY_LEAVE, m->ops.at[10].entry = 1u << 30));
	REFUSED((m->ops.at[10].kind = SONDE_REPLAY_SYNC_STREAM, m->ops.at[10].stream = NR_STREAMS));
	REFUSED((m->ops.at[10].kind = SONDE_REPLAY_ENTER, m->ops.at[10].entry = 0));
	REFUSED((m->ops.at[10].kind = SONDE_REPLAY_LEAVE, m->ops.at[10].entry = 5));
	REFUSED(m->works.at[3].end_ns = m->works.at[3].start_ns - 1);
	REFUSED(m->works.at[3].stream = NR_STREAMS);
	REFUSED((m->ops.at[10].kind = SONDE_REPLAY_LAUNCH, m->ops.at[10].first_work = 0,
		m->ops.at[10].nr_works = 1));
	REFUSED(m->works.at[3].kernel = NR_KERNELS);
#undef REFUSED
	m->in.parents = cycle;
	assert_int_equal(try_open(m), SONDE_ERR_USAGE);
	end_made(m, NULL);
}

static void test_replay__odd_runs_are_survived(void **state)
{
	struct made *m = begin_made();
	struct sonde_replay_change all[] = {in_region(SONDE_CHANGE_GRAPH, WORK),
		in_region(SONDE_CHANGE_FUSE, STEP), in_region(SONDE_CHANGE_NOSYNC, LOG),
		of_kernel(LARGE, 0), {SONDE_CHANGE_LEVEL_RANKS, NULL, 1},
		in_region(SONDE_CHANGE_OVERLAP_COMM, STEP),
		in_region(SONDE_CHANGE_ASYNC_COPY, STEP), in_region(SONDE_CHANGE_GATHER, STEP),
		in_region(SONDE_CHANGE_NOALLOC, STEP), in_region(SONDE_CHANGE_AHEAD, WORK)};
	struct sonde_replay_gain gain;
	struct sonde_replay *r;
	size_t i, nr;
	uint64_t random = 7;

	(void)state;
	for (i = 0; i < NR; i++) {
		enter(m, STEP);
		enter(m, WORK);
		launch(m, i % 2, LARGE, 100);
		m->works.at[m->works.nr - 1].is_collective = i % 3 == 0;
		copy(m, STREAM_B, 10, 0);
		sync_stream(m, STREAM_B);
		leave(m);
		leave(m);
	}
	nr = m->ops.nr;
	/* Events that were never recorded, entries that are never left, times that jump. */
	for (i = 0; i < nr; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (m->ops.at[i].kind == SONDE_REPLAY_LEAVE && random >> 60 == 1)
			m->ops.at[i].kind = SONDE_REPLAY_MEMORY,
			m->ops.at[i].stream = SONDE_REPLAY_NONE;
		if (m->ops.at[i].kind == SONDE_REPLAY_SYNC_STREAM && random >> 62 == 1)
			m->ops.at[i].kind = SONDE_REPLAY_SYNC_EVENT,
			m->ops.at[i].event = (uint32_t)(random >> 40) % 3;
		if (random >> 59 == 2)
			m->ops.at[i].end_ns = UINT64_MAX;
	}
	m->works.at[5].end_ns = UINT64_MAX;
	r = open_made(m);
	for (i = 0; i <= sizeof(all) / sizeof(*all); i++)
		assert_int_equal(sonde_replay_predict(r, &gain, all, i, false, NULL), 0);
	end_made(m, r);
	m = begin_made(); /* nothing at all */
	r = open_made(m);
	assert_int_equal(sonde_replay_summary(r)->step, SONDE_REPLAY_NONE);
	assert_int_equal(sonde_replay_predict(r, &gain, all, 1, false, NULL), 0);
	end_made(m, r);
}

/* --- changes as they are written ------------------------------------------------------------- */

static void test_change__each_is_read_as_it_is_written(void **state)
{
	struct sonde_change c;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_change_read(&c, "graph:step/forward", &err), 0);
	assert_int_equal(c.kind, SONDE_CHANGE_GRAPH);
	assert_true(sonde_str_is(c.name, "step/forward"));
	assert_int_equal(sonde_change_read(&c, "kernel:gemm<a=b>*=0.25x", &err), 0);
	assert_true(sonde_str_is(c.name, "gemm<a=b>*") && c.factor == 0.25);
	assert_int_equal(sonde_change_read(&c, "kernel:gemm=roofline", &err), 0);
	assert_true(isnan(c.factor));
	assert_int_equal(sonde_change_read(&c, "level-ranks", &err), 0);
	assert_int_equal(c.kind, SONDE_CHANGE_LEVEL_RANKS);
	assert_int_equal(sonde_change_read(&c, "gather:pack", &err), 0);
	assert_int_equal(c.kind, SONDE_CHANGE_GATHER);
	assert_int_equal(sonde_change_read(&c, "noalloc:pack", &err), 0);
	assert_int_equal(sonde_change_read(&c, "ahead:pack", &err), 0);
	assert_int_equal(sonde_change_read(&c, "graph", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "graph:", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "graphs:a", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "level-ranks:a", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "kernel:gemm", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "kernel:gemm=-1x", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "kernel:gemm=nanx", &err), SONDE_ERR_USAGE);
	assert_int_equal(sonde_change_read(&c, "kernel:gemm=2", &err), SONDE_ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay__a_run_as_it_was_takes_as_long_as_it_did),
		cmocka_unit_test(test_replay__the_profilers_time_is_taken_out),
		cmocka_unit_test(test_replay__time_that_was_not_captured_is_no_steps),
		cmocka_unit_test(test_replay__a_step_unlike_the_others_is_left_out),
		cmocka_unit_test(test_replay__a_launch_bound_loop_gains_by_a_graph),
		cmocka_unit_test(test_replay__a_graph_leaves_the_host_its_other_work),
		cmocka_unit_test(test_replay__fused_kernels_are_one_launch_and_keep_the_hosts_ends),
		cmocka_unit_test(test_replay__what_is_removed_takes_no_time),
		cmocka_unit_test(test_replay__without_a_wait_host_and_gpu_work_side_by_side),
		cmocka_unit_test(
			test_replay__a_pageable_copy_that_becomes_asynchronous_lets_the_host_go_on),
		cmocka_unit_test(test_replay__gathered_copies_are_one_call_with_all_bytes),
		cmocka_unit_test(test_replay__memory_from_a_pool_takes_no_time_and_waits_for_nothing),
		cmocka_unit_test(test_replay__work_of_the_host_that_is_done_ahead_holds_nothing_up),
		cmocka_unit_test(test_replay__what_a_launch_needs_of_the_host_is_not_done_ahead),
		cmocka_unit_test(test_replay__what_follows_a_copy_that_blocks_is_done_ahead),
		cmocka_unit_test(test_replay__the_nodes_of_a_graph_can_be_fused),
		cmocka_unit_test(test_replay__collectives_may_start_before_all_work_is_done),
		cmocka_unit_test(test_replay__a_stream_waits_for_an_event_of_another),
		cmocka_unit_test(test_replay__without_events_the_order_of_streams_is_guessed),
		cmocka_unit_test(test_replay__streams_keep_to_the_rule_of_the_default_stream),
		cmocka_unit_test(test_replay__nodes_of_a_graph_keep_their_order),
		cmocka_unit_test(test_replay__a_full_queue_lets_the_host_go_on_when_work_is_done),
		cmocka_unit_test(test_replay__a_full_queue_does_not_change_the_gaps_between_kernels),
		cmocka_unit_test(test_replay__collectives_run_beside_the_rest_or_wait_for_nobody),
		cmocka_unit_test(test_replay__intervals_hold_when_the_change_is_made),
		cmocka_unit_test(test_replay__threads_that_take_turns_are_one_relay),
		cmocka_unit_test(test_replay__threads_side_by_side_are_relays_of_their_own),
		cmocka_unit_test(test_replay__input_that_contradicts_itself_is_refused),
		cmocka_unit_test(test_replay__odd_runs_are_survived),
		cmocka_unit_test(test_change__each_is_read_as_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
