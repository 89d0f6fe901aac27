// Makes a GPU idle for each known cause: idle_causes.h has the regions. Prints the times. No arguments.
#include <cstdlib>
#include <cuda_runtime.h>
#include "idle_causes.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "idle: %s: %s\n", #call, cudaGetErrorString(e_));          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static cudaStream_t streams[2];
static cudaEvent_t event;
static stamp *stamps;
static void *word;

__device__ unsigned long long device_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

__device__ void run_for(unsigned long long ns, stamp *out)
{
	unsigned long long start = device_ns(), now = start;

	while (now < start + ns)
		now = device_ns();
	out->start_ns = start;
	out->end_ns = now;
}

__global__ void work(unsigned long long ns, stamp *out) { run_for(ns, out); }
__global__ void ncclDevKernel_standin(unsigned long long ns, stamp *out) { run_for(ns, out); }

static void idle_kernel(int stream, uint64_t ns, int is_comm, stamp *out)
{
	if (is_comm)
		ncclDevKernel_standin<<<1, 1, 0, streams[stream]>>>(ns, out);
	else
		work<<<1, 1, 0, streams[stream]>>>(ns, out);
	CHECK(cudaGetLastError());
}

static void idle_poll(int stream)
{
	cudaError_t e;

	while ((e = cudaStreamQuery(streams[stream])) == cudaErrorNotReady)
		;
	CHECK(e);
}

static void idle_sync(int stream) { CHECK(cudaStreamSynchronize(streams[stream])); }

static void CUDART_CB wait_there(void *us) { pause_us((unsigned)(uintptr_t)us); }

static void idle_hold(int stream, unsigned us)
{
	CHECK(cudaLaunchHostFunc(streams[stream], wait_there, (void *)(uintptr_t)us));
}

static void idle_follow(int stream, int another)
{
	CHECK(cudaEventRecord(event, streams[another]));
	CHECK(cudaStreamWaitEvent(streams[stream], event, 0));
}

// The copy is on the legacy default stream, which waits for the two streams.
static void idle_copy(void)
{
	int value;

	CHECK(cudaMemcpy(&value, word, sizeof(value), cudaMemcpyDeviceToHost));
}

static void idle_alloc(void)
{
	void *device, *host;

	CHECK(cudaMalloc(&device, (size_t)512 << 20));
	CHECK(cudaHostAlloc(&host, (size_t)8 << 20, cudaHostAllocDefault));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(device));
}

static struct stamp *idle_stamps(void) { return stamps; }

int main()
{
	for (cudaStream_t &s : streams)
		CHECK(cudaStreamCreate(&s));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaHostAlloc(&stamps, 3 * sizeof(*stamps), cudaHostAllocMapped));
	CHECK(cudaMalloc(&word, sizeof(int)));
	for (int i = 0; i < 3; i++)
		stamps[i].start_ns = stamps[i].end_ns = 0;
	idle_all();
	CHECK(cudaDeviceSynchronize());
	return 0;
}
