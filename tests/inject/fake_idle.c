/*
 * workloads/idle.cu without CUDA: the same regions (idle_causes.h) on a simulated device with
 * two streams, each of which is busy until some time; its work is reported to the fake CUPTI (cupti/).
 *
 *     fake_idle FAKE_CUPTI
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../workloads/idle_causes.h"

#define START_NS 5000 /* time from a launch to the start of its kernel */

static void (*fake_kernel)(const char *, uint32_t, const uint64_t[2]);
static void (*fake_copy_late)(uint64_t, unsigned);
static void (*fake_wait)(unsigned, unsigned);
static void (*fake_device)(void);
static uint64_t busy_until[2];
static struct stamp stamps[3];

static void *find(void *lib, const char *name)
{
	void *p = lib ? dlsym(lib, name) : NULL;

	if (!p) {
		fprintf(stderr, "fake_idle: %s\n", dlerror());
		exit(1);
	}
	return p;
}

/* The clock of the records. */
static uint64_t device_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void idle_kernel(int stream, uint64_t ns, int is_comm, struct stamp *out)
{
	uint64_t times[2];

	times[0] = later(device_ns() + START_NS, busy_until[stream]);
	times[1] = busy_until[stream] = times[0] + ns;
	out->start_ns = times[0];
	out->end_ns = times[1];
	fake_kernel(is_comm ? "ncclDevKernel_standin" : "work", (uint32_t)stream + 7, times);
}

static unsigned us_until(uint64_t ns)
{
	uint64_t now = device_ns();

	return ns > now ? (unsigned)((ns - now) / 1000) + 1 : 0;
}

static void idle_poll(int stream)
{
	while (us_until(busy_until[stream]))
		;
}

static void idle_sync(int stream)
{
	fake_wait(6, us_until(busy_until[stream]));
}

static void idle_hold(int stream, unsigned us)
{
	busy_until[stream] = later(device_ns(), busy_until[stream]) + us * UINT64_C(1000);
}

static void idle_follow(int stream, int another)
{
	busy_until[stream] = later(busy_until[stream], busy_until[another]);
}

static void idle_copy(void)
{
	fake_copy_late(4, us_until(later(busy_until[0], busy_until[1])));
}

static void idle_alloc(void)
{
	fake_wait(7, 1500);
	fake_wait(8, 500);
}

static struct stamp *idle_stamps(void)
{
	return stamps;
}

int main(int argc, char **argv)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*initialize)(void);

	*(void **)&fake_kernel = find(cupti, "fake_kernel");
	*(void **)&fake_copy_late = find(cupti, "fake_copy_late");
	*(void **)&fake_wait = find(cupti, "fake_wait");
	*(void **)&fake_device = find(cupti, "fake_device");
	if (path) {
		*(void **)&initialize = find(dlopen(path, RTLD_NOW), "InitializeInjection");
		initialize();
		fake_device();
	}
	idle_all();
	return 0;
}
