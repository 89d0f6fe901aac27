/*
 * The dummy workload without a GPU: a shallow residual network in plain C.
 *
 * Per step the ranges `step`, and inside it `stem`, `residual` (holding
 * `block.conv1` and `block.conv2`) and `head`; two loader threads with ranges
 * of a domain `io` whose labels are registered strings; one start/end range
 * `prefetch` from one step into the next. Every number is fixed, so the
 * checksum it prints is the same on every machine and in every run.
 *
 *     resnet_cpu [STEPS]
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE	 24
#define CHANNELS 8
#define CELLS	 (SIDE * SIDE * CHANNELS)
#define NR_IO	 2

/* Fixed-point activations: exact, whatever the compiler does. */
typedef int32_t tensor[CHANNELS][SIDE][SIDE];

struct loader {
	int number;
	long nr_steps;
	uint32_t sum;
};

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void load(tensor t, uint32_t seed)
{
	int c, y, x;

	for (c = 0; c < CHANNELS; c++)
		for (y = 0; y < SIDE; y++)
			for (x = 0; x < SIDE; x++)
				t[c][y][x] = (int32_t)(random_next(&seed) % 512) - 256;
}

/* A 3×3 convolution of every channel with its neighbour, then a clamp. */
static void conv(tensor out, tensor in, uint32_t seed)
{
	int c, y, x, k;
	int32_t weight[9];

	for (c = 0; c < CHANNELS; c++) {
		for (k = 0; k < 9; k++)
			weight[k] = (int32_t)(random_next(&seed) % 7) - 3;
		for (y = 1; y < SIDE - 1; y++) {
			for (x = 1; x < SIDE - 1; x++) {
				int32_t sum = 0;

				for (k = 0; k < 9; k++)
					sum += weight[k] *
					       in[(c + k) % CHANNELS][y + k / 3 - 1][x + k % 3 - 1];
				out[c][y][x] = sum < 0 ? 0 : sum % 1021;
			}
		}
	}
}

static void residual(tensor t)
{
	static tensor first, second;
	int c, y, x;

	nvtxRangePushA("residual");
	nvtxRangePushA("block.conv1");
	conv(first, t, 11);
	nvtxRangePop();
	nvtxRangePushA("block.conv2");
	conv(second, first, 12);
	nvtxRangePop();
	for (c = 0; c < CHANNELS; c++)
		for (y = 0; y < SIDE; y++)
			for (x = 0; x < SIDE; x++)
				t[c][y][x] = (t[c][y][x] + second[c][y][x]) % 1021;
	nvtxRangePop();
}

static uint32_t step(long number)
{
	static tensor in, out;
	uint32_t sum = 0;
	const int32_t *p = &out[0][0][0];
	int i;

	nvtxRangePushA("step");
	nvtxRangePushA("stem");
	load(in, (uint32_t)number);
	conv(out, in, 10);
	nvtxRangePop();
	residual(out);
	residual(out);
	nvtxRangePushA("head");
	for (i = 0; i < CELLS; i++)
		sum = sum * 31 + (uint32_t)p[i];
	nvtxRangePop();
	nvtxRangePop();
	return sum;
}

static void *loader_run(void *arg)
{
	struct loader *l = arg;
	nvtxDomainHandle_t io = nvtxDomainCreateA("io");
	nvtxStringHandle_t fetch = nvtxDomainRegisterStringA(io, "fetch");
	nvtxEventAttributes_t e = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	uint32_t state = (uint32_t)l->number;
	long i, k;

	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = fetch;
	e.category = 7;
	e.colorType = NVTX_COLOR_ARGB;
	e.color = 0xff76b900;
	e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	for (i = 0; i < l->nr_steps; i++) {
		e.payload.llValue = i;
		nvtxDomainRangePushEx(io, &e);
		for (k = 0; k < 20000; k++)
			l->sum += random_next(&state);
		nvtxDomainRangePop(io);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long nr_steps = argc > 1 ? strtol(argv[1], NULL, 10) : 20, i;
	struct loader loaders[NR_IO] = {{0}};
	pthread_t threads[NR_IO];
	uint32_t sum = 0;
	nvtxRangeId_t prefetch = nvtxRangeStartA("prefetch");

	nvtxNameCategoryA(7, "input");
	nvtxMarkA("begin");
	for (i = 0; i < NR_IO; i++) {
		loaders[i] = (struct loader){.number = (int)i + 1, .nr_steps = nr_steps};
		if (pthread_create(&threads[i], NULL, loader_run, &loaders[i]))
			return 1;
	}
	for (i = 0; i < nr_steps; i++) {
		nvtxRangeId_t next = nvtxRangeStartA("prefetch");

		sum = sum * 31 + step(i);
		nvtxRangeEnd(prefetch);
		prefetch = next;
	}
	nvtxRangeEnd(prefetch);
	for (i = 0; i < NR_IO; i++) {
		pthread_join(threads[i], NULL);
		sum = sum * 31 + loaders[i].sum;
	}
	printf("checksum %08x after %ld steps\n", sum, nr_steps);
	return 0;
}
