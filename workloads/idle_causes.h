/*
 * One NVTX region per reason for which a GPU is idle. The program itself measures
 * the milliseconds that it spends on each, and prints them:
 *
 *     did REGION FIELD MS
 *
 * idle.cu runs this on a GPU, tests/inject/fake_idle.c on a simulated one. Both
 * define the operations below; the measurements with the host's clock are the same.
 * Every gap is between two kernels of an entry: a kernel, then something that keeps
 * the device waiting, then the next kernel.
 */
#ifndef IDLE_CAUSES_H
#define IDLE_CAUSES_H

#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NR_GAPS	    10
#define NR_LAUNCHES 400
#define PAUSE_US    2000
#define BETWEEN_NS  100000 /* a longer pause behind a launch counts as `host`: docs/idle-internals.md */

struct stamp {
	volatile uint64_t start_ns, end_ns; /* on the device's clock */
};

/* The device has two streams, 0 and 1. A launch does not wait for its kernel; the kernel's stamp is valid when the
 * stream is done. */
static void idle_kernel(int stream, uint64_t ns, int is_comm, struct stamp *out);
static void idle_poll(int stream);		  /* polls until the stream is done, without a call that waits */
static void idle_sync(int stream);		  /* waits for the stream by a synchronisation */
static void idle_hold(int stream, unsigned us);	  /* puts a host function into the stream that takes so long */
static void idle_follow(int stream, int another); /* the next operation in `stream` waits for `another` */
static void idle_copy(void);			  /* a blocking copy, behind all streams */
static void idle_alloc(void);			  /* allocates and frees memory */
static struct stamp *idle_stamps(void);		  /* three stamps that kernels can write to */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static void pause_us(unsigned us)
{
	const struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};

	nanosleep(&t, NULL);
}

static void did(const char *region, const char *field, double ns)
{
	printf("did %s %s %.6f\n", region, field, ns / 1e6);
}

/* Short kernels, each launched about 40 µs after the one before, as eager frameworks do. */
static void do_launch(void)
{
	struct stamp *s = idle_stamps();
	uint64_t last, now, busy = 0, launching = 0, outside = 0;
	int i;

	nvtxRangePushA("launch");
	for (i = 0, last = now_ns(); i < NR_LAUNCHES; i++, last = now) {
		idle_kernel(0, 5000, 0, s);
		spin_ns(40000);
		busy += s->end_ns - s->start_ns;
		now = now_ns();
		if (now - last <= BETWEEN_NS)
			launching += now - last;
		else /* another process had the processor */
			outside += now - last;
	}
	idle_kernel(0, 5000, 0, s);
	idle_poll(0);
	nvtxRangePop();
	did("launch", "launch", (double)launching - (double)busy);
	if (outside > launching / 50)
		did("launch", "host", (double)outside);
}

/* Runs a kernel and returns when it has ended. */
static void do_kernel(void)
{
	idle_kernel(0, 20000, 0, idle_stamps());
	idle_poll(0);
}

/* Runs `act` between kernels, NR_GAPS times. */
static void do_between(const char *region, void (*act)(void))
{
	uint64_t begin, ns = 0;
	int i;

	nvtxRangePushA(region);
	for (i = 0; i < NR_GAPS; i++) {
		do_kernel();
		begin = now_ns();
		act();
		ns += now_ns() - begin;
	}
	do_kernel();
	nvtxRangePop();
	did(region, region, (double)ns);
}

static void act_sync(void)
{
	idle_hold(1, PAUSE_US);
	idle_sync(1);
}

static void act_copy(void)
{
	idle_hold(1, PAUSE_US);
	idle_copy();
}

static void act_host(void)
{
	pause_us(PAUSE_US);
}

/* The second kernel waits for a host function in another stream, while the device has no work. */
static void do_queued(void)
{
	struct stamp *s = idle_stamps();
	uint64_t ns = 0;
	int i;

	for (i = 0; i < NR_GAPS; i++) {
		nvtxRangePushA("queued");
		idle_kernel(0, 20000, 0, &s[0]);
		idle_hold(1, PAUSE_US);
		idle_follow(0, 1);
		idle_kernel(0, 20000, 0, &s[1]);
		idle_sync(0);
		nvtxRangePop();
		ns += s[1].start_ns - s[0].end_ns;
	}
	did("queued", "queued", (double)ns);
}

/* The second kernel waits for a kernel of another region in another stream. */
static void do_other_stream(void)
{
	struct stamp *s = idle_stamps();
	uint64_t ns = 0;
	int i;

	for (i = 0; i < NR_GAPS; i++) {
		nvtxRangePushA("background");
		idle_kernel(1, PAUSE_US * 1000, 0, &s[1]);
		nvtxRangePop();
		nvtxRangePushA("other_stream");
		idle_kernel(0, 20000, 0, &s[0]);
		idle_follow(0, 1);
		idle_kernel(0, 20000, 0, &s[2]);
		idle_sync(0);
		nvtxRangePop();
		ns += s[1].end_ns - s[0].end_ns;
	}
	did("other_stream", "other_stream", (double)ns);
}

/* The range stays open after its work is done. */
static void do_tail(void)
{
	uint64_t begin, ns = 0;
	int i;

	for (i = 0; i < NR_GAPS; i++) {
		nvtxRangePushA("tail");
		do_kernel();
		begin = now_ns();
		pause_us(PAUSE_US);
		ns += now_ns() - begin;
		nvtxRangePop();
	}
	did("tail", "tail", (double)ns);
}

/* A kernel with a name like NCCL's; another kernel runs during half of its time. */
static void do_comm(void)
{
	struct stamp *s = idle_stamps();
	uint64_t comm = 0, hidden = 0, from, to;
	int i;

	nvtxRangePushA("comm");
	for (i = 0; i < NR_GAPS; i++) {
		idle_kernel(1, PAUSE_US * 1000, 1, &s[1]);
		idle_kernel(0, PAUSE_US * 500, 0, &s[0]);
		idle_sync(0);
		idle_sync(1);
		from = s[0].start_ns > s[1].start_ns ? s[0].start_ns : s[1].start_ns;
		to = s[0].end_ns < s[1].end_ns ? s[0].end_ns : s[1].end_ns;
		comm += s[1].end_ns - s[1].start_ns;
		hidden += to > from ? to - from : 0;
	}
	nvtxRangePop();
	did("comm", "comm", (double)comm);
	did("comm", "exposed_comm", (double)(comm - hidden));
}

/* Uses everything once, so that whatever is loaded or initialised at its first use is ready. */
static void warm_up(void)
{
	struct stamp *s = idle_stamps();

	nvtxRangePushA("warmup");
	idle_kernel(0, 1000, 0, &s[0]);
	idle_kernel(1, 1000, 1, &s[1]);
	idle_hold(1, 10);
	idle_follow(0, 1);
	idle_copy();
	idle_alloc();
	idle_sync(0);
	idle_sync(1);
	idle_poll(0);
	nvtxRangePop();
}

static void idle_all(void)
{
	warm_up();
	do_launch();
	do_between("sync", act_sync);
	do_between("copy", act_copy);
	do_between("alloc", idle_alloc);
	do_between("host", act_host);
	do_queued();
	do_other_stream();
	do_tail();
	do_comm();
}

#endif
